//! The root slots, and the stem that a root points at.
//!
//! ```text
//! root slot (first 64 bytes of page 0 or page 1)        stem (contiguous pages)
//!   0  magic "OLVTABLE"                                   0  metadata length, u32
//!   8  format version, u32                                4  number of classes, u32
//!  12  zero, u32                                          8  metadata
//!  16  sequence, u64                                      .. a class each, ascending, 32 bytes:
//!  24  log position: segment u32, offset u32                 0  class, u32
//!  32  stem: first page u32, CRC32C u32                      4  height, u32
//!  40  stem: length in bytes, u64                            8  root page u32, CRC32C u32
//!  48  zero                                                 16  number of entries, u64
//!  60  CRC32C of bytes 0 to 59, u32                         24  largest serial, u64
//! ```

use crate::error::{Error, Result};
use crate::heap::LogPosition;
use crate::object::{ClassId, MAX_CLASS, MAX_SERIAL};

use super::page::{Child, PAGE_SIZE, height_for};

/// Bytes of a root slot that are used.
pub(super) const ROOT_SIZE: usize = 64;
const MAGIC: &[u8; 8] = b"OLVTABLE";
const FORMAT_VERSION: u32 = 1;
const CLASS_SIZE: usize = 32;

/// A root slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RootSlot {
    pub(super) sequence: u64,
    pub(super) position: LogPosition,
    /// First page of the stem, and the CRC32C of its bytes.
    pub(super) stem: Child,
    /// Bytes of the stem.
    pub(super) stem_len: u64,
}

/// What a root slot was found to hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing was ever written.
    Empty,
    /// A torn or damaged root.
    Damaged,
    /// A root.
    Whole(RootSlot),
}

impl RootSlot {
    /// The bytes of the slot.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(ROOT_SIZE);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.position.segment.to_le_bytes());
        bytes.extend_from_slice(&self.position.offset.to_le_bytes());
        bytes.extend_from_slice(&self.stem.page.to_le_bytes());
        bytes.extend_from_slice(&self.stem.crc.to_le_bytes());
        bytes.extend_from_slice(&self.stem_len.to_le_bytes());
        bytes.resize(ROOT_SIZE - 4, 0);
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a slot. [`Error::Format`] for a whole root of a version that this program does not know.
    pub(super) fn decode(bytes: &[u8; ROOT_SIZE]) -> Result<Found> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(Found::Empty);
        }
        let mut reader = Words { bytes };
        match reader.root() {
            Some((version, _)) if version != FORMAT_VERSION => Err(Error::Format(format!(
                "the object table has format version {version}, this program reads version {FORMAT_VERSION}; \
                 open the database with the program that wrote it"
            ))),
            Some((_, slot)) => Ok(Found::Whole(slot)),
            None => Ok(Found::Damaged),
        }
    }
}

/// The root of one class's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClassRoot {
    pub(super) class: ClassId,
    /// Directory levels above the leaves; 0: the root is a leaf.
    pub(super) height: u32,
    pub(super) root: Child,
    /// Entries that are set.
    pub(super) entries: u64,
    /// The largest serial that is set.
    pub(super) last_serial: u64,
}

/// The bytes of a stem.
pub(super) fn encode_stem(metadata: &[u8], classes: &[ClassRoot]) -> Result<Vec<u8>> {
    let too_long = |_| Error::Limit("the metadata of a table checkpoint is over 4 GiB".to_owned());
    let mut bytes = Vec::with_capacity(8 + metadata.len() + classes.len() * CLASS_SIZE);
    bytes.extend_from_slice(&u32::try_from(metadata.len()).map_err(too_long)?.to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(classes.len()).map_err(too_long)?.to_le_bytes());
    bytes.extend_from_slice(metadata);
    for class in classes {
        bytes.extend_from_slice(&class.class.0.to_le_bytes());
        bytes.extend_from_slice(&class.height.to_le_bytes());
        bytes.extend_from_slice(&class.root.page.to_le_bytes());
        bytes.extend_from_slice(&class.root.crc.to_le_bytes());
        bytes.extend_from_slice(&class.entries.to_le_bytes());
        bytes.extend_from_slice(&class.last_serial.to_le_bytes());
    }
    Ok(bytes)
}

/// Metadata and classes of a stem; `None` if it is not well-formed.
pub(super) fn decode_stem(bytes: &[u8]) -> Option<(Vec<u8>, Vec<ClassRoot>)> {
    let mut reader = Words { bytes };
    let metadata_len = reader.u32()? as usize;
    let count = reader.u32()? as usize;
    let metadata = reader.take(metadata_len)?.to_vec();
    if reader.bytes.len() != count.checked_mul(CLASS_SIZE)? {
        return None;
    }
    let classes = (0..count).map(|_| reader.class()).collect::<Option<Vec<_>>>()?;
    classes
        .is_sorted_by(|a, b| a.class < b.class)
        .then_some((metadata, classes))
}

/// How many pages a stem of `len` bytes takes.
pub(super) fn stem_pages(len: u64) -> u64 {
    len.div_ceil(PAGE_SIZE as u64)
}

/// Takes little-endian fields from the front of bytes.
struct Words<'a> {
    bytes: &'a [u8],
}

impl<'a> Words<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn child(&mut self) -> Option<Child> {
        let child = Child {
            page: self.u32()?,
            crc: self.u32()?,
        };
        (child.page != 0).then_some(child)
    }

    /// Format version and slot, if the CRC holds.
    fn root(&mut self) -> Option<(u32, RootSlot)> {
        let (body, crc) = self.bytes.split_last_chunk::<4>()?;
        if crc32c::crc32c(body) != u32::from_le_bytes(*crc) || self.take(8)? != MAGIC {
            return None;
        }
        let version = self.u32()?;
        self.take(4)?;
        let slot = RootSlot {
            sequence: self.u64()?,
            position: LogPosition {
                segment: self.u32()?,
                offset: self.u32()?,
            },
            stem: self.child()?,
            stem_len: self.u64()?,
        };
        Some((version, slot))
    }

    fn class(&mut self) -> Option<ClassRoot> {
        let class = ClassRoot {
            class: ClassId(self.u32()?),
            height: self.u32()?,
            root: self.child()?,
            entries: self.u64()?,
            last_serial: self.u64()?,
        };
        let sound = class.class.0 <= MAX_CLASS
            && class.last_serial <= MAX_SERIAL
            && class.height == height_for(class.last_serial);
        sound.then_some(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> RootSlot {
        RootSlot {
            sequence: 9,
            position: LogPosition {
                segment: 3,
                offset: 4096,
            },
            stem: Child { page: 17, crc: 5 },
            stem_len: 4097,
        }
    }

    #[test]
    fn a_root_slot_is_read_back_and_every_flipped_bit_is_found() {
        let bytes: [u8; ROOT_SIZE] = slot().encode().try_into().unwrap();
        assert_eq!(RootSlot::decode(&bytes).unwrap(), Found::Whole(slot()));
        for bit in 0..ROOT_SIZE * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(RootSlot::decode(&damaged).unwrap(), Found::Damaged, "bit {bit}");
        }
        assert_eq!(RootSlot::decode(&[0; ROOT_SIZE]).unwrap(), Found::Empty);
    }

    #[test]
    fn a_newer_format_is_refused_by_name() {
        let mut bytes: [u8; ROOT_SIZE] = slot().encode().try_into().unwrap();
        bytes[8] = 2;
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        let message = RootSlot::decode(&bytes).unwrap_err().to_string();
        assert!(message.contains("format version 2"), "{message}");
    }

    #[test]
    fn a_stem_is_read_back_and_a_cut_one_is_refused() {
        let class = |number, last_serial| ClassRoot {
            class: ClassId(number),
            height: height_for(last_serial),
            root: Child { page: number, crc: 1 },
            entries: 2,
            last_serial,
        };
        let classes = vec![class(1, 3), class(64, 513), class(MAX_CLASS, MAX_SERIAL)];
        let bytes = encode_stem(b"heap", &classes).unwrap();
        assert_eq!(decode_stem(&bytes), Some((b"heap".to_vec(), classes)));
        for len in 0..bytes.len() {
            assert_eq!(decode_stem(&bytes[..len]), None, "{len} bytes");
        }
    }
}
