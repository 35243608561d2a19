//! Databases: defining classes, and the way to snapshots and transactions.

mod database;
mod define;
mod statistics;

pub use crate::instance::Options;
pub use database::{Database, MAX_RUNS};
pub use define::{ClassList, Definition};
pub use statistics::Statistics;
