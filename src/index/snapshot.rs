//! The state of all indexes that one view reads.

use smallvec::SmallVec;

use super::{IndexId, IndexKey};
use crate::error::{Error, Result};
use crate::object::{CommitNumber, Oid};

/// The state of all indexes for readers at commits from the one it was captured at: bases, and deltas over them.
#[derive(Debug)]
pub struct IndexSnapshot {}

impl IndexSnapshot {
    /// The objects with exactly this encoded key at commit `at`, ascending.
    pub fn get(&self, id: IndexId, key: &[u8], at: CommitNumber) -> Result<SmallVec<[Oid; 4]>> {
        let _ = (id, key, at);
        Err(Error::Argument("not written yet".into()))
    }

    /// A cursor over the entries with `start <= key < end` (no end: to the last key) at commit `at`, in key order,
    /// within one key by OID; both descending if `descending`.
    pub fn range(
        &self,
        id: IndexId,
        start: &[u8],
        end: Option<&[u8]>,
        descending: bool,
        at: CommitNumber,
    ) -> Result<RangeCursor> {
        let _ = (id, start, end, descending, at);
        Err(Error::Argument("not written yet".into()))
    }

    /// The number of entries with `start <= key < end` at commit `at`.
    pub fn count(&self, id: IndexId, start: &[u8], end: Option<&[u8]>, at: CommitNumber) -> Result<u64> {
        let _ = (id, start, end, at);
        Err(Error::Argument("not written yet".into()))
    }
}

/// Where a range stands; owns what it reads, so that it outlives the view it came from.
#[derive(Debug)]
pub struct RangeCursor {}

impl RangeCursor {
    /// Appends up to `limit` objects; appending none means the end.
    pub fn next(&mut self, limit: usize, oids: &mut Vec<Oid>) -> Result<()> {
        let _ = (limit, oids);
        Err(Error::Argument("not written yet".into()))
    }

    /// As [`RangeCursor::next`], with each object's key.
    pub fn next_entries(&mut self, limit: usize, entries: &mut Vec<(IndexKey, Oid)>) -> Result<()> {
        let _ = (limit, entries);
        Err(Error::Argument("not written yet".into()))
    }
}
