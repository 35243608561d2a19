//! `SetOperation`: union, intersection and difference of rows.

use rustc_hash::FxHashMap;

use super::batch::{Batch, value_size};
use super::context::Run;
use super::distinct::Seen;
use super::operator::{Boxed, Operator};
use crate::error::Result;
use crate::object::Value;
use crate::query::plan::{ColumnId, SetOperator};

pub struct SetOperation<'a> {
    pub operator: SetOperator,
    pub all: bool,
    pub columns: Vec<ColumnId>,
    pub left: (Boxed<'a>, Vec<usize>),
    pub right: (Boxed<'a>, Vec<usize>),
    pub rows: Batch<'a>,
    pub seen: Seen,
    /// The right rows and how often each is still there, for `intersect` and `except`.
    pub counts: Option<Counts>,
    /// Whether a union has come to its right side.
    pub on_right: bool,
}

/// How often each right row is there.
#[derive(Default)]
pub struct Counts {
    rows: FxHashMap<Box<[Value]>, usize>,
    held: usize,
}

impl<'a> Operator<'a> for SetOperation<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        output.reset(self.columns.iter().copied());
        if self.counts.is_none() && self.operator != SetOperator::Union {
            self.counts = Some(self.count(run)?);
        }
        while output.is_empty() {
            run.context.check()?;
            let (side, positions) = match self.on_right {
                true => (&mut self.right.0, &self.right.1),
                false => (&mut self.left.0, &self.left.1),
            };
            if !side.next(run, &mut self.rows)? {
                if self.operator == SetOperator::Union && !self.on_right {
                    self.on_right = true;
                    continue;
                }
                return Ok(false);
            }
            for row in self.rows.rows() {
                let values = self.rows.values(positions, row);
                let found = self
                    .counts
                    .as_mut()
                    .is_some_and(|counts| counts.take(&values, self.all));
                let wanted = match self.operator {
                    SetOperator::Union => true,
                    SetOperator::Intersect => found,
                    SetOperator::Except => !found,
                };
                if wanted && (self.all || self.seen.insert(values.clone(), "set operation", run)?) {
                    output.push_values(values);
                }
            }
        }
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        if let Some(counts) = self.counts.take() {
            run.context.release(counts.held);
        }
        self.seen.clear(run);
        self.on_right = false;
        self.left.0.rewind(run);
        self.right.0.rewind(run);
    }
}

impl<'a> SetOperation<'a> {
    fn count(&mut self, run: &Run<'_, 'a>) -> Result<Counts> {
        let mut counts = Counts::default();
        while self.right.0.next(run, &mut self.rows)? {
            run.context.check()?;
            for row in self.rows.rows() {
                let values = self.rows.values(&self.right.1, row);
                let size: usize = values.iter().map(value_size).sum();
                let count = counts.rows.entry(values.into()).or_insert_with(|| {
                    counts.held = counts.held.saturating_add(size).saturating_add(32);
                    0
                });
                *count = count.saturating_add(1);
            }
        }
        run.context.hold("set operation", counts.held)?;
        Ok(counts)
    }
}

impl Counts {
    /// Whether a row is there; with `all` it is there once less from then on.
    fn take(&mut self, row: &[Value], all: bool) -> bool {
        match self.rows.get_mut(row) {
            Some(count) if *count > 0 => {
                if all {
                    *count = count.saturating_sub(1);
                }
                true
            }
            _ => false,
        }
    }
}
