//! Structs from records that have a value for every field, by position (see `de.rs`).
//!
//! This is where a read of an object spends its instructions, and how many of them there are decides how many reads the
//! processor has in flight at once, waiting for memory. So: only bodies of the common kind, one reference in place of a
//! struct that is handed on, nothing that a function which is not inlined could look at. Its failures say nothing:
//! whatever goes wrong, the struct is read again by name.

use std::cell::Cell;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::super::codec::Near;
use super::super::layout::Layout;
use super::failure::Failure;
use super::stored_de::StoredDeserializer;

/// A record whose values are handed over in the order of the struct's fields.
pub(super) struct Positions<'a> {
    pub layout: &'a Layout,
    pub body: Near<'a>,
    /// How many values are left when the struct has taken its last.
    pub left: Cell<usize>,
}

impl<'a> Deserializer<'a> for &Positions<'a> {
    type Error = Failure;

    #[cold]
    fn deserialize_any<V: Visitor<'a>>(self, _: V) -> Result<V::Value, Failure> {
        Err(Failure::UNSUITABLE)
    }

    #[inline(always)]
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
            Some(plan) if self.body.count() >= plan.enough => visitor.visit_seq(Values {
                record: self,
                slots: plan.slots.iter(),
            }),
            _ => Err(Failure::UNSUITABLE),
        }
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The values of the fields, one after another.
struct Values<'a, 'r> {
    record: &'r Positions<'a>,
    slots: std::slice::Iter<'r, (&'static str, usize)>,
}

impl<'a> SeqAccess<'a> for Values<'a, '_> {
    type Error = Failure;

    #[inline(always)]
    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        let Some((_, number)) = self.slots.next() else {
            return Ok(None);
        };
        self.record.left.set(self.slots.len());
        let (layout, body) = (self.record.layout, &self.record.body);
        let (Some(slot), Some(stored)) = (layout.slots.get(*number), body.stored(*number)) else {
            return Err(Failure::UNSUITABLE);
        };
        let r#type = &slot.r#type;
        match seed.deserialize(StoredDeserializer { r#type, stored }) {
            Ok(value) => Ok(Some(value)),
            Err(failure) => Err(failure),
        }
    }
}
