//! Subqueries: run with the row around them bound.

use std::sync::Arc;

use super::Evaluator;
use super::collection::of_type;
use super::predicate::compare_members;
use crate::error::{QueryErrorCode, Result};
use crate::object::{Type, Value};
use crate::query::exec::{Answer, Batch, Run, build_root};
use crate::query::function::arithmetic::failure;
use crate::query::function::compare::truth;
use crate::query::plan::{Query, Subquery, SubqueryForm};

impl<'a> Evaluator<'_, 'a> {
    /// The value of a subquery; one that uses nothing from outside is run once for the whole statement.
    pub(super) fn subquery(&self, subquery: &Subquery, result: &Type) -> Result<Value> {
        let limit = limit(&subquery.form);
        let run = Run {
            outer: self.scope,
            ..self.run
        };
        let answer = if subquery.outer.is_empty() {
            answer(&run, subquery)?
        } else {
            Arc::new(Answer::new(rows(&run, &subquery.query, limit)?))
        };
        self.form(&subquery.form, &answer, result)
    }

    fn form(&self, form: &SubqueryForm, answer: &Answer, result: &Type) -> Result<Value> {
        match form {
            SubqueryForm::Exists => Ok(Value::Bool(!answer.values.is_empty())),
            SubqueryForm::Element => match &*answer.values {
                [] => Ok(Value::Nil),
                [only] => Ok(only.clone()),
                _ => Err(failure(
                    QueryErrorCode::Cardinality,
                    "one value is needed here, but the query has several rows",
                )),
            },
            SubqueryForm::In(value) => Ok(truth(answer.contains(&self.evaluate(value)?))),
            SubqueryForm::Compare { operator, left, all } => {
                let left = self.evaluate(left)?;
                Ok(truth(compare_members(*operator, &left, *all, &answer.values)))
            }
            SubqueryForm::Collection => Ok(of_type(answer.values.to_vec(), result)),
        }
    }
}

impl Answer {
    /// The answer with these rows.
    pub fn new(values: Vec<Value>) -> Answer {
        let has_nil = values.iter().any(Value::is_nil);
        Answer {
            values: values.into(),
            set: std::sync::OnceLock::new(),
            has_nil,
        }
    }

    /// Whether a value is among the rows, in three-valued logic.
    pub fn contains(&self, value: &Value) -> Option<bool> {
        if self.values.is_empty() {
            return Some(false);
        }
        if value.is_nil() {
            return None;
        }
        let nan = matches!(value, Value::Float(number) if number.is_nan());
        let set = self.set.get_or_init(|| self.values.iter().cloned().collect());
        match set.contains(value) {
            true if !nan => Some(true),
            _ if self.has_nil => None,
            _ => Some(false),
        }
    }
}

/// The most rows that a form needs.
fn limit(form: &SubqueryForm) -> usize {
    match form {
        SubqueryForm::Exists => 1,
        SubqueryForm::Element => 2,
        _ => usize::MAX,
    }
}

/// The rows of a subquery that needs nothing from around it: it is run once for the whole statement.
pub fn answer(run: &Run<'_, '_>, subquery: &Subquery) -> Result<Arc<Answer>> {
    let alone = Run { outer: None, ..*run };
    run.context.answer(subquery.number, || {
        rows(&alone, &subquery.query, limit(&subquery.form)).map(Answer::new)
    })
}

/// The values of the rows of a query, at most `limit` of them.
fn rows<'s>(run: &Run<'_, 's>, query: &'s Query, limit: usize) -> Result<Vec<Value>> {
    let mut operator = build_root(&query.plan, run.shared)?;
    let mut batch = Batch::default();
    let mut values = Vec::new();
    while values.len() < limit && operator.next(run, &mut batch)? {
        run.context.check()?;
        for row in batch.rows() {
            values.push(row_value(query, &batch, row));
        }
    }
    values.truncate(limit);
    operator.rewind(run);
    Ok(values)
}

/// The value of a row: its one output if the query is bare, else the struct of its outputs.
pub fn row_value(query: &Query, batch: &Batch<'_>, row: usize) -> Value {
    let value = |column| {
        let cells = batch.position(column).and_then(|at| batch.column(at));
        cells.map_or(Value::Nil, |cells| cells.owned(row))
    };
    match query.outputs.as_slice() {
        [only] if query.bare => value(only.column.id),
        outputs => Value::structure(
            outputs
                .iter()
                .map(|output| (Arc::clone(&output.label), value(output.column.id))),
        ),
    }
}
