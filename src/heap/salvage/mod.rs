//! What can still be read of a damaged heap.
//!
//! Nothing is trusted that has no checksum of its own: a record counts if its frame is sound, or, in a frame that is not,
//! if the 4 KiB blocks it lies in are, by the list in the segment's footer. Segments are read whatever their neighbours
//! are like, and without FORMAT and table, which are asked as witnesses only: FORMAT for the identity, the table for what
//! the newest version of each object was, so that a lost one is known to be lost.
//!
//! Of each object the version of the highest commit counts, of equals the one that lies later (the cleaner's copy).
//! Memory: about 40 bytes an object.

mod explore;
mod region;
mod witness;

pub use explore::explore;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::format::Format;
use super::position::Location;
use super::record::{RECORD_HEADER, RecordHeader, StoredRecord};
use super::segment::place;
use crate::error::{Error, Result};
use crate::files::File;
use crate::object::{ClassId, CommitNumber, Oid};

/// Something that was lost, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Loss {
    /// The segment, where one is known.
    pub segment: Option<u32>,
    /// The byte offset in it.
    pub offset: Option<u64>,
    /// The object, where one is known.
    pub oid: Option<Oid>,
    /// What was lost, and what became of it.
    pub what: String,
}

impl Loss {
    pub(super) fn of_segment(segment: u32, offset: u64, what: impl Into<String>) -> Loss {
        Loss {
            segment: Some(segment),
            offset: Some(offset),
            oid: None,
            what: what.into(),
        }
    }

    /// A loss of an object.
    pub fn of_object(oid: Oid, location: Option<Location>, what: impl Into<String>) -> Loss {
        Loss {
            segment: location.map(Location::segment),
            offset: location.map(Location::offset),
            oid: Some(oid),
            what: what.into(),
        }
    }
}

/// The newest readable version of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// The commit that wrote it.
    pub commit: CommitNumber,
    /// Where it lies.
    pub location: Location,
    /// Whether it is a deletion.
    pub deleted: bool,
}

/// What can be read of a heap.
#[derive(Debug, Default)]
pub struct Remains {
    pub(super) files: FxHashMap<u32, Arc<dyn File>>,
    pub(super) versions: FxHashMap<u64, Version>,
    /// What FORMAT says, where it can be read.
    pub(super) format: Option<Format>,
    /// What was lost.
    pub losses: Vec<Loss>,
    /// The newest commit that anything speaks of.
    pub last_commit: CommitNumber,
    /// Its time, microseconds since 1970 UTC.
    pub last_time: i64,
    /// Where numbering must go on in each class, by what was reserved.
    pub serials: FxHashMap<u32, u64>,
}

impl Remains {
    /// The timeline of the database; 1 where it is not known.
    pub fn timeline(&self) -> u32 {
        self.format.map_or(1, |format| format.timeline)
    }

    /// The readable objects that were not deleted, ascending.
    pub fn objects(&self) -> Vec<(Oid, Version)> {
        let live = self.versions.iter().filter(|(_, version)| !version.deleted);
        let mut objects: Vec<(Oid, Version)> = live
            .filter_map(|(bits, version)| Some((Oid::from_bits(*bits)?, *version)))
            .collect();
        objects.sort_unstable_by_key(|(oid, _)| *oid);
        objects
    }

    /// Whether the newest readable version of an object says that it was deleted.
    pub fn is_deleted(&self, oid: Oid) -> bool {
        self.versions
            .get(&oid.to_bits())
            .is_some_and(|version| version.deleted)
    }

    /// The largest serial number seen in each class.
    pub fn last_serials(&self) -> FxHashMap<ClassId, u64> {
        let mut last: FxHashMap<ClassId, u64> = FxHashMap::default();
        for oid in self.versions.keys().filter_map(|bits| Oid::from_bits(*bits)) {
            let serial = last.entry(oid.class()).or_default();
            *serial = oid.serial().max(*serial);
        }
        last
    }

    /// The body of a version.
    ///
    /// # Errors
    /// [`Error::Corruption`] where it cannot be decompressed; [`Error::Io`].
    pub fn body(&self, oid: Oid, version: &Version) -> Result<Vec<u8>> {
        let (segment, offset) = (version.location.segment(), version.location.offset());
        let gone = || {
            Error::corruption(
                place(segment, offset, Some(oid)),
                "the record cannot be read again",
            )
        };
        let file = self.files.get(&segment).ok_or_else(gone)?;
        let mut first = [0; RECORD_HEADER];
        file.read_at(&mut first, offset)?;
        let header = RecordHeader::decode(&first).filter(|header| header.oid == oid.to_bits());
        let header = header.ok_or_else(gone)?;
        let end = offset.saturating_add(header.unpadded() as u64);
        if end > file.len()? {
            return Err(gone());
        }
        let mut bytes = vec![0; header.unpadded()];
        file.read_at(&mut bytes, offset)?;
        let record = StoredRecord::decode(header, &bytes).ok_or_else(gone)?;
        let body = record.body()?.into_owned();
        Ok(body)
    }

    /// Takes in a readable version of an object.
    fn add(&mut self, location: Location, header: &RecordHeader) {
        let version = Version {
            commit: header.commit,
            location,
            deleted: header.deleted(),
        };
        self.last_commit = self.last_commit.max(header.commit);
        let known = self.versions.entry(header.oid).or_insert(version);
        if (known.commit, known.location.0) < (version.commit, version.location.0) {
            *known = version;
        }
    }
}
