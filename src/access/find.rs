//! The object with a value in an attribute that is unique: straight from the index, without a statement.

use std::ops::Bound;
use std::sync::Arc;

use super::typed::attribute_of;
use crate::catalog::{Attribute, Class, Index, IndexKind};
use crate::error::{Error, Result};
use crate::object::codec::read_slot;
use crate::object::{ClassId, Oid, Record, Type, Value, coerce};
use crate::read::{Direction, ExtentPosition, IndexRange, Reader};

/// The object of `class` or a subclass that has `value` in `attribute`, which must have a unique index of its own; an
/// object with nil there is never found.
///
/// # Errors
/// [`Error::Schema`] where there is no such attribute or index, [`Error::Argument`] where the value is not of the type
/// of the attribute.
pub fn find(reader: &dyn Reader, class: &Class, attribute: &str, value: Value) -> Result<Option<Oid>> {
    if value.is_nil() {
        unique_index(reader, class, attribute_of(class, attribute)?)?;
        return Ok(None);
    }
    let value = fitting(class, attribute_of(class, attribute)?, value)?;
    let found = holder(reader, class, attribute, value)?;
    // An index of a class above has objects of all its subclasses.
    Ok(found.filter(|oid| class.family.contains(&oid.class())))
}

/// The object that a unique index of `class` has for `value` in `attribute`, of whatever class the index covers.
///
/// # Errors
/// [`Error::Schema`] where there is no such attribute or index.
pub fn holder(reader: &dyn Reader, class: &Class, attribute: &str, value: Value) -> Result<Option<Oid>> {
    let attribute = attribute_of(class, attribute)?;
    let index = unique_index(reader, class, attribute)?;
    if !index.ready {
        return scan(reader, index.class, attribute, &value);
    }
    let range = IndexRange {
        prefix: vec![value],
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    let mut found = Vec::with_capacity(1);
    reader
        .lookup(index.id, &range, Direction::Ascending)?
        .next(1, &mut found)?;
    Ok(found.pop())
}

/// The unique index on this attribute alone.
fn unique_index<'r>(reader: &'r dyn Reader, class: &Class, attribute: &Attribute) -> Result<&'r Arc<Index>> {
    let catalog = reader.catalog();
    let is_on_it = |index: &&Arc<Index>| {
        let alone = match index.components.as_slice() {
            [component] => matches!(component.path.as_slice(), [name] if *name == attribute.name),
            _ => false,
        };
        index.kind == IndexKind::Unique && alone
    };
    let mut covering = class.indexes.iter().filter_map(|id| catalog.indexes.get(id));
    covering.find(is_on_it).ok_or_else(|| {
        Error::Schema(format!(
            "{name}.{attribute} has no unique index; define it with define::<{name}>()?.unique(\"{attribute}\")",
            name = class.name,
            attribute = attribute.name
        ))
    })
}

/// The value as the attribute, or a member of it, would have it.
fn fitting(class: &Class, attribute: &Attribute, value: Value) -> Result<Value> {
    let wanted = match &attribute.r#type {
        Type::List(member) | Type::Set(member) | Type::Bag(member) => member,
        whole => whole,
    };
    coerce(value, wanted)
        .map_err(|reason| Error::Argument(format!("{}.{}: {reason}", class.name, attribute.name)))
}

/// The object found by reading all: states of the past have no indexes, and one that is being built is not complete.
fn scan(reader: &dyn Reader, class: ClassId, attribute: &Attribute, value: &Value) -> Result<Option<Oid>> {
    let family = &reader.catalog().class_by_id(class)?.family;
    let mut records = Vec::new();
    for class in family {
        let class = reader.catalog().class_by_id(*class)?;
        let mut position = ExtentPosition::default();
        loop {
            records.clear();
            reader.scan(class.id, &mut position, BATCH, &mut records)?;
            if records.is_empty() {
                break;
            }
            for record in &records {
                if holds(class, record, &attribute.name, value)? {
                    return Ok(Some(record.oid));
                }
            }
        }
    }
    Ok(None)
}

fn holds(class: &Class, record: &Record<'_>, attribute: &str, value: &Value) -> Result<bool> {
    let Some(slot) = class.attribute(attribute).map(|attribute| attribute.slot) else {
        return Ok(false);
    };
    let stored = read_slot(&class.layout, &record.body, slot)?.to_value()?;
    let within = stored.as_members().is_some_and(|members| members.contains(value));
    Ok(within || stored == *value)
}

/// Objects read at a time.
const BATCH: usize = 256;
