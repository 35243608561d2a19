//! `HashJoin`: pairs of rows with equal keys, by a hash table over the right rows.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::batch::{Batch, value_size};
use super::compile::{General, Row};
use super::context::Run;
use super::join::{Held, Pairs};
use super::operator::{Boxed, Operator};
use crate::error::Result;
use crate::object::Value;

/// The key of a row; `None` if a part is nil or NaN, which equals nothing.
type Key = SmallVec<[Value; 1]>;

pub struct HashJoin<'a> {
    pub left: Boxed<'a>,
    pub right: Boxed<'a>,
    pub left_keys: Vec<General<'a>>,
    pub right_keys: Vec<General<'a>>,
    pub pairs: Pairs<'a>,
    pub table: Option<Table<'a>>,
    pub rows: Batch<'a>,
    /// Where the work stands: the left row, and how many of its partners were paired; `None` before a batch.
    pub at: Option<(usize, usize)>,
}

/// The right rows by their keys.
pub struct Table<'a> {
    held: Held<'a>,
    places: FxHashMap<Key, Vec<(u32, u32)>>,
    bytes: usize,
}

impl<'a> Operator<'a> for HashJoin<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        let table = match self.table.take() {
            Some(table) => table,
            None => self.build(run)?,
        };
        let more = self.step(&table, run, output);
        self.table = Some(table);
        more
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        if let Some(table) = self.table.take() {
            run.context.release(table.bytes.saturating_add(table.held.bytes));
        }
        self.at = None;
        self.left.rewind(run);
        self.right.rewind(run);
    }
}

impl<'a> HashJoin<'a> {
    fn build(&mut self, run: &Run<'_, 'a>) -> Result<Table<'a>> {
        let held = Held::read(&mut self.right, "hash join", run)?;
        let mut places: FxHashMap<Key, Vec<(u32, u32)>> = FxHashMap::default();
        let mut bytes = 0_usize;
        for (number, batch) in (0..).zip(&held.batches) {
            let mut added = 0_usize;
            for index in batch.rows() {
                let row = Row { batch, index, run };
                if let Some(key) = key(&self.right_keys, &row)? {
                    let size: usize = key.iter().map(value_size).sum();
                    added = added.saturating_add(size).saturating_add(48);
                    places.entry(key).or_default().push((number, index as u32));
                }
            }
            run.context.hold("hash join", added)?;
            bytes = bytes.saturating_add(added);
        }
        Ok(Table { held, places, bytes })
    }

    fn step(&mut self, table: &Table<'a>, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        loop {
            run.context.check()?;
            if self.at.is_none() {
                if !self.left.next(run, &mut self.rows)? {
                    output.reset(std::iter::empty());
                    return Ok(false);
                }
                self.rows.compact();
                self.pairs.start(&self.rows);
                self.at = Some((0, 0));
            }
            let done = self.fill(table, run)?;
            self.pairs.test(run, output)?;
            if done {
                self.pairs.finish(&self.rows, output);
                self.at = None;
            }
            if !output.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Makes candidates up to a batch; true when the left batch is through.
    fn fill(&mut self, table: &Table<'a>, run: &Run<'_, 'a>) -> Result<bool> {
        let (mut index, mut paired) = self.at.unwrap_or_default();
        while index < self.rows.length {
            let row = Row {
                batch: &self.rows,
                index,
                run,
            };
            let places = match key(&self.left_keys, &row)? {
                Some(key) => table.places.get(&key),
                None => None,
            };
            for (batch, place) in places.into_iter().flatten().skip(paired) {
                if self.pairs.is_full() {
                    self.at = Some((index, paired));
                    return Ok(false);
                }
                if self.pairs.is_settled(index) {
                    break;
                }
                if let Some(right) = table.held.batches.get(*batch as usize) {
                    self.pairs.push(&self.rows, index, right, *place as usize);
                }
                paired = paired.saturating_add(1);
            }
            index = index.saturating_add(1);
            paired = 0;
        }
        Ok(true)
    }
}

fn key<'a>(expressions: &[General<'a>], row: &Row<'_, 'a>) -> Result<Option<Key>> {
    let mut key = Key::with_capacity(expressions.len());
    for expression in expressions {
        let value = expression(row)?.into_value()?;
        if value.is_nil() || matches!(value, Value::Float(number) if number.is_nan()) {
            return Ok(None);
        }
        key.push(value);
    }
    Ok(Some(key))
}
