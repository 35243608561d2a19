//! Rules, their order, and where they are applied.
//!
//! A rule sees one plan and leaves the plans of subqueries alone; those go through the same list afterwards. Rules run
//! in this order because each builds on the form the one before leaves: conditions are folded and spread before joins
//! are ordered, joins before indexes are chosen, and records are fetched last, for what is left of the expressions.

use std::sync::Arc;

use super::count_extent::CountExtent;
use super::estimates::Estimates;
use super::far_end::FarEnd;
use super::fetch_paths::FetchPaths;
use super::fold::Fold;
use super::identity::Identity;
use super::index_choice::IndexChoice;
use super::index_join::IndexJoin;
use super::index_only::IndexOnly;
use super::index_order::IndexOrder;
use super::join_order::JoinOrder;
use super::pushdown::Pushdown;
use super::reverse_join::ReverseJoin;
use super::semi_join::SemiJoin;
use super::top_k::TopK;
use crate::catalog::Catalog;
use crate::object::Type;
use crate::query::plan::{
    Change, Column, ColumnId, Expression, ExpressionKind, InsertSource, Plan, Returning, Statement,
};

/// One rewriting of plans that keeps their meaning.
pub(super) trait Rule {
    /// The plan, rewritten where the rule fits.
    fn apply(&self, plan: Plan, context: &mut Context<'_>) -> Plan;
}

/// What rules may know, and the columns they may make.
pub(super) struct Context<'a> {
    /// The schema.
    pub catalog: &'a Catalog,
    /// Sizes.
    pub estimates: &'a dyn Estimates,
    columns: u32,
    subqueries: u32,
}

impl Context<'_> {
    /// The number of a new subquery.
    pub fn subquery(&mut self) -> u32 {
        self.subqueries = self.subqueries.saturating_add(1);
        self.subqueries
    }

    /// A new column.
    pub fn column(&mut self, name: impl Into<Arc<str>>, r#type: Type) -> Column {
        let id = ColumnId(self.columns);
        self.columns = self.columns.saturating_add(1);
        Column {
            id,
            name: name.into(),
            r#type,
        }
    }
}

/// The rules in their order.
const RULES: &[&dyn Rule] = &[
    &Fold,
    &ReverseJoin,
    &SemiJoin,
    &Pushdown,
    &JoinOrder,
    &Identity,
    &IndexJoin,
    &IndexChoice,
    &IndexOnly,
    &CountExtent,
    &TopK,
    &IndexOrder,
    &FarEnd,
    &FetchPaths,
];

/// The statement with better plans; it means the same.
pub fn optimize(statement: Statement, catalog: &Catalog, estimates: &dyn Estimates) -> Statement {
    optimize_by(RULES, statement, catalog, estimates)
}

/// The statement with the plans that these rules make.
pub(super) fn optimize_by(
    rules: &[&dyn Rule],
    mut statement: Statement,
    catalog: &Catalog,
    estimates: &dyn Estimates,
) -> Statement {
    let mut context = Context {
        catalog,
        estimates,
        columns: statement.columns,
        subqueries: last_subquery(&statement),
    };
    let context = &mut context;
    match &mut statement.change {
        Change::Query(query) => rewrite(rules, &mut query.plan, context),
        Change::Insert(insert) => {
            match &mut insert.source {
                InsertSource::Rows(rows) => {
                    rows.iter_mut()
                        .flatten()
                        .for_each(|value| within(rules, value, context));
                }
                InsertSource::Query(query) => rewrite(rules, &mut query.plan, context),
            }
            returning(rules, &mut insert.returning, context);
        }
        Change::Update(update) => {
            rewrite(rules, &mut update.plan, context);
            for assignment in &mut update.assignments {
                within(rules, &mut assignment.value, context);
            }
            returning(rules, &mut update.returning, context);
        }
        Change::Delete(delete) => {
            rewrite(rules, &mut delete.plan, context);
            returning(rules, &mut delete.returning, context);
        }
    }
    statement.columns = context.columns;
    statement
}

/// The largest number of a subquery in a statement.
fn last_subquery(statement: &Statement) -> u32 {
    let expressions: Vec<&Expression> = match &statement.change {
        Change::Query(query) => return in_plan(&query.plan),
        Change::Insert(insert) => match &insert.source {
            InsertSource::Rows(rows) => rows.iter().flatten().collect(),
            InsertSource::Query(query) => return in_plan(&query.plan).max(in_returning(&insert.returning)),
        },
        Change::Update(update) => update
            .assignments
            .iter()
            .map(|assignment| &assignment.value)
            .collect(),
        Change::Delete(_) => Vec::new(),
    };
    let within = expressions.into_iter().map(in_expression).max().unwrap_or(0);
    let (plan, returning) = match &statement.change {
        Change::Query(_) => (0, 0),
        Change::Insert(insert) => (0, in_returning(&insert.returning)),
        Change::Update(update) => (in_plan(&update.plan), in_returning(&update.returning)),
        Change::Delete(delete) => (in_plan(&delete.plan), in_returning(&delete.returning)),
    };
    within.max(plan).max(returning)
}

fn in_returning(returning: &Option<Returning>) -> u32 {
    let outputs = returning.iter().flat_map(|returning| &returning.outputs);
    outputs.map(|(_, value)| in_expression(value)).max().unwrap_or(0)
}

fn in_plan(plan: &Plan) -> u32 {
    let own = plan.expressions().into_iter().map(in_expression);
    let below = plan.children().into_iter().map(in_plan);
    own.chain(below).max().unwrap_or(0)
}

fn in_expression(expression: &Expression) -> u32 {
    let below = expression
        .children()
        .into_iter()
        .map(in_expression)
        .max()
        .unwrap_or(0);
    match &expression.kind {
        ExpressionKind::Subquery(subquery) => below.max(subquery.number).max(in_plan(&subquery.query.plan)),
        _ => below,
    }
}

fn returning(rules: &[&dyn Rule], returning: &mut Option<Returning>, context: &mut Context<'_>) {
    let outputs = returning
        .iter_mut()
        .flat_map(|returning| returning.outputs.iter_mut());
    outputs.for_each(|(_, value)| within(rules, value, context));
}

/// Applies the rules to a plan, then to the plans of the subqueries left in it.
fn rewrite(rules: &[&dyn Rule], plan: &mut Plan, context: &mut Context<'_>) {
    for rule in rules {
        let before = std::mem::replace(plan, Plan::Unit);
        *plan = rule.apply(before, context);
    }
    subqueries(rules, plan, context);
}

fn subqueries(rules: &[&dyn Rule], plan: &mut Plan, context: &mut Context<'_>) {
    for expression in plan.expressions_mut() {
        within(rules, expression, context);
    }
    for child in plan.children_mut() {
        subqueries(rules, child, context);
    }
}

/// Applies the rules to the subqueries in an expression.
fn within(rules: &[&dyn Rule], expression: &mut Expression, context: &mut Context<'_>) {
    for child in expression.children_mut() {
        within(rules, child, context);
    }
    if let ExpressionKind::Subquery(subquery) = &mut expression.kind {
        rewrite(rules, &mut Arc::make_mut(&mut subquery.query).plan, context);
    }
}

/// Rewrites the nodes of a plan, those below first.
pub(super) fn bottom_up(mut plan: Plan, change: &mut dyn FnMut(Plan) -> Plan) -> Plan {
    for child in plan.children_mut() {
        let before = std::mem::replace(child, Plan::Unit);
        *child = bottom_up(before, change);
    }
    change(plan)
}
