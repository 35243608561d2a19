//! What all handles of one open database share.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use parking_lot::Mutex;

use super::build::BuildProgress;
use super::cleaning::Cleaning;
use super::ledger::Ledger;
use super::maintenance::Maintenance;
use super::options::Options;
use crate::catalog::{Catalog, IndexId};
use crate::commit::{Durability, Pipeline};
use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::index::{IndexStore, Shadow};
use crate::object::{ClassId, Oid};
use crate::query::Engine;

/// An open database. Closed when the last handle, snapshot and transaction is gone: when the drop of the last one
/// returns, everything is written and the lock is free.
///
/// The maintenance thread shares the [`Parts`] and never holds an instance, so the last handle is always a caller's, and
/// whoever drops it waits for what the thread is doing.
#[derive(Debug)]
pub struct Instance {
    parts: Arc<Parts>,
    maintenance: Maintenance,
}

impl Instance {
    /// An instance of these parts, its maintenance thread running unless nothing may be written.
    pub(super) fn start(parts: Parts) -> Result<Instance> {
        let instance = Instance {
            parts: Arc::new(parts),
            maintenance: Maintenance::default(),
        };
        if !instance.options.read_only {
            instance.maintenance.start(instance.parts.clone())?;
        }
        Ok(instance)
    }

    /// Merges index deltas and writes a checkpoint, so that the next open replays nothing.
    pub fn close(&self) -> Result<()> {
        self.maintenance.stop();
        self.parts.close()
    }
}

impl Deref for Instance {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

/// What an open database is made of.
#[derive(Debug)]
pub struct Parts {
    pub(crate) heap: Arc<Heap>,
    pub(crate) indexes: Arc<IndexStore>,
    pub(crate) pipeline: Pipeline,
    pub(crate) engine: Arc<Engine>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) options: Options,
    /// Held by whoever cleans.
    pub(crate) cleaning: Mutex<Cleaning>,
    /// The indexes that are being built.
    pub(super) builds: Mutex<BTreeMap<IndexId, BuildProgress>>,
    /// Held by whoever builds an index.
    pub(super) build_turn: Mutex<()>,
    /// How many wait to clean in place of the background thread.
    pub(crate) cleaners_waiting: AtomicU32,
    /// What recovery had to say, if anything.
    pub(crate) recovery: Option<String>,
    /// What was wrong with the indexes on the disk, of a database opened read-only; any other has mended it.
    pub(crate) index_damage: Option<String>,
    /// Goes when all that reads from it has gone.
    pub(crate) _shadow: Option<Shadow>,
}

impl Parts {
    /// The write street.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The directory of the database; none in memory.
    pub fn root(&self) -> Option<&std::path::Path> {
        self.options.path.as_deref()
    }

    /// The query engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The durability of transactions that do not say.
    pub fn durability(&self) -> Durability {
        self.options.durability
    }

    /// An identifier for a new object of `class`, never handed out before.
    pub fn new_oid(&self, class: ClassId) -> Result<Oid> {
        self.check_writable()?;
        let serial = self.heap.reserve(class, 1)?.start;
        Oid::new(class, serial)
            .ok_or_else(|| Error::Limit(format!("class number {} has used up its identifiers", class.0)))
    }

    /// Refuses where the database was opened read-only.
    pub fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            return Err(Error::ReadOnly(
                "the database was opened read-only; open it for writing to change it".into(),
            ));
        }
        Ok(())
    }

    /// Bytes of all indexes of a catalog, but for what is not merged into their bases yet.
    pub fn index_statistics(&self, catalog: &Catalog) -> u64 {
        let bytes = |id: &IndexId| {
            self.indexes
                .statistics(*id)
                .map_or(0, |statistics| statistics.bytes)
        };
        catalog.indexes.keys().map(bytes).sum()
    }

    /// Checks every byte of the heap's files; calls `found` with each damaged place and what is wrong there.
    pub fn verify_files(&self, found: &mut dyn FnMut(String, String)) -> Result<()> {
        self.heap.verify(&mut |damage| found(damage.place, damage.what))
    }

    /// Makes everything committed so far durable.
    pub fn persist(&self) -> Result<()> {
        self.heap.sync(self.heap.end())
    }

    fn close(&self) -> Result<()> {
        if self.options.read_only {
            return Ok(());
        }
        let indexes = self.indexes.close();
        self.heap.close().and(indexes)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A failure loses nothing: recovery replays the log. Who wants to know calls `Database::close`.
        let _ = self.close();
    }
}
