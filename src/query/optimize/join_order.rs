//! Join order and hash joins: ranges that do not depend on one another are joined smallest first, connected ones
//! before others, and by a hash table wherever two must be equal.

use std::collections::BTreeSet;

use super::cardinality::rows;
use super::conjunction::{all, ids, split, uses};
use super::rule::{Context, Rule};
use crate::query::plan::{ColumnId, Comparison, Expression, ExpressionKind, JoinKind, Plan};

pub(super) struct JoinOrder;

impl Rule for JoinOrder {
    fn apply(&self, plan: Plan, context: &mut Context<'_>) -> Plan {
        top_down(plan, context)
    }
}

/// A tree of inner joins is taken apart as one, so it must be met from its top.
fn top_down(mut plan: Plan, context: &Context<'_>) -> Plan {
    if matches!(
        plan,
        Plan::Join {
            kind: JoinKind::Inner,
            ..
        }
    ) {
        let mut parts = Parts::default();
        parts.take(plan, context);
        return parts.join();
    }
    for child in plan.children_mut() {
        let before = std::mem::replace(child, Plan::Unit);
        *child = top_down(before, context);
    }
    hashed(plan)
}

/// A join that is not inner keeps its sides, but finds equal rows by a hash table.
fn hashed(plan: Plan) -> Plan {
    let Plan::Join {
        left,
        right,
        kind,
        on: Some(on),
    } = plan
    else {
        return plan;
    };
    let (keys, rest) = equal_keys(split(on), &ids(&left), &ids(&right));
    if keys.is_empty() {
        return Plan::Join {
            left,
            right,
            kind,
            on: all(rest),
        };
    }
    Plan::HashJoin {
        left,
        right,
        kind,
        keys,
        on: all(rest),
    }
}

/// A range to be joined.
struct Relation {
    plan: Plan,
    columns: BTreeSet<ColumnId>,
    rows: f64,
}

/// The ranges of a tree of inner joins, and the conditions between them.
#[derive(Default)]
struct Parts {
    relations: Vec<Relation>,
    conditions: Vec<Expression>,
}

impl Parts {
    fn take(&mut self, plan: Plan, context: &Context<'_>) {
        match plan {
            Plan::Join {
                left,
                right,
                kind: JoinKind::Inner,
                on,
            } => {
                self.take(*left, context);
                self.take(*right, context);
                self.conditions.extend(on.into_iter().flat_map(split));
            }
            other => {
                let plan = top_down(other, context);
                self.relations.push(Relation {
                    columns: ids(&plan),
                    rows: rows(&plan, context),
                    plan,
                });
            }
        }
    }

    fn join(mut self) -> Plan {
        let Some(mut joined) = self.remove_smallest(None) else {
            return Plan::Unit;
        };
        while let Some(next) = self.remove_smallest(Some(&joined)) {
            let columns: BTreeSet<ColumnId> = joined.columns.union(&next.columns).copied().collect();
            let (here, later) = self.ready(&columns);
            self.conditions = later;
            joined = pair(joined, next, columns, here);
        }
        joined.plan
    }

    /// The smallest relation that is connected to `joined`; the smallest of all where none is.
    fn remove_smallest(&mut self, joined: Option<&Relation>) -> Option<Relation> {
        let connected = |relation: &Relation| match joined {
            Some(joined) => self
                .conditions
                .iter()
                .any(|condition| connects(condition, joined, relation)),
            None => self
                .conditions
                .iter()
                .any(|condition| uses(condition, &relation.columns)),
        };
        let ranked = self.relations.iter().enumerate();
        let ranked = ranked.map(|(place, relation)| (!connected(relation), relation.rows, place));
        let smallest = ranked.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))?;
        Some(self.relations.remove(smallest.2))
    }

    /// The conditions that need no range but those joined, and the others.
    fn ready(&mut self, joined: &BTreeSet<ColumnId>) -> (Vec<Expression>, Vec<Expression>) {
        let open: BTreeSet<ColumnId> = self
            .relations
            .iter()
            .flat_map(|relation| relation.columns.iter().copied())
            .filter(|column| !joined.contains(column))
            .collect();
        std::mem::take(&mut self.conditions)
            .into_iter()
            .partition(|condition| !uses(condition, &open))
    }
}

/// Whether a condition says that something of both is equal.
fn connects(condition: &Expression, joined: &Relation, other: &Relation) -> bool {
    equal_sides(condition, &joined.columns, &other.columns).is_some()
}

/// Joins two relations; the smaller one is held.
fn pair(a: Relation, b: Relation, columns: BTreeSet<ColumnId>, conditions: Vec<Expression>) -> Relation {
    let (left, right) = if a.rows < b.rows { (b, a) } else { (a, b) };
    let (keys, rest) = equal_keys(conditions, &left.columns, &right.columns);
    let product = left.rows * right.rows;
    let rows = if keys.is_empty() {
        product
    } else {
        product / left.rows.max(1.0)
    };
    let (left, right, kind, on) = (
        Box::new(left.plan),
        Box::new(right.plan),
        JoinKind::Inner,
        all(rest),
    );
    let plan = if keys.is_empty() {
        Plan::Join {
            left,
            right,
            kind,
            on,
        }
    } else {
        Plan::HashJoin {
            left,
            right,
            kind,
            keys,
            on,
        }
    };
    Relation { plan, columns, rows }
}

/// The equalities between the two sides as pairs, and the other conditions.
pub(super) fn equal_keys(
    conditions: Vec<Expression>,
    left: &BTreeSet<ColumnId>,
    right: &BTreeSet<ColumnId>,
) -> (Vec<(Expression, Expression)>, Vec<Expression>) {
    let mut keys = Vec::new();
    let mut rest = Vec::new();
    for condition in conditions {
        match equal_sides(&condition, left, right) {
            Some(pair) => keys.push(pair),
            None => rest.push(condition),
        }
    }
    (keys, rest)
}

/// The sides of an equality between something of the left and something of the right, in that order.
fn equal_sides(
    condition: &Expression,
    left: &BTreeSet<ColumnId>,
    right: &BTreeSet<ColumnId>,
) -> Option<(Expression, Expression)> {
    let ExpressionKind::Compare {
        operator: Comparison::Equal,
        left: a,
        right: b,
    } = &condition.kind
    else {
        return None;
    };
    let only = |expression: &Expression, own: &BTreeSet<ColumnId>, other: &BTreeSet<ColumnId>| {
        uses(expression, own) && !uses(expression, other)
    };
    // A value of unknown type may be of a kind that compares with nothing; a collection may hold what does not.
    if !hashable(a) || !hashable(b) {
        return None;
    }
    if only(a, left, right) && only(b, right, left) {
        return Some(((**a).clone(), (**b).clone()));
    }
    (only(a, right, left) && only(b, left, right)).then(|| ((**b).clone(), (**a).clone()))
}

/// Whether equality of values of this type is what a hash table finds.
fn hashable(expression: &Expression) -> bool {
    use crate::object::Type;
    !matches!(
        expression.r#type,
        Type::Any | Type::List(_) | Type::Set(_) | Type::Bag(_) | Type::Map(..) | Type::Struct(_)
    )
}
