//! Which physical pages are free.
//!
//! A page is *used* from the checkpoint that wrote it until it may be written again: a newer root that does without it
//! is durable, and no reader holds a version that maps it. Pages that a checkpoint did without wait in a queue, beside
//! a weak reference to the last mapped checkpoint that has them. Checkpoints follow one another, so the front of the
//! queue belongs to the oldest, and when that one is gone all older ones are too.

use std::collections::VecDeque;
use std::sync::Weak;
use std::sync::atomic::{Ordering, fence};

use crate::error::{Error, Result};

use super::mapped::Mapped;

/// Free and used physical pages of the file.
#[derive(Debug)]
pub(super) struct Allocator {
    /// A bit a page; set: used. Pages past the end are free, and lie past the end of the file.
    used: Vec<u64>,
    /// No word of `used` before this has a free page.
    first_free: usize,
    waiting: VecDeque<(Weak<Mapped>, Vec<u32>)>,
}

impl Allocator {
    /// Only the two root slots are used.
    pub(super) fn new() -> Allocator {
        Allocator {
            used: vec![0b11],
            first_free: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Marks `page` as used; false if it was so already.
    pub(super) fn claim(&mut self, page: u32) -> bool {
        let (word, bit) = place(page);
        if word >= self.used.len() {
            self.used.resize(word + 1, 0);
        }
        match self.used.get_mut(word) {
            Some(bits) if *bits & bit == 0 => {
                *bits |= bit;
                true
            }
            _ => false,
        }
    }

    /// A free page, the lowest there is.
    pub(super) fn allocate(&mut self) -> Result<u32> {
        while let Some(bits) = self.used.get(self.first_free) {
            if *bits != u64::MAX {
                break;
            }
            self.first_free += 1;
        }
        let free = self
            .used
            .get(self.first_free)
            .map_or(0, |bits| bits.trailing_ones());
        let page = page_number(self.first_free as u64 * 64 + u64::from(free))?;
        self.claim(page);
        Ok(page)
    }

    /// The first of `count` (not 0) free pages in a row, the lowest there are.
    pub(super) fn allocate_run(&mut self, count: u64) -> Result<u32> {
        let mut start = self.first_free as u64 * 64;
        let mut page = start;
        while page < start + count {
            if self.is_used(page) {
                start = page + 1;
            }
            page += 1;
        }
        page_number(start + count)?;
        for page in start..start + count {
            self.claim(page_number(page)?);
        }
        page_number(start)
    }

    fn is_used(&self, page: u64) -> bool {
        let word = usize::try_from(page / 64)
            .ok()
            .and_then(|word| self.used.get(word));
        word.is_some_and(|bits| bits >> (page % 64) & 1 == 1)
    }

    /// Gives pages back at once: nobody refers to them.
    pub(super) fn free(&mut self, pages: &[u32]) {
        for &page in pages {
            let (word, bit) = place(page);
            if let Some(bits) = self.used.get_mut(word) {
                *bits &= !bit;
                self.first_free = self.first_free.min(word);
            }
        }
    }

    /// Gives pages back as soon as `last`, the newest checkpoint that has them, is held by nobody. To be called when
    /// the root that does without them is durable.
    pub(super) fn free_after(&mut self, last: Weak<Mapped>, pages: Vec<u32>) {
        self.waiting.push_back((last, pages));
    }

    /// Frees the pages whose readers have gone.
    pub(super) fn reclaim(&mut self) {
        while let Some((last, _)) = self.waiting.front() {
            if last.strong_count() > 0 {
                return;
            }
            // The last owner's drop was a release; with this, its reads lie before our writing of the pages.
            fence(Ordering::Acquire);
            if let Some((_, pages)) = self.waiting.pop_front() {
                self.free(&pages);
            }
        }
    }
}

fn place(page: u32) -> (usize, u64) {
    (page as usize / 64, 1 << (page % 64))
}

/// Page numbers have 31 bits.
fn page_number(page: u64) -> Result<u32> {
    let fits = u32::try_from(page).ok().filter(|page| page >> 31 == 0);
    fits.ok_or_else(|| Error::Limit("the object table has reached the 8 TiB it can have".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_page_is_given_first_and_the_root_slots_never() {
        let mut allocator = Allocator::new();
        let pages: Vec<u32> = (0..200).map(|_| allocator.allocate().unwrap()).collect();
        assert_eq!(pages, (2..202).collect::<Vec<_>>());
        allocator.free(&[70, 5, 6]);
        assert_eq!(allocator.allocate().unwrap(), 5);
        assert_eq!(allocator.allocate_run(2).unwrap(), 202);
        assert_eq!(allocator.allocate_run(1).unwrap(), 6);
        assert_eq!(allocator.allocate().unwrap(), 70);
        assert_eq!(allocator.allocate().unwrap(), 204);
        assert!(!allocator.claim(5));
        assert!(allocator.claim(1000));
    }
}
