//! Queries: what gives the rows, and what orders and cuts them.

use super::combinators::{comma_list, cut, flag, is_name, name, parenthesized, word};
use super::expression::{clause_expression, disjunction, query_body, set_expression};
use super::input::{Expected, Input, Parsed, Scope};
use super::literal::{literal, typed_literal};
use super::primary::parameter;
use super::range::ranges;
use crate::error::{QueryError, QueryErrorCode};
use crate::query::ast::{
    AsOf, BinaryOperator, Expr, ExprKind, GroupKey, Nulls, OrderItem, Projection, ProjectionItem, Query,
    QueryBody, Select, SetOperation, Star, With,
};
use crate::query::token::TokenKind;

/// ```ebnf
/// timed_query = query [ as_of ] ;
/// ```
pub(super) fn timed_query(input: Input<'_>) -> Parsed<'_, Query> {
    let (rest, mut query) = query(input)?;
    if !begins_as_of(rest) {
        return Ok((rest, query));
    }
    let (rest, time) = as_of(rest)?;
    query.as_of = Some(time);
    query.span = input.span_to(rest);
    Ok((rest, query))
}

/// ```ebnf
/// query = [ with ] ( set_expression | disjunction ) [ order_by ] [ limit ] [ offset ] ;
/// ```
/// A disjunction if it does not begin with `select`; what orders and cuts may not follow an expression alone.
pub(super) fn query(input: Input<'_>) -> Parsed<'_, Query> {
    let state = input.state;
    let (start, bare) = (state.query_start.get(), state.bare_select.replace(false));
    let parsed = input.nested(whole_query);
    state.query_start.set(start);
    state.bare_select.set(bare);
    parsed
}

fn whole_query(start: Input<'_>) -> Parsed<'_, Query> {
    let (mut input, mut named) = (start, Vec::new());
    if input.is_word("with") {
        (input, named) = input.beside(with)?;
    }
    let (body_end, body) = input.beside(query_operand)?;
    let (input, order_by) = optional(body_end, "order", order_by)?;
    let (input, limit) = optional(input, "limit", limit)?;
    let (input, offset) = optional(input, "offset", offset)?;
    let has_tail = input.at > body_end.at;
    let mut query = Query {
        with: named,
        body: QueryBody::Expression(Box::new(body)),
        order_by: order_by.unwrap_or_default(),
        limit,
        offset,
        as_of: None,
        span: start.span_to(input),
    };
    if has_tail && !can_be_cut(&query.body) {
        return body_end.refuse(nothing_to_cut(body_end));
    }
    settle_body(&mut query);
    Ok((input, query))
}

/// `parser` if the keyword is next, which then must succeed; `None` if it is not.
fn optional<'a, T>(
    input: Input<'a>,
    keyword: &'static str,
    parser: fn(Input<'a>) -> Parsed<'a, T>,
) -> Parsed<'a, Option<T>> {
    if input.is_word(keyword) {
        let (rest, parsed) = input.beside(parser)?;
        return Ok((rest, Some(parsed)));
    }
    input.note(Expected::Text(keyword));
    Ok((input, None))
}

fn query_operand(input: Input<'_>) -> Parsed<'_, Expr> {
    input.state.query_start.set(input.at);
    let scope = Scope {
        set_operators: true,
        select_operands: false,
    };
    if input.is_word("select") {
        return input.scoped(scope, set_expression);
    }
    let (rest, operand) = input.scoped(scope, disjunction)?;
    if input.state.bare_select.get() && !matches!(operand.kind, ExprKind::Subquery(_)) {
        let message = "this `select` is part of an expression";
        let error = QueryError::new(QueryErrorCode::Syntax, operand.span, message);
        return input.refuse(error.hint("put the `select` in brackets"));
    }
    Ok((rest, operand))
}

fn can_be_cut(body: &QueryBody) -> bool {
    let QueryBody::Expression(expression) = body else {
        return true;
    };
    matches!(
        expression.kind,
        ExprKind::Subquery(_)
            | ExprKind::Binary {
                operator: BinaryOperator::Set { .. },
                ..
            }
    )
}

fn nothing_to_cut(input: Input<'_>) -> QueryError {
    let message = format!("`{}` follows an expression, not a query", input.text());
    QueryError::new(QueryErrorCode::Syntax, input.span(), message)
        .hint("write `select x from x in e order by ..`")
}

/// Gives a query its body in the one form it has: a bracketed query that is all there is, is the query.
fn settle_body(query: &mut Query) {
    let has_tail = query.has_tail();
    let QueryBody::Expression(expression) = &mut query.body else {
        return;
    };
    let span = expression.span;
    let expression = std::mem::replace(&mut **expression, Expr::new(ExprKind::CountRows, span));
    match expression.kind {
        ExprKind::Binary {
            operator: BinaryOperator::Set { operator, all },
            left,
            right,
        } if has_tail => {
            let (left, right) = (query_body(*left), query_body(*right));
            let operation = SetOperation {
                operator,
                all,
                left,
                right,
            };
            query.body = QueryBody::Set(Box::new(operation));
        }
        ExprKind::Subquery(whole) if query.is_bare() => *query = *whole,
        _ => query.body = query_body(expression),
    }
}

/// What stands in brackets: a query, or an expression alone, as an expression.
pub(super) fn bracketed(input: Input<'_>) -> Parsed<'_, Expr> {
    let (rest, query) = query(input)?;
    let span = query.span;
    let bare = query.is_bare();
    Ok((
        rest,
        match query.body {
            QueryBody::Expression(expression) if bare => *expression,
            _ => Expr::new(ExprKind::Subquery(Box::new(query)), span),
        },
    ))
}

/// ```ebnf
/// with = "with" with_item { "," with_item } ;
/// ```
pub(super) fn with(input: Input<'_>) -> Parsed<'_, Vec<With>> {
    let (input, _) = word("with")(input)?;
    cut(
        "a `with` is written `with n as (query) select ..`",
        comma_list(with_item),
    )(input)
}

/// ```ebnf
/// with_item = name "as" "(" query ")" ;
/// ```
pub(super) fn with_item(input: Input<'_>) -> Parsed<'_, With> {
    let (input, name) = name(input)?;
    let (input, _) = word("as")(input)?;
    let (input, query) = parenthesized(query)(input)?;
    Ok((input, With { name, query }))
}

const SELECT: &str = "a query is written `select e, .. from C x where p group by e order by e limit n`";

/// ```ebnf
/// select = "select" [ "distinct" ] projection [ "from" ranges ] [ "where" clause_expression ]
///          [ group_by [ "having" clause_expression ] ] ;
/// ```
pub(super) fn select(start: Input<'_>) -> Parsed<'_, Select> {
    let (input, _) = word("select")(start)?;
    let distinct = input.is_word("distinct");
    let input = input.ahead(usize::from(distinct));
    let (input, projection) = cut(SELECT, projection)(input)?;
    let (input, from) = optional(input, "from", from)?;
    let (input, filter) = optional(input, "where", filter_clause)?;
    let (input, group_by) = optional(input, "group", group_by)?;
    let group_by = group_by.unwrap_or_default();
    let (mut input, mut having) = (input, None);
    if !group_by.is_empty() {
        (input, having) = optional(input, "having", having_clause)?;
    }
    let select = Select {
        distinct,
        projection,
        from: from.unwrap_or_default(),
        filter,
        group_by,
        having,
        span: start.span_to(input),
    };
    Ok((input, select))
}

fn from(input: Input<'_>) -> Parsed<'_, Vec<crate::query::ast::Range>> {
    cut(SELECT, ranges)(input.ahead(1))
}

fn having_clause(input: Input<'_>) -> Parsed<'_, Expr> {
    cut("`having` takes a condition on the group", clause_expression)(input.ahead(1))
}

/// The condition after the `where` here.
pub(super) fn filter_clause(input: Input<'_>) -> Parsed<'_, Expr> {
    cut("`where` takes a condition", clause_expression)(input.ahead(1))
}

/// ```ebnf
/// projection = "*" | projection_item { "," projection_item } ;
/// ```
pub(super) fn projection(input: Input<'_>) -> Parsed<'_, Projection> {
    if input.is(TokenKind::Star) {
        return Ok((input.ahead(1), Projection::All(Star(input.span()))));
    }
    let (input, items) = comma_list(projection_item)(input)?;
    Ok((input, Projection::Items(items)))
}

/// ```ebnf
/// projection_item = clause_expression [ "as" name ] | name ":" clause_expression ;
/// ```
pub(super) fn projection_item(input: Input<'_>) -> Parsed<'_, ProjectionItem> {
    let (input, label) = label(input)?;
    let (input, value) = clause_expression(input)?;
    if label.is_some() || begins_as_of(input) {
        return Ok((input, ProjectionItem { label, value }));
    }
    let Ok((input, _)) = word("as")(input) else {
        return Ok((input, ProjectionItem { label, value }));
    };
    let (input, name) = cut("after `as` stands the label of the column", name)(input)?;
    let label = Some(name);
    Ok((input, ProjectionItem { label, value }))
}

fn label(input: Input<'_>) -> Parsed<'_, Option<crate::query::ast::Name>> {
    if is_name(input) && input.ahead(1).is(TokenKind::Colon) {
        let (rest, name) = name(input)?;
        return Ok((rest.ahead(1), Some(name)));
    }
    Ok((input, None))
}

/// ```ebnf
/// group_by = "group" "by" group_key { "," group_key } ;
/// ```
pub(super) fn group_by(input: Input<'_>) -> Parsed<'_, Vec<GroupKey>> {
    let (input, _) = word("group")(input)?;
    let (input, (_, keys)) = cut(
        "grouping is written `group by e, label: e`",
        (word("by"), comma_list(group_key)),
    )(input)?;
    Ok((input, keys))
}

/// ```ebnf
/// group_key = [ name ":" ] clause_expression ;
/// ```
pub(super) fn group_key(input: Input<'_>) -> Parsed<'_, GroupKey> {
    let (input, label) = label(input)?;
    let (input, value) = clause_expression(input)?;
    Ok((input, GroupKey { label, value }))
}

/// ```ebnf
/// order_by = "order" "by" order_item { "," order_item } ;
/// ```
pub(super) fn order_by(input: Input<'_>) -> Parsed<'_, Vec<OrderItem>> {
    let (input, _) = word("order")(input)?;
    let (input, (_, items)) = cut(
        "order is written `order by e desc nulls last, ..`",
        (word("by"), comma_list(order_item)),
    )(input)?;
    Ok((input, items))
}

/// ```ebnf
/// order_item = clause_expression [ "asc" | "desc" ] [ "nulls" ( "first" | "last" ) ] ;
/// ```
pub(super) fn order_item(input: Input<'_>) -> Parsed<'_, OrderItem> {
    let (input, value) = clause_expression(input)?;
    let (input, descending) = direction(input)?;
    let (input, nulls) = flag("nulls")(input)?;
    if !nulls {
        let item = OrderItem {
            value,
            descending,
            nulls: None,
        };
        return Ok((input, item));
    }
    let (input, first) = flag("first")(input)?;
    let (input, nulls) = if first {
        (input, Nulls::First)
    } else {
        (
            cut("write `nulls first` or `nulls last`", word("last"))(input)?.0,
            Nulls::Last,
        )
    };
    let item = OrderItem {
        value,
        descending,
        nulls: Some(nulls),
    };
    Ok((input, item))
}

/// `asc`, `desc` or nothing; whether it is `desc`.
pub(super) fn direction(input: Input<'_>) -> Parsed<'_, bool> {
    let (input, ascending) = flag("asc")(input)?;
    if ascending {
        Ok((input, false))
    } else {
        flag("desc")(input)
    }
}

/// ```ebnf
/// limit = "limit" clause_expression ;
/// ```
pub(super) fn limit(input: Input<'_>) -> Parsed<'_, Expr> {
    let (input, _) = word("limit")(input)?;
    cut("`limit` takes the greatest number of rows", clause_expression)(input)
}

/// ```ebnf
/// offset = "offset" clause_expression ;
/// ```
pub(super) fn offset(input: Input<'_>) -> Parsed<'_, Expr> {
    let (input, _) = word("offset")(input)?;
    cut("`offset` takes the number of rows to skip", clause_expression)(input)
}

/// Whether `as of commit` or `as of timestamp` is next, which is no label.
pub(super) fn begins_as_of(input: Input<'_>) -> bool {
    input.is_word("as") && input.ahead(1).is_word("of") && input.ahead(2).is_one_of(&["commit", "timestamp"])
}

/// ```ebnf
/// as_of = "as" "of" ( "commit" ( INT | parameter ) | "timestamp" ( STRING | parameter ) ) ;
/// ```
pub(super) fn as_of(input: Input<'_>) -> Parsed<'_, AsOf> {
    let (input, _) = word("as")(input)?;
    let (input, _) = word("of")(input)?;
    let commit = input.is_word("commit");
    let value = input.ahead(1);
    let (rest, kind) = if value.is(TokenKind::Parameter) {
        parameter(value)?
    } else {
        let read = match value.kind() {
            TokenKind::Int if commit => literal(value),
            TokenKind::String if !commit => typed_literal(input),
            _ => None,
        };
        let (rest, literal) = read.unwrap_or_else(|| cut(AS_OF, no_state)(value))?;
        (rest, ExprKind::Literal(literal))
    };
    let value = Expr::new(kind, value.span_to(rest));
    Ok((
        rest,
        if commit {
            AsOf::Commit(value)
        } else {
            AsOf::Timestamp(value)
        },
    ))
}

const AS_OF: &str = "an older state is written `as of commit 42` or `as of timestamp '2026-11-30 12:00'`";

fn no_state<T>(input: Input<'_>) -> Parsed<'_, T> {
    input.fail(Expected::Rule("a commit number, a timestamp or a parameter"))
}
