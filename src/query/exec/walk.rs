//! `Walk`: for each row, the objects a closure reaches, nearest first, with depth and path.

use super::batch::{BATCH, Batch, Cell};
use super::compile::Test;
use super::context::{Place, Run, Scope};
use super::filter::select;
use super::operator::{Boxed, Operator};
use crate::error::Result;
use crate::object::{Oid, Value};
use crate::query::eval::{Evaluator, WalkState};
use crate::query::plan::{ColumnId, Expression};

pub struct Walk<'a> {
    pub input: Boxed<'a>,
    /// The closure.
    pub closure: &'a Expression,
    /// The columns it adds: the object, the depth and the path, where they are wanted.
    pub column: ColumnId,
    pub depth: Option<ColumnId>,
    pub path: Option<ColumnId>,
    /// Whether a row that reaches nothing is kept.
    pub outer: bool,
    /// The condition of the new rows, and whether it needs the path.
    pub on: Option<(Test<'a>, bool)>,
    pub state: State<'a>,
}

/// Where the operator stands.
#[derive(Default)]
pub struct State<'a> {
    batch: Batch<'a>,
    /// The selected rows still to walk from, in reverse order.
    left: Vec<usize>,
    current: Option<Current>,
}

/// The walk from one row.
struct Current {
    row: usize,
    walk: WalkState,
    /// How many objects of the level were looked at.
    seen: usize,
    /// Whether there was a row.
    found: bool,
}

impl<'a> Operator<'a> for Walk<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        loop {
            if self.state.current.is_none() && self.state.left.is_empty() {
                if !self.input.next(run, &mut self.state.batch)? {
                    output.reset(std::iter::empty());
                    return Ok(false);
                }
                self.state.left = self.state.batch.rows().collect();
                self.state.left.reverse();
            }
            self.start(output);
            while !output.is_full() && self.extend(run, output)? {
                run.context.check()?;
            }
            if !output.is_empty() {
                return Ok(true);
            }
        }
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.leave(run);
        self.state = State::default();
        self.input.rewind(run);
    }
}

impl<'a> Walk<'a> {
    fn start(&self, output: &mut Batch<'a>) {
        let added = [Some(self.column), self.depth, self.path];
        let below = self.state.batch.columns.iter().copied();
        output.reset(below.chain(added.into_iter().flatten()));
    }

    /// Appends rows of one level, or goes on to the next level or row; false if the rows below are used up.
    fn extend(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        let Some(mut current) = self.state.current.take() else {
            let Some(row) = self.state.left.pop() else {
                return Ok(false);
            };
            let walk = self.evaluated(row, run, |evaluator, closure| {
                WalkState::start(evaluator, closure, self.path.is_some())
            })?;
            let (seen, found) = (0, false);
            self.state.current = Some(Current {
                row,
                walk,
                seen,
                found,
            });
            return Ok(true);
        };
        while current.seen < current.walk.level().len() {
            if output.is_full() {
                self.state.current = Some(current);
                return Ok(true);
            }
            let room = BATCH.saturating_sub(output.length);
            let end = current.seen.saturating_add(room).min(current.walk.level().len());
            self.push(&mut current, end, run, output)?;
        }
        current.seen = 0;
        let more = self.evaluated(current.row, run, |evaluator, closure| {
            current.walk.advance(evaluator, closure)
        })?;
        if !more && !current.found && self.outer {
            self.append(current.row, [Value::Nil, Value::Nil, Value::Nil], output);
        }
        self.state.current = Some(current);
        if !more {
            self.leave(run);
        }
        Ok(true)
    }

    /// Appends the rows of the objects of the level up to `end` that meet the condition.
    fn push(
        &self,
        current: &mut Current,
        end: usize,
        run: &Run<'_, 'a>,
        output: &mut Batch<'a>,
    ) -> Result<()> {
        run.context.check()?;
        let depth = Value::Int(i64::try_from(current.walk.depth()).unwrap_or(i64::MAX));
        let objects = current.walk.level().get(current.seen..end).unwrap_or_default();
        let mut kept: Vec<Oid> = objects.to_vec();
        if let Some((test, needs_path)) = &self.on {
            let mut candidates = Batch::default();
            self.start(&mut candidates);
            for oid in objects {
                let path = if *needs_path {
                    current.walk.path(*oid)
                } else {
                    Value::Nil
                };
                let values = [Value::Reference(*oid), depth.clone(), path];
                self.append(current.row, values, &mut candidates);
            }
            select(&mut candidates, run, test)?;
            kept = candidates
                .rows()
                .filter_map(|row| objects.get(row).copied())
                .collect();
        }
        current.found |= !kept.is_empty();
        for oid in kept {
            let path = match self.path {
                Some(_) => current.walk.path(oid),
                None => Value::Nil,
            };
            let values = [Value::Reference(oid), depth.clone(), path];
            self.append(current.row, values, output);
        }
        current.seen = end;
        Ok(())
    }

    fn append(&self, row: usize, [oid, depth, path]: [Value; 3], output: &mut Batch<'a>) {
        let depth = self.depth.map(|_| depth);
        let path = self.path.map(|_| path);
        let mut cells = output.cells.iter_mut();
        for (from, to) in self.state.batch.cells.iter().zip(&mut cells) {
            to.push(from.cell(row));
        }
        for (to, value) in cells.zip([Some(oid), depth, path].into_iter().flatten()) {
            to.push(Cell::Value(value));
        }
        output.length = output.length.saturating_add(1);
    }

    /// Runs something of the walk over a row below.
    fn evaluated<T>(
        &self,
        row: usize,
        run: &Run<'_, 'a>,
        then: impl FnOnce(&Evaluator<'_, 'a>, &crate::query::plan::ExpressionKind) -> Result<T>,
    ) -> Result<T> {
        let scope = Scope {
            here: Place::Row(&self.state.batch, row),
            parent: run.outer,
        };
        let evaluator = Evaluator {
            run: *run,
            scope: Some(&scope),
        };
        then(&evaluator, &self.closure.kind).map_err(|error| crate::query::eval::at(error, self.closure.span))
    }

    fn leave(&mut self, run: &Run<'_, 'a>) {
        if let Some(current) = self.state.current.take() {
            run.context.release(current.walk.held());
        }
    }
}
