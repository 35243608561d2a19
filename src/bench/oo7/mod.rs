//! The circuit `oo7`: the object database benchmark of Carey, DeWitt and Naughton (1993).

mod expect;
mod model;
mod scale;
