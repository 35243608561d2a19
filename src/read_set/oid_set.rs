//! A set of objects that takes about a bit an object where they lie close together, and two bytes where they do not.
//!
//! Objects are appended to a short list first, which is sorted into chunks of 65,536 identifiers when it is full: so an
//! addition costs an append, and a set of few objects is that list alone.

use rustc_hash::FxHashMap;

use crate::object::Oid;

/// Additions kept in order of arrival.
const RECENT: usize = 1024;
/// A chunk of more is a bitmap.
const MOST_LISTED: usize = 4096;
const WORDS: usize = 1024;

/// A set of object identifiers.
#[derive(Debug, Clone, Default)]
pub struct OidSet {
    recent: Vec<u64>,
    chunks: FxHashMap<u64, Chunk>,
}

#[derive(Debug, Clone)]
enum Chunk {
    /// Ascending.
    List(Vec<u16>),
    Bitmap(Box<[u64]>),
}

impl OidSet {
    /// Adds an object.
    #[inline]
    pub fn insert(&mut self, oid: Oid) {
        let bits = oid.to_bits();
        if self.recent.last() == Some(&bits) {
            return;
        }
        if self.recent.len() >= RECENT {
            self.settle();
        }
        self.recent.push(bits);
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.recent.is_empty() && self.chunks.is_empty()
    }

    /// Puts what was added in order; [`OidSet::contains`] and [`OidSet::iter`] need that.
    pub fn finish(&mut self) {
        if self.chunks.is_empty() {
            self.recent.sort_unstable();
            self.recent.dedup();
        } else {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.recent.sort_unstable();
        self.recent.dedup();
        for part in self.recent.chunk_by(|a, b| a >> 16 == b >> 16) {
            let Some(first) = part.first() else { continue };
            let chunk = self.chunks.entry(first >> 16);
            chunk.or_insert_with(|| Chunk::List(Vec::new())).add(part);
        }
        self.recent.clear();
    }

    /// Whether the object is in the set, which was finished.
    pub fn contains(&self, oid: Oid) -> bool {
        let bits = oid.to_bits();
        if self.recent.binary_search(&bits).is_ok() {
            return true;
        }
        self.chunks
            .get(&(bits >> 16))
            .is_some_and(|chunk| chunk.contains(low(bits)))
    }

    /// The number of objects in the set, which was finished.
    pub fn len(&self) -> usize {
        let chunks: usize = self.chunks.values().map(Chunk::len).sum();
        chunks.saturating_add(self.recent.len())
    }

    /// All objects of the set, which was finished; in no order.
    pub fn iter(&self) -> impl Iterator<Item = Oid> + '_ {
        let in_chunks = self.chunks.iter().flat_map(|(high, chunk)| {
            let high = *high << 16;
            chunk.iter().map(move |low| high | u64::from(low))
        });
        let all = self.recent.iter().copied().chain(in_chunks);
        all.filter_map(Oid::from_bits)
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        let chunks: usize = self
            .chunks
            .values()
            .map(|chunk| chunk.bytes().saturating_add(48))
            .sum();
        chunks.saturating_add(self.recent.capacity().saturating_mul(8))
    }
}

/// The lowest 16 bits.
fn low(bits: u64) -> u16 {
    (bits & 0xffff) as u16
}

impl Chunk {
    /// Adds ascending identifiers of this chunk.
    fn add(&mut self, bits: &[u64]) {
        if let Chunk::List(list) = self {
            let before = list.len();
            list.extend(bits.iter().map(|bits| low(*bits)));
            let is_sorted = before == 0 || list.get(before.saturating_sub(1)) < list.get(before);
            if !is_sorted {
                list.sort_unstable();
                list.dedup();
            }
            if list.len() > MOST_LISTED {
                let mut words = vec![0; WORDS].into_boxed_slice();
                list.iter().for_each(|low| set(&mut words, *low));
                *self = Chunk::Bitmap(words);
            }
            return;
        }
        if let Chunk::Bitmap(words) = self {
            bits.iter().for_each(|bits| set(words, low(*bits)));
        }
    }

    fn contains(&self, low: u16) -> bool {
        match self {
            Chunk::List(list) => list.binary_search(&low).is_ok(),
            Chunk::Bitmap(words) => words
                .get(usize::from(low >> 6))
                .is_some_and(|word| (word >> (low & 63)) & 1 == 1),
        }
    }

    fn len(&self) -> usize {
        match self {
            Chunk::List(list) => list.len(),
            Chunk::Bitmap(words) => words.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Chunk::List(list) => list.capacity().saturating_mul(2),
            Chunk::Bitmap(words) => words.len().saturating_mul(8),
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = u16> + '_> {
        match self {
            Chunk::List(list) => Box::new(list.iter().copied()),
            Chunk::Bitmap(_) => Box::new((0..=u16::MAX).filter(|low| self.contains(*low))),
        }
    }
}

fn set(words: &mut [u64], low: u16) {
    if let Some(word) = words.get_mut(usize::from(low >> 6)) {
        *word |= 1 << (low & 63);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_holds_what_was_added_dense_and_sparse_alike() {
        let mut set = OidSet::default();
        let mut expected = BTreeSet::new();
        let mut number = 1u64;
        for round in 0..40_000u64 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bits = if round % 2 == 0 {
                (7 << 44) + 1 + round
            } else {
                (9 << 44) + (number >> 40)
            };
            set.insert(Oid::from_bits(bits).unwrap());
            expected.insert(bits);
        }
        set.finish();
        assert_eq!(set.len(), expected.len());
        let found: BTreeSet<u64> = set.iter().map(Oid::to_bits).collect();
        assert_eq!(found, expected);
        for bits in &expected {
            assert!(set.contains(Oid::from_bits(*bits).unwrap()));
            let next = Oid::from_bits(bits + 1).unwrap();
            assert_eq!(set.contains(next), expected.contains(&(bits + 1)));
        }
    }

    #[test]
    fn a_million_objects_take_little() {
        let mut set = OidSet::default();
        for serial in 1..=1_000_000u64 {
            set.insert(Oid::from_bits((70 << 44) + serial).unwrap());
        }
        set.finish();
        assert_eq!(set.len(), 1_000_000);
        assert!(set.bytes() < 160_000, "{} bytes", set.bytes());
    }
}
