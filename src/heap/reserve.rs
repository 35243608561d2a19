//! Space set aside, so that space can be freed on a full disk.
//!
//! A deletion writes a tombstone, and the cleaner copies what lives before it removes a segment: freeing space takes
//! space. The reserve is a file of the size of a segment, a quarter and a bit more, which leaves something for a
//! checkpoint and for the indexes. When the disk is full it is removed for those who will free space; who wants to
//! write something else, gets no new segment until the reserve could be made again.

use std::path::Path;

use super::log::capacity_for;
use super::segment::HEAP_DIRECTORY;
use crate::error::Result;
use crate::files::Disk;

const NAME: &str = "heap/reserve";
/// For a checkpoint of a small table.
const LEAST_EXTRA: u64 = 1 << 20;
/// While the log is in its first segment, nothing is set aside.
const FIRST_NUMBER: u32 = 3;

/// The reserve.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    /// Its bytes; 0 if there is none.
    bytes: u64,
    /// Whether it was given up and not made again.
    used_up: bool,
}

impl Reserve {
    /// The reserve that is there.
    pub(super) fn find(disk: &dyn Disk) -> Reserve {
        let names = disk.list(Path::new(HEAP_DIRECTORY)).unwrap_or_default();
        let is_there = names.iter().any(|name| name == Path::new("reserve"));
        let len = || disk.open(Path::new(NAME)).and_then(|file| file.len());
        Reserve {
            bytes: if is_there { len().unwrap_or(0).max(1) } else { 0 },
            used_up: false,
        }
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.used_up
    }

    /// Makes it, or a larger one, if it is missing; `next_number` is that of the next segment.
    pub(super) fn keep(&mut self, disk: &dyn Disk, next_number: u32) -> Result<()> {
        let wanted = wanted(next_number)?;
        if next_number < FIRST_NUMBER || self.bytes >= wanted {
            return Ok(());
        }
        self.make(disk, next_number)
    }

    /// Makes it.
    pub(super) fn make(&mut self, disk: &dyn Disk, next_number: u32) -> Result<()> {
        let wanted = wanted(next_number)?;
        if self.bytes > 0 {
            disk.remove(Path::new(NAME))?;
            self.bytes = 0;
        }
        disk.create(Path::new(NAME), wanted)?;
        self.bytes = wanted;
        self.used_up = false;
        Ok(())
    }

    /// Gives it up; false if there is none.
    pub(super) fn give_up(&mut self, disk: &dyn Disk) -> bool {
        if self.bytes == 0 || disk.remove(Path::new(NAME)).is_err() {
            return false;
        }
        self.bytes = 0;
        self.used_up = true;
        true
    }
}

fn wanted(next_number: u32) -> Result<u64> {
    let segment = u64::from(capacity_for(next_number, 0)?);
    Ok(segment.saturating_add(segment / 4).saturating_add(LEAST_EXTRA))
}
