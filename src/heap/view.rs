//! Reading one state of the heap, without locks.
//!
//! A view holds a version of the table, and the directory of segments, which only grows. Entries of the table that
//! change after the view was taken may show in it; a reader goes from such a newer record back to the version it may
//! see. So a view answers for every commit up to the one that was published when it was taken, and alike every time.

use std::sync::Arc;

use super::position::Location;
use super::record::StoredRecord;
use super::segment::place;
use super::segments::SegmentDirectory;
use super::table::TableVersion;
use crate::error::{Error, Result};
use crate::object::{ClassId, CommitNumber, Oid, Record};

/// The heap as of one moment. Owns what it reads from; every read is lock-free.
#[derive(Debug, Clone)]
pub struct HeapView {
    table: Arc<TableVersion>,
    segments: Arc<SegmentDirectory>,
}

impl HeapView {
    pub(super) fn new(table: Arc<TableVersion>, segments: Arc<SegmentDirectory>) -> HeapView {
        HeapView { table, segments }
    }

    /// The version of `oid` that was newest at commit `at`; `None` if there was none or it was deleted.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`] names segment, offset and object of a damaged place.
    #[inline]
    pub fn get(&self, oid: Oid, at: CommitNumber) -> Result<Option<Record<'_>>> {
        match self.table.get(oid)? {
            Some(location) => self.version_at(location, oid, at),
            None => Ok(None),
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
        let mut locations = Vec::with_capacity(oids.len().min(BATCH));
        out.reserve(oids.len());
        for oids in oids.chunks(BATCH) {
            locations.clear();
            self.table.gather(oids, &mut locations)?;
            for (oid, location) in oids.iter().zip(&locations) {
                out.push(match location {
                    Some(location) => self.version_at(*location, *oid, at)?,
                    None => None,
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
        while out.len() < full {
            found.clear();
            let wanted = (full - out.len()).min(BATCH);
            self.table.scan(class, next_serial, wanted, &mut found)?;
            if found.is_empty() {
                break;
            }
            for (oid, location) in &found {
                out.extend(self.version_at(*location, *oid, at)?);
            }
        }
        Ok(())
    }

    /// About how many objects `class` has; deleted ones may be counted.
    pub fn extent_estimate(&self, class: ClassId) -> u64 {
        self.table.extent_estimate(class)
    }

    /// The version at commit `at` in the chain of versions that begins at `location`.
    #[inline]
    fn version_at(&self, location: Location, oid: Oid, at: CommitNumber) -> Result<Option<Record<'_>>> {
        let record = self.segments.record(location, oid)?;
        if record.header.commit <= at {
            return shown(record, location, oid);
        }
        self.earlier_version(record, oid, at)
    }

    #[cold]
    fn earlier_version<'a>(
        &'a self,
        mut record: StoredRecord<'a>,
        oid: Oid,
        at: CommitNumber,
    ) -> Result<Option<Record<'a>>> {
        while let Some(location) = record.previous {
            let newer = record.header.commit;
            record = self.segments.record(location, oid)?;
            if record.header.commit <= at {
                return shown(record, location, oid);
            }
            if record.header.commit > newer {
                let place = place(location.segment(), location.offset(), Some(oid));
                return Err(Error::corruption(
                    place,
                    "a previous version is newer than the one after it",
                ));
            }
        }
        Ok(None)
    }
}

/// What a reader sees of a version: nothing if it is a deletion.
#[inline]
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
