//! Values borrowed from a stored record or from an owned value.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::members::{Entries, Fields, Members};
use super::oid::Oid;
use super::time::{Date, Duration, Time, Timestamp};
use super::types::Type;
use super::value::Value;
use crate::error::{Error, Result};

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

impl<'a> ValueRef<'a> {
    /// The kind of value this is.
    pub fn kind(self) -> Kind {
        todo!()
    }

    /// Whether this is nil.
    #[inline]
    pub fn is_nil(self) -> bool {
        matches!(self, ValueRef::Nil | ValueRef::Owned(Value::Nil))
    }

    /// The name of the value's type, as in `Type`'s text, without member types.
    pub fn type_name(self) -> &'static str {
        todo!()
    }

    /// An owned copy; fails where stored bytes are damaged (text that is not UTF-8, a collection cut short).
    pub fn to_value(self) -> Result<Value> {
        todo!()
    }

    /// The text of a string, checked to be UTF-8; `None` for what is no string.
    pub fn as_str(self) -> Result<Option<&'a str>> {
        todo!()
    }

    /// The number of members, entries or fields; `None` for what has none.
    pub fn len(self) -> Result<Option<usize>> {
        todo!()
    }

    /// The members of a list, set or bag, in their order; `None` for what is no such collection.
    pub fn members(self) -> Result<Option<Members<'a>>> {
        todo!()
    }

    /// The entries of a map, in the order of their keys; `None` for what is no map.
    pub fn entries(self) -> Result<Option<Entries<'a>>> {
        todo!()
    }

    /// The fields of a struct, in the order of their declaration; `None` for what is no struct.
    pub fn fields(self) -> Result<Option<Fields<'a>>> {
        todo!()
    }

    /// The field `name` of a struct; `None` for another name, and for what is no struct.
    pub fn field(self, name: &str) -> Result<Option<ValueRef<'a>>> {
        todo!()
    }
}
