//! One attribute of a stored object as what the caller asks for.

use serde::de::Deserialize;

use super::super::codec::Body;
use super::super::layout::Layout;
use super::failure::Failure;
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
    let stored = Body::new(body)?.slot(slot)?;
    let read = match stored {
        Some(bytes) => T::deserialize(StoredDeserializer {
            r#type: &attribute.r#type,
            bytes,
        }),
        None => T::deserialize(ValueDeserializer(attribute.default.as_ref())),
    };
    read.map_err(|failure| {
        let is_nil = stored.map_or(attribute.default.is_nil(), <[u8]>::is_empty);
        match (is_nil, failure) {
            (true, Failure::Error(error)) if matches!(*error, Error::Argument(_)) => {
                Failure::new("it is nil here; ask for an Option").at(layout, &attribute.name)
            }
            (_, failure) => failure.at(layout, &attribute.name),
        }
        .into_error(layout)
    })
}
