//! All indexes of a database: what the layers above call.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use super::build::{IndexPlan, Tick, access, check_key, parse_space_name};
use super::description::Progress;
use super::flush::describe;
use super::posting::DESCRIPTION_KEY;
use super::shared::{Limits, Maintained, Maintenance, Parts, Shared};
use super::sort::RUN_PREFIX;
use super::store::{Access, Space, Store};
use super::{IndexChange, IndexId, IndexKey, IndexKind, IndexSnapshot, IndexStorage};
use crate::error::{Error, Result};
use crate::heap::LogPosition;
use crate::object::{CommitNumber, Oid};

/// Makes the log durable through a position; called before a delta is merged into a base. The caller of
/// [`IndexStore::apply`] must not hold a lock that it needs.
pub type SyncThrough = Arc<dyn Fn(LogPosition) -> Result<()> + Send + Sync>;

/// Called for each key of a unique index that has several objects, all given: an error refuses them, `Ok` lets them
/// stand (nil in the key, or two values with one hash).
pub type SeveralObjects<'a> = &'a mut dyn FnMut(&[u8], &[Oid]) -> Result<()>;

/// Entries of a full delta, if its bytes allow so many.
const DELTA_ENTRIES: usize = 250_000;
/// The name of the space that holds how far all indexes have come.
const PROGRESS_NAME: &str = "progress";

/// About how much an index holds; without what has not been merged yet.
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
///
/// Dropping it stops the background thread without a flush: the log has what is not merged.
pub struct IndexStore {
    pub(super) shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl IndexStore {
    /// Opens the store with a budget of `memory` bytes, half of it for blocks of the bases, an eighth for decoded
    /// postings, the rest for deltas. Building an index takes a quarter more while it lasts.
    ///
    /// A directory that does not open is an [`Error::Corruption`]: the caller may [`IndexStore::reset`] it, open again
    /// and rebuild, since indexes are derived data; any other error (no permission, in use) is not mended by that.
    pub fn open(storage: IndexStorage, memory: usize, sync_through: SyncThrough) -> Result<IndexStore> {
        let limits = Limits {
            entries: DELTA_ENTRIES,
            bytes: (memory / 32).saturating_mul(3).max(64 * 1024),
        };
        IndexStore::open_with(storage, memory, limits, sync_through)
    }

    pub(super) fn open_with(
        storage: IndexStorage,
        memory: usize,
        limits: Limits,
        sync_through: SyncThrough,
    ) -> Result<IndexStore> {
        let store = Store::open(storage, (memory / 2) as u64)?;
        let progress_space = store.space(PROGRESS_NAME, Access::Range)?;
        let progress = read_progress(&progress_space)?;
        let mut maintenance = Maintenance {
            progress,
            ..Maintenance::default()
        };
        let indexes = open_indexes(&store, &mut maintenance)?;
        let shared = Arc::new(Shared::new(Parts {
            store,
            progress_space,
            sync_through,
            limits,
            sort_budget: memory / 4,
            cache_bytes: memory / 8,
            maintenance,
            indexes,
        }));
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("olivine-index".into())
            .spawn(move || of_thread.run());
        let thread = thread.map_err(|error| Error::io("starting the thread that writes indexes", error))?;
        Ok(IndexStore {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Removes the index directory with all in it; it must not be open.
    pub fn reset(directory: &Path) -> Result<()> {
        Store::reset(directory)
    }

    /// The log position through which the index is durable in its base; `None` if it is missing or incomplete and
    /// must be built.
    pub fn applied(&self, id: IndexId) -> Option<LogPosition> {
        self.shared.indexes.read().get(&id).map(|index| index.applied)
    }

    /// The indexes that exist, ascending.
    pub fn known(&self) -> Vec<IndexId> {
        self.shared.indexes.read().keys().copied().collect()
    }

    /// The indexes in which a read has met damage, ascending: they must be built anew.
    pub fn damaged(&self) -> Vec<IndexId> {
        let indexes = self.shared.indexes.read();
        let damaged = indexes.iter().filter(|(_, index)| index.space.is_damaged());
        damaged.map(|(id, _)| *id).collect()
    }

    /// Has all indexes built anew at the next open.
    pub fn give_up(&self) {
        self.shared.store.give_up();
    }

    /// The kind of an index.
    pub fn kind(&self, id: IndexId) -> Option<IndexKind> {
        self.shared.indexes.read().get(&id).map(Maintained::kind)
    }

    /// Creates an empty index that has seen the log through `applied`; one of this id is replaced.
    ///
    /// This, [`IndexStore::build`] and [`IndexStore::drop`] wait for a flush that is under way, and sync files.
    pub fn create(&self, id: IndexId, kind: IndexKind, applied: LogPosition) -> Result<()> {
        self.shared.create(IndexPlan {
            id,
            kind,
            applied,
            commit: CommitNumber::default(),
        })
    }

    /// Says that `id` will be built: from now on its changes are kept until [`IndexStore::build`] or
    /// [`IndexStore::drop`]. Changes of an index that neither exists nor is prepared are let go at a flush.
    pub fn prepare(&self, id: IndexId) {
        self.shared.unmade.lock().prepared.entry(id).or_default();
    }

    /// Builds an index of its entries at a commit (in any order), whose log record ends at the plan's position; whole
    /// or not at all, also when the process is killed. One of this id is replaced.
    ///
    /// Changes of later commits may be applied while it builds: [`IndexStore::prepare`] it first, or the build may
    /// fail with [`Error::Limit`] and must be repeated from a newer snapshot. `several` is called for unique indexes
    /// only, and for the entries given. What later commits did is for the caller to look at: the keys that came to
    /// several objects through them are returned, but for what has not been merged
    /// ([`IndexSnapshot::several_above`]). After a failure the index is absent, and still prepared if it was; one that
    /// is dropped meanwhile ends in [`Error::Schema`].
    pub fn build(
        &self,
        plan: IndexPlan,
        entries: &mut dyn Iterator<Item = Result<(IndexKey, Oid)>>,
        several: SeveralObjects<'_>,
        tick: Tick<'_>,
    ) -> Result<Vec<IndexKey>> {
        self.shared.build(plan, entries, several, tick)
    }

    /// Removes an index; snapshots captured before go on reading it.
    pub fn drop(&self, id: IndexId) -> Result<()> {
        let mut maintenance = self.shared.maintenance.lock();
        let waiting = self.shared.unmade.lock().prepared.remove(&id);
        self.shared.discard(waiting);
        self.shared.remove(&mut maintenance, id)
    }

    /// Waits while too many changes have not been flushed, and fails if flushing fails (no space, a bad disk): to be
    /// called before a commit is written, since [`IndexStore::apply`] comes too late to refuse it.
    pub fn room(&self) -> Result<()> {
        self.shared.room()
    }

    /// Adds the changes of one commit whose log record ends at `position`; commits come in order, from one caller.
    ///
    /// Waits while three full deltas have not been flushed, but not while flushing fails. Keys are checked with
    /// [`IndexStore::check_key`] before the commit is written.
    pub fn apply<C: Borrow<IndexChange>>(
        &self,
        commit: CommitNumber,
        position: LogPosition,
        changes: &[C],
    ) -> Result<()> {
        self.shared.apply(commit, position, changes)
    }

    /// Refuses a key that is too long for any index.
    pub fn check_key(key: &[u8]) -> Result<()> {
        check_key(key)
    }

    /// The state for a view at commit `at`, the newest published; the caller holds the publish lock, and `at` never
    /// goes back.
    pub fn capture(&self, at: CommitNumber) -> Arc<IndexSnapshot> {
        self.shared.capture(at)
    }

    /// Says that commit `at` is published, as a capture does: for who applies many commits without capturing, or
    /// states for earlier readers pile up. A capture at the last commit of the log before it is replayed says so too.
    pub fn published(&self, at: CommitNumber) {
        drop(self.shared.capture(at));
    }

    /// Merges all deltas into the bases; when it returns, every index is durable through the newest commit applied
    /// before the call, and [`IndexStore::applied`] says so.
    pub fn flush(&self) -> Result<()> {
        self.shared.flush_all()
    }

    /// Flushes and stops the background thread; later calls of `apply` fail.
    pub fn close(&self) -> Result<()> {
        let flushed = self.flush();
        self.stop();
        flushed
    }

    /// About how much an index holds.
    pub fn statistics(&self, id: IndexId) -> Option<IndexStatistics> {
        let indexes = self.shared.indexes.read();
        indexes.get(&id).map(|index| IndexStatistics {
            entries: index.description.counts.entries,
            keys: index.description.counts.keys,
            bytes: index.bytes,
        })
    }

    fn stop(&self) {
        self.shared.stop();
        if let Some(thread) = self.thread.lock().take() {
            // The thread does not panic; if it did, there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

impl Drop for IndexStore {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for IndexStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexStore")
            .field("store", &self.shared.store)
            .finish_non_exhaustive()
    }
}

fn read_progress(space: &Space) -> Result<Progress> {
    let Some(value) = space.base().get(&DESCRIPTION_KEY)? else {
        return Ok(Progress::default());
    };
    Progress::decode(&value)
        .ok_or_else(|| Error::corruption("the progress of the indexes", "not what was written"))
}

/// Opens all complete indexes; removes what is left of incomplete ones, and of sorting.
fn open_indexes(store: &Store, maintenance: &mut Maintenance) -> Result<BTreeMap<IndexId, Maintained>> {
    let all = maintenance.progress;
    let mut indexes = BTreeMap::new();
    for name in store.names() {
        if name.starts_with(RUN_PREFIX) {
            store.remove(&store.space(&name, Access::Range)?)?;
        }
        let Some((id, kind)) = parse_space_name(&name) else {
            continue;
        };
        let space = store.space(&name, access(kind))?;
        let Some(description) = describe(&space.base())?.filter(|description| description.kind == kind)
        else {
            store.remove(&space)?;
            continue;
        };
        maintenance.serial = maintenance.serial.saturating_add(1);
        maintenance.progress.flush = maintenance.progress.flush.max(description.progress.flush);
        let index = Maintained {
            bytes: space.bytes(),
            space: Arc::new(space),
            description,
            applied: description.applied(all),
            serial: maintenance.serial,
        };
        indexes.insert(id, index);
    }
    Ok(indexes)
}
