//! The ceiling: what this machine can do at most, and which part of it the engine reaches at small budgets of memory.

mod circuit;
mod engine;
mod limits;
mod report;

pub use circuit::run;
