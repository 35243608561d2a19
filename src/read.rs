//! What a query may see of the store: [`Reader`], and nothing else.
//!
//! A reader is one immutable state: a committed state at one commit number, or that state under the writes of one
//! transaction, fixed when the reader was made. Everything borrowed from it lives as long as the reader.

mod members;

use std::ops::Bound;
use std::sync::Arc;

use crate::catalog::{Catalog, IndexId};
use crate::error::Result;
pub use crate::index::IndexSize;
use crate::object::{ClassId, CommitNumber, Oid, Record, Value};
pub use members::{completed, each_holder, members, value_of};

/// Where a scan of one class's extent stands; starts before the first object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExtentPosition {
    /// The serial number the scan goes on at.
    pub next_serial: u64,
}

/// The keys wanted of an index: equal to `prefix` in the first components, and within the bounds in the next one.
///
/// Values are compared in the total order, nil included: who wants no nil excludes it by a bound.
#[derive(Debug, Clone)]
pub struct IndexRange {
    /// Values the first components must equal.
    pub prefix: Vec<Value>,
    /// The lower bound of the component after the prefix (in value order, whatever its direction).
    pub lower: Bound<Value>,
    /// The upper bound of that component.
    pub upper: Bound<Value>,
}

/// Ascending or descending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// From the smallest key up.
    #[default]
    Ascending,
    /// From the largest key down.
    Descending,
}

/// The objects an index has for a range of keys, in key order; within one key ascending by OID (descending where the
/// direction is).
pub trait Postings: Send {
    /// Appends up to `limit` objects to `oids`; appending none means the end.
    fn next(&mut self, limit: usize, oids: &mut Vec<Oid>) -> Result<()>;
}

/// One immutable state of the database, as the query engine sees it.
pub trait Reader: Send + Sync {
    /// The classes, indexes and names of this state.
    fn catalog(&self) -> &Arc<Catalog>;
    /// The commit this state is of.
    fn commit(&self) -> CommitNumber;
    /// The object, or `None` if it does not exist in this state.
    fn object(&self, oid: Oid) -> Result<Option<Record<'_>>>;
    /// Reads many objects at once, so that the processor overlaps their cache misses: appends one entry an OID, in
    /// the order given.
    fn gather<'a>(&'a self, oids: &[Oid], records: &mut Vec<Option<Record<'a>>>) -> Result<()>;
    /// Appends up to `limit` objects of exactly this class (not its subclasses) in OID order and moves `position`
    /// on; appending none means the end.
    fn scan<'a>(
        &'a self,
        class: ClassId,
        position: &mut ExtentPosition,
        limit: usize,
        records: &mut Vec<Record<'a>>,
    ) -> Result<()>;
    /// The number of objects of exactly this class, at most a little out of date; for estimates.
    fn extent_estimate(&self, class: ClassId) -> u64;
    /// The objects an index has in `range`.
    fn lookup(
        &self,
        index: IndexId,
        range: &IndexRange,
        direction: Direction,
    ) -> Result<Box<dyn Postings + '_>>;
    /// The number of entries [`lookup`](Reader::lookup) would give, from counts kept beside them where there are any.
    /// It is as much a read of the range as the look-up.
    fn count(&self, index: IndexId, range: &IndexRange) -> Result<u64> {
        count_postings(self.lookup(index, range, Direction::Ascending)?.as_mut())
    }
    /// About how much an index holds, at most a little out of date; `None` where nothing is known. For estimates.
    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        let _ = index;
        None
    }
}

/// Reads postings to their end, and counts them.
pub fn count_postings(postings: &mut dyn Postings) -> Result<u64> {
    let mut entries = 0_u64;
    let mut oids = Vec::new();
    loop {
        oids.clear();
        postings.next(1024, &mut oids)?;
        if oids.is_empty() {
            return Ok(entries);
        }
        entries = entries.saturating_add(oids.len() as u64);
    }
}

/// Whether a class (not its subclasses) has any object; true as well where it cannot be read.
pub fn has_objects(reader: &dyn Reader, class: ClassId) -> bool {
    let mut first = Vec::new();
    let mut position = ExtentPosition::default();
    reader.scan(class, &mut position, 1, &mut first).is_err() || !first.is_empty()
}
