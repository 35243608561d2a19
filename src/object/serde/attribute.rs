//! One attribute of a stored object as what the caller asks for.

use serde::de::Deserialize;

use super::super::codec::{Body, Stored};
use super::super::layout::Layout;
use super::failure::{Failure, Reason};
use super::stored_de::StoredDeserializer;
use super::value_de::ValueDeserializer;
use crate::error::{Error, Result};

/// The attribute in `slot` of `body` as a `T`, which may borrow text and bytes; the others are not looked at.
///
/// An attribute that is younger than the record has its default. A value that does not fit `T` is
/// [`Error::Argument`] with the attribute's name, and so is nil where `T` is no `Option`.
pub fn from_slot<'a, T: Deserialize<'a>>(layout: &'a Layout, body: &'a [u8], slot: usize) -> Result<T> {
    let Some(attribute) = layout.slots.get(slot) else {
        return Err(Error::Schema(format!("{} has no slot {slot}", layout.name)));
    };
    let stored = Body::new(body)?.stored(slot)?;
    let read = match stored {
        Some(stored) => T::deserialize(StoredDeserializer {
            r#type: &attribute.r#type,
            stored,
        }),
        None => T::deserialize(ValueDeserializer(attribute.default.as_ref())),
    };
    read.map_err(|failure| {
        let is_nil = stored.map_or(attribute.default.is_nil(), Stored::is_nil);
        let failure = match failure.reason() {
            Reason::Error(Error::Argument(_)) if is_nil => Failure::new("it is nil here; ask for an Option"),
            Reason::Error(error) => error.into(),
            Reason::Missing(field) => serde::de::Error::missing_field(field),
        };
        failure.at(layout, &attribute.name).into_error(layout)
    })
}
