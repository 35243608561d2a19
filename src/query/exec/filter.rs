//! `Filter`: the rows for which a predicate is true.

use super::batch::Batch;
use super::compile::{Row, Selection, Test};
use super::context::Run;
use super::operator::{Boxed, Operator};
use crate::error::Result;

pub struct Filter<'a> {
    pub input: Boxed<'a>,
    pub test: Selection<'a>,
}

impl<'a> Operator<'a> for Filter<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        while self.input.next(run, output)? {
            run.context.check()?;
            self.test.apply(output, run)?;
            if !output.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.input.rewind(run);
    }
}

/// Keeps the rows of a batch for which a predicate is true selected.
pub fn select<'a>(batch: &mut Batch<'a>, run: &Run<'_, 'a>, test: &Test<'a>) -> Result<()> {
    batch.select(|batch, index| {
        let row = Row { batch, index, run };
        Ok(test(&row)? == Some(true))
    })
}
