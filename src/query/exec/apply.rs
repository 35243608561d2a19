//! `Apply`: a join whose right side is run anew for each left row, and may use its columns.

use super::batch::Batch;
use super::context::{Place, Run, Scope};
use super::join::Pairs;
use super::operator::{Boxed, Operator};
use crate::error::Result;

pub struct Apply<'a> {
    pub left: Boxed<'a>,
    pub right: Boxed<'a>,
    pub pairs: Pairs<'a>,
    pub rows: Batch<'a>,
    pub right_rows: Batch<'a>,
    /// The left row whose right side is being run; `None` before a batch.
    pub at: Option<usize>,
}

impl<'a> Operator<'a> for Apply<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        loop {
            run.context.check()?;
            if self.at.is_none() {
                if !self.left.next(run, &mut self.rows)? {
                    output.reset(std::iter::empty());
                    return Ok(false);
                }
                self.rows.compact();
                self.pairs.start(&self.rows);
                self.at = Some(0);
            }
            let done = self.fill(run, output)?;
            if done {
                self.pairs.finish(&self.rows, output);
                self.at = None;
            }
            if !output.is_empty() {
                return Ok(true);
            }
        }
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.at = None;
        self.left.rewind(run);
        self.right.rewind(run);
    }
}

impl<'a> Apply<'a> {
    /// Runs right sides until there is output or the left batch is through (then true).
    fn fill(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        let mut index = self.at.unwrap_or(0);
        output.reset(std::iter::empty());
        while index < self.rows.length {
            let more = !self.pairs.is_settled(index) && self.run_right(index, run)?;
            if more {
                for right in self.right_rows.rows() {
                    self.pairs.push(&self.rows, index, &self.right_rows, right);
                }
                // A semi join without a condition is settled by the first row.
            } else {
                self.right.rewind(run);
                index = index.saturating_add(1);
            }
            if self.pairs.is_full() || self.tests_early() {
                self.at = Some(index);
                self.pairs.test(run, output)?;
                if !output.is_empty() {
                    return Ok(false);
                }
            }
        }
        self.pairs.test(run, output)?;
        Ok(true)
    }

    /// Whether candidates are tested as they come, so that a settled row stops its right side.
    fn tests_early(&self) -> bool {
        use crate::query::plan::JoinKind;
        matches!(self.pairs.kind, JoinKind::Semi | JoinKind::Anti)
    }

    fn run_right(&mut self, index: usize, run: &Run<'_, 'a>) -> Result<bool> {
        let scope = Scope {
            here: Place::Row(&self.rows, index),
            parent: run.outer,
        };
        let inner = Run {
            outer: Some(&scope),
            ..*run
        };
        self.right.next(&inner, &mut self.right_rows)
    }
}
