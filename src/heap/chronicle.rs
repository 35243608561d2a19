//! Commits by number and time, looked up in the log.

use std::sync::Arc;

use super::frame::{COMMITS, sections};
use super::position::LogPosition;
use super::scan::LogReader;
use super::segment::{SEGMENT_HEADER, Segment};
use crate::error::Result;
use crate::object::CommitNumber;

/// The last commit of the log whose number and time `wanted` accepts; it accepts all up to some commit and none after.
pub(super) fn last_commit_where(
    segments: &[Arc<Segment>],
    wanted: &dyn Fn(CommitNumber, i64) -> bool,
) -> Result<Option<(CommitNumber, i64)>> {
    for segment in segments.iter().rev() {
        if let Some(tally) = segment.tally()
            && !wanted(tally.first_commit, tally.first_time)
        {
            continue;
        }
        if let Some(found) = last_in(segment, wanted)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn last_in(
    segment: &Arc<Segment>,
    wanted: &dyn Fn(CommitNumber, i64) -> bool,
) -> Result<Option<(CommitNumber, i64)>> {
    let start = LogPosition {
        segment: segment.number,
        offset: SEGMENT_HEADER,
    };
    let mut reader = LogReader::new(vec![segment.clone()], start, None);
    let mut found = None;
    while reader.advance()? {
        let Some(frame) = reader.frame()? else { break };
        if frame.header.kind != COMMITS {
            continue;
        }
        for section in sections(frame.payload, frame.payload_start) {
            if !wanted(section.number, section.time) {
                return Ok(found);
            }
            found = Some((section.number, section.time));
        }
    }
    Ok(found)
}
