//! The heap as its callers see it: append, sync, apply, read.

use std::ops::Range;
use std::sync::Arc;

use super::position::LogPosition;
use super::view::HeapView;
use crate::error::{Error, Result};
use crate::files::Disk;
use crate::object::{ClassId, CommitNumber, Oid};

/// How to open a heap.
#[derive(Debug, Clone)]
pub struct HeapOptions {
    /// Refuse every change; nothing on the disk is touched, and several readers may share the lock.
    pub read_only: bool,
    /// Create the database if the directory is empty or absent.
    pub create: bool,
    /// Bytes that changes of the object table may take in memory before a checkpoint is asked for.
    pub memory: usize,
}

impl Default for HeapOptions {
    fn default() -> Self {
        HeapOptions {
            read_only: false,
            create: true,
            memory: 64 << 20,
        }
    }
}

/// What opening found.
#[derive(Debug, Clone, Default)]
pub struct Recovered {
    /// The newest commit; zero in a new database.
    pub last_commit: CommitNumber,
    /// Its time, microseconds since 1970 UTC.
    pub last_time: i64,
    /// Where the log ends.
    pub end: LogPosition,
    /// Whether the database was created by this open.
    pub created: bool,
    /// Whether the last close was clean: nothing had to be replayed.
    pub clean: bool,
    /// What of an unacknowledged tail was cut, as a sentence; `None` if nothing was.
    pub cut: Option<String>,
}

/// One commit to append.
#[derive(Debug, Clone, Copy)]
pub struct CommitEntry<'a> {
    /// Its number, 48 bits, above all earlier ones.
    pub number: CommitNumber,
    /// Microseconds since 1970 UTC; at least that of the commit before.
    pub time: i64,
    /// A caller's label.
    pub label: Option<&'a str>,
    /// Further metadata, opaque here.
    pub metadata: &'a [u8],
    /// The objects it writes.
    pub records: &'a [RecordEntry<'a>],
    /// Index deltas, opaque here.
    pub deltas: &'a [u8],
}

/// One object a commit writes.
#[derive(Debug, Clone, Copy)]
pub struct RecordEntry<'a> {
    /// The object.
    pub oid: Oid,
    /// Its encoded body; `None` deletes it.
    pub body: Option<&'a [u8]>,
    /// A creation: there is no previous version to link to.
    pub fresh: bool,
}

/// A group of commits in the log, to be synced, then applied.
#[derive(Debug)]
pub struct Appended {
    /// The position after its last frame.
    pub end: LogPosition,
}

/// The newest applied version of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The commit that wrote it.
    pub commit: CommitNumber,
    /// Whether it is a deletion.
    pub deleted: bool,
}

/// One commit as [`Heap::replay`] shows it.
#[derive(Debug)]
pub struct Replayed<'a> {
    /// Its number.
    pub number: CommitNumber,
    /// Its time, microseconds since 1970 UTC.
    pub time: i64,
    /// The position after it; replaying from here shows the next one first.
    pub end: LogPosition,
    /// Its label.
    pub label: Option<&'a str>,
    /// Its metadata.
    pub metadata: &'a [u8],
    /// Its index deltas.
    pub deltas: &'a [u8],
    /// The objects it wrote, and whether it deleted them.
    pub records: &'a [(Oid, bool)],
}

/// Figures about the heap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeapStatistics {
    /// Segment files.
    pub segments: u64,
    /// Bytes of the log in use, headers and footers included.
    pub bytes: u64,
    /// Records in the log, superseded versions included.
    pub records: u64,
    /// Bytes of table changes in memory.
    pub dirty_bytes: u64,
    /// Bytes of log since the last checkpoint.
    pub tail_bytes: u64,
}

/// A damaged place that [`Heap::verify`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// File and offset, and the object where one is known.
    pub place: String,
    /// What is wrong with it.
    pub what: String,
}

/// The log of segments and the object table; `Send + Sync`, locks inside.
#[derive(Debug)]
pub struct Heap {
    disk: Arc<dyn Disk>,
}

fn unbuilt<T>() -> Result<T> {
    Err(Error::ReadOnly("the heap is still being built".into()))
}

impl Heap {
    /// Opens the database on `disk`, recovering what the last owner left.
    pub fn open(disk: Arc<dyn Disk>, options: HeapOptions) -> Result<(Heap, Recovered)> {
        let _ = (disk, options);
        unbuilt()
    }
    /// Key for hashes that must not be predictable; fixed at creation.
    pub fn secret(&self) -> [u8; 16] {
        [0; 16]
    }
    /// The random identity given at creation.
    pub fn database_id(&self) -> uuid::Uuid {
        uuid::Uuid::nil()
    }
    /// Counts how often history was cut off: a position in history is (timeline, commit).
    pub fn timeline(&self) -> u32 {
        0
    }
    /// Writes a group of commits at the tail. Not durable before [`Heap::sync`], not readable before [`Heap::apply`].
    pub fn append(&self, group: &[CommitEntry<'_>]) -> Result<Appended> {
        let _ = group;
        unbuilt()
    }
    /// Makes the log durable through `through`.
    pub fn sync(&self, through: LogPosition) -> Result<()> {
        let _ = through;
        unbuilt()
    }
    /// Points the table at the group's records; in append order, before the group is published.
    pub fn apply(&self, appended: &Appended) {
        let _ = appended;
    }
    /// A reader of the applied state; cheap.
    pub fn view(&self) -> HeapView {
        HeapView::default()
    }
    /// The newest applied version of an object.
    pub fn head(&self, oid: Oid) -> Result<Option<Head>> {
        let _ = oid;
        unbuilt()
    }
    /// Hands out `count` serial numbers of `class` that were never handed out before.
    pub fn reserve(&self, class: ClassId, count: u64) -> Result<Range<u64>> {
        let _ = (class, count);
        unbuilt()
    }
    /// Shows every commit that begins at or after `from`, in log order.
    pub fn replay(&self, from: LogPosition, visit: &mut dyn FnMut(Replayed<'_>) -> Result<()>) -> Result<()> {
        let _ = (from, visit);
        unbuilt()
    }
    /// The position through which the log is known durable.
    pub fn durable(&self) -> LogPosition {
        LogPosition::default()
    }
    /// The position after the newest frame.
    pub fn end(&self) -> LogPosition {
        LogPosition::default()
    }
    /// Whether table changes or the log since the last checkpoint ask for one.
    pub fn needs_checkpoint(&self) -> bool {
        false
    }
    /// Syncs the log, then writes the changed table pages and a new root.
    pub fn checkpoint(&self) -> Result<()> {
        unbuilt()
    }
    /// Checkpoints and marks the database clean; nothing can be written afterwards.
    pub fn close(&self) -> Result<()> {
        unbuilt()
    }
    /// Figures about the heap.
    pub fn statistics(&self) -> HeapStatistics {
        HeapStatistics::default()
    }
    /// Checks every byte of every file; reports each damaged place and goes on.
    pub fn verify(&self, report: &mut dyn FnMut(Damage)) -> Result<()> {
        let _ = report;
        unbuilt()
    }
}
