//! The log: where everything is written, always at its end.
//!
//! * One frame is one write. Room for a whole group is reserved before its first byte is written, so a full disk fails
//!   that group alone and leaves no trace. A write or sync that fails leaves the end of the log unknown: from then on
//!   nothing is written any more ([`Error::ReadOnly`]), and opening again finds out what is there.
//! * A segment that is full gets its footer and is cut to its length. [`Log::sync`] syncs segments in order, the oldest
//!   first, then the directory: so what is durable is always a beginning of the log, and a frame is acknowledged only
//!   when all before it is durable.
//! * Each frame says through where the log was known durable when it was written. Recovery needs that to tell a lost
//!   tail from damage.
//! * Appending goes on while a sync runs: the sync covers what was written before it began.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::encode::{Versions, encode_frame};
use super::fixed::padded;
use super::footer::{BlockSums, Footer, Tally};
use super::frame::{COMMITS, Chain, FRAME_HEADER, FrameHeader, RESERVATION, encode_reservation};
use super::object_heap::CommitEntry;
use super::plan::{Ends, FRAME_TARGET, FramePlan, plan_frames, plan_part};
use super::position::{Location, LogPosition};
use super::reserve::Reserve;
use super::segment::{HEAP_DIRECTORY, SEGMENT_HEADER, Segment, footer_room, segment_path};
use super::segments::{Directories, SegmentDirectory};
use crate::error::{Error, Result};
use crate::files::Disk;
use crate::object::Oid;

/// The first segment's size; each has twice that of the one before, up to 64 MiB.
const FIRST_SEGMENT: u32 = 1 << 20;
const DOUBLINGS: u32 = 6;
/// Segments of this size and more are followed by one made ahead.
const PREPARED_FROM: u32 = 8 << 20;
const CLOSED: &str = "the database is closed";

/// The log of segments, open for writing.
#[derive(Debug)]
pub(super) struct Log {
    disk: Arc<dyn Disk>,
    database: [u8; 16],
    epoch: u32,
    pub(super) segments: Directories,
    writer: Mutex<Writer>,
    syncing: Mutex<()>,
    durable: AtomicU64,
    end: AtomicU64,
    /// Why nothing can be written, once that is so.
    refusal: OnceLock<String>,
}

/// Where the log goes on.
#[derive(Debug)]
pub(super) struct LogStart {
    pub(super) epoch: u32,
    pub(super) end: LogPosition,
    pub(super) chain: Chain,
    /// The number of the next segment to be made.
    pub(super) next_number: u32,
    /// The segment to go on in; `None` begins a new one.
    pub(super) active: Option<Active>,
}

/// The segment that is written to.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) segment: Arc<Segment>,
    pub(super) offset: u32,
    pub(super) sums: BlockSums,
    pub(super) tally: Tally,
}

#[derive(Debug)]
struct Writer {
    active: Option<Active>,
    /// Segments made ahead, in order.
    spare: VecDeque<Arc<Segment>>,
    next_number: u32,
    chain: Chain,
    /// Segments written to since they were last synced, in order.
    unsynced: Vec<Arc<Segment>>,
    /// Whether files were made since their directory was last synced.
    new_entries: bool,
    buffer: Vec<u8>,
    reserve: Reserve,
}

/// A group in the log.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) end: LogPosition,
    pub(super) chain: Chain,
    /// Where each record lies, in log order.
    pub(super) records: Vec<(Oid, Location)>,
    /// The segments of the versions they supersede.
    pub(super) superseded: Vec<u32>,
}

/// A frame in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// Where its payload begins.
    pub(super) payload: LogPosition,
    /// The position after it.
    pub(super) end: LogPosition,
    pub(super) chain: Chain,
}

fn pack(position: LogPosition) -> u64 {
    u64::from(position.segment) << 32 | u64::from(position.offset)
}

fn unpack(packed: u64) -> LogPosition {
    LogPosition {
        segment: u32::try_from(packed >> 32).unwrap_or(u32::MAX),
        offset: u32::try_from(packed & u64::from(u32::MAX)).unwrap_or(u32::MAX),
    }
}

/// The size of segment `number`, which must have room for a frame of `bound` bytes.
pub(super) fn capacity_for(number: u32, bound: usize) -> Result<u32> {
    let normal = FIRST_SEGMENT << number.saturating_sub(1).min(DOUBLINGS);
    if room_in(normal, SEGMENT_HEADER) >= bound {
        return Ok(normal);
    }
    let needed = bound.saturating_add(bound / 1000).saturating_add(16 << 10);
    u32::try_from(needed.next_multiple_of(64 << 10))
        .map_err(|_| Error::Limit(format!("a frame of {bound} bytes fits no segment")))
}

fn room_in(capacity: u32, offset: u32) -> usize {
    capacity
        .saturating_sub(footer_room(capacity))
        .saturating_sub(offset) as usize
}

impl Active {
    /// A segment nothing was written to.
    fn new(segment: Arc<Segment>, header: &[u8]) -> Active {
        let mut sums = BlockSums::default();
        sums.add(header);
        Active {
            segment,
            offset: SEGMENT_HEADER,
            sums,
            tally: Tally::default(),
        }
    }

    fn room(&self) -> usize {
        room_in(self.segment.capacity(), self.offset)
    }

    fn position(&self) -> LogPosition {
        LogPosition {
            segment: self.segment.number,
            offset: self.offset,
        }
    }
}

/// Writes the footer of a segment whose frames end at `end`, and cuts the file to its length. Not durable yet.
pub(super) fn write_footer(
    segment: &Segment,
    end: u32,
    sums: BlockSums,
    tally: &Tally,
    chain: Chain,
) -> Result<()> {
    let footer = Footer::encode(segment.number, end, &sums.finish(), tally, chain);
    segment.file.write_at(&footer, u64::from(end))?;
    segment
        .file
        .set_len(u64::from(end).saturating_add(footer.len() as u64))
}

impl Log {
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        database: [u8; 16],
        segments: SegmentDirectory,
        start: LogStart,
    ) -> Log {
        let reserve = Reserve::find(&*disk);
        let refusal = OnceLock::new();
        if disk.is_read_only() {
            let _ = refusal.set("the database was opened read-only; open it for writing to change it".into());
        }
        Log {
            disk,
            database,
            epoch: start.epoch,
            segments: Directories::new(segments),
            writer: Mutex::new(Writer {
                active: start.active,
                spare: VecDeque::new(),
                next_number: start.next_number,
                chain: start.chain,
                unsynced: Vec::new(),
                new_entries: false,
                buffer: Vec::new(),
                reserve,
            }),
            syncing: Mutex::new(()),
            durable: AtomicU64::new(pack(start.end)),
            end: AtomicU64::new(pack(start.end)),
            refusal,
        }
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn durable(&self) -> LogPosition {
        unpack(self.durable.load(Ordering::Acquire))
    }

    pub(super) fn end(&self) -> LogPosition {
        unpack(self.end.load(Ordering::Acquire))
    }

    /// The end of the log, and what the next frame must say.
    pub(super) fn end_and_chain(&self) -> (LogPosition, Chain) {
        let writer = self.writer.lock();
        (self.end(), writer.chain)
    }

    /// An error if nothing can be written any more.
    pub(super) fn check_writable(&self) -> Result<()> {
        match self.refusal.get() {
            Some(text) => Err(Error::ReadOnly(text.clone())),
            None => Ok(()),
        }
    }

    /// Lets nothing be written from now on; returns `error`, but never as a full disk: that would promise that nothing
    /// was kept, and what failed here may have reached the disk.
    fn refuse(&self, error: Error) -> Error {
        let _ = self.refusal.set(format!(
            "an earlier write to the log failed ({error}), so what is durable is unknown: \
             nothing is written any more; reading goes on; close the database and open it again"
        ));
        match error {
            Error::NoSpace { doing, source } => Error::Io { doing, source },
            other => other,
        }
    }

    /// Lets nothing be written from now on, because the database is closed.
    pub(super) fn close(&self) {
        let _ = self.refusal.set(CLOSED.into());
    }

    pub(super) fn is_closed(&self) -> bool {
        self.refusal.get().is_some_and(|text| text == CLOSED)
    }

    /// Writes a group of commits. `previous` has the location of each record's previous version, in order; none at all
    /// if all records are new.
    pub(super) fn append(
        &self,
        group: &[CommitEntry<'_>],
        previous: Vec<Option<Location>>,
    ) -> Result<Written> {
        self.append_frames(group, plan_frames(group)?, previous)
    }

    /// As [`Log::append`], for a part of a commit whose other parts come before or after.
    pub(super) fn append_part(
        &self,
        part: &CommitEntry<'_>,
        previous: Vec<Option<Location>>,
        ends: Ends,
    ) -> Result<Written> {
        self.append_frames(std::slice::from_ref(part), plan_part(part, ends)?, previous)
    }

    fn append_frames(
        &self,
        group: &[CommitEntry<'_>],
        frames: Vec<FramePlan>,
        previous: Vec<Option<Location>>,
    ) -> Result<Written> {
        self.check_writable()?;
        let mut writer = self.writer.lock();
        let frees_space = group
            .iter()
            .all(|commit| commit.records.iter().all(|record| record.body.is_none()));
        self.make_room(&mut writer, &frames, frees_space)?;
        let mut versions = Versions::new(group, previous);
        for frame in &frames {
            let written = self.place(&mut writer, frame.bound).and_then(|position| {
                encode_frame(&mut writer.buffer, frame, group, position, &mut versions)?;
                self.write_frame(&mut writer, COMMITS)
            });
            written.map_err(|error| self.refuse(error))?;
            tally(&mut writer, frame, group);
        }
        let Versions {
            written: records,
            superseded,
            ..
        } = versions;
        Ok(Written {
            end: self.end(),
            chain: writer.chain,
            records,
            superseded,
        })
    }

    /// Writes a frame that reserves the serial numbers of `class` below `end`.
    pub(super) fn reserve(&self, class: u32, end: u64) -> Result<()> {
        let mut payload = Vec::with_capacity(16);
        encode_reservation(&mut payload, class, end);
        self.append_other(RESERVATION, &payload, 0).map(drop)
    }
    /// Writes one frame of another kind than commits; `records` counts what its payload holds.
    pub(super) fn append_other(&self, kind: u16, payload: &[u8], records: u32) -> Result<Placed> {
        self.check_writable()?;
        let mut writer = self.writer.lock();
        let frame = FramePlan {
            bound: FRAME_HEADER.saturating_add(padded(payload.len())),
            parts: Vec::new(),
        };
        let frees_space = kind != RESERVATION;
        self.make_room(&mut writer, std::slice::from_ref(&frame), frees_space)?;
        let written = self.place(&mut writer, frame.bound).and_then(|start| {
            writer.buffer.clear();
            writer.buffer.resize(FRAME_HEADER, 0);
            writer.buffer.extend_from_slice(payload);
            writer.buffer.resize(frame.bound, 0);
            self.write_frame(&mut writer, kind).map(|()| start)
        });
        let start = written.map_err(|error| self.refuse(error))?;
        if let Some(active) = &mut writer.active {
            active.tally.records = active.tally.records.saturating_add(records);
        }
        Ok(Placed {
            payload: LogPosition {
                segment: start.segment,
                offset: start.offset.saturating_add(FRAME_HEADER as u32),
            },
            end: self.end(),
            chain: writer.chain,
        })
    }

    /// The segment that is written to, and what its frames hold so far.
    pub(super) fn active(&self) -> Option<(Arc<Segment>, Tally)> {
        let writer = self.writer.lock();
        let active = writer.active.as_ref()?;
        Some((active.segment.clone(), active.tally))
    }

    /// Seals the segment that is written to, if it has frames; the next frame begins a new one. False if it has none.
    pub(super) fn roll(&self) -> Result<bool> {
        self.check_writable()?;
        let mut writer = self.writer.lock();
        if writer
            .active
            .as_ref()
            .is_none_or(|active| active.offset <= SEGMENT_HEADER)
        {
            return Ok(false);
        }
        if writer.spare.is_empty() {
            let segment = match self.make_segment(&mut writer, FRAME_HEADER) {
                Err(Error::NoSpace { .. }) if writer.reserve.give_up(&*self.disk) => {
                    self.make_segment(&mut writer, FRAME_HEADER)?
                }
                made => made?,
            };
            writer.spare.push_back(segment);
        }
        let sealed = self.begin_segment(&mut writer);
        sealed.map_err(|error| self.refuse(error))?;
        Ok(true)
    }

    /// Makes segments until all `frames` have a place. When it fails, nothing has changed. What frees space in the end may
    /// use up the reserve for it; then others get no new segment before there is a reserve again.
    fn make_room(&self, writer: &mut Writer, frames: &[FramePlan], frees_space: bool) -> Result<()> {
        let made = self.try_make_room(writer, frames, frees_space);
        match made {
            Err(Error::NoSpace { .. }) if frees_space && writer.reserve.give_up(&*self.disk) => {
                self.try_make_room(writer, frames, frees_space)
            }
            made => made,
        }
    }

    fn try_make_room(&self, writer: &mut Writer, frames: &[FramePlan], frees_space: bool) -> Result<()> {
        if !frees_space && writer.reserve.is_used_up() && !self.fits(writer, frames) {
            writer.reserve.make(&*self.disk, writer.next_number)?;
        }
        let before = writer.spare.len();
        let made = self.make_spares(writer, frames);
        if made.is_err() {
            for segment in writer.spare.split_off(before.min(writer.spare.len())) {
                // The error that counts is the first one; recovery removes what is left of an unused segment.
                let _ = self.disk.remove(&segment_path(segment.number));
            }
        }
        made
    }

    /// Whether the frames need no new segment.
    fn fits(&self, writer: &Writer, frames: &[FramePlan]) -> bool {
        let room = writer.active.as_ref().map_or(0, Active::room);
        let bytes: usize = frames.iter().map(|frame| frame.bound).sum();
        bytes <= room || !writer.spare.is_empty()
    }

    /// Makes the reserve if there is none and space for it.
    pub(super) fn keep_reserve(&self) {
        if self.check_writable().is_err() {
            return;
        }
        let Some(mut writer) = self.writer.try_lock() else {
            return;
        };
        let next_number = writer.next_number;
        // What there is no space for is tried again; who needs the space is told.
        let _ = writer.reserve.keep(&*self.disk, next_number);
    }

    /// Gives the reserve up, so that a checkpoint or the indexes find space; false if there is none.
    pub(super) fn give_up_reserve(&self) -> bool {
        self.check_writable().is_ok() && self.writer.lock().reserve.give_up(&*self.disk)
    }

    fn make_spares(&self, writer: &mut Writer, frames: &[FramePlan]) -> Result<()> {
        let mut room = writer.active.as_ref().map_or(0, Active::room);
        let mut next = 0;
        for frame in frames {
            while room < frame.bound {
                if next == writer.spare.len() {
                    let segment = self.make_segment(writer, frame.bound)?;
                    writer.spare.push_back(segment);
                }
                let spare = writer.spare.get(next);
                room = spare.map_or(0, |segment| room_in(segment.capacity(), SEGMENT_HEADER));
                next += 1;
            }
            room = room.saturating_sub(frame.bound);
        }
        Ok(())
    }

    fn make_segment(&self, writer: &mut Writer, bound: usize) -> Result<Arc<Segment>> {
        let number = writer.next_number;
        let capacity = capacity_for(number, bound)?;
        let next = number.checked_add(1).filter(|next| *next < u32::MAX);
        let next = next.ok_or_else(|| Error::Limit("the log has used up its segment numbers".into()))?;
        let segment = Segment::create(&*self.disk, number, self.database, self.epoch, capacity)?;
        writer.next_number = next;
        writer.new_entries = true;
        Ok(Arc::new(segment))
    }

    /// Where a frame of at most `bound` bytes goes; seals the active segment if it has no room for it.
    fn place(&self, writer: &mut Writer, bound: usize) -> Result<LogPosition> {
        loop {
            if let Some(active) = &writer.active
                && active.room() >= bound
            {
                return Ok(active.position());
            }
            self.begin_segment(writer)?;
        }
    }

    /// Seals the active segment and goes on in the next one that was made ahead.
    fn begin_segment(&self, writer: &mut Writer) -> Result<()> {
        if let Some(full) = writer.active.take() {
            write_footer(&full.segment, full.offset, full.sums, &full.tally, writer.chain)?;
            full.segment.set_tally(full.tally);
            // One that was open when the log was opened, and not written to since, is not in the list yet.
            if writer.unsynced.last().map(|segment| segment.number) != Some(full.segment.number) {
                writer.unsynced.push(full.segment);
            }
        }
        let Some(segment) = writer.spare.pop_front() else {
            return Err(Error::Limit("no segment was reserved for a frame".into()));
        };
        let mut header = [0; SEGMENT_HEADER as usize];
        segment.file.read_at(&mut header, 0)?;
        self.segments.insert(&segment);
        writer.unsynced.push(segment.clone());
        writer.active = Some(Active::new(segment, &header));
        Ok(())
    }

    /// Writes the frame in the buffer, whose payload is complete, at the end of the active segment.
    fn write_frame(&self, writer: &mut Writer, kind: u16) -> Result<()> {
        let Some(active) = &mut writer.active else {
            return Err(Error::Limit("no segment was reserved for a frame".into()));
        };
        let frame = &mut writer.buffer;
        let checksum = FrameHeader::seal(frame, kind, writer.chain, self.epoch, self.durable());
        active.segment.file.write_at(frame, u64::from(active.offset))?;
        active.sums.add(frame);
        active.offset = active
            .offset
            .saturating_add(u32::try_from(frame.len()).unwrap_or(u32::MAX));
        active.segment.publish(active.offset);
        writer.chain = Chain {
            sequence: writer.chain.sequence.wrapping_add(1),
            previous: checksum,
        };
        let last = writer.unsynced.last().map(|segment| segment.number);
        if last != Some(active.segment.number) {
            writer.unsynced.push(active.segment.clone());
        }
        self.end.store(pack(active.position()), Ordering::Release);
        Ok(())
    }

    /// Makes the log durable through `through`. A failure stops all writing.
    pub(super) fn sync(&self, through: LogPosition) -> Result<()> {
        if self.durable() >= through {
            return Ok(());
        }
        let _one_at_a_time = self.syncing.lock();
        if self.durable() >= through {
            return Ok(());
        }
        self.check_writable()?;
        let (segments, new_entries, end) = {
            let mut writer = self.writer.lock();
            let new_entries = std::mem::take(&mut writer.new_entries);
            (writer.unsynced.clone(), new_entries, self.end())
        };
        self.sync_files(&segments, new_entries)
            .map_err(|error| self.refuse(error))?;
        // Those before the newest were sealed before the sync began; that one may have been written to meanwhile.
        let newest = segments.last().map_or(0, |segment| segment.number);
        self.writer
            .lock()
            .unsynced
            .retain(|segment| segment.number >= newest);
        self.durable.fetch_max(pack(end), Ordering::AcqRel);
        Ok(())
    }

    fn sync_files(&self, segments: &[Arc<Segment>], new_entries: bool) -> Result<()> {
        for segment in segments {
            segment.file.sync()?;
        }
        if new_entries {
            self.disk.sync_directory(std::path::Path::new(HEAP_DIRECTORY))?;
        }
        Ok(())
    }

    /// Makes the next segment while the active one still has room, so that no committer waits for it. A failure is
    /// left to the committer who needs the room.
    pub(super) fn prepare(&self) {
        if self.check_writable().is_err() {
            return;
        }
        let Some(mut writer) = self.writer.try_lock() else {
            return;
        };
        let wanted = writer.active.as_ref().is_some_and(|active| {
            let capacity = active.segment.capacity();
            capacity >= PREPARED_FROM && active.offset > capacity / 4
        });
        if !wanted || !writer.spare.is_empty() || writer.reserve.is_used_up() {
            return;
        }
        let Ok(segment) = self.make_segment(&mut writer, FRAME_TARGET) else {
            return;
        };
        writer.spare.push_back(segment.clone());
        drop(writer);
        segment.warm();
    }

    /// Removes the segments that were made ahead and not used.
    pub(super) fn remove_spares(&self) -> Result<()> {
        let mut writer = self.writer.lock();
        while let Some(segment) = writer.spare.pop_back() {
            self.disk.remove(&segment_path(segment.number))?;
        }
        Ok(())
    }
}

/// Counts what a written frame adds to its segment.
fn tally(writer: &mut Writer, frame: &FramePlan, group: &[CommitEntry<'_>]) {
    let Some(active) = &mut writer.active else { return };
    for part in &frame.parts {
        if let Some(commit) = group.get(part.commit) {
            active.tally.add(commit.number, commit.time, part.records.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_double_up_to_64_mib_and_grow_for_one_large_frame() {
        assert_eq!(capacity_for(1, 1000).unwrap(), 1 << 20);
        assert_eq!(capacity_for(2, 1000).unwrap(), 2 << 20);
        assert_eq!(capacity_for(7, 1000).unwrap(), 64 << 20);
        assert_eq!(capacity_for(700, 1000).unwrap(), 64 << 20);
        for bound in [1 << 20, 70 << 20, (256 << 20) + 200] {
            let capacity = capacity_for(1, bound).unwrap();
            assert!(room_in(capacity, SEGMENT_HEADER) >= bound);
        }
    }

    #[test]
    fn positions_keep_their_order_when_packed() {
        let position = LogPosition {
            segment: 7,
            offset: u32::MAX,
        };
        assert_eq!(unpack(pack(position)), position);
    }
}
