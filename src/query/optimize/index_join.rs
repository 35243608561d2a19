//! A join of few rows with a large extent looks each up, by identity or in an index, instead of reading the extent.

use super::access::{Target, choose, filtered_extent, without};
use super::cardinality::rows;
use super::conjunction::{all, filtered, split};
use super::cost::{FOUND, LOOKED_UP, PROBED, SCANNED};
use super::rule::{Context, Rule, bottom_up};
use crate::object::Type;
use crate::query::plan::{Comparison, Expression, ExpressionKind, JoinKind, Plan};

pub(super) struct IndexJoin;

impl Rule for IndexJoin {
    fn apply(&self, plan: Plan, context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::HashJoin {
                left,
                right,
                kind,
                keys,
                on,
            } => {
                let join = Join {
                    left: *left,
                    right: *right,
                    kind,
                    keys,
                    on,
                };
                join.looked_up(context)
            }
            other => other,
        })
    }
}

struct Join {
    left: Plan,
    right: Plan,
    kind: JoinKind,
    keys: Vec<(Expression, Expression)>,
    on: Option<Expression>,
}

impl Join {
    fn looked_up(self, context: &Context<'_>) -> Plan {
        if let Some(plan) = self.right_looked_up(context) {
            return plan;
        }
        if self.kind == JoinKind::Inner {
            let turned = self.turned();
            if let Some(plan) = turned.right_looked_up(context) {
                return plan;
            }
            return turned.turned().hashed();
        }
        self.hashed()
    }

    /// The same inner join with its sides exchanged.
    fn turned(self) -> Join {
        let keys = self.keys.into_iter().map(|(left, right)| (right, left)).collect();
        Join {
            left: self.right,
            right: self.left,
            keys,
            ..self
        }
    }

    fn hashed(self) -> Plan {
        Plan::HashJoin {
            left: Box::new(self.left),
            right: Box::new(self.right),
            kind: self.kind,
            keys: self.keys,
            on: self.on,
        }
    }

    /// The join with its right side looked up for each left row, if that is cheaper than reading it.
    fn right_looked_up(&self, context: &Context<'_>) -> Option<Plan> {
        let (target, own) = filtered_extent(&self.right)?;
        let left_rows = rows(&self.left, context).max(1.0);
        let extent: f64 = target
            .classes
            .iter()
            .map(|class| context.estimates.extent(*class) as f64)
            .sum();
        let own_choice = choose(&target, &own, context).map(|choice| LOOKED_UP + choice.rows * FOUND);
        let hashed = own_choice.unwrap_or(f64::MAX).min(extent * SCANNED) + left_rows * PROBED;
        let (right, rest, cost) = self
            .by_identity(&target, &own)
            .or_else(|| self.by_index(&target, &own, context))?;
        if left_rows * cost >= hashed {
            return None;
        }
        let mut on = rest;
        on.extend(self.on.clone().into_iter().flat_map(split));
        Some(Plan::Apply {
            left: Box::new(self.left.clone()),
            right: Box::new(right),
            kind: self.kind,
            on: all(on),
        })
    }

    /// The right object is itself one side of a key.
    fn by_identity(&self, target: &Target, own: &[Expression]) -> Option<(Plan, Vec<Expression>, f64)> {
        let identity = |(_, right): &(Expression, Expression)| right.as_column() == Some(&target.column);
        let place = self.keys.iter().position(identity)?;
        let (reference, _) = self.keys.get(place)?;
        let objects = Plan::Objects {
            column: target.column.clone(),
            class: target.class.clone(),
            classes: target.classes.clone(),
            references: vec![reference.clone()],
        };
        let keys: Vec<Expression> = self.keys.iter().map(equal).collect();
        Some((filtered(objects, own.to_vec()), without(keys, &[place]), FOUND))
    }

    /// An index has a key among its components.
    fn by_index(
        &self,
        target: &Target,
        own: &[Expression],
        context: &Context<'_>,
    ) -> Option<(Plan, Vec<Expression>, f64)> {
        let mut conditions: Vec<Expression> = self.keys.iter().map(equal).collect();
        let keys = conditions.len();
        conditions.extend(own.iter().cloned());
        let choice = choose(target, &conditions, context)?;
        if !choice.served.iter().any(|place| *place < keys) {
            return None;
        }
        // A semi or anti join stops at the first partner.
        let partners = match self.kind {
            JoinKind::Inner | JoinKind::Left => choice.rows,
            JoinKind::Semi | JoinKind::Anti => choice.rows.min(2.0),
        };
        let cost = LOOKED_UP + partners * FOUND;
        let own = own
            .iter()
            .enumerate()
            .filter(|(place, _)| !choice.done.contains(&keys.saturating_add(*place)));
        let own = own.map(|(_, condition)| condition.clone()).collect();
        conditions.truncate(keys);
        Some((
            filtered(choice.plan, own),
            without(conditions, &choice.done),
            cost,
        ))
    }
}

/// A pair of keys as a condition.
fn equal((left, right): &(Expression, Expression)) -> Expression {
    let kind = ExpressionKind::Compare {
        operator: Comparison::Equal,
        left: Box::new(left.clone()),
        right: Box::new(right.clone()),
    };
    Expression::new(kind, Type::Bool, left.span.to(right.span))
}
