//! What lies beyond the end of the log, and cutting it off.

use std::sync::Arc;

use super::footer::{BlockSums, Tally};
use super::frame::{COMMITS, Chain, FRAME_HEADER, MOVE, moves, sections};
use super::log::write_footer;
use super::position::LogPosition;
use super::scan::Window;
use super::segment::{Found, SEGMENT_HEADER, Segment, place};
use crate::error::{Error, Result};
use crate::files::Disk;

/// What was found beyond the end of the log.
#[derive(Debug, Default)]
pub(super) struct Leftover {
    /// Sound frames that do not continue the log, or belong to a commit without an end.
    frames: u64,
    /// Bytes from the end of the log to the last that is not zero.
    bytes: u64,
}

impl Leftover {
    /// Whether something must be cut off.
    pub(super) fn must_cut(&self) -> bool {
        self.bytes > 0
    }

    /// One sentence about what is cut off; `None` if nothing is.
    pub(super) fn describe(&self, end: LogPosition) -> Option<String> {
        let Leftover { frames, bytes } = self;
        self.must_cut().then(|| {
            format!(
                "the log ended in an unfinished write, never acknowledged: {bytes} bytes after {end} \
                 ({frames} whole frames among them) were cut off"
            )
        })
    }
}

/// Looks beyond `end`, where what counts ends; `log_end` is where the chain of frames does. An error if a later frame
/// says that the log was durable beyond it.
pub(super) fn find_leftover(
    segments: &[Arc<Segment>],
    log_end: LogPosition,
    end: LogPosition,
) -> Result<Leftover> {
    let mut leftover = Leftover::default();
    let mut window = Window::default();
    for segment in segments.iter().filter(|segment| segment.number >= end.segment) {
        let is_first = segment.number == end.segment;
        let mut offset = if is_first {
            end.offset.max(SEGMENT_HEADER)
        } else {
            SEGMENT_HEADER
        };
        let limit = segment.end();
        let last = last_nonzero(&mut window, segment, offset, limit)?;
        leftover.bytes = leftover
            .bytes
            .saturating_add(u64::from(last.saturating_sub(offset)));
        while let Some((at, header)) = window.find_frame(segment, offset, last)? {
            if header.durable > log_end {
                return Err(damaged(log_end, header.durable, segment.number, at));
            }
            leftover.frames = leftover.frames.saturating_add(1);
            offset = at.saturating_add(u32::try_from(header.size()).unwrap_or(u32::MAX));
        }
    }
    Ok(leftover)
}

fn damaged(end: LogPosition, durable: LogPosition, segment: u32, offset: u32) -> Error {
    Error::corruption(
        place(end.segment, u64::from(end.offset), None),
        format!(
            "the frame here is damaged or missing, but the log was durable through {durable} \
             (says the frame at {}); restore a backup, or salvage",
            place(segment, u64::from(offset), None)
        ),
    )
}

/// One past the last byte that is not zero in `offset..limit`; `offset` if there is none.
pub(super) fn last_nonzero(window: &mut Window, segment: &Segment, offset: u32, limit: u32) -> Result<u32> {
    const STEP: u32 = 1 << 16;
    let mut last = offset;
    let mut at = offset;
    while at < limit {
        let len = STEP.min(limit - at);
        let bytes = window.get(segment, at, len as usize, limit)?.unwrap_or_default();
        // Folding first: over megabytes of zeroes it is many times faster than searching.
        let any = bytes.iter().fold(0, |any, byte| any | byte);
        if any != 0
            && let Some(found) = bytes.iter().rposition(|byte| *byte != 0)
        {
            last = at
                .saturating_add(u32::try_from(found).unwrap_or(u32::MAX))
                .saturating_add(1);
        }
        at = at.saturating_add(len);
    }
    Ok(last)
}

/// What a segment's frames hold, checked one by one.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) sums: BlockSums,
    pub(super) tally: Tally,
    /// What the frame after the last one must say.
    pub(super) chain: Chain,
    /// The position after the last frame.
    pub(super) end: u32,
}

/// Checks the frames of `segment` up to `end`, which must be the end of one.
pub(super) fn survey(segment: &Segment, end: u32) -> Result<Survey> {
    let survey = survey_sound(segment, end)?;
    if survey.end != end {
        return Err(Error::corruption(
            place(segment.number, u64::from(survey.end), None),
            format!("the frame here is damaged; the segment's frames should end at offset {end}"),
        ));
    }
    Ok(survey)
}

/// Checks the frames of `segment` below `limit`, until one is not sound or not the successor of the one before.
pub(super) fn survey_sound(segment: &Segment, limit: u32) -> Result<Survey> {
    let mut window = Window::default();
    let mut survey = Survey {
        sums: BlockSums::default(),
        tally: Tally::default(),
        chain: Chain::START,
        end: SEGMENT_HEADER.min(limit),
    };
    let header = window.get(segment, 0, survey.end as usize, limit)?;
    survey.sums.add(header.unwrap_or_default());
    while let Some(header) = window.sound_frame(segment, survey.end, limit)? {
        if survey.end != SEGMENT_HEADER && header.chain != survey.chain {
            break;
        }
        let bytes = window
            .get(segment, survey.end, header.size(), limit)?
            .unwrap_or_default();
        survey.sums.add(bytes);
        let payload = bytes.get(FRAME_HEADER..).unwrap_or_default();
        if header.kind == COMMITS {
            for section in sections(payload, 0) {
                survey
                    .tally
                    .add(section.number, section.time, section.count as usize);
            }
        } else if header.kind == MOVE {
            let moved = u32::try_from(moves(payload, segment.number, 0).count()).unwrap_or(u32::MAX);
            survey.tally.records = survey.tally.records.saturating_add(moved);
        }
        survey.chain = header.next();
        survey.end = survey
            .end
            .saturating_add(u32::try_from(header.size()).unwrap_or(u32::MAX));
    }
    Ok(survey)
}

/// Seals `segment` at `end` (`None`: after its last sound frame), durably, and opens it anew.
pub(super) fn seal_at(
    disk: &dyn Disk,
    database: [u8; 16],
    segment: &Segment,
    end: Option<u32>,
) -> Result<Arc<Segment>> {
    let found = match end {
        Some(end) => survey(segment, end)?,
        None => survey_sound(segment, segment.end())?,
    };
    write_footer(segment, found.end, found.sums, &found.tally, found.chain)?;
    segment.file.sync()?;
    match Segment::open(disk, segment.number, database)? {
        Found::Sealed(sealed) => {
            sealed.use_count.copy(&segment.use_count);
            Ok(Arc::new(sealed))
        }
        Found::Open(_) | Found::Blank => Err(Error::corruption(
            place(segment.number, u64::from(found.end), None),
            "the footer that was written now cannot be read",
        )),
    }
}
