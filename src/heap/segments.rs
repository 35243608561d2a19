//! The directory of segments: number to segment, shared by all readers.
//!
//! It only grows. A segment is put here before the table points into it, so whoever finds a location in the table finds
//! its segment here, even a reader that is older than the segment: table entries change in place, and such a reader
//! passes through the newer record to the version it may see. Places are never moved, so looking one up takes no lock.

use std::sync::{Arc, OnceLock};

use super::position::Location;
use super::record::StoredRecord;
use super::segment::{Segment, place};
use crate::error::{Error, Result};
use crate::object::{CommitNumber, Oid};

type Bucket = Box<[OnceLock<Arc<Segment>>]>;

/// The directory of segments. Bucket `b` has the numbers from 2^b up to 2^(b+1).
#[derive(Debug, Default)]
pub(super) struct SegmentDirectory {
    buckets: [OnceLock<Bucket>; 32],
}

impl SegmentDirectory {
    /// The segment `number`.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&Arc<Segment>> {
        let bucket = number.checked_ilog2()?;
        let places = self.buckets.get(bucket as usize)?.get()?;
        places.get((number ^ (1 << bucket)) as usize)?.get()
    }

    /// Adds a segment; one that is there already stays.
    pub(super) fn insert(&self, segment: Arc<Segment>) {
        let Some(bucket) = segment.number.checked_ilog2() else {
            return;
        };
        let at = (segment.number ^ (1 << bucket)) as usize;
        let places = self.buckets.get(bucket as usize);
        let places = places
            .map(|places| places.get_or_init(|| (0..1usize << bucket).map(|_| OnceLock::new()).collect()));
        if let Some(place) = places.and_then(|places| places.get(at)) {
            place.get_or_init(|| segment);
        }
    }

    /// The segments from number `from` on, ascending.
    pub(super) fn from(&self, from: u32) -> Vec<Arc<Segment>> {
        let all = self.buckets.iter().filter_map(OnceLock::get).flatten();
        all.filter_map(OnceLock::get)
            .filter(|segment| segment.number >= from)
            .cloned()
            .collect()
    }

    /// Commit and body of the record at `location`, if it is an ordinary one: see [`Segment::plain`].
    #[inline(always)]
    pub(super) fn plain(
        &self,
        location: Location,
        oid: Oid,
        at: CommitNumber,
    ) -> Option<(CommitNumber, &[u8])> {
        self.get(location.segment())?.plain(location, oid, at)
    }

    /// The record at `location`, which must be of `oid`.
    pub(super) fn record(&self, location: Location, oid: Oid) -> Result<StoredRecord<'_>> {
        match self.get(location.segment()) {
            Some(segment) => segment.record(location, oid),
            None => Err(missing(location, oid)),
        }
    }
}

#[cold]
fn missing(location: Location, oid: Oid) -> Error {
    let place = place(location.segment(), location.offset(), Some(oid));
    Error::corruption(place, "the segment file is missing")
}

/// Runs of consecutive numbers, as (first, last), of ascending `numbers`.
pub(super) fn runs(numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryDisk;

    #[test]
    fn segments_are_found_by_number_and_listed_in_order() {
        let disk = MemoryDisk::new();
        let directory = SegmentDirectory::default();
        for number in [1, 2, 3, 7, 8, 1000] {
            let segment = Segment::create(&disk, number, [0; 16], 1, 4096).unwrap();
            directory.insert(Arc::new(segment));
        }
        assert_eq!(directory.get(7).map(|segment| segment.number), Some(7));
        assert!(
            directory.get(0).is_none() && directory.get(4).is_none() && directory.get(u32::MAX).is_none()
        );
        let numbers: Vec<u32> = directory.from(3).iter().map(|segment| segment.number).collect();
        assert_eq!(numbers, [3, 7, 8, 1000]);
        assert_eq!(runs(numbers), [(3, 3), (7, 8), (1000, 1000)]);
    }
}
