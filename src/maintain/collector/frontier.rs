//! Objects that were reached, and whose references are still to be followed.

use roaring::RoaringTreemap;

use crate::object::Oid;

/// Objects held as a list; more are a bitmap.
const LISTED: usize = 1 << 16;

/// A set of objects to visit, each put in once.
#[derive(Debug, Default)]
pub(super) struct Frontier {
    listed: Vec<Oid>,
    rest: RoaringTreemap,
}

impl Frontier {
    /// Adds an object.
    pub(super) fn add(&mut self, object: Oid) {
        match self.listed.len() < LISTED {
            true => self.listed.push(object),
            false => {
                self.rest.insert(object.to_bits());
            }
        }
    }

    /// Takes up to `limit` of them out, in ascending order; none where none is left.
    pub(super) fn take(&mut self, limit: usize) -> Vec<Oid> {
        if self.listed.is_empty() && !self.rest.is_empty() {
            let bits: Vec<u64> = self.rest.iter().take(LISTED).collect();
            if let Some(last) = bits.last() {
                self.rest.remove_range(..=*last);
            }
            self.listed
                .extend(bits.into_iter().rev().filter_map(Oid::from_bits));
        }
        let from = self.listed.len().saturating_sub(limit);
        let mut taken = self.listed.split_off(from);
        taken.sort_unstable();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ClassId;

    #[test]
    fn everything_put_in_comes_out_once() {
        let mut frontier = Frontier::default();
        let count = 3 * LISTED as u64;
        for serial in 1..=count {
            frontier.add(Oid::new(ClassId(70), serial).unwrap());
        }
        let mut seen = Vec::new();
        loop {
            let taken = frontier.take(1000);
            if taken.is_empty() {
                break;
            }
            seen.extend(taken.iter().map(|oid| oid.serial()));
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(1..=count));
    }
}
