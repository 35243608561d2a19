//! Dependent classes: whose objects live only while something reaches them, and who may hold references to them.
//!
//! A class is dependent if it, or a class above it, was declared so: an object of a class below is also an object of the
//! class above, and lives as that says. What becomes of such objects is said at the head of `maintain/collector`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::define::SchemaChange;
use super::schema::{Catalog, Class};
use crate::error::{Error, Result};
use crate::object::{ClassId, Type};

impl Catalog {
    /// The classes that are dependent, by themselves or through a class above.
    pub(super) fn dependents(&self, families: &FxHashMap<ClassId, Vec<ClassId>>) -> FxHashSet<ClassId> {
        let declared = self.classes.values().filter(|class| class.stored.dependent);
        declared
            .filter_map(|class| families.get(&class.id))
            .flatten()
            .copied()
            .collect()
    }

    /// The slots of each class that may hold references to objects of dependent classes.
    pub(super) fn holders_of_dependents(&self) -> FxHashMap<ClassId, Vec<usize>> {
        if !self.classes.values().any(|class| class.dependent) {
            return FxHashMap::default();
        }
        let slots = |class: &Class| -> Vec<usize> {
            let slots = class.layout.slots.iter().enumerate();
            slots
                .filter(|(_, slot)| !slot.dropped && self.may_reach_dependents(&slot.r#type))
                .map(|(number, _)| number)
                .collect()
        };
        let holders = self.classes.values().map(|class| (class.id, slots(class)));
        holders.filter(|(_, slots)| !slots.is_empty()).collect()
    }

    /// Whether a value of this type may refer to an object of a dependent class: one of the class it names, or below.
    fn may_reach_dependents(&self, r#type: &Type) -> bool {
        match r#type {
            Type::Any => true,
            Type::Reference(name) => self.class(name).is_some_and(|class| {
                let mut family = class.family.iter().filter_map(|id| self.classes.get(id));
                family.any(|class| class.dependent)
            }),
            Type::List(member) | Type::Set(member) | Type::Bag(member) => self.may_reach_dependents(member),
            Type::Map(key, value) => self.may_reach_dependents(key) || self.may_reach_dependents(value),
            Type::Struct(fields) => fields.iter().any(|(_, field)| self.may_reach_dependents(field)),
            _ => false,
        }
    }

    /// Whether objects of this class live only while something reaches them.
    pub fn is_dependent(&self, class: ClassId) -> bool {
        self.live_class(class).is_some_and(|class| class.dependent)
    }

    /// The dependent classes, in ascending order.
    pub fn dependent_classes(&self) -> Vec<ClassId> {
        let dependent = self.classes.values().filter(|class| class.dependent);
        let mut classes: Vec<ClassId> = dependent.map(|class| class.id).collect();
        classes.sort_unstable();
        classes
    }

    /// The writes that make a class dependent, or independent again.
    ///
    /// # Errors
    /// [`Error::Schema`] where it would stay dependent through the class above it.
    pub fn set_dependent(&self, class: &Class, dependent: bool) -> Result<Vec<SchemaChange>> {
        let above = class.superclass.filter(|above| self.is_dependent(*above));
        if let Some(above) = above.filter(|_| !dependent) {
            let above = self.class_by_id(above)?;
            return Err(Error::Schema(format!(
                "{} is dependent because {}, which it extends, is; alter that class",
                class.name, above.name
            )));
        }
        let change = match dependent {
            true => format!("class {} made dependent", class.name),
            false => format!("class {} made independent", class.name),
        };
        let edited = Self::edit(class, &change, |stored| {
            stored.dependent = dependent;
            Ok(())
        })?;
        Ok(edited.into_iter().collect())
    }
}
