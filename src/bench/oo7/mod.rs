//! The circuit `oo7`: the object database benchmark of Carey, DeWitt and Naughton (1993).

mod circuit;
mod classes;
mod expect;
mod load;
mod model;
mod query;
mod scale;
mod traverse;
mod update;

pub use circuit::Oo7;
pub use scale::Scale;
