//! Where the fields of Rust structs lie in the records of a class: looked up by name once, remembered by the layout.
//!
//! Serde hands over the names of a struct's fields as a static slice, the same one each time. So a struct that was met
//! before is known again by the place of that slice in memory, whose contents never change.

use std::sync::OnceLock;

use smallvec::SmallVec;

use super::layout::Layout;

/// The fields of one struct that the class has, in the struct's order, each with its slot.
pub type FieldSlots = SmallVec<[(&'static str, usize); 4]>;

/// The structs that a layout remembers. Further ones are looked up by name each time.
const STRUCTS: usize = 8;

/// The structs that were read from records of one layout so far.
#[derive(Debug, Default)]
pub(super) struct FieldPlans([OnceLock<FieldPlan>; STRUCTS]);

/// Where the fields of one struct lie.
#[derive(Debug)]
pub(super) struct FieldPlan {
    fields: &'static [&'static str],
    /// Those that the class has.
    pub slots: FieldSlots,
    /// Bodies with at least so many slots have all fields; `usize::MAX` if the class does not have them all, each in a
    /// slot of its own.
    pub enough: usize,
}

impl FieldPlan {
    fn new(layout: &Layout, fields: &'static [&'static str]) -> FieldPlan {
        let slots = layout.field_slots(fields);
        let mut distinct: Vec<usize> = slots.iter().map(|(_, slot)| *slot).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let enough = match distinct.last() {
            Some(last) if distinct.len() == fields.len() => last.saturating_add(1),
            _ => usize::MAX,
        };
        FieldPlan {
            fields,
            slots,
            enough,
        }
    }
}

/// A copy may be given other slots, so it remembers nothing.
impl Clone for FieldPlans {
    fn clone(&self) -> FieldPlans {
        FieldPlans::default()
    }
}

impl Layout {
    /// Where a struct's fields lie, if it is remembered; at the first times they are looked up.
    #[inline(always)]
    pub(super) fn field_plan(&self, fields: &'static [&'static str]) -> Option<&FieldPlan> {
        let FieldPlans([first, ..]) = &self.plans;
        match first.get() {
            Some(plan) if std::ptr::eq(plan.fields, fields) => Some(plan),
            _ => self.planned_later(fields),
        }
    }

    #[inline(never)]
    fn planned_later(&self, fields: &'static [&'static str]) -> Option<&FieldPlan> {
        let FieldPlans(plans) = &self.plans;
        for plan in plans {
            let plan = plan.get_or_init(|| FieldPlan::new(self, fields));
            if std::ptr::eq(plan.fields, fields) {
                return Some(plan);
            }
        }
        None
    }

    /// The slots of a struct's fields, looked up by name.
    pub(super) fn field_slots(&self, fields: &[&'static str]) -> FieldSlots {
        let slot = |field: &&'static str| Some((*field, self.slot(field)?));
        fields.iter().filter_map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ClassId, Slot, Type, Value};

    fn layout(names: &[&str]) -> Layout {
        let slot = |name: &&str| Slot {
            name: (*name).into(),
            r#type: Type::Int,
            default: Value::Nil,
            not_null: false,
            dropped: *name == "gone",
            converted_from: None,
        };
        Layout::new(
            ClassId(64),
            "Item".into(),
            names.iter().map(slot).collect(),
            Vec::new(),
        )
    }

    fn slots(layout: &Layout, fields: &'static [&'static str]) -> Option<(Vec<usize>, usize)> {
        let plan = layout.field_plan(fields)?;
        Some((plan.slots.iter().map(|(_, slot)| *slot).collect(), plan.enough))
    }

    #[test]
    fn fields_are_found_by_name_and_remembered() {
        let layout = layout(&["a", "gone", "b"]);
        let fields: &'static [&'static str] = &["b", "a", "gone", "c"];
        for _ in 0..2 {
            assert_eq!(slots(&layout, fields), Some((vec![2, 0], usize::MAX)));
        }
        // A part of the same slice is another struct.
        assert_eq!(slots(&layout, &fields[..2]), Some((vec![2, 0], 3)));
        assert_eq!(slots(&layout, &fields[1..2]), Some((vec![0], 1)));
        assert_eq!(slots(&layout, fields), Some((vec![2, 0], usize::MAX)));
    }

    #[test]
    fn when_all_places_are_taken_the_caller_looks_fields_up() {
        let layout = layout(&["a", "b"]);
        let fields: &'static [&'static str] = &["a", "b", "a", "b", "a", "b", "a", "b", "a", "b"];
        for len in 1..=STRUCTS {
            assert!(layout.field_plan(&fields[..len]).is_some());
        }
        assert!(layout.field_plan(&fields[..STRUCTS + 1]).is_none());
        assert_eq!(slots(&layout, &fields[..1]), Some((vec![0], 1)));
        // One slot for two fields is for the careful way.
        assert_eq!(slots(&layout, &fields[..3]), Some((vec![0, 1, 0], usize::MAX)));
        assert_eq!(&layout.field_slots(&["b", "x"])[..], [("b", 1)]);
    }

    #[test]
    fn a_changed_copy_of_a_layout_remembers_nothing() {
        let fields: &'static [&'static str] = &["b"];
        let mut layout = layout(&["a", "b"]);
        assert_eq!(slots(&layout, fields), Some((vec![1], 2)));
        layout = layout.clone();
        layout.slots.remove(0);
        assert_eq!(slots(&layout, fields), Some((vec![0], 1)));
    }
}
