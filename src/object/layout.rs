//! The layout of a class: which attribute lies in which slot of a record's body.

use std::sync::Arc;

use super::field_plan::FieldPlans;
use super::oid::ClassId;
use super::types::Type;
use super::value::Value;

/// Where the attributes of one class lie in the bodies of its objects.
///
/// Slots are only ever appended: a dropped attribute leaves a hole, a retyped one gets a new slot. So a body with
/// fewer slots than the layout was written by an earlier version of the class, and what is past its count takes the
/// slot's default.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The class.
    pub class: ClassId,
    /// Its name.
    pub name: Arc<str>,
    /// All slots, inherited ones included.
    pub slots: Vec<Slot>,
    /// Former names of attributes, with their slots; programs that know an older struct go on using them.
    pub formerly: Vec<(Arc<str>, usize)>,
    /// Bodies with fewer slots have values to convert; 0 where none do.
    pub converted_slots: usize,
    /// Where the fields of Rust structs that were read from it lie.
    pub(super) plans: FieldPlans,
}

/// One attribute of a [`Layout`].
#[derive(Debug, Clone)]
pub struct Slot {
    /// The attribute's name.
    pub name: Arc<str>,
    /// Its type.
    pub r#type: Type,
    /// The value of bodies written before the attribute existed, and of inserts that leave it out.
    pub default: Value,
    /// Whether nil is refused.
    pub not_null: bool,
    /// Whether the attribute was dropped; its slot stays.
    pub dropped: bool,
    /// The slot the attribute had before it was retyped, whose values are converted when they are read.
    pub converted_from: Option<usize>,
}

impl Layout {
    /// The layout of a class with these slots and former names.
    pub fn new(class: ClassId, name: Arc<str>, slots: Vec<Slot>, formerly: Vec<(Arc<str>, usize)>) -> Layout {
        let converts = |slot: &Slot| slot.converted_from.is_some() && !slot.dropped;
        let last = slots.iter().rposition(converts);
        Layout {
            class,
            name,
            converted_slots: last.map_or(0, |last| last.saturating_add(1)),
            slots,
            formerly,
            plans: FieldPlans::default(),
        }
    }

    /// The slot number of the attribute that is, or else was, called `name`.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.slots
            .iter()
            .position(|slot| !slot.dropped && &*slot.name == name)
            .or_else(|| self.former_slot(name))
    }

    /// The slot number of the attribute that was last called `name` before it was renamed.
    pub fn former_slot(&self, name: &str) -> Option<usize> {
        self.formerly
            .iter()
            .rfind(|(former, _)| **former == *name)
            .map(|(_, slot)| *slot)
    }
}
