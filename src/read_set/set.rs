//! The read set of one transaction.
//!
//! Reads come in two depths. What was read *wholly* may depend on every attribute of an object; what was read *plainly*
//! does not depend on attributes that have a merge rule, so that an increment of a counter elsewhere does not matter.

use rustc_hash::FxHashMap;

use super::key_ranges::KeyRanges;
use super::oid_set::OidSet;
use super::serial_ranges::SerialRanges;
use crate::index::{IndexId, IndexKey};
use crate::object::{ClassId, Oid};

/// What of an object a read may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All attributes.
    Whole,
    /// All attributes without a merge rule.
    #[expect(dead_code, reason = "merge rules come next")]
    Plain,
}

/// What was read of one class's extent.
#[derive(Debug, Clone, Default)]
pub struct ExtentReads {
    /// Parts whose objects were read wholly.
    pub whole: SerialRanges,
    /// Parts whose objects were read plainly.
    pub plain: SerialRanges,
}

/// What a transaction read.
#[derive(Debug, Clone, Default)]
pub struct ReadSet {
    /// Objects that were read wholly, there or not.
    pub whole: OidSet,
    /// Objects that were read plainly, there or not.
    pub plain: OidSet,
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
            Depth::Plain => self.plain.insert(oid),
        }
    }

    /// Records that the objects of a class with serials from `start` up to, not including, `end` were read.
    pub fn extent(&mut self, class: ClassId, start: u64, end: u64, depth: Depth) {
        let reads = self.extents.entry(class).or_default();
        match depth {
            Depth::Whole => reads.whole.insert(start, end),
            Depth::Plain => reads.plain.insert(start, end),
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
        self.plain.finish();
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.plain.is_empty() && self.extents.is_empty() && self.keys.is_empty()
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        let ranges = |reads: &ExtentReads| reads.whole.len().saturating_add(reads.plain.len());
        let extents: usize = self
            .extents
            .values()
            .map(|reads| 64 + ranges(reads).saturating_mul(16))
            .sum();
        let keys: usize = self.keys.values().map(KeyRanges::bytes).sum();
        self.whole
            .bytes()
            .saturating_add(self.plain.bytes())
            .saturating_add(extents)
            .saturating_add(keys)
    }
}
