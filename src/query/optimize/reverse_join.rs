//! A range over a reverse step (`d.<Person.dept p`) is a join with the referring extent: an index, a hash table or the
//! join order then serve it as any other, and its conditions go where they are cheapest.
//!
//! Where the attribute is a collection of references, and an index has its members, the range is a look-up in that
//! index for each row, which stops where the rows above it do.

use super::rule::{Context, Rule, bottom_up};
use crate::object::{Type, Value};
use crate::query::plan::{
    Access, Column, Comparison, Equal, Expression, ExpressionKind, IndexKey, JoinKind, Plan,
};
use crate::read::Direction;

pub(super) struct ReverseJoin;

impl Rule for ReverseJoin {
    fn apply(&self, plan: Plan, context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::Iterate {
                input,
                column,
                collection,
                outer,
                on,
            } => match sources(&column, &collection, context) {
                Some(sources) => joined(*input, sources, outer, on),
                None => Plan::Iterate {
                    input,
                    column,
                    collection,
                    outer,
                    on,
                },
            },
            other => other,
        })
    }
}

/// The objects that refer to something, and on which conditions they do.
struct Sources {
    plan: Plan,
    conditions: Vec<Expression>,
}

/// An object that has an attribute only if it is there: what its referrers must be equal to, and what must hold besides.
/// One that no row names is looked at once; where each row has one, the condition goes to where the rows come from.
fn living(base: &Expression) -> (Expression, Option<Expression>) {
    let dangling = ExpressionKind::IsDangling(Box::new(base.clone()));
    let dangling = Expression::new(dangling, Type::Bool, base.span);
    if !base.free_columns().is_empty() {
        let there = ExpressionKind::Not(Box::new(dangling));
        return (base.clone(), Some(Expression::new(there, Type::Bool, base.span)));
    }
    let nothing = Expression::constant(Value::Nil, base.r#type.clone());
    let there = ExpressionKind::Case {
        branches: vec![(dangling, nothing)],
        otherwise: Some(Box::new(base.clone())),
    };
    (Expression::new(there, base.r#type.clone(), base.span), None)
}

fn sources(column: &Column, collection: &Expression, context: &Context<'_>) -> Option<Sources> {
    let ExpressionKind::Reverse {
        base,
        class,
        classes,
        attribute,
        slots,
        collection: several,
        index,
        of_living,
    } = &collection.kind
    else {
        return None;
    };
    let declared = context.catalog.class(class)?.attribute(attribute)?;
    if !matches!(base.r#type, Type::Reference(_)) {
        return None;
    }
    if !several && matches!(declared.r#type, Type::Reference(_)) {
        let referring = ExpressionKind::Attribute {
            base: Box::new(Expression::column(column.clone(), collection.span)),
            name: attribute.clone(),
            slots: slots.clone(),
        };
        let referring = Expression::new(referring, declared.r#type.clone(), collection.span);
        return Some(Sources {
            plan: Plan::Extent {
                column: column.clone(),
                class: class.clone(),
                classes: classes.clone(),
                estimate: None,
            },
            conditions: conditions(referring, base, *of_living),
        });
    }
    let index = context.catalog.indexes.get(index.as_ref()?)?;
    let plan = Plan::IndexScan {
        column: column.clone(),
        class: class.clone(),
        classes: classes.clone(),
        index: IndexKey {
            id: index.id,
            name: index.name.clone(),
            components: vec![attribute.clone()],
            multiple: true,
        },
        access: Access {
            equal: vec![Equal::Value((**base).clone())],
            ..Access::all()
        },
        direction: Direction::Ascending,
        estimate: None,
    };
    Some(Sources {
        plan,
        conditions: Vec::new(),
    })
}

/// That an attribute refers to `base`, and that this is there where it must be.
fn conditions(referring: Expression, base: &Expression, of_living: bool) -> Vec<Expression> {
    let (target, there) = match of_living {
        true => living(base),
        false => (base.clone(), None),
    };
    let span = referring.span;
    let equal = ExpressionKind::Compare {
        operator: Comparison::Equal,
        left: Box::new(referring),
        right: Box::new(target),
    };
    let equal = Expression::new(equal, Type::Bool, span);
    [Some(equal), there].into_iter().flatten().collect()
}

fn joined(input: Plan, sources: Sources, outer: bool, on: Option<Expression>) -> Plan {
    let kind = if outer { JoinKind::Left } else { JoinKind::Inner };
    let alone = matches!(input, Plan::Unit) && !outer;
    let equal = !sources.conditions.is_empty();
    let conditions: Vec<Expression> = sources.conditions.into_iter().chain(on.clone()).collect();
    if alone {
        return super::conjunction::filtered(sources.plan, conditions);
    }
    let (left, right) = (Box::new(input), Box::new(sources.plan));
    match equal {
        true => Plan::Join {
            left,
            right,
            kind,
            on: super::conjunction::all(conditions),
        },
        false => Plan::Apply {
            left,
            right,
            kind,
            on,
        },
    }
}
