//! `Sort`: all rows, by their keys in the total order; and the keys that `TopK` shares with it.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::batch::{BATCH, Batch, value_size};
use super::compile::{General, Row, Typed};
use super::context::Run;
use super::join::Held;
use super::operator::{Boxed, Operator};
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

/// The rows, and the order they go out in.
pub struct Sorted<'a> {
    held: Held<'a>,
    order: Vec<(u32, u32)>,
    given: usize,
    bytes: usize,
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
        let mut sorted = match self.sorted.take() {
            Some(sorted) => sorted,
            None => self.sort(run)?,
        };
        let columns = sorted.held.batches.first().map(|batch| batch.columns.clone());
        output.reset(columns.into_iter().flatten());
        let end = sorted.given.saturating_add(BATCH).min(sorted.order.len());
        for (batch, row) in sorted.order.iter().take(end).skip(sorted.given) {
            if let Some(batch) = sorted.held.batches.get(*batch as usize) {
                output.push_row(batch, *row as usize);
            }
        }
        sorted.given = end;
        self.sorted = Some(sorted);
        Ok(!output.is_empty())
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        if let Some(sorted) = self.sorted.take() {
            run.context
                .release(sorted.bytes.saturating_add(sorted.held.bytes));
        }
        self.input.rewind(run);
    }
}

impl<'a> Sort<'a> {
    fn sort(&mut self, run: &Run<'_, 'a>) -> Result<Sorted<'a>> {
        let held = Held::read(&mut self.input, "sort", run)?;
        let mut keyed: Vec<(Key, u32, u32)> = Vec::new();
        let mut bytes = 0_usize;
        for (number, batch) in (0..).zip(&held.batches) {
            let mut added = batch.length.saturating_mul(size_of::<(Key, u32, u32)>());
            for index in batch.rows() {
                let key = self.keys.key(&Row { batch, index, run })?;
                added = added.saturating_add(key.size());
                keyed.push((key, number, index as u32));
            }
            run.context.check()?;
            run.context.hold("sort", added)?;
            bytes = bytes.saturating_add(added);
        }
        // In pieces first, so that a cancelled query need not wait for the whole sort; what is left is to merge them.
        for piece in keyed.chunks_mut(PIECE) {
            run.context.check()?;
            piece.sort_by(|a, b| self.keys.compare(&a.0, &b.0));
        }
        keyed.sort_by(|a, b| self.keys.compare(&a.0, &b.0));
        Ok(Sorted {
            held,
            order: keyed.into_iter().map(|(_, batch, row)| (batch, row)).collect(),
            given: 0,
            bytes,
        })
    }
}
