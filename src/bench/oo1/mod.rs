//! The circuit `oo1`: the engineering database benchmark of Cattell and Skeen (1992).

mod model;
