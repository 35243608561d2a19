//! Owned values.

use std::sync::Arc;

use rust_decimal::Decimal;
use uuid::Uuid;

use super::oid::Oid;
use super::time::{Date, Duration, Time, Timestamp};
use super::value_ref::ValueRef;

/// An owned value of any type.
///
/// `PartialEq`, `Ord` and `Hash` follow the one total order of Olivine (see `order.rs`), not the order of the
/// variants: `Int(1) == Float(1.0)`, NaN equals itself. Sets, bags and maps are kept in that order: build them with
/// [`Value::set`], [`Value::bag`] and [`Value::map`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Value {
    /// No value; also spelt null.
    #[default]
    Nil,
    /// true or false.
    Bool(bool),
    /// A signed 64-bit integer.
    Int(i64),
    /// An IEEE 754 double.
    Float(f64),
    /// An exact decimal number.
    Decimal(Decimal),
    /// Unicode text.
    String(Arc<str>),
    /// Raw bytes.
    Bytes(Arc<[u8]>),
    /// A calendar date.
    Date(Date),
    /// A time of day.
    Time(Time),
    /// An instant.
    Timestamp(Timestamp),
    /// A length of time.
    Duration(Duration),
    /// A 128-bit identifier.
    Uuid(Uuid),
    /// A reference to an object.
    Reference(Oid),
    /// Ordered members.
    List(Arc<[Value]>),
    /// Members in the total order, each once.
    Set(Arc<[Value]>),
    /// Members in the total order, duplicates kept.
    Bag(Arc<[Value]>),
    /// Entries in the total order of their keys, each key once.
    Map(Arc<[(Value, Value)]>),
    /// Fields in the order of their declaration.
    Struct(Arc<[(Arc<str>, Value)]>),
}

impl Value {
    /// A list of `members`, in the order given.
    pub fn list<V: Into<Value>>(members: impl IntoIterator<Item = V>) -> Value {
        Value::List(members.into_iter().map(Into::into).collect())
    }

    /// A set of `members`: sorted, each kept once.
    pub fn set<V: Into<Value>>(members: impl IntoIterator<Item = V>) -> Value {
        let mut members: Vec<Value> = members.into_iter().map(Into::into).collect();
        members.sort();
        members.dedup();
        Value::Set(members.into())
    }

    /// A bag of `members`: sorted, duplicates kept.
    pub fn bag<V: Into<Value>>(members: impl IntoIterator<Item = V>) -> Value {
        let mut members: Vec<Value> = members.into_iter().map(Into::into).collect();
        members.sort();
        Value::Bag(members.into())
    }

    /// A map of `entries`: sorted by key; of several entries with one key the last is kept.
    pub fn map<K: Into<Value>, V: Into<Value>>(entries: impl IntoIterator<Item = (K, V)>) -> Value {
        let mut entries: Vec<(Value, Value)> = entries
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        Value::Map(entries.into())
    }

    /// A struct of `fields`, in the order given.
    pub fn structure<N: Into<Arc<str>>, V: Into<Value>>(fields: impl IntoIterator<Item = (N, V)>) -> Value {
        Value::Struct(
            fields
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }

    /// This value, borrowed.
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Nil => ValueRef::Nil,
            Value::Bool(value) => ValueRef::Bool(*value),
            Value::Int(value) => ValueRef::Int(*value),
            Value::Float(value) => ValueRef::Float(*value),
            Value::Decimal(value) => ValueRef::Decimal(*value),
            Value::String(value) => ValueRef::String(value.as_bytes()),
            Value::Bytes(value) => ValueRef::Bytes(value),
            Value::Date(value) => ValueRef::Date(*value),
            Value::Time(value) => ValueRef::Time(*value),
            Value::Timestamp(value) => ValueRef::Timestamp(*value),
            Value::Duration(value) => ValueRef::Duration(*value),
            Value::Uuid(value) => ValueRef::Uuid(*value),
            Value::Reference(value) => ValueRef::Reference(*value),
            Value::List(_) | Value::Set(_) | Value::Bag(_) | Value::Map(_) | Value::Struct(_) => {
                ValueRef::Owned(self)
            }
        }
    }

    /// Whether this is nil.
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil)
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer, if this is an int.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The number as a double, if this is an int, float or decimal; the nearest one where it is not exact.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(value) => Some(*value),
            Value::Int(value) => Some(super::number::int_to_float(*value)),
            Value::Decimal(value) => Some(super::number::decimal_to_float(*value)),
            _ => None,
        }
    }

    /// The decimal, if this is one.
    pub fn as_decimal(&self) -> Option<Decimal> {
        match self {
            Value::Decimal(value) => Some(*value),
            _ => None,
        }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(value) => Some(value),
            _ => None,
        }
    }

    /// The bytes, if this is a bytes value.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(value) => Some(value),
            _ => None,
        }
    }

    /// The object referred to, if this is a reference.
    pub fn as_reference(&self) -> Option<Oid> {
        match self {
            Value::Reference(value) => Some(*value),
            _ => None,
        }
    }

    /// The members of a list, set or bag, in their order.
    pub fn as_members(&self) -> Option<&[Value]> {
        match self {
            Value::List(members) | Value::Set(members) | Value::Bag(members) => Some(members),
            _ => None,
        }
    }

    /// The entries of a map, in the order of their keys.
    pub fn as_entries(&self) -> Option<&[(Value, Value)]> {
        match self {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The fields of a struct, in the order of their declaration.
    pub fn as_fields(&self) -> Option<&[(Arc<str>, Value)]> {
        match self {
            Value::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    /// The field `name` of a struct; `None` for another name, and for what is no struct.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.as_fields()?
            .iter()
            .find(|(field, _)| &**field == name)
            .map(|(_, value)| value)
    }

    /// The name of the value's type, as in `Type`'s text, without member types.
    pub fn type_name(&self) -> &'static str {
        self.as_ref().type_name()
    }
}
