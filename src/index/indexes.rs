//! All indexes of a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{IndexChange, IndexId, IndexKey, IndexKind, IndexSnapshot};
use crate::error::{Error, Result};
use crate::heap::LogPosition;
use crate::object::{CommitNumber, Oid};

/// Makes the log durable through a position; called before a delta is merged into a base.
pub type SyncThrough = Arc<dyn Fn(LogPosition) -> Result<()> + Send + Sync>;

/// Called for each key of a unique index that has several objects, all given: an error refuses them, `Ok` lets them
/// stand (nil in the key, or two values with one hash).
pub type SeveralObjects<'a> = &'a mut dyn FnMut(&[u8], &[Oid]) -> Result<()>;

/// Where the bases lie.
#[derive(Debug, Clone)]
pub enum IndexStorage {
    /// In this directory (created if it does not exist).
    Directory(PathBuf),
    /// In memory, for a database without a disk.
    Memory,
}

/// About how much an index holds; exact but for what has not been merged yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexStatistics {
    /// Entries (key and object).
    pub entries: u64,
    /// Distinct keys.
    pub keys: u64,
    /// Bytes on disk (in memory for a store without a disk).
    pub bytes: u64,
}

/// All indexes of a database.
#[derive(Debug)]
pub struct IndexStore {}

impl IndexStore {
    /// Opens the store with a budget of `memory` bytes. A directory that does not open is an
    /// [`Error::Corruption`]: the caller may [`IndexStore::reset`] it, open again and rebuild, since indexes are
    /// derived data; any other error (no space, no permission) is not mended by that.
    pub fn open(storage: IndexStorage, memory: usize, sync_through: SyncThrough) -> Result<IndexStore> {
        let _ = (storage, memory, sync_through);
        Err(Error::Argument("not written yet".into()))
    }

    /// Removes everything in the index directory; it must not be open.
    pub fn reset(directory: &Path) -> Result<()> {
        let _ = directory;
        Err(Error::Argument("not written yet".into()))
    }

    /// The log position through which the index is durable in its base; `None` if it is missing or incomplete and
    /// must be built.
    pub fn applied(&self, id: IndexId) -> Option<LogPosition> {
        let _ = id;
        None
    }

    /// The indexes that exist, ascending.
    pub fn known(&self) -> Vec<IndexId> {
        Vec::new()
    }

    /// The kind of an index.
    pub fn kind(&self, id: IndexId) -> Option<IndexKind> {
        let _ = id;
        None
    }

    /// Creates an empty index that has seen the log through `applied`.
    pub fn create(&self, id: IndexId, kind: IndexKind, applied: LogPosition) -> Result<()> {
        let _ = (id, kind, applied);
        Ok(())
    }

    /// Removes an index; snapshots captured before go on reading it.
    pub fn drop(&self, id: IndexId) -> Result<()> {
        let _ = id;
        Ok(())
    }

    /// Creates an index from its entries at commit `commit`, in any order, whole or not at all.
    pub fn build(
        &self,
        id: IndexId,
        kind: IndexKind,
        entries: &mut dyn Iterator<Item = Result<(IndexKey, Oid)>>,
        several: SeveralObjects<'_>,
        applied: LogPosition,
        commit: CommitNumber,
    ) -> Result<()> {
        let _ = (id, kind, entries, several, applied, commit);
        Ok(())
    }

    /// Adds the changes of one commit whose log record ends at `position`; commits come in order, from one caller.
    pub fn apply(&self, commit: CommitNumber, position: LogPosition, changes: &[IndexChange]) -> Result<()> {
        let _ = (commit, position, changes);
        Ok(())
    }

    /// The state for a view at commit `at`, the newest published; the caller holds the publish lock, and `at` never
    /// goes back.
    pub fn capture(&self, at: CommitNumber) -> Arc<IndexSnapshot> {
        let _ = at;
        Arc::new(IndexSnapshot {})
    }

    /// Merges all deltas into the bases; when it returns, every index is durable through the newest commit applied
    /// before the call.
    pub fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Flushes and stops the background thread; later calls of `apply` fail.
    pub fn close(&self) -> Result<()> {
        Ok(())
    }

    /// About how much an index holds.
    pub fn statistics(&self, id: IndexId) -> Option<IndexStatistics> {
        let _ = id;
        None
    }
}
