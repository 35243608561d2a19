//! Databases: defining classes, and the way to snapshots and transactions.

mod class_list;
mod collect;
mod compare;
mod define;
mod handle;
mod statistics;

pub use crate::instance::Options;
pub use class_list::ClassList;
pub use collect::Collector;
pub use define::Definition;
pub use handle::{Database, MAX_RUNS};
pub use statistics::Statistics;
