//! `Project`: rows of exactly the columns asked for.

use super::batch::{Batch, Cells};
use super::compile::{General, Row};
use super::context::Run;
use super::operator::{Boxed, Operator};
use crate::error::Result;
use crate::query::plan::ColumnId;

pub struct Project<'a> {
    pub input: Boxed<'a>,
    pub columns: Vec<(ColumnId, General<'a>)>,
    /// The rows below, kept to use their memory again.
    pub rows: Batch<'a>,
}

impl<'a> Operator<'a> for Project<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        output.reset(self.columns.iter().map(|(column, _)| *column));
        if !self.input.next(run, &mut self.rows)? {
            return Ok(false);
        }
        run.context.check()?;
        for ((_, expression), cells) in self.columns.iter().zip(&mut output.cells) {
            let mut values = match std::mem::replace(cells, Cells::Values(Vec::new())) {
                Cells::Values(values) => values,
                _ => Vec::new(),
            };
            values.reserve(self.rows.len());
            for index in self.rows.rows() {
                let row = Row {
                    batch: &self.rows,
                    index,
                    run,
                };
                values.push(expression(&row)?.into_value()?);
            }
            *cells = Cells::Values(values);
        }
        output.length = self.rows.len();
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.input.rewind(run);
    }
}
