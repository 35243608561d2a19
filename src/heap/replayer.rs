//! Putting the frames of the log back into the table.

use std::sync::Arc;

use super::frame::{
    CENSUS, COMMITS, Chain, MOVE, RESERVATION, SKIPPABLE, Section, moves, records, reservations, sections,
};
use super::position::{Location, LogPosition};
use super::record::RecordHeader;
use super::root::RootMetadata;
use super::scan::{Frame, LogReader};
use super::segment::{Segment, UseCount, place};
use super::segments::SegmentDirectory;
use super::serials::Serials;
use super::table::Table;
use crate::error::{Error, Result};
use crate::object::{ClassId, CommitNumber, Oid};

/// Replays frames into the table, in log order. A record sets its object's entry; a moved copy only if the entry still
/// points at where the copy came from. A commit of several frames takes effect when its last one is seen.
#[derive(Debug)]
pub(super) struct Replayer<'a> {
    pub(super) table: &'a Table,
    pub(super) serials: &'a Serials,
    pub(super) directory: &'a SegmentDirectory,
    pub(super) segments: &'a [Arc<Segment>],
    /// Without a checkpoint, the cleaner's copies may stand behind newer versions: then the commit decides, and among
    /// equals the place in the log.
    pub(super) rebuild: bool,
    pub(super) last_commit: CommitNumber,
    pub(super) last_time: i64,
    pub(super) epoch: u32,
    /// The commit from which on every state is whole.
    pub(super) floor: CommitNumber,
    /// In a rebuild over segments that were given up: the commits that go on in the next frame have lost their
    /// beginning, which was whole once.
    pub(super) headless: bool,
    /// The commit that was begun and not ended: the end of the frame before its first, and what that first one says.
    pub(super) pending: Option<(LogPosition, Chain)>,
}

impl Replayer<'_> {
    /// Replays one frame; the one before it ended at `before`.
    pub(super) fn frame(&mut self, frame: &Frame<'_>, before: LogPosition) -> Result<()> {
        self.epoch = self.epoch.max(frame.header.epoch);
        match frame.header.kind {
            COMMITS => self.commits(frame, before),
            RESERVATION => {
                for (class, end) in reservations(frame.payload) {
                    self.serials.raise(class, end);
                }
                Ok(())
            }
            MOVE => self.moves(frame),
            CENSUS => {
                self.census(frame);
                Ok(())
            }
            kind if kind & SKIPPABLE != 0 => Ok(()),
            kind => Err(Error::Format(format!(
                "{} holds a frame of kind {kind}, which this build does not know; open it with a newer build",
                frame.position
            ))),
        }
    }

    fn census(&mut self, frame: &Frame<'_>) {
        let Some(census) = RootMetadata::decode(frame.payload) else {
            return;
        };
        self.floor = self.floor.max(census.floor);
        // The last commits may lie in what was given up.
        if census.last_commit > self.last_commit {
            self.last_commit = census.last_commit;
            self.last_time = census.last_time;
        }
        for (class, next) in census.serials {
            self.serials.raise(class, next);
        }
    }

    /// Goes on behind segments that were given up. A commit that they end was whole, or they would not have been.
    pub(super) fn cross_gap(&mut self, next: LogPosition) -> Result<()> {
        self.headless = true;
        let Some((start, chain)) = self.pending.take() else {
            return Ok(());
        };
        let mut reader = LogReader::new(self.segments.to_vec(), start, Some(chain));
        let mut number = None;
        while reader.advance()? {
            let Some(frame) = reader.frame()? else { break };
            if frame.position >= next {
                break;
            }
            if frame.header.kind != COMMITS {
                continue;
            }
            for section in sections(frame.payload, frame.payload_start) {
                if section.first && !section.last {
                    number = Some(section.number);
                }
                if number == Some(section.number) {
                    self.records(&section, &frame)?;
                }
            }
        }
        Ok(())
    }

    fn commits(&mut self, frame: &Frame<'_>, before: LogPosition) -> Result<()> {
        let mut end = frame.payload_start;
        for section in sections(frame.payload, frame.payload_start) {
            end = section.end;
            self.headless &= !section.first;
            if (section.first && section.last) || self.headless {
                self.records(&section, frame)?;
            } else if section.first {
                self.pending = Some((before, frame.header.chain));
            } else if section.last {
                self.finish(frame, section.number)?;
            }
            if section.last {
                self.pending = None;
                self.last_commit = self.last_commit.max(section.number);
                self.last_time = section.time;
            }
        }
        check_end(frame, end)
    }

    /// Replays all parts of a commit whose last one is in `last`.
    fn finish(&mut self, last: &Frame<'_>, number: CommitNumber) -> Result<()> {
        let Some((start, chain)) = self.pending.take() else {
            return Err(malformed(last));
        };
        let mut reader = LogReader::new(self.segments.to_vec(), start, Some(chain));
        while reader.advance()? {
            let Some(frame) = reader.frame()? else { break };
            for section in sections(frame.payload, frame.payload_start) {
                if section.number == number && frame.header.kind == COMMITS {
                    self.records(&section, &frame)?;
                }
            }
            if frame.position >= last.position {
                return Ok(());
            }
        }
        Err(malformed(last))
    }

    fn records(&mut self, section: &Section<'_>, frame: &Frame<'_>) -> Result<()> {
        let segment = frame.position.segment;
        let mut count = 0;
        for (location, header) in records(section.records, segment, section.records_start) {
            count += 1;
            let oid = Oid::from_bits(header.oid).ok_or_else(|| malformed(frame))?;
            if self.rebuild {
                if self.is_newest(oid, location, &header)? {
                    self.table.set(oid, location);
                }
                continue;
            }
            // A tombstone without a previous version ends an object of its own commit, a bulk load that failed.
            if (header.has_previous() || header.deleted())
                && let Some(previous) = self.table.get(oid)?
                && let Some(uses) = self.uses(previous)
            {
                uses.supersede(header.commit);
            }
            self.table.set(oid, location);
            if let Some(uses) = self.uses(location) {
                uses.add(1);
            }
        }
        if count != section.count {
            return Err(malformed(frame));
        }
        Ok(())
    }

    /// Whether the table has nothing newer of the object than this record.
    fn is_newest(&self, oid: Oid, location: Location, header: &RecordHeader) -> Result<bool> {
        let Some(known) = self.table.get(oid)? else {
            return Ok(true);
        };
        let known_commit = self.directory.record(known, oid)?.header.commit;
        Ok((known_commit, known.0) <= (header.commit, location.0))
    }

    fn moves(&mut self, frame: &Frame<'_>) -> Result<()> {
        for (origin, location, header) in moves(frame.payload, frame.position.segment, frame.payload_start) {
            let oid = Oid::from_bits(header.oid).ok_or_else(|| malformed(frame))?;
            let wanted = match self.rebuild {
                true => self.is_newest(oid, location, &header)?,
                false => origin.is_some() && self.table.get(oid)? == origin,
            };
            if wanted {
                self.table.set(oid, location);
                if let Some(uses) = origin.and_then(|origin| self.uses(origin)) {
                    uses.take();
                }
                if let Some(uses) = self.uses(location) {
                    uses.add(1);
                }
            }
        }
        Ok(())
    }

    /// The count of uses of the segment at `location`.
    fn uses(&self, location: Location) -> Option<&UseCount> {
        let segment = self.directory.get(location.segment())?;
        Some(&segment.use_count)
    }

    /// Lets numbering go on past every serial number in the table.
    pub(super) fn raise_serials(&self) {
        let version = self.table.version();
        for class in version.classes() {
            let ClassId(number) = class;
            self.serials
                .raise(number, version.last_serial(class).saturating_add(1));
        }
    }
}

/// The sections must fill the frame.
fn check_end(frame: &Frame<'_>, end: u32) -> Result<()> {
    let length = end.saturating_sub(frame.payload_start) as usize;
    if length == frame.payload.len() {
        Ok(())
    } else {
        Err(malformed(frame))
    }
}

fn malformed(frame: &Frame<'_>) -> Error {
    let LogPosition { segment, offset } = frame.position;
    Error::corruption(
        place(segment, u64::from(offset), None),
        format!(
            "frame {} is sound by its checksum, but its contents are malformed",
            frame.header.chain.sequence
        ),
    )
}
