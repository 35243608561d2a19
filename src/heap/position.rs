//! Places in the log.

use std::fmt;

/// A place in the log of segments: segment number and byte offset; ordered as the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LogPosition {
    /// The segment's number; the first is 1.
    pub segment: u32,
    /// Bytes from the start of the segment.
    pub offset: u32,
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment {} offset {}", self.segment, self.offset)
    }
}

/// Where a record lies: segment (high 32 bits) and offset / 8 (low 32 bits); never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location(pub std::num::NonZeroU64);

impl Location {
    /// No place: an object that is gone for good, its tombstone included. Segments are numbered from 1.
    pub const NOWHERE: Location = Location(std::num::NonZeroU64::MIN);

    /// The location of the record at `offset` (a multiple of 8) of `segment`.
    pub fn new(segment: u32, offset: u64) -> Option<Location> {
        let units = u32::try_from(offset / 8).ok()?;
        std::num::NonZeroU64::new((u64::from(segment) << 32) | u64::from(units)).map(Location)
    }

    /// The segment's number.
    #[inline(always)]
    pub fn segment(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    /// The byte offset in the segment.
    #[inline(always)]
    pub fn offset(self) -> u64 {
        (self.0.get() & 0xffff_ffff) * 8
    }
}
