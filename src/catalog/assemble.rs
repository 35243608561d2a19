//! From catalog objects to a [`Catalog`]: decode what changed, then work out what follows from it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::numbering::{class_of_object, index_of_object};
use super::schema::{Attribute, Catalog, Class, Index, Name, NamedQuery};
use super::stored::{StoredClass, StoredIndex, StoredName, SystemClass};
use crate::error::{Error, Result};
use crate::object::{ClassId, CommitNumber, Layout, Oid, Slot, Type, Value};

impl Catalog {
    /// The catalog of an empty database: the system classes only.
    pub fn empty() -> Result<Catalog> {
        let mut catalog = Catalog::default();
        catalog.link();
        Ok(catalog)
    }

    /// This catalog after catalog objects were written by `commit`: `None` is a deleted one. Objects of other
    /// classes are passed over.
    pub fn after<'a>(
        &self,
        commit: CommitNumber,
        changes: impl IntoIterator<Item = (Oid, Option<&'a [u8]>)>,
    ) -> Result<Catalog> {
        let mut next = self.clone();
        let mut relink = false;
        for (oid, body) in changes {
            match SystemClass::of(oid.class()) {
                Some(SystemClass::Class) => next.change_class(oid, body)?,
                Some(SystemClass::Index) => next.change_index(oid, body)?,
                Some(SystemClass::Query) => next.change_query(oid, body)?,
                Some(SystemClass::Name) => {
                    next.change_name(oid, body)?;
                    continue;
                }
                None => continue,
            }
            relink = true;
        }
        if relink {
            next.version = commit;
            next.link();
        }
        Ok(next)
    }

    fn change_class(&mut self, oid: Oid, body: Option<&[u8]>) -> Result<()> {
        let id = class_of_object(oid)?;
        self.classes.remove(&id);
        if let Some(body) = body {
            let stored = StoredClass::decode(body)?;
            self.classes.insert(id, Arc::new(class(id, Some(oid), stored)));
        }
        Ok(())
    }

    fn change_index(&mut self, oid: Oid, body: Option<&[u8]>) -> Result<()> {
        let id = index_of_object(oid)?;
        self.indexes.remove(&id);
        if let Some(body) = body {
            let stored = StoredIndex::decode(body)?;
            let StoredIndex {
                name,
                class,
                kind,
                components,
                steps,
                ready,
                ordered,
            } = stored;
            let index = Index {
                id,
                name,
                class,
                components,
                kind,
                steps,
                ready,
                ordered,
                object: oid,
            };
            self.indexes.insert(id, Arc::new(index));
        }
        Ok(())
    }

    fn change_name(&mut self, oid: Oid, body: Option<&[u8]>) -> Result<()> {
        self.names.retain(|_, name| name.object != oid);
        if let Some(body) = body {
            let StoredName { name, value } = StoredName::decode(body)?;
            self.names.insert(
                name.clone(),
                Arc::new(Name {
                    name,
                    value,
                    object: oid,
                }),
            );
        }
        Ok(())
    }

    fn change_query(&mut self, oid: Oid, body: Option<&[u8]>) -> Result<()> {
        self.queries.retain(|_, query| query.object != Some(oid));
        if let Some(body) = body {
            let query = NamedQuery::decode(oid, body)?;
            self.queries.insert(query.name.clone(), Arc::new(query));
        }
        Ok(())
    }

    /// Works out names, families and covering indexes anew.
    fn link(&mut self) {
        self.class_names = self
            .classes
            .values()
            .map(|class| (class.name.clone(), class.id))
            .collect();
        for system in SystemClass::ALL {
            self.class_names.insert(system.layout().name.clone(), system.id());
            self.classes
                .entry(system.id())
                .or_insert_with(|| Arc::new(system_class(system)));
        }
        self.index_names = self
            .indexes
            .values()
            .map(|index| (index.name.clone(), index.id))
            .collect();
        let families = self.families();
        let dependents = self.dependents(&families);
        let mut classes = std::mem::take(&mut self.classes);
        for (id, class) in &mut classes {
            let family = families.get(id).cloned().unwrap_or_default();
            let indexes = self.covering(*id, &families);
            let dependent = dependents.contains(id);
            if class.family != family || class.indexes != indexes || class.dependent != dependent {
                let linked = Class {
                    family,
                    indexes,
                    dependent,
                    ..Class::clone(class)
                };
                *class = Arc::new(linked);
            }
        }
        self.classes = classes;
        self.number();
        self.rules = self.delete_rules();
        self.converts = self
            .classes
            .values()
            .any(|class| class.layout.converted_slots > 0);
        self.holders = self.holders_of_dependents();
    }

    /// Lists the classes by number. The numbers are handed out one after the other, so there are few holes.
    fn number(&mut self) {
        let last = self.classes.keys().map(|id| id.0 as usize).max();
        self.by_number = vec![None; last.map_or(0, |last| last.saturating_add(1))];
        for (id, class) in &self.classes {
            if let Some(place) = self.by_number.get_mut(id.0 as usize) {
                *place = Some(class.clone());
            }
        }
    }

    /// For each class, itself and all classes below it, ascending.
    fn families(&self) -> FxHashMap<ClassId, Vec<ClassId>> {
        let mut families: FxHashMap<ClassId, Vec<ClassId>> = FxHashMap::default();
        for id in self.classes.keys() {
            for ancestor in self.ancestry(*id) {
                families.entry(ancestor).or_default().push(*id);
            }
        }
        families.values_mut().for_each(|family| family.sort_unstable());
        families
    }

    /// The class and its superclasses, nearest first. Ends on a cycle, which only damage can make.
    pub fn ancestry(&self, class: ClassId) -> Vec<ClassId> {
        let mut line = Vec::new();
        let mut next = Some(class);
        while let Some(id) = next.filter(|id| !line.contains(id)) {
            line.push(id);
            next = self.classes.get(&id).and_then(|class| class.superclass);
        }
        line
    }

    fn covering(&self, class: ClassId, families: &FxHashMap<ClassId, Vec<ClassId>>) -> Vec<super::IndexId> {
        let covers = |index: &Index| {
            families
                .get(&index.class)
                .is_some_and(|f| f.binary_search(&class).is_ok())
        };
        let mut covering: Vec<_> = self
            .indexes
            .values()
            .filter(|index| covers(index))
            .map(|index| index.id)
            .collect();
        covering.sort_unstable();
        covering
    }

    /// The class with this identifier.
    ///
    /// # Errors
    /// [`Error::Schema`] if there is none (any more).
    pub fn class_by_id(&self, id: ClassId) -> Result<&Arc<Class>> {
        match self.live_class(id) {
            Some(class) => Ok(class),
            None => self.classes.get(&id).ok_or_else(|| no_class(id)),
        }
    }
}

#[cold]
fn no_class(id: ClassId) -> Error {
    Error::Schema(format!(
        "there is no class number {}; it may have been dropped",
        id.0
    ))
}

fn class(id: ClassId, object: Option<Oid>, stored: StoredClass) -> Class {
    let mut attributes = Vec::new();
    let mut formerly = Vec::new();
    let mut slots = Vec::with_capacity(stored.slots.len());
    for (number, slot) in stored.slots.iter().enumerate() {
        let derived = slot.index_backed && matches!(slot.r#type, Type::Set(_));
        if !slot.dropped {
            attributes.push(Attribute {
                name: slot.name.clone(),
                r#type: slot.r#type.clone(),
                not_null: slot.not_null,
                default: slot.default.clone(),
                declared_in: slot.declared_in.unwrap_or(id),
                slot: number,
                inverse: slot.inverse.clone(),
                on_delete: slot.on_delete,
                index_backed: slot.index_backed,
                merge: slot.merge,
            });
            formerly.extend(slot.formerly.iter().map(|name| (name.clone(), number)));
        }
        slots.push(Slot {
            name: slot.name.clone(),
            r#type: slot.r#type.clone(),
            // What is not stored is nil there.
            default: if derived { Value::Nil } else { slot.default.clone() },
            not_null: slot.not_null && !derived,
            dropped: slot.dropped,
            converted_from: slot.converted_from.map(|slot| slot as usize),
        });
    }
    let layout = Arc::new(Layout::new(id, stored.name.clone(), slots, formerly));
    let mut sides = attributes.iter().filter(|own| own.inverse.is_some());
    Class {
        id,
        relates: sides.any(|own| !own.index_backed),
        derives: attributes.iter().any(Attribute::is_derived),
        plain: layout.converted_slots == 0 && !attributes.iter().any(Attribute::is_derived),
        dependent: false,
        name: stored.name.clone(),
        superclass: stored.superclass,
        attributes,
        layout,
        family: Vec::new(),
        indexes: Vec::new(),
        object,
        stored: Arc::new(stored),
    }
}

fn system_class(system: SystemClass) -> Class {
    let layout = system.layout();
    let slots = layout.slots.iter().map(|slot| {
        let mut stored = super::StoredSlot::new(slot.name.clone(), slot.r#type.clone());
        stored.default = slot.default.clone();
        stored.not_null = slot.not_null;
        stored.dropped = slot.dropped;
        stored
    });
    let stored = StoredClass::new(layout.name.clone(), None, slots.collect());
    let mut class = class(system.id(), None, stored);
    class.layout = layout.clone();
    class
}
