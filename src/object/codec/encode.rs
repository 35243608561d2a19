//! Single values to bytes.

use std::sync::{Arc, LazyLock};

use rust_decimal::Decimal;

use super::super::types::Type;
use super::super::value::Value;
use super::super::value_ref::Kind;
use super::decode::ANY;
use super::varint::{put_varint, zigzag};

/// What kind of value follows, where the type is `any`. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Tag {
    Bool = 1,
    Int = 2,
    Float = 3,
    Decimal = 4,
    String = 5,
    Bytes = 6,
    Date = 7,
    Time = 8,
    Timestamp = 9,
    Duration = 10,
    Uuid = 11,
    Reference = 12,
    List = 13,
    Set = 14,
    Bag = 15,
    Map = 16,
    Struct = 17,
}

/// The type of references whose class is not declared.
static REFERENCE: LazyLock<Type> = LazyLock::new(|| Type::reference("any"));

impl Tag {
    const ALL: [Tag; 17] = [
        Tag::Bool,
        Tag::Int,
        Tag::Float,
        Tag::Decimal,
        Tag::String,
        Tag::Bytes,
        Tag::Date,
        Tag::Time,
        Tag::Timestamp,
        Tag::Duration,
        Tag::Uuid,
        Tag::Reference,
        Tag::List,
        Tag::Set,
        Tag::Bag,
        Tag::Map,
        Tag::Struct,
    ];

    /// The tag stored as this byte.
    pub fn of(byte: u8) -> Option<Tag> {
        Tag::ALL.get(usize::from(byte).checked_sub(1)?).copied()
    }

    /// Whether it stands before a collection, map or struct.
    pub fn is_composite(self) -> bool {
        self as u8 >= Tag::List as u8
    }

    /// The type of the scalar that follows; `None` for composites.
    pub fn scalar(self) -> Option<&'static Type> {
        Some(match self {
            Tag::Bool => &Type::Bool,
            Tag::Int => &Type::Int,
            Tag::Float => &Type::Float,
            Tag::Decimal => &Type::Decimal,
            Tag::String => &Type::String,
            Tag::Bytes => &Type::Bytes,
            Tag::Date => &Type::Date,
            Tag::Time => &Type::Time,
            Tag::Timestamp => &Type::Timestamp,
            Tag::Duration => &Type::Duration,
            Tag::Uuid => &Type::Uuid,
            Tag::Reference => &REFERENCE,
            Tag::List | Tag::Set | Tag::Bag | Tag::Map | Tag::Struct => return None,
        })
    }

    /// The kind of value that follows.
    pub fn kind(self) -> Kind {
        match self {
            Tag::Bool => Kind::Bool,
            Tag::Int => Kind::Int,
            Tag::Float => Kind::Float,
            Tag::Decimal => Kind::Decimal,
            Tag::String => Kind::String,
            Tag::Bytes => Kind::Bytes,
            Tag::Date => Kind::Date,
            Tag::Time => Kind::Time,
            Tag::Timestamp => Kind::Timestamp,
            Tag::Duration => Kind::Duration,
            Tag::Uuid => Kind::Uuid,
            Tag::Reference => Kind::Reference,
            Tag::List => Kind::List,
            Tag::Set => Kind::Set,
            Tag::Bag => Kind::Bag,
            Tag::Map => Kind::Map,
            Tag::Struct => Kind::Struct,
        }
    }

    /// The tag of an owned value; `None` for nil.
    fn of_value(value: &Value) -> Option<Tag> {
        Some(match value {
            Value::Nil => return None,
            Value::Bool(_) => Tag::Bool,
            Value::Int(_) => Tag::Int,
            Value::Float(_) => Tag::Float,
            Value::Decimal(_) => Tag::Decimal,
            Value::String(_) => Tag::String,
            Value::Bytes(_) => Tag::Bytes,
            Value::Date(_) => Tag::Date,
            Value::Time(_) => Tag::Time,
            Value::Timestamp(_) => Tag::Timestamp,
            Value::Duration(_) => Tag::Duration,
            Value::Uuid(_) => Tag::Uuid,
            Value::Reference(_) => Tag::Reference,
            Value::List(_) => Tag::List,
            Value::Set(_) => Tag::Set,
            Value::Bag(_) => Tag::Bag,
            Value::Map(_) => Tag::Map,
            Value::Struct(_) => Tag::Struct,
        })
    }
}

/// Appends `value`, which fits `type` (see `coerce`); nil appends nothing.
pub(crate) fn put(r#type: &Type, value: &Value, out: &mut Vec<u8>) {
    if *r#type == Type::Any
        && let Some(tag) = Tag::of_value(value)
    {
        out.push(tag as u8);
    }
    match value {
        Value::Nil => {}
        Value::Bool(value) => out.push(u8::from(*value)),
        Value::Int(value) => put_int(*value, out),
        Value::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Decimal(value) => put_decimal(*value, out),
        Value::String(value) => put_bytes(value.as_bytes(), out),
        Value::Bytes(value) => put_bytes(value, out),
        Value::Date(value) => put_int(i64::from(value.0), out),
        Value::Time(value) => put_int(value.0, out),
        Value::Timestamp(value) => put_int(value.0, out),
        Value::Duration(value) => put_int(value.0, out),
        Value::Uuid(value) => out.extend_from_slice(value.as_bytes()),
        Value::Reference(value) => out.extend_from_slice(&value.to_bits().to_le_bytes()),
        Value::List(members) | Value::Set(members) | Value::Bag(members) => {
            put_members(r#type.member().unwrap_or(&ANY), members, out);
        }
        Value::Map(entries) => put_entries(r#type, entries, out),
        Value::Struct(fields) => put_fields(r#type, fields, out),
    }
}

/// Appends an integer.
pub(crate) fn put_int(value: i64, out: &mut Vec<u8>) {
    put_varint(zigzag(value), out);
}

/// Appends text or bytes with their length.
pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends a decimal: mantissa in the low 96 bits, scale in the next 8, sign in the highest.
pub(crate) fn put_decimal(value: Decimal, out: &mut Vec<u8>) {
    let mantissa = value.mantissa();
    // Only a zero can be made to claim more digits than there are.
    let scale = value.scale().min(Decimal::MAX_SCALE);
    let word = mantissa.unsigned_abs() | u128::from(scale) << 96 | u128::from(mantissa < 0) << 127;
    out.extend_from_slice(&word.to_le_bytes());
}

/// Appends the head of something counted: its number of items, and a bitmap if any of `nils` (one a bit) is set.
pub(crate) fn put_header(count: usize, nils: impl Iterator<Item = bool> + Clone, out: &mut Vec<u8>) {
    let has_nil = nils.clone().any(|nil| nil);
    put_varint((count as u64) << 1 | u64::from(has_nil), out);
    if has_nil {
        put_bitmap(nils, out);
    }
}

/// Appends a bit for each of `nils`, the first one lowest.
pub(crate) fn put_bitmap(nils: impl Iterator<Item = bool>, out: &mut Vec<u8>) {
    let (mut byte, mut bits) = (0, 0);
    for nil in nils {
        byte |= u8::from(nil) << bits;
        bits += 1;
        if bits == 8 {
            out.push(byte);
            (byte, bits) = (0, 0);
        }
    }
    if bits > 0 {
        out.push(byte);
    }
}

fn put_members(member: &Type, members: &[Value], out: &mut Vec<u8>) {
    put_header(members.len(), members.iter().map(Value::is_nil), out);
    for value in members {
        put(member, value, out);
    }
}

fn put_entries(r#type: &Type, entries: &[(Value, Value)], out: &mut Vec<u8>) {
    let (key_type, value_type) = match r#type {
        Type::Map(key, value) => (&**key, &**value),
        _ => (&ANY, &ANY),
    };
    let nils = entries
        .iter()
        .flat_map(|(key, value)| [key.is_nil(), value.is_nil()]);
    put_header(entries.len(), nils, out);
    for (key, value) in entries {
        put(key_type, key, out);
        put(value_type, value, out);
    }
}

fn put_fields(r#type: &Type, fields: &[(Arc<str>, Value)], out: &mut Vec<u8>) {
    let nils = fields.iter().map(|(_, value)| value.is_nil());
    if let Type::Struct(declared) = r#type {
        put_bitmap(nils, out);
        if declared.is_empty() {
            out.push(0);
        }
        for ((_, field), (_, value)) in declared.iter().zip(fields) {
            put(field, value, out);
        }
    } else {
        put_header(fields.len(), nils, out);
        for (name, value) in fields {
            put_bytes(name.as_bytes(), out);
            put(&ANY, value, out);
        }
    }
}
