//! Cleaning: moving what lives out of segments, and giving the segments up.
//!
//! One at a time cleans: the maintenance thread, or whoever asks for it. All steps may be left off anywhere, and a kill
//! loses nothing but what it had not synced: what was moved is moved, and what was not will be found again.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;
use rustc_hash::FxHashMap;

use super::opened::Parts;
use super::victims::{Census, census, choose};
use crate::commit::now;
use crate::error::{Error, Result};
use crate::heap::{Amount, LiveRecord, Location, LogPosition, Moved, Needs, SegmentUse};
use crate::object::{ClassId, CommitNumber, Oid};
use crate::read::Reader;

/// Called after every part of a move; `Break` ends the cleaning.
pub type Step<'a> = &'a mut dyn FnMut(Moved) -> ControlFlow<()>;

/// What one cleaner must know of the last.
#[derive(Debug, Default)]
pub struct Cleaning {
    /// Classes that were found dropped, and the newest commit at that time.
    dropped: FxHashMap<ClassId, CommitNumber>,
    /// Whether there was too much garbage the last time.
    running: bool,
    /// The end of the log at that time.
    looked_at: LogPosition,
}

/// What became of segments in which nothing lives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Their files were removed.
    pub released: Amount,
    /// Open readers keep them.
    pub pinned: Amount,
    /// The history or a pin keeps them.
    pub kept: Amount,
}

/// Which tombstones nothing needs any more.
#[derive(Debug, Clone, Copy)]
pub struct Over {
    floor: CommitNumber,
    oldest: u32,
}

impl Over {
    /// Whether the record is a tombstone that no reader and no rebuild of the table can miss.
    pub fn includes(&self, record: &LiveRecord) -> bool {
        let original = record.tombstone.filter(|_| record.commit <= self.floor);
        original.is_some_and(|original| original <= self.oldest)
    }
}

/// Bytes moved between two checkpoints of the background thread.
const ROUND_BYTES: u64 = 64 << 20;
/// Records moved between two looks at whether to go on.
const STEP_RECORDS: usize = 2048;
/// Dead segments are given up without waiting for the next checkpoint when they have this many bytes.
const DEAD_BYTES: u64 = 16 << 20;

/// Keeps moving to so many bytes a second.
#[derive(Debug)]
pub struct Pace {
    budget: Option<u64>,
    begun: Instant,
    moved: u64,
}

impl Pace {
    /// From now on, at most `budget` bytes a second.
    pub fn new(budget: Option<u64>) -> Pace {
        Pace {
            budget: budget.filter(|budget| *budget > 0),
            begun: Instant::now(),
            moved: 0,
        }
    }

    /// Counts bytes moved, and says how long to wait before more may be.
    pub fn wait_after(&mut self, bytes: u64) -> Duration {
        self.moved = self.moved.saturating_add(bytes);
        let Some(budget) = self.budget else {
            return Duration::ZERO;
        };
        let due = u128::from(self.moved).saturating_mul(1_000_000) / u128::from(budget);
        let due = Duration::from_micros(u64::try_from(due).unwrap_or(u64::MAX));
        due.saturating_sub(self.begun.elapsed())
    }
}

impl Parts {
    /// The oldest commit whose state must stay readable.
    pub fn history_from(&self) -> CommitNumber {
        let newest = self.pipeline.view().commit();
        let history = self.options.history;
        if history.is_zero() {
            return newest;
        }
        let micros = i64::try_from(history.as_micros()).unwrap_or(i64::MAX);
        // Where everything that is kept is newer, or cannot be read, everything stays.
        self.heap
            .commit_at(now().saturating_sub(micros))
            .unwrap_or_default()
    }

    /// What may be forgotten now.
    pub fn over(&self) -> Over {
        Over {
            floor: self.heap.raise_floor(self.history_from()),
            oldest: self.heap.oldest_segment(),
        }
    }

    /// Moves what lives in these segments to the end of the log, in OID order; forgets tombstones that nothing needs.
    pub fn clean(&self, numbers: &[u32], step: Step<'_>) -> Result<ControlFlow<()>> {
        let mut live = Vec::new();
        for number in numbers {
            live.extend(self.heap.live_records(*number)?);
        }
        live.sort_unstable_by_key(|record| record.oid);
        self.move_or_forget(live, &self.over(), step)
    }

    /// Moves these records in this order, but for tombstones that nothing needs.
    pub fn move_or_forget(
        &self,
        live: Vec<LiveRecord>,
        over: &Over,
        step: Step<'_>,
    ) -> Result<ControlFlow<()>> {
        let is_over = |record: &LiveRecord| over.includes(record);
        let place = |record: &LiveRecord| (record.oid, record.location);
        let forgotten: Vec<(Oid, Location)> =
            live.iter().filter(|record| is_over(record)).map(place).collect();
        if !forgotten.is_empty() {
            self.heap.forget(&forgotten)?;
        }
        let moving: Vec<(Oid, Location)> = live.iter().filter(|record| !is_over(record)).map(place).collect();
        drop(live);
        for part in moving.chunks(STEP_RECORDS) {
            let moved = self.heap.move_records(part)?;
            if step(moved).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Makes the table forget the objects of classes that were dropped, once no reader can see those.
    pub fn sweep_dropped_classes(&self, cleaning: &mut Cleaning) -> Result<()> {
        let view = self.pipeline.view();
        let stored = self.heap.classes_with_objects();
        let dropped: Vec<ClassId> = stored
            .into_iter()
            .filter(|class| !class.is_system() && !view.catalog().is_live(*class))
            .collect();
        cleaning.dropped.retain(|class, _| dropped.contains(class));
        if dropped.is_empty() {
            return Ok(());
        }
        let newest = view.commit();
        drop(view);
        let floor = self.heap.raise_floor(self.history_from());
        for class in dropped {
            if *cleaning.dropped.entry(class).or_insert(newest) <= floor {
                self.heap.forget_class(class)?;
            }
        }
        Ok(())
    }

    /// What must be kept now. `flushed` is a commit that all indexes are known to hold durably.
    fn needs(&self, flushed: CommitNumber) -> Needs {
        let stored = self.indexes.known();
        let applied = stored.iter().filter_map(|id| self.indexes.applied(*id));
        let everything = LogPosition {
            segment: u32::MAX,
            offset: 0,
        };
        Needs {
            log_from: applied.min().unwrap_or(everything),
            indexed: flushed,
            history_from: self.history_from(),
            history: !self.options.history.is_zero(),
        }
    }

    /// Gives up the segments in which nothing lives: merges the index deltas, writes a checkpoint, and removes the files
    /// that no reader needs.
    ///
    /// # Errors
    /// [`Error::NoSpace`], [`Error::Io`]; what is left is tried again the next time.
    pub fn reclaim(&self) -> Result<Reclaimed> {
        let mut flushed = CommitNumber::default();
        if census(&self.heap.segment_uses()?).dead.segments > 0 {
            let newest = self.pipeline.view().commit();
            // Where the indexes find no room, the segments that they do not need are given up first.
            match self.with_reserve(|| self.indexes.flush()) {
                Ok(()) => flushed = newest,
                Err(Error::NoSpace { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        let kept = self.retire(flushed)?;
        if self.heap.awaits_checkpoint() {
            self.with_reserve(|| self.heap.checkpoint())?;
        }
        let released = self.heap.release()?;
        self.heap.keep_reserve();
        Ok(Reclaimed {
            released,
            pinned: self.heap.retired(),
            kept,
        })
    }

    fn retire(&self, flushed: CommitNumber) -> Result<Amount> {
        let needs = self.needs(flushed);
        self.pipeline.settled(|| {
            let (retired, kept) = self.heap.retire(&needs)?;
            Ok((retired.segments > 0, kept))
        })
    }

    /// A checkpoint, with what can be given up along with it.
    pub fn checkpoint_and_release(&self) -> Result<()> {
        // What keeps segments from being given up is no reason to go without the checkpoint.
        let retired = self.retire(CommitNumber::default());
        self.heap.checkpoint()?;
        self.pipeline.refresh();
        self.heap.release()?;
        self.heap.keep_reserve();
        retired.map(drop)
    }

    /// Runs what frees space in the end; where it finds the disk full, again with the reserve given up for it.
    fn with_reserve(&self, work: impl Fn() -> Result<()>) -> Result<()> {
        match work() {
            Err(Error::NoSpace { .. }) if self.heap.give_up_reserve() => work(),
            outcome => outcome,
        }
    }

    /// Becomes the one that cleans; the background thread makes way.
    pub fn begin_cleaning(&self) -> MutexGuard<'_, Cleaning> {
        self.cleaners_waiting.fetch_add(1, Ordering::AcqRel);
        let cleaning = self.cleaning.lock();
        self.cleaners_waiting.fetch_sub(1, Ordering::AcqRel);
        cleaning
    }

    /// Whether somebody waits to clean in place of the background thread.
    pub fn cleaner_must_yield(&self) -> bool {
        self.cleaners_waiting.load(Ordering::Acquire) > 0
    }

    /// One round of the background thread: cleans if there is too much garbage, gives up what is dead.
    pub fn tend(&self, step: Step<'_>) -> Result<()> {
        let Some(mut cleaning) = self.cleaning.try_lock() else {
            return Ok(());
        };
        let end = self.heap.end();
        if std::mem::replace(&mut cleaning.looked_at, end) == end && self.heap.retired().segments == 0 {
            return Ok(());
        }
        self.heap.release()?;
        self.sweep_dropped_classes(&mut cleaning)?;
        let uses = self.heap.segment_uses()?;
        let census = census(&uses);
        cleaning.running = census.asks_for_cleaning(cleaning.running) && !self.is_held_up(&census);
        if cleaning.running {
            let numbers = choose(&self.movable(&uses), ROUND_BYTES);
            if !numbers.is_empty() {
                let _ = self.clean(&numbers, step)?;
                return self.reclaim().map(drop);
            }
        }
        if census.dead.bytes >= DEAD_BYTES {
            self.reclaim()?;
        }
        Ok(())
    }

    /// Whether readers keep so much that moving more would only make the files grow.
    fn is_held_up(&self, census: &Census) -> bool {
        self.heap.retired().bytes > ROUND_BYTES.max(census.live)
    }

    /// The segments that would be given up once everything in them is moved.
    pub fn movable(&self, uses: &[SegmentUse]) -> Vec<SegmentUse> {
        let history_from = self.history_from();
        let history = !self.options.history.is_zero();
        let is_free = |found: &&SegmentUse| {
            !history || (found.superseded_by <= history_from && found.last_commit <= history_from)
        };
        uses.iter().filter(is_free).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_makes_moving_wait() {
        let mut pace = Pace::new(Some(1000));
        assert!(pace.wait_after(10_000) > Duration::from_secs(9));
        assert_eq!(Pace::new(None).wait_after(u64::MAX), Duration::ZERO);
    }
}
