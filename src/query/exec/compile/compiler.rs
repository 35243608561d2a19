//! Expressions compiled to closures over borrowed rows.
//!
//! A closure has a static type: a truth value, an int, a float, bytes of text, a reference, or any value
//! ([`Datum`]). The hot forms read a slot directly from the record's body: an attribute of an object column, and the
//! comparison of one with a constant, which is a single closure. Everything else falls back to the tree-walking
//! evaluator, with the same results.

use std::sync::Arc;

use crate::error::Result;
use crate::object::{Oid, Type, Value, ValueRef};
use crate::query::eval::Evaluator;
use crate::query::exec::{Batch, Place, Run, Scope, Shared};
use crate::query::plan::{Column, Expression, ExpressionKind, Plan};

/// A row of a batch, within a run.
#[derive(Clone, Copy)]
pub struct Row<'r, 'a> {
    /// The batch.
    pub batch: &'r Batch<'a>,
    /// The row's number in it.
    pub index: usize,
    /// The run.
    pub run: &'r Run<'r, 'a>,
}

/// A value that is borrowed where it can be.
#[derive(Debug, Clone)]
pub enum Datum<'r> {
    /// Borrowed from a record, a constant or a cell.
    Borrowed(ValueRef<'r>),
    /// Computed.
    Owned(Value),
}

impl Datum<'_> {
    /// The value, borrowed.
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Datum::Borrowed(value) => *value,
            Datum::Owned(value) => value.as_ref(),
        }
    }

    /// The value, owned.
    pub fn into_value(self) -> Result<Value> {
        match self {
            Datum::Borrowed(value) => value.to_value(),
            Datum::Owned(value) => Ok(value),
        }
    }
}

/// A compiled predicate; `None` is unknown.
pub type Test<'a> = Box<dyn Fn(&Row<'_, 'a>) -> Result<Option<bool>> + Send + 'a>;
/// A compiled int; `None` is nil.
pub type Ints<'a> = Box<dyn Fn(&Row<'_, 'a>) -> Result<Option<i64>> + Send + 'a>;
/// A compiled float; `None` is nil.
pub type Floats<'a> = Box<dyn Fn(&Row<'_, 'a>) -> Result<Option<f64>> + Send + 'a>;
/// A compiled reference; `None` is nil.
pub type References<'a> = Box<dyn Fn(&Row<'_, 'a>) -> Result<Option<Oid>> + Send + 'a>;
/// A compiled expression of any type.
pub type General<'a> = Box<dyn for<'r> Fn(&Row<'r, 'a>) -> Result<Datum<'r>> + Send + 'a>;

/// A compiled expression, by what it is grouped, sorted and aggregated as.
pub enum Typed<'a> {
    /// An int.
    Int(Ints<'a>),
    /// A float.
    Float(Floats<'a>),
    /// Anything else.
    General(General<'a>),
}

/// Compiles expressions over rows with certain columns.
#[derive(Clone)]
pub struct Compiler<'a> {
    pub(super) shared: &'a Shared,
    columns: Arc<[Column]>,
    /// For each column: whether its cells hold records.
    pub(super) objects: Arc<[bool]>,
}

impl<'a> Compiler<'a> {
    /// A compiler for the rows of these plans, side by side.
    pub fn new(shared: &'a Shared, plans: &[&Plan]) -> Compiler<'a> {
        let columns: Vec<Column> = plans.iter().flat_map(|plan| plan.columns()).collect();
        let objects = columns
            .iter()
            .map(|column| plans.iter().any(|plan| yields_records(plan, column)))
            .collect();
        Compiler {
            shared,
            columns: columns.into(),
            objects,
        }
    }

    /// The place of a column in the rows; `None` for one of a row around.
    pub(super) fn position(&self, column: &Column) -> Option<usize> {
        self.columns.iter().position(|candidate| candidate == column)
    }

    /// The value of an expression that is the same for the whole statement.
    pub(super) fn constant(&self, expression: &'a Expression) -> Option<&'a Value> {
        match &expression.kind {
            ExpressionKind::Constant(value) => Some(value),
            ExpressionKind::Parameter { index, .. } => self.shared.parameters.get(*index),
            _ => None,
        }
    }

    /// Compiles by the static type.
    pub fn typed(&self, expression: &'a Expression) -> Typed<'a> {
        match expression.r#type {
            Type::Int => Typed::Int(self.int(expression)),
            Type::Float => Typed::Float(self.float(expression)),
            _ => Typed::General(self.general(expression)),
        }
    }

    /// Compiles an expression of any type.
    pub fn general(&self, expression: &'a Expression) -> General<'a> {
        if let Some(value) = self.constant(expression) {
            return Box::new(move |_| Ok(Datum::Borrowed(value.as_ref())));
        }
        match &expression.kind {
            ExpressionKind::Column(column) => match self.position(column) {
                Some(position) => Box::new(move |row| {
                    let cells = row.batch.column(position);
                    Ok(Datum::Borrowed(
                        cells.map_or(ValueRef::Nil, |cells| cells.value(row.index)),
                    ))
                }),
                None => evaluated(expression),
            },
            ExpressionKind::Attribute { .. } => match self.attribute(expression) {
                Some(attribute) => Box::new(move |row| attribute.value(row).map(Datum::Borrowed)),
                None => evaluated(expression),
            },
            ExpressionKind::Arithmetic { .. } if expression.r#type == Type::Int => {
                let int = self.int(expression);
                Box::new(move |row| Ok(Datum::Borrowed(int(row)?.map_or(ValueRef::Nil, ValueRef::Int))))
            }
            ExpressionKind::Arithmetic { .. } if expression.r#type == Type::Float => {
                let float = self.float(expression);
                Box::new(move |row| {
                    Ok(Datum::Borrowed(
                        float(row)?.map_or(ValueRef::Nil, ValueRef::Float),
                    ))
                })
            }
            _ if expression.r#type == Type::Bool => {
                let test = self.predicate(expression);
                Box::new(move |row| Ok(Datum::Borrowed(test(row)?.map_or(ValueRef::Nil, ValueRef::Bool))))
            }
            _ => evaluated(expression),
        }
    }

    /// Compiles an expression that gives a reference or nil.
    pub fn reference(&self, expression: &'a Expression) -> References<'a> {
        if let Some(attribute) = self.attribute(expression)
            && matches!(expression.r#type, Type::Reference(_))
        {
            return Box::new(move |row| attribute.reference(row));
        }
        let general = self.general(expression);
        Box::new(move |row| match general(row)?.as_ref() {
            ValueRef::Reference(oid) => Ok(Some(oid)),
            _ => Ok(None),
        })
    }
}

/// Whether a column of a plan is an object column: its cells hold records.
fn yields_records(plan: &Plan, column: &Column) -> bool {
    match plan {
        Plan::Extent { column: here, .. }
        | Plan::IndexScan { column: here, .. }
        | Plan::IndexPath { column: here, .. }
        | Plan::IndexSet { column: here, .. }
        | Plan::Objects { column: here, .. } => here == column,
        Plan::Fetch {
            input, column: here, ..
        } => here == column || yields_records(input, column),
        Plan::Project { .. } | Plan::Group { .. } | Plan::SetOperation { .. } | Plan::IndexCount { .. } => {
            false
        }
        _ => plan.children().iter().any(|child| yields_records(child, column)),
    }
}

/// The value of an expression by the tree-walking evaluator.
fn evaluated<'a>(expression: &'a Expression) -> General<'a> {
    Box::new(move |row| evaluate(expression, row).map(Datum::Owned))
}

/// Evaluates an expression over a row by the tree-walking evaluator.
pub fn evaluate(expression: &Expression, row: &Row<'_, '_>) -> Result<Value> {
    with_evaluator(row, |evaluator| evaluator.evaluate(expression))
}

/// The truth of a predicate over a row, by the tree-walking evaluator.
pub(super) fn evaluate_truth(expression: &Expression, row: &Row<'_, '_>) -> Result<Option<bool>> {
    with_evaluator(row, |evaluator| evaluator.truth(expression))
}

fn with_evaluator<'a, T>(row: &Row<'_, 'a>, then: impl FnOnce(&Evaluator<'_, 'a>) -> T) -> T {
    let scope = Scope {
        here: Place::Row(row.batch, row.index),
        parent: row.run.outer,
    };
    then(&Evaluator {
        run: *row.run,
        scope: Some(&scope),
    })
}
