//! Compacting on request.
//!
//! The background cleaner keeps garbage within bounds, a few segments at a time. Here the whole store is looked at:
//! segments with garbage to speak of are emptied, and those that garbage has scattered, in which the neighbours of what
//! lives there lie elsewhere. What lives in all of them is moved in OID order, class by class, so that scans and
//! neighbours find their objects side by side again; or first along the paths that were given. Space is given back as
//! segments run empty. Where the disk is too full for that, segments are emptied one by one, the emptiest first, which
//! needs room for one.

use std::ops::ControlFlow;

use super::cluster::Clusters;
use super::options::CompactOptions;
use super::report::{CompactProgress, CompactReport};
use crate::error::{Error, Result};
use crate::heap::{LiveRecord, Moved, SegmentUse};
use crate::instance::{Instance, Pace, Reclaimed};

/// Bytes moved before segments that have run empty are given up.
const RECLAIM_EVERY: u64 = 256 << 20;
/// Records gathered before they are moved.
pub(super) const BATCH: usize = 4096;
/// Tombstones put off until the segments that need them may be gone; more are moved.
const MOST_TOMBSTONES: usize = 1 << 20;
/// Segments with fewer hundredths of garbage are left alone ...
const LEAST_GARBAGE: u64 = 10;
/// ... unless so many hundredths of their records have their neighbours elsewhere.
const MOST_SCATTERED: u64 = 10;

/// Compacts a database; see [`Database::compact`](crate::Database::compact).
pub fn compact(
    instance: &Instance,
    options: &CompactOptions,
    progress: &mut dyn FnMut(&CompactProgress) -> ControlFlow<()>,
) -> Result<CompactReport> {
    instance.check_writable()?;
    instance.pipeline.check_bulk()?;
    let clusters = Clusters::parse(instance, &options.cluster)?;
    let mut cleaning = instance.begin_cleaning();
    let before = instance.heap.statistics();
    let mut report = CompactReport {
        dry_run: options.dry_run,
        segments_before: before.segments,
        bytes_before: before.bytes,
        ..CompactReport::default()
    };
    if options.dry_run {
        plan(instance, &clusters, &mut report)?;
        return Ok(report);
    }
    instance.sweep_dropped_classes(&mut cleaning)?;
    roll(instance, &clusters)?;
    let victims = victims(instance, &clusters)?;
    let mut run = Run::new(instance, options, &victims, progress);
    let outcome = run.all(&clusters);
    report.records_moved = run.state.records_moved;
    report.bytes_moved = run.state.bytes_moved;
    report.interrupted = outcome?.is_break();
    run.reclaim()?;
    run.report(&mut report);
    let after = instance.heap.statistics();
    report.segments_after = after.segments;
    report.bytes_after = after.bytes;
    Ok(report)
}

/// What would be done.
fn plan(instance: &Instance, clusters: &Clusters, report: &mut CompactReport) -> Result<()> {
    let uses = instance.heap.segment_uses()?;
    let active = instance.heap.active_use()?;
    let victims = victims(instance, clusters)?;
    let is_victim = |found: &&SegmentUse| found.live == 0 || victims.contains(&found.number);
    let active = active.filter(|found| found.records > 0 && wants_roll(found, clusters));
    for found in uses.iter().filter(is_victim).chain(active.as_ref()) {
        report.segments_freed = report.segments_freed.saturating_add(1);
        report.bytes_freed = report.bytes_freed.saturating_add(found.bytes);
        report.records_moved = report.records_moved.saturating_add(found.live);
        report.bytes_moved = report.bytes_moved.saturating_add(found.live_bytes());
    }
    let pinned = instance.heap.retired();
    report.segments_pinned = pinned.segments;
    report.bytes_pinned = pinned.bytes;
    report.segments_after = report.segments_before.saturating_sub(report.segments_freed);
    let rest = report.bytes_before.saturating_sub(report.bytes_freed);
    report.bytes_after = rest.saturating_add(report.bytes_moved);
    Ok(())
}

/// Begins a new segment, if the one that is written to is worth cleaning.
fn roll(instance: &Instance, clusters: &Clusters) -> Result<()> {
    let active = instance.heap.active_use()?;
    if active.is_some_and(|found| found.records > 0 && wants_roll(&found, clusters)) {
        instance.heap.roll()?;
    }
    Ok(())
}

fn wants_roll(active: &SegmentUse, clusters: &Clusters) -> bool {
    has_garbage(active) || !clusters.is_empty()
}

fn has_garbage(found: &SegmentUse) -> bool {
    let garbage = found.records.saturating_sub(found.live);
    garbage.saturating_mul(100) > found.records.saturating_mul(LEAST_GARBAGE)
}

/// The numbers of the segments to empty, ascending.
fn victims(instance: &Instance, clusters: &Clusters) -> Result<Vec<u32>> {
    let uses = instance.movable(&instance.heap.segment_uses()?);
    let arrivals = instance.heap.arrivals()?;
    let is_scattered = |found: &SegmentUse| {
        let arrivals = arrivals.get(found.number as usize).copied().unwrap_or(0);
        found.live < found.records && arrivals.saturating_mul(100) > found.live.saturating_mul(MOST_SCATTERED)
    };
    let is_victim = |found: &&SegmentUse| {
        found.live > 0 && (!clusters.is_empty() || has_garbage(found) || is_scattered(found))
    };
    Ok(uses.iter().filter(is_victim).map(|found| found.number).collect())
}

/// One compaction under way.
pub(super) struct Run<'a> {
    pub(super) instance: &'a Instance,
    victims: &'a [u32],
    pace: Pace,
    progress: &'a mut dyn FnMut(&CompactProgress) -> ControlFlow<()>,
    state: CompactProgress,
    reclaimed: Reclaimed,
    segments_freed: u64,
    moved_since: u64,
    /// Tombstones that older segments still keep; those go first, and these perhaps with them.
    tombstones: Vec<LiveRecord>,
}

impl<'a> Run<'a> {
    fn new(
        instance: &'a Instance,
        options: &CompactOptions,
        victims: &'a [u32],
        progress: &'a mut dyn FnMut(&CompactProgress) -> ControlFlow<()>,
    ) -> Run<'a> {
        Run {
            instance,
            victims,
            pace: Pace::new(options.budget),
            progress,
            state: CompactProgress::default(),
            reclaimed: Reclaimed::default(),
            segments_freed: 0,
            moved_since: 0,
            tombstones: Vec::new(),
        }
    }

    fn all(&mut self, clusters: &Clusters) -> Result<ControlFlow<()>> {
        let uses = self.instance.heap.segment_uses()?;
        let wanted = uses.iter().filter(|found| self.is_victim(found.number));
        self.state.records_to_move = wanted.map(|found| found.live).sum();
        if self.victims.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let in_order = clusters.walk(self).and_then(|flow| match flow {
            ControlFlow::Break(()) => Ok(flow),
            ControlFlow::Continue(()) => self.in_oid_order(),
        });
        let in_order = in_order.and_then(|flow| match flow {
            ControlFlow::Break(()) => Ok(flow),
            ControlFlow::Continue(()) => self.end_tombstones(),
        });
        match in_order {
            Err(Error::NoSpace { .. }) => self.one_by_one(),
            outcome => outcome,
        }
    }

    /// Whether a segment is being emptied.
    pub(super) fn is_victim(&self, number: u32) -> bool {
        self.victims.binary_search(&number).is_ok()
    }

    fn in_oid_order(&mut self) -> Result<ControlFlow<()>> {
        for class in self.instance.heap.classes_with_objects() {
            let mut serial = 0;
            let mut live = Vec::with_capacity(BATCH);
            loop {
                let victims = self.victims;
                let wanted = |number: u32| victims.binary_search(&number).is_ok();
                let more = self
                    .instance
                    .heap
                    .scan_live(class, &mut serial, &wanted, &mut live)?;
                if live.len() >= BATCH || !more {
                    let flow = self.move_batch(std::mem::take(&mut live))?;
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
                if !more {
                    break;
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Empties the victims one after the other, the emptiest first.
    fn one_by_one(&mut self) -> Result<ControlFlow<()>> {
        self.reclaim()?;
        let mut uses = self.instance.heap.segment_uses()?;
        uses.retain(|found| found.live > 0 && self.is_victim(found.number));
        uses.sort_by_key(|found| found.live_bytes());
        for found in uses {
            let instance = self.instance;
            let flow = instance.clean(&[found.number], &mut |moved| self.step(moved))?;
            self.reclaim()?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Moves records in this order.
    pub(super) fn move_batch(&mut self, mut live: Vec<LiveRecord>) -> Result<ControlFlow<()>> {
        if live.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let instance = self.instance;
        let over = instance.over();
        if self.tombstones.len() < MOST_TOMBSTONES {
            live.retain(|record| {
                let waits = record.tombstone.is_some() && !over.includes(record);
                self.tombstones.extend(waits.then_some(*record));
                !waits
            });
        }
        let flow = instance.move_or_forget(live, &over, &mut |moved| self.step(moved))?;
        if self.moved_since >= RECLAIM_EVERY {
            self.reclaim()?;
        }
        Ok(flow)
    }

    /// Forgets the tombstones that were put off, as far as the segments that needed them are gone now: the oldest first,
    /// since their segments end with them. Moves the others.
    fn end_tombstones(&mut self) -> Result<ControlFlow<()>> {
        loop {
            let before = self.tombstones.len();
            if before == 0 {
                return Ok(ControlFlow::Continue(()));
            }
            self.reclaim()?;
            let over = self.instance.over();
            let (ended, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.tombstones)
                .into_iter()
                .partition(|record| over.includes(record));
            self.tombstones = rest;
            let instance = self.instance;
            if ended.is_empty() {
                let rest = std::mem::take(&mut self.tombstones);
                return instance.move_or_forget(rest, &over, &mut |moved| self.step(moved));
            }
            let _ = instance.move_or_forget(ended, &over, &mut |moved| self.step(moved))?;
        }
    }

    fn step(&mut self, moved: Moved) -> ControlFlow<()> {
        self.state.records_moved = self.state.records_moved.saturating_add(moved.records);
        self.state.bytes_moved = self.state.bytes_moved.saturating_add(moved.bytes);
        self.moved_since = self.moved_since.saturating_add(moved.bytes);
        let wait = self.pace.wait_after(moved.bytes);
        let mut waited = std::time::Duration::ZERO;
        while waited < wait {
            let part = (wait - waited).min(LONGEST_WAIT);
            std::thread::sleep(part);
            waited += part;
            (self.progress)(&self.state)?;
        }
        (self.progress)(&self.state)
    }

    fn reclaim(&mut self) -> Result<()> {
        self.moved_since = 0;
        let reclaimed = self.instance.reclaim()?;
        self.state.bytes_freed = self.state.bytes_freed.saturating_add(reclaimed.released.bytes);
        self.segments_freed = self.segments_freed.saturating_add(reclaimed.released.segments);
        self.reclaimed = reclaimed;
        Ok(())
    }

    fn report(&self, report: &mut CompactReport) {
        report.segments_freed = self.segments_freed;
        report.bytes_freed = self.state.bytes_freed;
        report.segments_pinned = self.reclaimed.pinned.segments;
        report.bytes_pinned = self.reclaimed.pinned.bytes;
        report.segments_kept = self.reclaimed.kept.segments;
        report.bytes_kept = self.reclaimed.kept.bytes;
    }
}

/// How long to sleep without looking at whether to stop.
const LONGEST_WAIT: std::time::Duration = std::time::Duration::from_millis(100);
