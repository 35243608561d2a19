//! A range whose object is known by identity is read by it, not searched for.

use super::conjunction::{filtered, unfiltered};
use super::rule::{Context, Rule, bottom_up};
use crate::object::{Type, Value};
use crate::query::plan::{ColumnId, Comparison, Expression, ExpressionKind, Plan};

pub(super) struct Identity;

impl Rule for Identity {
    fn apply(&self, plan: Plan, _context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::Filter { .. } => by_identity(plan),
            other => other,
        })
    }
}

fn by_identity(plan: Plan) -> Plan {
    let (input, mut conditions) = unfiltered(plan);
    if let Plan::Extent {
        column,
        class,
        classes,
        ..
    } = &input
        && let Some(place) = conditions
            .iter()
            .position(|condition| wanted(condition, column.id).is_some())
        && let Some(references) = wanted(&conditions.remove(place), column.id)
    {
        let objects = Plan::Objects {
            column: column.clone(),
            class: class.clone(),
            classes: classes.clone(),
            references: vec![references],
        };
        return filtered(objects, conditions);
    }
    filtered(input, conditions)
}

/// The reference, or collection of references, that a condition demands the column to be.
fn wanted(condition: &Expression, object: ColumnId) -> Option<Expression> {
    let is_object = |side: &Expression| side.as_column().is_some_and(|column| column.id == object);
    let free = |side: &Expression| !side.uses(&|column| column == object);
    match &condition.kind {
        ExpressionKind::Compare {
            operator: Comparison::Equal,
            left,
            right,
        } => {
            if is_object(left) && free(right) {
                Some((**right).clone())
            } else {
                (is_object(right) && free(left)).then(|| (**left).clone())
            }
        }
        ExpressionKind::InSet { value, members, .. } if is_object(value) => {
            let set = Type::set(value.r#type.clone());
            Some(Expression::new(
                ExpressionKind::Constant(Value::Set(members.clone())),
                set,
                condition.span,
            ))
        }
        ExpressionKind::InList { value, members } if is_object(value) && members.iter().all(free) => {
            let list = Type::list(value.r#type.clone());
            Some(Expression::new(
                ExpressionKind::Collection(members.clone()),
                list,
                condition.span,
            ))
        }
        ExpressionKind::InCollection { value, collection }
            if is_object(value) && free(collection) && collection.r#type.member().is_some() =>
        {
            Some((**collection).clone())
        }
        _ => None,
    }
}
