//! The posting circuit: records posted into a growing object model, for gigabytes, with the cleaner running.

mod circuit;
mod classes;
mod report;

pub use circuit::run;
