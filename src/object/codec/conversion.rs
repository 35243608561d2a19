//! Bodies from before an attribute had the type it has now, brought to it when they are read.
//!
//! A retyped attribute gets a new slot, which names the old one. A body that ends before the new slot was written earlier,
//! and has there what the old slot says, converted; nothing is lost by it, and every value was tried when the class was
//! changed. An attribute may have been retyped several times since, so its slot may lead to one that is converted itself.

use super::super::convert::convert;
use super::super::layout::Layout;
use super::super::value::Value;
use super::body::Body;
use super::decode::decode;
use super::slots::{locate, rewrite};
use crate::error::{Error, Result};

/// A body with all that its layout converts; `None` where there is nothing to convert.
///
/// # Errors
/// [`Error::Corruption`] where the body is damaged, or has a value that does not convert.
pub fn converted(layout: &Layout, body: &[u8]) -> Result<Option<Vec<u8>>> {
    if layout.converted_slots == 0 {
        return Ok(None);
    }
    let old = Body::new(body)?;
    if old.count() >= layout.converted_slots {
        return Ok(None);
    }
    let mut changes: Vec<(usize, Value)> = Vec::new();
    for (number, slot) in layout.slots.iter().enumerate().skip(old.count()) {
        let Some(from) = slot.converted_from else { continue };
        let value = match changes.iter().find(|(changed, _)| *changed == from) {
            Some((_, value)) => value.clone(),
            None => before(layout, &old, from)?,
        };
        let value = convert(value, &slot.r#type).map_err(|why| {
            let what = format!("a value does not convert to {}: {why}", slot.r#type);
            Error::corruption(format!("attribute {}.{}", layout.name, slot.name), what)
        })?;
        changes.push((number, value));
    }
    rewrite(layout, body, &changes).map(Some)
}

/// What a body has in a slot that was dropped for another.
fn before(layout: &Layout, body: &Body<'_>, slot: usize) -> Result<Value> {
    let Some(attribute) = layout.slots.get(slot) else {
        return Ok(Value::Nil);
    };
    match body.slot(slot)? {
        Some(bytes) => decode(&attribute.r#type, bytes)
            .and_then(|value| value.to_value())
            .map_err(|error| locate(error, layout, attribute)),
        None => Ok(attribute.default.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{encode_body, read_slot};
    use super::*;
    use crate::object::{ClassId, Slot, Type};

    fn layout(slots: &[(&str, Type, Option<usize>, bool)]) -> Layout {
        let slot = |(name, r#type, converted_from, dropped): &(&str, Type, Option<usize>, bool)| Slot {
            name: (*name).into(),
            r#type: r#type.clone(),
            default: Value::Nil,
            not_null: false,
            dropped: *dropped,
            converted_from: *converted_from,
        };
        Layout::new(
            ClassId(64),
            "Item".into(),
            slots.iter().map(slot).collect(),
            Vec::new(),
        )
    }

    #[test]
    fn a_value_goes_through_all_types_its_attribute_had() {
        let first = layout(&[("a", Type::String, None, false), ("b", Type::Int, None, false)]);
        let second = layout(&[
            ("a", Type::String, None, true),
            ("b", Type::Int, None, false),
            ("a", Type::Int, Some(0), false),
        ]);
        let third = layout(&[
            ("a", Type::String, None, true),
            ("b", Type::Int, None, false),
            ("a", Type::Int, Some(0), true),
            ("c", Type::Int, None, false),
            ("a", Type::list(Type::Int), Some(2), false),
        ]);
        let body = encode_body(&first, &["17".into(), Value::Int(5)]).unwrap();
        assert_eq!(converted(&first, &body).unwrap(), None);
        let now = converted(&second, &body).unwrap().unwrap();
        assert_eq!(
            read_slot(&second, &now, 2).unwrap().to_value().unwrap(),
            Value::Int(17)
        );
        assert_eq!(converted(&second, &now).unwrap(), None);
        for older in [&body, &now] {
            let now = converted(&third, older).unwrap().unwrap();
            let value = |slot| read_slot(&third, &now, slot).unwrap().to_value().unwrap();
            assert_eq!((value(4), value(1)), (Value::list([17]), Value::Int(5)));
        }
        let wrong = encode_body(&first, &["x".into()]).unwrap();
        let error = converted(&second, &wrong).unwrap_err().to_string();
        assert!(error.contains("Item.a"), "{error}");
    }
}
