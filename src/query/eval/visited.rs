//! Sets of objects as bitmaps.

use rustc_hash::FxHashMap;

use crate::object::Oid;

/// Words of a page.
const WORDS: usize = 64;
/// Bits of an identifier that say where it lies within a page.
const PAGE_BITS: u32 = 12;
/// Bits of an identifier that say which of the first pages of its class it lies in.
const DENSE_BITS: u32 = 16;
/// Bits of an identifier below its class.
const SERIAL_BITS: u32 = 44;

type Page = Box<[u64; WORDS]>;

/// A set of objects: a bitmap by class and serial in pages of 4,096 serials, of which absent ones cost next to nothing.
///
/// The first pages of a class are found by their number, others in a hash map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visited {
    /// By class, ascending; the last page of each is there.
    dense: Vec<(u64, Vec<Option<Page>>)>,
    sparse: FxHashMap<u64, Page>,
    count: usize,
    pages: usize,
}

/// The class, the number of the page within it, the word in the page and the bit in the word.
#[inline]
fn place(oid: Oid) -> (u64, u64, usize, u64) {
    let bits = oid.to_bits();
    let serial = bits & ((1 << SERIAL_BITS) - 1);
    let within = serial & ((1 << PAGE_BITS) - 1);
    (
        bits >> SERIAL_BITS,
        serial >> PAGE_BITS,
        (within / 64) as usize,
        1_u64 << (within % 64),
    )
}

impl Visited {
    /// Adds an object; whether it is new.
    #[inline]
    pub fn insert(&mut self, oid: Oid) -> bool {
        let (class, number, word, bit) = place(oid);
        let page = if number < 1 << DENSE_BITS {
            let place = match self.dense.iter().position(|(here, _)| *here == class) {
                Some(place) => place,
                None => self.begin(class),
            };
            let Some((_, pages)) = self.dense.get_mut(place) else {
                return false;
            };
            if pages.len() <= number as usize {
                pages.resize(number as usize + 1, None);
            }
            let Some(page) = pages.get_mut(number as usize) else {
                return false;
            };
            page.get_or_insert_with(|| {
                self.pages = self.pages.saturating_add(1);
                Box::new([0; WORDS])
            })
        } else {
            self.sparse.entry(oid.to_bits() >> PAGE_BITS).or_insert_with(|| {
                self.pages = self.pages.saturating_add(1);
                Box::new([0; WORDS])
            })
        };
        match page.get_mut(word) {
            Some(word) if *word & bit == 0 => {
                *word |= bit;
                self.count = self.count.saturating_add(1);
                true
            }
            _ => false,
        }
    }

    /// Makes room for a class; its place.
    fn begin(&mut self, class: u64) -> usize {
        let place = self.dense.partition_point(|(here, _)| *here < class);
        self.dense.insert(place, (class, Vec::new()));
        place
    }

    /// Whether it has an object.
    #[inline]
    pub fn contains(&self, oid: Oid) -> bool {
        let (class, number, word, bit) = place(oid);
        let page = if number < 1 << DENSE_BITS {
            let pages = self.dense.iter().find(|(here, _)| *here == class);
            pages
                .and_then(|(_, pages)| pages.get(number as usize))
                .and_then(Option::as_ref)
        } else {
            self.sparse.get(&(oid.to_bits() >> PAGE_BITS))
        };
        let word = page.and_then(|page| page.get(word));
        word.is_some_and(|word| word & bit != 0)
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of memory the set holds.
    pub fn size(&self) -> usize {
        let entries: usize = self.dense.iter().map(|(_, pages)| pages.len()).sum();
        self.pages
            .saturating_mul(WORDS * 8 + 24)
            .saturating_add(entries.saturating_mul(8))
    }

    /// The objects, ascending.
    pub fn sorted(&self) -> Vec<Oid> {
        let mut pages: Vec<(u64, &Page)> = Vec::with_capacity(self.pages);
        for (class, of_class) in &self.dense {
            let first = class << (SERIAL_BITS - PAGE_BITS);
            let there = (first..).zip(of_class);
            pages.extend(there.filter_map(|(number, page)| Some((number, page.as_ref()?))));
        }
        if !self.sparse.is_empty() {
            pages.extend(self.sparse.iter().map(|(number, page)| (*number, page)));
            pages.sort_unstable_by_key(|(number, _)| *number);
        }
        let mut oids = Vec::with_capacity(self.count);
        for (number, page) in pages {
            let mut base = number << PAGE_BITS;
            for word in page.iter() {
                let mut left = *word;
                while left != 0 {
                    oids.extend(Oid::from_bits(base | u64::from(left.trailing_zeros())));
                    left &= left.wrapping_sub(1);
                }
                base = base.wrapping_add(64);
            }
        }
        oids
    }
}

impl FromIterator<Oid> for Visited {
    fn from_iter<I: IntoIterator<Item = Oid>>(oids: I) -> Visited {
        let mut visited = Visited::default();
        for oid in oids {
            visited.insert(oid);
        }
        visited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ClassId;

    #[test]
    fn objects_come_once_and_in_order() {
        let oid = |class, serial| Oid::new(ClassId(class), serial).unwrap();
        let mut visited = Visited::default();
        let all = [
            oid(65, 3),
            oid(64, 4_096),
            oid(64, 4_095),
            oid(64, 1),
            oid(70, 1 << 40),
            oid(64, 63),
        ];
        for each in all {
            assert!(visited.insert(each));
            assert!(!visited.insert(each));
        }
        let mut expected = all.to_vec();
        expected.sort();
        assert_eq!(visited.sorted(), expected);
        assert_eq!(visited, expected.into_iter().rev().collect());
    }
}
