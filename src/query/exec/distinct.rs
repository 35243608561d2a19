//! `Distinct`: the first of each set of rows that are equal in some columns.
//!
//! Once memory is full, rows of a kind not seen by then are parted by their values into temporary files, and each part is
//! gone through by itself afterwards.

use rustc_hash::FxHashSet;

use super::batch::{BATCH, Batch, value_size};
use super::context::Run;
use super::operator::{Boxed, Operator};
use super::spill::{Partitions, SpilledRows};
use crate::error::Result;
use crate::object::Value;
use crate::query::plan::ColumnId;

pub struct Distinct<'a> {
    pub input: Boxed<'a>,
    pub columns: Vec<ColumnId>,
    /// The places of the columns in the rows below.
    pub positions: Vec<usize>,
    pub seen: Seen,
    pub rows: Batch<'a>,
    pub overflow: Overflow,
}

/// The rows seen so far.
#[derive(Default)]
pub struct Seen {
    rows: FxHashSet<Box<[Value]>>,
    held: usize,
}

/// What became of a row.
enum Insertion {
    /// It was there.
    Known,
    /// It is there now.
    New,
    /// It is there now, and its bytes are not accounted for: memory is full.
    Full(usize),
}

/// The rows that were put off when memory was full.
#[derive(Default)]
pub struct Overflow {
    /// How many times those being read were parted.
    level: u32,
    /// Those being read; the input if `None`.
    reading: Option<SpilledRows>,
    /// Those being put off.
    parts: Option<Partitions>,
    /// Those to be read.
    waiting: Vec<(SpilledRows, u32)>,
}

impl Seen {
    /// Whether a row comes for the first time; `operator` is who pays for its memory.
    pub fn insert(&mut self, row: Vec<Value>, operator: &str, run: &Run<'_, '_>) -> Result<bool> {
        let size = size_of_row(&row);
        if !self.rows.insert(row.into()) {
            return Ok(false);
        }
        self.hold(size, operator, run)?;
        Ok(true)
    }

    fn try_insert(&mut self, row: Vec<Value>, run: &Run<'_, '_>) -> Insertion {
        let size = size_of_row(&row);
        if !self.rows.insert(row.into()) {
            return Insertion::Known;
        }
        if !run.context.try_hold(size) {
            return Insertion::Full(size);
        }
        self.held = self.held.saturating_add(size);
        Insertion::New
    }

    fn hold(&mut self, size: usize, operator: &str, run: &Run<'_, '_>) -> Result<()> {
        run.context.hold(operator, size)?;
        self.held = self.held.saturating_add(size);
        Ok(())
    }

    fn contains(&self, row: &[Value]) -> bool {
        self.rows.contains(row)
    }

    /// Forgets all rows.
    pub fn clear(&mut self, run: &Run<'_, '_>) {
        self.rows = FxHashSet::default();
        run.context.release(std::mem::take(&mut self.held));
    }
}

fn size_of_row(row: &[Value]) -> usize {
    row.iter().map(value_size).sum::<usize>().saturating_add(24)
}

impl<'a> Operator<'a> for Distinct<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        output.reset(self.columns.iter().copied());
        while output.is_empty() {
            let more = match &mut self.overflow.reading {
                None => self.input.next(run, &mut self.rows)?,
                Some(rows) => rows.next(run, BATCH, &mut self.rows)?,
            };
            run.context.check()?;
            if !more {
                if !self.advance(run)? {
                    return Ok(false);
                }
                continue;
            }
            let rows = std::mem::take(&mut self.rows);
            for row in rows.rows() {
                let values = rows.values(&self.positions, row);
                if self.comes_first(values, &rows, row, run)? {
                    output.push_columns(&rows, &self.positions, row);
                }
            }
            self.rows = rows;
        }
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.seen.clear(run);
        self.overflow = Overflow::default();
        self.input.rewind(run);
    }
}

impl<'a> Distinct<'a> {
    /// Whether a row is the first of its kind. Once memory is full, rows of kinds that were not seen by then are put off.
    fn comes_first(
        &mut self,
        values: Vec<Value>,
        rows: &Batch<'a>,
        row: usize,
        run: &Run<'_, 'a>,
    ) -> Result<bool> {
        if let Some(parts) = &mut self.overflow.parts {
            if !self.seen.contains(&values) {
                parts.push(run, &values, rows, row)?;
            }
            return Ok(false);
        }
        match self.seen.try_insert(values, run) {
            Insertion::Known => Ok(false),
            Insertion::New => Ok(true),
            Insertion::Full(size) => {
                self.overflow.parts = Partitions::new(run, &rows.columns, self.overflow.level)?;
                self.seen.hold(size, "distinct", run)?;
                Ok(true)
            }
        }
    }

    /// Goes on to the rows that were put off; false where there are none.
    fn advance(&mut self, run: &Run<'_, 'a>) -> Result<bool> {
        let overflow = &mut self.overflow;
        let level = overflow.level.saturating_add(1);
        if let Some(parts) = overflow.parts.take() {
            let rows = parts.finish(run)?.into_iter().filter(|rows| rows.remaining() > 0);
            overflow.waiting.extend(rows.map(|rows| (rows, level)));
        }
        let Some((rows, level)) = overflow.waiting.pop() else {
            return Ok(false);
        };
        self.seen.clear(run);
        (overflow.reading, overflow.level) = (Some(rows), level);
        Ok(true)
    }
}
