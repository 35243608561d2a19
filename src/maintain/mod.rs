//! Care of a database: finding what is wrong with it, and reclaiming space.

mod check;
mod cleaner;

pub use check::{CheckReport, Finding, check};
pub use cleaner::{CompactOptions, CompactProgress, CompactReport, compact};
