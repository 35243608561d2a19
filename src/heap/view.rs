//! Reading one state of the heap, without locks.
//!
//! A view holds a version of the table, and the directory of segments, which only grows. Entries of the table that
//! change after the view was taken may show in it; a reader goes from such a newer record back to the version it may
//! see. So a view answers for every commit up to the one that was published when it was taken, and alike every time.

use std::sync::Arc;

use super::position::Location;
use super::readers::Mark;
use super::record::StoredRecord;
use super::segment::place;
use super::segments::SegmentDirectory;
use super::table::TableVersion;
use crate::error::{Error, Result};
use crate::object::{ClassId, CommitNumber, Oid, Record, RecordBody};

/// The heap as of one moment. Owns what it reads from; every read is lock-free.
#[derive(Debug, Clone)]
pub struct HeapView {
    table: Arc<TableVersion>,
    segments: Arc<SegmentDirectory>,
    /// Nothing that this reader may need is dropped from the table.
    _mark: Arc<Mark>,
}

impl HeapView {
    pub(super) fn new(
        table: Arc<TableVersion>,
        segments: Arc<SegmentDirectory>,
        mark: Arc<Mark>,
    ) -> HeapView {
        HeapView {
            table,
            segments,
            _mark: mark,
        }
    }

    /// Bytes of segments that this view keeps and `newest`, a later one, does without.
    pub fn pinned_bytes(&self, newest: &HeapView) -> u64 {
        if Arc::ptr_eq(&self.segments, &newest.segments) {
            return 0;
        }
        let segments = self.segments.from(0).into_iter();
        let pinned = segments.filter(|segment| newest.segments.get(segment.number).is_none());
        pinned.map(|segment| u64::from(segment.end())).sum()
    }

    /// Commit and body of the version of `oid` that was newest at commit `at`, if it is the newest of all, lies
    /// uncompressed and verified, and nothing else is out of the ordinary. `None` says only that [`HeapView::get`] must
    /// be asked.
    ///
    /// Nearly all reads end here, in about fifty instructions, all inlined where they are asked for: so the processor
    /// has several reads in flight at once, and their cache misses overlap.
    #[inline(always)]
    pub fn plain(&self, oid: Oid, at: CommitNumber) -> Option<(CommitNumber, &[u8])> {
        self.segments.plain(self.table.near(oid)?, oid, at)
    }

    /// The version of `oid` that was newest at commit `at`; `None` if there was none or it was deleted.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`] names segment, offset and object of a damaged place.
    #[inline]
    pub fn get(&self, oid: Oid, at: CommitNumber) -> Result<Option<Record<'_>>> {
        match self.plain(oid, at) {
            Some((commit, body)) => Ok(Some(plain(oid, commit, body))),
            None => self.careful(oid, at),
        }
    }

    /// What [`HeapView::plain`] gives for each of `oids`, at most [`TOGETHER`] of them, set in `found` in their order.
    ///
    /// In passes: first where all of them lie, then their headers. Each pass is a short loop whose turns do not wait
    /// for each other, so the processor has the cache misses of many objects in flight at once.
    #[inline]
    pub fn plain_many<'a>(
        &'a self,
        oids: impl Iterator<Item = Oid> + Clone,
        at: CommitNumber,
        found: &mut Together<'a>,
    ) {
        let mut locations = [None; TOGETHER];
        let mut class = ClassId(0);
        let mut objects = self.table.near_objects(class);
        for (oid, location) in oids.clone().zip(&mut locations) {
            if oid.class() != class {
                class = oid.class();
                objects = self.table.near_objects(class);
            }
            *location = objects.location(oid.serial());
        }
        for ((oid, location), found) in oids.zip(locations).zip(found) {
            *found = match location {
                Some(location) => self.segments.plain(location, oid, at),
                None => None,
            };
        }
    }

    /// Appends one entry an OID, in the order given; cache misses of different objects overlap.
    ///
    /// # Errors
    ///
    /// As [`HeapView::get`].
    pub fn gather<'a>(
        &'a self,
        oids: &[Oid],
        at: CommitNumber,
        out: &mut Vec<Option<Record<'a>>>,
    ) -> Result<()> {
        out.reserve(oids.len());
        for oids in oids.chunks(TOGETHER) {
            let mut together = [None; TOGETHER];
            self.plain_many(oids.iter().copied(), at, &mut together);
            for (oid, found) in oids.iter().zip(together) {
                out.push(match found {
                    Some((commit, body)) => Some(plain(*oid, commit, body)),
                    None => self.careful(*oid, at)?,
                });
            }
        }
        Ok(())
    }

    /// Appends up to `limit` objects of `class` in OID order from serial `next_serial` and moves it on; appending
    /// none (with a limit above 0) means the end.
    ///
    /// # Errors
    ///
    /// As [`HeapView::get`].
    pub fn scan<'a>(
        &'a self,
        class: ClassId,
        next_serial: &mut u64,
        at: CommitNumber,
        limit: usize,
        out: &mut Vec<Record<'a>>,
    ) -> Result<()> {
        let full = out.len().saturating_add(limit);
        let mut found = Vec::with_capacity(limit.min(BATCH));
        let mut run = Vec::with_capacity(limit.min(BATCH));
        while out.len() < full {
            found.clear();
            let wanted = (full - out.len()).min(BATCH);
            self.table.scan(class, next_serial, wanted, &mut found)?;
            if found.is_empty() {
                break;
            }
            let mut rest = found.as_slice();
            while let Some((oid, location)) = self.plain_run(&mut rest, at, &mut run) {
                out.extend(run.iter().map(Plain::record));
                out.extend(self.version_at(location, oid, at)?);
            }
            out.extend(run.iter().map(Plain::record));
        }
        Ok(())
    }

    /// About how many objects `class` has; deleted ones may be counted.
    pub fn extent_estimate(&self, class: ClassId) -> u64 {
        self.table.extent_estimate(class)
    }

    /// Takes objects off the front of `rest` into `run` as long as they are plain; the one that is not, if there is one.
    ///
    /// They are not made [`Record`]s at once: what is put together on the stack in words and copied in larger pieces
    /// waits for the words to be stored.
    fn plain_run<'a>(
        &'a self,
        rest: &mut &[(Oid, Location)],
        at: CommitNumber,
        run: &mut Vec<Plain<'a>>,
    ) -> Option<(Oid, Location)> {
        run.clear();
        run.reserve(rest.len());
        while let Some(((oid, location), after)) = rest.split_first() {
            *rest = after;
            match self.segments.plain(*location, *oid, at) {
                Some((commit, body)) => run.push(Plain {
                    oid: *oid,
                    commit,
                    body,
                }),
                None => return Some((*oid, *location)),
            }
        }
        None
    }

    #[inline(never)]
    fn careful(&self, oid: Oid, at: CommitNumber) -> Result<Option<Record<'_>>> {
        match self.table.get(oid)? {
            Some(location) => self.version_at(location, oid, at),
            None => Ok(None),
        }
    }

    /// The version at commit `at` in the chain of versions that begins at `location`.
    #[inline(never)]
    fn version_at(&self, location: Location, oid: Oid, at: CommitNumber) -> Result<Option<Record<'_>>> {
        if location == Location::NOWHERE {
            return Ok(None);
        }
        let mut location = location;
        let mut newer = CommitNumber(u64::MAX);
        loop {
            let record = self.segments.record(location, oid)?;
            let commit = record.header.commit;
            if commit <= at {
                return shown(record, location, oid);
            }
            // Also keeps a damaged chain from leading round in a circle: within one commit there are no two versions.
            if commit >= newer {
                let place = place(location.segment(), location.offset(), Some(oid));
                return Err(Error::corruption(
                    place,
                    "a previous version is no older than the one after it",
                ));
            }
            newer = commit;
            match record.previous {
                Some(previous) => location = previous,
                None => return Ok(None),
            }
        }
    }
}

/// Objects that [`HeapView::plain_many`] reads together.
pub const TOGETHER: usize = 64;

/// What [`HeapView::plain_many`] found: commit and body of each object.
pub type Together<'a> = [Option<(CommitNumber, &'a [u8])>; TOGETHER];

/// What [`HeapView::plain`] gives, with the object it is of.
#[derive(Clone, Copy)]
struct Plain<'a> {
    oid: Oid,
    commit: CommitNumber,
    body: &'a [u8],
}

impl<'a> Plain<'a> {
    #[inline(always)]
    fn record(&self) -> Record<'a> {
        plain(self.oid, self.commit, self.body)
    }
}

/// A record whose body is borrowed from its segment.
#[inline(always)]
fn plain(oid: Oid, commit: CommitNumber, body: &[u8]) -> Record<'_> {
    Record {
        oid,
        commit,
        body: RecordBody::Borrowed(body),
    }
}

/// What a reader sees of a version: nothing if it is a deletion.
fn shown(record: StoredRecord<'_>, location: Location, oid: Oid) -> Result<Option<Record<'_>>> {
    if record.header.deleted() {
        return Ok(None);
    }
    let body = record.body().map_err(|error| located(error, location, oid))?;
    Ok(Some(Record {
        oid,
        commit: record.header.commit,
        body,
    }))
}

#[cold]
fn located(error: Error, location: Location, oid: Oid) -> Error {
    match error {
        Error::Corruption(_) => {
            let place = place(location.segment(), location.offset(), Some(oid));
            Error::corruption(place, "the compressed body does not decompress")
        }
        other => other,
    }
}

/// Objects whose locations are looked up before their records are touched.
const BATCH: usize = 1024;
