//! The search circuit: an indexed look-up of whole objects by more and more threads, without and with a writer.

mod circuit;
mod classes;
mod report;
mod step;

pub use circuit::run;
