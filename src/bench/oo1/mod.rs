//! The circuit `oo1`: the engineering database benchmark of Cattell and Skeen (1992).

mod circuit;
mod classes;
mod model;

pub use circuit::Oo1;
pub use model::parts_at;
