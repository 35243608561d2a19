//! Schema changes as writes to catalog objects: what a definition asks for, checked against the catalog it meets.

use std::sync::Arc;

use super::definition::{AttributeDefinition, ClassDefinition, IndexDefinition, check_name};
use super::numbering::{class_of_object, index_of_object};
use super::schema::{Catalog, Class, Component, Index, IndexId, IndexKind, NamedQuery};
use super::stored::{StoredClass, StoredIndex, StoredName, StoredSlot, SystemClass};
use crate::error::{Error, Result};
use crate::object::{ClassId, Oid, Type, Value, coerce};

/// One write to a catalog object.
#[derive(Debug, Clone, PartialEq)]
pub enum SchemaChange {
    /// A new catalog object.
    Create(Oid, Vec<u8>),
    /// A catalog object with a new body.
    Update(Oid, Vec<u8>),
    /// A catalog object that goes.
    Delete(Oid),
}

impl SchemaChange {
    /// The catalog object.
    pub fn object(&self) -> Oid {
        match self {
            SchemaChange::Create(oid, _) | SchemaChange::Update(oid, _) | SchemaChange::Delete(oid) => *oid,
        }
    }
}

/// Hands out identifiers for new catalog objects.
pub type Reserve<'a> = &'a mut dyn FnMut(SystemClass) -> Result<Oid>;

impl Catalog {
    /// The writes that create a class (not its indexes).
    ///
    /// # Errors
    /// [`Error::Schema`] where the name is taken, the superclass is unknown, or an attribute is declared twice.
    pub fn create_class(
        &self,
        definition: &ClassDefinition,
        reserve: Reserve<'_>,
    ) -> Result<Vec<SchemaChange>> {
        check_name("class", &definition.name)?;
        self.check_free(&definition.name)?;
        let superclass = match &definition.superclass {
            Some(name) => Some(self.user_class(name)?),
            None => None,
        };
        let mut slots = superclass.map_or(Vec::new(), |class| inherited_slots(class));
        for attribute in &definition.attributes {
            if !repeats_inherited(&definition.name, &slots, attribute)? {
                slots.push(own_slot(&definition.name, attribute)?);
            }
        }
        check_methods(definition, &slots)?;
        let mut stored = StoredClass::new(definition.name.clone(), superclass.map(|class| class.id), slots);
        stored.methods = definition.methods.clone();
        stored.dependent = definition.dependent;
        let oid = reserve(SystemClass::Class)?;
        class_of_object(oid)?;
        Ok(vec![SchemaChange::Create(oid, stored.encode()?)])
    }

    pub(super) fn check_free(&self, name: &str) -> Result<()> {
        if self.class_names.contains_key(name) {
            return Err(Error::Schema(format!("a class {name} exists already")));
        }
        if self.names.contains_key(name) {
            return Err(Error::Schema(format!(
                "{name} is already the name of a root object"
            )));
        }
        if self.queries.contains_key(name) {
            return Err(Error::Schema(format!("{name} is already the name of a query")));
        }
        Ok(())
    }

    /// The class called `name`, which is not a system class.
    ///
    /// # Errors
    /// [`Error::Schema`] if there is none.
    pub fn user_class(&self, name: &str) -> Result<&Arc<Class>> {
        let class = self
            .class(name)
            .ok_or_else(|| Error::Schema(format!("there is no class {name}")))?;
        if class.id.is_system() {
            return Err(Error::Schema(format!(
                "{name} is a class of the catalog and cannot be changed"
            )));
        }
        Ok(class)
    }

    /// The writes that add attributes to a class and everything below it. Existing objects take the default.
    ///
    /// # Errors
    /// [`Error::Schema`] where an attribute of that name exists in the class or below it, or where it may not be
    /// nil and has no default.
    pub fn add_attributes(
        &self,
        class: &Class,
        attributes: &[AttributeDefinition],
    ) -> Result<Vec<SchemaChange>> {
        let names: Vec<&str> = attributes.iter().map(|attribute| &*attribute.name).collect();
        let change = format!("attribute {} added to {}", names.join(", "), class.name);
        let mut changes = Vec::new();
        for id in &class.family {
            let member = self.class_by_id(*id)?;
            let mut slots = Vec::new();
            for attribute in attributes {
                if member.attribute_now(&attribute.name).is_some() {
                    let message = format!("{} has an attribute {} already", member.name, attribute.name);
                    return Err(Error::Schema(message));
                }
                self.refuse_method(member, &attribute.name)?;
                let mut slot = own_slot(&class.name, attribute)?;
                if slot.not_null && slot.default == Value::Nil {
                    let message = format!(
                        "{}.{} cannot be added as not null without a default: existing objects would have nil",
                        class.name, attribute.name
                    );
                    return Err(Error::Schema(message));
                }
                slot.declared_in = (*id != class.id).then_some(class.id);
                slots.push(slot);
            }
            changes.extend(Self::edit(member, &change, |stored| {
                stored.slots.append(&mut slots);
                Ok(())
            })?);
        }
        Ok(changes)
    }

    /// The writes that drop a class and the indexes on it.
    ///
    /// # Errors
    /// [`Error::Schema`] while another class extends it or has attributes that refer to it.
    pub fn drop_class(&self, class: &Class) -> Result<Vec<SchemaChange>> {
        if let Some(below) = class.family.iter().find(|id| **id != class.id) {
            let below = self.class_by_id(*below)?;
            return Err(Error::Schema(format!(
                "{} extends {}; drop it first",
                below.name, class.name
            )));
        }
        for other in self.classes.values().filter(|other| other.id != class.id) {
            if let Some(holder) = other
                .attributes
                .iter()
                .find(|attribute| mentions(&attribute.r#type, &class.name))
            {
                let message = format!(
                    "{}.{} refers to {}; drop that attribute first",
                    other.name, holder.name, class.name
                );
                return Err(Error::Schema(message));
            }
        }
        let on_class = self.indexes.values().filter(|index| index.class == class.id);
        let mut changes: Vec<_> = on_class.map(|index| SchemaChange::Delete(index.object)).collect();
        changes.extend(class.object.map(SchemaChange::Delete));
        Ok(changes)
    }

    /// Checks that every class an attribute type of `class` names exists.
    ///
    /// # Errors
    /// [`Error::Schema`] that names attribute and class.
    pub fn check_references(&self, class: &Class) -> Result<()> {
        for attribute in &class.attributes {
            let mut missing = None;
            visit_references(&attribute.r#type, &mut |name| {
                if self.class(name).is_none() {
                    missing = Some(name.to_string());
                }
            });
            if let Some(name) = missing {
                return Err(Error::Schema(format!(
                    "{}.{} refers to the class {name}, which does not exist; define it first, or both in one \
                     transaction (define_all)",
                    class.name, attribute.name
                )));
            }
        }
        Ok(())
    }

    /// Checks that the references among new values of an object, given with their slots, are to objects of the classes
    /// their attributes name. Whether those objects exist is not asked.
    ///
    /// # Errors
    /// [`Error::Argument`] that names attribute, class and object.
    pub fn check_references_of<'a>(
        &self,
        class: &Class,
        values: impl IntoIterator<Item = (usize, &'a Value)>,
    ) -> Result<()> {
        for (slot, value) in values {
            let Some(slot) = class.layout.slots.get(slot) else {
                continue;
            };
            if let Some(oid) = self.misfit(&slot.r#type, value) {
                return Err(Error::Argument(format!(
                    "{}.{} refers to {}, so {} cannot stand there",
                    class.name,
                    slot.name,
                    slot.r#type,
                    self.describe(oid)
                )));
            }
        }
        Ok(())
    }

    /// A reference within `value` that is to an object of a class the type does not allow.
    fn misfit(&self, r#type: &Type, value: &Value) -> Option<Oid> {
        match (r#type, value) {
            (Type::Reference(class), Value::Reference(oid)) => {
                let fits = self
                    .class(class)
                    .is_some_and(|class| self.is_a(oid.class(), class.id));
                (!fits).then_some(*oid)
            }
            (Type::List(of) | Type::Set(of) | Type::Bag(of), value) => value
                .as_members()?
                .iter()
                .find_map(|member| self.misfit(of, member)),
            (Type::Map(key, of), Value::Map(entries)) => entries
                .iter()
                .find_map(|(k, v)| self.misfit(key, k).or_else(|| self.misfit(of, v))),
            (Type::Struct(types), Value::Struct(fields)) => types
                .iter()
                .zip(fields.iter())
                .find_map(|((_, of), (_, field))| self.misfit(of, field)),
            _ => None,
        }
    }

    /// The writes that create an index. It is `ready` at once where `empty` says that no object exists yet.
    ///
    /// A path through references becomes one index for each step, and an entry that joins them.
    ///
    /// # Errors
    /// [`Error::Schema`] where the name is taken, an attribute is unknown or cannot be indexed.
    pub fn create_index(
        &self,
        class: &Class,
        definition: &IndexDefinition,
        empty: &dyn Fn(ClassId) -> bool,
        reserve: Reserve<'_>,
    ) -> Result<Vec<SchemaChange>> {
        let name = definition.name_on(&class.name);
        check_name("index", &name)?;
        if self.index_names.contains_key(&name) {
            return Err(Error::Schema(format!("an index {name} exists already")));
        }
        match definition.components.as_slice() {
            [] => Err(Error::Schema(format!("the index {name} has no attribute"))),
            [(path, descending)] if path.len() > 1 => {
                if definition.unique || *descending {
                    let message =
                        format!("the index {name} is on a path, which can be neither unique nor descending");
                    return Err(Error::Schema(message));
                }
                self.create_path_index(class, name, path, empty, reserve)
            }
            components => {
                let stored = self.attribute_index(class, name, components, definition.unique, empty)?;
                Ok(vec![SchemaChange::Create(
                    reserve(SystemClass::Index)?,
                    stored.encode()?,
                )])
            }
        }
    }

    fn attribute_index(
        &self,
        class: &Class,
        name: Arc<str>,
        components: &[(Vec<Arc<str>>, bool)],
        unique: bool,
        empty: &dyn Fn(ClassId) -> bool,
    ) -> Result<StoredIndex> {
        let mut ordered = true;
        for (path, _) in components {
            let [attribute] = path.as_slice() else {
                let message =
                    format!("the index {name} is on several attributes, none of which can be a path");
                return Err(Error::Schema(message));
            };
            let attribute = class
                .attribute(attribute)
                .ok_or_else(|| unknown_attribute(class, attribute))?;
            check_indexable(class, &attribute.name, &attribute.r#type, components.len() > 1)?;
            if unique {
                super::merge::refuse_unique(&class.name, attribute)?;
            }
            ordered &= !unique || fits_point_key(&attribute.r#type);
        }
        let kind = if unique {
            IndexKind::Unique
        } else {
            IndexKind::Ordered
        };
        let ready = class.family.iter().all(|id| empty(*id));
        let ordered = ordered && (!unique || components.len() == 1);
        let components = components
            .iter()
            .cloned()
            .map(|(path, descending)| Component { path, descending })
            .collect();
        Ok(StoredIndex {
            name,
            class: class.id,
            kind,
            components,
            steps: Vec::new(),
            ready,
            ordered,
        })
    }

    fn create_path_index(
        &self,
        class: &Class,
        name: Arc<str>,
        path: &[Arc<str>],
        empty: &dyn Fn(ClassId) -> bool,
        reserve: Reserve<'_>,
    ) -> Result<Vec<SchemaChange>> {
        let mut changes = Vec::new();
        let mut steps = Vec::new();
        let mut ready = true;
        let mut at = class;
        for (position, step) in path.iter().enumerate() {
            let attribute = at.attribute(step).ok_or_else(|| unknown_attribute(at, step))?;
            let existing = self.single_attribute_index(at, step);
            let id = match existing {
                Some(index) => {
                    ready &= index.ready;
                    index.id
                }
                None => {
                    let step_name: Arc<str> = format!("{name}_{}", position.saturating_add(1)).into();
                    let component = [(vec![step.clone()], false)];
                    let stored = self.attribute_index(at, step_name, &component, false, empty)?;
                    ready &= stored.ready;
                    let oid = reserve(SystemClass::Index)?;
                    changes.push(SchemaChange::Create(oid, stored.encode()?));
                    index_of_object(oid)?
                }
            };
            steps.push(id);
            if position.saturating_add(1) < path.len() {
                at = self.step_target(at, step, &attribute.r#type)?;
            }
        }
        let components = vec![Component {
            path: path.to_vec(),
            descending: false,
        }];
        let (kind, class) = (IndexKind::Ordered, class.id);
        let stored = StoredIndex {
            name,
            class,
            kind,
            components,
            steps,
            ready,
            ordered: true,
        };
        changes.push(SchemaChange::Create(
            reserve(SystemClass::Index)?,
            stored.encode()?,
        ));
        Ok(changes)
    }

    /// An ordered index on just this attribute, declared for the class or above it.
    fn single_attribute_index(&self, class: &Class, attribute: &str) -> Option<&Arc<Index>> {
        class.indexes.iter().filter_map(|id| self.indexes.get(id)).find(|index| {
            let single = matches!(index.components.as_slice(),
                [component] if !component.descending && matches!(component.path.as_slice(), [name] if &**name == attribute));
            single && index.kind == IndexKind::Ordered && index.steps.is_empty()
        })
    }

    pub(super) fn step_target(&self, class: &Class, step: &str, r#type: &Type) -> Result<&Arc<Class>> {
        let target = match r#type {
            Type::Reference(target) => Some(target),
            collection => match collection.member() {
                Some(Type::Reference(target)) => Some(target),
                _ => None,
            },
        };
        let Some(target) = target else {
            let message = format!(
                "{}.{step} is no reference, so no path can go on from it",
                class.name
            );
            return Err(Error::Schema(message));
        };
        self.user_class(target)
    }

    /// The writes that drop an index. The steps of a path index stay while another path uses them.
    ///
    /// # Errors
    /// [`Error::Schema`] while a path index stands on it.
    pub fn drop_index(&self, index: &Index) -> Result<Vec<SchemaChange>> {
        let stands_on = |id: IndexId| {
            self.indexes
                .values()
                .find(|other| other.id != index.id && other.steps.contains(&id))
        };
        if let Some(other) = stands_on(index.id) {
            return Err(Error::Schema(format!(
                "the index {} stands on {}; drop it first",
                other.name, index.name
            )));
        }
        let own_prefix = format!("{}_", index.name);
        let made_for_it =
            |step: &&Arc<Index>| step.name.starts_with(&own_prefix) && stands_on(step.id).is_none();
        let steps = index
            .steps
            .iter()
            .filter_map(|id| self.indexes.get(id))
            .filter(made_for_it);
        let mut changes: Vec<_> = steps.map(|step| SchemaChange::Delete(step.object)).collect();
        changes.push(SchemaChange::Delete(index.object));
        Ok(changes)
    }

    /// The writes that take back an index whose build has failed, with the path indexes that stand on it and what was
    /// made for them.
    ///
    /// # Errors
    /// [`Error::Schema`] where an index that is ready stands on it.
    pub fn drop_unbuilt(&self, index: &Index) -> Result<Vec<SchemaChange>> {
        let stands_on_it = |other: &&Arc<Index>| !other.ready && other.steps.contains(&index.id);
        let mut dropped: Vec<Oid> = vec![index.object];
        for whole in self.indexes.values().filter(stands_on_it) {
            dropped.extend(self.drop_index(whole)?.iter().map(SchemaChange::object));
        }
        if dropped.len() == 1 {
            dropped = self.drop_index(index)?.iter().map(SchemaChange::object).collect();
        }
        dropped.sort_unstable();
        dropped.dedup();
        Ok(dropped.into_iter().map(SchemaChange::Delete).collect())
    }

    /// The write that marks an index as built.
    pub fn mark_ready(&self, index: &Index) -> Result<SchemaChange> {
        Ok(SchemaChange::Update(index.object, stored_index(index, true)?))
    }

    /// The body of the catalog object of an index that is still to be built.
    pub fn unbuilt(index: &Index) -> Result<Vec<u8>> {
        stored_index(index, false)
    }

    /// The write that makes `name` stand for `value`.
    ///
    /// # Errors
    /// [`Error::Schema`] where a class has the name.
    pub fn set_name(&self, name: &str, value: Value, reserve: Reserve<'_>) -> Result<SchemaChange> {
        check_name("root", name)?;
        if self.class_names.contains_key(name) {
            return Err(Error::Schema(format!("{name} is already the name of a class")));
        }
        if self.queries.contains_key(name) {
            return Err(Error::Schema(format!("{name} is already the name of a query")));
        }
        let body = StoredName {
            name: name.into(),
            value,
        }
        .encode()?;
        match self.names.get(name) {
            Some(existing) => Ok(SchemaChange::Update(existing.object, body)),
            None => Ok(SchemaChange::Create(reserve(SystemClass::Name)?, body)),
        }
    }

    /// The write that keeps a query under its name; one kept before under it is replaced.
    ///
    /// # Errors
    /// [`Error::Schema`] where a class or a root object has the name.
    pub fn define_query(&self, query: &NamedQuery, reserve: Reserve<'_>) -> Result<SchemaChange> {
        check_name("query", &query.name)?;
        if let Some(existing) = self.queries.get(&query.name).and_then(|query| query.object) {
            return Ok(SchemaChange::Update(existing, query.encode()?));
        }
        self.check_free(&query.name)?;
        Ok(SchemaChange::Create(
            reserve(SystemClass::Query)?,
            query.encode()?,
        ))
    }

    /// The write that takes a named query away.
    ///
    /// # Errors
    /// [`Error::Schema`] if there is no such query.
    pub fn undefine_query(&self, name: &str) -> Result<SchemaChange> {
        let existing = self.queries.get(name).and_then(|query| query.object);
        let existing = existing.ok_or_else(|| Error::Schema(format!("there is no query named {name}")))?;
        Ok(SchemaChange::Delete(existing))
    }

    /// The write that takes a name away.
    ///
    /// # Errors
    /// [`Error::Schema`] if there is no such name.
    pub fn remove_name(&self, name: &str) -> Result<SchemaChange> {
        let existing = self.names.get(name);
        let existing =
            existing.ok_or_else(|| Error::Schema(format!("there is no root object named {name}")))?;
        Ok(SchemaChange::Delete(existing.object))
    }
}

/// Refuses methods of one name, and a method called like an attribute.
fn check_methods(definition: &ClassDefinition, slots: &[StoredSlot]) -> Result<()> {
    for (position, method) in definition.methods.iter().enumerate() {
        check_name("method", &method.name)?;
        let mut before = definition.methods.iter().take(position);
        let attribute = slots.iter().any(|slot| !slot.dropped && slot.name == method.name);
        if attribute || before.any(|other| other.name == method.name) {
            let message = format!("{}.{} is declared twice", definition.name, method.name);
            return Err(Error::Schema(message));
        }
    }
    Ok(())
}

fn unknown_attribute(class: &Class, attribute: &str) -> Error {
    let known: Vec<&str> = class
        .attributes
        .iter()
        .map(|attribute| &*attribute.name)
        .collect();
    Error::Schema(format!(
        "{} has no attribute {attribute}; it has {}",
        class.name,
        known.join(", ")
    ))
}

fn inherited_slots(superclass: &Class) -> Vec<StoredSlot> {
    let inherit = |slot: &StoredSlot| StoredSlot {
        declared_in: slot.declared_in.or(Some(superclass.id)),
        ..slot.clone()
    };
    superclass.stored.slots.iter().map(inherit).collect()
}

fn repeats_inherited(class: &str, slots: &[StoredSlot], attribute: &AttributeDefinition) -> Result<bool> {
    let Some(slot) = slots
        .iter()
        .find(|slot| !slot.dropped && slot.name == attribute.name)
    else {
        return Ok(false);
    };
    if slot.declared_in.is_none() {
        return Err(Error::Schema(format!(
            "{class}.{} is declared twice",
            attribute.name
        )));
    }
    if slot.r#type != attribute.r#type {
        return Err(Error::Schema(format!(
            "{class}.{} is inherited as {} and cannot be declared as {}",
            attribute.name, slot.r#type, attribute.r#type
        )));
    }
    Ok(true)
}

fn own_slot(class: &str, attribute: &AttributeDefinition) -> Result<StoredSlot> {
    check_name("attribute", &attribute.name)?;
    let default = coerce(attribute.default.clone(), &attribute.r#type)
        .map_err(|why| Error::Schema(format!("the default of {class}.{}: {why}", attribute.name)))?;
    super::relationship::check_rule(
        class,
        &attribute.name,
        &attribute.r#type,
        attribute.not_null,
        attribute.on_delete,
    )?;
    super::merge::check_merge(class, &attribute.name, &attribute.r#type, attribute.merge)?;
    let mut slot = StoredSlot::new(attribute.name.clone(), attribute.r#type.clone());
    slot.default = default;
    slot.not_null = attribute.not_null;
    slot.inverse = attribute.inverse.clone();
    slot.on_delete = attribute.on_delete;
    slot.merge = attribute.merge;
    Ok(slot)
}

fn check_indexable(class: &Class, attribute: &str, r#type: &Type, one_of_several: bool) -> Result<()> {
    let refuse = |why: &str| {
        Err(Error::Schema(format!(
            "{}.{attribute} is of type {type}, {why}",
            class.name
        )))
    };
    match (r#type, r#type.member()) {
        (Type::Map(..) | Type::Struct(_), _) => refuse("which cannot be indexed"),
        (Type::Any, _) => refuse("which cannot be indexed: give it a type of its own"),
        (_, Some(_)) if one_of_several => refuse("which can only be indexed alone"),
        (_, Some(Type::List(_) | Type::Set(_) | Type::Bag(_) | Type::Map(..) | Type::Struct(_))) => {
            refuse("whose members cannot be indexed")
        }
        _ => Ok(()),
    }
}

/// Whether every key of this type fits a point key as it is, so that a unique index keeps the order.
fn fits_point_key(r#type: &Type) -> bool {
    matches!(
        r#type,
        Type::Bool
            | Type::Int
            | Type::Date
            | Type::Time
            | Type::Timestamp
            | Type::Duration
            | Type::Reference(_)
    )
}

pub(super) fn mentions(r#type: &Type, class: &str) -> bool {
    let mut found = false;
    visit_references(r#type, &mut |name| found |= name == class);
    found
}

/// Calls `visit` with the name of every class the type refers to.
pub fn visit_references(r#type: &Type, visit: &mut dyn FnMut(&str)) {
    match r#type {
        Type::Reference(class) => visit(class),
        Type::List(member) | Type::Set(member) | Type::Bag(member) => visit_references(member, visit),
        Type::Map(key, value) => {
            visit_references(key, visit);
            visit_references(value, visit);
        }
        Type::Struct(fields) => fields
            .iter()
            .for_each(|(_, field)| visit_references(field, visit)),
        _ => {}
    }
}

/// The body of the catalog object of an index.
fn stored_index(index: &Index, ready: bool) -> Result<Vec<u8>> {
    let stored = StoredIndex {
        ready,
        ..StoredIndex::of(index)
    };
    stored.encode()
}
