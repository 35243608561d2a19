//! The table as its one owner, the heap, sees it.
//!
//! The current version is a stack: a layer that takes the changes, at most one frozen layer that is being written, and
//! the mapped checkpoint below. Two locks: `current` is held for moments (by a set, by a reader that takes the
//! version), `checkpointer` for as long as a checkpoint is written; who needs both takes `checkpointer` first.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::error::Result;
use crate::files::Disk;
use crate::heap::{Location, LogPosition};
use crate::object::Oid;

use super::checkpoint::{Checkpointer, Root};
use super::layer::Layer;
use super::mapped::Mapped;
use super::version::TableVersion;

/// The object table: OID to [`Location`], in memory above a mapped checkpoint.
#[derive(Debug)]
pub struct Table {
    current: Mutex<Current>,
    checkpointer: Mutex<Checkpointer>,
    /// Bytes of all layers that are alive.
    alive: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Current {
    version: Arc<TableVersion>,
    /// What the frozen layer will be the checkpoint of.
    pending: Option<Pending>,
}

#[derive(Debug, Clone)]
struct Pending {
    position: LogPosition,
    metadata: Vec<u8>,
}

impl Table {
    /// Opens the table of the database on `disk`, at its newest durable checkpoint. `None`: there is none; replay the
    /// whole log. Reads the stem and the directories, not the leaves.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`](crate::Error::Corruption) names a damaged page: call [`Table::rebuild`] and replay the
    /// whole log. [`Error::Format`](crate::Error::Format): a newer program wrote it.
    pub fn open(disk: Arc<dyn Disk>) -> Result<(Table, Option<Root>)> {
        let (checkpointer, mapped, root) = Checkpointer::open(disk)?;
        Ok((Table::new(checkpointer, mapped), root))
    }

    /// Removes what is stored of the table and starts with an empty one. On a disk opened read-only nothing is removed,
    /// and the table lives in memory alone.
    pub fn rebuild(disk: Arc<dyn Disk>) -> Result<Table> {
        let checkpointer = Checkpointer::new(disk);
        checkpointer.remove()?;
        Ok(Table::new(checkpointer, Mapped::default()))
    }

    fn new(checkpointer: Checkpointer, mapped: Mapped) -> Table {
        let alive: Arc<AtomicUsize> = Arc::default();
        let active = Arc::new(Layer::new(alive.clone()));
        let version = Arc::new(TableVersion::new(active, None, Arc::new(mapped)));
        Table {
            current: Mutex::new(Current {
                version,
                pending: None,
            }),
            checkpointer: Mutex::new(checkpointer),
            alive,
        }
    }

    /// The current version, for readers; a short lock. Later sets show in it until the next freeze, and what it
    /// showed once it shows for ever, or something newer.
    pub fn version(&self) -> Arc<TableVersion> {
        self.current.lock().version.clone()
    }

    /// Points `oid` at `location`. The record's bytes must have been written.
    pub fn set(&self, oid: Oid, location: Location) {
        self.current.lock().version.active().set(oid, location.0.get());
    }

    /// Points each OID at its location, under one lock; the last wins where one comes twice.
    pub fn set_all(&self, changes: impl IntoIterator<Item = (Oid, Location)>) {
        let current = self.current.lock();
        for (oid, location) in changes {
            current.version.active().set(oid, location.0.get());
        }
    }

    /// Where `oid` lies now.
    pub fn get(&self, oid: Oid) -> Result<Option<Location>> {
        self.current.lock().version.get(oid)
    }

    /// Bytes of memory held by changes that are in no durable checkpoint yet.
    pub fn dirty_bytes(&self) -> usize {
        self.current.lock().version.dirty_bytes()
    }

    /// Bytes of memory of all changes, those included that only readers of older versions still hold.
    pub fn memory_bytes(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }

    /// Freezes the changes made so far, to be written by [`Table::write`] as the checkpoint of `position`; false if an
    /// earlier frozen layer still waits to be written (all stays as it is). Quick; to be called while no commit is
    /// being applied, so that the checkpoint has every change up to `position`.
    pub fn freeze(&self, position: LogPosition, metadata: Vec<u8>) -> bool {
        let mut current = self.current.lock();
        if current.pending.is_some() {
            return false;
        }
        let fresh = Arc::new(Layer::new(self.alive.clone()));
        current.version = Arc::new(current.version.frozen_below(fresh));
        current.pending = Some(Pending { position, metadata });
        true
    }

    /// Writes what is frozen, durably; slow, beside readers and new sets. The log must be durable through every
    /// location that was frozen. `None`: nothing was frozen.
    ///
    /// # Errors
    ///
    /// The changes stay in memory and readable. After [`Error::NoSpace`](crate::Error::NoSpace) or a failed write the
    /// same layer may be written again; after a failed sync every further call fails.
    pub fn write(&self) -> Result<Option<Root>> {
        let mut checkpointer = self.checkpointer.lock();
        let (version, pending) = {
            let current = self.current.lock();
            (current.version.clone(), current.pending.clone())
        };
        let (Some(layer), Some(pending)) = (version.frozen(), pending) else {
            return Ok(None);
        };
        let base = version.mapped();
        let (mapped, root) = checkpointer.write(layer, base, pending.position, &pending.metadata)?;
        let mut current = self.current.lock();
        current.version = Arc::new(current.version.checkpointed(mapped));
        current.pending = None;
        Ok(Some(root))
    }

    /// Freezes and writes; first what is still frozen from an earlier attempt. The calls of [`Table::freeze`] and
    /// [`Table::write`] in one, with what both ask for.
    pub fn checkpoint(&self, position: LogPosition, metadata: &[u8]) -> Result<()> {
        while !self.freeze(position, metadata.to_vec()) {
            self.write()?;
        }
        self.write().map(drop)
    }
}
