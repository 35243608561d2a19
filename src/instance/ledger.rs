//! The ledger of open readers: every snapshot and transaction, with its age, its label and what it keeps from being
//! freed.
//!
//! A reader is listed from when it is opened until the last handle on it, and the last rows read through it, are gone.
//! Where a greatest age is set, reads of an older one end in [`Error::Expired`]; what it pins is given back when its
//! handles are dropped.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::catalog::{Catalog, IndexId};
use crate::error::{Error, Result};
use crate::object::{ClassId, CommitNumber, Oid, Record};
use crate::read::{Direction, ExtentPosition, IndexRange, IndexSize, Postings, Reader};
use crate::view::View;

/// What a reader was opened as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReaderKind {
    /// A snapshot, or the rows of a query that runs on one of its own.
    Snapshot,
    /// A transaction.
    Transaction,
}

/// An open snapshot or transaction, as [`Database::snapshots`](crate::Database::snapshots) lists it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenSnapshot {
    /// In the order of opening; never used twice while the database is open.
    pub ticket: u64,
    /// What it was opened as.
    pub kind: ReaderKind,
    /// The commit it reads the state of.
    pub commit: CommitNumber,
    /// How long it has been open.
    pub age: Duration,
    /// What whoever opened it called it.
    pub label: Option<Arc<str>>,
    /// Bytes that would be free without it, and others that read the same state: segments that only older states
    /// need, and index changes in memory that newer states have merged. What the files of index bases keep is not counted.
    pub pinned_bytes: u64,
    /// Whether it is older than allowed: its reads fail.
    pub expired: bool,
}

impl fmt::Display for ReaderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReaderKind::Snapshot => "snapshot",
            ReaderKind::Transaction => "transaction",
        })
    }
}

/// The open readers of a database.
#[derive(Debug)]
pub struct Ledger {
    next: AtomicU64,
    /// By ticket; divided so that threads seldom meet.
    open: [Mutex<BTreeMap<u64, Weak<Opened>>>; SHARDS],
    greatest_age: Option<Duration>,
}

const SHARDS: usize = 16;

/// An entry of the ledger, for as long as it is held.
#[derive(Debug)]
pub struct Opened {
    ledger: Arc<Ledger>,
    ticket: u64,
    kind: ReaderKind,
    label: Option<Arc<str>>,
    since: Instant,
    view: Arc<View>,
}

impl Ledger {
    /// An empty ledger whose readers may grow so old; `None`: as old as they like.
    pub fn new(greatest_age: Option<Duration>) -> Arc<Ledger> {
        Arc::new(Ledger {
            next: AtomicU64::new(1),
            open: Default::default(),
            greatest_age,
        })
    }

    /// Lists a reader of `view` until what is returned is dropped.
    pub fn open(self: &Arc<Self>, kind: ReaderKind, label: Option<Arc<str>>, view: Arc<View>) -> Arc<Opened> {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        let opened = Arc::new(Opened {
            ledger: self.clone(),
            ticket,
            kind,
            label,
            since: Instant::now(),
            view,
        });
        if let Some(shard) = self.shard(ticket) {
            shard.lock().insert(ticket, Arc::downgrade(&opened));
        }
        opened
    }

    fn shard(&self, ticket: u64) -> Option<&Mutex<BTreeMap<u64, Weak<Opened>>>> {
        self.open.get(usize::try_from(ticket % SHARDS as u64).ok()?)
    }

    /// All open readers, the oldest first; `newest` is the state a new reader would see.
    pub fn list(&self, newest: &View) -> Vec<OpenSnapshot> {
        let mut open: Vec<Arc<Opened>> = Vec::new();
        for shard in &self.open {
            open.extend(shard.lock().values().filter_map(Weak::upgrade));
        }
        open.sort_by_key(|opened| opened.ticket);
        let now = Instant::now();
        open.iter().map(|opened| opened.listed(newest, now)).collect()
    }
}

impl Opened {
    fn listed(&self, newest: &View, now: Instant) -> OpenSnapshot {
        OpenSnapshot {
            ticket: self.ticket,
            kind: self.kind,
            commit: self.view.commit(),
            age: now.saturating_duration_since(self.since),
            label: self.label.clone(),
            pinned_bytes: self.view.pinned_bytes(newest),
            expired: self.check().is_err(),
        }
    }

    /// Fails if the reader is older than allowed.
    ///
    /// # Errors
    /// [`Error::Expired`].
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.ledger.greatest_age {
            None => Ok(()),
            Some(greatest) => self.check_age(greatest),
        }
    }

    fn check_age(&self, greatest: Duration) -> Result<()> {
        let age = self.since.elapsed();
        if age <= greatest {
            return Ok(());
        }
        Err(Error::Expired(format!(
            "the {} of commit {} has been open for {:.1} s, longer than the {:.1} s that max_snapshot_age allows; open a \
             new one",
            self.kind,
            self.view.commit(),
            age.as_secs_f64(),
            greatest.as_secs_f64(),
        )))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(shard) = self.ledger.shard(self.ticket) {
            shard.lock().remove(&self.ticket);
        }
    }
}

/// A state that keeps its entry in the ledger, and checks its age: for rows, which may outlive the handle they came from.
pub struct Held<R: ?Sized> {
    opened: Arc<Opened>,
    reader: Arc<R>,
}

impl<R: Reader + ?Sized> Held<R> {
    /// Reads `reader` as long as `opened` may.
    pub fn new(opened: Arc<Opened>, reader: Arc<R>) -> Held<R> {
        Held { opened, reader }
    }
}

impl<R: Reader + ?Sized> Reader for Held<R> {
    fn catalog(&self) -> &Arc<Catalog> {
        self.reader.catalog()
    }

    fn commit(&self) -> CommitNumber {
        self.reader.commit()
    }

    fn object(&self, oid: Oid) -> Result<Option<Record<'_>>> {
        self.opened.check()?;
        self.reader.object(oid)
    }

    fn gather<'a>(&'a self, oids: &[Oid], records: &mut Vec<Option<Record<'a>>>) -> Result<()> {
        self.opened.check()?;
        self.reader.gather(oids, records)
    }

    fn scan<'a>(
        &'a self,
        class: ClassId,
        position: &mut ExtentPosition,
        limit: usize,
        records: &mut Vec<Record<'a>>,
    ) -> Result<()> {
        self.opened.check()?;
        self.reader.scan(class, position, limit, records)
    }

    fn extent_estimate(&self, class: ClassId) -> u64 {
        self.reader.extent_estimate(class)
    }

    fn lookup(
        &self,
        index: IndexId,
        range: &IndexRange,
        direction: Direction,
    ) -> Result<Box<dyn Postings + '_>> {
        self.opened.check()?;
        self.reader.lookup(index, range, direction)
    }

    fn count(&self, index: IndexId, range: &IndexRange) -> Result<u64> {
        self.opened.check()?;
        self.reader.count(index, range)
    }

    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        self.reader.index_size(index)
    }
}
