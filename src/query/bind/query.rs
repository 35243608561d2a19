//! Whole queries: `with`, set operators, bare expressions, and what orders and cuts the result.

use super::binder::{Binder, Bound, unsupported};
use super::operator::set_operator;
use super::projection::label_of;
use super::scope::{Clause, RangeVariable, Scope};
use super::types::{common_type, is_collection, type_error, wider_number};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::{Type, Value};
use crate::query::ast::{self, ExprKind, QueryBody};
use crate::query::plan::{Column, Expression, NullsOrder, Output, Plan, Query, ResultKind, SortKey};

/// What orders and cuts the result of a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail<'a> {
    /// `order by`
    pub order_by: &'a [ast::OrderItem],
    /// `limit`
    pub limit: Option<&'a ast::Expr>,
    /// `offset`
    pub offset: Option<&'a ast::Expr>,
}

impl<'a> Binder<'a> {
    /// The query that is a whole statement.
    pub(super) fn whole_query(&mut self, query: &'a ast::Query) -> Bound<Query> {
        self.query(query)
    }

    /// Binds a query.
    pub(super) fn query(&mut self, query: &'a ast::Query) -> Bound<Query> {
        if query.as_of.is_some() {
            return Err(unsupported(query.span, "as of"));
        }
        if query.with.is_empty() {
            return self.named_query(query);
        }
        for (position, with) in query.with.iter().enumerate() {
            let mut before = query.with.iter().take(position);
            if before.any(|other| other.name.text == with.name.text) {
                let message = format!("with names {} twice", with.name.text);
                return Err(QueryError::new(
                    QueryErrorCode::Duplicate,
                    with.name.span,
                    message,
                ));
            }
        }
        let scope = Scope::naming(&query.with);
        self.within(scope, |binder| binder.named_query(query))
            .map(|(query, _)| query)
    }

    /// The query inside its `with`.
    fn named_query(&mut self, query: &'a ast::Query) -> Bound<Query> {
        let tail = Tail {
            order_by: &query.order_by,
            limit: query.limit.as_ref(),
            offset: query.offset.as_ref(),
        };
        match &query.body {
            QueryBody::Select(select) => self.select(select, tail),
            body => {
                let bound = self.body(body)?;
                self.tail(bound, tail)
            }
        }
    }

    fn body(&mut self, body: &'a QueryBody) -> Bound<Query> {
        match body {
            QueryBody::Select(select) => {
                let tail = Tail {
                    order_by: &[],
                    limit: None,
                    offset: None,
                };
                self.select(select, tail)
            }
            QueryBody::Set(operation) => self.set_query(operation),
            QueryBody::Nested(query) => self.query(query),
            QueryBody::Expression(expr) => self.expression_query(expr),
        }
    }

    /// A bare expression: a collection gives its members as rows, anything else one row.
    fn expression_query(&mut self, expr: &'a ast::Expr) -> Bound<Query> {
        let value = self.collection(expr)?;
        if let Some(query) = Self::independent_query(&value) {
            return Ok(query.clone());
        }
        let label = label_of(expr).unwrap_or_else(|| "column1".into());
        if !is_collection(&value.r#type) {
            return Ok(self.one_row(value, label));
        }
        let kind = match value.r#type {
            Type::List(_) => ResultKind::List,
            Type::Set(_) => ResultKind::Set,
            _ => ResultKind::Bag,
        };
        let column = self.column(label.clone(), self.member_of(&value)?);
        let plan = Plan::Iterate {
            input: Box::new(Plan::Unit),
            column: column.clone(),
            collection: value,
            outer: false,
            on: None,
        };
        Ok(Query {
            plan,
            outputs: vec![Output { label, column }],
            bare: true,
            kind,
        })
    }

    /// An expression that stands for its one value.
    pub(super) fn single_value(&mut self, expr: &'a ast::Expr) -> Bound<Query> {
        let value = match &expr.kind {
            // The extent of a class, or a query in brackets with several columns, is a collection.
            ast::ExprKind::Subquery(_) => self.collection(expr)?,
            _ => self.expression(expr)?,
        };
        let label = label_of(expr).unwrap_or_else(|| "column1".into());
        Ok(self.one_row(value, label))
    }

    fn one_row(&mut self, value: Expression, label: std::sync::Arc<str>) -> Query {
        let column = self.column(label.clone(), value.r#type.clone());
        let plan = Plan::Project {
            input: Box::new(Plan::Unit),
            columns: vec![(column.clone(), value)],
        };
        Query {
            plan,
            outputs: vec![Output { label, column }],
            bare: true,
            kind: ResultKind::Single,
        }
    }

    fn set_query(&mut self, operation: &'a ast::SetOperation) -> Bound<Query> {
        let left_span = body_span(&operation.left);
        let (left, right) = (self.body(&operation.left)?, self.body(&operation.right)?);
        let operator = set_operator(operation.operator);
        let (width, other) = (left.outputs.len(), right.outputs.len());
        if width != other {
            let message = format!(
                "{operator} needs queries of as many columns: the left one has {width}, the right one {other}"
            );
            return Err(type_error(body_span(&operation.right), message));
        }
        let mut types = Vec::with_capacity(width);
        for (a, b) in left.outputs.iter().zip(&right.outputs) {
            let (a, b) = (&a.column.r#type, &b.column.r#type);
            let common = match (a, b) {
                (Type::Any, _) | (_, Type::Any) => Some(Type::Any),
                (a, b) if a.is_number() && b.is_number() => Some(wider_number(a, b)),
                (a, b) => common_type(a, b, self.catalog),
            };
            let Some(common) = common else {
                let message = format!("{operator} of {a} and {b} does not fit");
                return Err(type_error(left_span.to(body_span(&operation.right)), message));
            };
            types.push(common);
        }
        let outputs: Vec<Output> = left
            .outputs
            .iter()
            .zip(&types)
            .map(|(output, r#type)| Output {
                label: output.label.clone(),
                column: self.column(output.label.clone(), r#type.clone()),
            })
            .collect();
        let bare = left.bare;
        let plan = Plan::SetOperation {
            operator,
            all: operation.all,
            left: self.converted(left, &types),
            right: self.converted(right, &types),
            columns: outputs.iter().map(|output| output.column.clone()).collect(),
        };
        let kind = if operation.all {
            ResultKind::Bag
        } else {
            ResultKind::Set
        };
        Ok(Query {
            plan,
            outputs,
            bare,
            kind,
        })
    }

    /// The plan of a query with its numbers converted to these types, and its columns.
    fn converted(&mut self, query: Query, types: &[Type]) -> (Box<Plan>, Vec<Column>) {
        let columns: Vec<Column> = query.outputs.into_iter().map(|output| output.column).collect();
        let differs = |(column, r#type): (&Column, &Type)| column.r#type != *r#type && r#type.is_number();
        if !columns.iter().zip(types).any(differs) {
            return (Box::new(query.plan), columns);
        }
        let projected: Vec<(Column, Expression)> = columns
            .iter()
            .zip(types)
            .map(|(column, r#type)| {
                let mut value = Expression::column(column.clone(), Default::default());
                super::types::widen(&mut value, r#type);
                (self.column(column.name.clone(), value.r#type.clone()), value)
            })
            .collect();
        let columns = projected.iter().map(|(column, _)| column.clone()).collect();
        let plan = Plan::Project {
            input: Box::new(query.plan),
            columns: projected,
        };
        (Box::new(plan), columns)
    }

    /// Orders and cuts a query by its outputs.
    fn tail(&mut self, query: Query, tail: Tail<'a>) -> Bound<Query> {
        let (limit, offset) = self.limits(tail)?;
        let Query {
            mut plan,
            outputs,
            bare,
            mut kind,
        } = query;
        if !tail.order_by.is_empty() {
            let mut scope = Scope::query();
            scope.clause = Clause::Result;
            let alias = |output: &Output| {
                (
                    output.label.clone(),
                    Expression::column(output.column.clone(), Default::default()),
                )
            };
            scope.aliases = outputs.iter().map(alias).collect();
            if let ([only], true) = (outputs.as_slice(), bare) {
                scope.single = true;
                scope.ranges = vec![RangeVariable::new(None, only.column.clone())];
            }
            let columns: Vec<Expression> = scope.aliases.iter().map(|(_, value)| value.clone()).collect();
            let (keys, scope) = self.within(scope, |binder| binder.sort_keys(tail.order_by, &columns))?;
            if let Some(aggregate) = scope.aggregates.first() {
                let message = format!("{aggregate} cannot order the result of a set operator");
                let span = tail
                    .order_by
                    .first()
                    .map(|item| item.value.span)
                    .unwrap_or_default();
                return Err(QueryError::new(QueryErrorCode::Grouping, span, message));
            }
            plan = Plan::Sort {
                input: Box::new(plan),
                keys,
            };
            kind = ResultKind::List;
        }
        let plan = limited(plan, limit, offset);
        Ok(Query {
            plan,
            outputs,
            bare,
            kind,
        })
    }

    /// Binds the keys of `order by`; a number alone is one of the `columns` of the result.
    pub(super) fn sort_keys(
        &mut self,
        items: &'a [ast::OrderItem],
        columns: &[Expression],
    ) -> Bound<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let expression = match &item.value.kind {
                ExprKind::Literal(ast::Literal(Value::Int(number))) => {
                    numbered(columns, *number, item.value.span)?
                }
                _ => self.expression(&item.value)?,
            };
            let nulls = match (item.nulls, item.descending) {
                (Some(ast::Nulls::First), _) | (None, false) => NullsOrder::First,
                (Some(ast::Nulls::Last), _) | (None, true) => NullsOrder::Last,
            };
            keys.push(SortKey {
                expression,
                descending: item.descending,
                nulls,
            });
        }
        Ok(keys)
    }

    /// Binds `limit` and `offset`, which see no row of the query.
    pub(super) fn limits(&mut self, tail: Tail<'a>) -> Bound<(Option<Expression>, Option<Expression>)> {
        let limit = tail.limit.map(|limit| self.int(limit)).transpose()?;
        let offset = tail.offset.map(|offset| self.int(offset)).transpose()?;
        Ok((limit, offset))
    }
}

/// The column of this number, counted from 1.
fn numbered(columns: &[Expression], number: i64, span: Span) -> Bound<Expression> {
    let place = usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_sub(1));
    let Some(column) = place.and_then(|place| columns.get(place)) else {
        let columns = match columns.len() {
            1 => "one column".to_string(),
            count => format!("{count} columns"),
        };
        let message = format!("order by {number} is a column that is not there: the result has {columns}");
        return Err(QueryError::new(QueryErrorCode::UnknownName, span, message));
    };
    let mut column = column.clone();
    column.span = span;
    Ok(column)
}

/// The plan, cut.
pub(super) fn limited(plan: Plan, limit: Option<Expression>, offset: Option<Expression>) -> Plan {
    if limit.is_none() && offset.is_none() {
        return plan;
    }
    Plan::Limit {
        input: Box::new(plan),
        limit,
        offset,
    }
}

fn body_span(body: &QueryBody) -> Span {
    match body {
        QueryBody::Select(select) => select.span,
        QueryBody::Set(operation) => body_span(&operation.left).to(body_span(&operation.right)),
        QueryBody::Nested(query) => query.span,
        QueryBody::Expression(expr) => expr.span,
    }
}
