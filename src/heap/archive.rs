//! The log as of one moment, to be copied while the database is in use.
//!
//! A moment is a commit, the end of the log after it, and the segments there were then. It holds those segments open, so
//! that what it copies is there to the end even if the cleaner frees a segment meanwhile: on the disk a file that is
//! open outlives its name. Segments before the one with the end are sealed and never change; of that one the bytes
//! before the end never do.

use std::path::PathBuf;
use std::sync::Arc;

use super::fixed::u32_at;
use super::footer::{FOOTER_TRAILER, Footer};
use super::frame::Chain;
use super::object_heap::Heap;
use super::position::LogPosition;
use super::segment::{Segment, place, segment_path};
use super::segments::runs;
use crate::error::{Error, Result};
use crate::files::File;
use crate::object::CommitNumber;

/// One consistent moment in the history of a database, as plain data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Moment {
    /// The newest commit.
    pub commit: CommitNumber,
    /// Its time, microseconds since 1970 UTC.
    pub time: i64,
    /// Where the log ended.
    pub end: LogPosition,
    /// The sequence number of the frame that comes next.
    pub sequence: u64,
    /// The checksum of the last frame.
    pub previous: u32,
    /// The open epoch.
    pub epoch: u32,
    /// Where numbering must go on in each class.
    pub serials: Vec<(u32, u64)>,
    /// The segments, as runs of numbers (first, last).
    pub segments: Vec<(u32, u32)>,
}

impl Moment {
    pub(super) fn chain(&self) -> Chain {
        Chain {
            sequence: self.sequence,
            previous: self.previous,
        }
    }

    /// The beginning of every log: nothing was committed yet.
    pub fn beginning() -> Moment {
        Moment {
            sequence: Chain::START.sequence,
            previous: Chain::START.previous,
            ..Moment::default()
        }
    }

    /// The numbers of its segments, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.segments.iter().flat_map(|(first, last)| *first..=*last)
    }
}

/// What tells one version of a segment file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentIdentity {
    /// Bytes to copy.
    pub length: u64,
    /// The checksum of the footer, which covers the checksums of all blocks; `None` for the segment with the end of the
    /// log, which has no footer yet.
    pub footer: Option<u32>,
}

/// A moment with its segments held open.
#[derive(Debug)]
pub struct HeldLog {
    /// The moment.
    pub moment: Moment,
    segments: Vec<Arc<Segment>>,
}

impl Heap {
    /// The log as it is now, with every commit that was applied, and so with every one that was acknowledged.
    pub fn hold(&self) -> HeldLog {
        loop {
            let before = self.segments_from(0);
            let mut moment = self.applied_moment();
            let mut segments = self.segments_from(0);
            // If the cleaner freed a segment in between, the moves it relied on may lie behind the position.
            let freed = |segment: &Arc<Segment>| {
                segments
                    .binary_search_by_key(&segment.number, |other| other.number)
                    .is_err()
            };
            if before.iter().any(freed) {
                continue;
            }
            segments.retain(|segment| segment.number <= moment.end.segment);
            moment.segments = runs(segments.iter().map(|segment| segment.number));
            return HeldLog { moment, segments };
        }
    }
}

impl HeldLog {
    /// What identifies the segment `number`.
    ///
    /// # Errors
    /// [`Error::Corruption`] where a sealed segment has no sound footer, or is not there.
    pub fn identity(&self, number: u32) -> Result<SegmentIdentity> {
        let segment = self.segment(number)?;
        if number == self.moment.end.segment {
            let sealed = segment
                .footer()
                .filter(|footer| footer.data_end == self.moment.end.offset);
            if sealed.is_none() {
                return Ok(SegmentIdentity {
                    length: u64::from(self.moment.end.offset),
                    footer: None,
                });
            }
        }
        let length = segment.file.len()?;
        if Footer::read(&*segment.file, number, length)?.is_none() {
            return Err(Error::corruption(
                place(number, length, None),
                "the footer of the segment is damaged, or the file was cut short",
            ));
        }
        Ok(SegmentIdentity {
            length,
            footer: Some(footer_checksum(&*segment.file, length)?),
        })
    }

    /// Reads the segment `number` piece by piece, in order, each with its offset; compares every block with its
    /// checksum first.
    ///
    /// # Errors
    /// [`Error::Corruption`] names a damaged block.
    pub fn read(
        &self,
        number: u32,
        identity: SegmentIdentity,
        take: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let segment = self.segment(number)?;
        let checked = match identity.footer {
            Some(_) => Footer::read(&*segment.file, number, identity.length)?,
            None => None,
        };
        let sums = match &checked {
            Some(footer) => Some((footer.data_end, footer.read_sums(&*segment.file, number)?)),
            None => None,
        };
        let mut piece = vec![0; PIECE];
        let mut offset = 0u64;
        while offset < identity.length {
            let length = usize::try_from(identity.length.saturating_sub(offset)).unwrap_or(PIECE);
            let bytes = piece.get_mut(..length.min(PIECE)).unwrap_or_default();
            segment.file.read_at(bytes, offset)?;
            if let Some((data_end, sums)) = &sums {
                check_blocks(number, offset, bytes, *data_end, sums)?;
            }
            take(offset, bytes)?;
            offset = offset.saturating_add(bytes.len() as u64);
        }
        Ok(())
    }

    /// Its segments, ascending.
    pub(super) fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    fn segment(&self, number: u32) -> Result<&Arc<Segment>> {
        let found = self
            .segments
            .binary_search_by_key(&number, |segment| segment.number);
        found
            .ok()
            .and_then(|index| self.segments.get(index))
            .ok_or_else(|| Error::corruption(place(number, 0, None), "the segment file is missing"))
    }
}

/// The path of segment `number` in a database directory.
pub fn segment_file(number: u32) -> PathBuf {
    segment_path(number)
}

/// The checksum at the end of a footer, the last bytes of a sealed segment's file.
fn footer_checksum(file: &dyn File, length: u64) -> Result<u32> {
    let mut trailer = [0; FOOTER_TRAILER];
    file.read_at(&mut trailer, length.saturating_sub(FOOTER_TRAILER as u64))?;
    Ok(u32_at(&trailer, FOOTER_TRAILER - 4).unwrap_or(0))
}

/// Compares the blocks in `bytes`, which begin at `offset` (a multiple of a block), with their checksums.
fn check_blocks(number: u32, offset: u64, bytes: &[u8], data_end: u32, sums: &[u32]) -> Result<()> {
    const BLOCK: usize = super::footer::BLOCK;
    for (index, block) in bytes.chunks(BLOCK).enumerate() {
        let start = offset.saturating_add((index * BLOCK) as u64);
        let Some(rest) = u64::from(data_end).checked_sub(start).filter(|rest| *rest > 0) else {
            return Ok(());
        };
        let block = block.get(..(rest as usize).min(block.len())).unwrap_or_default();
        let expected = sums.get(usize::try_from(start / BLOCK as u64).unwrap_or(usize::MAX));
        if expected != Some(&crc32c::crc32c(block)) {
            return Err(Error::corruption(
                place(number, start, None),
                "the checksum of this 4 KiB block does not match its bytes",
            ));
        }
    }
    Ok(())
}

/// Bytes read at a time; a multiple of a block.
const PIECE: usize = 1 << 20;
