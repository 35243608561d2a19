//! Sorted runs of rows, merged into one.

use super::super::batch::{BATCH, Batch};
use super::super::compile::Row;
use super::super::context::Run;
use super::super::sort::{Key, Keys};
use super::rows::{SpilledRows, Spilling};
use crate::error::Result;

/// Runs merged at once; more are merged in several passes.
const WIDEST: usize = 32;

/// Rows that come out of several sorted runs in order; of equal ones those of the earlier run first.
pub struct Merge<'a> {
    inputs: Vec<Input<'a>>,
    /// Rows that each run has in memory at the most.
    limit: usize,
    held: usize,
}

/// A run, with its next rows in memory.
struct Input<'a> {
    rows: SpilledRows,
    batch: Batch<'a>,
    keys: Vec<Key>,
    at: usize,
    bytes: usize,
}

impl<'a> Merge<'a> {
    /// Merges runs, each of which is sorted by `keys`; `row_bytes` is about what a row takes in memory.
    pub fn new(
        runs: Vec<SpilledRows>,
        keys: &Keys<'a>,
        row_bytes: usize,
        run: &Run<'_, 'a>,
    ) -> Result<Merge<'a>> {
        let mut runs = runs;
        while runs.len() > WIDEST {
            let first: Vec<SpilledRows> = runs.drain(..WIDEST).collect();
            let merged = Merge::open(first, keys, row_bytes, run)?.into_run(keys, run)?;
            runs.splice(0..0, merged);
        }
        Merge::open(runs, keys, row_bytes, run)
    }

    fn open(
        runs: Vec<SpilledRows>,
        keys: &Keys<'a>,
        row_bytes: usize,
        run: &Run<'_, 'a>,
    ) -> Result<Merge<'a>> {
        let share = run.context.budget() / 2 / runs.len().max(1) / row_bytes.max(1);
        let mut merge = Merge {
            inputs: Vec::with_capacity(runs.len()),
            limit: share.clamp(1, BATCH),
            held: 0,
        };
        for rows in runs {
            let mut input = Input {
                rows,
                batch: Batch::default(),
                keys: Vec::new(),
                at: 0,
                bytes: 0,
            };
            if input.read(merge.limit, keys, run)? {
                merge.held = merge.held.saturating_add(input.bytes);
                merge.inputs.push(input);
            }
        }
        run.context.take(merge.held);
        Ok(merge)
    }

    /// Replaces `output` with the next rows; false, and no rows, at the end.
    pub fn next(&mut self, keys: &Keys<'a>, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        let columns = self.inputs.first().map(|input| input.batch.columns.clone());
        output.reset(columns.into_iter().flatten());
        while !output.is_full()
            && let Some(first) = self.first(keys)
        {
            let Some(input) = self.inputs.get_mut(first) else {
                break;
            };
            output.push_row(&input.batch, input.at);
            input.at = input.at.saturating_add(1);
            if input.at >= input.batch.length {
                let before = input.bytes;
                let more = input.read(self.limit, keys, run)?;
                let after = input.bytes;
                run.context.release(before);
                run.context.take(after);
                self.held = self.held.saturating_sub(before).saturating_add(after);
                if !more {
                    self.inputs.remove(first);
                }
            }
        }
        Ok(!output.is_empty())
    }

    /// The run whose next row comes first.
    fn first(&self, keys: &Keys<'a>) -> Option<usize> {
        let mut best: Option<(usize, &Key)> = None;
        for (number, input) in self.inputs.iter().enumerate() {
            let key = input.keys.get(input.at)?;
            if best.is_none_or(|(_, least)| keys.compare(key, least).is_lt()) {
                best = Some((number, key));
            }
        }
        best.map(|(number, _)| number)
    }

    /// All that is left as one run.
    fn into_run(mut self, keys: &Keys<'a>, run: &Run<'_, 'a>) -> Result<Option<SpilledRows>> {
        let mut batch = Batch::default();
        let mut file = None;
        while self.next(keys, run, &mut batch)? {
            run.context.check()?;
            if file.is_none() {
                file = Spilling::new(run, &batch.columns)?;
            }
            if let Some(file) = &mut file {
                for row in batch.rows() {
                    file.push(run, &batch, row)?;
                }
            }
        }
        self.close(run);
        file.map(|file| file.finish(run)).transpose()
    }

    /// Gives back what is held.
    pub fn close(self, run: &Run<'_, '_>) {
        run.context.release(self.held);
    }
}

impl<'a> Input<'a> {
    /// Reads the next rows; false at the end.
    fn read(&mut self, limit: usize, keys: &Keys<'a>, run: &Run<'_, 'a>) -> Result<bool> {
        let more = self.rows.next(run, limit, &mut self.batch)?;
        self.at = 0;
        self.keys.clear();
        for index in self.batch.rows() {
            let batch = &self.batch;
            self.keys.push(keys.key(&Row { batch, index, run })?);
        }
        let keys: usize = self.keys.iter().map(Key::whole_size).sum();
        self.bytes = self.batch.size().saturating_add(keys);
        Ok(more)
    }
}
