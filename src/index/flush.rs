//! The flush: merging the oldest frozen delta into the bases. The head of `shared.rs` says how it fits in.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::cache::CacheKey;
use super::delta::{Delta, Rest, Table};
use super::description::{Description, Progress};
use super::merge::merge;
use super::operations::OperationCursor;
use super::posting::DESCRIPTION_KEY;
use super::shared::{Maintained, Maintenance, Shared, Unmade};
use super::store::Space;
use super::{IndexId, IndexKey};
use crate::error::Result;
use crate::object::CommitNumber;

/// Runs of a space at which a flush waits for the engine to merge them.
const MOST_RUNS: usize = 12;
/// How long no merge may be running before the flush merges on its own.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it looks.
const INTERVAL: Duration = Duration::from_millis(5);

impl Shared {
    /// The background thread: flushes what is frozen, until it is told to end.
    pub(super) fn run(&self) {
        while self.wait_for_work() {
            // A failure is kept for the committers, and tried again.
            let _ = self.flush_oldest();
            // Also while there is always more to flush, or deltas that nobody reads any more would pile up.
            self.drop_retired();
        }
    }

    /// Freezes what there is and flushes all of it.
    pub(super) fn flush_all(&self) -> Result<()> {
        self.freeze_active();
        while self.flush_oldest()? {}
        Ok(())
    }

    /// Merges the oldest frozen delta; whether there was one.
    fn flush_oldest(&self) -> Result<bool> {
        let mut maintenance = self.maintenance.lock();
        let state = self.newest();
        let flushed = match state.deltas.as_slice() {
            [oldest, _, ..] => self.flush(&mut maintenance, oldest).map(|()| true),
            _ => Ok(false),
        };
        self.flushed(&flushed);
        // What does not go to the store stays in memory, and the next flush tries again.
        let _ = self.spill_waiting(&mut maintenance);
        flushed
    }

    fn flush(&self, maintenance: &mut Maintenance, delta: &Arc<Delta>) -> Result<()> {
        let (commit, position) = delta.through().unwrap_or_default();
        (self.sync_through)(position)?;
        let progress = Progress {
            flush: maintenance.progress.flush.saturating_add(1),
            applied: maintenance.progress.applied.max(position),
        };
        let mut indexes = self.indexes.read().clone();
        let mut changed: Vec<CacheKey> = Vec::new();
        let mut all_written = true;
        for (&id, index) in &mut indexes {
            all_written &= self.merge_index(index, delta.table(id), progress, &mut changed)?;
            index.applied = index.applied.max(position);
        }
        if !all_written {
            self.progress_space
                .ingest(|write| write(&DESCRIPTION_KEY, Some(&progress.encode())))?;
        }
        maintenance.progress = progress;
        keep_waiting(
            &mut self.unmade.lock(),
            delta,
            |id| indexes.contains_key(&id),
            commit,
        );
        let members = indexes.iter().map(|(&id, index)| (id, index.member())).collect();
        *self.indexes.write() = indexes;
        let generation = self.newest().generation.saturating_add(1);
        self.cache.advance(generation, changed.iter());
        self.advance(Some(delta), commit, members);
        Ok(())
    }

    /// Merges the entries of one index into its base; `false` if there were none, and nothing was written.
    fn merge_index(
        &self,
        index: &mut Maintained,
        table: Option<Arc<Table>>,
        progress: Progress,
        changed: &mut Vec<CacheKey>,
    ) -> Result<bool> {
        let everything = Rest::of_range(&[], None);
        let mut operations =
            OperationCursor::new(table.into_iter(), &everything, false, CommitNumber(u64::MAX));
        if operations.current().is_none() {
            return Ok(false);
        }
        self.wait_for_merges(&index.space)?;
        let base = index.space.base();
        let mut keys: Vec<IndexKey> = Vec::new();
        // What the base says now, which is more than was known if a flush has failed half-way.
        let mut description = describe(&base)?.unwrap_or(index.description);
        description.progress = progress;
        description.progress.applied = index.applied.max(progress.applied);
        index.space.ingest(|write| {
            merge(&base, &mut operations, write, &mut description.counts, &mut keys)?;
            write(&DESCRIPTION_KEY, Some(&description.encode()))
        })?;
        changed.extend(keys.into_iter().map(|key| (index.serial, key)));
        index.description = description;
        index.bytes = index.space.bytes();
        Ok(true)
    }

    /// Waits until the engine has caught up with merging runs; does it itself if the engine does not.
    fn wait_for_merges(&self, space: &Space) -> Result<()> {
        let mut last_seen = Instant::now();
        while space.runs() >= MOST_RUNS && !self.is_stopped() {
            if space.is_merging() {
                last_seen = Instant::now();
            }
            if last_seen.elapsed() > PATIENCE {
                return space.merge_runs();
            }
            thread::sleep(INTERVAL);
        }
        Ok(())
    }
}

/// What a base says of itself.
pub(super) fn describe(base: &super::store::Base) -> Result<Option<Description>> {
    let value = base.get(&DESCRIPTION_KEY)?;
    Ok(value.and_then(|value| Description::decode(&value)))
}

/// Keeps the entries of indexes that are being built; notes what is let go of others.
fn keep_waiting(
    unmade: &mut Unmade,
    delta: &Delta,
    is_merged: impl Fn(IndexId) -> bool,
    commit: CommitNumber,
) {
    for (id, table) in delta.tables() {
        if is_merged(id) {
            continue;
        }
        match unmade.prepared.get_mut(&id) {
            Some(waiting) => waiting.push(table, commit),
            None => {
                unmade.discarded.insert(id, commit);
            }
        }
    }
}
