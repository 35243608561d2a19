//! A segment: one file of the log.
//!
//! Header, frames, and once it is *sealed* a footer with the checksums of its 4 KiB blocks. Its bytes are read through
//! a mapping that the segment owns, and only below its published end. A block of a segment that was sealed before this
//! process opened it is verified at its first touch, through an ordinary read; what this process wrote, or checked
//! frame by frame during recovery, needs no such check. So a read that finds its blocks verified costs one relaxed load
//! and a branch.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::fixed::{put, u16_at, u32_at};
use super::footer::{BLOCK, FOOTER_TRAILER, Footer, Tally};
use super::frame::Chain;
use super::position::Location;
use super::record::{RECORD_HEADER, RecordHeader, StoredRecord};
use crate::error::{Error, Result};
use crate::files::{Disk, File, Map};
use crate::object::{CommitNumber, Oid};

/// Bytes of a segment's header; the first frame begins here.
pub(super) const SEGMENT_HEADER: u32 = 64;
/// The directory of the segments.
pub(super) const HEAP_DIRECTORY: &str = "heap";
/// From the start of a record to what is fetched together with its header: the first attributes.
const AHEAD: usize = 48;
const MAGIC: &[u8; 8] = b"OLIVSEG\0";
const VERSION: u16 = 1;

/// One file of the log.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u32,
    pub(super) file: Arc<dyn File>,
    map: Map,
    /// Bytes from the start that may be looked at.
    end: AtomicU32,
    checks: Option<BlockChecks>,
    /// What its frames hold, once it is sealed.
    tally: OnceLock<Tally>,
    pub(super) use_count: UseCount,
}

/// How much of a segment is in use: kept up by every change of the table.
#[derive(Debug, Default)]
pub(super) struct UseCount {
    /// Records that the table points at. While the table changes, and before it was counted after a rebuild, it may be
    /// anything.
    live: AtomicI64,
    /// The newest commit that superseded a record of the segment.
    superseded_by: AtomicU64,
}

impl UseCount {
    /// Records that the table points at.
    pub(super) fn live(&self) -> u64 {
        u64::try_from(self.live.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// The newest commit that superseded a record of the segment.
    pub(super) fn superseded_by(&self) -> CommitNumber {
        CommitNumber(self.superseded_by.load(Ordering::Relaxed))
    }

    /// The table points at `count` more records.
    pub(super) fn add(&self, count: u32) {
        self.live.fetch_add(i64::from(count), Ordering::Relaxed);
    }

    /// The table points at one record less: it was moved, or dropped.
    pub(super) fn take(&self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    /// The table points at one record less, because `commit` wrote a newer version.
    pub(super) fn supersede(&self, commit: CommitNumber) {
        self.take();
        self.superseded_by.fetch_max(commit.0, Ordering::Relaxed);
    }

    /// Takes over another count.
    pub(super) fn copy(&self, other: &UseCount) {
        self.live
            .store(other.live.load(Ordering::Relaxed), Ordering::Relaxed);
        self.superseded_by
            .store(other.superseded_by().0, Ordering::Relaxed);
    }

    /// Sets what was counted or stored.
    pub(super) fn set(&self, live: u32, superseded_by: CommitNumber) {
        self.live.store(i64::from(live), Ordering::Relaxed);
        self.superseded_by.store(superseded_by.0, Ordering::Relaxed);
    }
}

/// The checks of a segment that was sealed before it was opened.
#[derive(Debug)]
struct BlockChecks {
    footer: Footer,
    verified: Box<[AtomicU64]>,
    sums: OnceLock<Box<[u32]>>,
}

/// What a file in the segments' directory turned out to be.
#[derive(Debug)]
pub(super) enum Found {
    /// A segment with its footer.
    Sealed(Segment),
    /// A segment without one: the tail of the log, or left by a kill.
    Open(Segment),
    /// Not even a header: its creation did not get that far, or it is damaged.
    Blank,
}

/// The path of segment `number` in the database directory.
pub(super) fn segment_path(number: u32) -> PathBuf {
    PathBuf::from(HEAP_DIRECTORY).join(format!("{number:08}.seg"))
}

/// The number of the segment with this file name.
pub(super) fn segment_number(name: &std::path::Path) -> Option<u32> {
    let digits = name.to_str()?.strip_suffix(".seg")?;
    digits.parse().ok().filter(|number| *number > 0)
}

/// A place in a segment, for messages.
pub(super) fn place(segment: u32, offset: u64, oid: Option<Oid>) -> String {
    match oid {
        Some(oid) => format!("segment {segment} offset {offset} (object {oid:?})"),
        None => format!("segment {segment} offset {offset}"),
    }
}

fn encode_header(number: u32, database: [u8; 16], epoch: u32, capacity: u32) -> [u8; 64] {
    let mut header = [0; 64];
    put(&mut header, 0, MAGIC);
    put(&mut header, 8, &VERSION.to_le_bytes());
    put(&mut header, 12, &number.to_le_bytes());
    put(&mut header, 16, &database);
    put(&mut header, 32, &capacity.to_le_bytes());
    put(&mut header, 36, &epoch.to_le_bytes());
    let checksum = crc32c::crc32c(header.get(..60).unwrap_or_default());
    put(&mut header, 60, &checksum.to_le_bytes());
    header
}

/// The number and the database in a sound header of a segment.
pub(super) fn header_identity(header: &[u8; 64]) -> Option<(u32, [u8; 16])> {
    let checksum = crc32c::crc32c(header.get(..60)?);
    if !header.starts_with(MAGIC) || u32_at(header, 60)? != checksum {
        return None;
    }
    Some((u32_at(header, 12)?, *header.get(16..)?.first_chunk()?))
}

/// Whether `header` is that of segment `number` of `database`; an error if it belongs elsewhere.
fn check_header(header: &[u8; 64], number: u32, database: [u8; 16]) -> Result<bool> {
    let checksum = crc32c::crc32c(header.get(..60).unwrap_or_default());
    if !header.starts_with(MAGIC) || u32_at(header, 60) != Some(checksum) {
        return Ok(false);
    }
    if u16_at(header, 8) != Some(VERSION) {
        let found = u16_at(header, 8).unwrap_or(0);
        return Err(Error::Format(format!(
            "segment {number} has format {found}, this build reads {VERSION}; open it with a newer build"
        )));
    }
    if header.get(16..32) != Some(&database[..]) || u32_at(header, 12) != Some(number) {
        return Err(Error::corruption(
            place(number, 0, None),
            "the header is that of another segment, or of another database's",
        ));
    }
    Ok(true)
}

impl Segment {
    /// Creates segment `number` with `capacity` bytes reserved. Leaves nothing behind when it fails.
    pub(super) fn create(
        disk: &dyn Disk,
        number: u32,
        database: [u8; 16],
        epoch: u32,
        capacity: u32,
    ) -> Result<Segment> {
        let path = segment_path(number);
        let file = disk.create(&path, u64::from(capacity))?;
        let header = encode_header(number, database, epoch, capacity);
        let made = file
            .write_at(&header, 0)
            .and_then(|()| file.map(u64::from(capacity)));
        match made {
            Ok(map) => Ok(Segment {
                number,
                file,
                map,
                end: AtomicU32::new(SEGMENT_HEADER),
                checks: None,
                tally: OnceLock::new(),
                use_count: UseCount::default(),
            }),
            Err(error) => {
                // The first error counts; a blank file left behind is removed at the next open.
                let _ = disk.remove(&path);
                Err(error)
            }
        }
    }

    /// Opens segment `number`.
    pub(super) fn open(disk: &dyn Disk, number: u32, database: [u8; 16]) -> Result<Found> {
        let file = disk.open(&segment_path(number))?;
        let length = file.len()?;
        let mut header = [0; 64];
        if length < u64::from(SEGMENT_HEADER) || length > u64::from(u32::MAX) {
            return Ok(Found::Blank);
        }
        file.read_at(&mut header, 0)?;
        if !check_header(&header, number, database)? {
            return Ok(Found::Blank);
        }
        match Footer::read(&*file, number, length)? {
            Some(footer) => Segment::sealed(number, file, footer).map(Found::Sealed),
            None => Ok(Found::Open(Segment {
                number,
                map: file.map(length)?,
                file,
                end: AtomicU32::new(u32::try_from(length).unwrap_or(u32::MAX)),
                checks: None,
                tally: OnceLock::new(),
                use_count: UseCount::default(),
            })),
        }
    }

    fn sealed(number: u32, file: Arc<dyn File>, footer: Footer) -> Result<Segment> {
        let words = (footer.blocks as usize).div_ceil(64);
        Ok(Segment {
            number,
            map: file.map(u64::from(footer.data_end))?,
            file,
            end: AtomicU32::new(footer.data_end),
            tally: OnceLock::from(footer.tally),
            use_count: UseCount::default(),
            checks: Some(BlockChecks {
                footer,
                verified: (0..words).map(|_| AtomicU64::new(0)).collect(),
                sums: OnceLock::new(),
            }),
        })
    }

    /// Brings the pages of a segment that was just created into memory.
    pub(super) fn warm(&self) {
        self.map.warm();
    }

    /// The bytes that hold header and frames.
    #[inline(always)]
    pub(super) fn end(&self) -> u32 {
        self.end.load(Ordering::Acquire)
    }

    /// Lets readers look at the bytes below `end`.
    pub(super) fn publish(&self, end: u32) {
        self.end.store(end, Ordering::Release);
    }

    /// Bytes the file can hold.
    pub(super) fn capacity(&self) -> u32 {
        u32::try_from(self.map.len()).unwrap_or(u32::MAX)
    }

    /// Its footer, if it was sealed when it was opened.
    pub(super) fn footer(&self) -> Option<&Footer> {
        self.checks.as_ref().map(|checks| &checks.footer)
    }

    /// What its frames hold; `None` while it is written to.
    pub(super) fn tally(&self) -> Option<&Tally> {
        self.tally.get()
    }

    /// Says what its frames hold: it is sealed.
    pub(super) fn set_tally(&self, tally: Tally) {
        let _ = self.tally.set(tally);
    }

    /// Where the chain of frames stands after its last frame, if it was sealed when it was opened.
    pub(super) fn sealed_chain(&self) -> Option<Chain> {
        self.footer().map(|footer| footer.chain)
    }

    /// Commit and body of the record at `location`, if nothing about it is out of the ordinary: it is of `oid`, a reader
    /// at `at` sees it, it is neither a deletion nor encoded, and its blocks are verified. `None` says only that
    /// [`Segment::record`] must be asked.
    ///
    /// Nearly all reads end here. It is inlined by force, and gives back what fits into registers: handed on through
    /// memory, piece by piece, a hot record cost twice as much.
    #[inline(always)]
    pub(super) fn plain(
        &self,
        location: Location,
        oid: Oid,
        at: CommitNumber,
    ) -> Option<(CommitNumber, &[u8])> {
        let offset = location.offset() as usize;
        let bytes = self.map.get(offset..self.end() as usize)?;
        if let Some(ahead) = bytes.get(AHEAD) {
            // Has the processor fetch what follows the header before that has arrived: a small record lies across two
            // cache lines as often as not.
            std::hint::black_box(*ahead);
        }
        let first = bytes.first_chunk::<RECORD_HEADER>()?;
        if !self.is_verified(offset, RECORD_HEADER) {
            return None;
        }
        let header = RecordHeader::decode(first)?;
        let (start, end) = header.plain_body()?;
        if header.oid != oid.to_bits() || header.commit > at || !self.is_verified(offset, end) {
            return None;
        }
        Some((header.commit, bytes.get(start..end)?))
    }

    /// Whether the blocks under `len` bytes (at least 1) at `offset` are known to be verified, all of them in two.
    #[inline(always)]
    fn is_verified(&self, offset: usize, len: usize) -> bool {
        let Some(checks) = &self.checks else {
            return true;
        };
        let (first, last) = (offset / BLOCK, (offset + len - 1) / BLOCK);
        let bit = |block: usize| match checks.verified.get(block / 64) {
            Some(word) => word.load(Ordering::Relaxed) >> (block % 64) & 1,
            None => 0,
        };
        // Both bits in any case: whether a record reaches into a second block is not to be guessed.
        bit(first) & bit(last) & u64::from(last - first <= 1) != 0
    }

    /// The record at `location`, which must be of `oid`, and the bytes of the segment from there on.
    pub(super) fn record_bytes(&self, location: Location, oid: Oid) -> Result<(StoredRecord<'_>, &[u8])> {
        let record = self.record(location, oid)?;
        let published = self.map.get(..self.end() as usize).unwrap_or_default();
        let bytes = published.get(location.offset() as usize..);
        Ok((record, bytes.unwrap_or_default()))
    }

    /// The record at `location`, which must be of `oid`.
    pub(super) fn record(&self, location: Location, oid: Oid) -> Result<StoredRecord<'_>> {
        let offset = location.offset() as usize;
        let published = self.map.get(..self.end() as usize).unwrap_or_default();
        let bytes = published.get(offset..).unwrap_or_default();
        let Some(first) = bytes.first_chunk::<RECORD_HEADER>() else {
            return Err(self.outside(location, oid));
        };
        self.ensure(offset, RECORD_HEADER, oid)?;
        let header = RecordHeader::decode(first).filter(|header| header.oid == oid.to_bits());
        let Some(header) = header else {
            return Err(self.stranger(location, oid));
        };
        self.ensure(offset, header.unpadded(), oid)?;
        StoredRecord::decode(header, bytes).ok_or_else(|| self.outside(location, oid))
    }

    #[cold]
    fn outside(&self, location: Location, oid: Oid) -> Error {
        let place = place(self.number, location.offset(), Some(oid));
        Error::corruption(place, "a record reaches past the end of its segment")
    }

    #[cold]
    fn stranger(&self, location: Location, oid: Oid) -> Error {
        let place = place(self.number, location.offset(), Some(oid));
        Error::corruption(
            place,
            "the table points at something that is not a record of this object",
        )
    }

    /// Makes sure that the blocks under `len` bytes at `offset` are verified.
    fn ensure(&self, offset: usize, len: usize, oid: Oid) -> Result<()> {
        let Some(checks) = &self.checks else {
            return Ok(());
        };
        let last = offset.saturating_add(len).saturating_sub(1) / BLOCK;
        for block in offset / BLOCK..=last {
            let word = checks.verified.get(block / 64);
            let verified = word.is_some_and(|word| word.load(Ordering::Relaxed) >> (block % 64) & 1 != 0);
            if !verified {
                self.verify_block(checks, block, Some(oid))?;
            }
        }
        Ok(())
    }

    #[cold]
    fn verify_block(&self, checks: &BlockChecks, block: usize, oid: Option<Oid>) -> Result<()> {
        let start = block.saturating_mul(BLOCK);
        let damaged = |what| Error::corruption(place(self.number, start as u64, oid), what);
        let sums = self.sums(checks)?;
        let (Some(expected), Some(word)) = (sums.get(block), checks.verified.get(block / 64)) else {
            return Err(damaged("a record reaches past the end of its segment"));
        };
        let len = BLOCK.min((checks.footer.data_end as usize).saturating_sub(start));
        let mut bytes = [0; BLOCK];
        let bytes = bytes.get_mut(..len).unwrap_or_default();
        self.file.read_at(bytes, start as u64)?;
        if crc32c::crc32c(bytes) != *expected {
            return Err(damaged(
                "the checksum of this 4 KiB block does not match its bytes",
            ));
        }
        word.fetch_or(1 << (block % 64), Ordering::Relaxed);
        Ok(())
    }

    /// Whether the list of its blocks' checksums can be read.
    pub(super) fn has_sound_sums(&self) -> bool {
        let checks = self.checks.as_ref();
        checks.is_none_or(|checks| self.sums(checks).is_ok())
    }

    fn sums<'a>(&self, checks: &'a BlockChecks) -> Result<&'a [u32]> {
        if let Some(sums) = checks.sums.get() {
            return Ok(sums);
        }
        let sums = checks.footer.read_sums(&*self.file, self.number)?;
        Ok(checks.sums.get_or_init(|| sums))
    }

    /// Checks every block; reports the offset of each damaged one. Only for a segment that was sealed when opened.
    pub(super) fn verify_blocks(&self, report: &mut dyn FnMut(Error)) {
        let Some(checks) = &self.checks else { return };
        for block in 0..checks.footer.blocks as usize {
            if let Err(error) = self.verify_block(checks, block, None) {
                report(error);
            }
        }
    }

    /// Bytes of its file, once it is sealed.
    pub(super) fn file_bytes(&self) -> u64 {
        let blocks = u64::from(self.end().div_ceil(BLOCK as u32));
        let list = blocks.saturating_mul(4).next_multiple_of(8);
        u64::from(self.end())
            .saturating_add(list)
            .saturating_add(FOOTER_TRAILER as u64)
    }

    /// Bytes after the frames: the footer and what was reserved.
    pub(super) fn bytes_with_footer(&self) -> u64 {
        match self.footer() {
            Some(footer) => u64::from(footer.data_end) + footer.size() as u64,
            None => u64::from(self.end()),
        }
    }
}

/// Bytes to leave free in a segment of `capacity` bytes, so that its footer fits.
pub(super) fn footer_room(capacity: u32) -> u32 {
    let blocks = capacity.div_ceil(BLOCK as u32);
    blocks.saturating_mul(4).saturating_add(8 + FOOTER_TRAILER as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn file_names_and_numbers_agree() {
        let path = segment_path(42);
        assert_eq!(path, Path::new("heap/00000042.seg"));
        assert_eq!(segment_number(Path::new("00000042.seg")), Some(42));
        assert_eq!(segment_number(Path::new("123456789.seg")), Some(123_456_789));
        assert_eq!(segment_number(Path::new("00000000.seg")), None);
        assert_eq!(segment_number(Path::new("x.seg")), None);
    }

    #[test]
    fn a_foreign_header_is_refused_and_a_damaged_one_is_blank() {
        let header = encode_header(5, [1; 16], 1, 1 << 20);
        assert!(check_header(&header, 5, [1; 16]).unwrap());
        assert!(check_header(&header, 6, [1; 16]).is_err());
        assert!(check_header(&header, 5, [2; 16]).is_err());
        for at in 0..64 {
            let mut damaged = header;
            damaged[at] ^= 4;
            assert!(!check_header(&damaged, 5, [1; 16]).unwrap(), "byte {at}");
        }
    }
}
