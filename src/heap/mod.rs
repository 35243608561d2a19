//! The heap: a log of segments that holds every object, and the table that finds them.

mod heap;
mod position;
pub mod table;
mod view;

pub use heap::{
    Appended, CommitEntry, Damage, Head, Heap, HeapOptions, HeapStatistics, RecordEntry, Recovered, Replayed,
};
pub use position::{Location, LogPosition};
pub use view::HeapView;
