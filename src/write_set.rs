//! What a transaction wants: the objects it creates, updates and deletes.
//!
//! Schema changes are ordinary writes to catalog objects, so they need no place of their own here.
//!
//! Bodies lie one behind the other in a few chunks, so that a thousand small writes cost a handful of allocations. A
//! body that is written again leaves its bytes behind; when more is left behind than is in use, the rest is moved
//! together.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::object::{ClassId, Oid, SlotSet};

/// What becomes of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write<'a> {
    /// The object is new, with this encoded body.
    Create(&'a [u8]),
    /// The object exists in the snapshot and gets this encoded body.
    Update(&'a [u8]),
    /// The object exists in the snapshot and goes.
    Delete,
}

impl<'a> Write<'a> {
    /// The body the object has after this write; `None` if it is gone.
    pub fn body(self) -> Option<&'a [u8]> {
        match self {
            Write::Create(body) | Write::Update(body) => Some(body),
            Write::Delete => None,
        }
    }
}

/// A write taken out of a set, to be put back later.
#[derive(Debug, Clone)]
pub struct Kept {
    kind: Kind,
    assigned: SlotSet,
    body: Box<[u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Create,
    Update,
    Delete,
}

/// One write, and where its body lies.
#[derive(Debug, Clone, Copy)]
struct Slot {
    kind: Kind,
    /// The slots that an update gave values, whether or not these differ.
    assigned: SlotSet,
    place: Place,
}

/// The writes of one transaction, one an object, in OID order (which keeps extents clustered in the log).
#[derive(Debug, Clone, Default)]
pub struct WriteSet {
    writes: BTreeMap<Oid, Slot>,
    bodies: Bodies,
    /// Bytes of bodies in use.
    live: usize,
    /// Bytes of bodies that were replaced.
    left: usize,
}

impl WriteSet {
    /// The write of `oid`, if there is one.
    pub fn get(&self, oid: Oid) -> Option<Write<'_>> {
        self.writes.get(&oid).map(|slot| self.write_of(*slot))
    }

    fn write_of(&self, slot: Slot) -> Write<'_> {
        match slot.kind {
            Kind::Create => Write::Create(self.bodies.get(slot.place)),
            Kind::Update => Write::Update(self.bodies.get(slot.place)),
            Kind::Delete => Write::Delete,
        }
    }

    /// The slots that the updates of `oid` gave values; none where it is not written.
    pub fn assigned(&self, oid: Oid) -> SlotSet {
        self.writes.get(&oid).map_or(SlotSet::NONE, |slot| slot.assigned)
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The number of objects written.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Bytes of all bodies.
    pub fn body_bytes(&self) -> usize {
        self.live
    }

    /// All writes in OID order.
    pub fn iter(&self) -> impl Iterator<Item = (Oid, Write<'_>)> {
        self.writes.iter().map(|(oid, slot)| (*oid, self.write_of(*slot)))
    }

    /// The writes of objects from `start` up to, not including, `end`, in OID order.
    pub fn range(&self, start: Oid, end: Option<Oid>) -> impl DoubleEndedIterator<Item = (Oid, Write<'_>)> {
        let end = end.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        self.writes
            .range((std::ops::Bound::Included(start), end))
            .map(|(oid, slot)| (*oid, self.write_of(*slot)))
    }

    /// The writes of objects of one class, in OID order.
    pub fn of_class(&self, class: ClassId) -> impl DoubleEndedIterator<Item = (Oid, Write<'_>)> {
        let start = Oid::new(class, 1);
        let end = Oid::new(ClassId(class.0.saturating_add(1)), 0);
        start.into_iter().flat_map(move |start| self.range(start, end))
    }

    /// Whether an object of the catalog is written.
    pub fn changes_catalog(&self) -> bool {
        // Classes of the catalog have the smallest numbers.
        self.writes
            .first_key_value()
            .is_some_and(|(oid, _)| oid.class().is_system())
    }

    /// Records that `oid` is new.
    pub fn create(&mut self, oid: Oid, body: &[u8]) {
        self.set(oid, Kind::Create, body, SlotSet::ALL);
    }

    /// Records that `oid` has a new body, in which the slots `assigned` were given values; an object created here stays
    /// a creation.
    pub fn update(&mut self, oid: Oid, body: &[u8], assigned: SlotSet) {
        self.set(oid, Kind::Update, body, assigned);
    }

    /// Records that `oid` goes; an object created here leaves no trace.
    pub fn delete(&mut self, oid: Oid) {
        match self.writes.get(&oid) {
            Some(slot) if slot.kind == Kind::Create => self.restore(oid, None),
            _ => self.set(oid, Kind::Delete, &[], SlotSet::ALL),
        }
    }

    /// What is recorded of `oid`, for [`WriteSet::restore`].
    pub fn keep(&self, oid: Oid) -> Option<Kept> {
        let slot = self.writes.get(&oid)?;
        Some(Kept {
            kind: slot.kind,
            assigned: slot.assigned,
            body: self.bodies.get(slot.place).into(),
        })
    }

    /// Puts back what was recorded of `oid` before; `None`: nothing.
    pub fn restore(&mut self, oid: Oid, before: Option<Kept>) {
        if let Some(slot) = self.writes.remove(&oid) {
            self.leave(slot.place.length);
        }
        if let Some(kept) = before {
            self.set(oid, kept.kind, &kept.body, kept.assigned);
        }
    }

    fn set(&mut self, oid: Oid, kind: Kind, body: &[u8], assigned: SlotSet) {
        let place = self.bodies.put(body);
        let mut slot = Slot {
            kind,
            assigned,
            place,
        };
        self.live = self.live.saturating_add(body.len());
        match self.writes.entry(oid) {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(slot);
            }
            std::collections::btree_map::Entry::Occupied(mut occupied) => {
                let before = *occupied.get();
                if before.kind == Kind::Create && kind == Kind::Update {
                    slot.kind = Kind::Create;
                }
                slot.assigned = before.assigned.with(assigned);
                occupied.insert(slot);
                self.leave(before.place.length);
            }
        }
    }

    /// Counts bytes that are in use no more, and moves the others together if they are too many.
    fn leave(&mut self, bytes: usize) {
        self.live = self.live.saturating_sub(bytes);
        self.left = self.left.saturating_add(bytes);
        if self.left <= self.live.max(CHUNK) {
            return;
        }
        let before = std::mem::take(&mut self.bodies);
        for slot in self.writes.values_mut() {
            slot.place = self.bodies.put(before.get(slot.place));
        }
        self.left = 0;
    }
}

/// Where a body lies.
#[derive(Debug, Clone, Copy)]
struct Place {
    chunk: usize,
    offset: u32,
    length: usize,
}

/// Bodies one behind the other. Full chunks are shared between copies of a set.
#[derive(Debug, Clone, Default)]
struct Bodies {
    full: Vec<Arc<Vec<u8>>>,
    open: Vec<u8>,
}

/// Bytes of a chunk, but for one that holds a single larger body.
const CHUNK: usize = 256 << 10;

impl Bodies {
    fn put(&mut self, body: &[u8]) -> Place {
        if self.open.len().saturating_add(body.len()) > CHUNK && !self.open.is_empty() {
            self.full.push(Arc::new(std::mem::take(&mut self.open)));
            self.open.reserve(CHUNK.max(body.len()));
        }
        let place = Place {
            chunk: self.full.len(),
            // A body that is not the first of its chunk begins below `CHUNK`.
            offset: u32::try_from(self.open.len()).unwrap_or(u32::MAX),
            length: body.len(),
        };
        self.open.extend_from_slice(body);
        place
    }

    #[inline]
    fn get(&self, place: Place) -> &[u8] {
        let chunk = match self.full.get(place.chunk) {
            Some(chunk) => chunk,
            None => &self.open,
        };
        let start = place.offset as usize;
        chunk
            .get(start..start.saturating_add(place.length))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(class: u32, serial: u64) -> Oid {
        Oid::new(ClassId(class), serial).unwrap()
    }

    #[test]
    fn the_last_write_of_an_object_counts_and_a_creation_stays_one() {
        let mut writes = WriteSet::default();
        writes.create(oid(70, 1), b"one");
        writes.update(oid(70, 1), b"two", SlotSet::of(1));
        writes.update(oid(70, 2), b"three", SlotSet::of(1));
        writes.delete(oid(70, 3));
        assert_eq!(writes.get(oid(70, 1)), Some(Write::Create(b"two")));
        assert_eq!(writes.get(oid(70, 2)), Some(Write::Update(b"three")));
        assert_eq!(writes.get(oid(70, 3)), Some(Write::Delete));
        writes.delete(oid(70, 1));
        writes.delete(oid(70, 2));
        assert_eq!(writes.get(oid(70, 1)), None);
        assert_eq!(writes.get(oid(70, 2)), Some(Write::Delete));
        assert_eq!((writes.len(), writes.body_bytes()), (2, 0));
    }

    #[test]
    fn what_is_kept_comes_back() {
        let mut writes = WriteSet::default();
        writes.create(oid(70, 1), b"one");
        let (one, two) = (writes.keep(oid(70, 1)), writes.keep(oid(70, 2)));
        writes.delete(oid(70, 1));
        writes.update(oid(70, 2), b"two", SlotSet::of(1));
        writes.restore(oid(70, 2), two);
        writes.restore(oid(70, 1), one);
        assert_eq!(writes.get(oid(70, 1)), Some(Write::Create(b"one")));
        assert_eq!((writes.get(oid(70, 2)), writes.body_bytes()), (None, 3));
        assert_eq!(writes.assigned(oid(70, 2)), SlotSet::NONE);
        writes.update(oid(70, 2), b"two", SlotSet::of(1));
        let kept = writes.keep(oid(70, 2));
        writes.update(oid(70, 2), b"four", SlotSet::of(2));
        assert_eq!(writes.assigned(oid(70, 2)), SlotSet::of(1).with(SlotSet::of(2)));
        writes.restore(oid(70, 2), kept);
        assert_eq!(writes.assigned(oid(70, 2)), SlotSet::of(1));
    }

    #[test]
    fn rewriting_one_object_for_ever_keeps_memory_bounded_and_the_others_whole() {
        let mut writes = WriteSet::default();
        let other = vec![7; CHUNK / 2];
        writes.create(oid(70, 2), &other);
        writes.create(oid(70, 3), &vec![8; 3 * CHUNK]);
        for round in 0..10_000u32 {
            let body = vec![round as u8; 1000];
            writes.update(oid(70, 1), &body, SlotSet::of(1));
            assert_eq!(writes.get(oid(70, 1)), Some(Write::Update(&body)));
        }
        let held: usize = writes.bodies.full.iter().map(|chunk| chunk.len()).sum();
        assert!(held < 12 * CHUNK, "{held} bytes are held");
        assert_eq!(writes.get(oid(70, 2)), Some(Write::Create(&other)));
        assert_eq!(writes.get(oid(70, 3)), Some(Write::Create(&[8; 3 * CHUNK])));
    }

    #[test]
    fn classes_are_told_apart() {
        let mut writes = WriteSet::default();
        for (class, serial) in [(70, 5), (71, 1), (70, 1), (72, 9)] {
            writes.create(oid(class, serial), b"");
        }
        let of_class: Vec<Oid> = writes.of_class(ClassId(70)).map(|(oid, _)| oid).collect();
        assert_eq!(of_class, [oid(70, 1), oid(70, 5)]);
        assert!(!writes.changes_catalog());
        writes.delete(oid(1, 3));
        assert!(writes.changes_catalog());
    }
}
