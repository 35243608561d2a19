//! Whole bodies: the slots of an object read, written and rewritten by its layout.

use super::super::coerce::coerce;
use super::super::layout::{Layout, Slot};
use super::super::oid::Oid;
use super::super::types::Type;
use super::super::value::Value;
use super::super::value_ref::ValueRef;
use super::body::{Body, BodyBuilder};
use super::decode::{damaged, decode, take_bool, take_bytes, take_int, take_reference};
use super::encode::put;
use crate::error::{Constraint, ConstraintKind, Error, Result};

/// The bytes of a slot of type `int`; `None` for nil.
#[inline]
pub fn decode_int(bytes: &[u8]) -> Result<Option<i64>> {
    whole(bytes, take_int)
}

/// The bytes of a slot of type `float`; `None` for nil.
#[inline]
pub fn decode_float(bytes: &[u8]) -> Result<Option<f64>> {
    match (bytes.first_chunk(), bytes.len()) {
        (Some(array), 8) => Ok(Some(f64::from_le_bytes(*array))),
        (_, 0) => Ok(None),
        _ => Err(damaged("a float has not 8 bytes")),
    }
}

/// The bytes of a slot of type `bool`; `None` for nil.
#[inline]
pub fn decode_bool(bytes: &[u8]) -> Result<Option<bool>> {
    whole(bytes, take_bool)
}

/// The bytes of a slot of type `string` or `bytes`, without a check of the text; `None` for nil.
#[inline]
pub fn decode_string(bytes: &[u8]) -> Result<Option<&[u8]>> {
    whole(bytes, take_bytes)
}

/// The bytes of a slot that holds a reference; `None` for nil.
#[inline]
pub fn decode_reference(bytes: &[u8]) -> Result<Option<Oid>> {
    whole(bytes, take_reference)
}

/// What `take` reads, which must be all of `bytes`; `None` if there are none.
#[inline]
fn whole<'a, T>(mut bytes: &'a [u8], take: impl Fn(&mut &'a [u8]) -> Result<T>) -> Result<Option<T>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let value = take(&mut bytes)?;
    if bytes.is_empty() {
        Ok(Some(value))
    } else {
        Err(damaged("bytes are left over after its end"))
    }
}

/// The value in a slot of a body; a slot past the body's count has its default, one past the layout is nil.
#[inline]
pub fn read_slot<'a>(layout: &'a Layout, body: &'a [u8], slot: usize) -> Result<ValueRef<'a>> {
    let Some(attribute) = layout.slots.get(slot) else {
        return Ok(ValueRef::Nil);
    };
    let read = Body::new(body).and_then(|body| match body.slot(slot)? {
        Some(bytes) => decode(&attribute.r#type, bytes),
        None => Ok(attribute.default.as_ref()),
    });
    read.map_err(|error| locate(error, layout, attribute))
}

/// The value in a slot of a body, owned; as [`read_slot`], without a detour for the most common types.
#[inline]
pub fn read_value(layout: &Layout, body: &[u8], slot: usize) -> Result<Value> {
    let simple = match layout.slots.get(slot).map(|attribute| &attribute.r#type) {
        Some(Type::Int) => stored(body, slot)
            .and_then(|value| value.int().ok()?)
            .map(Value::Int),
        Some(Type::Reference(_)) => stored(body, slot)
            .and_then(|value| value.reference().ok()?)
            .map(Value::Reference),
        _ => None,
    };
    match simple {
        Some(value) => Ok(value),
        None => read_slot(layout, body, slot)?.to_value(),
    }
}

/// What a slot holds, if the body has it and is in order.
#[inline(always)]
fn stored(body: &[u8], slot: usize) -> Option<super::Stored<'_>> {
    Body::new(body).ok()?.stored(slot).ok()?
}

/// Names class and attribute in an error about a slot's bytes.
#[cold]
pub(crate) fn locate(error: Error, layout: &Layout, attribute: &Slot) -> Error {
    match error {
        Error::Corruption(damage) => Error::corruption(
            format!("attribute {}.{}", layout.name, attribute.name),
            damage.what,
        ),
        other => other,
    }
}

/// All values of a body, one a slot (nil for dropped ones).
pub fn read_all(layout: &Layout, body: &[u8]) -> Result<Vec<Value>> {
    let read = |(number, slot): (usize, &Slot)| {
        if slot.dropped {
            return Ok(Value::Nil);
        }
        read_slot(layout, body, number)?
            .to_value()
            .map_err(|error| locate(error, layout, slot))
    };
    layout.slots.iter().enumerate().map(read).collect()
}

/// The body of an object with these values, one a slot; values left out at the end take their defaults.
///
/// Values are fitted to the types of their attributes ([`coerce`]); one that does not fit is [`Error::Argument`], nil
/// in an attribute that is `not null` is [`Error::Constraint`]. A reference may be nil even so: it may be set later
/// in the same transaction, at whose end [`check_not_null`] looks.
pub fn encode_body(layout: &Layout, values: &[Value]) -> Result<Vec<u8>> {
    let mut body = BodyBuilder::default();
    for (number, slot) in layout.slots.iter().enumerate() {
        let value = values.get(number).unwrap_or(&slot.default);
        put_slot(layout, slot, value, &mut body)?;
    }
    finish(layout, body)
}

/// `body` with some slots changed; the others are copied as bytes. Checks as [`encode_body`] does.
pub fn rewrite(layout: &Layout, body: &[u8], changes: &[(usize, Value)]) -> Result<Vec<u8>> {
    let old = Body::new(body)?;
    let mut new = BodyBuilder::default();
    for (number, slot) in layout.slots.iter().enumerate() {
        let change = changes.iter().rfind(|(changed, _)| *changed == number);
        match (change, old.slot(number)?) {
            (Some((_, value)), _) => put_slot(layout, slot, value, &mut new)?,
            (None, Some(bytes)) if !slot.dropped => {
                new.data.extend_from_slice(bytes);
                new.end_slot();
            }
            (None, _) => put_slot(layout, slot, &slot.default, &mut new)?,
        }
    }
    finish(layout, new)
}

/// Appends one slot.
fn put_slot(layout: &Layout, slot: &Slot, value: &Value, body: &mut BodyBuilder) -> Result<()> {
    if !slot.dropped {
        if value.is_nil() {
            refuse_nil(layout, slot)?;
        }
        let value = coerce(value.clone(), &slot.r#type).map_err(|reason| {
            Error::Argument(format!("attribute {}.{}: {reason}", layout.name, slot.name))
        })?;
        put(&slot.r#type, &value, &mut body.data);
    }
    body.end_slot();
    Ok(())
}

/// Refuses nil in an attribute that is `not null`, unless it is a reference.
pub(crate) fn refuse_nil(layout: &Layout, slot: &Slot) -> Result<()> {
    match slot.r#type {
        Type::Reference(_) => Ok(()),
        _ if slot.not_null => Err(is_nil(layout, slot)),
        _ => Ok(()),
    }
}

fn is_nil(layout: &Layout, slot: &Slot) -> Error {
    let sentence = format!(
        "attribute {}.{} is not null, and was given no value",
        layout.name, slot.name
    );
    Constraint::new(ConstraintKind::NotNull, sentence).into()
}

pub(crate) fn finish(layout: &Layout, body: BodyBuilder) -> Result<Vec<u8>> {
    body.finish().ok_or_else(|| too_large(layout))
}

#[cold]
pub(crate) fn too_large(layout: &Layout) -> Error {
    Error::Limit(format!(
        "an object of class {} has more than 4 GiB or 65,535 attributes",
        layout.name
    ))
}

/// Refuses a body with nil in an attribute that is `not null`, references included: the check at commit.
pub fn check_not_null(layout: &Layout, body: &[u8]) -> Result<()> {
    let body = Body::new(body)?;
    for (number, slot) in layout.slots.iter().enumerate() {
        if slot.not_null && !slot.dropped {
            let nil = body.slot(number)?.map_or(slot.default.is_nil(), <[u8]>::is_empty);
            if nil {
                return Err(is_nil(layout, slot));
            }
        }
    }
    Ok(())
}

/// Every reference in a body, in members, keys and fields too, in the order of the slots; an error is the last item.
pub fn references<'a>(layout: &'a Layout, body: &'a [u8]) -> impl Iterator<Item = Result<Oid>> + 'a {
    let mut found = Vec::new();
    let damage = collect_references(layout, body, &mut found).err();
    found.into_iter().map(Ok).chain(damage.map(Err))
}

fn collect_references(layout: &Layout, body: &[u8], found: &mut Vec<Oid>) -> Result<()> {
    for (number, slot) in layout.slots.iter().enumerate() {
        if !slot.dropped && slot.r#type.may_refer() {
            let value = read_slot(layout, body, number)?;
            references_in(value, found).map_err(|error| locate(error, layout, slot))?;
        }
    }
    Ok(())
}

/// Appends every reference in these slots of a body, in members, keys and fields too.
pub fn references_in_slots(
    layout: &Layout,
    body: &[u8],
    slots: &[usize],
    found: &mut Vec<Oid>,
) -> Result<()> {
    for number in slots {
        let Some(slot) = layout.slots.get(*number) else {
            continue;
        };
        references_in(read_slot(layout, body, *number)?, found)
            .map_err(|error| locate(error, layout, slot))?;
    }
    Ok(())
}

/// Appends every reference in a value.
fn references_in(value: ValueRef<'_>, found: &mut Vec<Oid>) -> Result<()> {
    match value.unwrapped() {
        ValueRef::Reference(oid) => found.push(oid),
        composite @ (ValueRef::Encoded(..) | ValueRef::Owned(_)) => {
            for member in composite.members().into_iter().flatten() {
                references_in(member?, found)?;
            }
            for entry in composite.entries().into_iter().flatten() {
                let (key, value) = entry?;
                references_in(key, found)?;
                references_in(value, found)?;
            }
            for field in composite.fields().into_iter().flatten() {
                references_in(field?.1, found)?;
            }
        }
        _ => {}
    }
    Ok(())
}
