//! Comparing the table with the log, in both directions, while the database is in use.
//!
//! From the table: every location is that of a record of its object, and the versions before it are older records of the
//! same object. From the log: of no object is there a newer version than the one the table knows, nor one of an object
//! that the table does not know. A chain may end where the cleaner has freed a segment.

use super::archive::HeldLog;
use super::frame::{COMMITS, FRAME_HEADER, MOVE, moves, records, sections};
use super::object_heap::{Damage, Heap};
use super::position::Location;
use super::record::RecordHeader;
use super::scan::Window;
use super::segment::{SEGMENT_HEADER, Segment, place};
use crate::error::{Error, Result};
use crate::object::{ClassId, CommitNumber, Oid};

/// Entries of the table looked at together.
const BATCH: usize = 1024;

/// Takes what is found, and is told how far the comparison has come.
pub trait Findings {
    /// A damaged place.
    fn found(&mut self, damage: Damage);
    /// So many records or entries more were compared. An error ends the comparison.
    fn compared(&mut self, more: u64) -> Result<()>;
}

impl Heap {
    /// Compares table and log; reports every difference, and goes on.
    ///
    /// # Errors
    /// Those of `findings`.
    pub fn verify_versions(&self, findings: &mut dyn Findings) -> Result<()> {
        let held = self.hold();
        let version = self.table_version();
        for class in version.classes() {
            self.verify_class(class, findings)?;
        }
        self.verify_log(&held, findings)
    }

    fn verify_class(&self, class: ClassId, findings: &mut dyn Findings) -> Result<()> {
        let version = self.table_version();
        let mut serial = 0;
        let mut entries = Vec::new();
        loop {
            entries.clear();
            if let Err(error) = version.scan(class, &mut serial, BATCH, &mut entries) {
                findings.found(described(error));
                return Ok(());
            }
            if entries.is_empty() {
                return Ok(());
            }
            let mut versions = 0u64;
            let known = entries
                .iter()
                .filter(|(_, location)| *location != Location::NOWHERE);
            for (oid, location) in known {
                match self.verify_chain(*oid, *location) {
                    Ok(length) => versions = versions.saturating_add(length),
                    Err(error) => findings.found(described(error)),
                }
            }
            findings.compared(versions)?;
        }
    }

    /// Follows the versions of an object; gives their number.
    fn verify_chain(&self, oid: Oid, location: Location) -> Result<u64> {
        match self.follow(oid, location) {
            Ok(length) => Ok(length),
            // The cleaner may have moved it since the table was read.
            Err(error) => match self.table_version().get(oid)? {
                Some(moved) if moved != location => self.follow(oid, moved),
                _ => Err(error),
            },
        }
    }

    fn follow(&self, oid: Oid, location: Location) -> Result<u64> {
        let segments = self.segments();
        let mut length = 0u64;
        let mut newer = CommitNumber(u64::MAX);
        let mut next = Some(location);
        while let Some(location) = next {
            if length > 0 && segments.get(location.segment()).is_none() {
                break;
            }
            let record = segments.record(location, oid)?;
            if record.header.commit >= newer {
                let place = place(location.segment(), location.offset(), Some(oid));
                let what = "a previous version is no older than the one after it";
                return Err(Error::corruption(place, what));
            }
            if !record.header.deleted() {
                record.body()?;
            }
            newer = record.header.commit;
            next = record.previous;
            length = length.saturating_add(1);
        }
        Ok(length)
    }

    fn verify_log(&self, held: &HeldLog, findings: &mut dyn Findings) -> Result<()> {
        for segment in held.segments() {
            let limit = match segment.number == held.moment.end.segment {
                true => held.moment.end.offset,
                false => segment.end(),
            };
            if let Err(error) = self.verify_segment(segment, limit, findings) {
                if matches!(error, Error::Cancelled(_)) {
                    return Err(error);
                }
                findings.found(described(error));
            }
        }
        Ok(())
    }

    fn verify_segment(&self, segment: &Segment, limit: u32, findings: &mut dyn Findings) -> Result<()> {
        let mut window = Window::default();
        let mut offset = SEGMENT_HEADER;
        // What follows a frame that is not sound was reported when the files were checked.
        while let Some(header) = window.sound_frame(segment, offset, limit)? {
            let size = header.size();
            let frame = window.get(segment, offset, size, limit)?.unwrap_or_default();
            let payload = frame.get(FRAME_HEADER..).unwrap_or_default();
            let start = offset.saturating_add(FRAME_HEADER as u32);
            let mut compared = 0u64;
            let mut compare = |location: Location, record: RecordHeader| {
                compared = compared.saturating_add(1);
                if let Err(error) = self.is_known(segment.number, location, &record) {
                    findings.found(described(error));
                }
            };
            if header.kind == COMMITS {
                for section in sections(payload, start) {
                    let all = records(section.records, segment.number, section.records_start);
                    all.for_each(|(location, record)| compare(location, record));
                }
            } else if header.kind == MOVE {
                let all = moves(payload, segment.number, start);
                all.for_each(|(_, location, record)| compare(location, record));
            }
            findings.compared(compared)?;
            offset = offset.saturating_add(u32::try_from(size).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    /// An error if the table knows nothing as new as this record of its object.
    fn is_known(&self, segment: u32, location: Location, record: &RecordHeader) -> Result<()> {
        let place = || place(segment, location.offset(), Oid::from_bits(record.oid));
        let Some(oid) = Oid::from_bits(record.oid) else {
            return Err(Error::corruption(place(), "a record without an object"));
        };
        let known = self.table_version().get(oid)?;
        let known = known.filter(|known| *known != Location::NOWHERE);
        if known == Some(location) {
            return Ok(());
        }
        let freed = || self.segments().get(segment).is_none();
        let Some(known) = known else {
            // Tombstones that nothing needs any more are forgotten, and so are objects of dropped classes.
            let forgotten = || record.commit <= self.floor();
            return match freed() || forgotten() {
                true => Ok(()),
                false => Err(Error::corruption(place(), "the table does not know this object")),
            };
        };
        // A head that cannot be read was reported when the table was looked through.
        let segments = self.segments();
        match segments.record(known, oid) {
            Ok(head) if head.header.commit < record.commit && !freed() => Err(Error::corruption(
                place(),
                "the table points at an older version than this one",
            )),
            _ => Ok(()),
        }
    }
}

fn described(error: Error) -> Damage {
    match error {
        Error::Corruption(found) => Damage {
            place: found.place.clone(),
            what: found.what.clone(),
        },
        other => Damage {
            place: "the heap".into(),
            what: other.to_string(),
        },
    }
}
