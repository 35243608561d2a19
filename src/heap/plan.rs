//! How a group of commits is cut into frames.
//!
//! Small commits share a frame; a commit that does not fit into one gets frames of its own, cut between records. Sizes
//! are upper bounds (a body may be compressed later), so that room can be reserved before the first byte is written:
//! laying smaller frames into the same segments in the same order never needs more of them.

use std::ops::Range;

use super::fixed::padded;
use super::frame::{FRAME_HEADER, SECTION_HEADER};
use super::object_heap::CommitEntry;
use super::record::{MAX_BODY, record_bound};
use crate::error::{Error, Result};

/// Bytes a frame should have at most; only one record that is larger alone exceeds it.
pub(super) const FRAME_TARGET: usize = 512 << 10;
const MAX_LABEL: usize = 4 << 10;
const MAX_METADATA: usize = 64 << 10;

/// One frame to be written: parts of commits.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FramePlan {
    /// The most bytes the frame can have.
    pub(super) bound: usize,
    pub(super) parts: Vec<Part>,
}

/// One commit of the group, or a part of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Which commit of the group.
    pub(super) commit: usize,
    pub(super) first: bool,
    pub(super) last: bool,
    /// Which of its records, and which bytes of its deltas.
    pub(super) records: Range<usize>,
    pub(super) deltas: Range<usize>,
}

/// Which ends of its commit a part that is written alone has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) first: bool,
    pub(super) last: bool,
}

/// Cuts a part of a commit into frames.
pub(super) fn plan_part(part: &CommitEntry<'_>, ends: Ends) -> Result<Vec<FramePlan>> {
    let mut frames = plan_frames(std::slice::from_ref(part))?;
    for part in frames.iter_mut().flat_map(|frame| &mut frame.parts) {
        part.first &= ends.first;
        part.last &= ends.last;
    }
    Ok(frames)
}

/// Cuts `group` into frames; an error if something is too large to be stored at all.
pub(super) fn plan_frames(group: &[CommitEntry<'_>]) -> Result<Vec<FramePlan>> {
    let mut frames: Vec<FramePlan> = Vec::new();
    let mut open = FramePlan::default();
    for (index, commit) in group.iter().enumerate() {
        let size = commit_bound(commit)?;
        if !open.parts.is_empty() && open.bound.saturating_add(size) > FRAME_TARGET {
            frames.push(std::mem::take(&mut open));
        }
        if size <= FRAME_TARGET {
            open.bound = open.bound.max(FRAME_HEADER).saturating_add(size);
            open.parts.push(Part {
                commit: index,
                first: true,
                last: true,
                records: 0..commit.records.len(),
                deltas: 0..commit.deltas.len(),
            });
        } else {
            cut_commit(index, commit, &mut frames);
        }
    }
    if !open.parts.is_empty() {
        frames.push(open);
    }
    Ok(frames)
}

fn head_bound(commit: &CommitEntry<'_>) -> usize {
    padded(SECTION_HEADER + commit.label.map_or(0, str::len) + commit.metadata.len())
}

/// The most bytes the section of a whole commit can have.
fn commit_bound(commit: &CommitEntry<'_>) -> Result<usize> {
    if commit.label.map_or(0, str::len) > MAX_LABEL || commit.metadata.len() > MAX_METADATA {
        return Err(Error::Limit(format!(
            "the label of a commit has at most {MAX_LABEL} bytes, its metadata at most {MAX_METADATA}"
        )));
    }
    let mut size = head_bound(commit).saturating_add(padded(commit.deltas.len()));
    for record in commit.records {
        let len = record.body.map_or(0, <[u8]>::len);
        if len > MAX_BODY {
            return Err(Error::Limit(format!(
                "object {:?} has {len} bytes; an object has at most {MAX_BODY}",
                record.oid
            )));
        }
        size = size.saturating_add(record_bound(record.body));
    }
    Ok(size)
}

/// Cuts one large commit into frames of its own.
fn cut_commit(index: usize, commit: &CommitEntry<'_>, frames: &mut Vec<FramePlan>) {
    let start = frames.len();
    let (mut record, mut delta) = (0, 0);
    while record < commit.records.len() || delta < commit.deltas.len() || frames.len() == start {
        let first = frames.len() == start;
        let mut bound = FRAME_HEADER + if first { head_bound(commit) } else { SECTION_HEADER };
        let first_record = record;
        while let Some(next) = commit.records.get(record) {
            let size = record_bound(next.body);
            if record > first_record && bound.saturating_add(size) > FRAME_TARGET {
                break;
            }
            bound = bound.saturating_add(size);
            record += 1;
        }
        let first_delta = delta;
        if record == commit.records.len() {
            let room = FRAME_TARGET
                .saturating_sub(bound)
                .max(if record == first_record { 4096 } else { 0 });
            delta = delta.saturating_add(room).min(commit.deltas.len());
            bound = bound.saturating_add(padded(delta - first_delta));
        }
        frames.push(FramePlan {
            bound,
            parts: vec![Part {
                commit: index,
                first,
                last: record == commit.records.len() && delta == commit.deltas.len(),
                records: first_record..record,
                deltas: first_delta..delta,
            }],
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::object_heap::RecordEntry;
    use super::*;
    use crate::object::{ClassId, CommitNumber, Oid};

    fn commit<'a>(records: &'a [RecordEntry<'a>], deltas: &'a [u8]) -> CommitEntry<'a> {
        CommitEntry {
            number: CommitNumber(1),
            time: 0,
            label: None,
            metadata: &[],
            records,
            deltas,
        }
    }

    fn record(serial: u64, body: &[u8]) -> RecordEntry<'_> {
        RecordEntry {
            oid: Oid::new(ClassId(64), serial).unwrap(),
            body: Some(body),
            fresh: true,
        }
    }

    /// Every record and delta byte is in exactly one part, in order, and only the last part is last.
    fn check(group: &[CommitEntry<'_>]) -> usize {
        let frames = plan_frames(group).unwrap();
        let parts: Vec<&Part> = frames.iter().flat_map(|frame| &frame.parts).collect();
        for (index, commit) in group.iter().enumerate() {
            let own: Vec<_> = parts.iter().filter(|part| part.commit == index).collect();
            let (mut record, mut delta) = (0, 0);
            for (at, part) in own.iter().enumerate() {
                assert_eq!((part.first, part.last), (at == 0, at == own.len() - 1));
                assert_eq!((part.records.start, part.deltas.start), (record, delta));
                (record, delta) = (part.records.end, part.deltas.end);
            }
            assert_eq!((record, delta), (commit.records.len(), commit.deltas.len()));
        }
        frames.len()
    }

    #[test]
    fn small_commits_share_a_frame_and_large_ones_are_cut_between_records() {
        let body = vec![0; 1000];
        let few: Vec<_> = (1..=10).map(|serial| record(serial, &body)).collect();
        let many: Vec<_> = (1..=5000).map(|serial| record(serial, &body)).collect();
        let deltas = vec![1; 2 << 20];
        assert_eq!(check(&[commit(&few, b"d"), commit(&few, b"")]), 1);
        assert_eq!(check(&[commit(&[], b"")]), 1);
        assert_eq!(check(&[commit(&many, b"")]), 10);
        assert_eq!(check(&[commit(&few, &deltas)]), 5);
        assert_eq!(
            check(&[commit(&few, b""), commit(&many, &deltas), commit(&few, b"")]),
            16
        );
    }

    #[test]
    fn what_is_too_large_is_refused_in_a_sentence() {
        let label = "x".repeat(MAX_LABEL + 1);
        let labelled = CommitEntry {
            label: Some(&label),
            ..commit(&[], b"")
        };
        assert!(matches!(plan_frames(&[labelled]), Err(Error::Limit(_))));
    }
}
