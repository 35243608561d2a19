//! Values of any kind as what a field asks for.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::super::codec::text;
use super::super::members::{Entries, Fields, Members};
use super::super::types::Type;
use super::super::value_ref::ValueRef;
use super::REFERENCE;
use super::failure::Failure;
use super::scalar::marked_type;
use crate::error::Result;

/// One value, whatever it is.
#[derive(Clone, Copy)]
pub(super) struct ValueDeserializer<'a>(pub ValueRef<'a>);

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
