//! Databases: defining classes, and the way to snapshots and transactions.

mod define;
mod handle;
mod statistics;

pub use crate::instance::Options;
pub use define::{ClassList, Definition};
pub use handle::{Database, MAX_RUNS};
pub use statistics::Statistics;
