//! `Join`: pairs of rows for which a condition holds, by trying all of them.
//!
//! Also what the other joins share: [`Pairs`] makes joined rows out of candidate pairs, tests them, and remembers
//! which left rows have found a partner.

use super::batch::Batch;
use super::compile::Test;
use super::context::Run;
use super::filter::select;
use super::operator::{Boxed, Operator};
use crate::error::Result;
use crate::query::plan::{ColumnId, JoinKind};

pub struct Join<'a> {
    pub left: Boxed<'a>,
    pub right: Boxed<'a>,
    pub pairs: Pairs<'a>,
    pub held: Option<Held<'a>>,
    pub rows: Batch<'a>,
    /// Where the work stands: a left row, and the batch and row of the right side that come next.
    pub at: Position,
}

/// A place in the product of both sides.
#[derive(Default, Clone, Copy)]
pub struct Position {
    left: usize,
    batch: usize,
    row: usize,
    fresh: bool,
}

/// The right rows, held in memory.
#[derive(Default)]
pub struct Held<'a> {
    pub batches: Vec<Batch<'a>>,
    pub bytes: usize,
}

impl<'a> Held<'a> {
    /// Reads an operator to its end.
    pub fn read(operator: &mut Boxed<'a>, name: &str, run: &Run<'_, 'a>) -> Result<Held<'a>> {
        let mut held = Held::default();
        let mut batch = Batch::default();
        while operator.next(run, &mut batch)? {
            run.context.check()?;
            let mut batch = std::mem::take(&mut batch);
            batch.compact();
            let bytes = batch.size();
            run.context.hold(name, bytes)?;
            held.bytes = held.bytes.saturating_add(bytes);
            held.batches.push(batch);
        }
        Ok(held)
    }
}

/// Joined rows in the making.
pub struct Pairs<'a> {
    pub kind: JoinKind,
    pub on: Option<Test<'a>>,
    pub left: Vec<ColumnId>,
    pub right: Vec<ColumnId>,
    candidates: Batch<'a>,
    /// The left row of each candidate.
    origins: Vec<usize>,
    /// Whether a left row of the current left batch has a partner.
    matched: Vec<bool>,
}

impl<'a> Pairs<'a> {
    pub fn new(kind: JoinKind, on: Option<Test<'a>>, left: Vec<ColumnId>, right: Vec<ColumnId>) -> Pairs<'a> {
        Pairs {
            kind,
            on,
            left,
            right,
            candidates: Batch::default(),
            origins: Vec::new(),
            matched: Vec::new(),
        }
    }

    /// Begins with a new left batch.
    pub fn start(&mut self, left: &Batch<'a>) {
        self.matched.clear();
        self.matched.resize(left.length, false);
        self.clear();
    }

    fn clear(&mut self) {
        self.origins.clear();
        let columns = self.left.iter().chain(&self.right).copied();
        self.candidates.reset(columns);
    }

    /// Whether a left row needs no further partner.
    pub fn is_settled(&self, row: usize) -> bool {
        matches!(self.kind, JoinKind::Semi | JoinKind::Anti) && self.matched.get(row) == Some(&true)
    }

    /// Whether there are candidates for a whole batch.
    pub fn is_full(&self) -> bool {
        self.candidates.is_full()
    }

    /// Adds a candidate pair. Without a condition a semi or anti join needs no more than to know of it.
    pub fn push(&mut self, left: &Batch<'a>, row: usize, right: &Batch<'a>, right_row: usize) {
        if self.on.is_none() && matches!(self.kind, JoinKind::Semi | JoinKind::Anti) {
            self.mark(row);
            return;
        }
        self.candidates.push_pair(left, row, Some((right, right_row)));
        self.origins.push(row);
    }

    fn mark(&mut self, row: usize) {
        if let Some(matched) = self.matched.get_mut(row) {
            *matched = true;
        }
    }

    /// Tests the candidates; those that pass are the output of an inner or left join.
    pub fn test(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<()> {
        if let Some(on) = &self.on {
            select(&mut self.candidates, run, on)?;
        }
        let passed: Vec<usize> = self.candidates.rows().collect();
        for candidate in passed {
            if let Some(row) = self.origins.get(candidate).copied() {
                self.mark(row);
            }
        }
        match self.kind {
            JoinKind::Inner | JoinKind::Left => std::mem::swap(&mut self.candidates, output),
            JoinKind::Semi | JoinKind::Anti => output.reset(self.left.iter().copied()),
        }
        self.clear();
        Ok(())
    }

    /// Appends what a left batch still owes at its end: rows without a partner, or those a semi or anti join keeps.
    pub fn finish(&mut self, left: &Batch<'a>, output: &mut Batch<'a>) {
        let wanted = match self.kind {
            JoinKind::Inner => return,
            JoinKind::Semi => true,
            JoinKind::Left | JoinKind::Anti => false,
        };
        if self.kind == JoinKind::Left {
            output.compact();
        }
        for row in left.rows() {
            if self.matched.get(row) == Some(&wanted) {
                match self.kind {
                    JoinKind::Left => output.push_pair(left, row, None),
                    _ => output.push_row(left, row),
                }
            }
        }
        self.matched.clear();
    }
}

impl<'a> Operator<'a> for Join<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        let held = match self.held.take() {
            Some(held) => held,
            None => Held::read(&mut self.right, "join", run)?,
        };
        let more = self.step(&held, run, output);
        self.held = Some(held);
        more
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        if let Some(held) = self.held.take() {
            run.context.release(held.bytes);
        }
        self.at = Position::default();
        self.left.rewind(run);
        self.right.rewind(run);
    }
}

impl<'a> Join<'a> {
    fn step(&mut self, held: &Held<'a>, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        loop {
            run.context.check()?;
            if !self.at.fresh {
                if !self.left.next(run, &mut self.rows)? {
                    output.reset(std::iter::empty());
                    return Ok(false);
                }
                self.rows.compact();
                self.pairs.start(&self.rows);
                self.at = Position {
                    fresh: true,
                    ..Position::default()
                };
            }
            let done = self.fill(held);
            self.pairs.test(run, output)?;
            if done {
                self.pairs.finish(&self.rows, output);
                self.at.fresh = false;
            }
            if !output.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Makes candidates up to a batch; true when the left batch is through.
    fn fill(&mut self, held: &Held<'a>) -> bool {
        while self.at.left < self.rows.length {
            let batch = match held.batches.get(self.at.batch) {
                Some(batch) if !self.pairs.is_settled(self.at.left) => batch,
                _ => {
                    self.at.left = self.at.left.saturating_add(1);
                    self.at.batch = 0;
                    self.at.row = 0;
                    continue;
                }
            };
            while self.at.row < batch.length {
                if self.pairs.is_full() {
                    return false;
                }
                self.pairs.push(&self.rows, self.at.left, batch, self.at.row);
                self.at.row = self.at.row.saturating_add(1);
            }
            self.at.batch = self.at.batch.saturating_add(1);
            self.at.row = 0;
        }
        true
    }
}
