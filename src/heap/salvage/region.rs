//! Records in a part of a segment whose frames are not sound.
//!
//! With a sound footer each 4 KiB block has its own checksum, so records that lie in sound blocks are as good as in a
//! sound frame; without one nothing here can be trusted, and only names are taken from it. Records follow one another; after
//! a damaged place the next one is looked for, and a place is taken for a record only if nothing about it is odd.

use super::super::fixed::padded;
use super::super::footer::BLOCK;
use super::super::frame::{FRAME_HEADER, FRAME_MAGIC, SECTION_HEADER};
use super::super::position::Location;
use super::super::record::{KNOWN, MAX_BODY, RECORD_HEADER, RecordHeader};
use super::explore::Wreck;
use super::{Loss, Remains};
use crate::object::Oid;

/// Bytes `start..end` of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Takes what is sound in a damaged region, and lists the rest as lost.
pub(super) fn read_region(wreck: &Wreck, region: Region, remains: &mut Remains) {
    let mut offset = region.start;
    let mut taken = 0u64;
    let mut lost = Vec::new();
    while offset < region.end {
        if wreck
            .bytes
            .get(offset..)
            .is_some_and(|bytes| bytes.starts_with(&FRAME_MAGIC.to_le_bytes()))
        {
            offset = offset.saturating_add(FRAME_HEADER + SECTION_HEADER);
            continue;
        }
        let Some(found) = record_at(wreck, offset, region.end) else {
            offset = offset.saturating_add(8);
            continue;
        };
        let Found {
            oid,
            location,
            header,
            end,
        } = found;
        if is_sound(wreck, offset, end) {
            remains.add(location, &header);
            taken = taken.saturating_add(1);
            offset = end;
        } else if is_sound(wreck, offset, offset.saturating_add(RECORD_HEADER)) {
            lost.push((oid, location));
            offset = end;
        } else {
            offset = offset.saturating_add(8);
        }
    }
    let length = region.end.saturating_sub(region.start);
    let what = match &wreck.blocks {
        Some(_) => {
            format!("{length} bytes are damaged in part; {taken} records in sound blocks of them were taken")
        }
        None => {
            format!("{length} bytes hold no sound frame: damaged, or the end of a write that never finished")
        }
    };
    remains
        .losses
        .push(Loss::of_segment(wreck.number, region.start as u64, what));
    for (oid, location) in lost {
        let what = "a version of the object is damaged";
        remains.losses.push(Loss::of_object(oid, Some(location), what));
    }
}

struct Found {
    oid: Oid,
    location: Location,
    header: RecordHeader,
    end: usize,
}

/// What looks like a record in every respect.
fn record_at(wreck: &Wreck, offset: usize, limit: usize) -> Option<Found> {
    let bytes = wreck.bytes.get(offset..)?;
    let header = RecordHeader::decode(bytes.first_chunk::<RECORD_HEADER>()?)?;
    let oid = Oid::from_bits(header.oid)?;
    let end = offset.checked_add(padded(header.unpadded()))?;
    let padding = wreck.bytes.get(offset.checked_add(header.unpadded())?..end)?;
    let plausible = header.flags & !KNOWN == 0
        && header.schema == 0
        && header.commit.0 > 0
        && header.length as usize <= MAX_BODY
        && (!header.deleted() || header.length == 0)
        && end <= limit.next_multiple_of(8)
        && padding.iter().all(|byte| *byte == 0);
    let location = Location::new(wreck.number, offset as u64)?;
    plausible.then_some(Found {
        oid,
        location,
        header,
        end,
    })
}

/// Whether all blocks under these bytes have their checksums.
fn is_sound(wreck: &Wreck, start: usize, end: usize) -> bool {
    let Some(blocks) = &wreck.blocks else { return false };
    let last = end.saturating_sub(1) / BLOCK;
    (start / BLOCK..=last).all(|block| blocks.get(block).copied().unwrap_or(false))
}
