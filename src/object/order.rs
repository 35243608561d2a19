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

use super::number::{self, Canonical};
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

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use super::super::arbitrary_tests::{Random, near_numbers, number, value};
    use super::super::number::power_of_ten;
    use super::*;
    use crate::object::{Date, Decimal, Oid, Time};

    fn decimal(text: &str) -> Value {
        Value::Decimal(text.parse().unwrap())
    }

    fn check_pair(a: &Value, b: &Value, hasher: &RandomState) {
        let order = a.cmp(b);
        assert_eq!(order, b.cmp(a).reverse(), "{a} and {b}");
        assert_eq!(order == Ordering::Equal, a == b, "{a} and {b}");
        if order == Ordering::Equal {
            assert_eq!(hasher.hash_one(a), hasher.hash_one(b), "{a} and {b}");
        }
        if let Some(operator) = a.as_ref().compare_operator(b.as_ref()) {
            assert_eq!(operator, order, "{a} and {b}");
        }
    }

    fn check_triple(mut three: [Value; 3]) {
        three.sort();
        let [a, b, c] = three;
        assert!(a <= b && b <= c && a <= c, "{a}, {b}, {c}");
        if a == b && b == c {
            assert_eq!(a, c);
        }
    }

    #[test]
    fn values_have_one_total_order_and_hash_as_they_equal() {
        let mut random = Random::new("order");
        let hasher = RandomState::new();
        for _ in 0..20_000 {
            let (a, b) = near_numbers(&mut random);
            check_pair(&a, &b, &hasher);
            check_triple([a, b, number(&mut random)]);
            let (a, b) = (value(&mut random), value(&mut random));
            check_pair(&a, &b, &hasher);
            check_pair(&a, &a, &hasher);
            check_triple([a, b, value(&mut random)]);
        }
    }

    #[test]
    fn numbers_compare_by_exact_value_whatever_their_types() {
        let ascending = [
            Value::Float(f64::NEG_INFINITY),
            Value::Float(-1e300),
            Value::Int(i64::MIN),
            decimal("-9223372036854775807.5"),
            Value::Int(-1),
            decimal("-0.0000000000000000000000000001"),
            Value::Float(-5e-324),
            Value::Int(0),
            Value::Float(5e-324),
            Value::Float(1e-29),
            decimal("0.0000000000000000000000000001"),
            decimal("0.1"),
            Value::Float(0.1),
            decimal("0.1000000000000000055511151232"),
            Value::Int(1),
            Value::Int(1 << 53),
            decimal("9007199254740992.5"),
            Value::Int((1 << 53) + 1),
            Value::Float(9_007_199_254_740_994.0),
            Value::Int(i64::MAX),
            Value::Float(9_223_372_036_854_775_808.0),
            decimal("79228162514264337593543950335"),
            Value::Float(2f64.powi(96)),
            Value::Float(f64::INFINITY),
            Value::Float(f64::NAN),
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a} and {b}");
            }
        }
        assert_eq!(Value::Int(1), Value::Float(1.0));
        assert_eq!(Value::Int(1), decimal("1.000"));
        assert_eq!(Value::Float(0.5), decimal("0.5"));
        assert_eq!(Value::Float(-0.0), Value::Int(0));
        assert_eq!(Value::Float(f64::NAN), Value::Float(-f64::NAN));
        assert_eq!(power_of_ten(28), 10u128.pow(28));
    }

    #[test]
    fn kinds_stand_in_the_documented_order() {
        let ascending = [
            Value::Nil,
            Value::Bool(true),
            Value::Float(f64::NAN),
            "".into(),
            Value::Bytes([].into()),
            Value::Date(Date(0)),
            Value::Time(Time(0)),
            Value::Timestamp(crate::object::Timestamp(0)),
            Value::Duration(crate::object::Duration(0)),
            Value::Uuid(crate::object::Uuid::nil()),
            Value::Reference(Oid::from_bits(1).unwrap()),
            Value::list([0i64; 0]),
            Value::set([0i64; 0]),
            Value::bag([0i64; 0]),
            Value::map([(0i64, 0i64); 0]),
            Value::structure([("a", 0i64); 0]),
        ];
        assert!(ascending.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn operators_know_nothing_of_nil_nan_and_other_types() {
        let unknown = [
            (Value::Nil, Value::Nil),
            (Value::Nil, Value::Int(1)),
            (Value::Float(f64::NAN), Value::Float(f64::NAN)),
            (Value::Float(f64::NAN), Value::Int(1)),
            (decimal("1"), Value::Float(f64::NAN)),
            ("1".into(), Value::Int(1)),
            (Value::Date(Date(0)), Value::Time(Time(0))),
        ];
        for (a, b) in unknown {
            assert_eq!(a.as_ref().compare_operator(b.as_ref()), None, "{a} and {b}");
            assert_eq!(b.as_ref().compare_operator(a.as_ref()), None, "{a} and {b}");
        }
        let one = Value::Int(1);
        let half = Value::Decimal(Decimal::new(5, 1));
        assert_eq!(
            one.as_ref().compare_operator(half.as_ref()),
            Some(Ordering::Greater)
        );
    }

    #[test]
    fn sets_and_maps_are_canonical() {
        assert_eq!(Value::set([3, 1, 3, 2]).to_string(), "set(1, 2, 3)");
        assert_eq!(Value::bag([3, 1, 3]).to_string(), "bag(1, 3, 3)");
        let map = Value::map([("b", 1), ("a", 2), ("b", 3)]);
        assert_eq!(map.to_string(), "map('a': 2, 'b': 3)");
    }
}
