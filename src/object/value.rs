//! Values: owned ([`Value`]) and borrowed from a stored record ([`ValueRef`]).

use std::sync::Arc;

use rust_decimal::Decimal;
use uuid::Uuid;

use super::oid::Oid;
use super::types::Type;

/// A calendar date: days since 1970-01-01 (negative before), years -9999 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

/// A time of day: microseconds since midnight, below 86,400,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// An instant: microseconds since 1970-01-01 00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// A length of time in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i64);

/// An owned value of any type.
///
/// `PartialEq`, `Ord` and `Hash` follow the one total order of Olivine (see `order.rs`), not the order of the
/// variants: `Int(1) == Float(1.0)`, NaN equals itself. Sets, bags and maps are kept in that order.
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

/// A value borrowed from a stored record (or from an owned [`Value`]); `Copy`, 24 bytes or less.
///
/// Text stays bytes until it is shown: it was checked to be UTF-8 when it was written, byte order is code point
/// order, and a scan need not check it again. [`ValueRef::to_value`] checks.
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
    /// A decimal number, as its 16 stored bytes.
    Decimal(&'a [u8; 16]),
    /// A 128-bit identifier.
    Uuid(&'a [u8; 16]),
    /// A collection, map or struct as stored: its type and its encoded bytes, decoded member by member.
    Encoded(&'a Type, &'a [u8]),
    /// An owned value of any kind, borrowed.
    Owned(&'a Value),
}
