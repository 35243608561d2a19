//! `Iterate`: a dependent range, one row for each member of a collection of the row before.

use super::batch::{BATCH, Batch, Cell};
use super::compile::{Datum, General, Row, Test};
use super::context::Run;
use super::filter::select;
use super::operator::{Boxed, Operator};
use crate::error::{QueryErrorCode, Result};
use crate::object::{Value, ValueRef};
use crate::query::function::arithmetic::failure;
use crate::query::plan::ColumnId;

pub struct Iterate<'a> {
    pub input: Boxed<'a>,
    pub column: ColumnId,
    pub collection: General<'a>,
    pub outer: bool,
    pub on: Option<Test<'a>>,
    pub rows: Rows<'a>,
}

/// Where the operator stands in the batch below.
#[derive(Default)]
pub struct Rows<'a> {
    batch: Batch<'a>,
    /// The selected rows still to expand, in reverse order.
    left: Vec<usize>,
    /// The row that is being expanded and its members still to come, in reverse order.
    current: Option<(usize, Vec<Value>)>,
}

impl<'a> Operator<'a> for Iterate<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        loop {
            if self.rows.current.is_none() && self.rows.left.is_empty() && !self.refill(run)? {
                output.reset(std::iter::empty());
                return Ok(false);
            }
            run.context.check()?;
            output.reset(self.rows.batch.columns.iter().copied().chain([self.column]));
            while !output.is_full() && self.expand(run, output)? {}
            if !output.is_empty() {
                return Ok(true);
            }
        }
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.rows = Rows::default();
        self.input.rewind(run);
    }
}

impl<'a> Iterate<'a> {
    fn refill(&mut self, run: &Run<'_, 'a>) -> Result<bool> {
        let found = self.input.next(run, &mut self.rows.batch)?;
        self.rows.left = self.rows.batch.rows().collect();
        self.rows.left.reverse();
        Ok(found)
    }

    /// Appends rows of the current row below, or goes on to the next one; false if the batch below is used up.
    fn expand(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        if let Some((row, members)) = &mut self.rows.current {
            while !output.is_full() {
                match members.pop() {
                    Some(member) => push(&self.rows.batch, *row, Cell::Value(member), output),
                    None => {
                        self.rows.current = None;
                        break;
                    }
                }
            }
            return Ok(true);
        }
        let Some(index) = self.rows.left.pop() else {
            return Ok(false);
        };
        let row = Row {
            batch: &self.rows.batch,
            index,
            run,
        };
        let mut members = members((self.collection)(&row)?)?;
        if let Some(on) = &self.on {
            members = self.matching(members, index, on, run)?;
        }
        if members.is_empty() && self.outer {
            push(&self.rows.batch, index, Cell::Value(Value::Nil), output);
        } else if !members.is_empty() {
            members.reverse();
            self.rows.current = Some((index, members));
        }
        Ok(true)
    }

    /// The members for which the condition of a `left join` holds.
    fn matching(
        &self,
        members: Vec<Value>,
        row: usize,
        on: &Test<'a>,
        run: &Run<'_, 'a>,
    ) -> Result<Vec<Value>> {
        let mut kept = Vec::new();
        let mut candidates = Batch::default();
        for chunk in members.chunks(BATCH) {
            candidates.reset(self.rows.batch.columns.iter().copied().chain([self.column]));
            for member in chunk {
                push(
                    &self.rows.batch,
                    row,
                    Cell::Value(member.clone()),
                    &mut candidates,
                );
            }
            select(&mut candidates, run, on)?;
            kept.extend(candidates.rows().filter_map(|row| chunk.get(row).cloned()));
        }
        Ok(kept)
    }
}

fn push<'a>(batch: &Batch<'a>, row: usize, cell: Cell<'a>, output: &mut Batch<'a>) {
    let mut cells = output.cells.iter_mut();
    for (from, to) in batch.cells.iter().zip(&mut cells) {
        to.push(from.cell(row));
    }
    if let Some(last) = cells.next() {
        last.push(cell);
    }
    output.length = output.length.saturating_add(1);
}

/// The members of a collection; none for nil. A map has its values.
fn members(collection: Datum<'_>) -> Result<Vec<Value>> {
    let value = collection.as_ref();
    if value.is_nil() {
        return Ok(Vec::new());
    }
    if let Some(members) = value.members() {
        return members
            .map(|member| member.and_then(ValueRef::to_value))
            .collect();
    }
    if let Some(entries) = value.entries() {
        return entries
            .map(|entry| entry.and_then(|(_, value)| value.to_value()))
            .collect();
    }
    Err(failure(
        QueryErrorCode::Type,
        format!("a range goes over a collection, not over {}", value.type_name()),
    ))
}
