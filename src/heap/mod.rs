//! The heap: a log of segments that holds every object, and the table that finds them.

mod chronicle;
mod cut;
mod encode;
mod fixed;
mod footer;
mod format;
mod frame;
mod log;
mod object_heap;
mod pending;
mod plan;
mod position;
mod record;
mod recovery;
mod replay;
mod replayer;
mod root;
mod scan;
mod segment;
mod segments;
mod serials;
mod table;
mod verify;
mod view;

#[cfg(test)]
mod tests;

pub use object_heap::{Appended, CommitEntry, Heap, HeapOptions, RecordEntry, Recovered};
#[cfg(test)]
pub use object_heap::{Damage, Head};
pub use position::{Location, LogPosition};
pub use view::HeapView;
