//! What a transaction read: objects, parts of extents, ranges of index keys. Small however much was read.

mod key_ranges;
mod oid_set;
mod serial_ranges;
mod set;

pub use oid_set::OidSet;
pub use set::{Depth, ReadSet};
