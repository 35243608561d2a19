//! Secondary indexes: derived data, replayed from the log or rebuilt from the heap when lost.

mod build;
mod cache;
mod catch_up;
mod change;
mod cursor;
mod delta;
mod description;
mod files;
mod flush;
mod indexes;
pub(crate) mod key;
mod kind;
mod load;
mod member;
mod memory;
mod merge;
mod operations;
mod overlay;
mod posting;
mod shadow;
mod shared;
mod snapshot;
mod sort;
mod store;

pub use build::IndexPlan;
pub use change::{IndexChange, IndexKey, MAX_KEY, decode_changes, encode_changes};
pub use cursor::RangeCursor;
pub use indexes::{IndexStore, SyncThrough};
pub use kind::{IndexId, IndexKind, IndexSize};
pub use load::IndexLoad;
pub use shadow::Shadow;
pub use snapshot::IndexSnapshot;
pub use store::IndexStorage;

#[cfg(test)]
mod tests;
