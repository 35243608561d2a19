//! Index keys: values as bytes whose order is the order of the values.
//!
//! A key is its components one after another. The encoding of a component is prefix-free (no encoding is the
//! beginning of another), so keys compare component by component; a descending component is complemented bit by bit.
//! Equal values encode alike, whatever their types. Keys are only compared, never decoded: what an index finds is
//! read from the object.
//!
//! # A component
//!
//! A tag byte for the kind, then:
//!
//! * bool: one byte; date 4 bytes, time, timestamp, duration 8 bytes, big-endian with the sign bit flipped; uuid 16
//!   bytes; reference 8 bytes;
//! * string, bytes: the bytes with 0 written as 1 1 and 1 as 1 2, then 0;
//! * list, set, bag: the members, then 0; map: keys and values in turn, then 0; struct: names (as strings) and values
//!   in turn, then 0. (A tag is never 0.)
//!
//! # Numbers
//!
//! A number is written as the largest double whose magnitude is not above its own, and what remains, if anything
//! does. The magnitude of the double is 63 bits, in groups of seven from the most significant, one a byte in its high
//! bits; the low bit says that more follows, and groups of zeros at the end are left out. So a small int takes
//! 3 bytes with its tag, and no int or float more than 10, but for the ints that no double holds. What remains
//! belongs to an int or a decimal: the difference of the whole parts as a length byte and that many bytes, then the
//! decimal digits of the fraction in pairs, each plus one, then 0. A negative number is the complement of its
//! magnitude, under a smaller tag; NaN has a tag of its own after both.

use std::ops::Bound;

use siphasher::sip128::SipHasher13;
use smallvec::SmallVec;

use super::change::IndexKey;
use crate::error::Result;
use crate::object::{Decimal, Exact, Kind, Value, ValueRef, floor_float, power_of_ten};

/// The longest key that a unique index keeps as it is.
const UNIQUE_LENGTH: usize = 18;
/// First byte of a hashed unique key; no component starts with it.
const HASHED: u8 = 0;

const NEGATIVE: u8 = 0x18;
const POSITIVE: u8 = 0x19;
const NOT_A_NUMBER: u8 = 0x1a;

/// The tag of a kind that has only one.
fn tag(kind: Kind) -> u8 {
    (kind.rank() + 1) * 8
}

/// Appends the encoding of one component of a key to `out`.
pub fn encode_component(value: ValueRef<'_>, descending: bool, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    encode(value, out)?;
    if descending {
        complement_from(start, out);
    }
    Ok(())
}

fn complement_from(start: usize, out: &mut [u8]) {
    for byte in out.iter_mut().skip(start) {
        *byte = !*byte;
    }
}

fn encode(value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<()> {
    match value {
        ValueRef::Int(value) => encode_int(value, out),
        ValueRef::Float(value) => encode_float(value, out),
        ValueRef::Decimal(value) => encode_decimal(value, out),
        ValueRef::Owned(value) if !matches!(value.as_ref(), ValueRef::Owned(_)) => {
            encode(value.as_ref(), out)?
        }
        other => {
            out.push(tag(other.kind()));
            encode_content(other, out)?;
        }
    }
    Ok(())
}

/// What follows the tag of anything but a number.
fn encode_content(value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<()> {
    match value {
        ValueRef::Bool(value) => out.push(u8::from(value)),
        ValueRef::String(bytes) | ValueRef::Bytes(bytes) => encode_bytes(bytes, out),
        ValueRef::Date(date) => {
            out.extend_from_slice(&(date.0.cast_unsigned() ^ 1 << 31).to_be_bytes());
        }
        ValueRef::Time(time) => encode_signed(time.0, out),
        ValueRef::Timestamp(time) => encode_signed(time.0, out),
        ValueRef::Duration(time) => encode_signed(time.0, out),
        ValueRef::Uuid(uuid) => out.extend_from_slice(uuid.as_bytes()),
        ValueRef::Reference(oid) => out.extend_from_slice(&oid.to_bits().to_be_bytes()),
        composite @ (ValueRef::Encoded(..) | ValueRef::Owned(_)) => encode_composite(composite, out)?,
        ValueRef::Nil | ValueRef::Int(_) | ValueRef::Float(_) | ValueRef::Decimal(_) => {}
    }
    Ok(())
}

fn encode_signed(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value.cast_unsigned() ^ 1 << 63).to_be_bytes());
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 1);
    for &byte in bytes {
        if byte <= 1 {
            out.push(1);
        }
        out.push(if byte <= 1 { byte + 1 } else { byte });
    }
    out.push(0);
}

fn encode_composite(value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<()> {
    for member in value.members().into_iter().flatten() {
        encode(member?, out)?;
    }
    for entry in value.entries().into_iter().flatten() {
        let (key, value) = entry?;
        encode(key, out)?;
        encode(value, out)?;
    }
    for field in value.fields().into_iter().flatten() {
        let (name, value) = field?;
        out.push(tag(Kind::String));
        encode_bytes(name.as_bytes(), out);
        encode(value, out)?;
    }
    out.push(0);
    Ok(())
}

fn encode_int(value: i64, out: &mut Vec<u8>) {
    let magnitude = value.unsigned_abs();
    // Up to 2^53 every int is a double.
    if magnitude <= 1 << 53 {
        encode_number(value < 0, magnitude as f64, None, out);
    } else {
        encode_exact(value.into(), out);
    }
}

fn encode_float(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        out.push(NOT_A_NUMBER);
    } else {
        encode_number(value < 0.0, value.abs(), None, out);
    }
}

fn encode_decimal(value: Decimal, out: &mut Vec<u8>) {
    encode_exact(value.into(), out);
}

/// What remains of a number above the largest double that is not above it.
struct Remainder {
    /// Difference of the whole parts; below 2^44.
    whole: u64,
    /// The fraction of the number itself, `fraction / 10^scale`.
    fraction: u128,
    scale: u32,
}

fn encode_exact(value: Exact, out: &mut Vec<u8>) {
    let magnitude = value.mantissa.unsigned_abs();
    let float = floor_float(magnitude, value.scale);
    let unit = power_of_ten(value.scale);
    // Casts from double truncate, and these doubles are below 2^97.
    let below = float as u128;
    let remainder = Remainder {
        whole: (magnitude / unit).saturating_sub(below) as u64,
        fraction: magnitude % unit,
        scale: value.scale,
    };
    let exact = value.equals_magnitude(float);
    encode_number(value.mantissa < 0, float, (!exact).then_some(remainder), out);
}

fn encode_number(negative: bool, magnitude: f64, remainder: Option<Remainder>, out: &mut Vec<u8>) {
    out.push(if negative { NEGATIVE } else { POSITIVE });
    let start = out.len();
    let bits = magnitude.to_bits();
    for shift in (0..=56).rev().step_by(7) {
        let more = remainder.is_some() || bits & ((1 << shift) - 1) != 0;
        let group = (bits >> shift) as u8 & 0x7f;
        out.push(group << 1 | u8::from(more));
        if !more {
            break;
        }
    }
    if let Some(remainder) = remainder {
        encode_remainder(&remainder, out);
    }
    if negative {
        complement_from(start, out);
    }
}

fn encode_remainder(remainder: &Remainder, out: &mut Vec<u8>) {
    let bytes = remainder.whole.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    out.push((bytes.len() - zeros) as u8);
    out.extend(bytes.iter().skip(zeros));
    let mut pairs: SmallVec<[u8; 16]> = SmallVec::new();
    let mut rest = remainder.fraction;
    let mut scale = remainder.scale;
    if scale % 2 == 1 {
        rest *= 10;
        scale += 1;
    }
    for _ in 0..scale / 2 {
        pairs.push((rest % 100) as u8 + 1);
        rest /= 100;
    }
    let significant = pairs.iter().skip_while(|pair| **pair == 1).count();
    out.extend(pairs.iter().rev().take(significant));
    out.push(0);
}

/// The key of a unique index for an encoded key: the key itself where it has at most 18 bytes, else a keyed hash of
/// it in 17 bytes. Two different long keys may have one hash: the object tells.
pub fn unique_key(encoded: &[u8], secret: [u8; 16]) -> IndexKey {
    if encoded.len() <= UNIQUE_LENGTH {
        return IndexKey::from_slice(encoded);
    }
    let hash = SipHasher13::new_with_key(&secret).hash(encoded).as_bytes();
    let mut key = IndexKey::new();
    key.push(HASHED);
    key.extend_from_slice(&hash);
    key
}

/// Whether a key that [`unique_key`] gave is a hash, so that an object found under it must be verified.
pub fn is_hash(key: &[u8]) -> bool {
    key.first() == Some(&HASHED)
}

/// The encoded keys equal to `prefix` in the first components and within the bounds in the next one: from the first
/// (inclusive) up to the second (exclusive; none is the end of all keys). `descending` has the direction of each
/// component of the index; a component without one is ascending. Empty where the start is not before the end.
pub fn range_bounds(
    prefix: &[Value],
    lower: Bound<&Value>,
    upper: Bound<&Value>,
    descending: &[bool],
) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
    let direction = |component: usize| descending.get(component).copied().unwrap_or(false);
    let mut shared = Vec::new();
    for (component, value) in prefix.iter().enumerate() {
        encode_component(value.as_ref(), direction(component), &mut shared)?;
    }
    let reversed = direction(prefix.len());
    let (first, last) = if reversed { (upper, lower) } else { (lower, upper) };
    let with = |value: &Value| {
        let mut key = shared.clone();
        encode_component(value.as_ref(), reversed, &mut key).map(|()| key)
    };
    // All longer keys that begin with a key lie between it and its successor. A key that has no successor would be
    // all ones, which no component is.
    let start = match first {
        Bound::Included(value) => with(value)?,
        Bound::Excluded(value) => successor(with(value)?).unwrap_or_default(),
        Bound::Unbounded => shared.clone(),
    };
    let end = match last {
        Bound::Included(value) => successor(with(value)?),
        Bound::Excluded(value) => Some(with(value)?),
        Bound::Unbounded => successor(shared),
    };
    Ok((start, end))
}

/// The smallest key above all that begin with `key`; `None` where there is none.
pub fn successor(mut key: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = key.pop() {
        if let Some(next) = last.checked_add(1) {
            key.push(next);
            return Some(key);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;
    use crate::object::arbitrary_tests::{Random, near_numbers, value};

    fn key(value: &Value, descending: bool) -> Vec<u8> {
        let mut key = Vec::new();
        encode_component(value.as_ref(), descending, &mut key).unwrap();
        key
    }

    fn check(a: &Value, b: &Value) {
        let order = a.cmp(b);
        let (ascending_a, ascending_b) = (key(a, false), key(b, false));
        assert_eq!(
            ascending_a.cmp(&ascending_b),
            order,
            "{a} and {b}: {ascending_a:x?} and {ascending_b:x?}"
        );
        let (descending_a, descending_b) = (key(a, true), key(b, true));
        assert_eq!(descending_b.cmp(&descending_a), order, "{a} and {b}, descending");
        if order != Ordering::Equal {
            assert!(!ascending_a.starts_with(&ascending_b), "{b} begins {a}");
            assert!(
                !descending_a.starts_with(&descending_b),
                "{b} begins {a}, descending"
            );
        }
    }

    #[test]
    fn keys_have_the_order_of_values_and_are_free_of_prefixes() {
        let mut random = Random::new("key");
        for _ in 0..30_000 {
            let (a, b) = near_numbers(&mut random);
            check(&a, &b);
            check(&b, &a);
            check(&value(&mut random), &value(&mut random));
        }
    }

    #[test]
    fn common_keys_are_short() {
        assert_eq!(key(&Value::Int(0), false).len(), 2);
        assert_eq!(key(&Value::Int(1), false).len(), 3);
        assert!(key(&Value::Int(1_000_000), false).len() <= 6);
        assert!(key(&Value::Int(-123_456_789_012), false).len() <= 9);
        assert_eq!(key(&Value::Float(0.1), false).len(), 10);
        assert!(key(&Value::Int(i64::MAX), false).len() <= 14);
        assert!(key(&Value::Decimal("12.99".parse().unwrap()), false).len() <= 14);
        assert_eq!(key(&"abc".into(), false).len(), 5);
    }

    #[test]
    fn long_unique_keys_are_hashed_and_cannot_be_taken_for_short_ones() {
        let short = key(&"0123456789abcdef".into(), false);
        assert_eq!(unique_key(&short, [7; 16]).as_slice(), short);
        let long = key(&"0123456789abcdefg".into(), false);
        let hashed = unique_key(&long, [7; 16]);
        assert_eq!((hashed.len(), hashed[0]), (17, HASHED));
        assert_ne!(hashed, unique_key(&long, [8; 16]));
        assert_ne!(
            hashed,
            unique_key(&key(&"0123456789abcdefh".into(), false), [7; 16])
        );
    }

    fn bound_holds(value: &Value, lower: &Bound<Value>, upper: &Bound<Value>) -> bool {
        use std::ops::RangeBounds;
        (lower.as_ref(), upper.as_ref()).contains(&value)
    }

    #[test]
    fn ranges_hold_exactly_the_keys_within_their_bounds() {
        let mut random = Random::new("range");
        for _ in 0..5_000 {
            let directions = [random.below(2) == 0, random.below(2) == 0, random.below(2) == 0];
            let values: Vec<Value> = (0..6).map(|_| near_numbers(&mut random).0).collect();
            let bound = |random: &mut Random| match random.below(3) {
                0 => Bound::Unbounded,
                1 => Bound::Included(random.pick(&values)),
                _ => Bound::Excluded(random.pick(&values)),
            };
            let (lower, upper) = (bound(&mut random), bound(&mut random));
            let first = random.pick(&values);
            let (start, end) = range_bounds(
                std::slice::from_ref(&first),
                lower.as_ref(),
                upper.as_ref(),
                &directions,
            )
            .unwrap();
            for (prefix, second) in [
                (&first, &values[0]),
                (&first, &values[1]),
                (&values[2], &values[3]),
            ] {
                let mut whole = Vec::new();
                for (component, value) in [prefix, second, &values[4]].into_iter().enumerate() {
                    encode_component(value.as_ref(), directions[component], &mut whole).unwrap();
                }
                let within = whole >= start && end.as_ref().is_none_or(|end| whole < *end);
                let expected = *prefix == first && bound_holds(second, &lower, &upper);
                assert_eq!(
                    within, expected,
                    "{prefix}, {second} in {first}, {lower:?} .. {upper:?}"
                );
            }
        }
    }
}
