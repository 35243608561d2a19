//! Running plans: operators that pass batches of borrowed records, and closures compiled from expressions.

mod apply;
mod batch;
mod build;
mod compile;
mod context;
mod distinct;
mod execute;
mod extent;
mod fetch;
mod filter;
mod group;
mod hash_join;
mod index_count;
mod index_scan;
mod iterate;
mod join;
mod limit;
mod object_set;
mod objects;
mod operator;
mod profiler;
mod project;
mod rows;
mod set_operation;
mod sort;
mod spill;
mod top_k;
mod values;
mod walk;

#[cfg(test)]
mod tests;

pub use batch::{BATCH, Batch};
#[cfg(test)]
pub use build::build;
pub use build::build_root;
pub use context::{Answer, Options, Place, Run, Scope, Shared, Statistics};
pub use execute::{conflict_values, delete_targets, execute, insert_rows, returning_rows, update_rows};
pub use index_count::entries;
pub use profiler::Sink as ProfileSink;
pub use rows::{Row, Rows};
pub use spill::{TemporaryFile, TemporaryFiles};
