//! The entry points: a query to rows, and what a change needs to know before anything is changed.

use std::sync::Arc;

use super::batch::{Batch, Cell, Object};
use super::build::build;
use super::compile::{Compiler, Row, evaluate};
use super::context::{Context, Options, Run, Shared};
use super::rows::{Row as OutputRow, Rows};
use crate::error::Result;
use crate::object::{Oid, Value};
use crate::query::plan::{
    Column, ConflictUpdate, Delete, Insert, InsertSource, Plan, Returning, Statement, Update,
};
use crate::read::Reader;

/// Begins to run a query over a state. `parameters` are the values of the statement's parameters, in its order.
pub fn execute(
    statement: Arc<Statement>,
    reader: Arc<dyn Reader>,
    parameters: Vec<Value>,
    options: Options,
) -> Result<Rows> {
    Rows::new(statement, shared(reader, parameters, &options), options)
}

fn shared(reader: Arc<dyn Reader>, parameters: Vec<Value>, options: &Options) -> Shared {
    Shared {
        reader,
        parameters: parameters.into(),
        now: options.now,
        profiled: options.profile.is_some(),
    }
}

/// Reads a plan to its end and gives each row to `take`.
fn each_row<'a>(
    plan: &'a Plan,
    run: &Run<'_, 'a>,
    mut take: impl FnMut(&Row<'_, 'a>) -> Result<()>,
) -> Result<()> {
    let mut operator = build(plan, run.shared)?;
    let mut batch = Batch::default();
    while operator.next(run, &mut batch)? {
        run.context.check()?;
        for index in batch.rows() {
            take(&Row {
                batch: &batch,
                index,
                run,
            })?;
        }
    }
    Ok(())
}

/// The rows an `insert` creates objects from: the values of its slots, one row an object.
pub fn insert_rows(
    insert: &Insert,
    reader: Arc<dyn Reader>,
    parameters: Vec<Value>,
    options: Options,
) -> Result<Vec<Vec<Value>>> {
    let shared = shared(reader, parameters, &options);
    let context = Context::new(options);
    let run = Run {
        shared: &shared,
        context: &context,
        outer: None,
    };
    let mut rows = Vec::new();
    match &insert.source {
        InsertSource::Rows(sources) => {
            let nowhere = Batch::default();
            let row = Row {
                batch: &nowhere,
                index: 0,
                run: &run,
            };
            for source in sources {
                rows.push(
                    source
                        .iter()
                        .map(|value| evaluate(value, &row))
                        .collect::<Result<_>>()?,
                );
            }
        }
        InsertSource::Query(query) => {
            let columns = query.plan.columns();
            let place = |column: &Column| columns.iter().position(|candidate| candidate == column);
            let outputs: Vec<usize> = query
                .outputs
                .iter()
                .filter_map(|output| place(&output.column))
                .collect();
            each_row(&query.plan, &run, |row| {
                rows.push(row.batch.values(&outputs, row.index));
                Ok(())
            })?;
        }
    }
    Ok(rows)
}

/// The objects an `update` changes, each with the new values of its assignments in their order; all worked out over
/// the old state.
pub fn update_rows(
    update: &Update,
    reader: Arc<dyn Reader>,
    parameters: Vec<Value>,
    options: Options,
) -> Result<Vec<(Oid, Vec<Value>)>> {
    let shared = shared(reader, parameters, &options);
    let context = Context::new(options);
    let run = Run {
        shared: &shared,
        context: &context,
        outer: None,
    };
    let compiler = Compiler::new(&shared, &[&update.plan]);
    let values: Vec<_> = update
        .assignments
        .iter()
        .map(|assignment| compiler.general(&assignment.value))
        .collect();
    let mut rows = Vec::new();
    each_row(&update.plan, &run, |row| {
        if let Some(oid) = target(&update.target, row) {
            let new: Result<Vec<Value>> = values.iter().map(|value| value(row)?.into_value()).collect();
            rows.push((oid, new?));
        }
        Ok(())
    })?;
    Ok(rows)
}

/// The objects a `delete` deletes.
pub fn delete_targets(
    delete: &Delete,
    reader: Arc<dyn Reader>,
    parameters: Vec<Value>,
    options: Options,
) -> Result<Vec<Oid>> {
    let shared = shared(reader, parameters, &options);
    let context = Context::new(options);
    let run = Run {
        shared: &shared,
        context: &context,
        outer: None,
    };
    let mut oids = Vec::new();
    each_row(&delete.plan, &run, |row| {
        oids.extend(target(&delete.target, row));
        Ok(())
    })?;
    Ok(oids)
}

fn target(column: &Column, row: &Row<'_, '_>) -> Option<Oid> {
    let cells = row
        .batch
        .position(column.id)
        .and_then(|at| row.batch.column(at))?;
    match cells.value(row.index) {
        crate::object::ValueRef::Reference(oid) => Some(oid),
        _ => None,
    }
}

/// The new values that `on conflict .. update` gives an object, over its state in `reader`, in the order of the
/// assignments. `excluded` is the struct of what was to be inserted.
pub fn conflict_values(
    update: &ConflictUpdate,
    (oid, excluded): (Oid, Value),
    reader: Arc<dyn Reader>,
    parameters: Vec<Value>,
    options: Options,
) -> Result<Vec<Value>> {
    let shared = shared(reader, parameters, &options);
    let context = Context::new(options);
    let run = Run {
        shared: &shared,
        context: &context,
        outer: None,
    };
    let mut batch = Batch::new(&[update.target.clone(), update.excluded.clone()]);
    let object = run.object(oid)?.map_or(Object::Gone(oid), Object::Present);
    let cells = [Cell::Object(object), Cell::Value(excluded)];
    for (column, cell) in batch.cells.iter_mut().zip(cells) {
        column.push(cell);
    }
    batch.length = 1;
    let row = Row {
        batch: &batch,
        index: 0,
        run: &run,
    };
    let values = update.assignments.iter();
    values
        .map(|assignment| evaluate(&assignment.value, &row))
        .collect()
}

/// What `returning` gives for these objects, in the state of `reader`: the new one after an insert or update, the
/// old one before a delete.
pub fn returning_rows(
    returning: &Returning,
    oids: &[Oid],
    reader: Arc<dyn Reader>,
    parameters: Vec<Value>,
    options: Options,
) -> Result<Vec<OutputRow>> {
    let shared = shared(reader, parameters, &options);
    let context = Context::new(options);
    let run = Run {
        shared: &shared,
        context: &context,
        outer: None,
    };
    let labels: Arc<[Arc<str>]> = returning
        .outputs
        .iter()
        .map(|(output, _)| Arc::clone(&output.label))
        .collect();
    let mut rows = Vec::with_capacity(oids.len());
    for oid in oids {
        let mut batch = Batch::new(std::slice::from_ref(&returning.target));
        let object = run.object(*oid)?.map_or(Object::Gone(*oid), Object::Present);
        if let Some(cells) = batch.cells.first_mut() {
            cells.push(Cell::Object(object));
        }
        batch.length = 1;
        let row = Row {
            batch: &batch,
            index: 0,
            run: &run,
        };
        let values = returning.outputs.iter().map(|(_, value)| evaluate(value, &row));
        rows.push(OutputRow::new(
            Arc::clone(&labels),
            values.collect::<Result<_>>()?,
        ));
    }
    Ok(rows)
}
