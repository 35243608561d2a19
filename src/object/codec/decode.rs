//! Single values from bytes.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::super::members::{Entries, Fields, Members};
use super::super::oid::Oid;
use super::super::time::{Date, Duration, Time, Timestamp};
use super::super::types::Type;
use super::super::value_ref::{Kind, ValueRef};
use super::MAX_DEPTH;
use super::encode::Tag;
use super::varint::{take_varint, unzigzag};
use crate::error::{Error, Result};

/// The type of whatever is stored under `any`.
pub(crate) static ANY: Type = Type::Any;

/// Damage in the bytes at hand; who knows which object they belong to adds that.
#[cold]
pub(super) fn damaged(what: &str) -> Error {
    Error::corruption("a stored value", what)
}

fn cut_short() -> Error {
    damaged("it is cut short")
}

/// The value of type `type` whose whole encoding is `bytes`; empty bytes are nil.
#[inline]
pub fn decode<'a>(r#type: &'a Type, bytes: &'a [u8]) -> Result<ValueRef<'a>> {
    let mut rest = bytes;
    let value = match (r#type, bytes.first()) {
        (_, None) => return Ok(ValueRef::Nil),
        (Type::List(_) | Type::Set(_) | Type::Bag(_) | Type::Map(..) | Type::Struct(_), _) => {
            return Ok(ValueRef::Encoded(r#type, bytes));
        }
        (Type::Any, Some(&tag)) if Tag::of(tag).is_some_and(Tag::is_composite) => {
            return Ok(ValueRef::Encoded(&ANY, bytes));
        }
        _ => take(r#type, &mut rest)?,
    };
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(damaged("bytes are left over after its end"))
    }
}

/// Takes one value of type `type`, not nil, off the front.
#[inline]
pub(crate) fn take<'a>(r#type: &'a Type, input: &mut &'a [u8]) -> Result<ValueRef<'a>> {
    match r#type {
        Type::Reference(_) => take_reference(input).map(ValueRef::Reference),
        Type::Int => take_int(input).map(ValueRef::Int),
        Type::String => take_bytes(input).map(ValueRef::String),
        Type::Any => take_tagged(input),
        Type::Float => take_array(input).map(|bytes| ValueRef::Float(f64::from_le_bytes(*bytes))),
        Type::Bool => take_bool(input).map(ValueRef::Bool),
        Type::Bytes => take_bytes(input).map(ValueRef::Bytes),
        Type::Date => take_date(input).map(ValueRef::Date),
        Type::Time => take_int(input).map(|time| ValueRef::Time(Time(time))),
        Type::Timestamp => take_int(input).map(|time| ValueRef::Timestamp(Timestamp(time))),
        Type::Duration => take_int(input).map(|time| ValueRef::Duration(Duration(time))),
        Type::Decimal => take_array(input).and_then(decimal).map(ValueRef::Decimal),
        Type::Uuid => take_array(input).map(|bytes| ValueRef::Uuid(Uuid::from_bytes(*bytes))),
        Type::List(_) | Type::Set(_) | Type::Bag(_) | Type::Map(..) | Type::Struct(_) => {
            take_composite(r#type, input)
        }
    }
}

/// Takes a value with its tag.
fn take_tagged<'a>(input: &mut &'a [u8]) -> Result<ValueRef<'a>> {
    let (&tag, rest) = input.split_first().ok_or_else(cut_short)?;
    let tag = Tag::of(tag).ok_or_else(|| damaged("it has an unknown tag"))?;
    match tag.scalar() {
        Some(r#type) => {
            *input = rest;
            take(r#type, input)
        }
        None => take_composite(&ANY, input),
    }
}

fn take_composite<'a>(r#type: &'a Type, input: &mut &'a [u8]) -> Result<ValueRef<'a>> {
    let start = *input;
    skip(r#type, input, 0)?;
    let used = start.len().saturating_sub(input.len());
    start
        .get(..used)
        .map(|bytes| ValueRef::Encoded(r#type, bytes))
        .ok_or_else(cut_short)
}

#[inline]
pub(super) fn take_int(input: &mut &[u8]) -> Result<i64> {
    match take_varint(input) {
        Some(value) => Ok(unzigzag(value)),
        None => Err(damaged("an integer is cut short or too long")),
    }
}

#[inline]
fn take_array<'a, const N: usize>(input: &mut &'a [u8]) -> Result<&'a [u8; N]> {
    let (bytes, rest) = input.split_first_chunk().ok_or_else(cut_short)?;
    *input = rest;
    Ok(bytes)
}

#[inline]
pub(super) fn take_bytes<'a>(input: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = take_varint(input).and_then(|length| usize::try_from(length).ok());
    match length.and_then(|length| input.split_at_checked(length)) {
        Some((bytes, rest)) => {
            *input = rest;
            Ok(bytes)
        }
        None => Err(damaged("text or bytes are cut short")),
    }
}

#[inline]
pub(super) fn take_reference(input: &mut &[u8]) -> Result<Oid> {
    let bytes = take_array(input)?;
    Oid::from_bits(u64::from_le_bytes(*bytes)).ok_or_else(|| damaged("a reference is zero"))
}

pub(super) fn take_bool(input: &mut &[u8]) -> Result<bool> {
    match take_array(input)? {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(damaged("a bool is neither 0 nor 1")),
    }
}

fn take_date(input: &mut &[u8]) -> Result<Date> {
    i32::try_from(take_int(input)?)
        .map(Date)
        .map_err(|_| damaged("a date is out of range"))
}

/// The stored form of a decimal: mantissa and, in the high bits, scale and sign.
fn decimal(bytes: &[u8; 16]) -> Result<Decimal> {
    let word = u128::from_le_bytes(*bytes);
    let mantissa = (word & ((1 << 96) - 1)).cast_signed();
    let scale = (word >> 96) as u32 & 0xff;
    let signed = if word >> 127 == 1 { -mantissa } else { mantissa };
    if (word >> 104) & 0x7f_ffff != 0 {
        return Err(damaged("a decimal has unknown bits"));
    }
    Decimal::try_from_i128_with_scale(signed, scale).map_err(|_| damaged("a decimal is out of range"))
}

/// Takes a name stored before a field.
pub(crate) fn take_text<'a>(input: &mut &'a [u8]) -> Result<&'a str> {
    take_bytes(input).and_then(text)
}

/// Bytes of a string, checked.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| damaged("text is not UTF-8"))
}

/// The head of a collection, map or struct.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header<'a> {
    /// Members, entries or fields.
    pub count: usize,
    /// A bit for each that is nil; empty where none is.
    pub nils: &'a [u8],
    /// The bytes after the head.
    pub rest: &'a [u8],
}

/// Whether bit `bit` is set; bits past the end are not.
#[inline]
pub(crate) fn is_set(bits: &[u8], bit: usize) -> bool {
    bits.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
}

/// Reads the head of something counted, with `bits` bits in the bitmap for each item.
fn counted(bytes: &[u8], bits: usize) -> Result<Header<'_>> {
    let mut rest = bytes;
    let head = take_varint(&mut rest).ok_or_else(cut_short)?;
    let count = usize::try_from(head >> 1).map_err(|_| cut_short())?;
    if head & 1 == 0 {
        // Each item takes at least a byte.
        if count > rest.len() {
            return Err(damaged("it says that it has more members than it has bytes"));
        }
        return Ok(Header {
            count,
            nils: &[],
            rest,
        });
    }
    let bytes = count
        .checked_mul(bits)
        .map_or(usize::MAX, |bits| bits.div_ceil(8));
    let (nils, rest) = rest.split_at_checked(bytes).ok_or_else(cut_short)?;
    Ok(Header { count, nils, rest })
}

/// The head of a struct whose fields are declared.
fn declared(bytes: &[u8], fields: usize) -> Result<Header<'_>> {
    let (nils, rest) = bytes
        .split_at_checked(fields.div_ceil(8).max(1))
        .ok_or_else(cut_short)?;
    Ok(Header {
        count: fields,
        nils,
        rest,
    })
}

/// The tag and what follows it.
fn tagged(bytes: &[u8]) -> Result<(Tag, &[u8])> {
    let (&tag, rest) = bytes.split_first().ok_or_else(cut_short)?;
    let tag = Tag::of(tag).ok_or_else(|| damaged("it has an unknown tag"))?;
    Ok((tag, rest))
}

/// The kind of the value stored as `bytes` of type `type`.
pub(crate) fn kind_of(r#type: &Type, bytes: &[u8]) -> Kind {
    match r#type {
        Type::List(_) => Kind::List,
        Type::Set(_) => Kind::Set,
        Type::Bag(_) => Kind::Bag,
        Type::Map(..) => Kind::Map,
        Type::Struct(_) => Kind::Struct,
        Type::Any => tagged(bytes).map_or(Kind::Nil, |(tag, _)| tag.kind()),
        _ => Kind::Nil,
    }
}

/// What stands in for a head that cannot be read: one item, which cannot be read either.
const DAMAGED: Header<'static> = Header {
    count: 1,
    nils: &[],
    rest: &[],
};

/// The members of a stored list, set or bag of references, 8 bytes each; `None` for anything else, and where some are
/// nil.
#[inline]
pub(crate) fn stored_references<'a>(r#type: &Type, bytes: &'a [u8]) -> Option<&'a [[u8; 8]]> {
    match r#type.member()? {
        Type::Reference(_) => {
            let mut rest = bytes;
            let head = take_varint(&mut rest)?;
            let (references, leftover) = rest.as_chunks();
            let whole = leftover.is_empty() && head == (references.len() as u64) << 1;
            whole.then_some(references)
        }
        _ => None,
    }
}

/// The members of a stored list, set or bag; `None` for what is none.
pub(crate) fn stored_members<'a>(r#type: &'a Type, bytes: &'a [u8]) -> Option<Members<'a>> {
    let (member, bytes) = match r#type {
        Type::List(member) | Type::Set(member) | Type::Bag(member) => (&**member, bytes),
        Type::Any => match tagged(bytes).ok()? {
            (Tag::List | Tag::Set | Tag::Bag, rest) => (&ANY, rest),
            _ => return None,
        },
        _ => return None,
    };
    Some(Members::stored(member, counted(bytes, 1).unwrap_or(DAMAGED)))
}

/// The entries of a stored map; `None` for what is none.
pub(crate) fn stored_entries<'a>(r#type: &'a Type, bytes: &'a [u8]) -> Option<Entries<'a>> {
    let (key, value, bytes) = match r#type {
        Type::Map(key, value) => (&**key, &**value, bytes),
        Type::Any => match tagged(bytes).ok()? {
            (Tag::Map, rest) => (&ANY, &ANY, rest),
            _ => return None,
        },
        _ => return None,
    };
    Some(Entries::stored(key, value, counted(bytes, 2).unwrap_or(DAMAGED)))
}

/// The fields of a stored struct; `None` for what is none.
pub(crate) fn stored_fields<'a>(r#type: &'a Type, bytes: &'a [u8]) -> Option<Fields<'a>> {
    match r#type {
        Type::Struct(fields) => {
            let header = declared(bytes, fields.len()).unwrap_or(DAMAGED);
            Some(Fields::typed(fields, header))
        }
        Type::Any => match tagged(bytes).ok()? {
            (Tag::Struct, rest) => Some(Fields::untyped(counted(rest, 1).unwrap_or(DAMAGED))),
            _ => None,
        },
        _ => None,
    }
}

/// Moves `input` past one value of type `type`.
fn skip<'a>(r#type: &'a Type, input: &mut &'a [u8], depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(damaged("it nests too deeply"));
    }
    match r#type {
        Type::List(member) | Type::Set(member) | Type::Bag(member) => {
            skip_items(&[member], false, input, depth)
        }
        Type::Map(key, value) => skip_items(&[key, value], false, input, depth),
        Type::Struct(fields) => {
            let header = declared(input, fields.len())?;
            *input = header.rest;
            for (bit, (_, field)) in fields.iter().enumerate() {
                if !is_set(header.nils, bit) {
                    skip(field, input, depth + 1)?;
                }
            }
            Ok(())
        }
        Type::Any => skip_tagged(input, depth),
        scalar => take(scalar, input).map(|_| ()),
    }
}

fn skip_tagged(input: &mut &[u8], depth: usize) -> Result<()> {
    let (tag, rest) = tagged(input)?;
    *input = rest;
    match (tag, tag.scalar()) {
        (_, Some(r#type)) => take(r#type, input).map(|_| ()),
        (Tag::Map, _) => skip_items(&[&ANY, &ANY], false, input, depth),
        (Tag::Struct, _) => skip_items(&[&ANY], true, input, depth),
        _ => skip_items(&[&ANY], false, input, depth),
    }
}

/// Moves `input` past the items of something counted, each of them values of `types`, where `named` after a name.
fn skip_items<'a>(types: &[&'a Type], named: bool, input: &mut &'a [u8], depth: usize) -> Result<()> {
    let header = counted(input, types.len())?;
    *input = header.rest;
    let mut bit = 0;
    for _ in 0..header.count {
        if named {
            take_bytes(input)?;
        }
        for r#type in types {
            if !is_set(header.nils, bit) {
                skip(r#type, input, depth + 1)?;
            }
            bit += 1;
        }
    }
    Ok(())
}
