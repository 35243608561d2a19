//! Mapping a file into memory: the only `unsafe` of this crate.
//!
//! A mapping shows what others do to the file. Safe Rust may still read it, because of three promises that the layers
//! above keep:
//!
//! * the database is locked while it is open, and one process writes its files;
//! * that process only ever appends: bytes below the published end of a segment, and the pages of a table checkpoint
//!   that a reader may hold, are never written again, and only bytes below that end are looked at;
//! * no file is cut shorter than its published end while it is mapped.
//!
//! What remains is a limit of mapping: a page that the kernel dropped and cannot read again ends the process (an I/O
//! error has no other way to reach a mapped read). Blocks are therefore read by an ordinary read first, when they are
//! verified.

use std::fs::File;
use std::io;
use std::ops::Deref;

/// A read-only mapping of a file; derefs to its bytes.
#[derive(Debug)]
pub struct Map(memmap2::Mmap);

impl Map {
    /// Maps the first `len` bytes of `file`, which must be at least as long.
    pub(super) fn new(file: &File, len: u64) -> io::Result<Map> {
        let present = file.metadata()?.len();
        if present < len {
            let what = format!("the file has {present} bytes, {len} were expected");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        map_file(file, len).map(Map)
    }
}

impl Map {
    /// Brings in the pages of a new file, as large ones where the system has them: writing it then allocates nothing,
    /// and reading it through the map costs fewer page walks. Reads no disk, as nothing was written yet. A hint: where
    /// it fails, pages come one by one later.
    pub fn warm(&self) {
        #[cfg(target_os = "linux")]
        {
            let _ = self.0.advise(memmap2::Advice::HugePage);
            let _ = self.0.advise(memmap2::Advice::PopulateRead);
        }
    }
}

impl Deref for Map {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

#[expect(
    unsafe_code,
    reason = "a file can only be mapped so; why it is sound stands at the head of this file"
)]
fn map_file(file: &File, len: usize) -> io::Result<memmap2::Mmap> {
    // SAFETY: the file is at least `len` long (checked by the caller), is written by this process alone, is never
    // shortened below what is read, and bytes that a reader may look at are never written again.
    unsafe { memmap2::MmapOptions::new().len(len).map(file) }
}
