//! The frame of a body: which bytes belong to which slot.

use smallvec::SmallVec;

use super::decode::damaged;
use crate::error::Result;

/// Bytes of one offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    One,
    Two,
    Four,
}

impl Width {
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
    width: Width,
    table: &'a [u8],
    data: &'a [u8],
}

impl<'a> Body<'a> {
    /// Reads the header; fails where `bytes` are too short for what it says.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Body<'a>> {
        Self::divide(bytes).ok_or_else(|| damaged("the header of a body is cut short or unknown"))
    }

    #[inline]
    fn divide(bytes: &'a [u8]) -> Option<Body<'a>> {
        let (&first, mut rest) = bytes.split_first()?;
        let mut count = usize::from(first >> 2);
        if first >> 2 == COUNT_FOLLOWS {
            let (long, after) = rest.split_first_chunk()?;
            count = usize::from(u16::from_le_bytes(*long));
            rest = after;
        }
        let width = match first & 3 {
            0 => Width::One,
            1 => Width::Two,
            2 => Width::Four,
            _ => return None,
        };
        let (table, data) = rest.split_at_checked(count * width.bytes())?;
        Some(Body { width, table, data })
    }

    /// The number of slots the body was written with.
    pub fn count(&self) -> usize {
        self.table.len() / self.width.bytes()
    }

    /// The encoded bytes of a slot, empty where it holds nil; `None` past the count.
    #[inline]
    pub fn slot(&self, slot: usize) -> Result<Option<&'a [u8]>> {
        let Some(end) = self.end(slot) else {
            return Ok(None);
        };
        let start = match slot.checked_sub(1) {
            Some(before) => self.end(before).unwrap_or(end),
            None => 0,
        };
        match self.data.get(start..end) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(damaged("the offsets of a body lead out of it")),
        }
    }

    /// Where the value of a slot ends within the data.
    #[inline]
    fn end(&self, slot: usize) -> Option<usize> {
        match self.width {
            Width::One => self.table.get(slot).map(|&end| usize::from(end)),
            Width::Two => {
                let (entries, _) = self.table.as_chunks();
                entries.get(slot).map(|end| usize::from(u16::from_le_bytes(*end)))
            }
            Width::Four => {
                let (entries, _) = self.table.as_chunks();
                entries.get(slot).map(|end| u32::from_le_bytes(*end) as usize)
            }
        }
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
