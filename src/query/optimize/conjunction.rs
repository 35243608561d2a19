//! Predicates as lists of conditions that must all hold.

use std::collections::BTreeSet;

use crate::object::Type;
use crate::query::plan::{ColumnId, Expression, ExpressionKind, Plan};

/// The conditions whose conjunction this predicate is, in order.
pub(super) fn split(predicate: Expression) -> Vec<Expression> {
    match predicate.kind {
        ExpressionKind::And(operands) => operands.into_iter().flat_map(split).collect(),
        _ => vec![predicate],
    }
}

/// The conjunction of conditions; `None` of none.
pub(super) fn all(mut conditions: Vec<Expression>) -> Option<Expression> {
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => {
            let first = conditions
                .first()
                .map(|condition| condition.span)
                .unwrap_or_default();
            let span = conditions
                .iter()
                .fold(first, |span, condition| span.to(condition.span));
            Some(Expression::new(ExpressionKind::And(conditions), Type::Bool, span))
        }
    }
}

/// The rows of a plan for which further conditions hold too.
pub(super) fn filtered(plan: Plan, conditions: Vec<Expression>) -> Plan {
    if conditions.is_empty() {
        return plan;
    }
    let (input, mut before) = unfiltered(plan);
    before.extend(conditions);
    match all(before) {
        Some(predicate) => Plan::Filter {
            input: Box::new(input),
            predicate,
        },
        None => input,
    }
}

/// A plan without the filters on top, and their conditions, lowest first.
pub(super) fn unfiltered(plan: Plan) -> (Plan, Vec<Expression>) {
    match plan {
        Plan::Filter { input, predicate } => {
            let (input, mut conditions) = unfiltered(*input);
            conditions.extend(split(predicate));
            (input, conditions)
        }
        other => (other, Vec::new()),
    }
}

/// The numbers of the columns of a plan's rows.
pub(super) fn ids(plan: &Plan) -> BTreeSet<ColumnId> {
    plan.columns().iter().map(|column| column.id).collect()
}

/// Whether an expression uses one of these columns.
pub(super) fn uses(expression: &Expression, columns: &BTreeSet<ColumnId>) -> bool {
    expression.uses(&|column| columns.contains(&column))
}
