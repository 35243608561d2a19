//! Index keys: values as bytes whose order is the order of the values.

use std::ops::Bound;

use crate::error::Result;
use crate::object::{Value, ValueRef};

/// Appends the encoding of one component of a key to `out`.
pub(crate) fn encode_component(value: ValueRef<'_>, descending: bool, out: &mut Vec<u8>) -> Result<()> {
    todo!()
}

/// The key of a unique index for an encoded key: at most 18 bytes; the encoded key itself where it is short.
pub(crate) fn unique_key(encoded: &[u8], secret: [u8; 16]) -> Vec<u8> {
    todo!()
}

/// The encoded keys equal to `prefix` in the first components and within the bounds in the next one: from the first
/// (inclusive) up to the second (exclusive; none is the end of all keys). `descending` has the direction of each
/// component of the index.
pub(crate) fn range_bounds(
    prefix: &[Value],
    lower: Bound<&Value>,
    upper: Bound<&Value>,
    descending: &[bool],
) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
    todo!()
}
