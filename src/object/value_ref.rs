//! Values borrowed from a stored record or from an owned value.

use std::sync::Arc;

use rust_decimal::Decimal;
use uuid::Uuid;

use super::codec;
use super::members::{Entries, Fields, Members};
use super::oid::Oid;
use super::time::{Date, Duration, Time, Timestamp};
use super::types::Type;
use super::value::Value;
use crate::error::Result;

/// A value borrowed from a stored record (or from an owned [`Value`]); `Copy`, 32 bytes.
///
/// Text stays bytes until it is shown: it was checked to be UTF-8 when it was written, byte order is code point
/// order, and a scan need not check it again. [`ValueRef::to_value`] checks.
///
/// Whatever this crate hands out is in one form: scalars are always the scalar variants; [`ValueRef::Encoded`] and
/// [`ValueRef::Owned`] hold a list, set, bag, map or struct.
#[derive(Debug, Clone, Copy)]
pub enum ValueRef<'a> {
    /// No value.
    Nil,
    /// true or false.
    Bool(bool),
    /// A signed 64-bit integer.
    Int(i64),
    /// An IEEE 754 double.
    Float(f64),
    /// Text, as UTF-8 bytes.
    String(&'a [u8]),
    /// Raw bytes.
    Bytes(&'a [u8]),
    /// A reference.
    Reference(Oid),
    /// A calendar date.
    Date(Date),
    /// A time of day.
    Time(Time),
    /// An instant.
    Timestamp(Timestamp),
    /// A length of time.
    Duration(Duration),
    /// A decimal number.
    Decimal(Decimal),
    /// A 128-bit identifier.
    Uuid(Uuid),
    /// A collection, map or struct as stored: its type and its encoded bytes, decoded member by member. A type of
    /// `any` means that the bytes begin with a tag.
    Encoded(&'a Type, &'a [u8]),
    /// An owned collection, map or struct, borrowed.
    Owned(&'a Value),
}

/// What kind of value one is, apart from its content; in the order of the kinds within the total order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// No value.
    Nil,
    /// true or false.
    Bool,
    /// An integer.
    Int,
    /// A double.
    Float,
    /// A decimal number.
    Decimal,
    /// Text.
    String,
    /// Bytes.
    Bytes,
    /// A date.
    Date,
    /// A time of day.
    Time,
    /// An instant.
    Timestamp,
    /// A length of time.
    Duration,
    /// A 128-bit identifier.
    Uuid,
    /// A reference.
    Reference,
    /// A list.
    List,
    /// A set.
    Set,
    /// A bag.
    Bag,
    /// A map.
    Map,
    /// A struct.
    Struct,
}

impl Kind {
    /// Where the kind stands in the total order; the three types of numbers stand together.
    pub fn rank(self) -> u8 {
        match self {
            Kind::Nil => 0,
            Kind::Bool => 1,
            Kind::Int | Kind::Float | Kind::Decimal => 2,
            Kind::String => 3,
            Kind::Bytes => 4,
            Kind::Date => 5,
            Kind::Time => 6,
            Kind::Timestamp => 7,
            Kind::Duration => 8,
            Kind::Uuid => 9,
            Kind::Reference => 10,
            Kind::List => 11,
            Kind::Set => 12,
            Kind::Bag => 13,
            Kind::Map => 14,
            Kind::Struct => 15,
        }
    }

    /// The name of the kind, as in `Type`'s text.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nil => "nil",
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Float => "float",
            Kind::Decimal => "decimal",
            Kind::String => "string",
            Kind::Bytes => "bytes",
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::Timestamp => "timestamp",
            Kind::Duration => "duration",
            Kind::Uuid => "uuid",
            Kind::Reference => "reference",
            Kind::List => "list",
            Kind::Set => "set",
            Kind::Bag => "bag",
            Kind::Map => "map",
            Kind::Struct => "struct",
        }
    }
}

impl<'a> ValueRef<'a> {
    /// The kind of value this is.
    pub fn kind(self) -> Kind {
        match self {
            ValueRef::Nil => Kind::Nil,
            ValueRef::Bool(_) => Kind::Bool,
            ValueRef::Int(_) => Kind::Int,
            ValueRef::Float(_) => Kind::Float,
            ValueRef::String(_) => Kind::String,
            ValueRef::Bytes(_) => Kind::Bytes,
            ValueRef::Reference(_) => Kind::Reference,
            ValueRef::Date(_) => Kind::Date,
            ValueRef::Time(_) => Kind::Time,
            ValueRef::Timestamp(_) => Kind::Timestamp,
            ValueRef::Duration(_) => Kind::Duration,
            ValueRef::Decimal(_) => Kind::Decimal,
            ValueRef::Uuid(_) => Kind::Uuid,
            ValueRef::Encoded(r#type, bytes) => codec::kind_of(r#type, bytes),
            ValueRef::Owned(value) => owned_kind(value),
        }
    }

    /// The same value with a scalar taken out of [`ValueRef::Owned`].
    #[inline]
    pub(crate) fn unwrapped(self) -> ValueRef<'a> {
        match self {
            ValueRef::Owned(value) => value.as_ref(),
            other => other,
        }
    }

    /// Whether this is nil.
    #[inline]
    pub fn is_nil(self) -> bool {
        matches!(self, ValueRef::Nil | ValueRef::Owned(Value::Nil))
    }

    /// The name of the value's type, as in `Type`'s text, without member types.
    pub fn type_name(self) -> &'static str {
        self.kind().name()
    }

    /// An owned copy; fails where stored bytes are damaged (text that is not UTF-8, a collection cut short).
    pub fn to_value(self) -> Result<Value> {
        Ok(match self {
            ValueRef::Nil => Value::Nil,
            ValueRef::Bool(value) => Value::Bool(value),
            ValueRef::Int(value) => Value::Int(value),
            ValueRef::Float(value) => Value::Float(value),
            ValueRef::String(value) => Value::String(codec::text(value)?.into()),
            ValueRef::Bytes(value) => Value::Bytes(value.into()),
            ValueRef::Reference(value) => Value::Reference(value),
            ValueRef::Date(value) => Value::Date(value),
            ValueRef::Time(value) => Value::Time(value),
            ValueRef::Timestamp(value) => Value::Timestamp(value),
            ValueRef::Duration(value) => Value::Duration(value),
            ValueRef::Decimal(value) => Value::Decimal(value),
            ValueRef::Uuid(value) => Value::Uuid(value),
            ValueRef::Encoded(..) => self.composite_to_value()?,
            ValueRef::Owned(value) => value.clone(),
        })
    }

    fn composite_to_value(self) -> Result<Value> {
        let kind = self.kind();
        if let Some(members) = self.members() {
            let members = members
                .map(|member| member.and_then(ValueRef::to_value))
                .collect::<Result<Vec<Value>>>()?;
            return Ok(match kind {
                Kind::Set => Value::Set(members.into()),
                Kind::Bag => Value::Bag(members.into()),
                _ => Value::List(members.into()),
            });
        }
        if let Some(entries) = self.entries() {
            let entries = entries
                .map(|entry| entry.and_then(|(key, value)| Ok((key.to_value()?, value.to_value()?))))
                .collect::<Result<Vec<(Value, Value)>>>()?;
            return Ok(Value::Map(entries.into()));
        }
        let fields = self
            .fields()
            .into_iter()
            .flatten()
            .map(|field| field.and_then(|(name, value)| Ok((name.into(), value.to_value()?))))
            .collect::<Result<Vec<(Arc<str>, Value)>>>()?;
        Ok(Value::Struct(fields.into()))
    }

    /// The text of a string, checked to be UTF-8; `None` for what is no string.
    pub fn as_str(self) -> Result<Option<&'a str>> {
        match self.unwrapped() {
            ValueRef::String(bytes) => codec::text(bytes).map(Some),
            _ => Ok(None),
        }
    }

    /// The number of members, entries or fields; `None` for what has none. Does not walk over them.
    pub fn len(self) -> Option<usize> {
        let members = self.members().map(|members| members.remaining());
        let entries = || self.entries().map(|entries| entries.remaining());
        let fields = || self.fields().map(|fields| fields.remaining());
        members.or_else(entries).or_else(fields)
    }

    /// Whether there are no members, entries or fields; `None` for what has none of these.
    pub fn is_empty(self) -> Option<bool> {
        self.len().map(|length| length == 0)
    }

    /// The members of a list, set or bag, in their order; `None` for what is no such collection. Damage shows as an
    /// item that is an error.
    pub fn members(self) -> Option<Members<'a>> {
        match self {
            ValueRef::Encoded(r#type, bytes) => codec::stored_members(r#type, bytes),
            ValueRef::Owned(value) => value.as_members().map(Members::owned),
            _ => None,
        }
    }

    /// The entries of a map, in the order of their keys; `None` for what is no map.
    pub fn entries(self) -> Option<Entries<'a>> {
        match self {
            ValueRef::Encoded(r#type, bytes) => codec::stored_entries(r#type, bytes),
            ValueRef::Owned(value) => value.as_entries().map(Entries::owned),
            _ => None,
        }
    }

    /// The fields of a struct, in the order of their declaration; `None` for what is no struct.
    pub fn fields(self) -> Option<Fields<'a>> {
        match self {
            ValueRef::Encoded(r#type, bytes) => codec::stored_fields(r#type, bytes),
            ValueRef::Owned(value) => value.as_fields().map(Fields::owned),
            _ => None,
        }
    }

    /// The field `name` of a struct; `None` for another name, and for what is no struct.
    pub fn field(self, name: &str) -> Result<Option<ValueRef<'a>>> {
        for field in self.fields().into_iter().flatten() {
            let (known, value) = field?;
            if known == name {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

fn owned_kind(value: &Value) -> Kind {
    match value {
        Value::List(_) => Kind::List,
        Value::Set(_) => Kind::Set,
        Value::Bag(_) => Kind::Bag,
        Value::Map(_) => Kind::Map,
        Value::Struct(_) => Kind::Struct,
        scalar => scalar.as_ref().kind(),
    }
}
