//! The benchmark suite behind `olivine bench`: read, query and materialization throughput, always apart, on
//! verified data.

mod aging;
mod ceiling;
mod debian;
mod experiment;
mod machine;
mod measure;
mod oo1;
mod oo7;
mod outcome;
mod posting;
mod random;
mod report;
mod run;
mod search;
mod store;
mod wordnet;

pub use run::{Arguments, run};
