//! The aging circuit: what random overwriting does to reading neighbours, and what `compact` gives back.

mod circuit;
mod report;

pub use circuit::run;
