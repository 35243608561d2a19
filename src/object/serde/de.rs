//! Rust structs straight from the bytes of a record.
//!
//! The struct's own list of fields leads: the layout remembers in which slots they lie (`field_plan.rs`), and only those
//! that are found are decoded. Nothing is allocated here, and all of it is meant to be inlined into one stretch of code
//! for each struct: what a read of an object costs beside its cache misses is instructions.
//!
//! There are two ways. *By position*, where the record has a value for every field of the struct: the values are handed
//! over one after the other in the order of the struct's list of fields, which serde's derive takes them in; what would
//! be a loop that compares names becomes straight code. *By name*, whenever that does not work out, for whatever reason:
//! the class lacks a field, the record is too old for it, an alias is in the list, a value does not fit. The second way
//! decides about every error.
//!
//! A slot that the record is too old to have, and whose attribute has no default, is not offered, so serde's default
//! applies. Nil is offered, since only so an `Option` field is told `None`; if the field turns out to be no `Option`,
//! the struct is read a second time with that field withheld.

use std::cell::Cell;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use smallvec::SmallVec;

use super::super::codec::{Body, Near, Stored};
use super::super::layout::Layout;
use super::failure::Failure;
use super::position::Positions;
use super::stored_de::StoredDeserializer;
use super::value_de::ValueDeserializer;
use crate::error::Result;

/// The object in `body` as a `T`, straight from the bytes; text and bytes may be borrowed.
///
/// Fields are found by name; attributes that `T` does not have are not looked at. An attribute whose value does not
/// fit its field is [`Error::Argument`](crate::Error::Argument), with its name.
#[inline]
pub fn from_record<'a, T: Deserialize<'a>>(layout: &'a Layout, body: &'a [u8]) -> Result<T> {
    match from_plain(layout, body) {
        Some(value) => Ok(value),
        None => by_name(layout, body),
    }
}

/// The same by position; `None` says only that [`from_record`] must be asked.
///
/// Inlined by force: what a struct is made of stays in registers, and is not copied through memory from function to
/// function.
#[inline(always)]
pub fn from_plain<'a, T: Deserialize<'a>>(layout: &'a Layout, body: &'a [u8]) -> Option<T> {
    let positions = Positions {
        layout,
        body: Near::new(body)?,
        left: Cell::new(usize::MAX),
    };
    match T::deserialize(&positions) {
        Ok(value) if positions.left.get() == 0 => Some(value),
        _ => None,
    }
}

#[inline(never)]
fn by_name<'a, T: Deserialize<'a>>(layout: &'a Layout, body: &'a [u8]) -> Result<T> {
    let body = Body::new(body)?;
    let refused = Cell::new(None);
    let record = RecordDeserializer {
        layout,
        body,
        withheld: &[],
        refused: &refused,
    };
    match T::deserialize(record) {
        Ok(value) => Ok(value),
        Err(failure) => withholding(layout, body, failure, refused.get()),
    }
}

/// Reads the struct again, without the slots whose nil a field refused.
#[cold]
#[inline(never)]
fn withholding<'a, T: Deserialize<'a>>(
    layout: &'a Layout,
    body: Body<'a>,
    mut failure: Failure,
    mut slot: Option<usize>,
) -> Result<T> {
    let mut withheld: SmallVec<[usize; 4]> = SmallVec::new();
    loop {
        match slot {
            Some(slot) if !withheld.contains(&slot) => withheld.push(slot),
            _ => return Err(failure.into_error(layout)),
        }
        let refused = Cell::new(None);
        let record = RecordDeserializer {
            layout,
            body,
            withheld: &withheld,
            refused: &refused,
        };
        failure = match T::deserialize(record) {
            Ok(value) => return Ok(value),
            Err(failure) => failure,
        };
        slot = refused.get();
    }
}

/// A whole record, which only a struct can be read from.
#[derive(Clone, Copy)]
struct RecordDeserializer<'a, 'r> {
    layout: &'a Layout,
    body: Body<'a>,
    /// Slots not to offer.
    withheld: &'r [usize],
    /// Set to the slot whose nil a field did not take.
    refused: &'r Cell<Option<usize>>,
}

impl<'a> RecordDeserializer<'a, '_> {
    /// What a slot holds.
    #[inline(always)]
    fn offer(&self, number: usize) -> Result<Content<'a>> {
        match self.body.stored(number)? {
            Some(stored) if stored.is_nil() && self.withheld.contains(&number) => Ok(Content::Nothing),
            Some(stored) => Ok(Content::Stored(stored)),
            None => Ok(young(self.layout, number)),
        }
    }

    /// A struct that the layout does not remember.
    #[cold]
    #[inline(never)]
    fn unplanned<V: Visitor<'a>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let slots = self.layout.field_slots(fields);
        visitor.visit_map(RecordAccess::new(self, &slots))
    }
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

    #[inline(always)]
    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match self.layout.field_plan(fields) {
            Some(plan) => visitor.visit_map(RecordAccess::new(self, &plan.slots)),
            None => self.unplanned(fields, visitor),
        }
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The fields of a struct that the record has a value for, one after another.
///
/// No reference to it may reach a function that is not inlined: only then it lies in registers.
struct RecordAccess<'a, 'r> {
    record: RecordDeserializer<'a, 'r>,
    /// Fields not looked at yet.
    fields: std::slice::Iter<'r, (&'static str, usize)>,
    /// The slot of the field being read.
    slot: usize,
    content: Content<'a>,
}

/// What a slot holds.
#[derive(Clone, Copy)]
enum Content<'a> {
    /// No field is being read, or the field is to be treated as absent.
    Nothing,
    /// An encoded value; nothing for nil.
    Stored(Stored<'a>),
    /// The default of the attribute, which is younger than the record.
    Default,
}

impl<'a, 'r> RecordAccess<'a, 'r> {
    #[inline(always)]
    fn new(record: RecordDeserializer<'a, 'r>, fields: &'r [(&'static str, usize)]) -> Self {
        RecordAccess {
            record,
            fields: fields.iter(),
            slot: 0,
            content: Content::Nothing,
        }
    }
}

/// What a slot holds that is younger than the record.
#[inline(never)]
fn young<'a>(layout: &Layout, number: usize) -> Content<'a> {
    match layout.slots.get(number) {
        Some(slot) if !slot.default.is_nil() => Content::Default,
        _ => Content::Nothing,
    }
}

/// Says which attribute a failure is about.
#[cold]
#[inline(never)]
fn failed(failure: Failure, layout: &Layout, number: usize) -> Failure {
    match layout.slots.get(number) {
        Some(slot) => failure.at(layout, &slot.name),
        None => failure,
    }
}

#[cold]
#[inline(never)]
fn out_of_order() -> Failure {
    Failure::new("a value was asked for before its field")
}

impl<'a> MapAccess<'a> for RecordAccess<'a, '_> {
    type Error = Failure;

    #[inline(always)]
    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        for (field, slot) in self.fields.by_ref() {
            match self.record.offer(*slot) {
                Ok(Content::Nothing) => {}
                Ok(content) => {
                    (self.slot, self.content) = (*slot, content);
                    return seed.deserialize(BorrowedStrDeserializer::new(field)).map(Some);
                }
                Err(error) => return Err(failed(error.into(), self.record.layout, *slot)),
            }
        }
        Ok(None)
    }

    #[inline(always)]
    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        let Some(slot) = self.record.layout.slots.get(self.slot) else {
            return Err(out_of_order());
        };
        match self.content {
            Content::Stored(stored) => {
                let r#type = &slot.r#type;
                match seed.deserialize(StoredDeserializer { r#type, stored }) {
                    Ok(value) => Ok(value),
                    Err(failure) => {
                        if stored.is_nil() {
                            self.record.refused.set(Some(self.slot));
                        }
                        Err(failed(failure, self.record.layout, self.slot))
                    }
                }
            }
            Content::Default => seed
                .deserialize(ValueDeserializer(slot.default.as_ref()))
                .map_err(|failure| failed(failure, self.record.layout, self.slot)),
            Content::Nothing => Err(out_of_order()),
        }
    }
}
