//! Reading the log frame by frame, through ordinary reads.

use std::sync::Arc;

use super::frame::{Chain, FRAME_HEADER, FRAME_MAGIC, FrameHeader, frame_checksum};
use super::position::LogPosition;
use super::segment::{SEGMENT_HEADER, Segment};
use crate::error::Result;

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// A window over the bytes of one segment, moved by ordinary reads.
#[derive(Debug, Default)]
pub(super) struct Window {
    bytes: Vec<u8>,
    segment: u32,
    start: u32,
}

impl Window {
    /// `len` bytes at `offset` of `segment`; `None` if they are not all below `limit`.
    pub(super) fn get(
        &mut self,
        segment: &Segment,
        offset: u32,
        len: usize,
        limit: u32,
    ) -> Result<Option<&[u8]>> {
        let end = u64::from(offset).saturating_add(len as u64);
        if end > u64::from(limit) {
            return Ok(None);
        }
        let window_end = u64::from(self.start).saturating_add(self.bytes.len() as u64);
        if self.segment != segment.number || offset < self.start || end > window_end {
            self.fill(segment, offset, len, limit)?;
        }
        let at = offset.saturating_sub(self.start) as usize;
        Ok(self.bytes.get(at..at.saturating_add(len)))
    }

    fn fill(&mut self, segment: &Segment, offset: u32, len: usize, limit: u32) -> Result<()> {
        let take = CHUNK.max(len).min(limit.saturating_sub(offset) as usize);
        self.segment = 0;
        self.bytes.resize(take, 0);
        segment.file.read_at(&mut self.bytes, u64::from(offset))?;
        self.segment = segment.number;
        self.start = offset;
        Ok(())
    }

    /// The header of a whole and sound frame at `offset`, if there is one below `limit`.
    pub(super) fn sound_frame(
        &mut self,
        segment: &Segment,
        offset: u32,
        limit: u32,
    ) -> Result<Option<FrameHeader>> {
        let Some(head) = self.get(segment, offset, FRAME_HEADER, limit)? else {
            return Ok(None);
        };
        let Some(header) = FrameHeader::decode(head) else {
            return Ok(None);
        };
        let frame = self.get(segment, offset, header.size(), limit)?;
        Ok(frame.and_then(|frame| (frame_checksum(frame) == header.checksum).then_some(header)))
    }

    /// The next place at or after `offset` where a sound frame lies.
    pub(super) fn find_frame(
        &mut self,
        segment: &Segment,
        mut offset: u32,
        limit: u32,
    ) -> Result<Option<(u32, FrameHeader)>> {
        while let Some(magic) = self.get(segment, offset, 8, limit)? {
            if magic.starts_with(&FRAME_MAGIC.to_le_bytes())
                && let Some(header) = self.sound_frame(segment, offset, limit)?
            {
                return Ok(Some((offset, header)));
            }
            offset = offset.saturating_add(8);
        }
        Ok(None)
    }
}

/// A sound frame of the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) header: FrameHeader,
    pub(super) payload: &'a [u8],
    /// Where it begins.
    pub(super) position: LogPosition,
    /// Where its payload begins in the segment.
    pub(super) payload_start: u32,
}

/// Reads frames in log order, each the successor of the one before.
#[derive(Debug)]
pub(super) struct LogReader {
    segments: Vec<Arc<Segment>>,
    current: usize,
    position: LogPosition,
    chain: Option<Chain>,
    window: Window,
    found: Option<(LogPosition, FrameHeader)>,
    /// Numbers of segments before which others were given up, ascending: their first frame is taken as it is.
    after_gap: Vec<u32>,
}

impl LogReader {
    /// A reader of `segments` (ascending) from `position` on. `chain` is what the first frame must say; `None` takes
    /// the first frame as it is.
    pub(super) fn new(segments: Vec<Arc<Segment>>, position: LogPosition, chain: Option<Chain>) -> LogReader {
        let current = segments.partition_point(|segment| segment.number < position.segment);
        LogReader {
            segments,
            current,
            position,
            chain,
            window: Window::default(),
            found: None,
            after_gap: Vec::new(),
        }
    }

    /// Goes on over segments that were given up, before those with these numbers.
    pub(super) fn over_gaps(mut self, after_gap: Vec<u32>) -> LogReader {
        self.after_gap = after_gap;
        self
    }

    /// The chain that the first frame of `segment` must continue.
    fn chain_into(&self, segment: &Segment) -> Option<Chain> {
        match self.after_gap.binary_search(&segment.number) {
            Ok(_) => None,
            Err(_) => self.chain,
        }
    }

    /// Whether the frame it is on is the first one behind a gap.
    pub(super) fn is_behind_gap(&self) -> bool {
        self.found.is_some_and(|(position, _)| {
            position.offset == SEGMENT_HEADER && self.after_gap.binary_search(&position.segment).is_ok()
        })
    }

    /// Moves to the next frame; false at the end of the log: no segment has a successor of the last frame.
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.found = None;
        if let Some(segment) = self.segments.get(self.current).cloned() {
            let offset = match self.position.segment == segment.number {
                true => self.position.offset.max(SEGMENT_HEADER),
                false => SEGMENT_HEADER,
            };
            let chain = match offset {
                SEGMENT_HEADER => self.chain_into(&segment),
                _ => self.chain,
            };
            if self.take(&segment, offset, chain)? {
                return Ok(true);
            }
        }
        self.advance_segment()
    }

    fn advance_segment(&mut self) -> Result<bool> {
        for index in self.current.saturating_add(1)..self.segments.len() {
            let Some(segment) = self.segments.get(index).cloned() else {
                break;
            };
            if self.take(&segment, SEGMENT_HEADER, self.chain_into(&segment))? {
                self.current = index;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn take(&mut self, segment: &Segment, offset: u32, chain: Option<Chain>) -> Result<bool> {
        let header = self.window.sound_frame(segment, offset, segment.end())?;
        let Some(header) = header.filter(|header| chain.is_none_or(|chain| chain == header.chain)) else {
            return Ok(false);
        };
        let start = LogPosition {
            segment: segment.number,
            offset,
        };
        self.found = Some((start, header));
        self.chain = Some(header.next());
        self.position = LogPosition {
            segment: segment.number,
            offset: offset.saturating_add(u32::try_from(header.size()).unwrap_or(u32::MAX)),
        };
        Ok(true)
    }

    /// The frame [`LogReader::advance`] moved to.
    pub(super) fn frame(&mut self) -> Result<Option<Frame<'_>>> {
        let (Some((position, header)), Some(segment)) = (self.found, self.segments.get(self.current)) else {
            return Ok(None);
        };
        let size = header.size();
        let frame = self.window.get(segment, position.offset, size, segment.end())?;
        let payload = frame.and_then(|frame| frame.get(FRAME_HEADER..));
        Ok(payload.map(|payload| Frame {
            header,
            payload,
            position,
            payload_start: position.offset.saturating_add(FRAME_HEADER as u32),
        }))
    }

    /// The position after the last frame.
    pub(super) fn position(&self) -> LogPosition {
        self.position
    }

    /// What the next frame must say.
    pub(super) fn chain(&self) -> Chain {
        self.chain.unwrap_or(Chain::START)
    }
}
