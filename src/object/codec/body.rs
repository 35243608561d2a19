//! The frame of a body: which bytes belong to which slot.

use smallvec::SmallVec;

use super::decode::damaged;
use super::varint::{ends_with_varint, unzigzag};
use crate::error::Result;
use crate::object::Oid;

/// Bytes of one offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    One,
    Two,
    Four,
}

impl Width {
    #[inline(always)]
    fn bytes(self) -> usize {
        match self {
            Width::One => 1,
            Width::Two => 2,
            Width::Four => 4,
        }
    }
}

/// What the six bits of the number of slots hold where the number itself follows.
const COUNT_FOLLOWS: u8 = 63;

/// The encoded body of one object, divided into slots; nothing is decoded.
#[derive(Debug, Clone, Copy)]
pub struct Body<'a> {
    bytes: &'a [u8],
    width: Width,
    count: usize,
    /// Where the offsets begin in `bytes`.
    table: usize,
    /// Where the values begin in `bytes`.
    data: usize,
}

impl<'a> Body<'a> {
    /// Reads the header; fails where `bytes` are too short for what it says.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Body<'a>> {
        Self::divide(bytes).ok_or_else(|| damaged("the header of a body is cut short or unknown"))
    }

    #[inline]
    fn divide(bytes: &'a [u8]) -> Option<Body<'a>> {
        let (&first, rest) = bytes.split_first()?;
        let (count, table) = match first >> 2 {
            COUNT_FOLLOWS => (usize::from(u16::from_le_bytes(*rest.first_chunk()?)), 3),
            count => (usize::from(count), 1),
        };
        let width = match first & 3 {
            0 => Width::One,
            1 => Width::Two,
            2 => Width::Four,
            _ => return None,
        };
        let data = table + count * width.bytes();
        (data <= bytes.len()).then_some(Body {
            bytes,
            width,
            count,
            table,
            data,
        })
    }

    /// The number of slots the body was written with.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The encoded bytes of a slot, empty where it holds nil; `None` past the count.
    #[inline(always)]
    pub fn slot(&self, slot: usize) -> Result<Option<&'a [u8]>> {
        Ok(self.stored(slot)?.map(Stored::bytes))
    }

    /// As [`Body::slot`], with what comes before it in the body.
    #[inline(always)]
    pub fn stored(&self, slot: usize) -> Result<Option<Stored<'a>>> {
        if slot >= self.count {
            return Ok(None);
        }
        let stored = match self.width {
            Width::One => near(self.bytes, self.table, self.data, slot),
            _ => self.far(slot),
        };
        match stored {
            Some(stored) => Ok(Some(stored)),
            None => Err(damaged("the offsets of a body lead out of it")),
        }
    }

    #[inline(never)]
    fn far(&self, slot: usize) -> Option<Stored<'a>> {
        let end = self.end(slot)?;
        let start = match slot.checked_sub(1) {
            Some(before) => self.end(before)?,
            None => 0,
        };
        Stored::new(
            self.bytes,
            self.data.checked_add(start)?,
            self.data.checked_add(end)?,
        )
    }

    /// Where the value of a slot ends within the data.
    fn end(&self, slot: usize) -> Option<usize> {
        let entries = self.bytes.get(self.table..self.data)?;
        match self.width {
            Width::One => entries.get(slot).map(|&end| usize::from(end)),
            Width::Two => {
                let (entries, _) = entries.as_chunks();
                entries.get(slot).map(|end| usize::from(u16::from_le_bytes(*end)))
            }
            Width::Four => {
                let (entries, _) = entries.as_chunks();
                entries.get(slot).map(|end| u32::from_le_bytes(*end) as usize)
            }
        }
    }
}

/// A slot of a body whose offsets, one byte each, begin at `table`, and whose values begin at `data`.
#[inline(always)]
fn near(bytes: &[u8], table: usize, data: usize, slot: usize) -> Option<Stored<'_>> {
    let end = usize::from(*bytes.get(table + slot)?);
    let start = match slot {
        0 => 0,
        _ => usize::from(*bytes.get(table + slot - 1)?),
    };
    Stored::new(bytes, data + start, data + end)
}

/// A body of the common kind: few slots, less than 256 bytes of values.
#[derive(Debug, Clone, Copy)]
pub struct Near<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Near<'a> {
    /// Reads the header; `None` says only that [`Body::new`] must be asked.
    #[inline(always)]
    pub fn new(bytes: &'a [u8]) -> Option<Near<'a>> {
        let first = *bytes.first()?;
        let count = usize::from(first >> 2);
        let common = first & 3 == 0 && first < COUNT_FOLLOWS << 2;
        common.then_some(Near { bytes, count })
    }

    /// The number of slots the body was written with.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// A slot below the count; `None` where the body is damaged.
    #[inline(always)]
    pub fn stored(&self, slot: usize) -> Option<Stored<'a>> {
        near(self.bytes, 1, 1 + self.count, slot)
    }
}

/// The encoded value of a slot where it lies in its body.
///
/// Knowing what lies before it, a small integer is read by one load of four bytes that end where it ends: no loop, and no
/// branch on its length, which would stall on a record that is not in the cache yet.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    /// The body up to the end of the value.
    until: &'a [u8],
    /// Where the value begins.
    start: usize,
}

impl<'a> Stored<'a> {
    #[inline(always)]
    fn new(body: &'a [u8], start: usize, end: usize) -> Option<Stored<'a>> {
        let until = body.get(..end)?;
        (start <= end).then_some(Stored { until, start })
    }

    /// A value by itself.
    #[inline]
    pub fn alone(bytes: &'a [u8]) -> Stored<'a> {
        Stored {
            until: bytes,
            start: 0,
        }
    }

    /// Its bytes; none for nil.
    #[inline(always)]
    pub fn bytes(self) -> &'a [u8] {
        self.until.get(self.start..).unwrap_or_default()
    }

    /// Whether it is nil.
    #[inline(always)]
    pub fn is_nil(self) -> bool {
        self.start >= self.until.len()
    }

    /// A value of type `int`; `None` for nil.
    #[inline(always)]
    pub fn int(self) -> Result<Option<i64>> {
        match ends_with_varint(self.until, self.until.len().saturating_sub(self.start)) {
            Some(value) => Ok(Some(unzigzag(value))),
            None => super::slots::decode_int(self.bytes()),
        }
    }

    /// A value that is a reference; `None` for nil.
    #[inline(always)]
    pub fn reference(self) -> Result<Option<Oid>> {
        super::slots::decode_reference(self.bytes())
    }
}
/// A body being written, slot after slot.
#[derive(Debug, Default)]
pub(crate) struct BodyBuilder {
    /// The values written so far; the next slot's value is appended here.
    pub data: Vec<u8>,
    ends: SmallVec<[usize; 16]>,
}

impl BodyBuilder {
    /// Ends the current slot: what was appended since the last call is its value.
    pub fn end_slot(&mut self) {
        self.ends.push(self.data.len());
    }

    /// The finished body; `None` if it has more than 65,535 slots or 4 GiB.
    pub fn finish(self) -> Option<Vec<u8>> {
        let mut body = Vec::with_capacity(3 + self.ends.len() * 4 + self.data.len());
        append_body(&self.ends, &self.data, &mut body)?;
        Some(body)
    }
}

/// Appends the body whose slots end at `ends` of `data`; `None` if it has more than 65,535 slots or 4 GiB.
pub(crate) fn append_body(ends: &[usize], data: &[u8], body: &mut Vec<u8>) -> Option<()> {
    let length = u32::try_from(data.len()).ok()?;
    let (code, width) = match length {
        0..256 => (0, Width::One),
        256..65_536 => (1, Width::Two),
        _ => (2, Width::Four),
    };
    let count = u16::try_from(ends.len()).ok()?;
    match u8::try_from(count) {
        Ok(count) if count < COUNT_FOLLOWS => body.push(count << 2 | code),
        _ => {
            body.push(COUNT_FOLLOWS << 2 | code);
            body.extend_from_slice(&count.to_le_bytes());
        }
    }
    // None of the ends is past the length of the data, which fits the width.
    match width {
        Width::One => body.extend(ends.iter().map(|end| *end as u8)),
        Width::Two => body.extend(ends.iter().flat_map(|end| (*end as u16).to_le_bytes())),
        Width::Four => body.extend(ends.iter().flat_map(|end| (*end as u32).to_le_bytes())),
    }
    body.extend_from_slice(data);
    Some(())
}
