//! Changes of classes that have objects: what each means for the slots of every class it touches.
//!
//! # How a class lives on
//!
//! Slots are only ever appended, so a body written by any earlier version of a class can be read by the newest: what is
//! past its count takes the slot's default, a dropped attribute leaves a hole, a retyped one gets a new slot that names
//! the old one: bodies that end before it are converted when they are read (`codec/conversion.rs`), until the last of
//! them is written anew in the background and the mark goes. Where an expression gives the new values, all bodies are
//! written in the same commit: it may read other objects, whose values must be those of that moment. A renamed
//! attribute keeps its slot, and its former names go on finding it, so programs that know the older struct keep reading
//! and writing it. Every change of a class counts its version up and leaves a sentence in its history.
//!
//! An attribute belongs to the class that declares it; every class below has a slot of its own for it. So each change
//! touches a whole family, and is one write for each class of it.

use std::sync::Arc;

use super::define::SchemaChange;
use super::definition::{AttributeDefinition, check_name};
use super::merge::{MergeRule, check_merge};
use super::schema::{Attribute, Catalog, Class, Component, Index, Method};
use super::stored::{ClassVersion, StoredClass, StoredIndex, StoredSlot};
use crate::error::{Error, Result};
use crate::object::{ClassId, Type, Value};

/// A change of a class that exists, for [`Transaction::alter_class`](crate::Transaction::alter_class).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Alteration {
    /// Adds an attribute; existing objects take its default.
    Add(AttributeDefinition),
    /// Adds a method, or gives the class's own method of that name another body, parameters or result.
    AddMethod(Method),
    /// Drops a method that the class declares itself; one it inherits under that name is called from then on.
    DropMethod(Arc<str>),
    /// Drops an attribute. Its values are gone for readers of the new version.
    Drop(Arc<str>),
    /// Renames an attribute. Its former names go on finding it.
    Rename {
        /// Its name.
        from: Arc<str>,
        /// Its new name.
        to: Arc<str>,
    },
    /// Gives an attribute another type and converts every value.
    Retype {
        /// The attribute.
        attribute: Arc<str>,
        /// Its new type.
        r#type: Type,
        /// An expression in OQL over the object (its attributes by name, the object itself as `this`) that gives the
        /// new value; `None`: the value itself, converted where nothing is lost by it.
        using: Option<Arc<str>>,
    },
    /// Lets an attribute be nil.
    Relax(Arc<str>),
    /// Gives an attribute a merge rule, or takes it away: changes of it that are made at the same time conflict then.
    Merge {
        /// The attribute.
        attribute: Arc<str>,
        /// The rule.
        rule: Option<MergeRule>,
    },
    /// Makes a class above or below the one that declares an attribute.
    Move {
        /// The attribute.
        attribute: Arc<str>,
        /// A superclass (all its other subclasses get the attribute), or a subclass (all others lose it, which is
        /// refused where one has a value).
        to: Arc<str>,
    },
    /// Renames the class.
    RenameClass(Arc<str>),
    /// Makes it dependent, so that objects nothing reaches may be collected, or independent again.
    Dependent(bool),
    /// Makes it a subclass of another class, or of none. Attributes inherited so far become its own.
    Extends(Option<Arc<str>>),
}

/// Whether a class has no objects.
pub type Empty<'a> = &'a dyn Fn(ClassId) -> bool;

impl Catalog {
    /// The attribute `name` of `class`, which must declare it itself.
    ///
    /// # Errors
    /// [`Error::Schema`] where there is none, or a class above declares it.
    pub fn declared<'c>(&self, class: &'c Class, name: &str) -> Result<&'c Attribute> {
        let attribute = class
            .attribute(name)
            .ok_or_else(|| Error::Schema(format!("{} has no attribute {name}", class.name)))?;
        if attribute.declared_in != class.id {
            let above = self.class_by_id(attribute.declared_in)?;
            return Err(Error::Schema(format!(
                "{}.{} is declared in {}; alter that class",
                class.name, attribute.name, above.name
            )));
        }
        Ok(attribute)
    }

    /// The new version of a class after `edit`.
    pub(super) fn edit(
        class: &Class,
        change: &str,
        edit: impl FnOnce(&mut StoredClass) -> Result<()>,
    ) -> Result<Option<SchemaChange>> {
        let Some(object) = class.object else {
            return Ok(None);
        };
        let mut stored = StoredClass::clone(&class.stored);
        edit(&mut stored)?;
        stored.version = stored.version.saturating_add(1);
        stored.history.push(ClassVersion {
            version: stored.version,
            change: change.into(),
        });
        Ok(Some(SchemaChange::Update(object, stored.encode()?)))
    }

    /// Edits the slot of one attribute in `class` and everything below.
    pub(super) fn edit_slots(
        &self,
        class: &Class,
        attribute: &str,
        change: &str,
        edit: &dyn Fn(&mut StoredClass, usize),
    ) -> Result<Vec<SchemaChange>> {
        let mut changes = Vec::new();
        for id in &class.family {
            let member = self.class_by_id(*id)?;
            let Some(slot) = member.attribute(attribute).map(|attribute| attribute.slot) else {
                continue;
            };
            changes.extend(Self::edit(member, change, |stored| {
                edit(stored, slot);
                Ok(())
            })?);
        }
        Ok(changes)
    }

    /// The indexes that have an attribute in one of their paths.
    pub fn indexes_on(&self, class: &Class, attribute: &Attribute) -> Vec<&Arc<Index>> {
        let is_it = |at: &Class, step: &str| {
            at.attribute(step)
                .is_some_and(|found| found.declared_in == class.id && found.name == attribute.name)
        };
        let mut found: Vec<_> = self
            .indexes
            .values()
            .filter(|index| {
                let on_path = |component: &Component| {
                    let steps = self.steps(index, &component.path);
                    steps.into_iter().any(|(at, step)| is_it(at, step))
                };
                index.components.iter().any(on_path)
            })
            .collect();
        found.sort_by_key(|index| index.id);
        found
    }

    /// The steps of an index path, each with the class it is taken from.
    fn steps<'c>(&'c self, index: &Index, path: &'c [Arc<str>]) -> Vec<(&'c Arc<Class>, &'c Arc<str>)> {
        let mut steps = Vec::new();
        let mut at = self.classes.get(&index.class);
        for step in path {
            let Some(class) = at else { break };
            steps.push((class, step));
            at = class
                .attribute(step)
                .and_then(|attribute| self.step_target(class, step, &attribute.r#type).ok());
        }
        steps
    }

    /// The writes that drop an attribute.
    ///
    /// # Errors
    /// [`Error::Schema`] while an index is on it.
    pub fn drop_attribute(&self, class: &Class, name: &str) -> Result<Vec<SchemaChange>> {
        let attribute = self.declared(class, name)?;
        if let Some(index) = self.indexes_on(class, attribute).first() {
            return Err(Error::Schema(format!(
                "the index {} is on {}.{name}; drop it first",
                index.name, class.name
            )));
        }
        let change = format!("attribute {}.{name} dropped", class.name);
        self.edit_slots(class, name, &change, &|stored, slot| {
            if let Some(slot) = stored.slots.get_mut(slot) {
                slot.dropped = true;
                // It may be a reference, which nothing could see any more.
                slot.default = Value::Nil;
            }
        })
    }

    fn refuse_inverse(&self, class: &Class, attribute: &Attribute) -> Result<()> {
        match &attribute.inverse {
            Some(inverse) => Err(Error::Schema(format!(
                "{}.{} is one side of a relationship with {inverse}, and cannot change alone; drop it, or its other side, and add it again",
                class.name, attribute.name
            ))),
            None => Ok(()),
        }
    }

    /// The writes that rename an attribute, in the class, below it, and in the paths of indexes.
    ///
    /// # Errors
    /// [`Error::Schema`] where the new name is taken.
    pub fn rename_attribute(&self, class: &Class, from: &str, to: &Arc<str>) -> Result<Vec<SchemaChange>> {
        check_name("attribute", to)?;
        let attribute = self.declared(class, from)?;
        self.refuse_inverse(class, attribute)?;
        let from = attribute.name.clone();
        for id in &class.family {
            let member = self.class_by_id(*id)?;
            if member.attributes.iter().any(|other| other.name == *to) {
                return Err(Error::Schema(format!(
                    "{} has an attribute {to} already",
                    member.name
                )));
            }
            self.refuse_method(member, to)?;
        }
        let change = format!("attribute {}.{from} renamed to {to}", class.name);
        let mut changes = self.edit_slots(class, &from, &change, &|stored, slot| {
            if let Some(slot) = stored.slots.get_mut(slot) {
                slot.formerly.retain(|name| name != to);
                slot.formerly.push(std::mem::replace(&mut slot.name, to.clone()));
            }
        })?;
        for index in self.indexes_on(class, attribute) {
            let renamed = |component: &Component| {
                let steps = self.steps(index, &component.path).into_iter();
                let path = steps.map(|(at, step)| match at.attribute(step) {
                    Some(found) if found.declared_in == class.id && found.name == from => to.clone(),
                    _ => step.clone(),
                });
                Component {
                    path: path.collect(),
                    descending: component.descending,
                }
            };
            let mut stored = StoredIndex::of(index);
            stored.components = index.components.iter().map(renamed).collect();
            changes.push(SchemaChange::Update(index.object, stored.encode()?));
        }
        Ok(changes)
    }

    /// The writes that give an attribute another type, in a slot of its own. Values of the old slot are converted when they
    /// are read, or are for the caller to write.
    ///
    /// # Errors
    /// [`Error::Schema`] where there is no such attribute.
    pub fn retype_attribute(
        &self,
        class: &Class,
        name: &str,
        r#type: &Type,
        default: &Value,
        when_read: bool,
    ) -> Result<Vec<SchemaChange>> {
        let attribute = self.declared(class, name)?;
        self.refuse_inverse(class, attribute)?;
        check_merge(&class.name, name, r#type, attribute.merge)?;
        let change = format!(
            "attribute {}.{} retyped from {} to {type}",
            class.name, attribute.name, attribute.r#type
        );
        self.edit_slots(class, name, &change, &|stored, number| {
            let Some(old) = stored.slots.get_mut(number) else {
                return;
            };
            let new = StoredSlot {
                r#type: r#type.clone(),
                default: default.clone(),
                converted_from: u32::try_from(number).ok().filter(|_| when_read),
                ..old.clone()
            };
            old.dropped = true;
            stored.slots.push(new);
        })
    }

    /// The writes that say that a class has no values to convert any more. It stays the same version: nothing about it
    /// changes for anybody.
    ///
    /// # Errors
    /// Where the class cannot be encoded.
    pub fn end_conversion(&self, class: &Class) -> Result<Vec<SchemaChange>> {
        let mut stored = StoredClass::clone(&class.stored);
        for slot in &mut stored.slots {
            slot.converted_from = None;
        }
        match class.object.filter(|_| stored != *class.stored) {
            Some(object) => Ok(vec![SchemaChange::Update(object, stored.encode()?)]),
            None => Ok(Vec::new()),
        }
    }

    /// The writes that let an attribute be nil.
    ///
    /// # Errors
    /// [`Error::Schema`] where there is no such attribute.
    pub fn relax_attribute(&self, class: &Class, name: &str) -> Result<Vec<SchemaChange>> {
        let attribute = self.declared(class, name)?;
        let change = format!("attribute {}.{} may be nil", class.name, attribute.name);
        self.edit_slots(class, name, &change, &|stored, slot| {
            if let Some(slot) = stored.slots.get_mut(slot) {
                slot.not_null = false;
            }
        })
    }

    /// The writes that give a class a method, in the place of its own method of that name if there is one.
    ///
    /// # Errors
    /// [`Error::Schema`] where an attribute has the name.
    pub fn add_method(&self, class: &Class, method: &Method) -> Result<Vec<SchemaChange>> {
        check_name("method", &method.name)?;
        for id in &class.family {
            let member = self.class_by_id(*id)?;
            if member.attribute(&method.name).is_some() {
                let message = format!("{} has an attribute {}", member.name, method.name);
                return Err(Error::Schema(message));
            }
            let own = member.own_method(&method.name);
            if *id != class.id && own.is_some_and(|own| !own.is_called_like(method)) {
                let message = format!(
                    "{} declares {} with other parameters or another result, which must be the same",
                    member.name, method.name
                );
                return Err(Error::Schema(message));
            }
        }
        let above = class.superclass.and_then(|id| self.classes.get(&id));
        if let Some((owner, inherited)) = above.and_then(|above| self.method(above, &method.name))
            && !inherited.is_called_like(method)
        {
            let message = format!(
                "{}.{} is inherited from {} with other parameters or another result, which must be the same",
                class.name, method.name, owner.name
            );
            return Err(Error::Schema(message));
        }
        let change = format!("method {}.{} added", class.name, method.name);
        let edited = Self::edit(class, &change, |stored| {
            stored.methods.retain(|own| own.name != method.name);
            stored.methods.push(method.clone());
            Ok(())
        })?;
        Ok(edited.into_iter().collect())
    }

    /// Refuses a name for an attribute that a method of the class has.
    pub(super) fn refuse_method(&self, class: &Class, name: &str) -> Result<()> {
        match self.method(class, name) {
            None => Ok(()),
            Some((owner, _)) => Err(Error::Schema(format!(
                "{} has a method {name} already; drop it first: alter class {} drop method {name}",
                class.name, owner.name
            ))),
        }
    }

    /// The writes that drop a method from the class that declares it.
    ///
    /// # Errors
    /// [`Error::Schema`] where the class declares none of that name.
    pub fn drop_method(&self, class: &Class, name: &str) -> Result<Vec<SchemaChange>> {
        if class.own_method(name).is_none() {
            let message = match self.method(class, name) {
                Some((owner, _)) => format!(
                    "{}.{name} is declared in {}: drop it there",
                    class.name, owner.name
                ),
                None => format!("{} has no method {name}", class.name),
            };
            return Err(Error::Schema(message));
        }
        let change = format!("method {}.{name} dropped", class.name);
        let edited = Self::edit(class, &change, |stored| {
            stored.methods.retain(|own| *own.name != *name);
            Ok(())
        })?;
        Ok(edited.into_iter().collect())
    }

    /// The writes that rename a class, everywhere its name stands in a type.
    ///
    /// # Errors
    /// [`Error::Schema`] where the name is taken.
    pub fn rename_class(&self, class: &Class, to: &Arc<str>) -> Result<Vec<SchemaChange>> {
        check_name("class", to)?;
        self.check_free(to)?;
        let from = &class.name;
        let change = format!("class {from} renamed to {to}");
        let mut changes = Vec::new();
        for other in self.classes.values().filter(|other| !other.id.is_system()) {
            let mentions = |slot: &StoredSlot| renamed_type(&slot.r#type, from, to) != slot.r#type;
            if other.id != class.id && !other.stored.slots.iter().any(mentions) {
                continue;
            }
            changes.extend(Self::edit(other, &change, |stored| {
                if other.id == class.id {
                    stored.name = to.clone();
                }
                for slot in &mut stored.slots {
                    slot.r#type = renamed_type(&slot.r#type, from, to);
                }
                Ok(())
            })?);
        }
        Ok(changes)
    }
}

fn renamed_type(r#type: &Type, from: &str, to: &Arc<str>) -> Type {
    let inside = |r#type: &Type| Box::new(renamed_type(r#type, from, to));
    match r#type {
        Type::Reference(class) if **class == *from => Type::Reference(to.clone()),
        Type::List(member) => Type::List(inside(member)),
        Type::Set(member) => Type::Set(inside(member)),
        Type::Bag(member) => Type::Bag(inside(member)),
        Type::Map(key, value) => Type::Map(inside(key), inside(value)),
        Type::Struct(fields) => {
            let renamed = |(name, field): &(Arc<str>, Type)| (name.clone(), renamed_type(field, from, to));
            Type::Struct(fields.iter().map(renamed).collect())
        }
        other => other.clone(),
    }
}
