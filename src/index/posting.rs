//! How the objects of one key lie in the base: posting lists.
//!
//! The base of an index is one sorted map of bytes. A key of the index is stored under a zero byte and itself, so
//! that the description of the index ([`DESCRIPTION_KEY`]) sorts after all entries. Its value is
//!
//! * a *list*: all OIDs ascending, the first in 8 bytes and then the gaps as varints, up to [`MAX_BYTES`];
//! * or, for a longer one, a *head*: the number of objects and of chunks. The *chunks*, lists of at most
//!   [`MAX_BYTES`] each, follow under the key and 8 bytes more, the *separator*: no OID of the chunk is below it, and
//!   all are below the next chunk's. An OID below all separators goes into the first chunk, which moves to separator 0.
//!
//! A head has a fixed size however many chunks there are. Keys are prefix-free, so that no other key sorts between a
//! head and its chunks. No value is empty, no list has an OID twice: what breaks this is damage.

use smallvec::SmallVec;

use super::change::{put_number, take_number};
use crate::error::{Error, Result};
use crate::object::Oid;

/// The longest list or chunk, in bytes with its tag.
pub(super) const MAX_BYTES: usize = 1024;
/// Bytes of a separator.
pub(super) const SEPARATOR: usize = 8;
/// Where the description of the index is stored, after all entries.
pub(super) const DESCRIPTION_KEY: [u8; 1] = [1];

const ENTRY: u8 = 0;
const LIST: u8 = 1;
const HEAD: u8 = 2;
const CHUNK: u8 = 3;

/// A key as stored in the base; inline for short ones.
pub(super) type StoredKey = SmallVec<[u8; 36]>;

/// What a stored value is; the bytes of a list or chunk are for [`decode`] and [`count`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Posting<'a> {
    /// All objects of the key.
    List(&'a [u8]),
    /// The number of objects and chunks of a long posting.
    Head {
        /// Objects in all chunks.
        objects: u64,
        /// Chunks.
        chunks: u64,
    },
    /// One part of a long posting.
    Chunk(&'a [u8]),
}

/// The key in the base of an index key.
pub(super) fn stored_key(key: &[u8]) -> StoredKey {
    let mut stored = StoredKey::with_capacity(key.len().saturating_add(1));
    stored.push(ENTRY);
    stored.extend_from_slice(key);
    stored
}

/// The key in the base of the chunk of `key` from `separator` on.
pub(super) fn chunk_key(key: &[u8], separator: u64) -> StoredKey {
    let mut stored = StoredKey::with_capacity(key.len().saturating_add(1 + SEPARATOR));
    stored.push(ENTRY);
    stored.extend_from_slice(key);
    stored.extend_from_slice(&separator.to_be_bytes());
    stored
}

/// The index key and separator of a chunk's stored key.
pub(super) fn split_chunk_key(stored: &[u8]) -> Option<(&[u8], u64)> {
    let (key, separator) = stored.split_last_chunk::<SEPARATOR>()?;
    let (_, key) = key.split_first()?;
    Some((key, u64::from_be_bytes(*separator)))
}

/// What the value stored under `stored` is.
pub(super) fn parse<'a>(stored: &[u8], value: &'a [u8]) -> Result<Posting<'a>> {
    let parsed = match value.split_first() {
        Some((&LIST, rest)) => Some(Posting::List(rest)),
        Some((&CHUNK, rest)) => Some(Posting::Chunk(rest)),
        Some((&HEAD, rest)) => parse_head(rest),
        _ => None,
    };
    parsed.ok_or_else(|| damaged(stored))
}

fn parse_head(mut bytes: &[u8]) -> Option<Posting<'_>> {
    let objects = take_number(&mut bytes)?;
    let chunks = take_number(&mut bytes)?;
    bytes.is_empty().then_some(Posting::Head { objects, chunks })
}

/// The corruption error for the value stored under `stored`.
pub(super) fn damaged(stored: &[u8]) -> Error {
    let hexadecimal: String = stored.iter().take(40).map(|byte| format!("{byte:02x}")).collect();
    Error::corruption(
        format!("index, stored key {hexadecimal}"),
        "not a posting; rebuild the index",
    )
}

/// Gives each OID of a list or chunk stored under `stored` to `push`, ascending.
pub(super) fn decode(stored: &[u8], bytes: &[u8], push: impl FnMut(Oid)) -> Result<()> {
    decode_list(bytes, push).ok_or_else(|| damaged(stored))
}

fn decode_list(bytes: &[u8], mut push: impl FnMut(Oid)) -> Option<()> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    let mut bits = u64::from_le_bytes(*first);
    push(Oid::from_bits(bits)?);
    let mut gaps = rest.iter();
    while let Some(&byte) = gaps.next() {
        let mut gap = u64::from(byte & 0x7f);
        let mut last = byte;
        let mut shift = 7;
        while last >= 0x80 {
            last = *gaps.next()?;
            if shift > 63 {
                return None;
            }
            gap |= u64::from(last & 0x7f) << shift;
            shift += 7;
        }
        if gap == 0 {
            return None;
        }
        bits = bits.checked_add(gap)?;
        push(Oid::from_bits(bits)?);
    }
    Some(())
}

/// The number of OIDs of a list or chunk, without decoding it.
pub(super) fn count(bytes: &[u8]) -> u64 {
    let gaps = bytes.iter().skip(8).filter(|&&byte| byte < 0x80).count();
    (gaps as u64).saturating_add(1)
}

/// The value of a head.
pub(super) fn encode_head(objects: u64, chunks: u64) -> Vec<u8> {
    let mut value = vec![HEAD];
    put_number(objects, &mut value);
    put_number(chunks, &mut value);
    value
}

/// Builds the value of one list or chunk, OID by OID ascending.
#[derive(Debug, Default)]
pub(super) struct ListBuilder {
    value: Vec<u8>,
    first: u64,
    last: u64,
}

impl ListBuilder {
    /// Appends an OID above all before; `false`, and nothing done, if the list would pass [`MAX_BYTES`].
    pub(super) fn push(&mut self, oid: Oid) -> bool {
        let bits = oid.to_bits();
        if self.value.is_empty() {
            self.value.push(LIST);
            self.value.extend_from_slice(&bits.to_le_bytes());
            self.first = bits;
            self.last = bits;
            return true;
        }
        let gap = bits.saturating_sub(self.last);
        if self.value.len().saturating_add(varint_length(gap)) > MAX_BYTES {
            return false;
        }
        put_number(gap, &mut self.value);
        self.last = bits;
        true
    }

    /// The first OID's bits.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Whether nothing has been pushed.
    pub(super) fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// The value as a whole list; leaves the builder empty.
    pub(super) fn take_list(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.value)
    }

    /// The value as a chunk; leaves the builder empty.
    pub(super) fn take_chunk(&mut self) -> Vec<u8> {
        if let Some(tag) = self.value.first_mut() {
            *tag = CHUNK;
        }
        std::mem::take(&mut self.value)
    }
}

/// Bytes of a number as a varint.
pub(super) fn varint_length(number: u64) -> usize {
    let bits = (64 - (number | 1).leading_zeros()) as usize;
    bits.div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(oids: &[u64]) -> Vec<u8> {
        let mut builder = ListBuilder::default();
        for &oid in oids {
            assert!(builder.push(Oid::from_bits(oid).unwrap()));
        }
        builder.take_list()
    }

    fn read(value: &[u8]) -> Option<Vec<u64>> {
        let mut oids = Vec::new();
        let Ok(Posting::List(bytes)) = parse(b"", value) else {
            return None;
        };
        decode(b"", bytes, |oid| oids.push(oid.to_bits())).ok()?;
        assert_eq!(count(bytes), oids.len() as u64);
        Some(oids)
    }

    #[test]
    fn a_list_reads_back_what_was_pushed() {
        let lists: [&[u64]; 4] = [
            &[1],
            &[1, 2, 3],
            &[5, 5 + 127, 5 + 127 + 128, 1 << 44, u64::MAX],
            &[u64::MAX],
        ];
        for oids in lists {
            assert_eq!(read(&list(oids)).unwrap(), oids);
        }
    }

    #[test]
    fn a_list_ends_at_its_byte_limit() {
        let mut builder = ListBuilder::default();
        let pushed = (1..5000)
            .take_while(|&oid| builder.push(Oid::from_bits(oid).unwrap()))
            .count();
        let value = builder.take_list();
        assert_eq!(value.len(), MAX_BYTES);
        assert_eq!(read(&value).unwrap().len(), pushed);
    }

    #[test]
    fn damaged_lists_are_errors() {
        let value = list(&[300, 90_000, 1 << 45]);
        for length in [0, 1, 5, value.len() - 1] {
            assert!(read(&value[..length]).is_none(), "{length} bytes");
        }
        let zero_gap = [&value[..9], &[0]].concat();
        assert!(read(&zero_gap).is_none());
        let endless = [&value[..9], &[0xff; 20]].concat();
        assert!(read(&endless).is_none());
        assert!(parse(b"", &[HEAD, 1]).is_err());
        assert!(parse(b"", &[99]).is_err());
    }

    #[test]
    fn chunk_keys_split_into_what_they_were_made_of() {
        assert_eq!(
            split_chunk_key(&chunk_key(b"abc", 77)).unwrap(),
            (&b"abc"[..], 77)
        );
        assert!(split_chunk_key(b"short").is_none());
        assert!(stored_key(&[0xff; 30])[..] < DESCRIPTION_KEY[..]);
    }

    #[test]
    fn varint_lengths_are_right() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::MAX] {
            let mut bytes = Vec::new();
            put_number(number, &mut bytes);
            assert_eq!(varint_length(number), bytes.len());
        }
    }
}
