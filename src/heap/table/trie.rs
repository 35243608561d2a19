//! A radix tree of atomics that only grows, so that readers need no lock and no `unsafe`.
//!
//! A leaf is a [`Granule`] of 64 entries; above it, nodes are arrays of `OnceLock<Box<..>>`. A node once linked stays
//! until the whole tree is dropped, so a reference to it lives as long as the tree, and `OnceLock` gives the reader of
//! a link the acquire that makes the linked node's first contents visible. Depth is part of the type: a look-up is a
//! straight run of loads without a loop.

use std::array;
use std::mem::size_of;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a serial that choose the entry within a granule.
pub(super) const GRANULE_BITS: u32 = 6;
/// Entries in a granule.
pub(super) const GRANULE: usize = 1 << GRANULE_BITS;
/// What an allocation costs beyond its size: the allocator's header and rounding.
const ALLOCATION_OVERHEAD: usize = 16;

/// 64 neighbouring entries; 0 is "not set".
#[derive(Debug)]
pub(super) struct Granule([AtomicU64; GRANULE]);

impl Default for Granule {
    fn default() -> Self {
        Granule(array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Granule {
    /// The entry of `serial`, which lies in this granule.
    #[inline(always)]
    #[expect(
        clippy::indexing_slicing,
        reason = "the index is masked to the array's length"
    )]
    pub(super) fn entry(&self, serial: u64) -> &AtomicU64 {
        &self.0[serial as usize & (GRANULE - 1)]
    }

    /// Writes the entries that are set over `values`.
    pub(super) fn overlay(&self, values: &mut [u64; GRANULE]) {
        for (value, entry) in values.iter_mut().zip(&self.0) {
            let bits = entry.load(Ordering::Acquire);
            if bits != 0 {
                *value = bits;
            }
        }
    }
}

/// `N` links, a power of two, each set at most once.
#[derive(Debug)]
pub(super) struct Links<T, const N: usize>([OnceLock<Box<T>>; N]);

impl<T, const N: usize> Default for Links<T, N> {
    fn default() -> Self {
        const { assert!(N.is_power_of_two()) };
        Links(array::from_fn(|_| OnceLock::new()))
    }
}

impl<T: Default, const N: usize> Links<T, N> {
    #[inline(always)]
    #[expect(
        clippy::indexing_slicing,
        reason = "the index is masked to the array's length"
    )]
    fn link(&self, index: u64) -> &OnceLock<Box<T>> {
        &self.0[index as usize & (N - 1)]
    }

    /// What is linked at `index` (its low bits).
    #[inline(always)]
    pub(super) fn get(&self, index: u64) -> Option<&T> {
        self.link(index).get().map(|linked| &**linked)
    }

    /// What is linked at `index`, made if absent; adds what it then takes to `grown`.
    pub(super) fn get_or_grow(&self, index: u64, grown: &mut usize) -> &T {
        self.link(index).get_or_init(|| boxed(grown))
    }

    /// The first index from `from` on with a link, and what is linked there.
    pub(super) fn next(&self, from: u64) -> Option<(u64, &T)> {
        (from..N as u64).find_map(|index| self.get(index).map(|linked| (index, linked)))
    }
}

/// A new value on the heap; adds its size to `grown`.
pub(super) fn boxed<T: Default>(grown: &mut usize) -> Box<T> {
    *grown += size_of::<T>() + ALLOCATION_OVERHEAD;
    Box::default()
}

/// A subtree, addressed by granule number.
pub(super) trait Subtree: Default {
    /// Bits of the granule number that it resolves.
    const BITS: u32;

    /// The granule `number` (its low bits).
    fn granule(&self, number: u64) -> Option<&Granule>;

    /// The granule `number`, made if absent; adds what it then takes to `grown`.
    fn granule_or_grow(&self, number: u64, grown: &mut usize) -> &Granule;

    /// The number of the first granule from `from` on (both within this subtree).
    fn next_granule(&self, from: u64) -> Option<u64>;
}

impl Subtree for Granule {
    const BITS: u32 = 0;

    #[inline(always)]
    fn granule(&self, _: u64) -> Option<&Granule> {
        Some(self)
    }

    fn granule_or_grow(&self, _: u64, _: &mut usize) -> &Granule {
        self
    }

    fn next_granule(&self, from: u64) -> Option<u64> {
        Some(from)
    }
}

impl<T: Subtree, const N: usize> Subtree for Links<T, N> {
    const BITS: u32 = T::BITS + N.trailing_zeros();

    #[inline(always)]
    fn granule(&self, number: u64) -> Option<&Granule> {
        self.get(number >> T::BITS)?.granule(number)
    }

    fn granule_or_grow(&self, number: u64, grown: &mut usize) -> &Granule {
        self.get_or_grow(number >> T::BITS, grown)
            .granule_or_grow(number, grown)
    }

    fn next_granule(&self, from: u64) -> Option<u64> {
        let mask = (1u64 << T::BITS) - 1;
        let mut index = from >> T::BITS;
        let mut within = from & mask;
        loop {
            let (found, child) = self.next(index)?;
            if found > index {
                within = 0;
            }
            if let Some(below) = child.next_granule(within) {
                return Some((found << T::BITS) | below);
            }
            index = found + 1;
            within = 0;
        }
    }
}
