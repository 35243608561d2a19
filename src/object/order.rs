//! The one total order of values.
//!
//! By kind first: nil < bool < numbers < string < bytes < date < time < timestamp < duration < uuid < reference <
//! list < set < bag < map < struct. Within a kind:
//!
//! * false before true; numbers of all three types by exact value, -0.0 equal to 0.0, NaN equal to itself and after
//!   every other number;
//! * strings and bytes by byte, which for UTF-8 is the order of code points; references by OID;
//! * lists member by member, a prefix before what it begins; sets and bags the same over their sorted members; maps
//!   over their entries, key before value; structs over their fields in declaration order, name before value.
//!
//! Equality and hash agree with it. Nothing here allocates. A stored collection that is damaged compares as if it
//! ended at the damage: reading it as a value is what reports it.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::members::{Entries, Fields, Members};
use super::number::{self, Canonical, Exact};
use super::value::Value;
use super::value_ref::{Kind, ValueRef};
use crate::error::Result;

impl ValueRef<'_> {
    /// Where `self` stands to `other` in the one total order: the order of sorting, grouping, `distinct` and indexes.
    #[inline]
    pub fn compare(self, other: ValueRef<'_>) -> Ordering {
        match (self, other) {
            (ValueRef::Int(a), ValueRef::Int(b)) => a.cmp(&b),
            (ValueRef::String(a), ValueRef::String(b)) => a.cmp(b),
            (ValueRef::Reference(a), ValueRef::Reference(b)) => a.cmp(&b),
            _ => compare_any(self, other),
        }
    }

    /// What the comparison operators say: `None` (unknown) with nil, with NaN, and between types that cannot be
    /// compared. Members within collections compare by the total order.
    #[inline]
    pub fn compare_operator(self, other: ValueRef<'_>) -> Option<Ordering> {
        match (self, other) {
            (ValueRef::Int(a), ValueRef::Int(b)) => return Some(a.cmp(&b)),
            (ValueRef::String(a), ValueRef::String(b)) => return Some(a.cmp(b)),
            (ValueRef::Float(a), ValueRef::Float(b)) => return a.partial_cmp(&b),
            _ => {}
        }
        let comparable = !self.is_nil() && self.kind().rank() == other.kind().rank();
        let with_nan = self.is_nan() || other.is_nan();
        (comparable && !with_nan).then(|| compare_any(self, other))
    }

    /// Feeds a hash that agrees with [`ValueRef::compare`]: equal values hash alike.
    pub fn hash_into<H: Hasher>(self, state: &mut H) {
        self.kind().rank().hash(state);
        match self.unwrapped() {
            ValueRef::Nil => {}
            ValueRef::Bool(value) => value.hash(state),
            ValueRef::Int(value) => Canonical::Int(value).hash(state),
            ValueRef::Float(value) => number::canonical_float(value).hash(state),
            ValueRef::Decimal(value) => number::canonical_decimal(value).hash(state),
            ValueRef::String(value) | ValueRef::Bytes(value) => value.hash(state),
            ValueRef::Reference(value) => value.hash(state),
            ValueRef::Date(value) => value.hash(state),
            ValueRef::Time(value) => value.hash(state),
            ValueRef::Timestamp(value) => value.hash(state),
            ValueRef::Duration(value) => value.hash(state),
            ValueRef::Uuid(value) => value.hash(state),
            composite @ (ValueRef::Encoded(..) | ValueRef::Owned(_)) => hash_composite(composite, state),
        }
    }

    fn is_nan(self) -> bool {
        matches!(self.unwrapped(), ValueRef::Float(value) if value.is_nan())
    }
}

fn compare_any(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    match (a.unwrapped(), b.unwrapped()) {
        (ValueRef::Bool(a), ValueRef::Bool(b)) => a.cmp(&b),
        (ValueRef::Int(a), ValueRef::Int(b)) => a.cmp(&b),
        (ValueRef::Float(a), ValueRef::Float(b)) => number::compare_floats(a, b),
        (ValueRef::Int(a), ValueRef::Float(b)) => number::compare_int_float(a, b),
        (ValueRef::Float(a), ValueRef::Int(b)) => number::compare_int_float(b, a).reverse(),
        (ValueRef::Float(a), ValueRef::Decimal(b)) => number::compare_float_exact(a, b.into()),
        (ValueRef::Decimal(a), ValueRef::Float(b)) => number::compare_float_exact(b, a.into()).reverse(),
        (ValueRef::Decimal(a), ValueRef::Decimal(b)) => number::compare_exact(a.into(), b.into()),
        (ValueRef::Int(a), ValueRef::Decimal(b)) => number::compare_exact(a.into(), b.into()),
        (ValueRef::Decimal(a), ValueRef::Int(b)) => number::compare_exact(a.into(), b.into()),
        (ValueRef::String(a), ValueRef::String(b)) | (ValueRef::Bytes(a), ValueRef::Bytes(b)) => a.cmp(b),
        (ValueRef::Reference(a), ValueRef::Reference(b)) => a.cmp(&b),
        (ValueRef::Date(a), ValueRef::Date(b)) => a.cmp(&b),
        (ValueRef::Time(a), ValueRef::Time(b)) => a.cmp(&b),
        (ValueRef::Timestamp(a), ValueRef::Timestamp(b)) => a.cmp(&b),
        (ValueRef::Duration(a), ValueRef::Duration(b)) => a.cmp(&b),
        (ValueRef::Uuid(a), ValueRef::Uuid(b)) => a.cmp(&b),
        (a, b) => a
            .kind()
            .rank()
            .cmp(&b.kind().rank())
            .then_with(|| compare_composites(a, b)),
    }
}

/// Orders two values of one kind that have members, entries or fields; others are equal.
fn compare_composites(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    match a.kind() {
        Kind::List | Kind::Set | Kind::Bag => compare_walks(a.members(), b.members(), |a, b| a.compare(b)),
        Kind::Map => compare_walks(a.entries(), b.entries(), |a, b| {
            a.0.compare(b.0).then_with(|| a.1.compare(b.1))
        }),
        Kind::Struct => compare_walks(a.fields(), b.fields(), |a, b| {
            a.0.cmp(b.0).then_with(|| a.1.compare(b.1))
        }),
        _ => Ordering::Equal,
    }
}

/// Orders two walks item by item; the one that ends first is the smaller. Damage ends a walk.
fn compare_walks<T, A, B>(a: Option<A>, b: Option<B>, compare: impl Fn(T, T) -> Ordering) -> Ordering
where
    A: Iterator<Item = Result<T>>,
    B: Iterator<Item = Result<T>>,
{
    let mut a = a.into_iter().flatten().map_while(Result::ok);
    let mut b = b.into_iter().flatten().map_while(Result::ok);
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => compare(a, b),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn hash_composite<H: Hasher>(value: ValueRef<'_>, state: &mut H) {
    let mut count = 0usize;
    for member in value.members().into_iter().flatten().flatten() {
        member.hash_into(state);
        count += 1;
    }
    for (key, value) in value.entries().into_iter().flatten().flatten() {
        key.hash_into(state);
        value.hash_into(state);
        count += 1;
    }
    for (name, value) in value.fields().into_iter().flatten().flatten() {
        name.hash(state);
        value.hash_into(state);
        count += 1;
    }
    count.hash(state);
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        self.as_ref().compare(other.as_ref())
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash_into(state);
    }
}
