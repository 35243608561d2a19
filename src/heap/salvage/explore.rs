//! Reading every segment there is, frame by frame.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::footer::{BLOCK, Footer};
use super::super::format::find_format;
use super::super::frame::{
    COMMITS, FRAME_HEADER, FRAME_MAGIC, FrameHeader, MOVE, frame_checksum, moves, records, reservations,
    sections,
};
use super::super::segment::{HEAP_DIRECTORY, SEGMENT_HEADER, header_identity, segment_number, segment_path};
use super::region::{Region, read_region};
use super::witness::ask_table;
use super::{Loss, Remains};
use crate::error::{Error, Result};
use crate::files::{Disk, File};
use crate::object::CommitNumber;

/// Beyond this no segment was ever made.
const LONGEST_SEGMENT: u64 = 512 << 20;

/// One segment in memory.
pub(super) struct Wreck {
    pub(super) number: u32,
    pub(super) bytes: Vec<u8>,
    /// Where its frames end, as far as that is known.
    pub(super) limit: usize,
    /// For each block whether its bytes have the checksum in the footer; `None` without a sound footer.
    pub(super) blocks: Option<Vec<bool>>,
}

/// Reads what can be read of the heap on `disk`, changing nothing. `watch` is told the segments done and their number,
/// and ends the work by an error.
///
/// # Errors
/// [`Error::Format`] where there is no segment at all, or a newer build wrote the database.
pub fn explore(disk: &Arc<dyn Disk>, watch: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<Remains> {
    let mut remains = Remains {
        format: find_format(&**disk)?,
        ..Remains::default()
    };
    if remains.format.is_none() {
        remains.losses.push(Loss {
            what: "FORMAT is missing or damaged; the identity was taken from the segments".into(),
            ..Loss::default()
        });
    }
    let names = disk.list(Path::new(HEAP_DIRECTORY))?;
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| segment_number(name)).collect();
    numbers.sort_unstable();
    if numbers.is_empty() {
        return Err(Error::Format(
            "the directory holds no segments of an Olivine database; there is nothing to salvage".into(),
        ));
    }
    let mut identity = remains.format.map(|format| format.database);
    let mut parts = Parts::default();
    for (done, number) in numbers.iter().enumerate() {
        watch(done as u64, numbers.len() as u64)?;
        let path = segment_path(*number);
        let read = disk.open(&path).and_then(|file| Ok((read_whole(&*file)?, file)));
        let (bytes, file) = match read {
            Ok(read) => read,
            Err(error) => {
                let what = format!("the segment cannot be read: {error}");
                remains.losses.push(Loss::of_segment(*number, 0, what));
                continue;
            }
        };
        if !belongs(&bytes, *number, &mut identity, &mut remains) {
            continue;
        }
        let wreck = wreck_of(&*file, *number, bytes);
        remains.files.insert(*number, file);
        read_frames(&wreck, &mut remains, &mut parts)?;
    }
    report_halves(&parts, &mut remains);
    ask_table(disk, &numbers, &mut remains);
    Ok(remains)
}

fn read_whole(file: &dyn File) -> Result<Vec<u8>> {
    let length = file.len()?;
    if length > LONGEST_SEGMENT {
        return Err(Error::corruption(
            file.path().display().to_string(),
            format!("{length} bytes are more than any segment has"),
        ));
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Whether the segment is one of this database, as far as its header tells.
fn belongs(bytes: &[u8], number: u32, identity: &mut Option<[u8; 16]>, remains: &mut Remains) -> bool {
    let header = bytes.first_chunk::<64>().and_then(header_identity);
    match (header, *identity) {
        (Some((_, database)), Some(known)) if database != known => {
            let what = "the segment is one of another database; it was left out";
            remains.losses.push(Loss::of_segment(number, 0, what));
            return false;
        }
        (Some((_, database)), None) => *identity = Some(database),
        (Some(_), Some(_)) => {}
        (None, _) => {
            let what = "the header of the segment is damaged; its frames were read nevertheless";
            if bytes.iter().any(|byte| *byte != 0) {
                remains.losses.push(Loss::of_segment(number, 0, what));
            }
        }
    }
    true
}

fn wreck_of(file: &dyn File, number: u32, bytes: Vec<u8>) -> Wreck {
    let footer = Footer::read(file, number, bytes.len() as u64).ok().flatten();
    let sums = footer.and_then(|footer| footer.read_sums(file, number).ok());
    let limit = footer.map_or(bytes.len(), |footer| footer.data_end as usize);
    let data = bytes.get(..limit).unwrap_or(&bytes);
    let blocks = sums.map(|sums| {
        let blocks = data.chunks(BLOCK).zip(sums.iter());
        blocks.map(|(block, sum)| crc32c::crc32c(block) == *sum).collect()
    });
    Wreck {
        number,
        limit: limit.min(bytes.len()),
        bytes,
        blocks,
    }
}

/// Commits of which only some parts were seen so far: whether the first and the last were.
pub(super) type Parts = FxHashMap<CommitNumber, (bool, bool)>;

fn read_frames(wreck: &Wreck, remains: &mut Remains, parts: &mut Parts) -> Result<()> {
    let start = (SEGMENT_HEADER as usize).min(wreck.limit);
    let mut offset = start;
    let mut sound_until = start;
    while let Some(header) = next_header(wreck, &mut offset) {
        let Some(frame) = sound_frame(wreck, offset, &header) else {
            offset = offset.saturating_add(8);
            continue;
        };
        if offset > sound_until {
            read_region(
                wreck,
                Region {
                    start: sound_until,
                    end: offset,
                },
                remains,
            );
        }
        take_frame(wreck.number, offset, &header, frame, remains, parts)?;
        offset = offset.saturating_add(header.size());
        sound_until = offset;
    }
    let rest = wreck.bytes.get(sound_until..wreck.limit).unwrap_or_default();
    if let Some(last) = rest.iter().rposition(|byte| *byte != 0) {
        let end = sound_until.saturating_add(last).saturating_add(1);
        read_region(
            wreck,
            Region {
                start: sound_until,
                end,
            },
            remains,
        );
    }
    Ok(())
}

/// The next place at or after `offset` that looks like the header of a frame.
fn next_header(wreck: &Wreck, offset: &mut usize) -> Option<FrameHeader> {
    let magic = FRAME_MAGIC.to_le_bytes();
    while *offset < wreck.limit {
        let bytes = wreck.bytes.get(*offset..wreck.limit)?;
        if bytes.starts_with(&magic)
            && let Some(header) = FrameHeader::decode(bytes)
        {
            return Some(header);
        }
        *offset = offset.saturating_add(8);
    }
    None
}

fn sound_frame<'a>(wreck: &'a Wreck, offset: usize, header: &FrameHeader) -> Option<&'a [u8]> {
    let end = offset
        .checked_add(header.size())
        .filter(|end| *end <= wreck.limit)?;
    let frame = wreck.bytes.get(offset..end)?;
    (frame_checksum(frame) == header.checksum).then_some(frame)
}

fn take_frame(
    number: u32,
    offset: usize,
    header: &FrameHeader,
    frame: &[u8],
    remains: &mut Remains,
    parts: &mut Parts,
) -> Result<()> {
    let payload = frame.get(FRAME_HEADER..).unwrap_or_default();
    let start = u32::try_from(offset.saturating_add(FRAME_HEADER)).unwrap_or(u32::MAX);
    match header.kind {
        COMMITS => {
            for section in sections(payload, start) {
                if !(section.first && section.last) {
                    let seen = parts.entry(section.number).or_default();
                    *seen = (seen.0 || section.first, seen.1 || section.last);
                }
                remains.last_time = remains.last_time.max(section.time);
                for (location, record) in records(section.records, number, section.records_start) {
                    remains.add(location, &record);
                }
            }
        }
        MOVE => {
            for (_, location, record) in moves(payload, number, start) {
                remains.add(location, &record);
            }
        }
        _ => {
            for (class, end) in reservations(payload) {
                let known = remains.serials.entry(class).or_default();
                *known = end.max(*known);
            }
        }
    }
    Ok(())
}

/// Names the commits that are there in part.
fn report_halves(parts: &Parts, remains: &mut Remains) {
    let halves = parts.iter().filter(|(_, (first, last))| !(*first && *last));
    let mut numbers: Vec<u64> = halves.map(|(number, _)| number.0).collect();
    numbers.sort_unstable();
    for number in numbers {
        remains.losses.push(Loss {
            what: format!("commit {number} is there in part only; the objects that were found were taken"),
            ..Loss::default()
        });
    }
}
