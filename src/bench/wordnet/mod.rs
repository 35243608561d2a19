//! The circuit `wordnet`: the English words of WordNet 3.0, their senses and what lies above and below them.

mod circuit;
mod classes;
mod data;
mod expect;
mod load;
mod parse;

pub use circuit::WordNet;
pub use parse::{DEFAULT_FOLDER, read};
