//! Expressions by level of precedence, loosest first; comparisons are in `comparison.rs`, what binds tighter than
//! unary minus in `postfix.rs`.

use super::combinators::{cut, name, symbol, word};
use super::comparison::{coalescence_operand, comparison};
use super::input::{Expected, Input, Parsed, Scope};
use super::literal::{negated, smallest_int};
use super::postfix::postfix;
use super::query::select;
use crate::query::ast::{BinaryOperator, Expr, ExprKind, Query, QueryBody, SetOperation, SetOperator};
use crate::query::token::TokenKind;

/// ```ebnf
/// expression = disjunction ;
/// ```
/// Set operators are between collections.
pub(super) fn expression(input: Input<'_>) -> Parsed<'_, Expr> {
    let scope = Scope {
        set_operators: true,
        select_operands: false,
    };
    input.scoped(scope, |input| input.nested(disjunction))
}

/// ```ebnf
/// clause_expression = disjunction ;
/// ```
/// An expression in a clause of a `select`, where a set operator outside brackets ends the query.
pub(super) fn clause_expression(input: Input<'_>) -> Parsed<'_, Expr> {
    let scope = Scope {
        set_operators: false,
        select_operands: false,
    };
    input.scoped(scope, |input| input.nested(disjunction))
}

/// ```ebnf
/// disjunction = conjunction { "or" conjunction } ;
/// ```
pub(super) fn disjunction(input: Input<'_>) -> Parsed<'_, Expr> {
    chain(
        input,
        "or",
        conjunction,
        |operand| match operand {
            Expr {
                kind: ExprKind::Or(operands),
                ..
            } => operands,
            other => vec![other],
        },
        ExprKind::Or,
    )
}

/// ```ebnf
/// conjunction = negation { "and" negation } ;
/// ```
pub(super) fn conjunction(input: Input<'_>) -> Parsed<'_, Expr> {
    chain(
        input,
        "and",
        negation,
        |operand| match operand {
            Expr {
                kind: ExprKind::And(operands),
                ..
            } => operands,
            other => vec![other],
        },
        ExprKind::And,
    )
}

/// One or more operands with a keyword between; two or more become one node.
fn chain<'a>(
    input: Input<'a>,
    keyword: &'static str,
    operand: fn(Input<'a>) -> Parsed<'a, Expr>,
    flatten: fn(Expr) -> Vec<Expr>,
    build: fn(Vec<Expr>) -> ExprKind,
) -> Parsed<'a, Expr> {
    let start = input;
    let (mut input, first) = operand(input)?;
    if !input.is_word(keyword) {
        return Ok((input, first));
    }
    let mut operands = flatten(first);
    while input.is_word(keyword) {
        let (rest, next) = input.ahead(1).beside(operand)?;
        operands.extend(flatten(next));
        input = rest;
    }
    input.raise()?;
    Ok((input, Expr::new(build(operands), start.span_to(input))))
}

/// ```ebnf
/// negation = "not" negation | quantified | comparison ;
/// ```
pub(super) fn negation(input: Input<'_>) -> Parsed<'_, Expr> {
    if input.is_word("not") {
        let (rest, operand) = input.ahead(1).nested(negation)?;
        let span = input.span_to(rest);
        return Ok((rest, Expr::new(ExprKind::Not(Box::new(operand)), span)));
    }
    let opens_query = input.ahead(1).is(TokenKind::OpenParenthesis);
    if input.is_word("for") || input.is_word("exists") && !opens_query {
        quantified(input)
    } else {
        comparison(input)
    }
}

const QUANTIFIED: &str = "a quantifier is written `for all x in c: p` or `exists x in c: p`";

/// ```ebnf
/// quantified = ( "for" "all" | "exists" ) name "in" coalescence ":" disjunction ;
/// ```
pub(super) fn quantified(input: Input<'_>) -> Parsed<'_, Expr> {
    let start = input;
    let all = input.is_word("for");
    let mut input = input.ahead(1);
    if all {
        input = cut(QUANTIFIED, word("all"))(input)?.0;
    }
    let (input, (variable, _, collection, _)) = cut(
        QUANTIFIED,
        (name, word("in"), coalescence_operand, symbol(TokenKind::Colon)),
    )(input)?;
    let (input, predicate) = input.beside(|input| input.nested(disjunction))?;
    let kind = ExprKind::Quantified {
        all,
        variable,
        collection: Box::new(collection),
        predicate: Box::new(predicate),
    };
    Ok((input, Expr::new(kind, start.span_to(input))))
}

/// Operands of one level of left-associative operators, folded to the left.
pub(super) fn fold<'a>(
    input: Input<'a>,
    operand: fn(Input<'a>) -> Parsed<'a, Expr>,
    operator: fn(Input<'a>) -> Option<(Input<'a>, BinaryOperator)>,
    build: fn(BinaryOperator, Expr, Expr) -> ExprKind,
) -> Parsed<'a, Expr> {
    let start = input;
    let (mut input, mut left) = operand(input)?;
    while let Some((rest, operator)) = operator(input) {
        let (rest, right) = rest.beside(operand)?;
        rest.raise()?;
        left = Expr::new(build(operator, left, right), start.span_to(rest));
        input = rest;
    }
    Ok((input, left))
}

/// The node of an operator that is nothing but that.
pub(super) fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> ExprKind {
    ExprKind::Binary {
        operator,
        left: Box::new(left),
        right: Box::new(right),
    }
}

/// ```ebnf
/// set_expression = intersection { ( "union" | "except" ) [ "all" ] intersection } ;
/// ```
/// At the beginning of a query, operands may be an unbracketed `select`.
pub(super) fn set_expression(input: Input<'_>) -> Parsed<'_, Expr> {
    let scope = Scope {
        select_operands: input.state.query_start.get() == input.at,
        ..input.state.scope.get()
    };
    input.scoped(scope, |input| {
        fold(input, intersection, union_operator, set_operation)
    })
}

/// ```ebnf
/// intersection = set_operand { "intersect" [ "all" ] set_operand } ;
/// ```
pub(super) fn intersection(input: Input<'_>) -> Parsed<'_, Expr> {
    fold(input, set_operand, intersect_operator, set_operation)
}

fn union_operator(input: Input<'_>) -> Option<(Input<'_>, BinaryOperator)> {
    if input.is_word("union") {
        set_operator(input, SetOperator::Union)
    } else if input.is_word("except") {
        set_operator(input, SetOperator::Except)
    } else {
        None
    }
}

fn intersect_operator(input: Input<'_>) -> Option<(Input<'_>, BinaryOperator)> {
    let found = input.is_word("intersect");
    found
        .then(|| set_operator(input, SetOperator::Intersect))
        .flatten()
}

fn set_operator(input: Input<'_>, operator: SetOperator) -> Option<(Input<'_>, BinaryOperator)> {
    if !input.state.scope.get().set_operators {
        return None;
    }
    let all = input.ahead(1).is_word("all");
    let rest = input.ahead(1 + usize::from(all));
    Some((rest, BinaryOperator::Set { operator, all }))
}

/// ```ebnf
/// set_operand = select | additive ;
/// ```
pub(super) fn set_operand(input: Input<'_>) -> Parsed<'_, Expr> {
    if !(input.is_word("select") && input.state.scope.get().select_operands) {
        return additive(input);
    }
    let (rest, select) = select(input)?;
    rest.state.bare_select.set(true);
    let span = select.span;
    let query = Query::of(QueryBody::Select(Box::new(select)), span);
    Ok((rest, Expr::new(ExprKind::Subquery(Box::new(query)), span)))
}

/// A set operation between collections is an expression; with a query on either side it is a query.
fn set_operation(operator: BinaryOperator, left: Expr, right: Expr) -> ExprKind {
    let BinaryOperator::Set { operator: which, all } = operator else {
        return binary(operator, left, right);
    };
    let is_query = |operand: &Expr| matches!(operand.kind, ExprKind::Subquery(_));
    if !is_query(&left) && !is_query(&right) {
        return binary(operator, left, right);
    }
    let span = left.span.to(right.span);
    let operation = SetOperation {
        operator: which,
        all,
        left: query_body(left),
        right: query_body(right),
    };
    ExprKind::Subquery(Box::new(Query::of(QueryBody::Set(Box::new(operation)), span)))
}

/// The body that an expression makes as a query.
pub(super) fn query_body(operand: Expr) -> QueryBody {
    match operand.kind {
        ExprKind::Subquery(query) if query.is_bare() => query.body,
        ExprKind::Subquery(query) => QueryBody::Nested(query),
        _ => QueryBody::Expression(Box::new(operand)),
    }
}

/// ```ebnf
/// additive = multiplicative { ( "+" | "-" | "||" ) multiplicative } ;
/// ```
pub(super) fn additive(input: Input<'_>) -> Parsed<'_, Expr> {
    fold(input, multiplicative, additive_operator, binary)
}

fn additive_operator(input: Input<'_>) -> Option<(Input<'_>, BinaryOperator)> {
    let operator = match input.kind() {
        TokenKind::Plus => BinaryOperator::Add,
        TokenKind::Minus => BinaryOperator::Subtract,
        TokenKind::Concatenate => BinaryOperator::Concatenate,
        _ => return None,
    };
    Some((input.ahead(1), operator))
}

/// ```ebnf
/// multiplicative = unary { ( "*" | "/" | "%" | "mod" ) unary } ;
/// ```
pub(super) fn multiplicative(input: Input<'_>) -> Parsed<'_, Expr> {
    fold(input, unary, multiplicative_operator, binary)
}

fn multiplicative_operator(input: Input<'_>) -> Option<(Input<'_>, BinaryOperator)> {
    let operator = match input.kind() {
        TokenKind::Star => BinaryOperator::Multiply,
        TokenKind::Slash => BinaryOperator::Divide,
        TokenKind::Percent => BinaryOperator::Remainder,
        TokenKind::Word if input.is_word("mod") => BinaryOperator::Remainder,
        _ => return None,
    };
    Some((input.ahead(1), operator))
}

/// ```ebnf
/// unary = "-" unary | postfix ;
/// ```
/// A minus before a number makes a negative literal.
pub(super) fn unary(input: Input<'_>) -> Parsed<'_, Expr> {
    if !input.is(TokenKind::Minus) {
        return postfix(input);
    }
    if let Some(literal) = smallest_int(input) {
        let rest = input.ahead(2);
        return Ok((rest, Expr::new(ExprKind::Literal(literal), input.span_to(rest))));
    }
    let (rest, operand) = input.ahead(1).nested(unary)?;
    let folded = match &operand.kind {
        ExprKind::Literal(literal) => negated(literal),
        _ => None,
    };
    let kind = match folded {
        Some(literal) => ExprKind::Literal(literal),
        None => ExprKind::Negate(Box::new(operand)),
    };
    Ok((rest, Expr::new(kind, input.span_to(rest))))
}

/// Notes that an operator might have followed an operand here.
pub(super) fn note_operator(input: Input<'_>) {
    input.note(Expected::Rule("an operator"));
}
