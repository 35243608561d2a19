//! Stored values straight into what a field asks for.

use std::slice;

use rust_decimal::prelude::ToPrimitive;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::super::codec::{
    Stored, decode, decode_bool, decode_float, decode_string, stored_references, text,
};
use super::super::number;
use super::super::oid::Oid;
use super::super::types::Type;
use super::super::value_ref::ValueRef;
use super::REFERENCE;
use super::failure::Failure;
use super::value_de::ValueDeserializer;
use crate::error::Result;

/// One stored value, not decoded yet. What most fields ask for is decoded straight into what they want; going through
/// a [`ValueRef`] in memory takes several times as long.
#[derive(Clone, Copy)]
pub(super) struct StoredDeserializer<'a> {
    pub r#type: &'a Type,
    pub stored: Stored<'a>,
}

impl<'a> StoredDeserializer<'a> {
    #[inline(always)]
    fn visit_text<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        if matches!(self.r#type, Type::String)
            && let Some(bytes) = decode_string(self.stored.bytes())?
        {
            return visitor.visit_borrowed_str(text(bytes)?);
        }
        self.value()?.deserialize_any(visitor)
    }

    #[inline(always)]
    fn visit_int<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        if matches!(self.r#type, Type::Int)
            && let Some(value) = self.stored.int()?
        {
            return visitor.visit_i64(value);
        }
        self.visit_as_int(visitor)
    }

    /// A program with an older, narrower number reads a wider one where the value fits.
    #[inline(never)]
    fn visit_as_int<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        let value = self.value()?;
        let whole = match value.0 {
            ValueRef::Float(float) if *self.r#type == Type::Float => number::float_to_int(float),
            ValueRef::Decimal(decimal) if *self.r#type == Type::Decimal && decimal.is_integer() => {
                decimal.to_i64()
            }
            _ => None,
        };
        match whole {
            Some(whole) => visitor.visit_i64(whole),
            None => value.deserialize_any(visitor),
        }
    }

    #[inline]
    fn visit_float<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        if matches!(self.r#type, Type::Float)
            && let Some(value) = decode_float(self.stored.bytes())?
        {
            return visitor.visit_f64(value);
        }
        let value = self.value()?;
        match value.0 {
            ValueRef::Decimal(decimal) if *self.r#type == Type::Decimal => {
                visitor.visit_f64(number::decimal_to_float(decimal))
            }
            _ => value.deserialize_any(visitor),
        }
    }

    #[inline(never)]
    fn value(self) -> Result<ValueDeserializer<'a>, Failure> {
        Ok(ValueDeserializer(decode(self.r#type, self.stored.bytes())?))
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
    fn deserialize_i8<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_int(visitor)
    }

    #[inline]
    fn deserialize_i16<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_int(visitor)
    }

    #[inline]
    fn deserialize_u8<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_int(visitor)
    }

    #[inline]
    fn deserialize_u16<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_int(visitor)
    }

    #[inline]
    fn deserialize_f32<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_float(visitor)
    }

    #[inline]
    fn deserialize_i32<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_int(visitor)
    }

    #[inline]
    fn deserialize_i64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_int(visitor)
    }

    #[inline]
    fn deserialize_u32<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_int(visitor)
    }

    #[inline]
    fn deserialize_u64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_int(visitor)
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.visit_float(visitor)
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        if matches!(self.r#type, Type::Bool)
            && let Some(value) = decode_bool(self.stored.bytes())?
        {
            return visitor.visit_bool(value);
        }
        self.value()?.deserialize_any(visitor)
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match stored_references(self.r#type, self.stored.bytes()) {
            Some(references) => visitor.visit_seq(ReferencesAccess(references.iter())),
            None => self.value()?.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        if self.stored.is_nil() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
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
            && let Some(oid) = self.stored.reference()?
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
        i128 u128 char unit unit_struct tuple tuple_struct map struct identifier
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
                seed.deserialize(ReferenceDeserializer(oid)).map(Some)
            }
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// A reference that was decoded.
struct ReferenceDeserializer(Oid);

impl<'a> Deserializer<'a> for ReferenceDeserializer {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        ValueDeserializer(ValueRef::Reference(self.0)).deserialize_any(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if name == REFERENCE {
            return visitor.visit_u64(self.0.to_bits());
        }
        ValueDeserializer(ValueRef::Reference(self.0)).deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_some(self)
    }

    fn is_human_readable(&self) -> bool {
        ValueDeserializer(ValueRef::Reference(self.0)).is_human_readable()
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}
