//! `Unit` and `Values`: rows that come from no object.

use super::batch::{BATCH, Batch};
use super::compile::{Row, evaluate};
use super::context::Run;
use super::operator::Operator;
use crate::error::Result;
use crate::query::plan::{ColumnId, Expression};

/// One row without columns.
#[derive(Default)]
pub struct Unit {
    pub done: bool,
}

impl<'a> Operator<'a> for Unit {
    fn next(&mut self, _: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        output.reset(std::iter::empty());
        output.length = usize::from(!self.done);
        Ok(!std::mem::replace(&mut self.done, true))
    }

    fn rewind(&mut self, _: &Run<'_, 'a>) {
        self.done = false;
    }
}

/// Rows of expressions.
pub struct Values<'a> {
    pub columns: Vec<ColumnId>,
    pub rows: &'a [Vec<Expression>],
    /// The next row.
    pub next: usize,
}

impl<'a> Operator<'a> for Values<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        run.context.check()?;
        output.reset(self.columns.iter().copied());
        let nowhere = Batch::default();
        let around = Row {
            batch: &nowhere,
            index: 0,
            run,
        };
        for row in self.rows.iter().skip(self.next).take(BATCH) {
            let values: Vec<_> = row
                .iter()
                .map(|value| evaluate(value, &around))
                .collect::<Result<_>>()?;
            output.push_values(values);
        }
        self.next = self.next.saturating_add(output.length);
        Ok(output.length > 0)
    }

    fn rewind(&mut self, _: &Run<'_, 'a>) {
        self.next = 0;
    }
}
