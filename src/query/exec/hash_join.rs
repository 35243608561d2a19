//! `HashJoin`: pairs of rows with equal keys, by a hash table over the right rows.
//!
//! Where the right rows do not fit in memory, both sides are parted by their keys into temporary files, and part is joined
//! with part (Grace hash join: Kitsuregawa, Tanaka, Moto-oka 1983). A part that still does not fit is parted again, a
//! few times: rows of one key stay together, and must fit.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::batch::{BATCH, Batch, value_size};
use super::compile::{General, Row};
use super::context::Run;
use super::join::{Held, Pairs};
use super::operator::{Boxed, Operator};
use super::spill::{Partitions, SpilledRows};
use crate::error::Result;
use crate::object::Value;

/// The key of a row; `None` if a part is nil or NaN, which equals nothing.
type Key = SmallVec<[Value; 1]>;

/// Parting the parts more often does not help: rows with equal keys stay together.
const DEEPEST: u32 = 4;

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
    pub overflow: Overflow,
}

/// The right rows by their keys.
#[derive(Default)]
pub struct Table<'a> {
    held: Held<'a>,
    places: FxHashMap<Key, Vec<(u32, u32)>>,
}

/// What was parted because the right rows did not fit in memory.
#[derive(Default)]
pub struct Overflow {
    /// The left rows being joined; the left input if `None`.
    left: Option<SpilledRows>,
    /// Pairs of parts to be joined.
    waiting: Vec<Part>,
}

/// The rows of both sides whose keys fall into one part.
struct Part {
    left: SpilledRows,
    right: SpilledRows,
    /// How many times these rows were parted.
    level: u32,
}

/// What reading the right rows comes to.
enum Built<'a> {
    Table(Table<'a>),
    Parts(Vec<SpilledRows>),
}

impl<'a> Operator<'a> for HashJoin<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        loop {
            let table = match self.table.take() {
                Some(table) => table,
                None => match self.build(None, 0, run)? {
                    Built::Table(table) => table,
                    Built::Parts(right) => {
                        self.part_left(None, right, 1, run)?;
                        if !self.advance(run)? {
                            output.reset(std::iter::empty());
                            return Ok(false);
                        }
                        continue;
                    }
                },
            };
            let more = self.step(&table, run, output);
            self.table = Some(table);
            if more? {
                return Ok(true);
            }
            if !self.advance(run)? {
                output.reset(std::iter::empty());
                return Ok(false);
            }
        }
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.give_back(run);
        self.overflow = Overflow::default();
        self.at = None;
        self.left.rewind(run);
        self.right.rewind(run);
    }
}

impl<'a> HashJoin<'a> {
    fn give_back(&mut self, run: &Run<'_, 'a>) {
        if let Some(table) = self.table.take() {
            run.context.release(table.held.bytes);
        }
    }

    /// Goes on to the next pair of parts; false where there is none.
    fn advance(&mut self, run: &Run<'_, 'a>) -> Result<bool> {
        while let Some(part) = self.overflow.waiting.pop() {
            self.give_back(run);
            match self.build(Some(part.right), part.level, run)? {
                Built::Table(table) => {
                    self.table = Some(table);
                    self.overflow.left = Some(part.left);
                    return Ok(true);
                }
                Built::Parts(right) => {
                    self.part_left(Some(part.left), right, part.level.saturating_add(1), run)?;
                }
            }
        }
        Ok(false)
    }

    /// Reads the right rows, of the input or of a part, into a table; or into parts where they do not fit.
    fn build(&mut self, rows: Option<SpilledRows>, level: u32, run: &Run<'_, 'a>) -> Result<Built<'a>> {
        let mut rows = rows;
        let mut table = Table::default();
        let mut parts: Option<Partitions> = None;
        let mut batch = Batch::default();
        while match &mut rows {
            None => self.right.next(run, &mut batch)?,
            Some(rows) => rows.next(run, BATCH, &mut batch)?,
        } {
            run.context.check()?;
            let mut batch = std::mem::take(&mut batch);
            batch.compact();
            if let Some(parts) = &mut parts {
                part(parts, &self.right_keys, &batch, run)?;
                continue;
            }
            let (keys, bytes) = self.keys_of(&batch, run)?;
            if !run.context.try_hold(bytes) {
                if level < DEEPEST {
                    parts = Partitions::new(run, &batch.columns, level)?;
                }
                if let Some(parts) = &mut parts {
                    for held in table.held.batches.drain(..).chain([batch]) {
                        part(parts, &self.right_keys, &held, run)?;
                    }
                    run.context.release(table.held.bytes);
                    table = Table::default();
                    continue;
                }
                run.context.hold("hash join", bytes)?;
            }
            table.add(batch, keys, bytes);
        }
        match parts {
            Some(parts) => Ok(Built::Parts(parts.finish(run)?)),
            None => Ok(Built::Table(table)),
        }
    }

    /// The keys of a batch of right rows with their row numbers, and the bytes that the batch and they will hold.
    fn keys_of(&self, batch: &Batch<'a>, run: &Run<'_, 'a>) -> Result<(Vec<(Key, u32)>, usize)> {
        let mut bytes = batch.size();
        let mut keys = Vec::with_capacity(batch.length);
        for index in batch.rows() {
            if let Some(key) = key(&self.right_keys, &Row { batch, index, run })? {
                let size: usize = key.iter().map(value_size).sum();
                bytes = bytes.saturating_add(size).saturating_add(48);
                keys.push((key, index as u32));
            }
        }
        Ok((keys, bytes))
    }

    /// Parts the left rows, of the input or of a part, as the right rows were.
    fn part_left(
        &mut self,
        rows: Option<SpilledRows>,
        right: Vec<SpilledRows>,
        level: u32,
        run: &Run<'_, 'a>,
    ) -> Result<()> {
        let mut rows = rows;
        let mut parts: Option<Partitions> = None;
        let mut batch = Batch::default();
        while match &mut rows {
            None => self.left.next(run, &mut batch)?,
            Some(rows) => rows.next(run, BATCH, &mut batch)?,
        } {
            run.context.check()?;
            if parts.is_none() {
                parts = Partitions::new(run, &batch.columns, level.saturating_sub(1))?;
            }
            if let Some(parts) = &mut parts {
                part_all(parts, &self.left_keys, &batch, run)?;
            }
        }
        let left = parts
            .map(|parts| parts.finish(run))
            .transpose()?
            .unwrap_or_default();
        let pairs = left
            .into_iter()
            .zip(right)
            .filter(|(left, _)| left.remaining() > 0);
        let waiting = pairs.map(|(left, right)| Part { left, right, level });
        self.overflow.waiting.extend(waiting);
        Ok(())
    }

    fn next_left(&mut self, run: &Run<'_, 'a>) -> Result<bool> {
        match &mut self.overflow.left {
            Some(rows) => rows.next(run, BATCH, &mut self.rows),
            None => self.left.next(run, &mut self.rows),
        }
    }

    fn step(&mut self, table: &Table<'a>, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        loop {
            run.context.check()?;
            if self.at.is_none() {
                if !self.next_left(run)? {
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

impl<'a> Table<'a> {
    fn add(&mut self, batch: Batch<'a>, keys: Vec<(Key, u32)>, bytes: usize) {
        let number = self.held.batches.len() as u32;
        for (key, row) in keys {
            self.places.entry(key).or_default().push((number, row));
        }
        self.held.bytes = self.held.bytes.saturating_add(bytes);
        self.held.batches.push(batch);
    }
}

/// Parts the rows of a batch that have a key: others find no partner.
fn part<'a>(
    parts: &mut Partitions,
    keys: &[General<'a>],
    batch: &Batch<'a>,
    run: &Run<'_, 'a>,
) -> Result<()> {
    for index in batch.rows() {
        if let Some(key) = key(keys, &Row { batch, index, run })? {
            parts.push(run, &key, batch, index)?;
        }
    }
    Ok(())
}

/// Parts all rows of a batch: of some joins those without a partner come out too.
fn part_all<'a>(
    parts: &mut Partitions,
    keys: &[General<'a>],
    batch: &Batch<'a>,
    run: &Run<'_, 'a>,
) -> Result<()> {
    for index in batch.rows() {
        let key = key(keys, &Row { batch, index, run })?.unwrap_or_default();
        parts.push(run, &key, batch, index)?;
    }
    Ok(())
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
