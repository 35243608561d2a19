//! The footer of a sealed segment: the checksums of its blocks, and what the segment holds.

use super::fixed::{i64_at, padded, put, u32_at, u64_at};
use super::frame::Chain;
use super::segment::{SEGMENT_HEADER, place};
use crate::error::{Error, Result};
use crate::files::File;
use crate::object::CommitNumber;

/// Bytes under one checksum.
pub(super) const BLOCK: usize = 4096;
/// Bytes of the fixed part, the last of the file.
pub(super) const FOOTER_TRAILER: usize = 80;
const MAGIC: &[u8; 8] = b"OLIVEND\0";

/// What the frames of a segment hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tally {
    /// Records, superseded ones included.
    pub(super) records: u32,
    /// The commits of which it has a part, and their times; all zero if none.
    pub(super) first_commit: CommitNumber,
    pub(super) last_commit: CommitNumber,
    pub(super) first_time: i64,
    pub(super) last_time: i64,
}

impl Tally {
    pub(super) fn add(&mut self, commit: CommitNumber, time: i64, records: usize) {
        if self.first_commit == CommitNumber::default() {
            self.first_commit = commit;
            self.first_time = time;
        }
        self.last_commit = self.last_commit.max(commit);
        self.last_time = time;
        let records = u32::try_from(records).unwrap_or(u32::MAX);
        self.records = self.records.saturating_add(records);
    }
}

/// The fixed part of a footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footer {
    /// Bytes of header and frames.
    pub(super) data_end: u32,
    pub(super) blocks: u32,
    sums_checksum: u32,
    pub(super) tally: Tally,
    /// Where the chain of frames stands after the last one.
    pub(super) chain: Chain,
}

impl Footer {
    /// The bytes of the footer of segment `number`, whose header and frames have these checksums and end at `data_end`.
    pub(super) fn encode(number: u32, data_end: u32, sums: &[u32], tally: &Tally, chain: Chain) -> Vec<u8> {
        let mut bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        bytes.resize(padded(bytes.len()), 0);
        let sums_checksum = crc32c::crc32c(&bytes);
        let mut trailer = [0; FOOTER_TRAILER];
        let blocks = u32::try_from(sums.len()).unwrap_or(u32::MAX);
        put(&mut trailer, 0, MAGIC);
        put(&mut trailer, 8, &number.to_le_bytes());
        put(&mut trailer, 12, &data_end.to_le_bytes());
        put(&mut trailer, 16, &blocks.to_le_bytes());
        put(&mut trailer, 20, &sums_checksum.to_le_bytes());
        put(&mut trailer, 24, &tally.records.to_le_bytes());
        put(&mut trailer, 28, &chain.previous.to_le_bytes());
        put(&mut trailer, 32, &tally.first_commit.0.to_le_bytes());
        put(&mut trailer, 40, &tally.last_commit.0.to_le_bytes());
        put(&mut trailer, 48, &tally.first_time.to_le_bytes());
        put(&mut trailer, 56, &tally.last_time.to_le_bytes());
        put(&mut trailer, 64, &chain.sequence.to_le_bytes());
        let checksum = crc32c::crc32c(trailer.get(..FOOTER_TRAILER - 4).unwrap_or_default());
        put(&mut trailer, FOOTER_TRAILER - 4, &checksum.to_le_bytes());
        bytes.extend_from_slice(&trailer);
        bytes
    }

    /// The footer at the end of the file of segment `number`, if there is a sound one.
    pub(super) fn read(file: &dyn File, number: u32, length: u64) -> Result<Option<Footer>> {
        let Some(at) = length.checked_sub(FOOTER_TRAILER as u64) else {
            return Ok(None);
        };
        let mut trailer = [0; FOOTER_TRAILER];
        file.read_at(&mut trailer, at)?;
        Ok(Footer::decode(&trailer, number).filter(|footer| footer.fits(length)))
    }

    fn decode(trailer: &[u8; FOOTER_TRAILER], number: u32) -> Option<Footer> {
        let checksum = crc32c::crc32c(trailer.get(..FOOTER_TRAILER - 4)?);
        if !trailer.starts_with(MAGIC)
            || u32_at(trailer, FOOTER_TRAILER - 4)? != checksum
            || u32_at(trailer, 8)? != number
        {
            return None;
        }
        Some(Footer {
            data_end: u32_at(trailer, 12)?,
            blocks: u32_at(trailer, 16)?,
            sums_checksum: u32_at(trailer, 20)?,
            tally: Tally {
                records: u32_at(trailer, 24)?,
                first_commit: CommitNumber(u64_at(trailer, 32)?),
                last_commit: CommitNumber(u64_at(trailer, 40)?),
                first_time: i64_at(trailer, 48)?,
                last_time: i64_at(trailer, 56)?,
            },
            chain: Chain {
                sequence: u64_at(trailer, 64)?,
                previous: u32_at(trailer, 28)?,
            },
        })
    }

    /// Bytes of the whole footer.
    pub(super) fn size(&self) -> usize {
        padded((self.blocks as usize).saturating_mul(4)).saturating_add(FOOTER_TRAILER)
    }

    fn fits(&self, length: u64) -> bool {
        self.data_end >= SEGMENT_HEADER
            && self.blocks == self.data_end.div_ceil(BLOCK as u32)
            && u64::from(self.data_end).saturating_add(self.size() as u64) <= length
    }

    /// Reads the checksums of the blocks.
    pub(super) fn read_sums(&self, file: &dyn File, number: u32) -> Result<Box<[u32]>> {
        let length = file.len()?;
        let at = length.saturating_sub(self.size() as u64);
        let mut bytes = vec![0; padded((self.blocks as usize).saturating_mul(4))];
        file.read_at(&mut bytes, at)?;
        if crc32c::crc32c(&bytes) != self.sums_checksum {
            let what = "the list of block checksums in the footer is damaged";
            return Err(Error::corruption(place(number, at, None), what));
        }
        let sums = bytes.chunks_exact(4).filter_map(|sum| u32_at(sum, 0));
        Ok(sums.take(self.blocks as usize).collect())
    }
}

/// The checksums of a segment's blocks, worked out as its bytes come.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockSums {
    sums: Vec<u32>,
    partial: u32,
    filled: usize,
}

impl BlockSums {
    /// Takes in the next bytes of the segment.
    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let take = (BLOCK - self.filled).min(bytes.len());
            let (now, rest) = bytes.split_at(take);
            self.partial = crc32c::crc32c_append(self.partial, now);
            self.filled += take;
            bytes = rest;
            if self.filled == BLOCK {
                self.sums.push(self.partial);
                self.partial = 0;
                self.filled = 0;
            }
        }
    }

    /// All checksums, that of the last block over as many bytes as came.
    pub(super) fn finish(mut self) -> Vec<u32> {
        if self.filled > 0 {
            self.sums.push(self.partial);
        }
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_how_the_bytes_come() {
        let bytes: Vec<u8> = (0..10_000u32).map(|i| i as u8).collect();
        let mut at_once = BlockSums::default();
        at_once.add(&bytes);
        let mut in_pieces = BlockSums::default();
        for piece in bytes.chunks(97) {
            in_pieces.add(piece);
        }
        let sums = at_once.finish();
        assert_eq!(sums, in_pieces.finish());
        assert_eq!(sums, bytes.chunks(BLOCK).map(crc32c::crc32c).collect::<Vec<_>>());
    }

    #[test]
    fn a_footer_comes_back_and_every_flipped_bit_is_seen() {
        let mut tally = Tally::default();
        tally.add(CommitNumber(3), -7, 10);
        tally.add(CommitNumber(5), 9, 20);
        let chain = Chain {
            sequence: 44,
            previous: 55,
        };
        let bytes = Footer::encode(8, 9000, &[1, 2, 3], &tally, chain);
        let trailer: [u8; FOOTER_TRAILER] = *bytes.last_chunk().unwrap();
        let footer = Footer::decode(&trailer, 8).unwrap();
        assert_eq!(
            (footer.tally, footer.chain, footer.data_end),
            (tally, chain, 9000)
        );
        assert_eq!(footer.size(), bytes.len());
        assert!(footer.fits(9000 + bytes.len() as u64) && !footer.fits(9000));
        assert!(Footer::decode(&trailer, 9).is_none());
        for at in 0..FOOTER_TRAILER {
            let mut damaged = trailer;
            damaged[at] ^= 1;
            assert!(Footer::decode(&damaged, 8).is_none(), "byte {at}");
        }
    }
}
