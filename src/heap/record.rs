//! A record: one version of one object in the log.
//!
//! Header of 24 bytes (see `docs/storage-format.md`), then what the flags announce, then the stored body, padded to a
//! multiple of 8. The header is read by every scan, so it holds only what every record has.

use super::fixed::{padded, put, u32_at, u48, u64_at};
use super::position::Location;
use crate::error::{Error, Result};
use crate::object::{CommitNumber, Oid, RecordBody};

/// Bytes of a record's header.
pub(super) const RECORD_HEADER: usize = 24;
/// The longest stored body.
pub(super) const MAX_BODY: usize = 256 << 20;
/// Bodies longer than this are compressed where that gains.
pub(super) const COMPRESS_ABOVE: usize = 4096;

/// The object was deleted by this commit; there is no body.
pub(super) const TOMBSTONE: u16 = 1;
/// The location of the previous version (8 bytes) follows the header.
pub(super) const HAS_PREVIOUS: u16 = 2;
/// A key id (4 bytes) and a nonce (12 bytes) follow (reserved, as is flag 4: a chunk of a value stored as a stream).
const ENCRYPTED: u16 = 8;
/// Where the codec of the body stands in the flags: 0 none, 1 lz4 with the raw length (u32) before it.
const CODEC_SHIFT: u32 = 8;
const LZ4: u16 = 1 << CODEC_SHIFT;
/// What this build can read.
pub(super) const KNOWN: u16 = TOMBSTONE | HAS_PREVIOUS | LZ4;

/// A record's header, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub(super) length: u32,
    pub(super) flags: u16,
    pub(super) commit: CommitNumber,
    pub(super) schema: u32,
    pub(super) oid: u64,
}

impl RecordHeader {
    #[inline(always)]
    pub(super) fn decode(bytes: &[u8; RECORD_HEADER]) -> Option<RecordHeader> {
        // Three loads, and shifts; the fields lie at 0, 4, 6, 12 and 16.
        let ([first, second, third], []) = bytes.as_chunks::<8>() else {
            return None;
        };
        let (first, second) = (u64::from_le_bytes(*first), u64::from_le_bytes(*second));
        let oid = u64::from_le_bytes(*third);
        Some(RecordHeader {
            length: first as u32,
            flags: (first >> 32) as u16,
            commit: CommitNumber(first >> 48 | (second & 0xffff_ffff) << 16),
            schema: (second >> 32) as u32,
            oid,
        })
    }

    pub(super) fn encode(&self) -> [u8; RECORD_HEADER] {
        let mut bytes = [0; RECORD_HEADER];
        put(&mut bytes, 0, &self.length.to_le_bytes());
        put(&mut bytes, 4, &self.flags.to_le_bytes());
        put(&mut bytes, 6, &u48(self.commit.0));
        put(&mut bytes, 12, &self.schema.to_le_bytes());
        put(&mut bytes, 16, &self.oid.to_le_bytes());
        bytes
    }

    /// Bytes between the header and the body.
    #[inline]
    fn extension(&self) -> usize {
        let previous = if self.flags & HAS_PREVIOUS != 0 { 8 } else { 0 };
        let encryption = if self.flags & ENCRYPTED != 0 { 16 } else { 0 };
        previous + encryption
    }

    /// Where the body begins and ends in the record, if it is stored as it is.
    ///
    /// Whether there is a previous version is worked out without a branch: half of the records may have one, in no
    /// order, and a branch that is guessed wrong waits for the record to come out of memory.
    #[inline(always)]
    pub(super) fn plain_body(&self) -> Option<(usize, usize)> {
        const { assert!(HAS_PREVIOUS == 2) };
        if self.flags & !HAS_PREVIOUS != 0 {
            return None;
        }
        let start = RECORD_HEADER + (usize::from(self.flags) << 2);
        Some((start, start + self.length as usize))
    }

    /// All bytes of the record before its padding.
    #[inline]
    pub(super) fn unpadded(&self) -> usize {
        RECORD_HEADER
            .saturating_add(self.extension())
            .saturating_add(self.length as usize)
    }

    /// Whether it supersedes a version.
    #[inline]
    pub(super) fn has_previous(&self) -> bool {
        self.flags & HAS_PREVIOUS != 0
    }

    /// Whether the object was deleted.
    #[inline]
    pub(super) fn deleted(&self) -> bool {
        self.flags & TOMBSTONE != 0
    }
}

/// A record as it lies in a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredRecord<'a> {
    pub(super) header: RecordHeader,
    pub(super) previous: Option<Location>,
    stored: &'a [u8],
}

impl<'a> StoredRecord<'a> {
    /// The record at the start of `bytes`; `None` if they are too few.
    #[inline]
    pub(super) fn decode(header: RecordHeader, bytes: &'a [u8]) -> Option<StoredRecord<'a>> {
        let previous = if header.flags & HAS_PREVIOUS != 0 {
            std::num::NonZeroU64::new(u64_at(bytes, RECORD_HEADER)?).map(Location)
        } else {
            None
        };
        let start = RECORD_HEADER + header.extension();
        let stored = bytes.get(start..start.checked_add(header.length as usize)?)?;
        Some(StoredRecord {
            header,
            previous,
            stored,
        })
    }

    /// The segment in which a tombstone was first written, if this is a copy of one.
    pub(super) fn original_segment(&self) -> Option<u32> {
        self.header.deleted().then(|| u32_at(self.stored, 0)).flatten()
    }

    /// The body, decompressed where it was compressed.
    #[inline]
    pub(super) fn body(&self) -> Result<RecordBody<'a>> {
        if self.header.flags & !(TOMBSTONE | HAS_PREVIOUS) == 0 {
            return Ok(RecordBody::Borrowed(self.stored));
        }
        self.decompressed()
    }

    #[cold]
    fn decompressed(&self) -> Result<RecordBody<'a>> {
        let unknown = self.header.flags & !KNOWN;
        if unknown != 0 {
            let text = format!("a record has the features {unknown:#x}, which this build does not read");
            return Err(Error::Format(text));
        }
        let damaged = || Error::corruption("a compressed body", "it does not decompress");
        let raw = u32_at(self.stored, 0).ok_or_else(damaged)? as usize;
        let compressed = self.stored.get(4..).ok_or_else(damaged)?;
        // lz4 expands by 255 at most: a length beyond that is a lie, and must not be allocated.
        if raw > MAX_BODY || raw > compressed.len().saturating_mul(255).saturating_add(64) {
            return Err(damaged());
        }
        let mut body = vec![0; raw];
        match lz4_flex::block::decompress_into(compressed, &mut body) {
            Ok(len) if len == raw => Ok(RecordBody::Shared(body.into())),
            _ => Err(damaged()),
        }
    }
}

/// Appends a copy of the record in `bytes`, which lies in segment `number`. The copy of a tombstone has a body: the
/// segment of the original (u32), until which older versions of the object may lie in the log.
pub(super) fn copy_record(buffer: &mut Vec<u8>, header: &RecordHeader, bytes: &[u8], number: u32) {
    let start = buffer.len();
    buffer.extend_from_slice(bytes.get(..header.unpadded()).unwrap_or_default());
    if header.deleted() && header.length == 0 {
        buffer.extend_from_slice(&number.to_le_bytes());
        put(buffer, start, &4u32.to_le_bytes());
    }
    buffer.resize(padded(buffer.len()), 0);
}

/// The most bytes a record with this body can take.
pub(super) fn record_bound(body: Option<&[u8]>) -> usize {
    padded((RECORD_HEADER + 8).saturating_add(body.map_or(0, <[u8]>::len)))
}

/// Appends a record to `buffer`; `body` of `None` is a tombstone.
pub(super) fn encode_record(
    buffer: &mut Vec<u8>,
    oid: Oid,
    commit: CommitNumber,
    previous: Option<Location>,
    body: Option<&[u8]>,
) {
    let start = buffer.len();
    buffer.resize(start + RECORD_HEADER, 0);
    let mut flags = if body.is_none() { TOMBSTONE } else { 0 };
    if let Some(previous) = previous {
        flags |= HAS_PREVIOUS;
        buffer.extend_from_slice(&previous.0.get().to_le_bytes());
    }
    let body_start = buffer.len();
    flags |= encode_body(buffer, body.unwrap_or_default());
    let length = buffer.len() - body_start;
    let header = RecordHeader {
        length: u32::try_from(length).unwrap_or(u32::MAX),
        flags,
        commit,
        schema: 0,
        oid: oid.to_bits(),
    };
    put(buffer, start, &header.encode());
    buffer.resize(padded(buffer.len()), 0);
}

/// Appends the body, compressed if that gains an eighth; returns the codec's flags.
fn encode_body(buffer: &mut Vec<u8>, body: &[u8]) -> u16 {
    if body.len() <= COMPRESS_ABOVE {
        buffer.extend_from_slice(body);
        return 0;
    }
    let start = buffer.len();
    buffer.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    let compressed_start = buffer.len();
    let most = lz4_flex::block::get_maximum_output_size(body.len());
    buffer.resize(compressed_start + most, 0);
    let room = buffer.get_mut(compressed_start..).unwrap_or_default();
    match lz4_flex::block::compress_into(body, room) {
        Ok(len) if len < body.len() / 8 * 7 => {
            buffer.truncate(compressed_start + len);
            LZ4
        }
        _ => {
            buffer.truncate(start);
            buffer.extend_from_slice(body);
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ClassId;

    fn round_trip(previous: Option<Location>, body: Option<&[u8]>) -> usize {
        let oid = Oid::new(ClassId(70), 9).unwrap();
        let commit = CommitNumber((1 << 48) - 2);
        let mut buffer = Vec::new();
        encode_record(&mut buffer, oid, commit, previous, body);
        assert!(buffer.len().is_multiple_of(8) && buffer.len() <= record_bound(body));
        let header = RecordHeader::decode(buffer.first_chunk().unwrap()).unwrap();
        let record = StoredRecord::decode(header, &buffer).unwrap();
        assert_eq!((header.oid, header.commit), (oid.to_bits(), commit));
        assert_eq!(header.deleted(), body.is_none());
        assert_eq!(record.previous, previous);
        assert_eq!(&*record.body().unwrap(), body.unwrap_or_default());
        buffer.len()
    }

    #[test]
    fn records_come_back_as_they_were_written() {
        let previous = Location::new(3, 4096);
        assert_eq!(round_trip(None, Some(b"body")), 32);
        assert_eq!(round_trip(previous, Some(b"")), 32);
        assert_eq!(round_trip(previous, None), 32);
        assert!(round_trip(None, Some(&[7; 100_000])) < 1000);
        let noise: Vec<u8> = (0..50_000u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        round_trip(previous, Some(&noise));
    }

    #[test]
    fn a_false_raw_length_is_an_error_and_allocates_nothing() {
        let oid = Oid::new(ClassId(70), 9).unwrap();
        let mut buffer = Vec::new();
        encode_record(&mut buffer, oid, CommitNumber(1), None, Some(&[7; 10_000]));
        put(&mut buffer, RECORD_HEADER, &u32::MAX.to_le_bytes());
        let header = RecordHeader::decode(buffer.first_chunk().unwrap()).unwrap();
        let record = StoredRecord::decode(header, &buffer).unwrap();
        assert!(matches!(record.body(), Err(Error::Corruption(_))));
    }
}
