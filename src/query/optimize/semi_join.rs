//! `exists`, also as a quantifier over an extent or query, and correlated `in` as semi-joins, `not exists` as an
//! anti-join, where rows are found by equality: the subquery is then read once, not for each row.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::conjunction::{all, filtered, ids, split, unfiltered, uses};
use super::join_order::equal_keys;
use super::rule::{Context, Rule, bottom_up};
use crate::object::Type;
use crate::query::plan::{
    ColumnId, Comparison, Expression, ExpressionKind, JoinKind, Plan, Subquery, SubqueryForm,
};

pub(super) struct SemiJoin;

impl Rule for SemiJoin {
    fn apply(&self, plan: Plan, _context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::Filter { input, predicate } => {
                let mut rows = *input;
                let mut rest = Vec::new();
                for condition in split(predicate) {
                    match semi_join(&rows, &condition) {
                        Some((right, kind, on)) => {
                            rows = Plan::Join {
                                left: Box::new(rows),
                                right: Box::new(right),
                                kind,
                                on: Some(on),
                            };
                        }
                        None => rest.push(condition),
                    }
                }
                filtered(rows, rest)
            }
            other => other,
        })
    }
}

/// The right side, kind and condition of the join that a condition is.
fn semi_join(left: &Plan, condition: &Expression) -> Option<(Plan, JoinKind, Expression)> {
    let ((right, correlated), kind) = match quantified(condition) {
        Some(parts) => (parts, JoinKind::Semi),
        None => correlated_subquery(condition)?,
    };
    let (left_ids, right_ids) = (ids(left), ids(&right));
    let equal = equal_keys(correlated.clone(), &left_ids, &right_ids).0;
    let inside = |condition: &Expression| only_uses(condition, &left_ids, &right_ids);
    if equal.is_empty() || !correlated.iter().all(inside) || !right.free_columns().is_empty() {
        return None;
    }
    Some((right, kind, all(correlated)?))
}

/// Rows, and the conditions that tie them to the rows around them.
type Tied = (Plan, Vec<Expression>);

/// `exists x in rows: p`, where the rows depend on nothing around: a row is kept if p is true for one of them. (That p is
/// true for all, or for none, is no join: what is unknown for one of them counts.)
fn quantified(condition: &Expression) -> Option<Tied> {
    let ExpressionKind::Quantifier {
        all: false,
        variable,
        collection,
        predicate,
    } = &condition.kind
    else {
        return None;
    };
    let ExpressionKind::Subquery(subquery) = &collection.kind else {
        return None;
    };
    let query = &subquery.query;
    let [output] = query.outputs.as_slice() else {
        return None;
    };
    if subquery.form != SubqueryForm::Collection || !query.bare || !subquery.outer.is_empty() {
        return None;
    }
    let mut predicate = Expression::clone(predicate);
    predicate.rewrite(&mut |part| {
        let is_variable = part.as_column().is_some_and(|column| column.id == variable.id);
        if is_variable {
            part.kind = ExpressionKind::Column(output.column.clone());
        }
        is_variable
    });
    Some((query.plan.clone(), split(predicate)))
}

/// `exists (query)`, `not exists (query)` and `value in (query)`, where the query depends on the rows around it: without
/// that it is evaluated once anyway.
fn correlated_subquery(condition: &Expression) -> Option<(Tied, JoinKind)> {
    let (subquery, kind) = match &condition.kind {
        ExpressionKind::Subquery(subquery) => (subquery, JoinKind::Semi),
        ExpressionKind::Not(operand) => match &operand.kind {
            ExpressionKind::Subquery(subquery) if subquery.form == SubqueryForm::Exists => {
                (subquery, JoinKind::Anti)
            }
            _ => return None,
        },
        _ => return None,
    };
    match subquery.outer.is_empty() {
        true => None,
        false => Some((taken_apart(subquery)?, kind)),
    }
}

/// The rows of a subquery without what depends on the rows around it, and the conditions that do.
fn taken_apart(subquery: &Subquery) -> Option<Tied> {
    let query = Arc::unwrap_or_clone(subquery.query.clone());
    let outputs = query.outputs;
    let mut rows = query.plan;
    let mut projected = Vec::new();
    loop {
        rows = match rows {
            Plan::Project { input, columns } if projected.is_empty() => {
                projected = columns;
                *input
            }
            Plan::Sort { input, .. } => *input,
            other => {
                rows = other;
                break;
            }
        };
    }
    let (rows, conditions) = unfiltered(rows);
    let outer: BTreeSet<ColumnId> = subquery.outer.iter().map(|column| column.id).collect();
    let (mut correlated, own): (Vec<_>, Vec<_>) = conditions
        .into_iter()
        .partition(|condition| uses(condition, &outer));
    match &subquery.form {
        SubqueryForm::Exists => {}
        SubqueryForm::In(value) if query.bare => {
            let output = outputs.first()?;
            let (_, member) = projected
                .into_iter()
                .find(|(column, _)| *column == output.column)?;
            let span = value.span;
            let kind = ExpressionKind::Compare {
                operator: Comparison::Equal,
                left: Box::new(value.clone()),
                right: Box::new(member),
            };
            correlated.push(Expression::new(kind, Type::Bool, span));
        }
        _ => return None,
    }
    Some((filtered(rows, own), correlated))
}

/// Whether a condition needs nothing from further out than the left rows.
fn only_uses(condition: &Expression, left: &BTreeSet<ColumnId>, right: &BTreeSet<ColumnId>) -> bool {
    condition
        .free_columns()
        .iter()
        .all(|column| left.contains(&column.id) || right.contains(&column.id))
}
