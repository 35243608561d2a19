//! What a transaction asks of the pipeline.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::index::IndexChange;
use crate::object::CommitNumber;
use crate::read_set::ReadSet;
use crate::view::View;
use crate::write_set::WriteSet;

/// What is true when a commit returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The commit is on the disk: it survives a power cut. The default.
    #[default]
    Sync,
    /// The commit is handed to the operating system: it survives the end of this process at once, and a power cut
    /// within a second: a background sync sees to that ([`Options::loss_window`](crate::Options::loss_window) sets the
    /// time), as does any later commit that syncs, and [`Database::persist`](crate::Database::persist) when it
    /// returns. What a power cut takes is always the newest commits, never one from the middle.
    Buffer,
}

/// Which concurrent changes a transaction is protected from. Either way it reads one snapshot, under its own writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Isolation {
    /// As if transactions had run one after the other, in the order of their commit numbers. Everything a transaction
    /// read is compared, when it commits, with what others committed since its snapshot: objects and their absence,
    /// extents, counts and ranges of indexes. A transaction that writes nothing is not compared with anything: it saw
    /// one prefix of that order. The default.
    #[default]
    Serializable,
    /// No object that the transaction writes was changed since its snapshot: no dirty, fuzzy or phantom reads and no
    /// lost updates. Two transactions that each read what the other writes may both commit (write skew).
    Snapshot,
}

/// A change of one index entry.
#[derive(Debug, Clone)]
pub struct IndexEntry {
    /// The change.
    pub change: IndexChange,
    /// Whether the object must be the only holder of the key.
    pub claim: bool,
}

/// One transaction that wants to commit.
#[derive(Debug)]
pub struct Request {
    /// The commit its snapshot is of.
    pub snapshot: CommitNumber,
    /// The state its snapshot is of, which keeps what it started from.
    pub base: Arc<View>,
    /// The catalog it was bound to: the snapshot's, under its own schema changes.
    pub catalog: Arc<Catalog>,
    /// Version of the snapshot's catalog.
    pub catalog_version: CommitNumber,
    /// What it writes.
    pub writes: Arc<WriteSet>,
    /// What becomes of index entries, index by index in key order.
    pub entries: Vec<IndexEntry>,
    /// The same, as the log keeps it; nothing if there are none.
    pub deltas: Vec<u8>,
    /// What it read, if that matters.
    pub reads: Option<ReadSet>,
    /// What it wants to be true when the commit returns.
    pub durability: Durability,
    /// A label for messages and history.
    pub label: Option<Arc<str>>,
}

impl Request {
    /// About the bytes it takes in a frame.
    pub fn bytes(&self) -> usize {
        let headers = self.writes.len().saturating_mul(32);
        self.writes
            .body_bytes()
            .saturating_add(headers)
            .saturating_add(self.deltas.len())
    }
}
