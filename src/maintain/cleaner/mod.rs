//! The cleaner as its callers see it: compacting a database on request.

mod cluster;
mod compact;
mod options;
mod report;

pub use compact::compact;
pub use options::CompactOptions;
pub use report::{CompactProgress, CompactReport};
