//! Rust structs straight from the bytes of a record.
//!
//! The struct's own list of fields leads: each is looked for in the layout (they mostly come in the same order, so
//! the look-up is one comparison), and only those that are found are decoded. Nothing is allocated here.
//!
//! A slot that the record is too old to have, and whose attribute has no default, is not offered, so serde's default
//! applies. Nil is offered, since only so an `Option` field is told `None`; if the field turns out to be no `Option`,
//! the struct is read a second time with that field withheld.

use std::cell::Cell;
use std::slice;

use rust_decimal::Decimal;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use smallvec::SmallVec;

use super::super::codec::{
    Body, decode, decode_float, decode_int, decode_reference, decode_string, stored_references, text,
};
use super::super::layout::{Layout, Slot};
use super::super::members::{Entries, Fields, Members};
use super::super::oid::Oid;
use super::super::types::Type;
use super::super::value_ref::ValueRef;
use super::REFERENCE;
use super::failure::Failure;
use super::scalar::marked_type;
use crate::error::{Error, Result};

/// The object in `body` as a `T`, straight from the bytes; text and bytes may be borrowed.
///
/// Fields are found by name; attributes that `T` does not have are not looked at. An attribute whose value does not
/// fit its field is [`Error::Argument`], with its name.
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

/// One stored value, not decoded yet. What most fields ask for is decoded straight into what they want; going through
/// a [`ValueRef`] in memory takes several times as long.
#[derive(Clone, Copy)]
struct StoredDeserializer<'a> {
    r#type: &'a Type,
    bytes: &'a [u8],
}

impl<'a> StoredDeserializer<'a> {
    #[inline]
    fn visit_text<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        if matches!(self.r#type, Type::String)
            && let Some(bytes) = decode_string(self.bytes)?
        {
            return visitor.visit_borrowed_str(text(bytes)?);
        }
        self.value()?.deserialize_any(visitor)
    }

    #[inline]
    fn visit_number<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        if matches!(self.r#type, Type::Int)
            && let Some(value) = decode_int(self.bytes)?
        {
            return visitor.visit_i64(value);
        }
        if matches!(self.r#type, Type::Float)
            && let Some(value) = decode_float(self.bytes)?
        {
            return visitor.visit_f64(value);
        }
        self.value()?.deserialize_any(visitor)
    }

    fn value(self) -> Result<ValueDeserializer<'a>, Failure> {
        Ok(ValueDeserializer(decode(self.r#type, self.bytes)?))
    }
}

impl<'a> Deserializer<'a> for StoredDeserializer<'a> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.value()?.deserialize_any(visitor)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_text(visitor)
    }

    #[inline]
    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_text(visitor)
    }

    #[inline]
    fn deserialize_i32<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_number(visitor)
    }

    #[inline]
    fn deserialize_i64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_number(visitor)
    }

    #[inline]
    fn deserialize_u32<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_number(visitor)
    }

    #[inline]
    fn deserialize_u64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_number(visitor)
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_number(visitor)
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match stored_references(self.r#type, self.bytes) {
            Some(references) => visitor.visit_seq(ReferencesAccess(references.iter())),
            None => self.value()?.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.bytes {
            [] => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if name == REFERENCE
            && matches!(self.r#type, Type::Reference(_))
            && let Some(oid) = decode_reference(self.bytes)?
        {
            return visitor.visit_u64(oid.to_bits());
        }
        self.value()?.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_bytes<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.value()?.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.value()?.deserialize_bytes(visitor)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.value()?.deserialize_enum(name, variants, visitor)
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    /// As [`ValueDeserializer`] has it.
    fn is_human_readable(&self) -> bool {
        !matches!(self.r#type, Type::Uuid)
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i128 u8 u16 u128 f32 char unit unit_struct tuple tuple_struct map struct identifier
    }
}

/// One value, whatever it is.
#[derive(Clone, Copy)]
struct ValueDeserializer<'a>(ValueRef<'a>);

impl<'a> ValueDeserializer<'a> {
    fn visit_composite<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        if let Some(members) = self.0.members() {
            visitor.visit_seq(MembersAccess(members))
        } else if let Some(entries) = self.0.entries() {
            visitor.visit_map(EntriesAccess {
                entries,
                value: ValueRef::Nil,
            })
        } else {
            visitor.visit_map(FieldsAccess {
                fields: self.0.fields(),
                value: ValueRef::Nil,
            })
        }
    }
}

impl<'a> Deserializer<'a> for ValueDeserializer<'a> {
    type Error = Failure;

    #[inline]
    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.0 {
            ValueRef::Nil => visitor.visit_unit(),
            ValueRef::Bool(value) => visitor.visit_bool(value),
            ValueRef::Int(value) => visitor.visit_i64(value),
            ValueRef::Float(value) => visitor.visit_f64(value),
            ValueRef::String(bytes) => visitor.visit_borrowed_str(text(bytes)?),
            ValueRef::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            ValueRef::Reference(oid) => visitor.visit_u64(oid.to_bits()),
            ValueRef::Date(value) => visitor.visit_string(value.to_string()),
            ValueRef::Time(value) => visitor.visit_string(value.to_string()),
            ValueRef::Timestamp(value) => visitor.visit_string(value.to_string()),
            ValueRef::Duration(value) => visitor.visit_string(value.to_string()),
            ValueRef::Decimal(value) => visitor.visit_string(value.to_string()),
            ValueRef::Uuid(value) => visitor.visit_string(value.to_string()),
            ValueRef::Encoded(..) | ValueRef::Owned(_) => self.visit_composite(visitor),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.0 {
            ValueRef::Nil => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match self.0 {
            ValueRef::Reference(oid) if name == REFERENCE => visitor.visit_u64(oid.to_bits()),
            _ if name == REFERENCE => Err(self.mismatch("a reference")),
            value => match (marked_type(name), value) {
                (None, _) => visitor.visit_newtype_struct(self),
                (Some(Type::Date), ValueRef::Date(date)) => visitor.visit_i64(i64::from(date.0)),
                (Some(Type::Time), ValueRef::Time(time)) => visitor.visit_i64(time.0),
                (Some(Type::Timestamp), ValueRef::Timestamp(time)) => visitor.visit_i64(time.0),
                (Some(Type::Duration), ValueRef::Duration(time)) => visitor.visit_i64(time.0),
                (Some(wanted), _) => Err(self.mismatch(&format!("a {wanted}"))),
            },
        }
    }

    fn deserialize_bytes<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.0 {
            ValueRef::Uuid(value) => visitor.visit_bytes(value.as_bytes()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if let ValueRef::String(name) = self.0 {
            return visitor.visit_enum(Variant(text(name)?, ValueRef::Nil));
        }
        let mut fields = self.0.fields().into_iter().flatten();
        match (fields.next().transpose()?, fields.next()) {
            (Some((name, content)), None) => visitor.visit_enum(Variant(name, content)),
            _ => Err(self.mismatch("a string, or a struct with one field")),
        }
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    /// Types that have a form for programs and one for people take the latter; but a uuid is quicker as its bytes.
    fn is_human_readable(&self) -> bool {
        !matches!(self.0, ValueRef::Uuid(_))
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

impl ValueDeserializer<'_> {
    #[cold]
    fn mismatch(self, wanted: &str) -> Failure {
        Failure::new(format!("expected {wanted}, found {}", self.0.type_name()))
    }
}

/// The members of a stored list of references without nil among them: the most common collection, so it has a walk
/// of its own.
struct ReferencesAccess<'a>(slice::Iter<'a, [u8; 8]>);

impl<'a> SeqAccess<'a> for ReferencesAccess<'a> {
    type Error = Failure;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        match self.0.next() {
            Some(bytes) => {
                let oid = Oid::from_bits(u64::from_le_bytes(*bytes));
                let oid = oid.ok_or_else(|| Failure::new("a stored reference is zero"))?;
                seed.deserialize(ValueDeserializer(ValueRef::Reference(oid)))
                    .map(Some)
            }
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The members of a list, set or bag.
struct MembersAccess<'a>(Members<'a>);

impl<'a> SeqAccess<'a> for MembersAccess<'a> {
    type Error = Failure;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        match self.0.next() {
            Some(member) => seed.deserialize(ValueDeserializer(member?)).map(Some),
            None => Ok(None),
        }
    }

    /// At most what the bytes at hand can hold.
    fn size_hint(&self) -> Option<usize> {
        Some(self.0.remaining())
    }
}

/// The entries of a map.
struct EntriesAccess<'a> {
    entries: Entries<'a>,
    value: ValueRef<'a>,
}

impl<'a> MapAccess<'a> for EntriesAccess<'a> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        match self.entries.next().transpose()? {
            Some((key, value)) => {
                self.value = value;
                seed.deserialize(ValueDeserializer(key)).map(Some)
            }
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        seed.deserialize(ValueDeserializer(self.value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.remaining())
    }
}

/// The fields of an embedded struct that are not nil.
struct FieldsAccess<'a> {
    fields: Option<Fields<'a>>,
    value: ValueRef<'a>,
}

impl<'a> MapAccess<'a> for FieldsAccess<'a> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        for field in self.fields.iter_mut().flatten() {
            let (name, value) = field?;
            if !value.is_nil() {
                self.value = value;
                return seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        seed.deserialize(ValueDeserializer(self.value))
    }
}

/// A variant of an enum: its name, and its content where it has any.
struct Variant<'a>(&'a str, ValueRef<'a>);

impl<'a> EnumAccess<'a> for Variant<'a> {
    type Error = Failure;
    type Variant = ValueDeserializer<'a>;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self::Variant), Failure> {
        let name = seed.deserialize(BorrowedStrDeserializer::<Failure>::new(self.0))?;
        Ok((name, ValueDeserializer(self.1)))
    }
}

impl<'a> VariantAccess<'a> for ValueDeserializer<'a> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, Failure> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_any(visitor)
    }
}
