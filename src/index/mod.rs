//! Secondary indexes: derived data, replayed from the log or rebuilt from the heap when lost.

mod change;
mod indexes;
pub(crate) mod key;
mod kind;
mod snapshot;

pub use change::{IndexChange, IndexKey, decode_changes, encode_changes};
pub use indexes::{IndexStatistics, IndexStorage, IndexStore, SeveralObjects, SyncThrough};
pub use kind::{IndexId, IndexKind};
pub use snapshot::{IndexSnapshot, RangeCursor};
