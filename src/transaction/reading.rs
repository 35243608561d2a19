//! A transaction's state that notes what is read of it.
//!
//! It stands between a serializable transaction and its overlay: reads go through unchanged, and what they may depend
//! on goes to the read set. Objects the transaction created itself are nobody else's, and are not noted.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::overlay::Overlay;
use crate::catalog::{Catalog, IndexId};
use crate::error::Result;
use crate::object::{ClassId, CommitNumber, Oid, Record, SlotSet};
use crate::read::{Direction, ExtentPosition, IndexRange, IndexSize, Postings, Reader};
use crate::read_set::{Depth, ReadSet};
use crate::view::{EncodedRange, encode_range, ready_index};
use crate::write_set::Write;

/// A read set that is being filled, also by rows that are read while the transaction goes on.
pub type SharedReadSet = Arc<Mutex<ReadSet>>;

/// A state of a transaction, fixed, whose reads are noted.
pub struct Reading {
    overlay: Arc<Overlay>,
    reads: SharedReadSet,
    /// What is read of objects of these classes; others are read wholly.
    parts: FxHashMap<ClassId, SlotSet>,
}

impl Reading {
    /// Notes what is read of `overlay` in `reads`. Of objects of the classes in `parts`, nothing but these slots matters.
    pub fn new(overlay: Arc<Overlay>, reads: SharedReadSet, parts: FxHashMap<ClassId, SlotSet>) -> Reading {
        Reading {
            overlay,
            reads,
            parts,
        }
    }

    #[inline]
    fn depth(&self, class: ClassId) -> Depth {
        if self.parts.is_empty() {
            return Depth::Whole;
        }
        let slots = self.parts.get(&class);
        slots.map_or(Depth::Whole, |slots| Depth::Slots(*slots))
    }
}

/// Notes that an object was read of an overlay.
#[inline]
pub fn note_object(overlay: &Overlay, reads: &Mutex<ReadSet>, oid: Oid, depth: Depth) {
    if !is_own(overlay, oid) {
        reads.lock().object(oid, depth);
    }
}

fn is_own(overlay: &Overlay, oid: Oid) -> bool {
    matches!(overlay.writes().get(oid), Some(Write::Create(_)))
}

impl Reader for Reading {
    fn catalog(&self) -> &Arc<Catalog> {
        self.overlay.catalog()
    }

    fn commit(&self) -> CommitNumber {
        self.overlay.commit()
    }

    fn object(&self, oid: Oid) -> Result<Option<Record<'_>>> {
        note_object(&self.overlay, &self.reads, oid, self.depth(oid.class()));
        self.overlay.object(oid)
    }

    fn gather<'a>(&'a self, oids: &[Oid], records: &mut Vec<Option<Record<'a>>>) -> Result<()> {
        let mut reads = self.reads.lock();
        let writes = !self.overlay.writes().is_empty();
        for oid in oids
            .iter()
            .filter(|oid| !(writes && is_own(&self.overlay, **oid)))
        {
            reads.object(*oid, self.depth(oid.class()));
        }
        drop(reads);
        self.overlay.gather(oids, records)
    }

    fn scan<'a>(
        &'a self,
        class: ClassId,
        position: &mut ExtentPosition,
        limit: usize,
        records: &mut Vec<Record<'a>>,
    ) -> Result<()> {
        let (start, before) = (position.next_serial, records.len());
        let outcome = self.overlay.scan(class, position, limit, records);
        let at_end = records.len() == before;
        // Serials begin with 1: what was read from 0 on is everything up to where the scan stands.
        let end = if at_end { u64::MAX } else { position.next_serial };
        self.reads.lock().extent(class, start, end, self.depth(class));
        outcome
    }

    fn extent_estimate(&self, class: ClassId) -> u64 {
        self.overlay.extent_estimate(class)
    }

    fn lookup(
        &self,
        index: IndexId,
        range: &IndexRange,
        direction: Direction,
    ) -> Result<Box<dyn Postings + '_>> {
        self.note_range(index, range)?;
        self.overlay.lookup(index, range, direction)
    }

    fn count(&self, index: IndexId, range: &IndexRange) -> Result<u64> {
        self.note_range(index, range)?;
        self.overlay.count(index, range)
    }

    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        self.overlay.index_size(index)
    }
}

impl Reading {
    fn note_range(&self, index: IndexId, range: &IndexRange) -> Result<()> {
        let index = ready_index(self.overlay.catalog(), index)?;
        let encoded = encode_range(index, range, self.overlay.view().secret())?;
        let mut reads = self.reads.lock();
        match encoded {
            EncodedRange::Key(key) => reads.index_key(index.id, &key),
            EncodedRange::Between(start, end) => reads.index(index.id, &start, end.as_deref()),
        }
        Ok(())
    }
}
