//! Encoding a frame of commits, and keeping track of where the versions of its objects lie.

use rustc_hash::FxHashMap;

use super::frame::{FRAME_HEADER, SectionEnd, begin_section, end_section};
use super::object_heap::{CommitEntry, RecordEntry};
use super::plan::{FramePlan, Part};
use super::position::{Location, LogPosition};
use super::record::encode_record;
use crate::error::{Error, Result};
use crate::object::{CommitNumber, Oid};

/// Where the records of a group lie, and their previous versions.
#[derive(Debug)]
pub(super) struct Versions {
    /// One for each record of the group, in order; empty if none has one.
    previous: Vec<Option<Location>>,
    /// Versions within the group itself, if several commits of it may write the same object.
    within: Option<FxHashMap<Oid, Location>>,
    /// The segments of the versions that what was encoded so far supersedes.
    pub(super) superseded: Vec<u32>,
    /// What was encoded so far.
    pub(super) written: Vec<(Oid, Location)>,
}

impl Versions {
    pub(super) fn new(group: &[CommitEntry<'_>], previous: Vec<Option<Location>>) -> Versions {
        let records = group.iter().map(|commit| commit.records.len()).sum();
        Versions {
            previous,
            within: (group.len() > 1).then(FxHashMap::default),
            superseded: Vec::new(),
            written: Vec::with_capacity(records),
        }
    }

    /// Notes that the next record of the group lies at `location`, and says where its previous version lies.
    fn next(&mut self, record: &RecordEntry<'_>, location: Location) -> Option<Location> {
        let earlier = self.previous.get(self.written.len()).copied().flatten();
        self.written.push((record.oid, location));
        let within = self
            .within
            .as_mut()
            .and_then(|within| within.insert(record.oid, location));
        let superseded = within.or(earlier);
        self.superseded.extend(superseded.map(Location::segment));
        superseded
    }
}

/// Fills `buffer` with a frame that will lie at `position`; its header is left empty.
pub(super) fn encode_frame(
    buffer: &mut Vec<u8>,
    frame: &FramePlan,
    group: &[CommitEntry<'_>],
    position: LogPosition,
    versions: &mut Versions,
) -> Result<()> {
    buffer.clear();
    buffer.resize(FRAME_HEADER, 0);
    for part in &frame.parts {
        if let Some(commit) = group.get(part.commit) {
            encode_part(buffer, part, commit, position, versions)?;
        }
    }
    Ok(())
}

fn encode_part(
    buffer: &mut Vec<u8>,
    part: &Part,
    commit: &CommitEntry<'_>,
    position: LogPosition,
    versions: &mut Versions,
) -> Result<()> {
    let (label, metadata) = match part.first {
        true => (commit.label.unwrap_or_default(), commit.metadata),
        false => ("", &[][..]),
    };
    let start = begin_section(buffer, label, metadata);
    let records_start = buffer.len();
    for record in commit.records.get(part.records.clone()).unwrap_or_default() {
        encode_entry(buffer, record, commit.number, position, versions)?;
    }
    let end = SectionEnd {
        first: part.first,
        last: part.last,
        number: commit.number,
        time: commit.time,
        records: part.records.len(),
        records_start,
        deltas: commit.deltas.get(part.deltas.clone()).unwrap_or_default(),
    };
    end_section(buffer, start, &end);
    Ok(())
}

#[inline]
fn encode_entry(
    buffer: &mut Vec<u8>,
    record: &RecordEntry<'_>,
    commit: CommitNumber,
    position: LogPosition,
    versions: &mut Versions,
) -> Result<()> {
    let offset = u64::from(position.offset).saturating_add(buffer.len() as u64);
    let location = Location::new(position.segment, offset);
    let location =
        location.ok_or_else(|| Error::Limit("a record lies past the end of any segment".into()))?;
    let previous = versions.next(record, location);
    encode_record(buffer, record.oid, commit, previous, record.body);
    Ok(())
}
