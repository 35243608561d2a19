//! How a database is opened.

use std::path::PathBuf;
use std::time::Duration;

use crate::commit::Durability;
use crate::error::{Error, Result};

/// Options of [`Database::options`](crate::Database::options); each setter consumes and returns them.
#[derive(Debug, Clone)]
pub struct Options {
    pub(super) path: Option<PathBuf>,
    pub(super) create: bool,
    pub(super) read_only: bool,
    pub(super) memory: usize,
    pub(super) durability: Durability,
    pub(super) max_snapshot_age: Option<Duration>,
    pub(super) loss_window: Duration,
    pub(super) history: Duration,
    pub(super) cleaner: bool,
    pub(super) cleaner_budget: Option<u64>,
}

impl Options {
    /// Options for a database at `path`, `None` for one in memory.
    pub fn new(path: Option<PathBuf>) -> Self {
        Options {
            path,
            create: true,
            read_only: false,
            memory: 256 << 20,
            durability: Durability::Sync,
            max_snapshot_age: None,
            loss_window: Duration::from_secs(1),
            history: Duration::ZERO,
            cleaner: true,
            cleaner_budget: None,
        }
    }

    /// Whether to create the database where there is none; only the last component of the path is created, never its
    /// parents. Default true.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether to refuse every change; nothing on the disk is touched. Default false.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Bytes of anonymous memory for index cache and deltas, table changes, decoded caches and running queries
    /// together; at least 2 MiB. Default 256 MiB, with which loading ten million objects with two indexes was seen to take 269
    /// MiB: what the allocator keeps and the filters of the indexes come on top. Mapped files are the page cache's and do not count.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// What is true when a commit returns, unless its transaction says otherwise. Default [`Durability::Sync`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// For how long a commit with [`Durability::Buffer`] may be only in the hands of the operating system: within this
    /// time a background sync puts it on the disk, so a power cut takes no older ones. Default one second. At least two
    /// milliseconds; the time the disk takes for the sync itself comes on top.
    #[must_use]
    pub fn loss_window(mut self, window: Duration) -> Self {
        self.loss_window = window;
        self
    }

    /// For how long old versions are kept, so that [`Database::snapshot_at`](crate::Database::snapshot_at) can read every
    /// state of that time. Default none: an older state can be read until the cleaner needs its space.
    #[must_use]
    pub fn history(mut self, history: Duration) -> Self {
        self.history = history;
        self
    }

    /// Whether the background thread reclaims the space of old versions and deleted objects. Default true;
    /// [`Database::compact`](crate::Database::compact) works either way.
    #[must_use]
    pub fn cleaner(mut self, cleaner: bool) -> Self {
        self.cleaner = cleaner;
        self
    }

    /// The most bytes a second that the background thread moves to reclaim space. Default no bound.
    #[must_use]
    pub fn cleaner_budget(mut self, bytes_per_second: u64) -> Self {
        self.cleaner_budget = Some(bytes_per_second);
        self
    }

    /// The greatest age of a snapshot or transaction: its reads, and a transaction's commit, then end in
    /// [`Error::Expired`], so that whoever forgot one learns it. What it kept from being freed is given back when it is
    /// dropped. Default none. [`Database::snapshots`](crate::Database::snapshots) lists what is open.
    #[must_use]
    pub fn max_snapshot_age(mut self, age: Duration) -> Self {
        self.max_snapshot_age = Some(age);
        self
    }

    /// Refuses settings that cannot work.
    pub fn check(&self) -> Result<()> {
        if self.cleaner_budget == Some(0) {
            let sentence =
                "a cleaner that may move 0 bytes a second never ends; switch it off with cleaner(false)";
            return Err(Error::Argument(sentence.into()));
        }
        if self.memory < MIN_MEMORY {
            return Err(Error::Argument(format!(
                "a memory budget of {} bytes is too small; give at least {MIN_MEMORY}",
                self.memory
            )));
        }
        Ok(())
    }
}

const MIN_MEMORY: usize = 2 << 20;
