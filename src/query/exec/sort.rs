//! `Sort`: all rows, by their keys in the total order, in memory or by runs in temporary files; and the keys that
//! `TopK` shares with it.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::batch::{BATCH, Batch, value_size};
use super::compile::{General, Row, Typed};
use super::context::Run;
use super::join::Held;
use super::operator::{Boxed, Operator};
use super::spill::{Merge, SpilledRows, Spilling};
use crate::error::Result;
use crate::object::Value;
use crate::query::plan::NullsOrder;

/// Rows sorted between two looks at whether the query is cancelled.
const PIECE: usize = 64 << 10;

pub struct Sort<'a> {
    pub input: Boxed<'a>,
    pub keys: Keys<'a>,
    pub sorted: Option<Sorted<'a>>,
}

/// The rows in their order.
pub enum Sorted<'a> {
    /// In memory.
    Held {
        rows: Held<'a>,
        order: Vec<(u32, u32)>,
        given: usize,
    },
    /// From runs in temporary files.
    Merged(Merge<'a>),
}

/// Rows that are read but not yet in order, with their keys: batch and row number beside each.
#[derive(Default)]
struct Unsorted<'a> {
    rows: Held<'a>,
    keys: Vec<(Key, u32, u32)>,
}

/// The keys of a sort.
pub enum Keys<'a> {
    /// One int or float, compared as bits.
    Number(Typed<'a>, Order),
    /// Anything else.
    General(Vec<(General<'a>, Order)>),
}

/// The direction of a key.
#[derive(Clone, Copy)]
pub struct Order {
    /// Whether larger values come first.
    pub descending: bool,
    /// Where nil goes.
    pub nulls: NullsOrder,
}

/// The key of one row.
#[derive(Clone)]
pub enum Key {
    /// Where nil and values go, then the value as bits that compare like it.
    Bits(u8, u64),
    /// The values.
    Values(SmallVec<[Value; 2]>),
}

impl Key {
    /// Bytes of memory beyond the key itself.
    fn size(&self) -> usize {
        match self {
            Key::Bits(..) => 0,
            Key::Values(values) => values.iter().map(value_size).sum(),
        }
    }

    /// Bytes of memory a key takes beside its row.
    pub fn whole_size(&self) -> usize {
        size_of::<(Key, u32, u32)>().saturating_add(self.size())
    }
}

impl<'a> Keys<'a> {
    /// The key of a row.
    #[inline]
    pub fn key(&self, row: &Row<'_, 'a>) -> Result<Key> {
        match self {
            Keys::Number(number, order) => {
                let bits = match number {
                    Typed::Int(int) => int(row)?.map(|number| number.cast_unsigned() ^ (1 << 63)),
                    Typed::Float(float) => float(row)?.map(float_bits),
                    Typed::General(_) => None,
                };
                Ok(match bits {
                    None => Key::Bits(if order.nulls == NullsOrder::First { 0 } else { 2 }, 0),
                    Some(bits) => Key::Bits(1, if order.descending { !bits } else { bits }),
                })
            }
            Keys::General(keys) => {
                let mut values = SmallVec::with_capacity(keys.len());
                for (key, _) in keys {
                    values.push(key(row)?.into_value()?);
                }
                Ok(Key::Values(values))
            }
        }
    }

    /// Which of two rows comes first.
    #[inline]
    pub fn compare(&self, a: &Key, b: &Key) -> Ordering {
        match (self, a, b) {
            (_, Key::Bits(a_nil, a), Key::Bits(b_nil, b)) => a_nil.cmp(b_nil).then(a.cmp(b)),
            (Keys::General(keys), Key::Values(a), Key::Values(b)) => {
                for ((_, order), (a, b)) in keys.iter().zip(a.iter().zip(b)) {
                    let ordering = order.compare(a, b);
                    if ordering.is_ne() {
                        return ordering;
                    }
                }
                Ordering::Equal
            }
            _ => Ordering::Equal,
        }
    }
}

impl Order {
    fn compare(self, a: &Value, b: &Value) -> Ordering {
        let nil_first = self.nulls == NullsOrder::First;
        match (a.is_nil(), b.is_nil()) {
            (true, true) => Ordering::Equal,
            (true, false) if nil_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if nil_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if self.descending => b.cmp(a),
            (false, false) => a.cmp(b),
        }
    }
}

/// Bits that compare like the floats in the total order: zeros equal, NaN last.
fn float_bits(number: f64) -> u64 {
    if number.is_nan() {
        return u64::MAX;
    }
    // Adding a positive zero turns -0.0 into 0.0.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

impl<'a> Operator<'a> for Sort<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        let sorted = match self.sorted.take() {
            Some(sorted) => sorted,
            None => self.sort(run)?,
        };
        match self.sorted.insert(sorted) {
            Sorted::Merged(merge) => merge.next(&self.keys, run, output),
            Sorted::Held { rows, order, given } => {
                let columns = rows.batches.first().map(|batch| batch.columns.clone());
                output.reset(columns.into_iter().flatten());
                let end = given.saturating_add(BATCH).min(order.len());
                for (batch, row) in order.iter().take(end).skip(*given) {
                    if let Some(batch) = rows.batches.get(*batch as usize) {
                        output.push_row(batch, *row as usize);
                    }
                }
                *given = end;
                Ok(!output.is_empty())
            }
        }
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        match self.sorted.take() {
            Some(Sorted::Held { rows, .. }) => run.context.release(rows.bytes),
            Some(Sorted::Merged(merge)) => merge.close(run),
            None => {}
        }
        self.input.rewind(run);
    }
}

impl<'a> Sort<'a> {
    /// Reads the input to its end. What does not fit in memory goes to temporary files in sorted runs.
    fn sort(&mut self, run: &Run<'_, 'a>) -> Result<Sorted<'a>> {
        let mut runs = Vec::new();
        let mut row_bytes = 0;
        let mut held = Unsorted::default();
        let mut batch = Batch::default();
        while self.input.next(run, &mut batch)? {
            run.context.check()?;
            let mut batch = std::mem::take(&mut batch);
            batch.compact();
            let keys = self.keys_of(&batch, run)?;
            let bytes = keys.iter().map(Key::whole_size).sum::<usize>();
            let bytes = bytes.saturating_add(batch.size());
            row_bytes = row_bytes.max(bytes / batch.length.max(1));
            if !run.context.try_hold(bytes) {
                match Spilling::new(run, &batch.columns)? {
                    None => run.context.hold("sort", bytes)?,
                    Some(file) => {
                        // The batch itself is held whatever the budget, and no longer than it takes to write it.
                        run.context.take(bytes);
                        held.add(batch, keys, bytes);
                        runs.push(std::mem::take(&mut held).into_run(file, &self.keys, run)?);
                        continue;
                    }
                }
            }
            held.add(batch, keys, bytes);
        }
        if let Some(first) = held.rows.batches.first()
            && !runs.is_empty()
            && let Some(file) = Spilling::new(run, &first.columns)?
        {
            runs.push(std::mem::take(&mut held).into_run(file, &self.keys, run)?);
        }
        if !runs.is_empty() {
            return Ok(Sorted::Merged(Merge::new(runs, &self.keys, row_bytes, run)?));
        }
        held.sort(&self.keys, run)?;
        Ok(Sorted::Held {
            rows: held.rows,
            order: held
                .keys
                .into_iter()
                .map(|(_, batch, row)| (batch, row))
                .collect(),
            given: 0,
        })
    }

    fn keys_of(&self, batch: &Batch<'a>, run: &Run<'_, 'a>) -> Result<Vec<Key>> {
        let key = |index| self.keys.key(&Row { batch, index, run });
        batch.rows().map(key).collect()
    }
}

impl<'a> Unsorted<'a> {
    fn add(&mut self, batch: Batch<'a>, keys: Vec<Key>, bytes: usize) {
        let number = self.rows.batches.len() as u32;
        let keys = keys.into_iter().zip(0..).map(|(key, row)| (key, number, row));
        self.keys.extend(keys);
        self.rows.bytes = self.rows.bytes.saturating_add(bytes);
        self.rows.batches.push(batch);
    }

    /// Puts the keys in order: in pieces first, so that a cancelled query need not wait for the whole sort; what is left
    /// is to merge them.
    fn sort(&mut self, keys: &Keys<'a>, run: &Run<'_, 'a>) -> Result<()> {
        for piece in self.keys.chunks_mut(PIECE) {
            run.context.check()?;
            piece.sort_by(|a, b| keys.compare(&a.0, &b.0));
        }
        self.keys.sort_by(|a, b| keys.compare(&a.0, &b.0));
        Ok(())
    }

    /// Writes the rows in order, and gives back what they held.
    fn into_run(mut self, mut file: Spilling, keys: &Keys<'a>, run: &Run<'_, 'a>) -> Result<SpilledRows> {
        self.sort(keys, run)?;
        for (_, batch, row) in &self.keys {
            if let Some(batch) = self.rows.batches.get(*batch as usize) {
                file.push(run, batch, *row as usize)?;
            }
        }
        run.context.release(self.rows.bytes);
        file.finish(run)
    }
}
