//! Databases: opening and closing, defining classes, and the way to snapshots and transactions.

mod database;
mod define;
mod indexes;
mod maintenance;
mod open;
mod options;
mod shared;
mod statistics;

pub use database::{Database, MAX_RUNS};
pub use define::{ClassList, Definition};
pub use options::Options;
pub use shared::Shared;
pub use statistics::Statistics;
