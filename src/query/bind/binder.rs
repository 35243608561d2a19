//! The binder: what it keeps while it walks a statement, and its entrances.
//!
//! # Scopes
//! A name is looked up in this order: the variables of the quantifiers around it, up to the innermost query; the
//! labels and range variables of that query; the range variables of the queries around it, outward; a bare attribute
//! of the innermost query, if that has one range; the labels of outer queries; queries named by `with`; classes and
//! named roots. So a new attribute of a class never takes a name away from a variable.

use std::sync::Arc;

use super::definition::Definitions;
use super::parameter::Parameters;
use super::scope::Scope;
use crate::catalog::Catalog;
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::Type;
use crate::query::ast;
use crate::query::plan::{Change, Column, ColumnId, Statement};

/// The result of binding a part of a statement.
pub(super) type Bound<T> = Result<T, QueryError>;

/// Binds a query, insert, update, delete, or `explain` of one of them.
///
/// `None` for every other statement: those have nothing to bind, or what they contain is bound by [`bind_value`].
pub fn bind_statement(
    statement: &ast::Statement,
    catalog: &Catalog,
    parameters: &Parameters,
) -> Result<Option<Statement>, QueryError> {
    use ast::StatementKind as Kind;
    let definitions = Definitions::of(catalog);
    let mut binder = Binder::new(catalog, &definitions, parameters);
    let change = match &statement.kind {
        Kind::Query(query) => Change::Query(binder.whole_query(query)?),
        Kind::Insert(insert) => Change::Insert(binder.insert(insert)?),
        Kind::Update(update) => Change::Update(binder.update(update)?),
        Kind::Delete(delete) => Change::Delete(binder.delete(delete)?),
        Kind::Explain(explained) => {
            let bound = bind_statement(explained, catalog, parameters)?;
            let Some(mut bound) = bound else {
                return Err(unsupported(explained.span, "explain of this statement"));
            };
            bound.explain = true;
            return Ok(Some(bound));
        }
        Kind::Profile(profiled) => return Err(unsupported(profiled.span, "profile")),
        _ => return Ok(None),
    };
    Ok(Some(binder.finish(change)))
}

/// Binds an expression that stands alone (a default, the value of a name or option) as a query of one row with one
/// bare output.
pub fn bind_value(
    expression: &ast::Expr,
    catalog: &Catalog,
    parameters: &Parameters,
) -> Result<Statement, QueryError> {
    let definitions = Definitions::of(catalog);
    let mut binder = Binder::new(catalog, &definitions, parameters);
    let query = binder.single_value(expression)?;
    Ok(binder.finish(Change::Query(query)))
}

/// Valid language that is not run yet.
pub(super) fn unsupported(span: Span, what: &str) -> QueryError {
    QueryError::new(
        QueryErrorCode::Unsupported,
        span,
        format!("{what} is not supported in this version"),
    )
}

/// Binds one statement.
pub(super) struct Binder<'a> {
    /// The schema.
    pub catalog: &'a Catalog,
    /// What is known of the parameters.
    pub given: &'a Parameters,
    /// The parameters met so far.
    pub parameters: Vec<(Arc<str>, Type)>,
    /// The scopes around the place that is bound, innermost last.
    pub scopes: Vec<Scope<'a>>,
    /// The named queries and methods there are.
    pub definitions: &'a Definitions,
    /// Scopes around the definition that is bound, out of its reach.
    pub hidden: usize,
    /// Definitions within one another at this place.
    pub depth: usize,
    /// Uses of definitions so far.
    pub uses: usize,
    columns: u32,
    subqueries: u32,
}

impl<'a> Binder<'a> {
    /// Queries that a statement may have in all, those that `with` repeats included.
    const MOST_QUERIES: u32 = 10_000;
    /// Each query within a query takes stack when it runs, most in a build without optimization.
    const DEEPEST_QUERY: usize = 24;

    pub(super) fn new(
        catalog: &'a Catalog,
        definitions: &'a Definitions,
        given: &'a Parameters,
    ) -> Binder<'a> {
        Binder {
            catalog,
            definitions,
            hidden: 0,
            depth: 0,
            uses: 0,
            given,
            parameters: Vec::new(),
            scopes: Vec::new(),
            columns: 0,
            subqueries: 0,
        }
    }

    fn finish(self, change: Change) -> Statement {
        Statement {
            change,
            explain: false,
            parameters: self.parameters,
            columns: self.columns,
        }
    }

    /// A new column.
    pub fn column(&mut self, name: impl Into<Arc<str>>, r#type: Type) -> Column {
        let id = ColumnId(self.columns);
        self.columns = self.columns.saturating_add(1);
        let name = name.into();
        Column { id, name, r#type }
    }

    /// The number of a new subquery.
    pub fn subquery_number(&mut self, span: Span) -> Bound<u32> {
        self.subqueries = self.subqueries.saturating_add(1);
        if self.subqueries > Self::MOST_QUERIES {
            let message = format!("the statement has more than {} queries", Self::MOST_QUERIES);
            return Err(QueryError::new(QueryErrorCode::TooComplex, span, message));
        }
        if self.scopes.len().saturating_add(self.hidden) > Self::DEEPEST_QUERY {
            let message = format!(
                "queries nest too deeply: at most {} within one another",
                Self::DEEPEST_QUERY
            );
            return Err(QueryError::new(QueryErrorCode::TooComplex, span, message));
        }
        Ok(self.subqueries)
    }

    /// Binds something inside `scope`.
    pub fn within<T>(
        &mut self,
        scope: Scope<'a>,
        bind: impl FnOnce(&mut Self) -> Bound<T>,
    ) -> Bound<(T, Scope<'a>)> {
        self.scopes.push(scope);
        let bound = bind(self);
        let scope = self.scopes.pop().unwrap_or_else(Scope::query);
        Ok((bound?, scope))
    }

    /// The innermost query's scope.
    pub fn innermost(&mut self) -> Option<&mut Scope<'a>> {
        self.scopes.iter_mut().rev().find(|scope| scope.query)
    }
}
