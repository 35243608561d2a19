//! Moving records: copying the newest versions of objects to the end of the log.
//!
//! A move is no commit. The copy keeps commit number and previous version, and every reader that would have come to the
//! original comes to the copy. Moves are written in the order of the log like commits, and only while no commit can be
//! appended: so what was checked (the record is the newest version there is, also among commits that are written but not
//! applied) holds, and later commits take the copy for their previous version. They are applied in that order too: a
//! move behind commits that still wait for their sync is applied when those are.
//!
//! A move need not be synced: until a checkpoint that follows it is durable, the original stays where it is.

use std::ops::Range;
use std::sync::Arc;

use super::frame::MOVE;
use super::object_heap::{Applied, Heap};
use super::pending::{PendingGroup, PendingMove};
use super::plan::FRAME_TARGET;
use super::position::{Location, LogPosition};
use super::record::copy_record;
use super::segments::missing;
use crate::error::Result;
use crate::object::{CommitNumber, Oid};

/// What a call has moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Records copied.
    pub records: u64,
    /// Bytes written for them.
    pub bytes: u64,
}

/// Copies of records, ready to be written.
#[derive(Debug, Default)]
struct Copies {
    payload: Vec<u8>,
    /// Object, where its record came from, and the bytes of its entry in the payload.
    entries: Vec<(Oid, Location, Range<usize>)>,
}

impl Copies {
    /// Leaves out the entries that `keep` refuses.
    fn retain(&mut self, mut keep: impl FnMut(Oid, Location) -> Result<bool>) -> Result<()> {
        let mut kept = Copies::default();
        let mut all = true;
        for (oid, origin, _) in &self.entries {
            all &= keep(*oid, *origin)?;
        }
        if all {
            return Ok(());
        }
        for (oid, origin, range) in &self.entries {
            if keep(*oid, *origin)? {
                let start = kept.payload.len();
                kept.payload
                    .extend_from_slice(self.payload.get(range.clone()).unwrap_or_default());
                kept.entries.push((*oid, *origin, start..kept.payload.len()));
            }
        }
        *self = kept;
        Ok(())
    }
}

impl Heap {
    /// Copies records to the end of the log, in this order, as many frames as they need; those that are not the newest
    /// version of their object any more are left out.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`](crate::Error::NoSpace): what was moved until then stays moved.
    /// [`Error::Corruption`](crate::Error::Corruption): a record is damaged, and stays where it is.
    pub fn move_records(&self, records: &[(Oid, Location)]) -> Result<Moved> {
        let mut moved = Moved::default();
        let mut rest = records;
        while !rest.is_empty() {
            let (copies, taken) = self.copy(rest)?;
            rest = rest.get(taken..).unwrap_or_default();
            let written = self.write_moves(copies)?;
            moved.records = moved.records.saturating_add(written.records);
            moved.bytes = moved.bytes.saturating_add(written.bytes);
        }
        Ok(moved)
    }

    /// Copies of the first of `records`, as many as fill a frame, and how many they are.
    fn copy(&self, records: &[(Oid, Location)]) -> Result<(Copies, usize)> {
        let segments = self.log.segments.current();
        let mut copies = Copies::default();
        for (taken, (oid, location)) in records.iter().enumerate() {
            // One that the table does not point at any more may lie in a segment that is gone.
            if self.table.get(*oid)? != Some(*location) {
                continue;
            }
            let Some(segment) = segments.get(location.segment()) else {
                return Err(missing(*location, *oid));
            };
            let (record, bytes) = segment.record_bytes(*location, *oid)?;
            let size = record.header.unpadded().saturating_add(32);
            if taken > 0 && copies.payload.len().saturating_add(size) > FRAME_TARGET {
                return Ok((copies, taken));
            }
            let start = copies.payload.len();
            copies.payload.extend_from_slice(&location.0.get().to_le_bytes());
            copy_record(&mut copies.payload, &record.header, bytes, segment.number);
            copies
                .entries
                .push((*oid, *location, start..copies.payload.len()));
        }
        Ok((copies, records.len()))
    }

    /// Writes one frame of copies, and applies it if nothing in front of it waits.
    fn write_moves(&self, mut copies: Copies) -> Result<Moved> {
        let appending = self.appending.lock();
        let waiting = self.pending.newest_first();
        let table = self.table.version();
        copies.retain(|oid, origin| {
            let newest = waiting.iter().find_map(|group| group.find(oid));
            Ok(match newest {
                Some(location) => location == origin,
                None => table.get(oid)? == Some(origin),
            })
        })?;
        if copies.entries.is_empty() {
            return Ok(Moved::default());
        }
        let count = u32::try_from(copies.entries.len()).unwrap_or(u32::MAX);
        let placed = self.log.append_other(MOVE, &copies.payload, count)?;
        let records = locate(&copies, placed.payload);
        let origins = copies.entries.iter().map(|(_, origin, _)| *origin).collect();
        let moved = PendingMove {
            origins,
            end: placed.end,
            chain: placed.chain,
        };
        self.pending
            .push(PendingGroup::new(records, Vec::new(), Some(moved)));
        drop(appending);
        self.apply_moves(&mut self.applied.lock());
        Ok(Moved {
            records: u64::from(count),
            bytes: copies.payload.len() as u64,
        })
    }

    /// Points the table at the copies of all moves that nothing in front of them keeps waiting.
    pub(super) fn apply_moves(&self, applied: &mut Applied) {
        while let Some(group) = self.pending.first_move() {
            let Some(moved) = &group.moved else { return };
            self.table.set_all(group.records.iter().copied());
            self.count_moved(&group, &moved.origins);
            applied.position = moved.end;
            applied.chain = moved.chain;
            // Only now: who looks here first and then into the table misses nothing.
            self.pending.remove(&group);
        }
    }

    fn count_moved(&self, group: &Arc<PendingGroup>, origins: &[Location]) {
        self.count_uses(group, CommitNumber::default());
        let segments = self.log.segments.current();
        for origin in origins {
            if let Some(segment) = segments.get(origin.segment()) {
                segment.use_count.take();
            }
        }
    }

    /// Counts that the table points at the records of a group now, and no more at what they superseded.
    pub(super) fn count_uses(&self, group: &PendingGroup, commit: CommitNumber) {
        let segments = self.log.segments.current();
        for number in &group.superseded {
            if let Some(segment) = segments.get(*number) {
                segment.use_count.supersede(commit);
            }
        }
        for run in group
            .records
            .chunk_by(|(_, one), (_, next)| one.segment() == next.segment())
        {
            let number = run.first().map_or(0, |(_, location)| location.segment());
            if let Some(segment) = segments.get(number) {
                segment
                    .use_count
                    .add(u32::try_from(run.len()).unwrap_or(u32::MAX));
            }
        }
    }
}

/// Where the copies lie, their payload at `payload`.
fn locate(copies: &Copies, payload: LogPosition) -> Vec<(Oid, Location)> {
    let place = |(oid, _, range): &(Oid, Location, Range<usize>)| {
        let offset = u64::from(payload.offset)
            .saturating_add(range.start as u64)
            .saturating_add(8);
        Some((*oid, Location::new(payload.segment, offset)?))
    };
    copies.entries.iter().filter_map(place).collect()
}
