//! Showing the commits of the log again, to whoever derives something from them.

use super::frame::{COMMITS, Section, records, sections};
use super::object_heap::Replayed;
use super::position::LogPosition;
use super::scan::{Frame, LogReader};
use super::segment::place;
use super::segments::SegmentDirectory;
use crate::error::{Error, Result};
use crate::object::Oid;

/// The parts of a commit seen so far.
#[derive(Debug, Default)]
struct Parts {
    label: Vec<u8>,
    metadata: Vec<u8>,
    deltas: Vec<u8>,
    records: Vec<(Oid, bool)>,
    /// Whether its first part was seen, at or after the position asked for.
    begun: bool,
}

/// Shows every commit that begins at or after `from` and ends before `until`, in log order.
pub(super) fn replay_commits(
    segments: &SegmentDirectory,
    from: LogPosition,
    until: LogPosition,
    visit: &mut dyn FnMut(Replayed<'_>) -> Result<()>,
) -> Result<()> {
    if from >= until {
        return Ok(());
    }
    let start = LogPosition {
        segment: from.segment,
        offset: 0,
    };
    let segments = segments.from(from.segment);
    // Segments that were given up in between hold nothing for who asks: they were needed until then.
    let pairs = segments.iter().zip(segments.iter().skip(1));
    let behind_gap = pairs.filter(|(before, after)| before.number.checked_add(1) != Some(after.number));
    let behind_gap = behind_gap.map(|(_, after)| after.number).collect();
    let mut reader = LogReader::new(segments, start, None).over_gaps(behind_gap);
    let mut parts = Parts::default();
    while reader.position() < until && reader.advance()? {
        let Some(frame) = reader.frame()? else { break };
        if frame.position >= until {
            break;
        }
        if frame.header.kind == COMMITS {
            for section in sections(frame.payload, frame.payload_start) {
                show(&section, &frame, from, &mut parts, visit)?;
            }
        }
    }
    let LogPosition { segment, offset } = reader.position();
    if reader.position() < until {
        let place = place(segment, u64::from(offset), None);
        return Err(Error::corruption(
            place,
            "the frame that should follow here is damaged or missing",
        ));
    }
    Ok(())
}

fn show(
    section: &Section<'_>,
    frame: &Frame<'_>,
    from: LogPosition,
    parts: &mut Parts,
    visit: &mut dyn FnMut(Replayed<'_>) -> Result<()>,
) -> Result<()> {
    let segment = frame.position.segment;
    let at = |offset: u32| LogPosition { segment, offset };
    if section.first {
        parts.begun = at(section.start) >= from;
        parts.records.clear();
        parts.deltas.clear();
        parts.label = section.label.to_vec();
        parts.metadata = section.metadata.to_vec();
    }
    if !parts.begun {
        return Ok(());
    }
    let found = records(section.records, segment, section.records_start);
    parts
        .records
        .extend(found.filter_map(|(_, header)| Some((Oid::from_bits(header.oid)?, header.deleted()))));
    parts.deltas.extend_from_slice(section.deltas);
    if !section.last {
        return Ok(());
    }
    parts.begun = false;
    visit(Replayed {
        number: section.number,
        end: at(section.end),
        label: std::str::from_utf8(&parts.label)
            .ok()
            .filter(|label| !label.is_empty()),
        metadata: &parts.metadata,
        deltas: &parts.deltas,
        records: &parts.records,
    })
}
