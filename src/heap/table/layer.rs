//! A layer: the changes of the table since a checkpoint was begun, in memory.
//!
//! A layer only gains entries and overwrites them; none is taken away, so a reader never needs to know when. One
//! writer at a time (the table's lock), any number of readers. A location is stored with release after the bytes of
//! its record were written, and loaded with acquire: who finds a location finds its record.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::object::{ClassId, Oid};

use super::trie::{GRANULE_BITS, Granule, Links, Subtree, boxed};

/// Granules below 64, so serials below 4,096: all that most classes have.
type Small = Links<Granule, 64>;
/// Serials below 2^24.
type Medium = Links<Links<Granule, 512>, 512>;
/// Serials below 2^33.
type Large = Links<Medium, 512>;
/// Serials below 2^44: every one.
type Huge = Links<Large, 2048>;

/// The changes of one class. Each serial belongs to the smallest tier that reaches it, so that a look-up in a class of
/// ten million objects takes two links, and a small class one.
#[derive(Debug, Default)]
pub(super) struct ClassLayer {
    small: Small,
    medium: OnceLock<Box<Medium>>,
    large: OnceLock<Box<Large>>,
    huge: OnceLock<Box<Huge>>,
    entries: AtomicU64,
    last_serial: AtomicU64,
}

impl ClassLayer {
    /// The granule `number`, if one of its entries was ever set.
    #[inline(always)]
    pub(super) fn granule(&self, number: u64) -> Option<&Granule> {
        if number >> Small::BITS == 0 {
            self.small.granule(number)
        } else if number >> Medium::BITS == 0 {
            self.medium.get()?.granule(number)
        } else if number >> Large::BITS == 0 {
            self.large.get()?.granule(number)
        } else {
            self.huge.get()?.granule(number)
        }
    }

    /// The bits of the location of the object `serial`; 0 if it was not set here.
    #[inline(always)]
    pub(super) fn bits(&self, serial: u64) -> u64 {
        let granule = self.granule(serial >> GRANULE_BITS);
        granule.map_or(0, |granule| granule.entry(serial).load(Ordering::Acquire))
    }

    fn granule_or_grow(&self, number: u64, grown: &mut usize) -> &Granule {
        if number >> Small::BITS == 0 {
            return self.small.granule_or_grow(number, grown);
        }
        if number >> Medium::BITS == 0 {
            let tier = self.medium.get_or_init(|| boxed(grown));
            return tier.granule_or_grow(number, grown);
        }
        if number >> Large::BITS == 0 {
            let tier = self.large.get_or_init(|| boxed(grown));
            return tier.granule_or_grow(number, grown);
        }
        let tier = self.huge.get_or_init(|| boxed(grown));
        tier.granule_or_grow(number, grown)
    }

    /// The number of the first granule from `from` on.
    pub(super) fn next_granule(&self, from: u64) -> Option<u64> {
        next_within(Some(&self.small), from)
            .or_else(|| next_within(self.medium.get().map(|tier| &**tier), from))
            .or_else(|| next_within(self.large.get().map(|tier| &**tier), from))
            .or_else(|| next_within(self.huge.get().map(|tier| &**tier), from))
    }

    /// How many entries are set.
    pub(super) fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// The largest serial set.
    pub(super) fn last_serial(&self) -> u64 {
        self.last_serial.load(Ordering::Relaxed)
    }

    /// Counts a new entry. Plain loads and stores: there is one writer.
    fn count(&self, serial: u64) {
        self.entries.store(self.entries() + 1, Ordering::Relaxed);
        if serial > self.last_serial() {
            self.last_serial.store(serial, Ordering::Relaxed);
        }
    }
}

/// The first granule from `from` on in a tier. A tier's low part is empty where a smaller tier serves it.
fn next_within<T: Subtree>(tier: Option<&T>, from: u64) -> Option<u64> {
    if from >> T::BITS != 0 {
        return None;
    }
    tier?.next_granule(from)
}

/// Changes of all classes.
#[derive(Debug)]
pub(super) struct Layer {
    /// By the high and the low ten bits of the class.
    classes: Links<Links<ClassLayer, 1024>, 1024>,
    bytes: AtomicUsize,
    /// The bytes of all layers of the table that are still alive, this one included.
    alive: Arc<AtomicUsize>,
}

impl Layer {
    /// An empty layer that counts its memory in `alive` too.
    pub(super) fn new(alive: Arc<AtomicUsize>) -> Layer {
        let layer = Layer {
            classes: Links::default(),
            bytes: AtomicUsize::new(0),
            alive,
        };
        layer.grow(size_of::<Layer>());
        layer
    }

    /// The changes of `class`.
    #[inline(always)]
    pub(super) fn class(&self, class: ClassId) -> Option<&ClassLayer> {
        self.classes
            .get(u64::from(class.0 >> 10))?
            .get(u64::from(class.0))
    }

    /// Whether nothing was ever set here, as it is just after a checkpoint.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) == size_of::<Layer>()
    }

    /// The bits of the location of `oid`; 0 if it was not set here.
    #[inline(always)]
    pub(super) fn get(&self, oid: Oid) -> u64 {
        self.class(oid.class())
            .map_or(0, |class| class.bits(oid.serial()))
    }

    /// Sets the bits (not 0) of the location of `oid`. The caller excludes other writers.
    pub(super) fn set(&self, oid: Oid, bits: u64) {
        let mut grown = 0;
        let (number, serial) = (oid.class().0, oid.serial());
        let class = self
            .classes
            .get_or_grow(u64::from(number >> 10), &mut grown)
            .get_or_grow(u64::from(number), &mut grown);
        let entry = class
            .granule_or_grow(serial >> GRANULE_BITS, &mut grown)
            .entry(serial);
        if entry.load(Ordering::Relaxed) == 0 {
            class.count(serial);
        }
        // Release: the record's bytes were written before, and must be seen by who loads this.
        entry.store(bits, Ordering::Release);
        if grown > 0 {
            self.grow(grown);
        }
    }

    /// The classes with changes, ascending.
    pub(super) fn classes(&self) -> impl Iterator<Item = (ClassId, &ClassLayer)> {
        (0..1024u32)
            .filter_map(|high| Some((high, self.classes.get(u64::from(high))?)))
            .flat_map(|(high, links)| {
                (0..1024u32).filter_map(move |low| {
                    let number = (high << 10) | low;
                    Some((ClassId(number), links.get(u64::from(low))?))
                })
            })
    }

    /// Bytes of memory it holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn grow(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.alive.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        self.alive.fetch_sub(self.bytes(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::MAX_SERIAL;

    fn layer() -> Layer {
        Layer::new(Arc::default())
    }

    fn oid(class: u32, serial: u64) -> Oid {
        Oid::new(ClassId(class), serial).unwrap()
    }

    #[test]
    fn serials_at_the_borders_of_the_tiers_are_kept_apart() {
        let layer = layer();
        let serials: Vec<u64> = [6, 12, 21, 24, 33, 42]
            .iter()
            .flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1])
            .chain([1, MAX_SERIAL])
            .collect();
        for &serial in &serials {
            layer.set(oid(7, serial), serial + 5);
        }
        for &serial in &serials {
            assert_eq!(layer.get(oid(7, serial)), serial + 5, "serial {serial}");
            assert_eq!(layer.get(oid(8, serial)), 0);
        }
        let class = layer.class(ClassId(7)).unwrap();
        assert_eq!(class.entries(), serials.len() as u64);
        assert_eq!(class.last_serial(), MAX_SERIAL);
    }

    #[test]
    fn granules_are_walked_in_order_over_all_tiers() {
        let layer = layer();
        let mut expected: Vec<u64> = [
            1u64,
            70,
            4095,
            4096,
            1 << 20,
            1 << 24,
            1 << 30,
            1 << 34,
            MAX_SERIAL,
        ]
        .to_vec();
        for &serial in &expected {
            layer.set(oid(1, serial), 1);
        }
        expected.iter_mut().for_each(|serial| *serial >>= GRANULE_BITS);
        let class = layer.class(ClassId(1)).unwrap();
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(number) = class.next_granule(from) {
            found.push(number);
            from = number + 1;
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn memory_is_counted_and_given_back() {
        let alive: Arc<AtomicUsize> = Arc::default();
        let layer = Layer::new(alive.clone());
        let empty = layer.bytes();
        layer.set(oid(3, 10), 1);
        layer.set(oid(3, 11), 1);
        let one = layer.bytes();
        assert!(one > empty + 512);
        layer.set(oid(3, 64), 1);
        assert_eq!(layer.bytes() - one, 512 + 16);
        assert_eq!(alive.load(Ordering::Relaxed), layer.bytes());
        drop(layer);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn classes_are_listed_in_order() {
        let layer = layer();
        for class in [1023u32, 5, 1024, (1 << 20) - 1] {
            layer.set(oid(class, 1), 1);
        }
        let found: Vec<u32> = layer.classes().map(|(class, _)| class.0).collect();
        assert_eq!(found, [5, 1023, 1024, (1 << 20) - 1]);
    }
}
