//! `Distinct`: the first of each set of rows that are equal in some columns.

use rustc_hash::FxHashSet;

use super::batch::{Batch, value_size};
use super::context::Run;
use super::operator::{Boxed, Operator};
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
}

/// The rows seen so far.
#[derive(Default)]
pub struct Seen {
    rows: FxHashSet<Box<[Value]>>,
    held: usize,
}

impl Seen {
    /// Whether a row comes for the first time; `operator` is who pays for its memory.
    pub fn insert(&mut self, row: Vec<Value>, operator: &str, run: &Run<'_, '_>) -> Result<bool> {
        let size: usize = row.iter().map(value_size).sum();
        if !self.rows.insert(row.into()) {
            return Ok(false);
        }
        let size = size.saturating_add(24);
        run.context.hold(operator, size)?;
        self.held = self.held.saturating_add(size);
        Ok(true)
    }

    /// Forgets all rows.
    pub fn clear(&mut self, run: &Run<'_, '_>) {
        self.rows = FxHashSet::default();
        run.context.release(std::mem::take(&mut self.held));
    }
}

impl<'a> Operator<'a> for Distinct<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        output.reset(self.columns.iter().copied());
        while output.is_empty() {
            if !self.input.next(run, &mut self.rows)? {
                return Ok(false);
            }
            run.context.check()?;
            for row in self.rows.rows() {
                let values = self.rows.values(&self.positions, row);
                if self.seen.insert(values, "distinct", run)? {
                    output.push_columns(&self.rows, &self.positions, row);
                }
            }
        }
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.seen.clear(run);
        self.input.rewind(run);
    }
}
