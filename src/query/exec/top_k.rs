//! `TopK`: the first rows of a sort, without sorting the others.
//!
//! Rows that might be among the first are collected; when there are twice as many as wanted, they are sorted and cut.
//! From then on the last one kept is a threshold that most rows fail at the cost of one comparison.

use super::batch::{BATCH, Batch};
use super::compile::Row;
use super::context::Run;
use super::limit::bound;
use super::operator::{Boxed, Operator};
use super::sort::{Key, Keys};
use crate::error::Result;
use crate::query::plan::Expression;

pub struct TopK<'a> {
    pub input: Boxed<'a>,
    pub keys: Keys<'a>,
    pub limit: &'a Expression,
    pub offset: Option<&'a Expression>,
    pub result: Option<(Kept<'a>, usize)>,
}

/// The rows kept so far, and their keys; sorted and cut from time to time.
#[derive(Default)]
pub struct Kept<'a> {
    rows: Batch<'a>,
    keys: Vec<(Key, u32)>,
    threshold: Option<Key>,
    held: usize,
}

impl<'a> Operator<'a> for TopK<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        let (kept, given) = match self.result.take() {
            Some(result) => result,
            None => self.read(run)?,
        };
        output.reset(kept.rows.columns.iter().copied());
        for (_, row) in kept.keys.iter().skip(given).take(BATCH) {
            output.push_row(&kept.rows, *row as usize);
        }
        let given = given.saturating_add(output.length);
        self.result = Some((kept, given));
        Ok(!output.is_empty())
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        if let Some((kept, _)) = self.result.take() {
            run.context.release(kept.held);
        }
        self.input.rewind(run);
    }
}

impl<'a> TopK<'a> {
    fn read(&mut self, run: &Run<'_, 'a>) -> Result<(Kept<'a>, usize)> {
        let offset = bound(self.offset, run, "offset")?.unwrap_or(0);
        let limit = bound(Some(self.limit), run, "limit")?.unwrap_or(usize::MAX);
        let wanted = limit.saturating_add(offset);
        let mut kept = Kept::default();
        let mut batch = Batch::default();
        while limit > 0 && self.input.next(run, &mut batch)? {
            run.context.check()?;
            if kept.rows.columns.is_empty() {
                kept.rows.reset(batch.columns.iter().copied());
            }
            for index in batch.rows() {
                let row = Row {
                    batch: &batch,
                    index,
                    run,
                };
                let key = self.keys.key(&row)?;
                let fails = |threshold| self.keys.compare(&key, threshold).is_ge();
                if !kept.threshold.as_ref().is_some_and(fails) {
                    kept.keys.push((key, kept.rows.length as u32));
                    kept.rows.push_row(&batch, index);
                }
            }
            if kept.keys.len() >= wanted.saturating_mul(2).max(BATCH) {
                self.cut(&mut kept, wanted);
            }
            let size = kept.rows.size();
            run.context.hold("top-k", size.saturating_sub(kept.held))?;
            kept.held = kept.held.max(size);
        }
        self.cut(&mut kept, wanted);
        Ok((kept, offset))
    }

    /// Sorts what is kept and drops all but the first `wanted` rows.
    fn cut(&self, kept: &mut Kept<'a>, wanted: usize) {
        kept.keys.sort_by(|a, b| self.keys.compare(&a.0, &b.0));
        kept.keys.truncate(wanted);
        let mut rows = Batch::default();
        rows.reset(kept.rows.columns.iter().copied());
        for (number, (_, row)) in (0..).zip(&mut kept.keys) {
            rows.push_row(&kept.rows, *row as usize);
            *row = number;
        }
        kept.rows = rows;
        if kept.keys.len() == wanted {
            kept.threshold = kept.keys.last().map(|(key, _)| key.clone());
        }
    }
}
