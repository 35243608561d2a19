//! A frame: what the log is made of. One write each.
//!
//! Frames form a chain: each holds its sequence number and the checksum of the one before it, so that a frame of
//! another time, or one whose predecessor is lost, is never taken for the next. A frame that holds commits is a list
//! of *sections*, each the whole or a part of one commit; a commit exists from the moment its last part does.

use super::fixed::{i64_at, padded, put, u16_at, u32_at, u48, u48_at, u64_at};
use super::position::{Location, LogPosition};
use super::record::{RECORD_HEADER, RecordHeader};
use crate::object::CommitNumber;

/// Bytes of a frame's header.
pub(super) const FRAME_HEADER: usize = 64;
/// The first four bytes of a frame.
pub(super) const FRAME_MAGIC: u32 = u32::from_le_bytes(*b"OLfr");
/// A frame of commits.
pub(super) const COMMITS: u16 = 1;
/// A frame that reserves serial numbers.
pub(super) const RESERVATION: u16 = 2;
/// A frame of records that the cleaner moved.
pub(super) const MOVE: u16 = 3;
/// A frame that lists the segments there are, when some are given up.
pub(super) const CENSUS: u16 = SKIPPABLE | 4;
/// A frame of an unknown kind may be skipped if its kind has this bit.
pub(super) const SKIPPABLE: u16 = 0x8000;

/// Where the chain of frames stands: what the next frame must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    /// The next frame's sequence number; the first is 1.
    pub(super) sequence: u64,
    /// The checksum of the frame before it; 0 before the first.
    pub(super) previous: u32,
}

impl Chain {
    pub(super) const START: Chain = Chain {
        sequence: 1,
        previous: 0,
    };
}

/// A frame's header, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) kind: u16,
    pub(super) chain: Chain,
    pub(super) epoch: u32,
    /// The position through which the log was known durable when the frame was written.
    pub(super) durable: LogPosition,
    /// Bytes of the payload.
    pub(super) length: u32,
    /// The checksum of header and payload.
    pub(super) checksum: u32,
}

impl FrameHeader {
    /// The header at the start of `bytes`, unless they are no frame's.
    pub(super) fn decode(bytes: &[u8]) -> Option<FrameHeader> {
        if u32_at(bytes, 0)? != FRAME_MAGIC {
            return None;
        }
        Some(FrameHeader {
            kind: u16_at(bytes, 4)?,
            chain: Chain {
                sequence: u64_at(bytes, 8)?,
                previous: u32_at(bytes, 20)?,
            },
            epoch: u32_at(bytes, 16)?,
            durable: LogPosition {
                segment: u32_at(bytes, 24)?,
                offset: u32_at(bytes, 28)?,
            },
            length: u32_at(bytes, 32)?,
            checksum: u32_at(bytes, 60)?,
        })
    }

    /// Fills in the header of `frame` (its first 64 bytes, the payload behind them) and returns the checksum.
    pub(super) fn seal(frame: &mut [u8], kind: u16, chain: Chain, epoch: u32, durable: LogPosition) -> u32 {
        let length = u32::try_from(frame.len().saturating_sub(FRAME_HEADER)).unwrap_or(u32::MAX);
        put(frame, 0, &FRAME_MAGIC.to_le_bytes());
        put(frame, 4, &kind.to_le_bytes());
        put(frame, 8, &chain.sequence.to_le_bytes());
        put(frame, 16, &epoch.to_le_bytes());
        put(frame, 20, &chain.previous.to_le_bytes());
        put(frame, 24, &durable.segment.to_le_bytes());
        put(frame, 28, &durable.offset.to_le_bytes());
        put(frame, 32, &length.to_le_bytes());
        let checksum = frame_checksum(frame);
        put(frame, 60, &checksum.to_le_bytes());
        checksum
    }

    /// Bytes of the whole frame.
    pub(super) fn size(&self) -> usize {
        FRAME_HEADER.saturating_add(self.length as usize)
    }

    /// The chain after this frame.
    pub(super) fn next(&self) -> Chain {
        Chain {
            sequence: self.chain.sequence.wrapping_add(1),
            previous: self.checksum,
        }
    }
}

/// The checksum of a frame: all its bytes but the checksum itself.
pub(super) fn frame_checksum(frame: &[u8]) -> u32 {
    let before = frame.get(..FRAME_HEADER - 4).unwrap_or_default();
    let after = frame.get(FRAME_HEADER..).unwrap_or_default();
    crc32c::crc32c_append(crc32c::crc32c(before), after)
}

/// Bytes of a section's header.
pub(super) const SECTION_HEADER: usize = 40;
/// The section begins its commit: label and metadata stand here.
const FIRST: u16 = 1;
/// The section ends its commit, which exists from here on.
const LAST: u16 = 2;

/// One commit, or a part of one, in a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section<'a> {
    pub(super) first: bool,
    pub(super) last: bool,
    pub(super) number: CommitNumber,
    pub(super) time: i64,
    /// How many records it has.
    pub(super) count: u32,
    pub(super) label: &'a [u8],
    pub(super) metadata: &'a [u8],
    pub(super) records: &'a [u8],
    pub(super) deltas: &'a [u8],
    /// Where in its segment the section begins and ends, and its records begin.
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) records_start: u32,
}

/// Begins a section in `buffer`; [`end_section`] is told what this returns.
pub(super) fn begin_section(buffer: &mut Vec<u8>, label: &str, metadata: &[u8]) -> usize {
    let start = buffer.len();
    buffer.resize(start + SECTION_HEADER, 0);
    let label_length = u16::try_from(label.len()).unwrap_or(u16::MAX);
    let metadata_length = u32::try_from(metadata.len()).unwrap_or(u32::MAX);
    put(buffer, start + 24, &label_length.to_le_bytes());
    put(buffer, start + 28, &metadata_length.to_le_bytes());
    buffer.extend_from_slice(label.as_bytes());
    buffer.extend_from_slice(metadata);
    buffer.resize(padded(buffer.len()), 0);
    start
}

/// What [`end_section`] fills into the header.
pub(super) struct SectionEnd<'a> {
    pub(super) first: bool,
    pub(super) last: bool,
    pub(super) number: CommitNumber,
    pub(super) time: i64,
    /// How many records, and where in the buffer they begin.
    pub(super) records: usize,
    pub(super) records_start: usize,
    pub(super) deltas: &'a [u8],
}

/// Appends the deltas and fills in the header of the section that began at `start`.
pub(super) fn end_section(buffer: &mut Vec<u8>, start: usize, end: &SectionEnd<'_>) {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    let records = buffer.len().saturating_sub(end.records_start);
    buffer.extend_from_slice(end.deltas);
    buffer.resize(padded(buffer.len()), 0);
    let length = buffer.len() - start;
    let flags = if end.first { FIRST } else { 0 } | if end.last { LAST } else { 0 };
    put(buffer, start, &number(length));
    put(buffer, start + 4, &flags.to_le_bytes());
    put(buffer, start + 6, &u48(end.number.0));
    put(buffer, start + 12, &number(end.records));
    put(buffer, start + 16, &end.time.to_le_bytes());
    put(buffer, start + 32, &number(records));
    put(buffer, start + 36, &number(end.deltas.len()));
}

/// The sections of a frame's payload, which begins at `start` of its segment; ends early at a malformed one.
pub(super) fn sections(payload: &[u8], start: u32) -> impl Iterator<Item = Section<'_>> {
    let mut rest = payload;
    let mut position = start;
    std::iter::from_fn(move || {
        let section = decode_section(rest, position)?;
        let length = (section.end - section.start) as usize;
        rest = rest.get(length..)?;
        position = section.end;
        Some(section)
    })
}

fn decode_section(bytes: &[u8], start: u32) -> Option<Section<'_>> {
    let length = u32_at(bytes, 0)?;
    let bytes = bytes.get(..length as usize)?;
    let flags = u16_at(bytes, 4)?;
    let label_length = usize::from(u16_at(bytes, 24)?);
    let metadata_length = u32_at(bytes, 28)? as usize;
    let label_end = SECTION_HEADER.checked_add(label_length)?;
    let metadata_end = label_end.checked_add(metadata_length)?;
    let records_start = padded(metadata_end);
    let records_end = records_start.checked_add(u32_at(bytes, 32)? as usize)?;
    let deltas_end = records_end.checked_add(u32_at(bytes, 36)? as usize)?;
    Some(Section {
        first: flags & FIRST != 0,
        last: flags & LAST != 0,
        number: CommitNumber(u48_at(bytes, 6)?),
        time: i64_at(bytes, 16)?,
        count: u32_at(bytes, 12)?,
        label: bytes.get(SECTION_HEADER..label_end)?,
        metadata: bytes.get(label_end..metadata_end)?,
        records: bytes.get(records_start..records_end)?,
        deltas: bytes.get(records_end..deltas_end)?,
        start,
        end: start.checked_add(length)?,
        records_start: start.checked_add(u32::try_from(records_start).ok()?)?,
    })
}

/// The records in `bytes`, which begin at `start` of `segment`, with their locations; ends early at a malformed one.
pub(super) fn records(
    bytes: &[u8],
    segment: u32,
    start: u32,
) -> impl Iterator<Item = (Location, RecordHeader)> + '_ {
    let mut at = 0usize;
    std::iter::from_fn(move || {
        let header = RecordHeader::decode(bytes.get(at..)?.first_chunk::<RECORD_HEADER>()?)?;
        let location = Location::new(segment, u64::from(start).checked_add(at as u64)?)?;
        at = at.checked_add(padded(header.unpadded()))?;
        (at <= bytes.len()).then_some((location, header))
    })
}

/// The reservations of a frame's payload: class and the serial number up to which it is reserved.
pub(super) fn reservations(payload: &[u8]) -> impl Iterator<Item = (u32, u64)> + '_ {
    payload
        .chunks_exact(16)
        .filter_map(|entry| Some((u32_at(entry, 0)?, u64_at(entry, 8)?)))
}

/// The payload of a frame that reserves the serial numbers of `class` below `end`.
pub(super) fn encode_reservation(buffer: &mut Vec<u8>, class: u32, end: u64) {
    buffer.extend_from_slice(&u64::from(class).to_le_bytes());
    buffer.extend_from_slice(&end.to_le_bytes());
}

/// The moved records of a frame's payload, which begins at `start` of `segment`: where each came from, where it lies
/// now, and its header. Ends early at a malformed one.
pub(super) fn moves(
    payload: &[u8],
    segment: u32,
    start: u32,
) -> impl Iterator<Item = (Option<Location>, Location, RecordHeader)> + '_ {
    let mut at = 0usize;
    std::iter::from_fn(move || {
        let origin = std::num::NonZeroU64::new(u64_at(payload, at)?).map(Location);
        let record = at.checked_add(8)?;
        let header = RecordHeader::decode(payload.get(record..)?.first_chunk::<RECORD_HEADER>()?)?;
        let location = Location::new(segment, u64::from(start).checked_add(record as u64)?)?;
        at = record.checked_add(padded(header.unpadded()))?;
        (at <= payload.len()).then_some((origin, location, header))
    })
}

#[cfg(test)]
mod tests {
    use super::super::record::encode_record;
    use super::*;
    use crate::object::{ClassId, Oid};

    fn frame_of_one_commit() -> Vec<u8> {
        let mut frame = vec![0; FRAME_HEADER];
        let start = begin_section(&mut frame, "label", b"metadata");
        let records_start = frame.len();
        for serial in 1..=3 {
            let oid = Oid::new(ClassId(64), serial).unwrap();
            encode_record(&mut frame, oid, CommitNumber(7), None, Some(b"body"));
        }
        let end = SectionEnd {
            first: true,
            last: true,
            number: CommitNumber(7),
            time: -5,
            records: 3,
            records_start,
            deltas: b"deltas",
        };
        end_section(&mut frame, start, &end);
        let durable = LogPosition {
            segment: 1,
            offset: 64,
        };
        FrameHeader::seal(&mut frame, COMMITS, Chain::START, 4, durable);
        frame
    }

    #[test]
    fn a_frame_comes_back_as_it_was_written() {
        let frame = frame_of_one_commit();
        let header = FrameHeader::decode(&frame).unwrap();
        assert_eq!(header.size(), frame.len());
        assert_eq!(header.checksum, frame_checksum(&frame));
        assert_eq!(
            (header.kind, header.epoch, header.chain),
            (COMMITS, 4, Chain::START)
        );
        let found: Vec<_> = sections(&frame[FRAME_HEADER..], 128).collect();
        assert_eq!(found.len(), 1);
        let section = found[0];
        assert!(section.first && section.last);
        assert_eq!((section.number, section.time), (CommitNumber(7), -5));
        assert_eq!(
            (section.label, section.metadata),
            (&b"label"[..], &b"metadata"[..])
        );
        assert_eq!(section.deltas, b"deltas");
        let records: Vec<_> = records(section.records, 9, section.records_start).collect();
        assert_eq!(records.len(), 3);
        assert_eq!(records[0].0.offset(), 128 + 40 + 16u64);
        assert_eq!(records[2].1.oid, Oid::new(ClassId(64), 3).unwrap().to_bits());
    }

    #[test]
    fn every_flipped_bit_of_a_frame_is_seen() {
        let frame = frame_of_one_commit();
        for at in 0..frame.len() {
            let mut damaged = frame.clone();
            damaged[at] ^= 0x10;
            let seen = FrameHeader::decode(&damaged).is_none_or(|header| {
                header.size() != damaged.len() || header.checksum != frame_checksum(&damaged)
            });
            assert!(seen, "byte {at}");
        }
    }

    #[test]
    fn truncated_and_random_payloads_end_early() {
        let frame = frame_of_one_commit();
        for len in 0..frame.len() - FRAME_HEADER {
            let payload = &frame[FRAME_HEADER..FRAME_HEADER + len];
            assert_eq!(sections(payload, 64).count(), 0);
            let _ = moves(payload, 1, 64).count();
            let _ = records(payload, 1, 64).count();
        }
    }
}
