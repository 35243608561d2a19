//! The mapped file of the table's pages, and which of them were checked.
//!
//! A page is trusted if this process wrote it, or has compared it with its parent's CRC. Leaves are compared at their
//! first touch after opening, directories by the opening itself. The comparison reads through the file and not through
//! the map, so that an I/O error is an error and not a signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::files::{File, Map};

use super::page::{Child, PAGE_SIZE, PageBytes, offset_of};

/// A map of the first bytes of the table's file. When the file has grown it is mapped anew; older maps live as long as
/// a version of the table needs them.
#[derive(Debug)]
pub(super) struct PageMap {
    file: Arc<dyn File>,
    map: Map,
    len: u64,
    /// A bit a page; set: trusted. Relaxed: it says something about bytes that were there before the version that
    /// refers to them was published.
    trusted: Box<[AtomicU64]>,
}

impl PageMap {
    /// Maps `len` bytes of `file`; trusts what `previous` did.
    pub(super) fn new(file: Arc<dyn File>, len: u64, previous: Option<&PageMap>) -> Result<PageMap> {
        let known = previous.map_or(&[] as &[AtomicU64], |map| &map.trusted);
        let words = (len / PAGE_SIZE as u64).div_ceil(64);
        let trusted = (0..words)
            .map(|word| {
                let bits = known
                    .get(word as usize)
                    .map_or(0, |bits| bits.load(Ordering::Relaxed));
                AtomicU64::new(bits)
            })
            .collect();
        let map = file.map(len)?;
        Ok(PageMap {
            file,
            map,
            len,
            trusted,
        })
    }

    /// How many bytes are mapped.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The word at `index` of a page that is trusted; 0 outside of the file.
    #[inline(always)]
    pub(super) fn word(&self, page: u32, index: u64) -> u64 {
        let start = (offset_of(page) + index * 8) as usize;
        self.map
            .get(start..start + 8)
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u64::from_le_bytes)
    }

    /// `len` bytes from the word at `index` of a page that is trusted; none outside of the file.
    pub(super) fn bytes(&self, page: u32, index: u64, len: usize) -> &[u8] {
        let start = (offset_of(page) + index * 8) as usize;
        self.map.get(start..start + len).unwrap_or(&[])
    }

    /// Whether `page` needs no check.
    #[inline]
    pub(super) fn is_trusted(&self, page: u32) -> bool {
        let word = self.trusted.get(page as usize / 64);
        word.is_some_and(|bits| bits.load(Ordering::Relaxed) >> (page % 64) & 1 == 1)
    }

    /// Trusts `page`.
    pub(super) fn trust(&self, page: u32) {
        if let Some(bits) = self.trusted.get(page as usize / 64) {
            bits.fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
    }

    /// Checks a page that is not trusted yet, and trusts it.
    #[cold]
    pub(super) fn check(&self, child: Child) -> Result<()> {
        read_page(&*self.file, self.len, child)?;
        self.trust(child.page);
        Ok(())
    }

    /// The file.
    pub(super) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }
}

/// Reads the page of `child` in a file of `len` bytes and compares it with its CRC.
pub(super) fn read_page(file: &dyn File, len: u64, child: Child) -> Result<Box<PageBytes>> {
    within(file, len, child)?;
    let mut bytes = Box::new([0; PAGE_SIZE]);
    file.read_at(&mut *bytes, offset_of(child.page))?;
    if crc32c::crc32c(&*bytes) != child.crc {
        return Err(damaged(
            file,
            child.page,
            "does not have the checksum that its parent page states",
        ));
    }
    Ok(bytes)
}

/// Checks that a page lies in a file of `len` bytes.
pub(super) fn within(file: &dyn File, len: u64, child: Child) -> Result<()> {
    if offset_of(child.page) + PAGE_SIZE as u64 > len {
        return Err(damaged(file, child.page, "lies past the end of the file"));
    }
    Ok(())
}

/// An error that names a page of the table's file.
pub(super) fn damaged(file: &dyn File, page: u32, what: &str) -> Error {
    Error::corruption(
        format!(
            "{}, page {page} (offset {})",
            file.path().display(),
            offset_of(page)
        ),
        format!("the page {what}; the object table can be rebuilt from the log"),
    )
}
