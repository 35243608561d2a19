//! Expressions: which production is bound where.

use super::binder::{Binder, Bound};
use super::types::type_of;
use crate::query::ast::{self, ExprKind};
use crate::query::plan::{Expression, ExpressionKind};

impl<'a> Binder<'a> {
    /// Binds an expression; a bracketed query stands for its one value.
    pub(super) fn expression(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        let bound = match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal, expr),
            ExprKind::Parameter(parameter) => self.parameter(parameter, expr.span),
            ExprKind::Object { class, serial } => self.object_literal(class, *serial, expr.span),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Attribute { .. }
            | ExprKind::Method { .. }
            | ExprKind::Reverse { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Index { .. }
            | ExprKind::Slice { .. }
            | ExprKind::Narrow { .. }
            | ExprKind::Filter { .. }
            | ExprKind::NotNil(_) => self.postfix(expr),
            ExprKind::Negate(_) | ExprKind::Binary { .. } => self.operator(expr),
            ExprKind::Not(_)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Compare { .. }
            | ExprKind::CompareMembers { .. }
            | ExprKind::Between { .. }
            | ExprKind::In { .. }
            | ExprKind::Like { .. }
            | ExprKind::Is { .. }
            | ExprKind::Quantified { .. } => self.condition(expr),
            ExprKind::Exists(query) => self.exists(query, expr.span),
            ExprKind::Subquery(query) => self.element(query, expr.span),
            ExprKind::Case { .. } | ExprKind::Cast { .. } => self.choice(expr),
            ExprKind::CountRows | ExprKind::Call { .. } => self.call(expr),
            ExprKind::Collection { .. } | ExprKind::Map(_) | ExprKind::Struct(_) => self.constructor(expr),
        };
        bound.map(|mut bound| {
            bound.span = expr.span;
            bound
        })
    }

    /// Binds an expression where a collection is wanted: a bracketed query stands for its rows.
    pub(super) fn collection(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        match &expr.kind {
            ExprKind::Subquery(query) => self.subquery_rows(query, expr.span),
            _ => self.expression(expr),
        }
    }

    fn literal(&mut self, literal: &ast::Literal, expr: &ast::Expr) -> Bound<Expression> {
        let value = literal.0.clone();
        let r#type = type_of(&value, self.catalog);
        Ok(Expression::new(
            ExpressionKind::Constant(value),
            r#type,
            expr.span,
        ))
    }

    /// Binds several expressions.
    pub(super) fn expressions(
        &mut self,
        exprs: impl IntoIterator<Item = &'a ast::Expr>,
    ) -> Bound<Vec<Expression>> {
        exprs.into_iter().map(|expr| self.expression(expr)).collect()
    }
}
