//! The sorted maps that the bases of the indexes lie in: fjall keyspaces, or maps in memory. Nothing else here knows
//! fjall.
//!
//! A [`Space`] is one map that can be written, by sorted ingestion only; a [`Base`] is one immutable state of it.
//!
//! What is relied on, from the source of fjall 3.1 and lsm-tree 3.1:
//!
//! * *One step.* An ingestion writes table files that no version refers to. `finish` makes one new version of the tree
//!   that refers to all of them, under one sequence number. A reader takes the version for its sequence number, so it
//!   sees all of an ingestion or nothing. An ingestion dropped before `finish` leaves files that the next open removes.
//! * *Durable at return.* Each table file is synced, and its directory; then the version file and its directory; then
//!   the file `current`, which names the version, is replaced by rename, and synced with its directory. The journal has
//!   no part in it. A power cut before the rename leaves the old version; after it, the new one.
//! * *Snapshots* are sequence numbers. Flush and compaction publish sequence numbers out of turn, so a snapshot taken
//!   while a write is under way can see it later. All writes here are ingestions by one thread at a time for each
//!   space, and a base of a space is taken only when none is under way there.
//! * *Old versions* of values are dropped at a compaction when no snapshot is old enough to see them, so that a base
//!   kept for ever would keep all history of every space: bases are renewed together after each flush.
//! * *Removal* of a keyspace deletes its files when the last handle is gone, so that old bases go on reading.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fjall::config::{
    BlockSizePolicy, BloomConstructionPolicy, FilterPolicy, FilterPolicyEntry, HashRatioPolicy,
    PartitioningPolicy, PinningPolicy, RestartIntervalPolicy,
};
use fjall::{AbstractTree, Guard, KeyspaceCreateOptions, Readable, UserValue};
use parking_lot::Mutex;

use super::files;
use super::memory::{MemoryItems, MemoryMap};
use crate::error::{Error, Result};

/// Where the spaces lie.
#[derive(Debug, Clone)]
pub enum IndexStorage {
    /// In this directory (created if it does not exist).
    Directory(PathBuf),
    /// In memory, for a database without a disk.
    Memory,
}

/// What a space is read for, which decides its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Point reads of absent keys too: with a filter and hashed blocks.
    Point,
    /// Ranges, and point reads of keys that exist.
    Range,
}

/// All spaces.
pub(super) enum Store {
    /// On disk.
    Disk {
        /// The database.
        database: fjall::Database,
        /// Its directory, for messages.
        directory: PathBuf,
    },
    /// In memory.
    Memory,
}

impl Store {
    /// Opens or creates the store with `cache` bytes for blocks.
    ///
    /// A directory that does not open because its files are missing, damaged or of another version is
    /// [`Error::Corruption`].
    pub(super) fn open(storage: IndexStorage, cache: u64) -> Result<Store> {
        let IndexStorage::Directory(directory) = storage else {
            return Ok(Store::Memory);
        };
        files::check(&directory)?;
        let open = || {
            fjall::Database::builder(&directory)
                .cache_size(cache)
                .worker_threads(1)
                .open()
        };
        // The engine asserts where it meets files it cannot have written; damage must not end the process.
        let opened = catch_unwind(AssertUnwindSafe(open));
        let database = match opened {
            Ok(Ok(database)) => database,
            Ok(Err(error)) => return Err(failed("opening the indexes", &directory, error)),
            Err(_) => {
                return Err(damaged(&directory, "its files are not what was written".into()));
            }
        };
        check_sequence(&database, &directory)?;
        Ok(Store::Disk { database, directory })
    }

    /// Removes the directory of a store that is not open, with all in it.
    pub(super) fn reset(directory: &Path) -> Result<()> {
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(
                format!("removing the damaged indexes in {}", directory.display()),
                error,
            )),
            _ => Ok(()),
        }
    }

    /// Has the whole store built anew at the next open. A failure leaves that to the damage being met again.
    pub(super) fn give_up(&self) {
        if let Store::Disk { directory, .. } = self {
            files::give_up(directory);
        }
    }

    /// Whether it outlives the process.
    pub(super) fn is_on_disk(&self) -> bool {
        matches!(self, Store::Disk { .. })
    }

    /// The names of all spaces.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Store::Disk { database, .. } => database
                .list_keyspace_names()
                .iter()
                .map(|name| (**name).to_owned())
                .collect(),
            Store::Memory => Vec::new(),
        }
    }

    /// Opens a space, or creates it empty.
    pub(super) fn space(&self, name: &str, access: Access) -> Result<Space> {
        match self {
            Store::Disk { database, directory } => {
                let keyspace = database.keyspace(name, || settings(access));
                let keyspace = keyspace.map_err(|error| failed("opening the index", directory, error))?;
                Ok(Space::Disk {
                    keyspace,
                    database: database.clone(),
                    damaged: Arc::default(),
                })
            }
            Store::Memory => Ok(Space::Memory(Mutex::default())),
        }
    }

    /// Removes a space; its files go when the last base of it does.
    pub(super) fn remove(&self, space: &Space) -> Result<()> {
        if let (Store::Disk { database, directory }, Space::Disk { keyspace, .. }) = (self, space) {
            let removed = database.delete_keyspace(keyspace.clone());
            removed.map_err(|error| failed("removing the index", directory, error))?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Store::Disk { directory, .. } => f.debug_tuple("Disk").field(directory).finish(),
            Store::Memory => f.write_str("Memory"),
        }
    }
}

/// New sequence numbers must be above all that the tables hold, or new values would lie under old ones.
fn check_sequence(database: &fjall::Database, directory: &Path) -> Result<()> {
    for name in database.list_keyspace_names() {
        let keyspace = database.keyspace(&name, KeyspaceCreateOptions::default);
        let keyspace = keyspace.map_err(|error| failed("opening the indexes", directory, error))?;
        if keyspace
            .tree
            .get_highest_persisted_seqno()
            .is_some_and(|highest| highest >= database.visible_seqno())
        {
            return Err(damaged(directory, "its journal is older than its tables".into()));
        }
    }
    Ok(())
}

/// Measured settings: small blocks with short restart intervals, filters and block indexes in memory, lz4 from the
/// second level down.
fn settings(access: Access) -> KeyspaceCreateOptions {
    let settings = KeyspaceCreateOptions::default()
        .max_memtable_size(16 << 20)
        .data_block_size_policy(BlockSizePolicy::all(4096))
        .data_block_restart_interval_policy(RestartIntervalPolicy::all(4))
        .filter_block_pinning_policy(PinningPolicy::all(true))
        .index_block_pinning_policy(PinningPolicy::all(true))
        .filter_block_partitioning_policy(PartitioningPolicy::all(false))
        .index_block_partitioning_policy(PartitioningPolicy::all(false));
    let filter = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
    match access {
        Access::Point => settings
            .filter_policy(FilterPolicy::all(filter))
            .data_block_hash_ratio_policy(HashRatioPolicy::all(0.75)),
        Access::Range => settings.filter_policy(FilterPolicy::all(filter)),
    }
}

/// One map that can be written.
pub(super) enum Space {
    /// On disk.
    Disk {
        /// The map.
        keyspace: fjall::Keyspace,
        /// Where snapshots are taken.
        database: fjall::Database,
        /// Whether a read has met damage.
        damaged: Arc<AtomicBool>,
    },
    /// In memory: the newest version.
    Memory(Mutex<MemoryMap>),
}

impl Space {
    /// The state now; no ingestion may be under way.
    pub(super) fn base(&self) -> Base {
        match self {
            Space::Disk {
                keyspace,
                database,
                damaged,
            } => Base::Disk {
                keyspace: keyspace.clone(),
                snapshot: database.snapshot(),
                damaged: damaged.clone(),
            },
            Space::Memory(map) => Base::Memory(map.lock().clone()),
        }
    }

    /// Ingests what `body` writes. All of it becomes visible, and durable, in one step when this returns; if `body`
    /// fails, nothing does.
    pub(super) fn ingest(&self, body: impl FnOnce(Write<'_>) -> Result<()>) -> Result<()> {
        match self {
            Space::Disk { keyspace, .. } => {
                let refused = |error| failed("writing the index", keyspace.path(), error);
                let mut ingestion = keyspace.start_ingestion().map_err(refused)?;
                body(&mut |key, value| {
                    let written = match value {
                        Some(value) => ingestion.write(key, value),
                        None => ingestion.write_tombstone(key),
                    };
                    written.map_err(refused)
                })?;
                ingestion.finish().map_err(refused)
            }
            Space::Memory(map) => {
                let mut changes = Vec::new();
                body(&mut |key, value| {
                    changes.push((Arc::from(key), value.map(Arc::from)));
                    Ok(())
                })?;
                let mut map = map.lock();
                *map = map.changed(changes);
                Ok(())
            }
        }
    }

    /// Whether a read has met damage.
    pub(super) fn is_damaged(&self) -> bool {
        match self {
            Space::Disk { damaged, .. } => damaged.load(Ordering::Relaxed),
            Space::Memory(_) => false,
        }
    }

    /// The ingestions that have not been merged with the rest: each costs every read.
    pub(super) fn runs(&self) -> usize {
        match self {
            Space::Disk { keyspace, .. } => keyspace.tree.l0_run_count(),
            Space::Memory(_) => 0,
        }
    }

    /// Whether a background merge is running anywhere in the store.
    pub(super) fn is_merging(&self) -> bool {
        match self {
            Space::Disk { database, .. } => database.active_compactions() > 0,
            Space::Memory(_) => false,
        }
    }

    /// Merges all runs, on this thread.
    pub(super) fn merge_runs(&self) -> Result<()> {
        match self {
            Space::Disk { keyspace, .. } => {
                let merged = keyspace.major_compact();
                merged.map_err(|error| failed("merging the index", keyspace.path(), error))
            }
            Space::Memory(_) => Ok(()),
        }
    }

    /// Bytes it takes (on disk: of the tables in the newest version).
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Space::Disk { keyspace, .. } => keyspace.disk_space(),
            Space::Memory(map) => map.lock().bytes(),
        }
    }
}

/// Takes one write of an ingestion: a key and its value, or `None` to remove it. Keys must ascend strictly.
pub(super) type Write<'a> = &'a mut dyn FnMut(&[u8], Option<&[u8]>) -> Result<()>;

/// One immutable state of a space.
#[derive(Clone)]
pub(super) enum Base {
    /// On disk.
    Disk {
        /// The map.
        keyspace: fjall::Keyspace,
        /// Its state.
        snapshot: fjall::Snapshot,
        /// Set by a read that meets damage.
        damaged: Arc<AtomicBool>,
    },
    /// In memory.
    Memory(MemoryMap),
}

impl Base {
    /// The value of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Bytes>> {
        match self {
            Base::Disk {
                keyspace,
                snapshot,
                damaged,
            } => {
                let value = snapshot.get(keyspace, key);
                let value = value.map_err(|error| unreadable(keyspace, damaged, error))?;
                Ok(value.map(Bytes::Disk))
            }
            Base::Memory(map) => Ok(map.get(key).map(Bytes::Memory)),
        }
    }

    /// The items with keys from `start` on and below `end`, which must not be below it; from either side.
    pub(super) fn range(&self, start: &[u8], end: &[u8]) -> Items {
        match self {
            Base::Disk {
                keyspace,
                snapshot,
                damaged,
            } => Items::Disk {
                items: snapshot.range::<&[u8], _>(keyspace, start..end),
                keyspace: keyspace.clone(),
                damaged: damaged.clone(),
            },
            Base::Memory(map) => Items::Memory(map.range(start, end)),
        }
    }
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Base::Disk {
                keyspace, snapshot, ..
            } => write!(f, "{} at {}", &**keyspace.name(), snapshot.seqno()),
            Base::Memory(_) => f.write_str("memory"),
        }
    }
}

/// The items of a range of a base, from either side.
pub(super) enum Items {
    /// On disk.
    Disk {
        /// The items.
        items: fjall::Iter,
        /// For messages, and to keep the files.
        keyspace: fjall::Keyspace,
        /// Set by a read that meets damage.
        damaged: Arc<AtomicBool>,
    },
    /// In memory.
    Memory(MemoryItems),
}

impl Items {
    fn read(keyspace: &fjall::Keyspace, damaged: &AtomicBool, item: Guard) -> Result<(Bytes, Bytes)> {
        let read = item.into_inner();
        let (key, value) = read.map_err(|error| unreadable(keyspace, damaged, error))?;
        Ok((Bytes::Disk(key), Bytes::Disk(value)))
    }
}

impl Iterator for Items {
    type Item = Result<(Bytes, Bytes)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Items::Disk {
                items,
                keyspace,
                damaged,
            } => items.next().map(|item| Items::read(keyspace, damaged, item)),
            Items::Memory(items) => items
                .next()
                .map(|(key, value)| Ok((Bytes::Memory(key), Bytes::Memory(value)))),
        }
    }
}

impl DoubleEndedIterator for Items {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Items::Disk {
                items,
                keyspace,
                damaged,
            } => items.next_back().map(|item| Items::read(keyspace, damaged, item)),
            Items::Memory(items) => items
                .next_back()
                .map(|(key, value)| Ok((Bytes::Memory(key), Bytes::Memory(value)))),
        }
    }
}

/// A key or value read from a base.
pub(super) enum Bytes {
    /// A part of a block.
    Disk(UserValue),
    /// Shared with the map.
    Memory(Arc<[u8]>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Disk(bytes) => bytes,
            Bytes::Memory(bytes) => bytes,
        }
    }
}

/// The error of a read; damage is noted, so that the index gets built anew.
fn unreadable(keyspace: &fjall::Keyspace, damaged: &AtomicBool, error: fjall::Error) -> Error {
    let error = failed("reading the index", keyspace.path(), error);
    if matches!(error, Error::Corruption(_)) {
        damaged.store(true, Ordering::Relaxed);
    }
    error
}

/// The error of a call into the engine: the operating system's own, or damage. All files are the engine's, so one that
/// is missing, cut short or there unexpectedly is damage too, and so is an offset in one that makes the system refuse.
fn failed(doing: &str, path: &Path, error: fjall::Error) -> Error {
    use std::io::ErrorKind::{AlreadyExists, InvalidData, InvalidInput, NotFound, UnexpectedEof};
    match error {
        fjall::Error::Locked => Error::Closed(format!(
            "the indexes in {} are still in use by snapshots of a database that was closed; drop them first",
            path.display()
        )),
        fjall::Error::Poisoned => {
            // Whatever it was, building anew mends it.
            files::give_up_above(path);
            Error::ReadOnly(format!(
                "{doing} in {}: an earlier write failed, so no more are taken; close the database, free space or mend the \
             disk, and open it again",
                path.display()
            ))
        }
        fjall::Error::Io(source) | fjall::Error::Storage(fjall::LsmError::Io(source))
            if !matches!(
                source.kind(),
                AlreadyExists | InvalidData | InvalidInput | NotFound | UnexpectedEof
            ) =>
        {
            Error::io(format!("{doing} in {}", path.display()), source)
        }
        other => damaged(path, format!("{doing}: {other:?}")),
    }
}

pub(super) fn damaged(path: &Path, what: String) -> Error {
    Error::corruption(
        format!("the indexes in {}", path.display()),
        format!(
            "{what}; it is derived data, and is built anew from the objects by itself: run the statement again"
        ),
    )
}
