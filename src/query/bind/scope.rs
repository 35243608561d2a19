//! Scopes: what names mean in one query, or under one quantifier.

use std::sync::Arc;

use crate::query::ast;
use crate::query::plan::{Aggregate, Column, Expression, Partition};

/// The part of a query that is being bound: it decides which names and aggregates may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clause {
    /// `from`, `where` and the group keys: over the rows of the ranges.
    Rows,
    /// `having`, the projection and `order by`: aggregates and group labels may stand.
    Result,
    /// The argument of an aggregate.
    Argument,
}

/// The names of one query, or the variable of one quantifier, member filter or member mapping.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    /// Whether this is a query.
    pub query: bool,
    /// The part of the query being bound.
    pub clause: Clause,
    /// The range variables so far, left to right.
    pub ranges: Vec<RangeVariable>,
    /// Whether the query has exactly one range, so that its attributes need no variable.
    pub single: bool,
    /// The group keys.
    pub keys: Vec<GroupKey>,
    /// Labels of the projection, for `order by`.
    pub aliases: Vec<(Arc<str>, Expression)>,
    /// The aggregates met so far.
    pub aggregates: Vec<Aggregate>,
    /// `partition`, once it has been used.
    pub partition: Option<Partition>,
    /// The queries that `with` names here.
    pub with: &'a [ast::With],
    /// The parameters of the definition that is bound here, and what they stand for.
    pub parameters: Vec<(Arc<str>, Expression)>,
}

/// A range variable.
#[derive(Debug, Clone)]
pub(super) struct RangeVariable {
    /// Its name; a range without one is reached by its bare attributes only.
    pub name: Option<Arc<str>>,
    /// Its column.
    pub column: Column,
    /// Whether it belongs to the range before it: the depth or path of a closure.
    pub extra: bool,
}

impl RangeVariable {
    /// The variable of a range.
    pub fn new(name: Option<Arc<str>>, column: Column) -> RangeVariable {
        RangeVariable {
            name,
            column,
            extra: false,
        }
    }
}

/// A group key.
#[derive(Debug, Clone)]
pub(super) struct GroupKey {
    /// Its label, if it has one.
    pub label: Option<Arc<str>>,
    /// The column that holds it in the grouped rows.
    pub column: Column,
    /// The key over the rows before.
    pub expression: Expression,
}

impl<'a> Scope<'a> {
    /// The scope of a query.
    pub fn query() -> Scope<'a> {
        Scope {
            query: true,
            clause: Clause::Rows,
            ranges: Vec::new(),
            single: false,
            keys: Vec::new(),
            aliases: Vec::new(),
            aggregates: Vec::new(),
            partition: None,
            with: &[],
            parameters: Vec::new(),
        }
    }

    /// The scope of a variable.
    pub fn variable(name: Arc<str>, column: Column) -> Scope<'a> {
        let name = Some(name);
        Scope {
            query: false,
            ranges: vec![RangeVariable::new(name, column)],
            ..Scope::query()
        }
    }

    /// The scope of the queries that `with` names.
    pub fn naming(with: &'a [ast::With]) -> Scope<'a> {
        Scope {
            query: false,
            with,
            ..Scope::query()
        }
    }

    /// The range variable called `name`.
    pub fn range(&self, name: &str) -> Option<&RangeVariable> {
        self.ranges
            .iter()
            .rev()
            .find(|range| range.name.as_deref() == Some(name))
    }
}
