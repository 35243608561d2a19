//! Calls: functions of the library, what looks like one, and aggregates.
//!
//! An aggregate whose argument is a collection is that collection's. Over anything else it belongs to the innermost
//! query that contains it, and its argument is over the rows before grouping, where a group label is the key itself.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use super::scope::Clause;
use super::types::{is_collection, type_error};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::Type;
use crate::query::ast::{self, ExprKind};
use crate::query::function;
use crate::query::plan::{
    Aggregate, AggregateFunction, Expression, ExpressionKind, Output, Plan, Query, ResultKind, Subquery,
    SubqueryForm,
};

impl<'a> Binder<'a> {
    pub(super) fn call(&mut self, expr: &'a ast::Expr) -> Bound<Expression> {
        let ExprKind::Call {
            function: name,
            distinct,
            arguments,
        } = &expr.kind
        else {
            return self.row_aggregate(AggregateFunction::CountRows, false, None, expr.span);
        };
        if let Some(found) = self.named_query_call(name, arguments, expr.span)? {
            return Ok(found);
        }
        let lower = name.text.to_ascii_lowercase();
        if let Some(aggregate) = aggregate_function(&lower) {
            return self.aggregate(aggregate, *distinct, arguments, name, expr.span);
        }
        if *distinct {
            let message = format!("{} takes no distinct; aggregates do", name.text);
            return Err(QueryError::new(
                QueryErrorCode::UnknownFunction,
                name.span,
                message,
            ));
        }
        match (lower.as_str(), arguments.as_slice()) {
            (
                "element",
                [
                    ast::Expr {
                        kind: ExprKind::Subquery(query),
                        ..
                    },
                ],
            ) => self.element_of_any_width(query, expr.span),
            ("coalesce", [_, ..]) => {
                let mut operands = self.expressions(arguments)?;
                self.coalesce_of(&mut operands, expr.span)
            }
            ("is_undefined", [operand]) => self.defined(operand, false, expr.span),
            ("is_defined", [operand]) => self.defined(operand, true, expr.span),
            _ => self.library_call(name, arguments, expr.span),
        }
    }

    fn defined(&mut self, operand: &'a ast::Expr, defined: bool, span: Span) -> Bound<Expression> {
        let operand = Box::new(self.expression(operand)?);
        let nil = Expression::new(ExpressionKind::IsNil(operand), Type::Bool, span);
        if !defined {
            return Ok(nil);
        }
        Ok(Expression::new(
            ExpressionKind::Not(Box::new(nil)),
            Type::Bool,
            span,
        ))
    }

    fn library_call(
        &mut self,
        name: &ast::Name,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Bound<Expression> {
        // A query as sole argument is its rows where the function takes a collection, else its one value.
        if let [
            only @ ast::Expr {
                kind: ExprKind::Subquery(_),
                ..
            },
        ] = arguments
        {
            let rows = self.collection(only)?;
            if let Ok((function, r#type)) =
                function::resolve(&name.text, std::slice::from_ref(&rows.r#type), name.span)
            {
                return Ok(self.called(function, name, vec![rows], r#type, span));
            }
        }
        let arguments = self.expressions(arguments)?;
        let types: Vec<Type> = arguments.iter().map(|argument| argument.r#type.clone()).collect();
        let (function, r#type) = function::resolve(&name.text, &types, name.span)?;
        Ok(self.called(function, name, arguments, r#type, span))
    }

    fn called(
        &self,
        function: crate::query::plan::FunctionId,
        name: &ast::Name,
        arguments: Vec<Expression>,
        r#type: Type,
        span: Span,
    ) -> Expression {
        let name: Arc<str> = name.text.to_ascii_lowercase().into();
        Expression::new(
            ExpressionKind::Call {
                function,
                name,
                arguments,
            },
            r#type,
            span,
        )
    }

    fn aggregate(
        &mut self,
        function: AggregateFunction,
        distinct: bool,
        arguments: &'a [ast::Expr],
        name: &ast::Name,
        span: Span,
    ) -> Bound<Expression> {
        let [argument] = arguments else {
            let message = format!("{function} takes one argument, not {}", arguments.len());
            return Err(
                QueryError::new(QueryErrorCode::UnknownFunction, name.span, message)
                    .hint("the least and the greatest of several values: least(..), greatest(..)"),
            );
        };
        if let ExprKind::Subquery(query) = &argument.kind {
            return self.query_aggregate(function, distinct, query, span);
        }
        let bound = self.expression(argument)?;
        if is_collection(&bound.r#type) {
            return self.collection_aggregate(function, distinct, bound, span);
        }
        if self.uses_aggregates(&bound) {
            let message = "an aggregate cannot stand in the argument of an aggregate of the same query";
            return Err(QueryError::new(QueryErrorCode::Grouping, argument.span, message));
        }
        let bound = self.rebind_over_rows(argument, bound)?;
        self.row_aggregate(function, distinct, Some(bound), span)
    }

    fn uses_aggregates(&mut self, argument: &Expression) -> bool {
        self.innermost().is_some_and(|scope| {
            argument.uses(&|column| {
                scope
                    .aggregates
                    .iter()
                    .any(|aggregate| aggregate.column.id == column)
            })
        })
    }

    /// The argument over the rows before grouping, where it was bound with a group label in it.
    fn rebind_over_rows(&mut self, argument: &'a ast::Expr, bound: Expression) -> Bound<Expression> {
        let Some(scope) = self.innermost() else {
            return Ok(bound);
        };
        let labelled = bound.uses(&|column| scope.keys.iter().any(|key| key.column.id == column));
        if !labelled || scope.clause != Clause::Result {
            return Ok(bound);
        }
        scope.clause = Clause::Argument;
        let rebound = self.expression(argument);
        if let Some(scope) = self.innermost() {
            scope.clause = Clause::Result;
        }
        rebound
    }

    /// An aggregate over the rows of the innermost query.
    fn row_aggregate(
        &mut self,
        function: AggregateFunction,
        distinct: bool,
        argument: Option<Expression>,
        span: Span,
    ) -> Bound<Expression> {
        self.check_place(function, argument.as_ref(), span)?;
        let member = argument
            .as_ref()
            .map_or(Type::Any, |argument| argument.r#type.clone());
        let r#type = aggregate_type(function, &member, span)?;
        let known = self.innermost().and_then(|scope| {
            let same = |known: &&Aggregate| {
                known.function == function && known.distinct == distinct && known.argument == argument
            };
            scope
                .aggregates
                .iter()
                .find(same)
                .map(|known| known.column.clone())
        });
        if let Some(column) = known {
            return Ok(Expression::column(column, span));
        }
        let mut aggregate = Aggregate {
            column: self.column("", r#type),
            function,
            distinct,
            argument,
        };
        aggregate.column.name = aggregate.to_string().into();
        let column = aggregate.column.clone();
        if let Some(scope) = self.innermost() {
            scope.aggregates.push(aggregate);
        }
        Ok(Expression::column(column, span))
    }

    /// Refuses an aggregate where its query has no rows to aggregate yet.
    fn check_place(
        &mut self,
        function: AggregateFunction,
        argument: Option<&Expression>,
        span: Span,
    ) -> Bound<()> {
        let grouping = |message: String| QueryError::new(QueryErrorCode::Grouping, span, message);
        let variables: Vec<_> = self
            .scopes
            .iter()
            .rev()
            .take_while(|scope| !scope.query)
            .flat_map(|scope| scope.ranges.iter().map(|range| range.column.id))
            .collect();
        match self.innermost().map(|scope| scope.clause) {
            Some(Clause::Result) => {}
            Some(Clause::Argument) => {
                return Err(grouping(format!(
                    "{function} cannot stand in the argument of another aggregate"
                )));
            }
            Some(Clause::Rows) => {
                return Err(grouping(format!("{function} cannot stand in from, where or group by"))
                    .hint("conditions on aggregates stand in having; a collection's own is written count(x.friends)"));
            }
            None => {
                return Err(grouping(format!(
                    "{function} of a single value needs a query around it"
                )));
            }
        }
        if argument.is_some_and(|argument| argument.uses(&|column| variables.contains(&column))) {
            return Err(grouping(format!(
                "{function} is over the rows of the query, and cannot use a variable of a quantifier"
            )));
        }
        Ok(())
    }

    fn collection_aggregate(
        &mut self,
        function: AggregateFunction,
        distinct: bool,
        collection: Expression,
        span: Span,
    ) -> Bound<Expression> {
        // The extent of a class is a query: its rows are aggregated as they come, never held.
        if let ExpressionKind::Subquery(subquery) = &collection.kind
            && subquery.form == SubqueryForm::Collection
        {
            let query = Arc::unwrap_or_clone(subquery.query.clone());
            return self.aggregated_query(function, distinct, query, span);
        }
        let member = collection.r#type.member().cloned().unwrap_or(Type::Any);
        let r#type = aggregate_type(function, &member, span)?;
        let kind = ExpressionKind::Aggregate {
            function,
            distinct,
            collection: Box::new(collection),
        };
        Ok(Expression::new(kind, r#type, span))
    }

    fn query_aggregate(
        &mut self,
        function: AggregateFunction,
        distinct: bool,
        query: &'a ast::Query,
        span: Span,
    ) -> Bound<Expression> {
        let query = self.query(query)?;
        self.aggregated_query(function, distinct, query, span)
    }

    /// The aggregate of the rows of a query, as a subquery of one row.
    fn aggregated_query(
        &mut self,
        function: AggregateFunction,
        distinct: bool,
        query: Query,
        span: Span,
    ) -> Bound<Expression> {
        let (function, argument) = match (query.outputs.as_slice(), function) {
            ([only], _) => (function, Some(Expression::column(only.column.clone(), span))),
            (_, AggregateFunction::Count) if !distinct => (AggregateFunction::CountRows, None),
            (outputs, _) => {
                let message = format!(
                    "{function} needs a query of one column, but this has {}",
                    outputs.len()
                );
                return Err(QueryError::new(QueryErrorCode::Type, span, message));
            }
        };
        let member = argument
            .as_ref()
            .map_or(Type::Any, |argument| argument.r#type.clone());
        let r#type = aggregate_type(function, &member, span)?;
        let mut aggregate = Aggregate {
            column: self.column("", r#type.clone()),
            function,
            distinct,
            argument,
        };
        aggregate.column.name = aggregate.to_string().into();
        let output = Output {
            label: function.to_string().into(),
            column: aggregate.column.clone(),
        };
        let plan = Plan::Group {
            input: Box::new(query.plan),
            keys: Vec::new(),
            aggregates: vec![aggregate],
            partition: None,
        };
        let query = Query {
            plan,
            outputs: vec![output],
            bare: true,
            kind: ResultKind::Bag,
        };
        self.subquery(SubqueryForm::Element, query, r#type, span)
    }

    /// A subquery expression of this type.
    pub(super) fn subquery(
        &mut self,
        form: SubqueryForm,
        query: Query,
        r#type: Type,
        span: Span,
    ) -> Bound<Expression> {
        let mut subquery = Subquery {
            number: self.subquery_number(span)?,
            form,
            query: Arc::new(query),
            outer: Vec::new(),
        };
        subquery.outer = subquery.free_columns();
        Ok(Expression::new(
            ExpressionKind::Subquery(Box::new(subquery)),
            r#type,
            span,
        ))
    }
}

fn aggregate_function(name: &str) -> Option<AggregateFunction> {
    Some(match name {
        "count" => AggregateFunction::Count,
        "sum" => AggregateFunction::Sum,
        "avg" => AggregateFunction::Avg,
        "min" => AggregateFunction::Min,
        "max" => AggregateFunction::Max,
        _ => return None,
    })
}

fn aggregate_type(function: AggregateFunction, member: &Type, span: Span) -> Bound<Type> {
    function::aggregate::result_type(function, member).ok_or_else(|| {
        type_error(
            span,
            format!("{function} needs numbers, but these are of type {member}"),
        )
    })
}
