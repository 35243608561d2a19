//! A bulk commit: one commit written in parts as its objects come, so that nobody holds all of it in memory.
//!
//! # The life of a bulk commit
//!
//! 1. [`Heap::begin_bulk`]: from here on no other commit may be appended until the end. An empty group waits among those
//!    that are not applied, so that moves stay behind it and every checkpoint ends before it.
//! 2. [`Heap::append_bulk`] writes parts, as many frames as they need: what the log holds of any commit larger than a
//!    frame. A commit exists from the moment its last part does, so a crash before leaves nothing: recovery cuts it off.
//! 3. After the last part [`Heap::sync`], then [`Heap::apply_bulk`]: the parts are read again from the log, and the table
//!    is pointed at them. A table that outgrows its memory is written on the way, as a checkpoint of the position before
//!    the commit: a replay from there sets the same entries once more.
//!
//! What shall not be is *withdrawn* ([`Heap::withdraw_bulk`]): the same commit goes on with a tombstone for each of its
//! objects, and ends. So the log stays a sequence of whole commits, and who reads it finds that this one left nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::frame::{COMMITS, Chain, records, sections};
use super::object_heap::{Applied, CommitEntry, Heap, RecordEntry};
use super::pending::PendingGroup;
use super::plan::Ends;
use super::position::{Location, LogPosition};
use super::scan::LogReader;
use super::segment::place;
use crate::error::{Error, Result};
use crate::object::{CommitNumber, Oid};

/// A commit that is being written in parts.
#[derive(Debug)]
pub struct BulkCommit {
    number: CommitNumber,
    time: i64,
    label: Option<Arc<str>>,
    /// Where it begins, and what its first frame continues.
    start: LogPosition,
    chain: Chain,
    /// Whether a part was written.
    begun: bool,
    /// Records by segment, and versions they supersede.
    added: BTreeMap<u32, u32>,
    superseded: BTreeMap<u32, u32>,
    /// Holds back moves.
    hold: Arc<PendingGroup>,
}

impl Heap {
    /// Begins a commit that is written in parts. Nothing else may be appended before it is applied or withdrawn.
    pub fn begin_bulk(&self, number: CommitNumber, time: i64, label: Option<Arc<str>>) -> Result<BulkCommit> {
        self.log.check_writable()?;
        let _appending = self.appending.lock();
        let (start, chain) = self.log.end_and_chain();
        let hold = PendingGroup::new(Vec::new(), Vec::new(), None);
        self.pending.push(hold.clone());
        self.bulk.store(true, Ordering::Release);
        Ok(BulkCommit {
            number,
            time,
            label,
            start,
            chain,
            begun: false,
            added: BTreeMap::new(),
            superseded: BTreeMap::new(),
            hold,
        })
    }

    /// Writes the next part; `last` ends the commit.
    ///
    /// # Errors
    ///
    /// As [`Heap::append`].
    pub fn append_bulk(&self, bulk: &mut BulkCommit, records: &[RecordEntry<'_>], last: bool) -> Result<()> {
        let _appending = self.appending.lock();
        let commit = entry(bulk, records);
        let previous = self.previous_versions(std::slice::from_ref(&commit))?;
        let ends = Ends {
            first: !bulk.begun,
            last,
        };
        let written = self.log.append_part(&commit, previous, ends)?;
        bulk.begun = true;
        bulk.count(&written.records, &written.superseded);
        Ok(())
    }

    /// Points the table at the records of a commit whose last part is durable.
    pub fn apply_bulk(&self, bulk: BulkCommit) -> Result<()> {
        let (end, chain) = self.log.end_and_chain();
        self.set_parts(&bulk, end, true)?;
        self.settle_bulk(&bulk, end, chain);
        Ok(())
    }

    /// Ends a commit in such a way that it has left nothing; with nothing written it never was. False then.
    ///
    /// # Errors
    ///
    /// The log then ends within the commit: nothing more may be written, and the next open cuts it off.
    pub fn withdraw_bulk(&self, mut bulk: BulkCommit) -> Result<bool> {
        if bulk.begun {
            self.append_tombstones(&mut bulk)?;
            // No checkpoint may come in between: it would know tombstones whose objects are replayed behind it.
            let checkpointing = self.checkpointing.lock();
            let (end, chain) = self.log.end_and_chain();
            self.set_parts(&bulk, end, false)?;
            self.settle_bulk(&bulk, end, chain);
            drop(checkpointing);
            return Ok(true);
        }
        self.pending.remove(&bulk.hold);
        self.bulk.store(false, Ordering::Release);
        self.apply_moves(&mut self.applied.lock());
        Ok(false)
    }

    fn append_tombstones(&self, bulk: &mut BulkCommit) -> Result<()> {
        let _appending = self.appending.lock();
        let end = self.log.end();
        let mut ends = Ends {
            first: false,
            last: false,
        };
        let parts = Parts::of(bulk, end);
        parts.visit(self, |part| {
            // No version of the object comes before: within one commit there are no two to lead a reader to.
            let dead = |(oid, _): &(Oid, Location)| RecordEntry {
                oid: *oid,
                body: None,
                fresh: true,
            };
            let entries: Vec<RecordEntry<'_>> = part.iter().map(dead).collect();
            let written = self.log.append_part(&entry(bulk, &entries), Vec::new(), ends)?;
            let dead: Vec<u32> = part.iter().map(|(_, location)| location.segment()).collect();
            bulk.count(&written.records, &dead);
            Ok(())
        })?;
        ends.last = true;
        self.log
            .append_part(&entry(bulk, &[]), Vec::new(), ends)
            .map(drop)
    }

    /// Sets the table's entries for all parts before `end`; `checkpoints`: writes the table when it is full.
    fn set_parts(&self, bulk: &BulkCommit, end: LogPosition, checkpoints: bool) -> Result<()> {
        Parts::of(bulk, end).visit(self, |part| {
            self.table.set_all(part.iter().copied());
            match checkpoints && self.table_is_full() {
                true => self.checkpoint(),
                false => Ok(()),
            }
        })
    }

    fn settle_bulk(&self, bulk: &BulkCommit, end: LogPosition, chain: Chain) {
        let segments = self.log.segments.current();
        let mut applied = self.applied.lock();
        for (number, count) in &bulk.superseded {
            if let Some(segment) = segments.get(*number) {
                (0..*count).for_each(|_| segment.use_count.supersede(bulk.number));
            }
        }
        for (number, count) in &bulk.added {
            if let Some(segment) = segments.get(*number) {
                segment.use_count.add(*count);
            }
        }
        *applied = Applied {
            position: end,
            chain,
            last_commit: applied.last_commit.max(bulk.number),
            last_time: applied.last_time.max(bulk.time),
        };
        self.readers.applied(bulk.number);
        self.pending.remove(&bulk.hold);
        self.bulk.store(false, Ordering::Release);
        self.apply_moves(&mut applied);
    }
}

impl BulkCommit {
    fn count(&mut self, records: &[(Oid, Location)], superseded: &[u32]) {
        for (_, location) in records {
            let count = self.added.entry(location.segment()).or_default();
            *count = count.saturating_add(1);
        }
        for segment in superseded {
            let count = self.superseded.entry(*segment).or_default();
            *count = count.saturating_add(1);
        }
    }
}

fn entry<'a>(bulk: &'a BulkCommit, records: &'a [RecordEntry<'a>]) -> CommitEntry<'a> {
    CommitEntry {
        number: bulk.number,
        time: bulk.time,
        label: bulk.label.as_deref(),
        metadata: &[],
        records,
        deltas: &[],
    }
}

/// What of a bulk commit lies in the log before a position.
struct Parts {
    number: CommitNumber,
    start: LogPosition,
    chain: Chain,
    end: LogPosition,
}

impl Parts {
    fn of(bulk: &BulkCommit, end: LogPosition) -> Parts {
        Parts {
            number: bulk.number,
            start: bulk.start,
            chain: bulk.chain,
            end,
        }
    }

    /// Calls `visit` with the records of each part, in log order.
    fn visit(&self, heap: &Heap, mut visit: impl FnMut(&[(Oid, Location)]) -> Result<()>) -> Result<()> {
        let segments = heap.log.segments.current().from(self.start.segment);
        let mut reader = LogReader::new(segments, self.start, Some(self.chain));
        let mut found: Vec<(Oid, Location)> = Vec::new();
        while reader.position() < self.end && reader.advance()? {
            let Some(frame) = reader.frame()? else { break };
            if frame.header.kind != COMMITS {
                continue;
            }
            found.clear();
            for section in sections(frame.payload, frame.payload_start) {
                if section.number != self.number {
                    continue;
                }
                let records = records(section.records, frame.position.segment, section.records_start);
                found.extend(
                    records.filter_map(|(location, header)| Some((Oid::from_bits(header.oid)?, location))),
                );
            }
            visit(&found)?;
        }
        if reader.position() < self.end {
            let LogPosition { segment, offset } = reader.position();
            let place = place(segment, u64::from(offset), None);
            let what = "the frame that should follow here is damaged or missing";
            return Err(Error::corruption(place, what));
        }
        Ok(())
    }
}
