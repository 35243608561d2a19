//! The tree-walking evaluator: what every expression means.
//!
//! It is the reference that the compiled closures of `exec` are tested against, and what they fall back to for
//! everything that is not hot. It works on owned values, one row at a time.

use super::cast::cast;
use crate::error::{Error, QueryErrorCode, Result, Span};
use crate::object::Value;
use crate::query::exec::{Place, Run, Scope};
use crate::query::function::arithmetic::{self, failure};
use crate::query::function::collections::{index_of, slice_of};
use crate::query::function::{self, compare};
use crate::query::plan::{Column, Expression, ExpressionKind};

/// An evaluator: a run of operators and the columns in reach.
#[derive(Clone, Copy)]
pub struct Evaluator<'r, 'a> {
    /// What is read.
    pub run: Run<'r, 'a>,
    /// Where columns are found.
    pub scope: Option<&'r Scope<'r, 'a>>,
}

/// Gives an error of an expression the place it came from, unless it has one.
pub fn at(error: Error, span: Span) -> Error {
    match error {
        Error::Query(mut query) if query.span == Span::default() => {
            query.span = span;
            Error::Query(query)
        }
        other => other,
    }
}

impl<'r, 'a> Evaluator<'r, 'a> {
    /// The value of an expression.
    pub fn evaluate(&self, expression: &Expression) -> Result<Value> {
        self.value(expression).map_err(|error| at(error, expression.span))
    }

    /// The truth value of a predicate.
    pub fn truth(&self, expression: &Expression) -> Result<Option<bool>> {
        match self.evaluate(expression)? {
            Value::Nil => Ok(None),
            Value::Bool(truth) => Ok(Some(truth)),
            other => Err(at(
                failure(
                    QueryErrorCode::Type,
                    format!("a condition is true or false, not {}", other.type_name()),
                ),
                expression.span,
            )),
        }
    }

    /// Evaluates `body` with `variable` standing for `value`.
    pub(super) fn bind<T>(
        &self,
        variable: &Column,
        value: &Value,
        body: impl FnOnce(&Evaluator<'_, 'a>) -> Result<T>,
    ) -> Result<T> {
        let scope = Scope {
            here: Place::Variable(variable.id, value),
            parent: self.scope,
        };
        body(&Evaluator {
            run: self.run,
            scope: Some(&scope),
        })
    }

    fn value(&self, expression: &Expression) -> Result<Value> {
        use ExpressionKind as K;
        match &expression.kind {
            K::Constant(value) => Ok(value.clone()),
            K::Parameter { index, name } => self.parameter(*index, name),
            K::Column(column) => self.column(column),
            K::Attribute { base, slots, .. } => self.attribute(base, slots),
            K::DynamicAttribute { base, name } => self.dynamic_attribute(base, name),
            K::Field { base, index, name } => self.field(base, *index, name),
            K::Index { base, index } => index_of(&self.evaluate(base)?, &self.evaluate(index)?),
            K::Slice { base, from, to } => self.slice(base, from.as_deref(), to.as_deref()),
            K::Negate(operand) => arithmetic::negate(&self.evaluate(operand)?),
            K::Arithmetic {
                operator,
                left,
                right,
            } => arithmetic::binary(*operator, &self.evaluate(left)?, &self.evaluate(right)?),
            K::Concatenate(left, right) => {
                arithmetic::concatenate(&self.evaluate(left)?, &self.evaluate(right)?)
            }
            K::Case { branches, otherwise } => self.case(branches, otherwise.as_deref()),
            K::CaseOf {
                operand,
                branches,
                otherwise,
            } => self.case_of(operand, branches, otherwise.as_deref()),
            K::Cast(operand) => cast(&self.run, self.evaluate(operand)?, &expression.r#type),
            K::Narrow { value, classes, .. } => self.narrow(value, classes),
            K::Coalesce(operands) => self.coalesce(operands),
            K::Require(operand) => self.require(operand),
            K::Call {
                function, arguments, ..
            } => self.call(*function, arguments),
            K::Reverse { .. } => self.reverse(&expression.kind),
            K::Closure { .. } => self.closure(&expression.kind),
            K::Let {
                variable,
                value,
                body,
            } => {
                let value = self.evaluate(value)?;
                self.bind(variable, &value, |inner| inner.evaluate(body))
            }
            K::Subquery(subquery) => self.subquery(subquery, &expression.r#type),
            K::Struct(fields) => self.structure(fields),
            K::MapOf(entries) => self.map_of(entries),
            K::Collection(_)
            | K::Select { .. }
            | K::Map { .. }
            | K::Aggregate { .. }
            | K::SetOperation { .. }
            | K::Include { .. }
            | K::Exclude { .. } => self.collection(expression),
            _ => self.predicate(&expression.kind).map(compare::truth),
        }
    }

    fn parameter(&self, index: usize, name: &str) -> Result<Value> {
        let given = self.run.shared.parameters.get(index);
        given.cloned().ok_or_else(|| {
            failure(
                QueryErrorCode::Parameter,
                format!("the parameter ${name} was not given a value"),
            )
        })
    }

    fn column(&self, column: &Column) -> Result<Value> {
        let found = self.scope.and_then(|scope| scope.value(column.id));
        found.map_or_else(
            || {
                Err(failure(
                    QueryErrorCode::UnknownName,
                    format!("the column {} is out of reach in this plan", column.name),
                ))
            },
            |value| value.to_value(),
        )
    }

    fn slice(&self, base: &Expression, from: Option<&Expression>, to: Option<&Expression>) -> Result<Value> {
        let base = self.evaluate(base)?;
        let mut bounds = [None, None];
        for (bound, expression) in bounds.iter_mut().zip([from, to]) {
            let Some(expression) = expression else { continue };
            match self.evaluate(expression)? {
                Value::Nil => return Ok(Value::Nil),
                Value::Int(position) => *bound = Some(position),
                other => {
                    return Err(failure(
                        QueryErrorCode::Type,
                        format!("a position is an int, not {}", other.type_name()),
                    ));
                }
            }
        }
        let [from, to] = bounds;
        slice_of(&base, from, to)
    }

    fn case(&self, branches: &[(Expression, Expression)], otherwise: Option<&Expression>) -> Result<Value> {
        for (condition, value) in branches {
            if self.truth(condition)? == Some(true) {
                return self.evaluate(value);
            }
        }
        otherwise.map_or(Ok(Value::Nil), |value| self.evaluate(value))
    }

    fn case_of(
        &self,
        operand: &Expression,
        branches: &[(Expression, Expression)],
        otherwise: Option<&Expression>,
    ) -> Result<Value> {
        let operand = self.evaluate(operand)?;
        for (candidate, value) in branches {
            let candidate = self.evaluate(candidate)?;
            if compare::compare(crate::query::plan::Comparison::Equal, &operand, &candidate) == Some(true) {
                return self.evaluate(value);
            }
        }
        otherwise.map_or(Ok(Value::Nil), |value| self.evaluate(value))
    }

    fn coalesce(&self, operands: &[Expression]) -> Result<Value> {
        for operand in operands {
            let value = self.evaluate(operand)?;
            if !value.is_nil() {
                return Ok(value);
            }
        }
        Ok(Value::Nil)
    }

    fn require(&self, operand: &Expression) -> Result<Value> {
        match self.evaluate(operand)? {
            Value::Nil => Err(failure(
                QueryErrorCode::Cardinality,
                "a value is required here, but it is nil",
            )),
            value => Ok(value),
        }
    }

    fn call(&self, function: crate::query::plan::FunctionId, arguments: &[Expression]) -> Result<Value> {
        let function = function::definition(function)?;
        let arguments: Vec<Value> = arguments
            .iter()
            .map(|argument| self.evaluate(argument))
            .collect::<Result<_>>()?;
        let check = || self.run.context.check();
        function.call(&self.run.call(&check), &arguments)
    }
}
