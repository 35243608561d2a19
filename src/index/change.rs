//! One change of one index entry, and its form in the log.
//!
//! The form: a version byte, the number of changes, then for each one flag byte (bit 0: added; bit 1: the index is
//! that of the change before; bit 2: the key is), the index and the key where they differ, and the object's 8 bytes.
//! Numbers are varints (7 bits a byte, least significant first).

use smallvec::SmallVec;

use super::IndexId;
use crate::error::{Error, Result};
use crate::object::Oid;

/// An encoded index key; kept inline up to 24 bytes.
pub type IndexKey = SmallVec<[u8; 24]>;

/// The longest key an index takes, in bytes; longer values are refused before they are committed.
pub const MAX_KEY: usize = 32 * 1024;

const VERSION: u8 = 1;
const ADDED: u8 = 1;
const SAME_INDEX: u8 = 2;
const SAME_KEY: u8 = 4;

/// One entry added to or removed from one index: a set operation, harmless to repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexChange {
    /// The index.
    pub index: IndexId,
    /// The encoded key, prefix-free among the keys of this index; at most [`MAX_KEY`] bytes.
    pub key: IndexKey,
    /// The object.
    pub oid: Oid,
    /// Added, or else removed.
    pub added: bool,
}

/// Appends the changes in the form the log keeps them in (versioned).
pub fn encode_changes<'a>(changes: impl ExactSizeIterator<Item = &'a IndexChange>, bytes: &mut Vec<u8>) {
    bytes.push(VERSION);
    put_number(changes.len() as u64, bytes);
    let mut before: Option<&IndexChange> = None;
    for change in changes {
        let same_index = before.is_some_and(|b| b.index == change.index);
        let same_key = before.is_some_and(|b| b.key == change.key);
        let mut flags = u8::from(change.added);
        flags |= if same_index { SAME_INDEX } else { 0 };
        flags |= if same_key { SAME_KEY } else { 0 };
        bytes.push(flags);
        if !same_index {
            put_number(u64::from(change.index.0), bytes);
        }
        if !same_key {
            put_number(change.key.len() as u64, bytes);
            bytes.extend_from_slice(&change.key);
        }
        bytes.extend_from_slice(&change.oid.to_bits().to_le_bytes());
        before = Some(change);
    }
}

/// Reads what [`encode_changes`] wrote; damaged bytes are a corruption error that names the offset in `bytes`.
pub fn decode_changes(bytes: &[u8]) -> Result<Vec<IndexChange>> {
    let mut input = bytes;
    decode_all(&mut input).ok_or_else(|| {
        let offset = bytes.len().saturating_sub(input.len());
        Error::corruption(
            format!("index changes in the log, byte {offset} of {}", bytes.len()),
            "not a list of changes",
        )
    })
}

fn decode_all(input: &mut &[u8]) -> Option<Vec<IndexChange>> {
    if take_byte(input)? != VERSION {
        return None;
    }
    let count = usize::try_from(take_number(input)?).ok()?;
    // Each change takes 9 bytes or more, so that a wild count cannot ask for more memory than the input has bytes.
    let mut changes: Vec<IndexChange> = Vec::with_capacity(count.min(input.len() / 9));
    for _ in 0..count {
        let change = decode_one(input, changes.last())?;
        changes.push(change);
    }
    input.is_empty().then_some(changes)
}

fn decode_one(input: &mut &[u8], before: Option<&IndexChange>) -> Option<IndexChange> {
    let flags = take_byte(input)?;
    if flags & !(ADDED | SAME_INDEX | SAME_KEY) != 0 {
        return None;
    }
    let index = match flags & SAME_INDEX {
        0 => IndexId(u32::try_from(take_number(input)?).ok()?),
        _ => before?.index,
    };
    let key = match flags & SAME_KEY {
        0 => take_key(input)?,
        _ => before?.key.clone(),
    };
    let (oid, rest) = input.split_first_chunk::<8>()?;
    *input = rest;
    Some(IndexChange {
        index,
        key,
        oid: Oid::from_bits(u64::from_le_bytes(*oid))?,
        added: flags & ADDED != 0,
    })
}

fn take_key(input: &mut &[u8]) -> Option<IndexKey> {
    let length = usize::try_from(take_number(input)?).ok()?;
    if length > MAX_KEY {
        return None;
    }
    let (key, rest) = input.split_at_checked(length)?;
    *input = rest;
    Some(IndexKey::from_slice(key))
}

fn take_byte(input: &mut &[u8]) -> Option<u8> {
    let (byte, rest) = input.split_first()?;
    *input = rest;
    Some(*byte)
}

/// Appends a number as a varint.
pub(super) fn put_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a varint off the front; `None` if it is cut short or does not fit 64 bits.
pub(super) fn take_number(input: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(input)?;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(index: u32, key: &[u8], oid: u64, added: bool) -> IndexChange {
        IndexChange {
            index: IndexId(index),
            key: IndexKey::from_slice(key),
            oid: Oid::from_bits(oid).unwrap(),
            added,
        }
    }

    fn sample() -> Vec<IndexChange> {
        vec![
            change(7, b"alpha", 1 << 50, false),
            change(7, b"alphabet which is longer than the inline part", 1 << 50, true),
            change(
                9,
                b"alphabet which is longer than the inline part",
                u64::MAX,
                true,
            ),
            change(u32::MAX, b"", 1, false),
        ]
    }

    #[test]
    fn changes_survive_the_log() {
        for count in 0..=sample().len() {
            let changes = &sample()[..count];
            let mut bytes = Vec::new();
            encode_changes(changes.iter(), &mut bytes);
            assert_eq!(decode_changes(&bytes).unwrap(), changes);
        }
    }

    #[test]
    fn damaged_changes_are_an_error_and_never_a_panic() {
        let mut bytes = Vec::new();
        encode_changes(sample().iter(), &mut bytes);
        for length in 0..bytes.len() {
            assert!(decode_changes(&bytes[..length]).is_err());
        }
        for position in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[position] ^= 1 << bit;
                let _ = decode_changes(&damaged);
            }
        }
        assert!(decode_changes(&[VERSION, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]).is_err());
    }
}
