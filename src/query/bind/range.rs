//! `from`: the ranges, left to right.

use super::binder::{Binder, Bound};
use super::projection::label_of;
use super::scope::RangeVariable;
use super::subquery::row_type;
use super::types::type_error;
use crate::error::{QueryError, QueryErrorCode};
use crate::object::Type;
use crate::query::ast::{self, ExprKind, Join};
use crate::query::plan::{Column, Expression, ExpressionKind, JoinKind, Plan, Query};

/// What a range is over.
enum Source {
    /// A plan that does not depend on the ranges before, and its column.
    Independent(Box<Plan>, Column),
    /// A collection that may depend on the ranges before.
    Collection(Box<Expression>, Column),
}

impl<'a> Binder<'a> {
    /// Binds the ranges into the innermost scope, and gives the plan of their rows.
    pub(super) fn ranges(&mut self, ranges: &'a [ast::Range]) -> Bound<Plan> {
        let mut plan = None;
        for range in ranges {
            plan = Some(self.range(plan, range)?);
        }
        Ok(plan.unwrap_or(Plan::Unit))
    }

    fn range(&mut self, before: Option<Plan>, range: &'a ast::Range) -> Bound<Plan> {
        if let Some(name) = range.depth.as_ref().or(range.path.as_ref()) {
            return self.walk(before, range, name);
        }
        let source = self.source(range)?;
        let (Source::Independent(_, column) | Source::Collection(_, column)) = &source;
        self.declare(range, column.clone())?;
        let on = range.on.as_ref().map(|on| self.predicate(on)).transpose()?;
        Ok(joined(before, source, range.join, on))
    }

    /// A closure whose objects come with their depth or path.
    fn walk(&mut self, before: Option<Plan>, range: &'a ast::Range, first: &ast::Name) -> Bound<Plan> {
        let closure = self.range_collection(&range.source)?;
        let ExpressionKind::Closure { .. } = closure.kind else {
            let message = "with depth and with path tell of a closure, and this range is none";
            return Err(QueryError::new(QueryErrorCode::Definition, first.span, message)
                .hint("write the range as y in x.attribute{1,} with depth d"));
        };
        let reached = closure.r#type.member().cloned().unwrap_or(Type::Any);
        let name = range.variable.as_ref().map(|variable| variable.text.clone());
        let column = self.column(name.unwrap_or_else(|| "reached".into()), reached.clone());
        self.declare(range, column.clone())?;
        let depth = self.extra(range.depth.as_ref(), Type::Int)?;
        let path = self.extra(range.path.as_ref(), Type::list(reached))?;
        let on = range.on.as_ref().map(|on| self.predicate(on)).transpose()?;
        Ok(Plan::Walk {
            input: Box::new(before.unwrap_or(Plan::Unit)),
            column,
            depth,
            path,
            closure,
            outer: range.join == Join::Left,
            on,
        })
    }

    /// Declares the depth or path of a closure.
    fn extra(&mut self, name: Option<&ast::Name>, r#type: Type) -> Bound<Option<Column>> {
        let Some(name) = name else {
            return Ok(None);
        };
        let column = self.column(name.text.clone(), r#type);
        let taken = |scope: &mut super::scope::Scope<'a>| scope.range(&name.text).is_some();
        if self.innermost().is_some_and(taken) {
            let message = format!("two ranges are called {}", name.text);
            return Err(QueryError::new(QueryErrorCode::Duplicate, name.span, message));
        }
        if let Some(scope) = self.innermost() {
            scope.ranges.push(RangeVariable {
                name: Some(name.text.clone()),
                column: column.clone(),
                extra: true,
            });
        }
        Ok(Some(column))
    }

    fn source(&mut self, range: &'a ast::Range) -> Bound<Source> {
        if let ExprKind::Name(name) = &range.source.kind
            && (range.only || self.catalog.class(&name.text).is_some())
        {
            let (plan, column) = self.extent(name, range.variable.as_ref(), range.only)?;
            return Ok(Source::Independent(Box::new(plan), column));
        }
        let collection = self.range_collection(&range.source)?;
        let name = match &range.variable {
            Some(variable) => variable.text.clone(),
            None => label_of(&range.source).unwrap_or_else(|| "row".into()),
        };
        if let Some(query) = Self::independent_query(&collection) {
            let query = query.clone();
            let column = self.column(name, row_type(&query));
            return Ok(Source::Independent(
                Box::new(rows_as_column(query, &column)),
                column,
            ));
        }
        let member = self.member_of(&collection)?;
        if let Type::Map(..) = collection.r#type {
            return Err(type_error(range.source.span, "a map is no range"));
        }
        let column = self.column(name, member);
        Ok(Source::Collection(Box::new(collection), column))
    }

    fn range_collection(&mut self, source: &'a ast::Expr) -> Bound<Expression> {
        let ExprKind::Name(name) = &source.kind else {
            return self.collection(source);
        };
        self.name(name).map_err(|error| {
            // A word alone after `from` is most likely meant as a class.
            let unknown = error.code == QueryErrorCode::UnknownName && error.span == name.span;
            if unknown { self.unknown_class(name) } else { error }
        })
    }

    fn declare(&mut self, range: &ast::Range, column: Column) -> Bound<()> {
        let Some(scope) = self.innermost() else {
            return Ok(());
        };
        if let Some(variable) = &range.variable
            && scope.range(&variable.text).is_some()
        {
            let message = format!("two ranges are called {}", variable.text);
            return Err(QueryError::new(QueryErrorCode::Duplicate, variable.span, message));
        }
        let name = range.variable.as_ref().map(|variable| variable.text.clone());
        scope.ranges.push(RangeVariable::new(name, column));
        Ok(())
    }
}

/// The rows of a query in one column: its bare values, or structs.
fn rows_as_column(query: Query, column: &Column) -> Plan {
    let cell = |column: &Column| Expression::column(column.clone(), Default::default());
    let value = match query.outputs.as_slice() {
        [only] if query.bare => cell(&only.column),
        outputs => {
            let fields = outputs
                .iter()
                .map(|output| (output.label.clone(), cell(&output.column)))
                .collect();
            Expression::new(
                ExpressionKind::Struct(fields),
                column.r#type.clone(),
                Default::default(),
            )
        }
    };
    Plan::Project {
        input: Box::new(query.plan),
        columns: vec![(column.clone(), value)],
    }
}

fn joined(before: Option<Plan>, source: Source, join: Join, on: Option<Expression>) -> Plan {
    let left_join = join == Join::Left;
    match source {
        Source::Independent(plan, _) => match before {
            None => filtered(*plan, on),
            Some(left) => Plan::Join {
                left: Box::new(left),
                right: plan,
                kind: if left_join {
                    JoinKind::Left
                } else {
                    JoinKind::Inner
                },
                on,
            },
        },
        Source::Collection(collection, column) => {
            let (on, filter) = if left_join { (on, None) } else { (None, on) };
            let iterate = Plan::Iterate {
                input: Box::new(before.unwrap_or(Plan::Unit)),
                column,
                collection: *collection,
                outer: left_join,
                on,
            };
            filtered(iterate, filter)
        }
    }
}

fn filtered(plan: Plan, predicate: Option<Expression>) -> Plan {
    match predicate {
        None => plan,
        Some(predicate) => Plan::Filter {
            input: Box::new(plan),
            predicate,
        },
    }
}
