//! The heap: a log of segments that holds every object, and the table that finds them.

mod archive;
mod assemble;
mod bulk;
mod census;
mod chronicle;
mod consistency;
mod cut;
mod encode;
mod fixed;
mod footer;
mod format;
mod frame;
mod log;
mod moves;
mod object_heap;
mod pending;
mod plan;
mod position;
mod readers;
mod reclaim;
mod record;
mod recovery;
mod replay;
mod replayer;
mod reserve;
mod root;
mod salvage;
mod scan;
mod segment;
mod segments;
mod serials;
mod table;
mod verify;
mod view;

#[cfg(test)]
mod tests;

pub use archive::{HeldLog, Moment, SegmentIdentity, segment_file};
pub use assemble::{Assembled, Assembly, Until, assemble};
pub use bulk::BulkCommit;
pub use consistency::Findings;
pub use format::found;
pub use moves::Moved;
pub use object_heap::Damage;
#[cfg(test)]
pub use object_heap::Head;
pub use object_heap::{Appended, CommitEntry, Heap, HeapOptions, RecordEntry, Recovered};
pub use position::{Location, LogPosition};
pub use reclaim::{Amount, LiveRecord, Needs, SegmentUse};
pub use salvage::{Loss, Remains, explore};
pub use view::{HeapView, TOGETHER, Together};
