//! A condition on the far end of a path (`p.dept.site.city = 'x'`), where few objects are referred to by many rows, is
//! answered for those few first: `p.dept in (select d from Dept d where d.site.city = 'x')`, evaluated once. Each row
//! then costs a look at a set of objects, and fetches none.

use std::sync::Arc;

use super::cardinality::{extent_size, rows};
use super::conjunction::{filtered, split};
use super::rule::{Context, Rule, bottom_up};
use crate::object::Type;
use crate::query::plan::{
    Column, Expression, ExpressionKind, Output, Plan, Query, ResultKind, Subquery, SubqueryForm,
};

pub(super) struct FarEnd;

/// One object at the far end for so many rows, at least.
const ROWS_AN_OBJECT: f64 = 4.0;

impl Rule for FarEnd {
    fn apply(&self, plan: Plan, context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::Filter { input, predicate } => {
                let count = rows(&input, context);
                let columns = input.columns();
                let conditions = split(predicate)
                    .into_iter()
                    .map(|condition| from_far_end(condition, &columns, count, context))
                    .collect();
                filtered(*input, conditions)
            }
            other => other,
        })
    }
}

fn from_far_end(
    condition: Expression,
    columns: &[Column],
    rows: f64,
    context: &mut Context<'_>,
) -> Expression {
    let Some(reference) = strict_operand(&condition).and_then(|operand| first_step(operand, columns)) else {
        return condition;
    };
    let reference = reference.clone();
    let Type::Reference(class) = reference.r#type.clone() else {
        return condition;
    };
    let Some(class) = context.catalog.class(&class).cloned() else {
        return condition;
    };
    if extent_size(&class.family, context) * ROWS_AN_OBJECT > rows {
        return condition;
    }
    let object = context.column(class.name.clone(), reference.r#type.clone());
    let span = condition.span;
    let mut there = condition.clone();
    there.rewrite(&mut |part| {
        let is_reference = *part == reference;
        if is_reference {
            *part = Expression::column(object.clone(), part.span);
        }
        is_reference
    });
    if !there.free_columns().iter().all(|column| *column == object) {
        return condition;
    }
    let extent = Plan::Extent {
        column: object.clone(),
        class: class.name.clone(),
        classes: class.family.clone(),
        estimate: None,
    };
    let query = Query {
        plan: Plan::Filter {
            input: Box::new(extent),
            predicate: there,
        },
        outputs: vec![Output {
            label: object.name.clone(),
            column: object,
        }],
        bare: true,
        kind: ResultKind::Bag,
    };
    let subquery = Subquery {
        number: context.subquery(),
        form: SubqueryForm::In(reference),
        query: Arc::new(query),
        outer: Vec::new(),
    };
    Expression::new(ExpressionKind::Subquery(Box::new(subquery)), Type::Bool, span)
}

/// The path that a condition is about, if the condition cannot be true where that is nil.
fn strict_operand(condition: &Expression) -> Option<&Expression> {
    use ExpressionKind as K;
    match &condition.kind {
        K::Compare { left, right, .. } => match (is_path(left), is_path(right)) {
            (true, false) => Some(left),
            (false, true) => Some(right),
            _ => None,
        },
        K::Between { value, .. } | K::InSet { value, .. } | K::Like { value, .. } if is_path(value) => {
            Some(value)
        }
        _ => None,
    }
}

/// Whether an expression is an attribute of the object that an attribute refers to.
fn is_path(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Attribute { base, .. } => {
            matches!(&base.kind, ExpressionKind::Attribute { .. })
        }
        _ => false,
    }
}

/// The reference that a path begins with, an attribute of an object of these columns.
fn first_step<'e>(path: &'e Expression, columns: &[Column]) -> Option<&'e Expression> {
    let ExpressionKind::Attribute { base, .. } = &path.kind else {
        return None;
    };
    match &base.kind {
        ExpressionKind::Column(column) if columns.contains(column) => Some(path),
        _ => first_step(base, columns),
    }
}
