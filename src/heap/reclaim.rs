//! The end of a segment.
//!
//! 1. Nothing in the table points into it any more: its records were superseded, moved or dropped. That is counted with
//!    every change of the table.
//! 2. It is *retired*, if nothing else needs it: a new reader, an index that is replayed from the log after a crash, the
//!    history, a pin. A *census* goes to the log first, which lists the segments that are left: without the table's
//!    checkpoint, it tells a segment that was given up from one that was lost. From here on new readers do not see it.
//! 3. A checkpoint that does not list it becomes durable. From here on an opening that finds the file removes it.
//! 4. The last reader that was open when it was retired is gone. The file is removed.
//!
//! A power cut before 3 brings it back whole, and after 3 finishes what was begun.
//!
//! Tombstones and objects of dropped classes end otherwise: the table forgets them, and the next checkpoint makes that
//! durable. A tombstone must stay while there is a segment that is older than the tombstone's original, because a
//! version of the object may lie there, and come to life again when the table is built anew from the log.

use std::path::Path;
use std::sync::Arc;

use super::footer::Tally;
use super::frame::{CENSUS, COMMITS, MOVE, moves, records, sections};
use super::object_heap::{Applied, Heap};
use super::position::{Location, LogPosition};
use super::root::RootMetadata;
use super::scan::LogReader;
use super::segment::{HEAP_DIRECTORY, SEGMENT_HEADER, Segment, segment_path};
use super::segments::{missing, runs};
use crate::error::Result;
use crate::object::{ClassId, CommitNumber, Oid};

/// Segments on their way out, and whether the uses of segments are counted.
#[derive(Debug)]
pub(super) struct Reclaim {
    counted: bool,
    retired: Vec<Retired>,
    /// Counts retirements.
    generation: u64,
    /// Those up to this one are in a durable checkpoint.
    durable_generation: u64,
}

/// A segment that new readers do not see.
#[derive(Debug)]
struct Retired {
    number: u32,
    /// Bytes of its file.
    bytes: u64,
    /// `None` once its last reader is gone.
    segment: Option<Arc<Segment>>,
    generation: u64,
    /// Its file is removed, but the removal not yet durable.
    removed: bool,
}

/// How much of a sealed segment is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentUse {
    /// Its number; lower is older.
    pub number: u32,
    /// Bytes of its file.
    pub bytes: u64,
    /// Records in it.
    pub records: u64,
    /// Those that are the newest version of an object.
    pub live: u64,
    /// The newest commit that superseded one of its records.
    pub superseded_by: CommitNumber,
    /// The newest commit that was written to it.
    pub last_commit: CommitNumber,
}

impl SegmentUse {
    /// About how many of its bytes are in use.
    pub fn live_bytes(&self) -> u64 {
        let share = u128::from(self.bytes) * u128::from(self.live) / u128::from(self.records.max(1));
        u64::try_from(share).unwrap_or(u64::MAX).min(self.bytes)
    }
}

/// A newest version in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveRecord {
    /// The object.
    pub oid: Oid,
    /// Where it lies.
    pub location: Location,
    /// The commit that wrote it.
    pub commit: CommitNumber,
    /// For a tombstone, the segment in which it was first written.
    pub tombstone: Option<u32>,
}

/// What must be kept, as the layers above know it.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// Indexes are replayed from here after a crash.
    pub log_from: LogPosition,
    /// All indexes are durable through this commit.
    pub indexed: CommitNumber,
    /// Every state from this commit on must stay readable, for new readers too.
    pub history_from: CommitNumber,
    /// Whether the segments with the commits since then must stay, too.
    pub history: bool,
}

/// Segments, and the bytes of their files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Amount {
    /// One more segment, of `bytes`.
    pub fn add(&mut self, bytes: u64) {
        self.segments = self.segments.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Table entries looked at under one version of the table.
const SCAN_BATCH: usize = 4096;

impl Reclaim {
    pub(super) fn new(counted: bool) -> Reclaim {
        Reclaim {
            counted,
            retired: Vec::new(),
            generation: 0,
            durable_generation: 0,
        }
    }

    pub(super) fn is_counted(&self) -> bool {
        self.counted
    }

    /// The retirements that a checkpoint frozen now knows.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Says that a checkpoint is durable that knows the retirements up to `generation`.
    pub(super) fn checkpointed(&mut self, generation: u64) {
        self.durable_generation = self.durable_generation.max(generation);
    }
}

impl Heap {
    /// How much of each sealed segment is in use, the oldest first.
    ///
    /// # Errors
    ///
    /// A damaged page of the table.
    pub fn segment_uses(&self) -> Result<Vec<SegmentUse>> {
        self.count_once()?;
        let segments = self.log.segments.current().from(0);
        Ok(segments.iter().filter_map(|segment| use_of(segment)).collect())
    }

    /// How much of the segment that is written to is in use; commits under way may count already, or not yet.
    ///
    /// # Errors
    ///
    /// A damaged page of the table.
    pub fn active_use(&self) -> Result<Option<SegmentUse>> {
        self.count_once()?;
        let active = self.log.active();
        Ok(active.map(|(segment, tally)| use_with(&segment, &tally)))
    }

    /// For each segment by number, how often who reads all objects in OID order comes to it out of another one.
    ///
    /// # Errors
    ///
    /// A damaged page of the table.
    pub fn arrivals(&self) -> Result<Vec<u64>> {
        let table = self.table.version();
        let mut arrivals: Vec<u64> = Vec::new();
        let mut before = 0;
        let mut found = Vec::with_capacity(SCAN_BATCH);
        for class in table.classes() {
            let mut serial = 0;
            loop {
                found.clear();
                table.scan(class, &mut serial, SCAN_BATCH, &mut found)?;
                if found.is_empty() {
                    break;
                }
                for (_, location) in &found {
                    let number = location.segment();
                    if number == std::mem::replace(&mut before, number) {
                        continue;
                    }
                    let at = number as usize;
                    if at >= arrivals.len() {
                        arrivals.resize(at.saturating_add(1), 0);
                    }
                    if let Some(count) = arrivals.get_mut(at) {
                        *count = count.saturating_add(1);
                    }
                }
            }
        }
        Ok(arrivals)
    }

    /// Counts what the table points at, if that is not known: after a rebuild. Commits wait.
    fn count_once(&self) -> Result<()> {
        let applied = self.applied.lock();
        let mut reclaim = self.reclaim.lock();
        if reclaim.counted {
            return Ok(());
        }
        let segments = self.log.segments.current().from(0);
        let mut counts = vec![0u32; segments.last().map_or(0, |last| last.number as usize + 1)];
        let table = self.table.version();
        for class in table.classes() {
            let (mut serial, mut found) = (0, Vec::new());
            loop {
                found.clear();
                table.scan(class, &mut serial, 1024, &mut found)?;
                if found.is_empty() {
                    break;
                }
                for (_, location) in &found {
                    if let Some(count) = counts.get_mut(location.segment() as usize) {
                        *count = count.saturating_add(1);
                    }
                }
            }
        }
        for segment in segments {
            let count = counts.get(segment.number as usize).copied().unwrap_or(0);
            // What superseded the others is not known: the newest there is will do.
            segment.use_count.set(count, applied.last_commit);
        }
        reclaim.counted = true;
        Ok(())
    }

    /// The newest versions in a sealed segment, in the order they lie there.
    ///
    /// # Errors
    ///
    /// The segment or a page of the table cannot be read.
    pub fn live_records(&self, number: u32) -> Result<Vec<LiveRecord>> {
        let Some(segment) = self.log.segments.current().get(number).cloned() else {
            return Ok(Vec::new());
        };
        let start = LogPosition {
            segment: number,
            offset: SEGMENT_HEADER,
        };
        let table = self.table.version();
        let mut live = Vec::new();
        let mut reader = LogReader::new(vec![segment.clone()], start, None);
        while reader.advance()? {
            let Some(frame) = reader.frame()? else { break };
            let mut found: Vec<(Location, Oid)> = Vec::new();
            if frame.header.kind == MOVE {
                let moved = moves(frame.payload, number, frame.payload_start);
                found.extend(moved.filter_map(|(_, at, header)| Some((at, Oid::from_bits(header.oid)?))));
            } else if frame.header.kind == COMMITS {
                for section in sections(frame.payload, frame.payload_start) {
                    let all = records(section.records, number, section.records_start);
                    found.extend(all.filter_map(|(at, header)| Some((at, Oid::from_bits(header.oid)?))));
                }
            }
            for (location, oid) in found {
                if table.get(oid)? == Some(location) {
                    live.push(live_record(&segment, location, oid)?);
                }
            }
        }
        Ok(live)
    }

    /// Makes the table forget tombstones and objects of dropped classes, where it still points at these records. Who
    /// calls it has raised the floor.
    ///
    /// A record that was copied, or superseded, by what is written and not applied yet is left for a later call: applying
    /// that would point the table at the copy again, and count the record out of its segment a second time, so that
    /// a segment in use would seem to be empty.
    pub fn forget(&self, records: &[(Oid, Location)]) -> Result<u64> {
        let _appending = self.appending.lock();
        let _applied = self.applied.lock();
        let segments = self.log.segments.current();
        let waiting = self.pending.newest_first();
        let mut forgotten = 0u64;
        for (oid, location) in records {
            let waits = waiting.iter().any(|group| group.find(*oid).is_some());
            if !waits && self.table.get(*oid)? == Some(*location) {
                self.table.set(*oid, Location::NOWHERE);
                forgotten = forgotten.saturating_add(1);
                if let Some(segment) = segments.get(location.segment()) {
                    segment.use_count.take();
                }
            }
        }
        Ok(forgotten)
    }

    /// Classes that the table has entries of.
    pub fn classes_with_objects(&self) -> Vec<ClassId> {
        let table = self.table.version();
        let mut classes = table.classes();
        classes.retain(|class| table.extent_estimate(*class) > 0);
        classes
    }

    /// The newest versions of a class in OID order that lie in the segments `wanted` names: up to `limit` from serial
    /// `next_serial` on, which moves on. False at the end.
    pub fn scan_live(
        &self,
        class: ClassId,
        next_serial: &mut u64,
        wanted: &dyn Fn(u32) -> bool,
        live: &mut Vec<LiveRecord>,
    ) -> Result<bool> {
        let segments = self.log.segments.current();
        let mut found = Vec::with_capacity(SCAN_BATCH);
        self.table
            .version()
            .scan(class, next_serial, SCAN_BATCH, &mut found)?;
        for (oid, location) in &found {
            if !wanted(location.segment()) {
                continue;
            }
            let Some(segment) = segments.get(location.segment()) else {
                return Err(missing(*location, *oid));
            };
            live.push(live_record(segment, *location, *oid)?);
        }
        Ok(!found.is_empty())
    }

    /// The object's newest version, if it lies in a segment that `wanted` names.
    pub fn live_version(&self, oid: Oid, wanted: &dyn Fn(u32) -> bool) -> Result<Option<LiveRecord>> {
        let segments = self.log.segments.current();
        let Some(location) = self.table.get(oid)?.filter(|location| wanted(location.segment())) else {
            return Ok(None);
        };
        match segments.get(location.segment()) {
            Some(segment) => live_record(segment, location, oid).map(Some),
            None => Err(missing(location, oid)),
        }
    }

    /// Makes the table forget all objects of a dropped class. Who calls it has raised the floor.
    pub fn forget_class(&self, class: ClassId) -> Result<u64> {
        let (mut serial, mut forgotten) = (0, 0u64);
        loop {
            let mut found = Vec::with_capacity(SCAN_BATCH);
            self.table
                .version()
                .scan(class, &mut serial, SCAN_BATCH, &mut found)?;
            if found.is_empty() {
                return Ok(forgotten);
            }
            found.retain(|(_, location)| *location != Location::NOWHERE);
            forgotten = forgotten.saturating_add(self.forget(&found)?);
        }
    }

    /// Raises the floor towards `wanted`, below what open readers and the newest commit allow. Tombstones of commits up
    /// to the one given back can be forgotten.
    pub fn raise_floor(&self, wanted: CommitNumber) -> CommitNumber {
        self.readers.raise(wanted)
    }

    /// The oldest commit from which on every state can be read.
    pub fn floor(&self) -> CommitNumber {
        self.readers.floor()
    }

    /// The lowest number of a segment whose file exists.
    pub fn oldest_segment(&self) -> u32 {
        let reclaim = self.reclaim.lock();
        let retired = reclaim.retired.iter().map(|retired| retired.number);
        let segments = self.log.segments.current();
        let first = segments.first().map(|segment| segment.number);
        retired.chain(first).min().unwrap_or(0)
    }

    /// Retires the segments that nothing needs; says how many, and how many dead ones `needs` keeps. Everything
    /// applied must be published.
    ///
    /// # Errors
    ///
    /// The census cannot be written; nothing is retired then.
    pub fn retire(&self, needs: &Needs) -> Result<(Amount, Amount)> {
        self.count_once()?;
        let applied = self.applied.lock();
        let mut reclaim = self.reclaim.lock();
        let segments = self.log.segments.current().from(0);
        let mut kept = Amount::default();
        let mut ending: Vec<(Arc<Segment>, SegmentUse)> = Vec::new();
        for segment in segments {
            let Some(found) = use_of(&segment).filter(|found| found.live == 0) else {
                continue;
            };
            if found.number >= applied.position.segment {
                continue;
            }
            match is_needless(&found, needs) {
                true => ending.push((segment, found)),
                false => kept.add(found.bytes),
            }
        }
        let mut retired = Amount::default();
        if ending.is_empty() {
            return Ok((retired, kept));
        }
        let numbers: Vec<u32> = ending.iter().map(|(segment, _)| segment.number).collect();
        let floor = ending.iter().map(|(_, found)| found.superseded_by).max();
        self.readers.raise_for_new_readers(floor.unwrap_or_default());
        self.write_census(&applied, &numbers)?;
        self.log.segments.retire(&numbers);
        reclaim.generation = reclaim.generation.saturating_add(1);
        let generation = reclaim.generation;
        for (segment, found) in ending {
            retired.add(found.bytes);
            reclaim.retired.push(Retired {
                number: found.number,
                bytes: found.bytes,
                segment: Some(segment),
                generation,
                removed: false,
            });
        }
        Ok((retired, kept))
    }

    fn write_census(&self, applied: &Applied, without: &[u32]) -> Result<()> {
        let numbers = self.log.segments.current().from(0);
        let numbers = numbers.iter().map(|segment| segment.number);
        let census = RootMetadata {
            clean: false,
            epoch: self.log.epoch(),
            chain: applied.chain,
            last_commit: applied.last_commit,
            last_time: applied.last_time,
            serials: self.serials.next(false),
            segments: runs(numbers.filter(|number| !without.contains(number))),
            floor: self.readers.floor(),
            uses: Vec::new(),
        };
        self.log.append_other(CENSUS, &census.encode(), 0).map(drop)
    }

    /// Removes the files of retired segments that a durable checkpoint does without and no reader holds.
    ///
    /// # Errors
    ///
    /// A file cannot be removed; it is tried again at the next call, and at the next opening.
    pub fn release(&self) -> Result<Amount> {
        let mut reclaim = self.reclaim.lock();
        let durable = reclaim.durable_generation;
        let mut any = false;
        for retired in &mut reclaim.retired {
            if retired.generation > durable {
                continue;
            }
            if let Some(segment) = retired.segment.take() {
                // Whoever had it is gone, and nobody can get it any more; its mapping goes with it.
                retired.segment = Arc::try_unwrap(segment).err();
            }
            if retired.segment.is_none() {
                if !retired.removed {
                    self.disk.remove(&segment_path(retired.number))?;
                    retired.removed = true;
                }
                any = true;
            }
        }
        let mut released = Amount::default();
        if any {
            self.disk.sync_directory(Path::new(HEAP_DIRECTORY))?;
            reclaim.retired.retain(|retired| {
                if retired.removed {
                    released.add(retired.bytes);
                }
                !retired.removed
            });
        }
        Ok(released)
    }

    /// The retired segments whose files are not removed yet.
    pub fn retired(&self) -> Amount {
        let reclaim = self.reclaim.lock();
        let mut amount = Amount::default();
        reclaim
            .retired
            .iter()
            .for_each(|retired| amount.add(retired.bytes));
        amount
    }

    /// Whether a checkpoint is all that is missing to remove files.
    pub fn awaits_checkpoint(&self) -> bool {
        let reclaim = self.reclaim.lock();
        reclaim.generation > reclaim.durable_generation
    }

    /// Makes the reserve of space if it is missing and there is space for it.
    pub fn keep_reserve(&self) {
        self.log.keep_reserve();
    }

    /// Gives the reserve of space up to who is about to free space; false if there is none.
    pub fn give_up_reserve(&self) -> bool {
        self.log.give_up_reserve()
    }

    /// Seals the segment that is written to, so that it can be cleaned.
    pub fn roll(&self) -> Result<bool> {
        let _appending = self.appending.lock();
        self.log.roll()
    }
}

fn is_needless(found: &SegmentUse, needs: &Needs) -> bool {
    let history = !needs.history || found.last_commit <= needs.history_from;
    let indexes = found.number < needs.log_from.segment || found.last_commit <= needs.indexed;
    history && indexes && found.superseded_by <= needs.history_from
}

fn use_of(segment: &Segment) -> Option<SegmentUse> {
    segment.tally().map(|tally| use_with(segment, tally))
}

fn use_with(segment: &Segment, tally: &Tally) -> SegmentUse {
    SegmentUse {
        number: segment.number,
        bytes: segment.file_bytes(),
        records: u64::from(tally.records),
        live: segment.use_count.live(),
        superseded_by: segment.use_count.superseded_by(),
        last_commit: tally.last_commit,
    }
}

fn live_record(segment: &Segment, location: Location, oid: Oid) -> Result<LiveRecord> {
    if location.segment() != segment.number {
        return Err(missing(location, oid));
    }
    let record = segment.record(location, oid)?;
    let original = record.original_segment().unwrap_or(segment.number);
    Ok(LiveRecord {
        oid,
        location,
        commit: record.header.commit,
        tombstone: record.header.deleted().then_some(original),
    })
}
