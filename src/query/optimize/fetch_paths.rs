//! Path gathers: the objects along the paths of expressions are fetched once a batch, below the node that needs them.
//!
//! A fetch never fails and never drops a row, so fetching early is always right; it is left out where an expression
//! is evaluated only for some rows (the branches of a `case`, the later operands of `??`), and conditions that need
//! no fetch are checked before those that do.

use std::collections::BTreeSet;

use super::conjunction::{all, split};
use super::rule::{Context, Rule, bottom_up};
use crate::object::Type;
use crate::query::plan::{Column, ColumnId, Expression, ExpressionKind, JoinKind, Plan};

pub(super) struct FetchPaths;

impl Rule for FetchPaths {
    fn apply(&self, plan: Plan, context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::Filter { input, predicate } => filter(*input, predicate, context),
            Plan::HashJoin { .. } => hash_join(plan, context),
            Plan::Project { .. }
            | Plan::Group { .. }
            | Plan::Sort { .. }
            | Plan::TopK { .. }
            | Plan::Iterate { .. }
            | Plan::Walk { on: None, .. } => over_input(plan, context),
            other => other,
        })
    }
}

/// Gives the expressions of a node what they need, below it.
fn over_input(mut plan: Plan, context: &mut Context<'_>) -> Plan {
    let input = plan
        .children_mut()
        .into_iter()
        .next()
        .map(|input| std::mem::replace(input, Plan::Unit));
    let Some(input) = input else {
        return plan;
    };
    let mut rows = Rows::of(input);
    for expression in plan.expressions_mut() {
        rows.serve(expression, context);
    }
    if let Some(place) = plan.children_mut().into_iter().next() {
        *place = rows.plan;
    }
    plan
}

/// Conditions that need no fetch first, then the others, each over what it needs.
fn filter(input: Plan, predicate: Expression, context: &mut Context<'_>) -> Plan {
    let mut rows = Rows::of(input);
    let (mut cheap, mut fetching) = (Vec::new(), Vec::new());
    for mut condition in split(predicate) {
        rows.reuse(&mut condition);
        if rows.needed(&condition).is_some() {
            &mut fetching
        } else {
            &mut cheap
        }
        .push(condition);
    }
    rows.keep(cheap);
    for mut condition in fetching {
        rows.serve(&mut condition, context);
        rows.keep(vec![condition]);
    }
    rows.plan
}

fn hash_join(plan: Plan, context: &mut Context<'_>) -> Plan {
    let Plan::HashJoin {
        left,
        right,
        kind,
        mut keys,
        on,
    } = plan
    else {
        return plan;
    };
    let (mut left, mut right) = (Rows::of(*left), Rows::of(*right));
    for (of_left, of_right) in &mut keys {
        left.serve(of_left, context);
        right.serve(of_right, context);
    }
    Plan::HashJoin {
        left: Box::new(left.plan),
        right: Box::new(right.plan),
        kind,
        keys,
        on,
    }
}

/// The rows below a node, and the objects fetched in them.
struct Rows {
    plan: Plan,
    /// The columns of the rows.
    columns: BTreeSet<ColumnId>,
    /// Those that hold their record.
    fetched: BTreeSet<ColumnId>,
    /// What was fetched by which reference.
    fetches: Vec<(Expression, Column)>,
}

impl Rows {
    fn of(plan: Plan) -> Rows {
        let columns = plan.columns().iter().map(|column| column.id).collect();
        let (mut fetched, mut fetches) = (BTreeSet::new(), Vec::new());
        find_fetched(&plan, &mut fetched, &mut fetches);
        Rows {
            plan,
            columns,
            fetched,
            fetches,
        }
    }

    /// Keeps the rows for which the conditions hold.
    fn keep(&mut self, conditions: Vec<Expression>) {
        if let Some(predicate) = all(conditions) {
            let input = Box::new(std::mem::replace(&mut self.plan, Plan::Unit));
            self.plan = Plan::Filter { input, predicate };
        }
    }

    /// Fetches all that the expression needs for every row.
    fn serve(&mut self, expression: &mut Expression, context: &mut Context<'_>) {
        self.reuse(expression);
        while let Some(reference) = self.needed(expression) {
            let column = context.column(reference.to_string(), reference.r#type.clone());
            let input = Box::new(std::mem::replace(&mut self.plan, Plan::Unit));
            self.plan = Plan::Fetch {
                input,
                column: column.clone(),
                reference: reference.clone(),
            };
            self.columns.insert(column.id);
            self.fetched.insert(column.id);
            self.fetches.push((reference, column));
            self.reuse(expression);
        }
    }

    /// Puts the columns of what is fetched in the place of their references, where attributes are read from them.
    fn reuse(&self, expression: &mut Expression) {
        for child in expression.children_mut() {
            self.reuse(child);
        }
        let ExpressionKind::Attribute { base, .. } = &mut expression.kind else {
            return;
        };
        if let Some((_, column)) = self.fetches.iter().find(|(reference, _)| *reference == **base) {
            **base = Expression::column(column.clone(), base.span);
        }
    }

    /// The first reference that an attribute is read from for every row, and that is not fetched: inner ones first.
    fn needed(&self, expression: &Expression) -> Option<Expression> {
        if let Some(needed) = always(expression)
            .into_iter()
            .find_map(|child| self.needed(child))
        {
            return Some(needed);
        }
        let ExpressionKind::Attribute { base, .. } = &expression.kind else {
            return None;
        };
        let fetched = base
            .as_column()
            .is_some_and(|column| self.fetched.contains(&column.id));
        (!fetched && self.is_path(base)).then(|| (**base).clone())
    }

    /// Whether a reference is found from the columns of the row alone.
    fn is_path(&self, reference: &Expression) -> bool {
        match &reference.kind {
            ExpressionKind::Column(column) => {
                self.columns.contains(&column.id) && matches!(column.r#type, Type::Reference(_))
            }
            ExpressionKind::Attribute { base, .. } => {
                matches!(reference.r#type, Type::Reference(_)) && self.is_path(base)
            }
            ExpressionKind::Narrow { value, .. } => self.is_path(value),
            ExpressionKind::Field { base, .. } => base
                .as_column()
                .is_some_and(|column| self.columns.contains(&column.id)),
            _ => false,
        }
    }
}

/// The operands that are evaluated whenever the expression is.
fn always(expression: &Expression) -> Vec<&Expression> {
    let children = expression.children();
    let count = match &expression.kind {
        // Their later operands depend on the variable or on the branch taken.
        ExpressionKind::Case { .. }
        | ExpressionKind::CaseOf { .. }
        | ExpressionKind::Coalesce(_)
        | ExpressionKind::Quantifier { .. }
        | ExpressionKind::Select { .. }
        | ExpressionKind::Map { .. }
        | ExpressionKind::Closure { .. } => 1,
        _ => children.len(),
    };
    children.into_iter().take(count).collect()
}

/// The columns of a plan's rows that hold their record, and the fetches among them.
fn find_fetched(plan: &Plan, fetched: &mut BTreeSet<ColumnId>, fetches: &mut Vec<(Expression, Column)>) {
    match plan {
        Plan::Extent { column, .. }
        | Plan::IndexScan { column, .. }
        | Plan::IndexPath { column, .. }
        | Plan::IndexSet { column, .. }
        | Plan::Objects { column, .. } => {
            fetched.insert(column.id);
        }
        Plan::Fetch {
            input,
            column,
            reference,
        } => {
            find_fetched(input, fetched, fetches);
            fetched.insert(column.id);
            fetches.push((reference.clone(), column.clone()));
        }
        Plan::Filter { input, .. }
        | Plan::Iterate { input, .. }
        | Plan::Walk { input, .. }
        | Plan::Sort { input, .. }
        | Plan::TopK { input, .. }
        | Plan::Limit { input, .. } => find_fetched(input, fetched, fetches),
        Plan::Join {
            left, right, kind, ..
        }
        | Plan::HashJoin {
            left, right, kind, ..
        }
        | Plan::Apply {
            left, right, kind, ..
        } => {
            find_fetched(left, fetched, fetches);
            if matches!(kind, JoinKind::Inner | JoinKind::Left) {
                find_fetched(right, fetched, fetches);
            }
        }
        Plan::Project { input, columns } => {
            let (mut below, mut ignored) = (BTreeSet::new(), Vec::new());
            find_fetched(input, &mut below, &mut ignored);
            let whole =
                |value: &Expression| value.as_column().is_some_and(|column| below.contains(&column.id));
            fetched.extend(
                columns
                    .iter()
                    .filter(|(_, value)| whole(value))
                    .map(|(column, _)| column.id),
            );
        }
        _ => {}
    }
}
