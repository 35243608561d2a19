//! A range over a reverse step (`d.<Person.dept p`) is a join with the referring extent: an index, a hash table or the
//! join order then serve it as any other, and its conditions go where they are cheapest.
//!
//! Where the attribute is a collection of references, and an index has its members, the range is a look-up in that
//! index for each row, which stops where the rows above it do.

use super::rule::{Context, Rule, bottom_up};
use crate::object::Type;
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

/// The objects that refer to something, and on which condition they do.
struct Sources {
    plan: Plan,
    condition: Option<Expression>,
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
    } = &collection.kind
    else {
        return None;
    };
    let declared = context.catalog.class(class)?.attribute(attribute)?;
    if !matches!(base.r#type, Type::Reference(_)) {
        return None;
    }
    if !several && matches!(declared.r#type, Type::Reference(_)) {
        let attribute = ExpressionKind::Attribute {
            base: Box::new(Expression::column(column.clone(), collection.span)),
            name: attribute.clone(),
            slots: slots.clone(),
        };
        let equal = ExpressionKind::Compare {
            operator: Comparison::Equal,
            left: Box::new(Expression::new(
                attribute,
                declared.r#type.clone(),
                collection.span,
            )),
            right: base.clone(),
        };
        return Some(Sources {
            plan: Plan::Extent {
                column: column.clone(),
                class: class.clone(),
                classes: classes.clone(),
                estimate: None,
            },
            condition: Some(Expression::new(equal, Type::Bool, collection.span)),
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
        condition: None,
    })
}

fn joined(input: Plan, sources: Sources, outer: bool, on: Option<Expression>) -> Plan {
    let kind = if outer { JoinKind::Left } else { JoinKind::Inner };
    let alone = matches!(input, Plan::Unit) && !outer;
    let conditions: Vec<Expression> = sources.condition.clone().into_iter().chain(on.clone()).collect();
    if alone {
        return super::conjunction::filtered(sources.plan, conditions);
    }
    let (left, right) = (Box::new(input), Box::new(sources.plan));
    match sources.condition {
        Some(_) => Plan::Join {
            left,
            right,
            kind,
            on: super::conjunction::all(conditions),
        },
        None => Plan::Apply {
            left,
            right,
            kind,
            on,
        },
    }
}
