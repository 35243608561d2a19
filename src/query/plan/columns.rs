//! Which columns a plan or an expression defines and uses, and rewriting expressions wherever they stand.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::expression::{Column, ColumnId, Expression, ExpressionKind, Subquery};
use super::node::Plan;

impl Expression {
    /// Calls `see` for this expression and all below it, those in the plans of subqueries included; where `see`
    /// returns false, what lies below is left out.
    pub fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a Expression) -> bool) {
        if !see(self) {
            return;
        }
        for child in self.children() {
            child.visit(see);
        }
        if let ExpressionKind::Subquery(subquery) = &self.kind {
            subquery.query.plan.visit_expressions(see);
        }
    }

    /// Calls `change` for this expression and, where that returns false, for all below it, those in the plans of
    /// subqueries included.
    pub fn rewrite(&mut self, change: &mut dyn FnMut(&mut Expression) -> bool) {
        if change(self) {
            return;
        }
        for child in self.children_mut() {
            child.rewrite(change);
        }
        if let ExpressionKind::Subquery(subquery) = &mut self.kind {
            Arc::make_mut(&mut subquery.query)
                .plan
                .rewrite_expressions(change);
            subquery.outer = subquery.free_columns();
        }
    }

    /// Whether `wanted` holds for a column used here or in a subquery within.
    pub fn uses(&self, wanted: &dyn Fn(ColumnId) -> bool) -> bool {
        let mut found = false;
        self.visit(&mut |expression| {
            found = found || expression.as_column().is_some_and(|column| wanted(column.id));
            !found
        });
        found
    }

    /// The columns this expression needs from the row it is evaluated over: all it uses but those it defines itself.
    pub fn free_columns(&self) -> Vec<Column> {
        let mut columns = Columns::default();
        columns.expression(self);
        columns.free()
    }

    /// The variable this expression gives values to, over its members.
    fn variable(&self) -> Option<&Column> {
        match &self.kind {
            ExpressionKind::Quantifier { variable, .. }
            | ExpressionKind::Select { variable, .. }
            | ExpressionKind::Map { variable, .. }
            | ExpressionKind::Closure { variable, .. }
            | ExpressionKind::Let { variable, .. } => Some(variable),
            _ => None,
        }
    }
}

impl Plan {
    /// Calls `see` for the expressions of this node and of all below it; see [`Expression::visit`].
    pub fn visit_expressions<'a>(&'a self, see: &mut dyn FnMut(&'a Expression) -> bool) {
        for expression in self.expressions() {
            expression.visit(see);
        }
        for child in self.children() {
            child.visit_expressions(see);
        }
    }

    /// Calls `change` for the expressions of this node and of all below it; see [`Expression::rewrite`].
    pub fn rewrite_expressions(&mut self, change: &mut dyn FnMut(&mut Expression) -> bool) {
        for expression in self.expressions_mut() {
            expression.rewrite(change);
        }
        for child in self.children_mut() {
            child.rewrite_expressions(change);
        }
    }

    /// The columns this plan needs from around it.
    pub fn free_columns(&self) -> Vec<Column> {
        let mut columns = Columns::default();
        columns.plan(self);
        columns.free()
    }

    /// The columns this node itself gives to its rows, beyond those of its inputs.
    fn own_columns(&self) -> Vec<&Column> {
        match self {
            Plan::Values { columns, .. } | Plan::SetOperation { columns, .. } => columns.iter().collect(),
            Plan::Extent { column, .. }
            | Plan::CountExtent { column, .. }
            | Plan::IndexScan { column, .. }
            | Plan::IndexPath { column, .. }
            | Plan::IndexSet { column, .. }
            | Plan::IndexCount { column, .. }
            | Plan::Objects { column, .. }
            | Plan::Iterate { column, .. }
            | Plan::Fetch { column, .. } => vec![column],
            Plan::Group {
                keys,
                aggregates,
                partition,
                ..
            } => {
                let keys = keys.iter().map(|(column, _)| column);
                let aggregates = aggregates.iter().map(|aggregate| &aggregate.column);
                let partition = partition.iter().map(|partition| &partition.column);
                keys.chain(aggregates).chain(partition).collect()
            }
            Plan::Walk {
                column, depth, path, ..
            } => std::iter::once(column).chain(depth).chain(path).collect(),
            Plan::Project { columns, .. } => columns.iter().map(|(column, _)| column).collect(),
            _ => Vec::new(),
        }
    }
}

impl Subquery {
    /// The columns the query needs from around it: what `outer` must be.
    pub fn free_columns(&self) -> Vec<Column> {
        self.query.plan.free_columns()
    }
}

/// Columns used and defined; numbers are unique, so what is used and not defined comes from outside.
#[derive(Default)]
struct Columns {
    used: Vec<Column>,
    seen: FxHashSet<ColumnId>,
    defined: FxHashSet<ColumnId>,
}

impl Columns {
    fn expression(&mut self, expression: &Expression) {
        if let Some(column) = expression.as_column()
            && self.seen.insert(column.id)
        {
            self.used.push(column.clone());
        }
        self.defined
            .extend(expression.variable().map(|variable| variable.id));
        for child in expression.children() {
            self.expression(child);
        }
        if let ExpressionKind::Subquery(subquery) = &expression.kind {
            self.plan(&subquery.query.plan);
        }
    }

    fn plan(&mut self, plan: &Plan) {
        self.defined
            .extend(plan.own_columns().into_iter().map(|column| column.id));
        for expression in plan.expressions() {
            self.expression(expression);
        }
        for child in plan.children() {
            self.plan(child);
        }
    }

    fn free(mut self) -> Vec<Column> {
        self.used.retain(|column| !self.defined.contains(&column.id));
        self.used
    }
}
