//! Queries inside expressions.

use super::binder::{Binder, Bound};
use super::types::{comparable, type_error};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::Type;
use crate::query::ast;
use crate::query::plan::{Comparison, Expression, ExpressionKind, Query, ResultKind, SubqueryForm};

impl<'a> Binder<'a> {
    /// `exists (query)`
    pub(super) fn exists(&mut self, query: &'a ast::Query, span: Span) -> Bound<Expression> {
        let query = self.query(query)?;
        self.subquery(SubqueryForm::Exists, query, Type::Bool, span)
    }

    /// A bracketed query where a value is needed: the one value of its one row.
    pub(super) fn element(&mut self, query: &'a ast::Query, span: Span) -> Bound<Expression> {
        let bound = self.query(query)?;
        if bound.outputs.len() != 1 {
            let message = format!(
                "one value is needed here, but the query has {} columns",
                bound.outputs.len()
            );
            return Err(type_error(span, message).hint("element(..) gives the one row as a struct"));
        }
        self.element_query(bound, span)
    }

    /// `element(query)`
    pub(super) fn element_of_any_width(&mut self, query: &'a ast::Query, span: Span) -> Bound<Expression> {
        let query = self.query(query)?;
        check_labels(&query, span)?;
        self.element_query(query, span)
    }

    fn element_query(&mut self, mut query: Query, span: Span) -> Bound<Expression> {
        query.bare = query.bare || query.outputs.len() == 1;
        let r#type = row_type(&query);
        self.subquery(SubqueryForm::Element, query, r#type, span)
    }

    /// A query where a collection is needed: its rows.
    pub(super) fn subquery_rows(&mut self, query: &'a ast::Query, span: Span) -> Bound<Expression> {
        let labelled = query.span;
        let query = self.query(query)?;
        check_labels(&query, labelled)?;
        let row = row_type(&query);
        let r#type = match query.kind {
            ResultKind::Set => Type::set(row),
            ResultKind::List => Type::list(row),
            ResultKind::Bag | ResultKind::Single => Type::bag(row),
        };
        self.subquery(SubqueryForm::Collection, query, r#type, span)
    }

    /// `value in (query)`
    pub(super) fn in_query(
        &mut self,
        mut value: Expression,
        query: &'a ast::Query,
        span: Span,
    ) -> Bound<Expression> {
        let (query, _) = self.value_query(&mut value, query)?;
        self.subquery(SubqueryForm::In(value), query, Type::Bool, span)
    }

    /// `value = any (query)`
    pub(super) fn compare_query(
        &mut self,
        operator: Comparison,
        all: bool,
        mut left: Expression,
        query: &'a ast::Query,
        span: Span,
    ) -> Bound<Expression> {
        let query = self.compared_query(&mut left, query, operator)?;
        self.subquery(
            SubqueryForm::Compare { operator, left, all },
            query,
            Type::Bool,
            span,
        )
    }

    fn compared_query(
        &mut self,
        value: &mut Expression,
        query: &'a ast::Query,
        operator: Comparison,
    ) -> Bound<Query> {
        let (bound, row) = self.value_query(value, query)?;
        if comparable(&value.r#type, &row, self.catalog) {
            return Ok(bound);
        }
        let message = format!(
            "{} {operator} a query of {row}: they do not compare",
            value.r#type
        );
        Err(type_error(query.span, message))
    }

    /// A query whose rows are compared with a value, and the type of its rows.
    fn value_query(&mut self, value: &mut Expression, query: &'a ast::Query) -> Bound<(Query, Type)> {
        let mut bound = self.query(query)?;
        bound.bare = bound.bare || (bound.outputs.len() == 1 && !matches!(value.r#type, Type::Struct(_)));
        let row = row_type(&bound);
        self.expect(value, &row);
        Ok((bound, row))
    }

    /// The rows of a collection-valued subquery expression, if it is one that depends on nothing around it.
    pub(super) fn independent_query(expression: &Expression) -> Option<&Query> {
        match &expression.kind {
            ExpressionKind::Subquery(subquery)
                if subquery.form == SubqueryForm::Collection && subquery.outer.is_empty() =>
            {
                Some(&subquery.query)
            }
            _ => None,
        }
    }
}

/// Refuses two labels of one name where the row becomes a struct.
fn check_labels(query: &Query, span: Span) -> Bound<()> {
    for (position, output) in query.outputs.iter().enumerate() {
        let mut before = query.outputs.iter().take(position);
        if before.any(|other| other.label == output.label) {
            let message = format!("the subquery has the label {} twice", output.label);
            return Err(QueryError::new(QueryErrorCode::Duplicate, span, message)
                .hint("give one another label with as"));
        }
    }
    Ok(())
}

/// The type of a row of a query: of its one value, or a struct of its outputs.
pub(super) fn row_type(query: &Query) -> Type {
    match query.outputs.as_slice() {
        [only] if query.bare => only.column.r#type.clone(),
        outputs => Type::structure(
            outputs
                .iter()
                .map(|output| (output.label.clone(), output.column.r#type.clone())),
        ),
    }
}
