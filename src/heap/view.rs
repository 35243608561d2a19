//! Reading one state of the heap, without locks.

use crate::error::Result;
use crate::object::{ClassId, CommitNumber, Oid, Record};

/// The heap as of one moment. Owns what it reads from; every read is lock-free.
#[derive(Debug, Clone, Default)]
pub struct HeapView;

impl HeapView {
    /// The version of `oid` that was newest at commit `at`; `None` if there was none or it was deleted.
    pub fn get(&self, oid: Oid, at: CommitNumber) -> Result<Option<Record<'_>>> {
        let _ = (oid, at);
        Ok(None)
    }
    /// Appends one entry an OID, in the order given; cache misses of different objects overlap.
    pub fn gather<'a>(
        &'a self,
        oids: &[Oid],
        at: CommitNumber,
        out: &mut Vec<Option<Record<'a>>>,
    ) -> Result<()> {
        let _ = (oids, at, out);
        Ok(())
    }
    /// Appends up to `limit` objects of `class` in OID order from serial `next_serial` and moves it on; appending
    /// none means the end.
    pub fn scan<'a>(
        &'a self,
        class: ClassId,
        next_serial: &mut u64,
        at: CommitNumber,
        limit: usize,
        out: &mut Vec<Record<'a>>,
    ) -> Result<()> {
        let _ = (class, next_serial, at, limit, out);
        Ok(())
    }
    /// About how many objects `class` has.
    pub fn extent_estimate(&self, class: ClassId) -> u64 {
        let _ = class;
        0
    }
}
