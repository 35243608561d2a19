//! Rows that do not fit in memory: written to temporary files, and read back.

mod merge;
mod partition;
mod place;
mod rows;

pub use merge::Merge;
pub use partition::Partitions;
pub use place::{TemporaryFile, TemporaryFiles};
pub use rows::{SpilledRows, Spilling};
