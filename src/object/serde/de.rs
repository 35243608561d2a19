//! Rust structs straight from the bytes of a record.
//!
//! The struct's own list of fields leads: each is looked for in the layout (they mostly come in the same order, so
//! the look-up is one comparison), and only those that are found are decoded. Nothing is allocated here.
//!
//! A slot that the record is too old to have, and whose attribute has no default, is not offered, so serde's default
//! applies. Nil is offered, since only so an `Option` field is told `None`; if the field turns out to be no `Option`,
//! the struct is read a second time with that field withheld.

use std::cell::Cell;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use smallvec::SmallVec;

use super::super::codec::Body;
use super::super::layout::{Layout, Slot};
use super::failure::Failure;
use super::stored_de::StoredDeserializer;
use super::value_de::ValueDeserializer;
use crate::error::Result;

/// The object in `body` as a `T`, straight from the bytes; text and bytes may be borrowed.
///
/// Fields are found by name; attributes that `T` does not have are not looked at. An attribute whose value does not
/// fit its field is [`Error::Argument`](crate::Error::Argument), with its name.
pub fn from_record<'a, T: Deserialize<'a>>(layout: &'a Layout, body: &'a [u8]) -> Result<T> {
    let body = Body::new(body)?;
    let mut withheld: SmallVec<[usize; 4]> = SmallVec::new();
    loop {
        let refused = Cell::new(None);
        let record = RecordDeserializer {
            layout,
            body,
            withheld: &withheld,
            refused: &refused,
        };
        let failure = match T::deserialize(record) {
            Ok(value) => return Ok(value),
            Err(failure) => failure,
        };
        match refused.get() {
            Some(slot) if !withheld.contains(&slot) => withheld.push(slot),
            _ => return Err(failure.into_error(layout)),
        }
    }
}

/// A whole record, which only a struct can be read from.
struct RecordDeserializer<'a, 'r> {
    layout: &'a Layout,
    body: Body<'a>,
    /// Slots not to offer.
    withheld: &'r [usize],
    /// Set to the slot whose nil a field did not take.
    refused: &'r Cell<Option<usize>>,
}

impl<'a> Deserializer<'a> for RecordDeserializer<'a, '_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'a>>(self, _: V) -> Result<V::Value, Failure> {
        let sentence = format!(
            "objects of class {} can only be read as structs with named fields",
            self.layout.name
        );
        Err(Failure::new(sentence))
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_map(RecordAccess {
            record: self,
            fields,
            next_slot: 0,
            current: None,
        })
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The fields of a struct that the record has a value for, one after another.
struct RecordAccess<'a, 'r> {
    record: RecordDeserializer<'a, 'r>,
    /// Fields not looked for yet.
    fields: &'static [&'static str],
    /// The slot after the last one found.
    next_slot: usize,
    /// The field being read.
    current: Option<(&'a Slot, Content<'a>)>,
}

/// What a slot holds.
#[derive(Clone, Copy)]
enum Content<'a> {
    /// An encoded value; nothing for nil.
    Stored(&'a [u8]),
    /// The default of the attribute, which is younger than the record.
    Default,
}

impl<'a> RecordAccess<'a, '_> {
    #[inline]
    fn find(&self, field: &str) -> Option<(usize, &'a Slot)> {
        let layout = self.record.layout;
        match layout.slots.get(self.next_slot) {
            Some(slot) if *slot.name == *field && !slot.dropped => Some((self.next_slot, slot)),
            _ => {
                let number = layout.slot(field)?;
                layout.slots.get(number).map(|slot| (number, slot))
            }
        }
    }

    /// What a slot holds; `None` if the field is to be treated as absent.
    #[inline]
    fn offer(&self, number: usize, slot: &'a Slot) -> Result<Option<Content<'a>>, Failure> {
        match self.record.body.slot(number)? {
            Some([]) if self.record.withheld.contains(&number) => Ok(None),
            Some(bytes) => Ok(Some(Content::Stored(bytes))),
            None if slot.default.is_nil() => Ok(None),
            None => Ok(Some(Content::Default)),
        }
    }
}

impl<'a> MapAccess<'a> for RecordAccess<'a, '_> {
    type Error = Failure;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        while let Some((field, rest)) = self.fields.split_first() {
            self.fields = rest;
            let Some((number, slot)) = self.find(field) else {
                continue;
            };
            self.next_slot = number + 1;
            let offered = self.offer(number, slot);
            if let Some(content) = offered.map_err(|failure| failure.at(self.record.layout, field))? {
                self.current = Some((slot, content));
                return seed.deserialize(BorrowedStrDeserializer::new(field)).map(Some);
            }
        }
        Ok(None)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        let Some((slot, content)) = self.current.take() else {
            return Err(Failure::new("a value was asked for before its field"));
        };
        let read = match content {
            Content::Stored(bytes) => seed.deserialize(StoredDeserializer {
                r#type: &slot.r#type,
                bytes,
            }),
            Content::Default => seed.deserialize(ValueDeserializer(slot.default.as_ref())),
        };
        read.map_err(|failure| {
            if matches!(content, Content::Stored([])) {
                self.record.refused.set(self.next_slot.checked_sub(1));
            }
            failure.at(self.record.layout, &slot.name)
        })
    }
}
