//! The directory of segments: number to segment, shared by all readers.
//!
//! A directory only grows. A segment is put here before the table points into it, so whoever finds a location in the table finds
//! its segment here, even a reader that is older than the segment: table entries change in place, and such a reader
//! passes through the newer record to the version it may see. Places are never moved, so looking one up takes no lock.
//!
//! # How a segment leaves
//!
//! When nothing in the table points into a segment, it is *retired*: new readers get a directory without it. Those that
//! are open keep the one they have, which still gains new segments, and so keep the segment: they may reach versions in
//! it through the chains of newer ones. A reader that was opened later starts from a table that leads nowhere near it.
//! So whoever may need a segment holds it, and it is gone when the last of them is: the directory is the ticket that
//! tells readers from before and after, whichever commits they read. A reader therefore takes its directory before its
//! table.

use std::sync::{Arc, OnceLock, Weak};

use parking_lot::RwLock;

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
    #[inline(always)]
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

    /// A directory of the same segments but those with these numbers.
    fn without(&self, numbers: &[u32]) -> SegmentDirectory {
        let rest = SegmentDirectory::default();
        let kept = self.from(0).into_iter();
        for segment in kept.filter(|segment| !numbers.contains(&segment.number)) {
            rest.insert(segment);
        }
        rest
    }

    /// The segment with the lowest number.
    pub(super) fn first(&self) -> Option<&Arc<Segment>> {
        let all = self.buckets.iter().filter_map(OnceLock::get).flatten();
        all.filter_map(OnceLock::get).next()
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

/// The directory for new readers, and those that open readers hold.
#[derive(Debug)]
pub(super) struct Directories {
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    current: Arc<SegmentDirectory>,
    older: Vec<Weak<SegmentDirectory>>,
}

impl Directories {
    pub(super) fn new(current: SegmentDirectory) -> Directories {
        Directories {
            state: RwLock::new(State {
                current: Arc::new(current),
                older: Vec::new(),
            }),
        }
    }

    /// The directory for a new reader.
    pub(super) fn current(&self) -> Arc<SegmentDirectory> {
        self.state.read().current.clone()
    }

    /// Adds a segment, for open readers too.
    pub(super) fn insert(&self, segment: &Arc<Segment>) {
        let state = self.state.read();
        state.current.insert(segment.clone());
        for older in state.older.iter().filter_map(Weak::upgrade) {
            older.insert(segment.clone());
        }
    }

    /// Leaves segments out of what new readers get; the caller holds on to them until nobody else does.
    pub(super) fn retire(&self, numbers: &[u32]) {
        let mut state = self.state.write();
        let rest = Arc::new(state.current.without(numbers));
        let before = std::mem::replace(&mut state.current, rest);
        state.older.retain(|older| older.strong_count() > 0);
        state.older.push(Arc::downgrade(&before));
    }
}

#[cold]
pub(super) fn missing(location: Location, oid: Oid) -> Error {
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
    fn a_retired_segment_stays_with_those_who_had_it_and_they_gain_new_ones() {
        let disk = MemoryDisk::new();
        let segment = |number| Arc::new(Segment::create(&disk, number, [0; 16], 1, 4096).unwrap());
        let directories = Directories::new(SegmentDirectory::default());
        let first = segment(1);
        directories.insert(&first);
        directories.insert(&segment(2));
        let before = directories.current();
        directories.retire(&[1]);
        directories.insert(&segment(3));
        let numbers = |directory: &SegmentDirectory| -> Vec<u32> {
            directory.from(0).iter().map(|segment| segment.number).collect()
        };
        assert_eq!(numbers(&before), [1, 2, 3]);
        assert_eq!(numbers(&directories.current()), [2, 3]);
        assert_eq!(Arc::strong_count(&first), 2);
        drop(before);
        assert_eq!(Arc::strong_count(&first), 1);
    }

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
