//! Sets of objects as bitmaps.

use rustc_hash::FxHashMap;

use crate::object::Oid;

/// Words of a page.
const WORDS: usize = 64;
/// Bits of an identifier that say where it lies within a page.
const PAGE_BITS: u32 = 12;

/// A set of objects: a bitmap by class and serial in pages of 4,096 serials, of which absent ones cost nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visited {
    pages: FxHashMap<u64, Box<[u64; WORDS]>>,
    count: usize,
}

impl Visited {
    /// Adds an object; whether it is new.
    #[inline]
    pub fn insert(&mut self, oid: Oid) -> bool {
        let bits = oid.to_bits();
        let page = self
            .pages
            .entry(bits >> PAGE_BITS)
            .or_insert_with(|| Box::new([0; WORDS]));
        let within = bits & ((1 << PAGE_BITS) - 1);
        let bit = 1_u64 << (within % 64);
        match page.get_mut((within / 64) as usize) {
            Some(word) if *word & bit == 0 => {
                *word |= bit;
                self.count = self.count.saturating_add(1);
                true
            }
            _ => false,
        }
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of memory the set holds.
    pub fn size(&self) -> usize {
        self.pages.len().saturating_mul(WORDS * 8 + 24)
    }

    /// The objects, ascending.
    pub fn sorted(&self) -> Vec<Oid> {
        let mut pages: Vec<(&u64, &Box<[u64; WORDS]>)> = self.pages.iter().collect();
        pages.sort_unstable_by_key(|(number, _)| **number);
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
