//! The read set of one transaction.
//!
//! Reads come in two depths. What was read *wholly* may depend on every attribute of an object; what was read *partly*
//! depends on the slots that are noted with it (none: on whether the object is there), so that a change of other
//! attributes does not matter.

use rustc_hash::FxHashMap;

use super::key_ranges::KeyRanges;
use super::oid_set::OidSet;
use super::serial_ranges::SerialRanges;
use crate::index::{IndexId, IndexKey};
use crate::object::{ClassId, Oid, SlotSet};

/// What of an object a read may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All attributes.
    Whole,
    /// Those in the slots.
    Slots(SlotSet),
}

/// Sets of slots that are told apart; where there are more, objects count as read wholly.
const MOST_PARTS: usize = 16;

/// What was read of one class's extent.
#[derive(Debug, Clone, Default)]
pub struct ExtentReads {
    /// Parts whose objects were read wholly.
    pub whole: SerialRanges,
    /// Parts whose objects were read partly, and the slots.
    pub parts: Vec<(SlotSet, SerialRanges)>,
}

/// What a transaction read.
#[derive(Debug, Clone, Default)]
pub struct ReadSet {
    /// Objects that were read wholly, there or not.
    pub whole: OidSet,
    /// Objects that were read partly, there or not, and the slots.
    pub parts: Vec<(SlotSet, OidSet)>,
    /// Parts of extents.
    pub extents: FxHashMap<ClassId, ExtentReads>,
    /// Ranges of index keys.
    pub keys: FxHashMap<IndexId, KeyRanges>,
}

impl ReadSet {
    /// Records that an object was read, or found not to exist.
    #[inline]
    pub fn object(&mut self, oid: Oid, depth: Depth) {
        match depth {
            Depth::Whole => self.whole.insert(oid),
            Depth::Slots(slots) => part(&mut self.parts, slots, &mut self.whole).insert(oid),
        }
    }

    /// Records that the objects of a class with serials from `start` up to, not including, `end` were read.
    pub fn extent(&mut self, class: ClassId, start: u64, end: u64, depth: Depth) {
        let reads = self.extents.entry(class).or_default();
        match depth {
            Depth::Whole => reads.whole.insert(start, end),
            Depth::Slots(slots) => part(&mut reads.parts, slots, &mut reads.whole).insert(start, end),
        }
    }

    /// Records that the entries of an index with keys from `start` up to, not including, `end` were read.
    pub fn index(&mut self, index: IndexId, start: &[u8], end: Option<&[u8]>) {
        self.keys.entry(index).or_default().insert(start, end);
    }

    /// Records that one key of an index was looked up.
    pub fn index_key(&mut self, index: IndexId, key: &[u8]) {
        let mut after = IndexKey::from_slice(key);
        after.push(0);
        self.index(index, key, Some(&after));
    }

    /// Puts what was recorded in order, before it is validated.
    pub fn finish(&mut self) {
        self.whole.finish();
        self.parts.iter_mut().for_each(|(_, part)| part.finish());
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.parts.is_empty() && self.extents.is_empty() && self.keys.is_empty()
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        let ranges = |reads: &ExtentReads| {
            let parts: usize = reads.parts.iter().map(|(_, part)| part.len()).sum();
            reads.whole.len().saturating_add(parts)
        };
        let parts: usize = self.parts.iter().map(|(_, part)| part.bytes()).sum();
        let extents: usize = self
            .extents
            .values()
            .map(|reads| 64 + ranges(reads).saturating_mul(16))
            .sum();
        let keys: usize = self.keys.values().map(KeyRanges::bytes).sum();
        self.whole
            .bytes()
            .saturating_add(parts)
            .saturating_add(extents)
            .saturating_add(keys)
    }
}

/// What was read of these slots, or where there are too many sets of slots, what was read wholly.
fn part<'a, T: Default>(parts: &'a mut Vec<(SlotSet, T)>, slots: SlotSet, whole: &'a mut T) -> &'a mut T {
    let at = parts.iter().position(|(other, _)| *other == slots);
    let at = match at {
        None if parts.len() < MOST_PARTS => {
            parts.push((slots, T::default()));
            parts.len().saturating_sub(1)
        }
        at => at.unwrap_or(MOST_PARTS),
    };
    parts.get_mut(at).map_or(whole, |(_, part)| part)
}
