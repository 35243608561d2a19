//! Answers from indexes alone: `count`, `min` and `max` over what an index serves.

use super::access::filtered_extent;
use super::count_extent::{counts_rows, source_below};
use super::index_order::{scan_in_order, sorted_indexes, whole_index};
use super::rule::{Context, Rule, bottom_up};
use crate::object::{Type, Value};
use crate::query::plan::{Aggregate, AggregateFunction, Expression, JoinKind, NullsOrder, Plan, SortKey};

pub(super) struct IndexOnly;

impl Rule for IndexOnly {
    fn apply(&self, plan: Plan, context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match &plan {
            Plan::Group {
                input,
                keys,
                aggregates,
                partition: None,
            } if keys.is_empty() => answered(input, aggregates, context).unwrap_or(plan),
            _ => plan,
        })
    }
}

/// One row with all aggregates, if each can be answered from an index: several are joined.
fn answered(input: &Plan, aggregates: &[Aggregate], context: &Context<'_>) -> Option<Plan> {
    let mut answers = aggregates
        .iter()
        .map(|aggregate| answer(input, aggregate, context));
    let first = answers.next()??;
    answers.try_fold(first, |left, right| {
        Some(Plan::Join {
            left: Box::new(left),
            right: Box::new(right?),
            kind: JoinKind::Inner,
            on: None,
        })
    })
}

fn answer(input: &Plan, aggregate: &Aggregate, context: &Context<'_>) -> Option<Plan> {
    let (source, passed) = source_below(input);
    match aggregate.function {
        AggregateFunction::Min | AggregateFunction::Max => extreme(input, aggregate, context),
        _ => {
            let (Plan::IndexScan { column, .. }
            | Plan::IndexPath { column, .. }
            | Plan::IndexSet { column, .. }) = source
            else {
                return None;
            };
            counts_rows(column, &passed, aggregate).then(|| Plan::IndexCount {
                column: aggregate.column.clone(),
                of: Box::new(source.clone()),
            })
        }
    }
}

/// The aggregate over the one object that has the smallest or largest value of an attribute.
fn extreme(input: &Plan, aggregate: &Aggregate, context: &Context<'_>) -> Option<Plan> {
    let argument = aggregate.argument.as_ref()?;
    // Equal numbers of other types may differ: which of them is found first depends on the plan.
    if !has_one_form(&argument.r#type) {
        return None;
    }
    let descending = aggregate.function == AggregateFunction::Max;
    let keys = [SortKey {
        expression: argument.clone(),
        descending,
        nulls: if descending {
            NullsOrder::Last
        } else {
            NullsOrder::First
        },
    }];
    let mut scan = match input {
        Plan::IndexScan { .. } => scan_in_order(input, &keys, context)?,
        _ => {
            let (target, conditions) = filtered_extent(input)?;
            if !conditions.is_empty() {
                return None;
            }
            sorted_indexes(context)
                .into_iter()
                .find_map(|index| whole_index(index, &keys, &target, context))?
        }
    };
    if let Plan::IndexScan { access, estimate, .. } = &mut scan {
        access.not_nil = access.among.is_none() && access.lower.is_none() && access.upper.is_none();
        *estimate = Some(1);
    }
    Some(Plan::Group {
        input: Box::new(Plan::Limit {
            input: Box::new(scan),
            limit: Some(Expression::constant(Value::Int(1), Type::Int)),
            offset: None,
        }),
        keys: Vec::new(),
        aggregates: vec![aggregate.clone()],
        partition: None,
    })
}

/// Whether values of a type that are equal are the same.
fn has_one_form(r#type: &Type) -> bool {
    matches!(
        r#type,
        Type::Bool
            | Type::Int
            | Type::String
            | Type::Bytes
            | Type::Date
            | Type::Time
            | Type::Timestamp
            | Type::Duration
            | Type::Uuid
            | Type::Reference(_)
    )
}
