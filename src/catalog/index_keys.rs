//! Which keys an object has in the indexes that cover it, and how a write changes them.

use smallvec::SmallVec;

use super::schema::{Catalog, Class, Component, Index, IndexKind};
use crate::error::{Constraint, ConstraintKind, Error, Result};
use crate::index::key::{encode_component, unique_key};
use crate::index::{IndexKey, IndexStore};
use crate::object::codec::{Body, read_slot};
use crate::object::{Layout, Oid, ValueRef};

/// The keys of one object in one index, ascending, each with whether it has nil in it.
pub type ObjectKeys = SmallVec<[(IndexKey, bool); 1]>;

/// An encoded key that is being put together, and whether it has nil in it.
type PartialKeys = SmallVec<[(Vec<u8>, bool); 1]>;

/// The keys of one object in one index, ascending, each once.
///
/// A collection gives one key a member; an object without such an attribute, or with an empty or nil collection,
/// has none. The flag tells whether the key has nil in it, and so claims no uniqueness.
pub fn index_keys(index: &Index, layout: &Layout, body: &[u8], secret: [u8; 16]) -> Result<ObjectKeys> {
    let mut keys = PartialKeys::new();
    keys.push((Vec::with_capacity(24), false));
    for component in &index.components {
        let Some(value) = component_value(component, layout, body)? else {
            return Ok(SmallVec::new());
        };
        keys = extend_keys(keys, value, component.descending)?;
    }
    let finish = |(key, has_nil): (Vec<u8>, bool)| match index.kind {
        IndexKind::Unique => (IndexKey::from_slice(&unique_key(&key, secret)), has_nil),
        IndexKind::Ordered => (IndexKey::from_slice(&key), has_nil),
    };
    let mut finished: ObjectKeys = keys.into_iter().map(finish).collect();
    finished.sort_unstable();
    finished.dedup_by(|a, b| a.0 == b.0);
    Ok(finished)
}

fn component_value<'a>(
    component: &Component,
    layout: &'a Layout,
    body: &'a [u8],
) -> Result<Option<ValueRef<'a>>> {
    let Some(slot) = component.path.last().and_then(|name| layout.slot(name)) else {
        return Ok(None);
    };
    read_slot(layout, body, slot).map(Some)
}

fn extend_keys(keys: PartialKeys, value: ValueRef<'_>, descending: bool) -> Result<PartialKeys> {
    let Some(members) = value.members() else {
        let has_nil = matches!(value, ValueRef::Nil);
        return keys
            .into_iter()
            .map(|key| extend_key(key, value, has_nil, descending))
            .collect();
    };
    let mut longer = SmallVec::new();
    for member in members {
        let member = member?;
        let has_nil = matches!(member, ValueRef::Nil);
        for key in &keys {
            longer.push(extend_key(key.clone(), member, has_nil, descending)?);
        }
    }
    Ok(longer)
}

fn extend_key(
    (mut key, had_nil): (Vec<u8>, bool),
    value: ValueRef<'_>,
    has_nil: bool,
    descending: bool,
) -> Result<(Vec<u8>, bool)> {
    encode_component(value, descending, &mut key)?;
    Ok((key, had_nil || has_nil))
}

/// Calls `visit` with each index entry that goes (`false`) or comes (`true`) when the body of an object of `class`
/// changes from `before` to `after` (`None`: it does not exist there), and with whether its key has nil in it.
pub fn index_differences(
    catalog: &Catalog,
    class: &Class,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
    secret: [u8; 16],
    visit: &mut dyn FnMut(&Index, &IndexKey, bool, bool),
) -> Result<()> {
    for id in &class.indexes {
        let Some(index) = catalog.indexes.get(id).filter(|index| index.steps.is_empty()) else {
            continue;
        };
        if same_attributes(index, &class.layout, before, after)? {
            continue;
        }
        let keys = |body: Option<&[u8]>| match body {
            Some(body) => index_keys(index, &class.layout, body, secret),
            None => Ok(SmallVec::new()),
        };
        let (old, new) = (keys(before)?, keys(after)?);
        for (key, has_nil) in old.iter().filter(|(key, _)| !holds(&new, key)) {
            visit(index, key, *has_nil, false);
        }
        for (key, has_nil) in new.iter().filter(|(key, _)| !holds(&old, key)) {
            IndexStore::check_key(key)?;
            visit(index, key, *has_nil, true);
        }
    }
    Ok(())
}

fn holds(keys: &ObjectKeys, key: &IndexKey) -> bool {
    keys.iter().any(|(other, _)| other == key)
}

/// Whether no indexed attribute differs, told from the bytes alone.
fn same_attributes(
    index: &Index,
    layout: &Layout,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Result<bool> {
    let (Some(before), Some(after)) = (before, after) else {
        return Ok(false);
    };
    let (before, after) = (Body::new(before)?, Body::new(after)?);
    for component in &index.components {
        let Some(slot) = component.path.last().and_then(|name| layout.slot(name)) else {
            continue;
        };
        let old = before.slot(slot)?;
        if old.is_none() || old != after.slot(slot)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The sentence for two objects with one value of a unique index.
pub fn duplicate_value(catalog: &Catalog, index: &Index, oid: Oid, holder: Oid) -> Error {
    let attributes: Vec<String> = index
        .components
        .iter()
        .map(|component| component.path.join("."))
        .collect();
    Constraint::new(
        ConstraintKind::Unique,
        format!(
            "{} and {} would have the same value of {} ({}), which the unique index {} forbids",
            catalog.describe(oid),
            catalog.describe(holder),
            attributes.join(", "),
            catalog.classes.get(&index.class).map_or("?", |class| &class.name),
            index.name,
        ),
    )
    .into()
}
