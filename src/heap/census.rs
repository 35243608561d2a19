//! Which segments are missing because they were given up.
//!
//! The checkpoint of the table lists the segments there are. A rebuild has no checkpoint; but whenever segments are given
//! up, a census in the log lists those that are left. The newest one counts, and as it is written behind everything it
//! gives up, it outlives all that: a segment with a census in it is given up only after a newer census.

use std::sync::Arc;

use super::frame::CENSUS;
use super::position::LogPosition;
use super::root::RootMetadata;
use super::scan::LogReader;
use super::segment::{SEGMENT_HEADER, Segment};
use crate::error::Result;

/// What the newest census of the log lists, and the segment it lies in.
struct Census {
    listed: Vec<(u32, u32)>,
    segment: u32,
}

impl Census {
    /// Whether the segment `number`, which is missing, was given up.
    fn has_given_up(&self, number: u32) -> bool {
        let listed = |(first, last): &(u32, u32)| (*first..=*last).contains(&number);
        number < self.segment && !self.listed.iter().any(listed)
    }
}

fn newest_census(segments: &[Arc<Segment>]) -> Result<Option<Census>> {
    for segment in segments.iter().rev() {
        let start = LogPosition {
            segment: segment.number,
            offset: SEGMENT_HEADER,
        };
        let mut reader = LogReader::new(vec![segment.clone()], start, None);
        let mut newest = None;
        while reader.advance()? {
            let Some(frame) = reader.frame()? else { break };
            if frame.header.kind == CENSUS {
                newest = RootMetadata::decode(frame.payload);
            }
        }
        if let Some(found) = newest {
            return Ok(Some(Census {
                listed: found.segments,
                segment: segment.number,
            }));
        }
    }
    Ok(None)
}

/// Whether all these segments, which are missing, were given up.
pub(super) fn were_given_up(segments: &[Arc<Segment>], missing: &[u32]) -> Result<bool> {
    let census = newest_census(segments)?;
    Ok(census.is_some_and(|census| missing.iter().all(|number| census.has_given_up(*number))))
}

/// The numbers of the segments before which others were given up, ascending.
pub(super) fn gaps(segments: &[Arc<Segment>]) -> Result<Vec<u32>> {
    let mut before = 0u32;
    let mut candidates = Vec::new();
    for segment in segments {
        let missing = before.saturating_add(1)..segment.number;
        if !missing.is_empty() {
            candidates.push((missing, segment.number));
        }
        before = segment.number;
    }
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let Some(census) = newest_census(segments)? else {
        return Ok(Vec::new());
    };
    let given_up = candidates
        .into_iter()
        .filter(|(missing, _)| missing.clone().all(|number| census.has_given_up(number)));
    Ok(given_up.map(|(_, number)| number).collect())
}
