//! The table as its one owner, the heap, sees it.

use std::sync::Arc;

use crate::error::Result;
use crate::files::Disk;
use crate::heap::{Location, LogPosition};
use crate::object::Oid;

use super::version::TableVersion;

/// What a durable checkpoint says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The log position up to which the checkpoint holds every change; replay starts here.
    pub position: LogPosition,
    /// The heap's own bytes, as given to the checkpoint.
    pub metadata: Vec<u8>,
    /// The number of the checkpoint; the first is 1.
    pub sequence: u64,
}

/// The object table: OID to [`Location`], in memory above a mapped checkpoint.
#[derive(Debug)]
pub struct Table {}

impl Table {
    /// Opens the table of the database on `disk`, at its newest durable checkpoint (`None`: there is none, replay
    /// the whole log). [`Error::Corruption`](crate::Error::Corruption): call [`Table::rebuild`] and replay the whole log.
    pub fn open(disk: Arc<dyn Disk>) -> Result<(Table, Option<Root>)> {
        todo!()
    }

    /// Removes what is stored of the table and starts with an empty one.
    pub fn rebuild(disk: Arc<dyn Disk>) -> Result<Table> {
        todo!()
    }

    /// The current version, for readers; a short lock. Later sets show in it until the next freeze.
    pub fn version(&self) -> Arc<TableVersion> {
        todo!()
    }

    /// Points `oid` at `location`.
    pub fn set(&self, oid: Oid, location: Location) {
        todo!()
    }

    /// Points each OID at its location, under one lock.
    pub fn set_all(&self, changes: impl IntoIterator<Item = (Oid, Location)>) {
        todo!()
    }

    /// Where `oid` lies now.
    pub fn get(&self, oid: Oid) -> Result<Option<Location>> {
        todo!()
    }

    /// Bytes of memory held by changes that are not in a checkpoint yet.
    pub fn dirty_bytes(&self) -> usize {
        todo!()
    }

    /// Freezes the changes made so far, to be written by [`Table::write`] as the checkpoint of `position`; false if an
    /// earlier frozen layer still waits to be written (it stays as it is). Quick; call it while no commit is applied.
    pub fn freeze(&self, position: LogPosition, metadata: Vec<u8>) -> bool {
        todo!()
    }

    /// Writes what is frozen, durably; slow, beside readers and new sets. The log must be durable through every
    /// location frozen. `None`: nothing was frozen.
    pub fn write(&self) -> Result<Option<Root>> {
        todo!()
    }

    /// Freeze and write in one.
    pub fn checkpoint(&self, position: LogPosition, metadata: Vec<u8>) -> Result<Root> {
        todo!()
    }
}
