//! One version of the table, as readers hold it.

use crate::error::Result;
use crate::heap::Location;
use crate::object::{ClassId, Oid};

/// A version of the table that a reader holds: no lock, no allocation, no reference counting in a read.
#[derive(Debug)]
pub struct TableVersion {}

impl TableVersion {
    /// Where the newest version of `oid` lies.
    pub fn get(&self, oid: Oid) -> Result<Option<Location>> {
        todo!()
    }

    /// Appends the location of each of `oids`, in their order.
    pub fn gather(&self, oids: &[Oid], out: &mut Vec<Option<Location>>) -> Result<()> {
        todo!()
    }

    /// Appends up to `limit` objects of `class` from serial `*next_serial` on, in OID order, and moves it past the
    /// last one; appending none means the end.
    pub fn scan(
        &self,
        class: ClassId,
        next_serial: &mut u64,
        limit: usize,
        out: &mut Vec<(Oid, Location)>,
    ) -> Result<()> {
        todo!()
    }

    /// The largest serial set in `class`; 0 if none.
    pub fn last_serial(&self, class: ClassId) -> u64 {
        todo!()
    }

    /// The classes with at least one entry, ascending.
    pub fn classes(&self) -> Vec<ClassId> {
        todo!()
    }

    /// About how many entries `class` has.
    pub fn extent_estimate(&self, class: ClassId) -> u64 {
        todo!()
    }

    /// Checks the CRC of every page of the mapped checkpoint.
    pub fn verify(&self) -> Result<()> {
        todo!()
    }
}
