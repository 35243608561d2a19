//! About how many rows a plan yields. Only for comparing plans; guesses where nothing is known.

use super::access::{choose, filtered_extent, without};
use super::conjunction::split;
use super::rule::Context;
use crate::object::{ClassId, Value};
use crate::query::plan::{Comparison, Expression, ExpressionKind, JoinKind, Plan};

/// The share of pairs with equal keys where nothing is known of the keys: one in as many as the larger side has rows.
fn equal_pairs(left: f64, right: f64, keys: usize) -> f64 {
    let pairs = left * right;
    match keys {
        0 => pairs,
        _ => (pairs / left.max(right).max(1.0)).max(1.0),
    }
}

/// About how many rows a plan yields.
pub(super) fn rows(plan: &Plan, context: &Context<'_>) -> f64 {
    match plan {
        Plan::Unit | Plan::CountExtent { .. } | Plan::IndexCount { .. } => 1.0,
        Plan::Values { rows, .. } => rows.len() as f64,
        Plan::Extent { classes, .. } => extent_size(classes, context),
        Plan::IndexScan { estimate, .. }
        | Plan::IndexPath { estimate, .. }
        | Plan::IndexSet { estimate, .. } => estimate.map_or(100.0, |estimate| estimate as f64),
        Plan::Objects { references, .. } => references.len() as f64,
        Plan::Iterate { input, .. } => 4.0 * rows(input, context),
        Plan::Walk { input, .. } => 100.0 * rows(input, context),
        Plan::Filter { input, predicate } => filtered(plan, input, predicate, context),
        Plan::Join {
            left, right, kind, ..
        }
        | Plan::Apply {
            left, right, kind, ..
        } => joined(*kind, rows(left, context), rows(right, context), 0),
        Plan::HashJoin {
            left,
            right,
            kind,
            keys,
            ..
        } => joined(*kind, rows(left, context), rows(right, context), keys.len()),
        Plan::Group { input, keys, .. } if !keys.is_empty() => rows(input, context).sqrt(),
        Plan::Group { .. } => 1.0,
        Plan::TopK { input, limit, .. }
        | Plan::Limit {
            input,
            limit: Some(limit),
            ..
        } => {
            let all = rows(input, context);
            match limit.as_constant().and_then(Value::as_int) {
                Some(limit) => all.min(limit as f64),
                None => all,
            }
        }
        Plan::Fetch { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Distinct { input, .. }
        | Plan::Project { input, .. } => rows(input, context),
        Plan::SetOperation { left, right, .. } => rows(&left.0, context) + rows(&right.0, context),
    }
}

/// About how many objects there are of these classes.
pub(super) fn extent_size(classes: &[ClassId], context: &Context<'_>) -> f64 {
    classes
        .iter()
        .map(|class| context.estimates.extent(*class) as f64)
        .sum()
}

/// The rows of a filter: those of the best index for its conditions, where there is one.
fn filtered(plan: &Plan, input: &Plan, predicate: &Expression, context: &Context<'_>) -> f64 {
    let found = filtered_extent(plan).and_then(|(target, conditions)| {
        let choice = choose(&target, &conditions, context)?;
        Some((choice.rows, without(conditions, &choice.done)))
    });
    let (rows, rest) = match found {
        Some(found) => found,
        None => (rows(input, context), split(predicate.clone())),
    };
    rest.iter()
        .fold(rows, |rows, condition| rows * selectivity(condition))
}

fn joined(kind: JoinKind, left: f64, right: f64, keys: usize) -> f64 {
    match kind {
        JoinKind::Inner => equal_pairs(left, right, keys),
        JoinKind::Left => equal_pairs(left, right, keys).max(left),
        JoinKind::Semi | JoinKind::Anti => left / 2.0,
    }
}

/// The share of rows for which a condition holds, where nothing is known.
pub(super) fn selectivity(condition: &Expression) -> f64 {
    match &condition.kind {
        ExpressionKind::Compare {
            operator: Comparison::Equal,
            ..
        } => 0.05,
        ExpressionKind::Compare {
            operator: Comparison::NotEqual,
            ..
        } => 0.9,
        ExpressionKind::Compare { .. } => 0.3,
        ExpressionKind::Between { .. } => 0.1,
        ExpressionKind::InSet { members, .. } => (0.05 * members.len() as f64).min(0.5),
        ExpressionKind::IsNil(_) => 0.1,
        ExpressionKind::Like { .. } => 0.1,
        ExpressionKind::Not(operand) => 1.0 - selectivity(operand),
        _ => 0.5,
    }
}
