//! `select`: the order in which its parts are bound, and the plan they make.

use super::binder::{Binder, Bound};
use super::group::{leftover, replace, settle};
use super::projection::Item;
use super::query::{Tail, limited};
use super::scope::{Clause, Scope};
use crate::error::{QueryError, QueryErrorCode};
use crate::query::ast;
use crate::query::plan::{Column, Expression, Plan, Query, ResultKind, SortKey};

/// Ranges of a query.
const MOST_RANGES: usize = 128;
/// Columns that a query shows.
const MOST_COLUMNS: usize = 4_096;
/// Keys that a query groups or sorts by.
const MOST_KEYS: usize = 1_024;

/// A `select` as its parts are bound, in one scope.
struct Parts {
    /// The rows of `from` and `where`.
    plan: Plan,
    /// `having`
    having: Option<Expression>,
    /// The projection.
    items: Vec<Item>,
    /// Whether a row is the bare value of the one item.
    bare: bool,
    /// `order by`
    order: Vec<SortKey>,
}

impl<'a> Binder<'a> {
    /// Binds a `select` with what orders and cuts it.
    pub(super) fn select(&mut self, select: &'a ast::Select, tail: Tail<'a>) -> Bound<Query> {
        check_width(select, tail)?;
        let (limit, offset) = self.limits(tail)?;
        let mut scope = Scope::query();
        scope.single = select.from.len() == 1;
        let (mut parts, scope) = self.within(scope, |binder| binder.select_parts(select, tail))?;
        if !scope.keys.is_empty() || !scope.aggregates.is_empty() || parts.having.is_some() {
            group(&mut parts, scope)?;
        }
        if select.distinct {
            return self.distinct(parts, limit, offset);
        }
        let Parts {
            mut plan,
            items,
            bare,
            order,
            ..
        } = parts;
        let kind = if order.is_empty() {
            ResultKind::Bag
        } else {
            ResultKind::List
        };
        if !order.is_empty() {
            plan = Plan::Sort {
                input: Box::new(plan),
                keys: order,
            };
        }
        let (outputs, columns) = self.outputs(items);
        let plan = Plan::Project {
            input: Box::new(limited(plan, limit, offset)),
            columns,
        };
        Ok(Query {
            plan,
            outputs,
            bare,
            kind,
        })
    }

    fn select_parts(&mut self, select: &'a ast::Select, tail: Tail<'a>) -> Bound<Parts> {
        let mut plan = self.ranges(&select.from)?;
        if let Some(filter) = &select.filter {
            let predicate = self.predicate(filter)?;
            plan = Plan::Filter {
                input: Box::new(plan),
                predicate,
            };
        }
        let keys = self.group_keys(&select.group_by)?;
        if let Some(scope) = self.innermost() {
            scope.keys = keys;
            scope.clause = Clause::Result;
        }
        let (items, bare) = self.projection(&select.projection)?;
        let having = select
            .having
            .as_ref()
            .map(|having| self.predicate(having))
            .transpose()?;
        if let Some(scope) = self.innermost() {
            let named = items.iter().filter(|item| item.named);
            scope.aliases = named
                .map(|item| (item.label.clone(), item.value.clone()))
                .collect();
        }
        let columns: Vec<Expression> = items.iter().map(|item| item.value.clone()).collect();
        let order = self.sort_keys(tail.order_by, &columns)?;
        Ok(Parts {
            plan,
            having,
            items,
            bare,
            order,
        })
    }

    /// `select distinct`: the order can only be by what is projected.
    fn distinct(
        &mut self,
        parts: Parts,
        limit: Option<Expression>,
        offset: Option<Expression>,
    ) -> Bound<Query> {
        let Parts {
            plan,
            items,
            bare,
            mut order,
            ..
        } = parts;
        let before = plan.columns();
        let (outputs, columns) = self.outputs(items);
        for key in &mut order {
            replace(&mut key.expression, &columns);
            if let Some((span, text)) = leftover(&key.expression, &before) {
                let message =
                    format!("{text} is not projected: select distinct is ordered only by what it shows");
                return Err(QueryError::new(QueryErrorCode::Grouping, span, message));
            }
        }
        let held = outputs.iter().map(|output| output.column.clone()).collect();
        let plan = Plan::Project {
            input: Box::new(plan),
            columns,
        };
        let mut plan = Plan::Distinct {
            input: Box::new(plan),
            columns: held,
        };
        let mut kind = ResultKind::Set;
        if !order.is_empty() {
            plan = Plan::Sort {
                input: Box::new(plan),
                keys: order,
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
}

/// Refuses a query so wide that planning it would take long.
fn check_width(select: &ast::Select, tail: Tail<'_>) -> Bound<()> {
    let items = match &select.projection {
        ast::Projection::Items(items) => items.as_slice(),
        ast::Projection::All(_) => &[],
    };
    let beyond = [
        (
            "ranges",
            MOST_RANGES,
            select.from.get(MOST_RANGES).map(|range| range.source.span),
        ),
        (
            "columns",
            MOST_COLUMNS,
            items.get(MOST_COLUMNS).map(|item| item.value.span),
        ),
        (
            "group keys",
            MOST_KEYS,
            select.group_by.get(MOST_KEYS).map(|key| key.value.span),
        ),
        (
            "sort keys",
            MOST_KEYS,
            tail.order_by.get(MOST_KEYS).map(|key| key.value.span),
        ),
    ];
    for (what, most, place) in beyond {
        if let Some(span) = place {
            let message = format!("a query has at most {most} {what}, and this one has more");
            return Err(QueryError::new(QueryErrorCode::TooComplex, span, message));
        }
    }
    Ok(())
}

/// Puts the groups over the rows, and makes all results expressions over the groups.
fn group(parts: &mut Parts, scope: Scope<'_>) -> Bound<()> {
    let Scope {
        keys,
        aggregates,
        partition,
        ranges,
        ..
    } = scope;
    let ranges: Vec<Column> = ranges.into_iter().map(|range| range.column).collect();
    let keys: Vec<(Column, Expression)> = keys.into_iter().map(|key| (key.column, key.expression)).collect();
    for item in &mut parts.items {
        settle(&mut item.value, &keys, &ranges)?;
    }
    for key in &mut parts.order {
        settle(&mut key.expression, &keys, &ranges)?;
    }
    if let Some(having) = &mut parts.having {
        settle(having, &keys, &ranges)?;
    }
    let input = Box::new(std::mem::replace(&mut parts.plan, Plan::Unit));
    parts.plan = Plan::Group {
        input,
        keys,
        aggregates,
        partition,
    };
    if let Some(predicate) = parts.having.take() {
        let input = Box::new(std::mem::replace(&mut parts.plan, Plan::Unit));
        parts.plan = Plan::Filter { input, predicate };
    }
    Ok(())
}
