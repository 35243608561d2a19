//! The heap: a log of segments that holds every object, and the table that finds them.

mod object_heap;
mod position;
pub mod table;
mod view;

pub use object_heap::{
    Appended, CommitEntry, Damage, Head, Heap, HeapOptions, HeapStatistics, RecordEntry, Recovered, Replayed,
};
pub use position::{Location, LogPosition};
pub use view::HeapView;
