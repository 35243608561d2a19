//! Constant folding: what depends on nothing is computed once, and conditions that are always true go.
//!
//! What would be an error (a division by zero, an overflow) is left as it is: it may never be evaluated.

use super::conjunction::{all, split};
use super::rule::{Context, Rule, bottom_up};
use crate::object::{Type, Value};
use crate::query::function::{arithmetic, compare};
use crate::query::plan::{Expression, ExpressionKind, Plan};

pub(super) struct Fold;

impl Rule for Fold {
    fn apply(&self, plan: Plan, _context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |mut plan| {
            for expression in plan.expressions_mut() {
                fold(expression);
            }
            match plan {
                Plan::Filter { input, predicate } => {
                    let conditions = split(predicate)
                        .into_iter()
                        .filter(|condition| !is(condition, true));
                    match all(conditions.collect()) {
                        Some(predicate) => Plan::Filter { input, predicate },
                        None => *input,
                    }
                }
                other => other,
            }
        })
    }
}

/// Whether an expression is this truth value.
fn is(expression: &Expression, truth: bool) -> bool {
    expression.as_constant().and_then(Value::as_bool) == Some(truth)
}

/// Folds an expression, the operands first; subqueries' plans are left alone.
fn fold(expression: &mut Expression) {
    for child in expression.children_mut() {
        fold(child);
    }
    if let Some(value) = value_of(&expression.kind, &expression.r#type) {
        expression.kind = ExpressionKind::Constant(value);
        return;
    }
    match &mut expression.kind {
        ExpressionKind::And(operands) => {
            operands.retain(|operand| !is(operand, true));
            simplify(expression, true);
        }
        ExpressionKind::Or(operands) => {
            operands.retain(|operand| !is(operand, false));
            simplify(expression, false);
        }
        _ => {}
    }
}

/// `and` and `or` of one operand, of none (then it is `neutral`), or with an operand that decides at once.
fn simplify(expression: &mut Expression, neutral: bool) {
    let (ExpressionKind::And(operands) | ExpressionKind::Or(operands)) = &mut expression.kind else {
        return;
    };
    // Only the first operand decides without the others: an error in one before it must stay an error.
    if operands.is_empty() || operands.first().is_some_and(|operand| is(operand, !neutral)) {
        let decided = if operands.is_empty() { neutral } else { !neutral };
        expression.kind = ExpressionKind::Constant(Value::Bool(decided));
    } else if operands.len() == 1
        && operands
            .first()
            .is_some_and(|operand| operand.r#type == Type::Bool)
        && let Some(only) = operands.pop()
    {
        *expression = only;
    }
}

/// The value of what has constant operands.
fn value_of(kind: &ExpressionKind, r#type: &Type) -> Option<Value> {
    match kind {
        ExpressionKind::Negate(operand) => arithmetic::negate(operand.as_constant()?).ok(),
        ExpressionKind::Arithmetic {
            operator,
            left,
            right,
        } => arithmetic::binary(*operator, left.as_constant()?, right.as_constant()?).ok(),
        ExpressionKind::Compare {
            operator,
            left,
            right,
        } => {
            let truth = compare::compare(*operator, left.as_constant()?, right.as_constant()?);
            Some(truth.map_or(Value::Nil, Value::Bool))
        }
        ExpressionKind::Not(operand) => match operand.as_constant()? {
            Value::Nil => Some(Value::Nil),
            Value::Bool(truth) => Some(Value::Bool(!truth)),
            _ => None,
        },
        ExpressionKind::IsNil(operand) => Some(Value::Bool(operand.as_constant()?.is_nil())),
        ExpressionKind::Cast(operand) => widened(operand.as_constant()?, r#type),
        _ => None,
    }
}

/// An int constant as a wider number, where that is exact.
fn widened(value: &Value, to: &Type) -> Option<Value> {
    const EXACT: i64 = 1 << f64::MANTISSA_DIGITS;
    match (value, to) {
        (Value::Nil, _) => Some(Value::Nil),
        (Value::Int(int), Type::Int) => Some(Value::Int(*int)),
        (Value::Int(int), Type::Float) if (-EXACT..=EXACT).contains(int) => Some(Value::Float(*int as f64)),
        (Value::Int(int), Type::Decimal) => Some(Value::Decimal((*int).into())),
        _ => None,
    }
}
