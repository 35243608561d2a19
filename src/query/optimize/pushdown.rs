//! Predicate pushdown: each condition goes to the lowest node whose rows have what it needs.

use super::conjunction::{all, filtered, ids, split, unfiltered, uses};
use super::rule::{Context, Rule, bottom_up};
use crate::query::plan::{Column, Expression, JoinKind, Plan};

pub(super) struct Pushdown;

impl Rule for Pushdown {
    fn apply(&self, plan: Plan, _context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::Filter { input, predicate } => split(predicate).into_iter().fold(*input, push),
            Plan::Join {
                left,
                right,
                kind,
                on: Some(on),
            } => push_on(*left, *right, kind, on),
            other => other,
        })
    }
}

/// The rows of `plan` for which `condition` holds, with the condition as low as it can be.
fn push(plan: Plan, condition: Expression) -> Plan {
    match plan {
        Plan::Filter { .. } => push_past_filter(plan, condition),
        Plan::Join {
            left,
            right,
            kind,
            on,
        } => push_join(*left, *right, kind, on, condition),
        Plan::Iterate { .. } | Plan::Fetch { .. } => push_below_column(plan, condition),
        Plan::Walk { .. } => push_walk(plan, condition),
        Plan::Sort { input, keys } => Plan::Sort {
            input: Box::new(push(*input, condition)),
            keys,
        },
        Plan::Distinct { input, columns } => Plan::Distinct {
            input: Box::new(push(*input, condition)),
            columns,
        },
        Plan::Group { .. } => push_below_group(plan, condition),
        other => filtered(other, vec![condition]),
    }
}

/// Past the conditions that are already there; what cannot go further stays after them.
fn push_past_filter(plan: Plan, condition: Expression) -> Plan {
    let (base, mut conditions) = unfiltered(plan);
    match push(base, condition) {
        Plan::Filter { input, predicate } => {
            conditions.extend(split(predicate));
            filtered(*input, conditions)
        }
        pushed => filtered(pushed, conditions),
    }
}

fn push_join(left: Plan, right: Plan, kind: JoinKind, on: Option<Expression>, condition: Expression) -> Plan {
    let (left_ids, right_ids) = (ids(&left), ids(&right));
    let (of_left, of_right) = (uses(&condition, &left_ids), uses(&condition, &right_ids));
    let join = |left, right, on| Plan::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind,
        on,
    };
    match kind {
        _ if !of_right => join(push(left, condition), right, on),
        JoinKind::Inner if !of_left => join(left, push(right, condition), on),
        JoinKind::Inner => {
            let mut conditions: Vec<Expression> = on.into_iter().flat_map(split).collect();
            conditions.push(condition);
            join(left, right, all(conditions))
        }
        _ => filtered(join(left, right, on), vec![condition]),
    }
}

/// Past a node that adds a column, unless the condition is about that column.
fn push_below_column(mut plan: Plan, condition: Expression) -> Plan {
    let (Plan::Iterate { input, column, .. } | Plan::Fetch { input, column, .. }) = &mut plan else {
        return filtered(plan, vec![condition]);
    };
    let id = column.id;
    if condition.uses(&|used| used == id) {
        return filtered(plan, vec![condition]);
    }
    let below = std::mem::replace(&mut **input, Plan::Unit);
    **input = push(below, condition);
    plan
}

/// Past a walk, or into it: what needs no path is asked before the path is made.
fn push_walk(mut plan: Plan, condition: Expression) -> Plan {
    let Plan::Walk {
        input,
        column,
        depth,
        path,
        outer,
        on,
        ..
    } = &mut plan
    else {
        return filtered(plan, vec![condition]);
    };
    let is = |wanted: &Option<Column>, used| wanted.as_ref().is_some_and(|column| column.id == used);
    let (new, distance, way) = (column.id, depth.clone(), path.clone());
    let about_it = condition.uses(&|used| used == new || is(&distance, used) || is(&way, used));
    if !about_it {
        let below = std::mem::replace(&mut **input, Plan::Unit);
        **input = push(below, condition);
        return plan;
    }
    if *outer || condition.uses(&|used| is(&way, used)) {
        return filtered(plan, vec![condition]);
    }
    let mut conditions: Vec<Expression> = on.take().into_iter().flat_map(split).collect();
    conditions.push(condition);
    *on = all(conditions);
    plan
}

/// A condition on keys alone selects rows as well as groups. Without keys there is a group even over no rows.
fn push_below_group(mut plan: Plan, mut condition: Expression) -> Plan {
    let Plan::Group {
        input,
        keys,
        aggregates,
        partition,
    } = &mut plan
    else {
        return filtered(plan, vec![condition]);
    };
    let others = aggregates.iter().map(|aggregate| &aggregate.column);
    let others: Vec<Column> = others
        .chain(partition.iter().map(|partition| &partition.column))
        .cloned()
        .collect();
    let about_groups = condition.uses(&|used| others.iter().any(|column| column.id == used));
    let about_keys = condition.uses(&|used| keys.iter().any(|(column, _)| column.id == used));
    if about_groups || !about_keys {
        return filtered(plan, vec![condition]);
    }
    condition.rewrite(&mut |part| {
        let Some(id) = part.as_column().map(|column| column.id) else {
            return false;
        };
        if let Some((_, key)) = keys.iter().find(|(column, _)| column.id == id) {
            part.kind = key.kind.clone();
        }
        true
    });
    let below = std::mem::replace(&mut **input, Plan::Unit);
    **input = push(below, condition);
    plan
}

/// The condition of a join: of an inner join it is as any other; of an outer, semi or anti join what is about the
/// right side alone goes there.
fn push_on(left: Plan, right: Plan, kind: JoinKind, on: Expression) -> Plan {
    let (mut left, mut right) = (left, right);
    let (left_ids, right_ids) = (ids(&left), ids(&right));
    let mut both = Vec::new();
    for condition in split(on) {
        let (of_left, of_right) = (uses(&condition, &left_ids), uses(&condition, &right_ids));
        match kind {
            _ if of_right && !of_left => right = push(right, condition),
            JoinKind::Inner | JoinKind::Semi if !of_right => left = push(left, condition),
            _ => both.push(condition),
        }
    }
    Plan::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind,
        on: all(both),
    }
}
