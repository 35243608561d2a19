//! What is committed while an index is built, and how the build catches up with it.
//!
//! An index is built from the state of one commit, beside writers. From the commit on that declares it, its changes go
//! through the deltas like those of any other index. A flush that meets changes of an index that is not there yet sets
//! them aside: as tables in memory, and when those are as large as a full delta, in a space of the store. Once the
//! entries of the build's commit are written, the build takes what was set aside and merges it, again and again, without
//! keeping anybody waiting; each time less has come meanwhile. When it is less than a full delta, the rest is merged
//! while no flush may pass, and the index is in place.

use std::sync::Arc;

use super::build::{IndexPlan, Tick, check_discarded, describe};
use super::delta::{Rest, Table};
use super::description::Description;
use super::merge::{Counts, Operations, has_several, merge};
use super::operations::OperationCursor;
use super::posting::{DESCRIPTION_KEY, chunk_key, damaged, split_chunk_key};
use super::shared::{Maintenance, Shared};
use super::sort::run_space;
use super::store::{Bytes, Items, Space};
use super::{IndexId, IndexKey, IndexKind};
use crate::error::{Error, Result};
use crate::object::{CommitNumber, Oid};

/// Changes of an index that is being built, set aside by flushes.
#[derive(Default)]
pub(super) struct Waiting {
    /// The older ones, the newest operation on each entry, where there were too many for memory.
    spilled: Option<Space>,
    /// The later ones, the oldest first.
    tables: Vec<Arc<Table>>,
    /// The newest commit any of it is of.
    through: CommitNumber,
}

impl Waiting {
    /// Sets the entries of a delta aside.
    pub(super) fn push(&mut self, table: Arc<Table>, through: CommitNumber) {
        self.tables.push(table);
        self.through = through;
    }

    fn in_memory(&self) -> usize {
        self.tables.iter().map(|table| table.length()).sum()
    }
}

impl Shared {
    /// Writes what is set aside to the store where it is too much for memory. What cannot be written stays in memory
    /// until the next try.
    pub(super) fn spill_waiting(&self, _maintenance: &mut Maintenance) -> Result<()> {
        let full: Vec<IndexId> = {
            let unmade = self.unmade.lock();
            let is_full = |waiting: &Waiting| waiting.in_memory() >= self.limits.entries;
            let prepared = unmade.prepared.iter();
            prepared
                .filter(|(_, waiting)| is_full(waiting))
                .map(|(id, _)| *id)
                .collect()
        };
        for id in full {
            // Nobody else takes it meanwhile: that needs the lock of maintenance too.
            let Some(mut waiting) = self.unmade.lock().prepared.get_mut(&id).map(std::mem::take) else {
                continue;
            };
            let spilled = self.spill(&mut waiting);
            let mut unmade = self.unmade.lock();
            match unmade.prepared.get_mut(&id) {
                Some(place) => *place = waiting,
                None => {
                    drop(unmade);
                    self.discard(Some(waiting));
                }
            }
            spilled?;
        }
        Ok(())
    }

    fn spill(&self, waiting: &mut Waiting) -> Result<()> {
        if waiting.spilled.is_none() {
            waiting.spilled = Some(run_space(&self.store)?);
        }
        let Some(space) = &waiting.spilled else {
            return Ok(());
        };
        let mut operations = all_operations(waiting.tables.iter().cloned());
        space.ingest(|write| {
            while let Some(operation) = operations.current() {
                let key = chunk_key(&operation.key, operation.oid.to_bits());
                write(&key, Some(&[u8::from(operation.added)]))?;
                operations.advance();
            }
            Ok(())
        })?;
        waiting.tables.clear();
        Ok(())
    }

    /// Lets go of what was set aside for an index.
    pub(super) fn discard(&self, waiting: Option<Waiting>) {
        if let Some(space) = waiting.and_then(|waiting| waiting.spilled) {
            // What cannot be removed now is removed at the next open.
            let _ = self.store.remove(&space);
        }
    }
}

fn all_operations(tables: impl Iterator<Item = Arc<Table>>) -> OperationCursor {
    let everything = Rest::of_range(&[], None);
    OperationCursor::new(tables, &everything, false, CommitNumber(u64::MAX))
}

/// A build that has written its entries.
pub(super) struct CatchingUp<'a> {
    shared: &'a Shared,
    plan: IndexPlan,
    space: &'a Space,
    counts: Counts,
    /// Keys of a unique index with several objects.
    suspects: Vec<IndexKey>,
    /// The newest commit that was merged.
    through: CommitNumber,
}

impl<'a> CatchingUp<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        plan: IndexPlan,
        space: &'a Space,
        counts: Counts,
    ) -> CatchingUp<'a> {
        CatchingUp {
            shared,
            plan,
            space,
            counts,
            suspects: Vec::new(),
            through: CommitNumber::default(),
        }
    }

    /// Merges what was set aside until little is left.
    pub(super) fn catch_up(&mut self, tick: Tick<'_>) -> Result<()> {
        for _ in 0..MOST_ROUNDS {
            self.shared.flush_all()?;
            let maintenance = self.shared.maintenance.lock();
            let waiting = self.take()?;
            drop(maintenance);
            let is_last = waiting.spilled.is_none() && waiting.in_memory() < FEW;
            self.merge(waiting)?;
            tick(self.counts.entries)?;
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// Merges the rest, which no flush may add to, and completes the index.
    pub(super) fn finish(&mut self, maintenance: &Maintenance, is_prepared: bool) -> Result<Description> {
        let mut applied = self.plan.applied;
        if is_prepared {
            let waiting = self.take()?;
            self.merge(waiting)?;
            applied = applied.max(maintenance.progress.applied);
        }
        check_discarded(&self.shared.unmade.lock(), self.plan.id, self.plan.commit)?;
        let plan = IndexPlan { applied, ..self.plan };
        let description = describe(plan, maintenance, self.counts);
        self.space
            .ingest(|write| write(&DESCRIPTION_KEY, Some(&description.encode())))?;
        Ok(description)
    }

    /// The keys of a unique index that came to several objects, and the newest commit that was merged.
    pub(super) fn seen(self) -> (Vec<IndexKey>, CommitNumber) {
        (self.suspects, self.through)
    }

    fn take(&self) -> Result<Waiting> {
        let mut unmade = self.shared.unmade.lock();
        let waiting = unmade.prepared.get_mut(&self.plan.id).map(std::mem::take);
        waiting.ok_or_else(|| Error::Schema("the index was dropped while it was being built".into()))
    }

    fn merge(&mut self, waiting: Waiting) -> Result<()> {
        self.through = self.through.max(waiting.through);
        let mut merged = Ok(());
        if let Some(spilled) = &waiting.spilled {
            merged = Spilled::new(spilled).and_then(|mut spilled| self.merge_operations(&mut spilled));
        }
        if merged.is_ok() && !waiting.tables.is_empty() {
            merged = self.merge_operations(&mut all_operations(waiting.tables.iter().cloned()));
        }
        self.shared.discard(Some(waiting));
        merged
    }

    fn merge_operations(&mut self, operations: &mut dyn Operations) -> Result<()> {
        let base = self.space.base();
        let mut changed = Vec::new();
        self.space
            .ingest(|write| merge(&base, operations, write, &mut self.counts, &mut changed))?;
        if self.plan.kind == IndexKind::Unique {
            let base = self.space.base();
            for key in changed {
                if has_several(&base, &key)? {
                    self.suspects.push(key);
                }
            }
        }
        Ok(())
    }
}

/// The operations of a space to which they were spilled.
struct Spilled {
    items: Items,
    next: Option<(Bytes, Bytes)>,
}

impl Spilled {
    fn new(space: &Space) -> Result<Spilled> {
        let mut items = space.base().range(&[], &DESCRIPTION_KEY);
        let next = items.next().transpose()?;
        Ok(Spilled { items, next })
    }
}

impl Operations for Spilled {
    fn next_key(&mut self, key: &mut IndexKey, operations: &mut Vec<(Oid, bool)>) -> Result<bool> {
        operations.clear();
        while let Some((stored, value)) = &self.next {
            let (of, bits) = split_chunk_key(stored).ok_or_else(|| damaged(stored))?;
            if operations.is_empty() {
                key.clear();
                key.extend_from_slice(of);
            } else if **key != *of {
                break;
            }
            let oid = Oid::from_bits(bits).ok_or_else(|| damaged(stored))?;
            operations.push((oid, **value == [1]));
            self.next = self.items.next().transpose()?;
        }
        Ok(!operations.is_empty())
    }
}

/// Changes that are merged while flushes wait: what takes some hundredths of a second.
const FEW: usize = 10_000;
/// Rounds of catching up, after which flushes wait for the rest however much it is.
const MOST_ROUNDS: usize = 20;
