//! Queries.

use super::{Expr, Name};
use crate::error::Span;

/// A query: its body, and what orders and cuts its result.
#[derive(Debug, Clone)]
pub struct Query {
    /// `with n as (query), ...`: queries named for this one.
    pub with: Vec<With>,
    /// What gives the rows.
    pub body: QueryBody,
    /// `order by ...`; empty if the result has no order. Never on a body that is an [`QueryBody::Expression`].
    pub order_by: Vec<OrderItem>,
    /// `limit e`
    pub limit: Option<Expr>,
    /// `offset e`
    pub offset: Option<Expr>,
    /// `as of ...`; only on the query that is the whole statement.
    pub as_of: Option<AsOf>,
    /// Where it stands.
    pub span: Span,
}

impl Query {
    /// The query that is `body` alone.
    pub fn of(body: QueryBody, span: Span) -> Self {
        Query {
            with: Vec::new(),
            body,
            order_by: Vec::new(),
            limit: None,
            offset: None,
            as_of: None,
            span,
        }
    }

    /// Whether there is nothing but the body.
    pub fn is_bare(&self) -> bool {
        self.with.is_empty() && self.as_of.is_none() && !self.has_tail()
    }

    /// Whether there is `order by`, `limit` or `offset`.
    pub fn has_tail(&self) -> bool {
        !self.order_by.is_empty() || self.limit.is_some() || self.offset.is_some()
    }
}

impl PartialEq for Query {
    fn eq(&self, other: &Self) -> bool {
        self.with == other.with
            && self.body == other.body
            && self.order_by == other.order_by
            && self.limit == other.limit
            && self.offset == other.offset
            && self.as_of == other.as_of
    }
}

/// What gives the rows of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// `select ...`
    Select(Box<Select>),
    /// `q union q`, `q intersect q`, `q except q`. A set operation over collections alone, without `order by`,
    /// `limit` or `offset`, is an [`ExprKind::Binary`](super::ExprKind::Binary) instead.
    Set(Box<SetOperation>),
    /// `(query)` with a `with`, order, limit or offset of its own, inside another query's set operation or tail.
    Nested(Box<Query>),
    /// A bare expression: `count(Person)`.
    Expression(Box<Expr>),
}

/// A set operation between two queries.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperation {
    /// Which one.
    pub operator: SetOperator,
    /// Whether duplicates are kept.
    pub all: bool,
    /// The left query.
    pub left: QueryBody,
    /// The right query.
    pub right: QueryBody,
}

/// `union`, `intersect` or `except`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOperator {
    /// In either.
    Union,
    /// In both; binds tighter than the other two.
    Intersect,
    /// In the left, not in the right.
    Except,
}

/// `n as (query)` of a `with`.
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// The name.
    pub name: Name,
    /// What it stands for.
    pub query: Query,
}

/// The older state a statement reads.
#[derive(Debug, Clone, PartialEq)]
pub enum AsOf {
    /// `as of commit N`: an int literal or a parameter.
    Commit(Expr),
    /// `as of timestamp '..'`: a timestamp literal or a parameter.
    Timestamp(Expr),
}

/// `select ... from ... where ... group by ... having ...`
#[derive(Debug, Clone)]
pub struct Select {
    /// Whether each row comes once.
    pub distinct: bool,
    /// What a row shows.
    pub projection: Projection,
    /// The ranges, left to right; empty for a `select` without `from`.
    pub from: Vec<Range>,
    /// `where e`
    pub filter: Option<Expr>,
    /// `group by ...`; empty if not grouped.
    pub group_by: Vec<GroupKey>,
    /// `having e`; only with `group by`.
    pub having: Option<Expr>,
    /// Where it stands.
    pub span: Span,
}

impl PartialEq for Select {
    fn eq(&self, other: &Self) -> bool {
        self.distinct == other.distinct
            && self.projection == other.projection
            && self.from == other.from
            && self.filter == other.filter
            && self.group_by == other.group_by
            && self.having == other.having
    }
}

/// What a row shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Projection {
    /// `*`
    All(
        /// Where it stands.
        Star,
    ),
    /// One or more expressions.
    Items(Vec<ProjectionItem>),
}

/// The place of a `*`; all are equal.
#[derive(Debug, Clone, Copy)]
pub struct Star(pub Span);

impl PartialEq for Star {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// `e as n`, or `n: e`.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectionItem {
    /// The label, if one is given.
    pub label: Option<Name>,
    /// The value.
    pub value: Expr,
}

/// `n: e` of a `group by`.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupKey {
    /// The label, if one is given.
    pub label: Option<Name>,
    /// The key.
    pub value: Expr,
}

/// One key of an `order by`.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// The key.
    pub value: Expr,
    /// Whether larger values come first.
    pub descending: bool,
    /// `nulls first|last`; `None`: first, and last under `desc`.
    pub nulls: Option<Nulls>,
}

/// Where nil is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nulls {
    /// Before all values.
    First,
    /// After all values.
    Last,
}

/// A range of `from`: `Person p`, `f in p.friends`, `left join Dept d on d = p.dept`.
///
/// `x in e` and `e as x` are the same range.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// How it meets the ranges before it.
    pub join: Join,
    /// `only C`: without the subclasses. The source is then a [`ExprKind::Name`](super::ExprKind::Name).
    pub only: bool,
    /// What it ranges over: a [`ExprKind::Name`](super::ExprKind::Name) (a class, a named root or query, or a
    /// variable), or any other expression.
    pub source: Expr,
    /// The range variable, if one is given.
    pub variable: Option<Name>,
    /// `with depth d`; the source is then an [`ExprKind::Closure`](super::ExprKind::Closure).
    pub depth: Option<Name>,
    /// `with path p`; the source is then an [`ExprKind::Closure`](super::ExprKind::Closure).
    pub path: Option<Name>,
    /// `on e` of a join.
    pub on: Option<Expr>,
}

/// How a range meets those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Join {
    /// The first range, or one after a comma: dependent product.
    Product,
    /// `join`: the same, with an optional `on`.
    Inner,
    /// `left join`: a row that finds no partner is kept, with nil.
    Left,
}
