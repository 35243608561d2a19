//! The body of a record.

use super::layout::Layout;
use super::oid::Oid;
use super::types::Type;
use super::value::Value;
use super::value_ref::ValueRef;
use crate::error::Result;

/// The encoded body of one object: its header and slots, nothing decoded.
#[derive(Debug, Clone, Copy)]
pub struct Body<'a> {
    data: &'a [u8],
}

impl<'a> Body<'a> {
    /// Reads the header.
    pub fn new(bytes: &'a [u8]) -> Result<Body<'a>> {
        todo!()
    }

    /// The number of slots the body was written with.
    pub fn count(&self) -> usize {
        todo!()
    }

    /// The encoded bytes of a slot, empty where it holds nil; `None` past the count.
    #[inline]
    pub fn slot(&self, slot: usize) -> Result<Option<&'a [u8]>> {
        todo!()
    }
}

/// The value of type `type` whose whole encoding is `bytes`; empty bytes are nil.
pub fn decode<'a>(r#type: &'a Type, bytes: &'a [u8]) -> Result<ValueRef<'a>> {
    todo!()
}

/// The bytes of a slot of type `int`; `None` for nil.
#[inline]
pub fn decode_int(bytes: &[u8]) -> Result<Option<i64>> {
    todo!()
}

/// The bytes of a slot of type `float`; `None` for nil.
#[inline]
pub fn decode_float(bytes: &[u8]) -> Result<Option<f64>> {
    todo!()
}

/// The bytes of a slot of type `bool`; `None` for nil.
#[inline]
pub fn decode_bool(bytes: &[u8]) -> Result<Option<bool>> {
    todo!()
}

/// The bytes of a slot of type `string` or `bytes`, without a check of the text; `None` for nil.
#[inline]
pub fn decode_string(bytes: &[u8]) -> Result<Option<&[u8]>> {
    todo!()
}

/// The bytes of a slot that holds a reference; `None` for nil.
#[inline]
pub fn decode_reference(bytes: &[u8]) -> Result<Option<Oid>> {
    todo!()
}

/// The value in a slot of a body; a slot past the body's count has its default.
pub fn read_slot<'a>(layout: &'a Layout, body: &'a [u8], slot: usize) -> Result<ValueRef<'a>> {
    todo!()
}

/// All values of a body, one a slot (nil for dropped ones).
pub fn read_all(layout: &Layout, body: &[u8]) -> Result<Vec<Value>> {
    todo!()
}

/// The body of an object with these values, one a slot. Checks types and `not null`.
pub fn encode_body(layout: &Layout, values: &[Value]) -> Result<Vec<u8>> {
    todo!()
}

/// `body` with some slots changed; the others are copied as bytes. Checks types and `not null`.
pub fn rewrite(layout: &Layout, body: &[u8], changes: &[(usize, Value)]) -> Result<Vec<u8>> {
    todo!()
}

/// Every reference in a body, in members, keys and fields too, in the order of the slots.
pub fn references<'a>(layout: &'a Layout, body: &'a [u8]) -> impl Iterator<Item = Result<Oid>> + 'a {
    std::iter::empty()
}
