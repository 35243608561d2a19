//! The circuit `debian`: the packages of one Debian release, with all their relations.

mod circuit;
mod classes;
mod data;
mod expect;
mod load;

pub use circuit::Debian;
pub use data::{Graph, text};
