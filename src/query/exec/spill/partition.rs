//! Rows parted by a key, each part in a file of its own: rows with equal keys meet in one part.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::super::batch::Batch;
use super::super::context::Run;
use super::rows::{SpilledRows, Spilling};
use crate::error::Result;
use crate::object::Value;
use crate::query::plan::ColumnId;

/// The number of parts.
const PARTS: usize = 16;

/// Rows on their way to the files of their parts.
#[derive(Debug)]
pub struct Partitions {
    parts: Vec<Spilling>,
    /// How many times these rows were parted before: each time by other bits of the keys.
    level: u32,
}

impl Partitions {
    /// New files for rows with these columns; `None` where the query has no place for temporary files.
    pub fn new(run: &Run<'_, '_>, columns: &[ColumnId], level: u32) -> Result<Option<Partitions>> {
        let mut parts = Vec::with_capacity(PARTS);
        for _ in 0..PARTS {
            match Spilling::new(run, columns)? {
                Some(part) => parts.push(part),
                None => return Ok(None),
            }
        }
        Ok(Some(Partitions { parts, level }))
    }

    /// Adds a row to the part of its key.
    pub fn push(&mut self, run: &Run<'_, '_>, key: &[Value], batch: &Batch<'_>, row: usize) -> Result<()> {
        let part = part_of(key, self.level);
        match self.parts.get_mut(part) {
            Some(part) => part.push(run, batch, row),
            None => Ok(()),
        }
    }

    /// The parts, in the order of their numbers, to be read.
    pub fn finish(self, run: &Run<'_, '_>) -> Result<Vec<SpilledRows>> {
        self.parts.into_iter().map(|part| part.finish(run)).collect()
    }
}

/// The part of a key. The hash is mixed once more, so that parts within a part are even.
fn part_of(key: &[Value], level: u32) -> usize {
    let mut hasher = FxHasher::default();
    level.hash(&mut hasher);
    key.hash(&mut hasher);
    let mixed = hasher.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 60) as usize % PARTS
}
