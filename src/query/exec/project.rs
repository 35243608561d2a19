//! `Project`: rows of exactly the columns asked for, worked out column by column.

use super::batch::{Batch, Cells};
use super::compile::{General, Row};
use super::context::Run;
use super::operator::{Boxed, Operator};
use crate::error::Result;
use crate::object::{Value, codec};
use crate::query::plan::{Column, ColumnId, Expression, ExpressionKind, Plan, Slots};

pub struct Project<'a> {
    pub input: Boxed<'a>,
    pub columns: Vec<(ColumnId, Source<'a>)>,
    /// The rows below, kept to use their memory again.
    pub rows: Batch<'a>,
}

/// Where the values of a column come from. Most queries ask for objects or what is stored in them; these forms cost
/// nothing to make, and no call for each value.
pub enum Source<'a> {
    /// The object that is the first column of the rows below.
    Object,
    /// An attribute stored in it.
    Stored(&'a Slots),
    /// Any expression.
    Computed(General<'a>),
}

impl<'a> Source<'a> {
    /// The simple form of an expression over rows whose first column is this object.
    pub fn simple(expression: &'a Expression, object: Option<&Column>) -> Option<Source<'a>> {
        let object = object?;
        match &expression.kind {
            ExpressionKind::Column(column) if column == object => Some(Source::Object),
            ExpressionKind::Attribute { base, slots, .. } if base.as_column() == Some(object) => {
                Some(Source::Stored(slots))
            }
            _ => None,
        }
    }

    /// Appends the values of the rows that are selected.
    fn read(&self, rows: &Batch<'a>, run: &Run<'_, 'a>, values: &mut Vec<Value>) -> Result<()> {
        match self {
            Source::Object => {
                if let Some(cells) = rows.column(0) {
                    values.extend(rows.rows().map(|row| cells.owned(row)));
                }
            }
            Source::Stored(slots) => stored(slots, rows, run, values)?,
            Source::Computed(expression) => {
                for index in rows.rows() {
                    let row = Row {
                        batch: rows,
                        index,
                        run,
                    };
                    values.push(expression(&row)?.into_value()?);
                }
            }
        }
        Ok(())
    }
}

/// Appends what is stored in the objects of the first column; nil where there is none.
fn stored<'a>(slots: &Slots, rows: &Batch<'a>, run: &Run<'_, 'a>, values: &mut Vec<Value>) -> Result<()> {
    let mut known = None;
    let cells = rows.column(0);
    for index in rows.rows() {
        let Some(record) = cells.and_then(|cells| cells.record(index)) else {
            values.push(Value::Nil);
            continue;
        };
        let class = record.oid.class();
        let place = match known {
            Some((of, place)) if of == class => place,
            _ => slots.slot(class).zip(run.layout(class)),
        };
        known = Some((class, place));
        values.push(match place {
            Some((slot, layout)) => codec::read_slot(layout, &record.body, slot)?.to_value()?,
            None => Value::Nil,
        });
    }
    Ok(())
}

/// The column of objects that the rows of a plan consist of, if nothing is joined to them.
pub fn only_object(mut plan: &Plan) -> Option<&Column> {
    loop {
        plan = match plan {
            Plan::Extent { column, .. }
            | Plan::IndexScan { column, .. }
            | Plan::IndexPath { column, .. }
            | Plan::IndexSet { column, .. }
            | Plan::Objects { column, .. } => return Some(column),
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::TopK { input, .. }
            | Plan::Limit { input, .. } => input,
            _ => return None,
        };
    }
}

impl<'a> Operator<'a> for Project<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        output.reset(self.columns.iter().map(|(column, _)| *column));
        if !self.input.next(run, &mut self.rows)? {
            return Ok(false);
        }
        run.context.check()?;
        for ((_, source), cells) in self.columns.iter().zip(&mut output.cells) {
            let mut values = match std::mem::replace(cells, Cells::Values(Vec::new())) {
                Cells::Values(values) => values,
                _ => Vec::new(),
            };
            values.reserve(self.rows.len());
            source.read(&self.rows, run, &mut values)?;
            *cells = Cells::Values(values);
        }
        output.length = self.rows.len();
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.input.rewind(run);
    }
}
