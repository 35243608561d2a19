//! The manifest of a backup: which files make up which moment.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::{Disk, File};
use crate::heap::{LogPosition, Moment};
use crate::object::CommitNumber;

/// The directory of the manifests in a backup directory.
pub(super) const MANIFESTS: &str = "manifest";
/// The directory of the copied segments.
pub(super) const SEGMENTS: &str = "segments";
const MAGIC: &[u8; 8] = b"OLIVBKUP";
const VERSION: u16 = 1;
/// Bytes of a copy of FORMAT.
const FORMAT_COPY: usize = 128;

/// One copied segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredSegment {
    pub(super) number: u32,
    /// The manifest that first named this file; part of its name.
    pub(super) generation: u32,
    pub(super) length: u64,
    /// CRC32C of the whole file.
    pub(super) checksum: u32,
    /// The checksum of its footer; `None` for the end of a log, which has none.
    pub(super) footer: Option<u32>,
}

impl StoredSegment {
    /// Where the copy lies in the backup directory.
    pub(super) fn path(&self) -> PathBuf {
        segment_path(self.number, self.generation)
    }
}

/// The path of the copy of a segment that the manifest `generation` named first.
pub(super) fn segment_path(number: u32, generation: u32) -> PathBuf {
    Path::new(SEGMENTS).join(format!("{number:08}.{generation:08}"))
}

/// The path of the manifest `generation`.
pub(super) fn manifest_path(generation: u32) -> PathBuf {
    Path::new(MANIFESTS).join(format!("{generation:08}"))
}

/// What a manifest says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Manifest {
    /// Its number; the newest counts.
    pub(super) generation: u32,
    /// One copy of FORMAT of the database.
    pub(super) format: Vec<u8>,
    /// The moments, the oldest first; all of one database and timeline.
    pub(super) moments: Vec<Moment>,
    /// The segments, ascending by number.
    pub(super) segments: Vec<StoredSegment>,
}

impl Manifest {
    /// The newest moment.
    pub(super) fn newest(&self) -> Option<&Moment> {
        self.moments.last()
    }

    /// The copy of the segment `number`.
    pub(super) fn segment(&self, number: u32) -> Option<&StoredSegment> {
        let found = self
            .segments
            .binary_search_by_key(&number, |segment| segment.number);
        found.ok().and_then(|index| self.segments.get(index))
    }

    /// Which database and timeline it is of: the identity and the timeline in its copy of FORMAT.
    pub(super) fn lineage(&self) -> (&[u8], &[u8]) {
        lineage(&self.format)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        let mut format = self.format.clone();
        format.resize(FORMAT_COPY, 0);
        bytes.extend_from_slice(&format);
        put_count(&mut bytes, self.moments.len());
        put_count(&mut bytes, self.segments.len());
        for moment in &self.moments {
            encode_moment(&mut bytes, moment);
        }
        for segment in &self.segments {
            bytes.extend_from_slice(&segment.number.to_le_bytes());
            bytes.extend_from_slice(&segment.generation.to_le_bytes());
            bytes.extend_from_slice(&segment.length.to_le_bytes());
            bytes.extend_from_slice(&segment.checksum.to_le_bytes());
            bytes.extend_from_slice(&u32::from(segment.footer.is_some()).to_le_bytes());
            bytes.extend_from_slice(&segment.footer.unwrap_or(0).to_le_bytes());
        }
        let checksum = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// `None` if the bytes are no sound manifest; an error for one of a newer build.
    pub(super) fn decode(bytes: &[u8]) -> Result<Option<Manifest>> {
        let Some((body, checksum)) = bytes.split_last_chunk::<4>() else {
            return Ok(None);
        };
        if !body.starts_with(MAGIC) || crc32c::crc32c(body) != u32::from_le_bytes(*checksum) {
            return Ok(None);
        }
        let mut fields = Fields(body.get(MAGIC.len()..).unwrap_or_default());
        let version = fields.u32().map_or(0, |field| field & 0xffff);
        if version != u32::from(VERSION) {
            return Err(Error::Format(format!(
                "the backup has format {version}, this build reads {VERSION}; use a newer build"
            )));
        }
        Ok(fields.manifest())
    }
}

/// Identity and timeline in a copy of FORMAT.
pub(super) fn lineage(format: &[u8]) -> (&[u8], &[u8]) {
    let part = |from: usize, to: usize| format.get(from..to).unwrap_or_default();
    (part(40, 72), part(72, 76))
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn encode_moment(bytes: &mut Vec<u8>, moment: &Moment) {
    bytes.extend_from_slice(&moment.commit.0.to_le_bytes());
    bytes.extend_from_slice(&moment.time.to_le_bytes());
    bytes.extend_from_slice(&moment.end.segment.to_le_bytes());
    bytes.extend_from_slice(&moment.end.offset.to_le_bytes());
    bytes.extend_from_slice(&moment.sequence.to_le_bytes());
    bytes.extend_from_slice(&moment.previous.to_le_bytes());
    bytes.extend_from_slice(&moment.epoch.to_le_bytes());
    put_count(bytes, moment.serials.len());
    put_count(bytes, moment.segments.len());
    for (class, next) in &moment.serials {
        bytes.extend_from_slice(&class.to_le_bytes());
        bytes.extend_from_slice(&next.to_le_bytes());
    }
    for (first, last) in &moment.segments {
        bytes.extend_from_slice(&first.to_le_bytes());
        bytes.extend_from_slice(&last.to_le_bytes());
    }
}

/// What is left to decode. Counts are not trusted: lists grow as their entries are found.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn manifest(&mut self) -> Option<Manifest> {
        let generation = self.u32()?;
        let format = self.0.get(..FORMAT_COPY)?.to_vec();
        self.0 = self.0.get(FORMAT_COPY..)?;
        let (moments, segments) = (self.u32()?, self.u32()?);
        let mut manifest = Manifest {
            generation,
            format,
            ..Manifest::default()
        };
        for _ in 0..moments {
            manifest.moments.push(self.moment()?);
        }
        for _ in 0..segments {
            manifest.segments.push(self.segment()?);
        }
        Some(manifest)
    }

    fn moment(&mut self) -> Option<Moment> {
        let mut moment = Moment {
            commit: CommitNumber(self.u64()?),
            time: self.u64()?.cast_signed(),
            end: LogPosition {
                segment: self.u32()?,
                offset: self.u32()?,
            },
            sequence: self.u64()?,
            previous: self.u32()?,
            epoch: self.u32()?,
            ..Moment::default()
        };
        let (serials, runs) = (self.u32()?, self.u32()?);
        for _ in 0..serials {
            moment.serials.push((self.u32()?, self.u64()?));
        }
        for _ in 0..runs {
            moment.segments.push((self.u32()?, self.u32()?));
        }
        Some(moment)
    }

    fn segment(&mut self) -> Option<StoredSegment> {
        let (number, generation, length, checksum) = (self.u32()?, self.u32()?, self.u64()?, self.u32()?);
        let (has_footer, footer) = (self.u32()? != 0, self.u32()?);
        Some(StoredSegment {
            number,
            generation,
            length,
            checksum,
            footer: has_footer.then_some(footer),
        })
    }

    fn u32(&mut self) -> Option<u32> {
        let (field, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*field))
    }

    fn u64(&mut self) -> Option<u64> {
        let (field, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*field))
    }
}

/// The newest sound manifest on `disk`, and the numbers of all manifest files, sound or not.
pub(super) fn newest_manifest(disk: &dyn Disk) -> Result<(Option<Manifest>, Vec<u32>)> {
    let names = disk.list(Path::new(MANIFESTS))?;
    let mut numbers: Vec<u32> = names
        .iter()
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    for number in numbers.iter().rev() {
        let bytes = read_all(&*disk.open(&manifest_path(*number))?)?;
        let found = Manifest::decode(&bytes)?.filter(|found| found.generation == *number);
        if found.is_some() {
            return Ok((found, numbers));
        }
    }
    Ok((None, numbers))
}

pub(super) fn read_all(file: &dyn File) -> Result<Vec<u8>> {
    let length = file.len()?;
    if length > LONGEST_MANIFEST {
        return Ok(Vec::new());
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// A manifest beyond this is no manifest: 28 bytes a segment.
const LONGEST_MANIFEST: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_comes_back_and_every_flipped_or_missing_byte_is_seen() {
        let manifest = Manifest {
            generation: 3,
            format: vec![7; FORMAT_COPY],
            moments: vec![Moment {
                commit: CommitNumber(9),
                time: -4,
                serials: vec![(64, 100)],
                segments: vec![(1, 3), (5, 5)],
                ..Moment::default()
            }],
            segments: vec![StoredSegment {
                number: 1,
                generation: 2,
                length: 100,
                checksum: 5,
                footer: Some(6),
            }],
        };
        let bytes = manifest.encode();
        assert_eq!(Manifest::decode(&bytes).unwrap(), Some(manifest));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(Manifest::decode(&damaged).unwrap(), None, "byte {at}");
            assert_eq!(Manifest::decode(&bytes[..at]).unwrap(), None, "length {at}");
        }
    }
}
