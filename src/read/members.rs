//! Derived attributes read: sets that no object stores, because they are an index on their inverse read backwards.
//!
//! Where there is no usable index (one that is being built, or a state of the past that no index knows) the extent of the
//! members is scanned. What is read counts as a read of the keys, or of the extent.

use std::ops::{Bound, ControlFlow};

use super::{Direction, ExtentPosition, IndexRange, Reader};
use crate::catalog::{Attribute, Class, IndexId};
use crate::error::Result;
use crate::object::codec::{read_slot, rewrite};
use crate::object::{Oid, Record, RecordBody, Value, ValueRef};

/// Members read at a time.
const BATCH: usize = 1024;

/// What a batch of members is given to; it says whether to go on.
pub type See<'a> = dyn FnMut(&[Oid]) -> Result<ControlFlow<()>> + 'a;

/// Gives `see` the members of a derived attribute of an object, batch by batch; none where the attribute is stored. They
/// come in ascending order from an index.
pub fn each_member(reader: &dyn Reader, attribute: &Attribute, oid: Oid, see: &mut See<'_>) -> Result<()> {
    match reader.catalog().backing(attribute) {
        Some((holder, other)) => each_holder(reader, holder, &other.name, oid, see),
        None => Ok(()),
    }
}

/// Gives `see` the objects of `holder` and below it whose attribute is a reference to `target`, or contains one.
pub fn each_holder(
    reader: &dyn Reader,
    holder: &Class,
    attribute: &str,
    target: Oid,
    see: &mut See<'_>,
) -> Result<()> {
    let index = reader.catalog().index_of_reference(holder.id, attribute);
    match index.filter(|index| index.ready) {
        Some(index) => by_index(reader, index.id, holder, target, see),
        None => by_scan(reader, holder, attribute, target, see),
    }
}

fn by_index(
    reader: &dyn Reader,
    index: IndexId,
    holder: &Class,
    target: Oid,
    see: &mut See<'_>,
) -> Result<()> {
    let range = IndexRange {
        prefix: vec![Value::Reference(target)],
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    let mut postings = reader.lookup(index, &range, Direction::Ascending)?;
    let mut found = Vec::new();
    loop {
        found.clear();
        postings.next(BATCH, &mut found)?;
        if found.is_empty() {
            return Ok(());
        }
        found.retain(|oid| holder.family.binary_search(&oid.class()).is_ok());
        if see(&found)?.is_break() {
            return Ok(());
        }
    }
}

fn by_scan(
    reader: &dyn Reader,
    holder: &Class,
    attribute: &str,
    target: Oid,
    see: &mut See<'_>,
) -> Result<()> {
    for id in &holder.family {
        let class = reader.catalog().class_by_id(*id)?;
        let Some(slot) = class.layout.slot(attribute) else {
            continue;
        };
        let mut position = ExtentPosition::default();
        loop {
            let mut records = Vec::new();
            reader.scan(*id, &mut position, BATCH, &mut records)?;
            if records.is_empty() {
                break;
            }
            let mut found = Vec::new();
            for record in &records {
                if refers(read_slot(&class.layout, &record.body, slot)?, target)? {
                    found.push(record.oid);
                }
            }
            if see(&found)?.is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn refers(value: ValueRef<'_>, target: Oid) -> Result<bool> {
    if let ValueRef::Reference(oid) = value {
        return Ok(oid == target);
    }
    for member in value.members().into_iter().flatten() {
        if matches!(member?, ValueRef::Reference(oid) if oid == target) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The members of a derived attribute of an object, ascending.
pub fn members(reader: &dyn Reader, attribute: &Attribute, oid: Oid) -> Result<Vec<Oid>> {
    let mut all = Vec::new();
    each_member(reader, attribute, oid, &mut |found| {
        all.extend_from_slice(found);
        Ok(ControlFlow::Continue(()))
    })?;
    all.sort_unstable();
    Ok(all)
}

/// The value of an attribute of an object, from where it is.
pub fn value_of(
    reader: &dyn Reader,
    class: &Class,
    record: &Record<'_>,
    attribute: &Attribute,
) -> Result<Value> {
    if !attribute.is_derived() {
        return read_slot(&class.layout, &record.body, attribute.slot)?.to_value();
    }
    let members = members(reader, attribute, record.oid)?;
    Ok(Value::set(members.into_iter().map(Value::Reference)))
}

/// The body of an object with those of its derived attributes put in that `wanted` names.
pub fn completed<'a>(
    reader: &dyn Reader,
    class: &Class,
    record: &Record<'a>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<RecordBody<'a>> {
    let mut changes = Vec::new();
    for attribute in class.attributes.iter().filter(|own| own.is_derived()) {
        if wanted(&attribute.name) {
            changes.push((attribute.slot, value_of(reader, class, record, attribute)?));
        }
    }
    if changes.is_empty() {
        return Ok(record.body.clone());
    }
    let body = rewrite(&class.layout, &record.body, &changes)?;
    Ok(RecordBody::Shared(body.into()))
}
