//! A row of a query as what the caller asks for: a struct by labels, a tuple by position, a single column as itself.

use std::sync::Arc;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::super::value::Value;
use super::failure::{Failure, Reason};
use super::value_de::ValueDeserializer;
use crate::error::{Error, Result};

/// The row with these labels and values as a `T`.
///
/// A struct takes the columns by their labels (nil counts as absent), a tuple takes them in order. A row of one column
/// is its value to everything but a struct that has a field of that label, and a tuple of one.
pub fn from_row<'a, T: Deserialize<'a>>(labels: &'a [Arc<str>], values: &'a [Value]) -> Result<T> {
    T::deserialize(RowDeserializer { labels, values }).map_err(|failure| match failure.reason() {
        Reason::Error(error) => error,
        Reason::Missing(field) => Error::Argument(format!(
            "the row has no value for {field}; it has {}",
            labels.join(", ")
        )),
    })
}

/// One row, whatever it is to become.
#[derive(Clone, Copy)]
struct RowDeserializer<'a> {
    labels: &'a [Arc<str>],
    values: &'a [Value],
}

impl<'a> RowDeserializer<'a> {
    /// The value of the one column there is.
    fn single(self) -> Option<ValueDeserializer<'a>> {
        match self.values {
            [value] => Some(ValueDeserializer(value.as_ref())),
            _ => None,
        }
    }

    fn only(self) -> Result<ValueDeserializer<'a>, Failure> {
        self.single().ok_or_else(|| {
            let sentence = format!(
                "the row has {} columns ({}), which a tuple or a struct takes",
                self.values.len(),
                self.labels.join(", ")
            );
            Failure::new(sentence)
        })
    }

    fn visit_columns<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_seq(Columns(self.values.iter()))
    }

    fn visit_labels<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_map(Labelled {
            row: self,
            value: &Value::Nil,
        })
    }
}

impl<'a> Deserializer<'a> for RowDeserializer<'a> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.single() {
            Some(value) => value.deserialize_any(visitor),
            None => self.visit_labels(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.values {
            [Value::Nil] => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match self.single() {
            Some(value) => value.deserialize_newtype_struct(name, visitor),
            None => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.single() {
            Some(value) if value.0.members().is_some() => value.deserialize_any(visitor),
            _ => self.visit_columns(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'a>>(self, length: usize, visitor: V) -> Result<V::Value, Failure> {
        match self.single() {
            Some(value) if length != 1 => value.deserialize_any(visitor),
            _ if length == self.values.len() => self.visit_columns(visitor),
            _ => {
                let columns = self.values.len();
                let sentence =
                    format!("the row has {columns} columns, and a tuple of {length} was asked for");
                Err(Failure::new(sentence))
            }
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let by_label = self.labels.iter().any(|label| fields.contains(&&**label));
        match self.single() {
            Some(value) if !by_label => value.deserialize_any(visitor),
            _ => self.visit_labels(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.only()?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_bytes<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.only()?.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_i64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.only()?.deserialize_any(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.only()?.deserialize_any(visitor)
    }

    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.only()?.deserialize_any(visitor)
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.only()?.deserialize_any(visitor)
    }

    fn deserialize_f64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.only()?.deserialize_any(visitor)
    }

    /// As [`ValueDeserializer`] has it.
    fn is_human_readable(&self) -> bool {
        !matches!(self.values, [Value::Uuid(_)])
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 char unit unit_struct identifier
    }
}

/// The columns in order.
struct Columns<'a>(std::slice::Iter<'a, Value>);

impl<'a> SeqAccess<'a> for Columns<'a> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        match self.0.next() {
            Some(value) => seed.deserialize(ValueDeserializer(value.as_ref())).map(Some),
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The columns that are not nil, by their labels.
struct Labelled<'a> {
    /// What is left of the row.
    row: RowDeserializer<'a>,
    value: &'a Value,
}

impl<'a> MapAccess<'a> for Labelled<'a> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        while let (Some((label, labels)), Some((value, values))) =
            (self.row.labels.split_first(), self.row.values.split_first())
        {
            self.row = RowDeserializer { labels, values };
            if !value.is_nil() {
                self.value = value;
                return seed.deserialize(BorrowedStrDeserializer::new(label)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        seed.deserialize(ValueDeserializer(self.value.as_ref()))
    }
}
