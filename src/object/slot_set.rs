//! A set of slots of one class.

/// Which slots of a body something is about. From slot 63 on slots are not told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SlotSet(u64);

impl SlotSet {
    /// No slot.
    pub const NONE: SlotSet = SlotSet(0);
    /// Every slot.
    pub const ALL: SlotSet = SlotSet(u64::MAX);

    /// One slot.
    pub fn of(slot: usize) -> SlotSet {
        SlotSet(1 << slot.min(63))
    }

    /// Whether the slot is in the set; those that are not told apart are in it together.
    pub fn contains(self, slot: usize) -> bool {
        self.0 & SlotSet::of(slot).0 != 0
    }

    /// The slots of both.
    #[must_use]
    pub fn with(self, other: SlotSet) -> SlotSet {
        SlotSet(self.0 | other.0)
    }
}

impl FromIterator<usize> for SlotSet {
    fn from_iter<I: IntoIterator<Item = usize>>(slots: I) -> SlotSet {
        slots
            .into_iter()
            .fold(SlotSet::NONE, |set, slot| set.with(SlotSet::of(slot)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_its_slots_and_far_ones_together() {
        let set: SlotSet = [0, 5].into_iter().collect();
        assert!(set.contains(0) && set.contains(5) && !set.contains(1) && !set.contains(70));
        assert!(SlotSet::of(64).contains(99) && SlotSet::ALL.contains(3));
        assert!(!SlotSet::NONE.contains(0));
    }
}
