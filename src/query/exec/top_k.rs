//! `TopK`: the first rows of a sort, without sorting the others.
//!
//! Rows that might be among the first are collected; when there are twice as many as wanted, they are sorted and cut.
//! From then on the last one kept is a threshold that most rows fail at the cost of one comparison. Where even the rows
//! that are wanted do not fit in memory, they go to temporary files in sorted runs, as those of a sort do.

use super::batch::{BATCH, Batch};
use super::compile::Row;
use super::context::Run;
use super::limit::bound;
use super::operator::{Boxed, Operator};
use super::sort::{Key, Keys};
use super::spill::{Merge, SpilledRows, Spilling};
use crate::error::Result;
use crate::query::plan::Expression;

/// About what a key takes beside its row.
const KEY_BYTES: usize = 64;

pub struct TopK<'a> {
    pub input: Boxed<'a>,
    pub keys: Keys<'a>,
    pub limit: &'a Expression,
    pub offset: Option<&'a Expression>,
    pub result: Option<First<'a>>,
}

/// The first rows, in their order.
pub enum First<'a> {
    /// In memory, with the number of those given out or left out.
    Kept(Kept<'a>, usize),
    /// From temporary files, with the numbers of those still to be left out and to be given out.
    Merged(Merge<'a>, usize, usize),
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
        let first = match self.result.take() {
            Some(result) => result,
            None => self.read(run)?,
        };
        match self.result.insert(first) {
            First::Kept(kept, given) => {
                output.reset(kept.rows.columns.iter().copied());
                for (_, row) in kept.keys.iter().skip(*given).take(BATCH) {
                    output.push_row(&kept.rows, *row as usize);
                }
                *given = given.saturating_add(output.length);
                Ok(!output.is_empty())
            }
            First::Merged(merge, skip, left) => {
                let more = *left > 0 && merge.next(&self.keys, run, output)?;
                let length = output.len();
                output.slice(*skip, *left);
                *skip = skip.saturating_sub(length);
                *left = left.saturating_sub(output.len());
                Ok(more)
            }
        }
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        match self.result.take() {
            Some(First::Kept(kept, _)) => run.context.release(kept.held),
            Some(First::Merged(merge, ..)) => merge.close(run),
            None => {}
        }
        self.input.rewind(run);
    }
}

impl<'a> TopK<'a> {
    fn read(&mut self, run: &Run<'_, 'a>) -> Result<First<'a>> {
        let offset = bound(self.offset, run, "offset")?.unwrap_or(0);
        let limit = bound(Some(self.limit), run, "limit")?.unwrap_or(usize::MAX);
        let wanted = limit.saturating_add(offset);
        let mut kept = Kept::default();
        let (mut runs, mut row_bytes) = (Vec::new(), 0);
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
            row_bytes = row_bytes.max(size / kept.rows.length.max(1));
            let more = size.saturating_sub(kept.held);
            if !run.context.try_hold(more) {
                match Spilling::new(run, &batch.columns)? {
                    Some(file) => runs.push(self.spill(&mut kept, wanted, file, run)?),
                    None => run.context.hold("top-k", more)?,
                }
            }
            kept.held = kept.held.max(kept.rows.size());
        }
        self.cut(&mut kept, wanted);
        if runs.is_empty() {
            return Ok(First::Kept(kept, offset));
        }
        if let Some(file) = Spilling::new(run, &kept.rows.columns)? {
            runs.push(self.spill(&mut kept, wanted, file, run)?);
        }
        let row_bytes = row_bytes.saturating_add(KEY_BYTES);
        let merge = Merge::new(runs, &self.keys, row_bytes, run)?;
        Ok(First::Merged(merge, offset, limit))
    }

    /// Writes the rows kept as a sorted run, and keeps none; what is beyond the threshold stays out.
    fn spill(
        &self,
        kept: &mut Kept<'a>,
        wanted: usize,
        mut file: Spilling,
        run: &Run<'_, 'a>,
    ) -> Result<SpilledRows> {
        self.cut(kept, wanted);
        for (_, row) in &kept.keys {
            file.push(run, &kept.rows, *row as usize)?;
        }
        run.context.release(std::mem::take(&mut kept.held));
        kept.keys.clear();
        let columns = std::mem::take(&mut kept.rows.columns);
        kept.rows.reset(columns.into_iter());
        file.finish(run)
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
