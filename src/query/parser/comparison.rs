//! Comparisons, which are not associative, and what stands on their right.

use super::combinators::{class_name, comma_list, cut, flag, symbol, word};
use super::expression::{binary, expression, fold, set_expression};
use super::input::{Expected, Input, Parsed};
use super::literal::{literal, negated, smallest_int};
use super::query::bracketed;
use crate::error::{QueryError, QueryErrorCode};
use crate::query::ast::{BinaryOperator, ComparisonOperator, Expr, ExprKind, IsTest, Literal, Members};
use crate::query::token::TokenKind;

/// ```ebnf
/// comparison = coalescence [ relation | between | membership | pattern | test ] ;
/// ```
pub(super) fn comparison(input: Input<'_>) -> Parsed<'_, Expr> {
    let start = input;
    let (input, operand) = coalescence(input)?;
    let Some(tail) = comparison_tail(input) else {
        return Ok((input, operand));
    };
    let (rest, kind) = tail(input, operand)?;
    rest.raise()?;
    if comparison_tail(rest).is_some() {
        return rest.refuse(chained(rest));
    }
    Ok((rest, Expr::new(kind, start.span_to(rest))))
}

type Tail<'a> = fn(Input<'a>, Expr) -> Parsed<'a, ExprKind>;

/// What goes on with the comparison that begins here, if one does.
fn comparison_tail<'a>(input: Input<'a>) -> Option<Tail<'a>> {
    if relation_operator(input.kind()).is_some() {
        return Some(relation);
    }
    if input.kind() != TokenKind::Word {
        return None;
    }
    let verb = if input.is_word("not") {
        input.ahead(1)
    } else {
        input
    };
    if verb.is_word("in") {
        Some(membership)
    } else if verb.is_word("between") {
        Some(between)
    } else if verb.is_one_of(&["like", "ilike"]) {
        Some(pattern)
    } else if input.is_word("is") {
        Some(test)
    } else {
        None
    }
}

fn relation_operator(kind: TokenKind) -> Option<ComparisonOperator> {
    Some(match kind {
        TokenKind::Equal => ComparisonOperator::Equal,
        TokenKind::NotEqual => ComparisonOperator::NotEqual,
        TokenKind::Less => ComparisonOperator::Less,
        TokenKind::LessOrEqual => ComparisonOperator::LessOrEqual,
        TokenKind::Greater => ComparisonOperator::Greater,
        TokenKind::GreaterOrEqual => ComparisonOperator::GreaterOrEqual,
        _ => return None,
    })
}

fn chained(input: Input<'_>) -> QueryError {
    QueryError::new(QueryErrorCode::Syntax, input.span(), "comparisons do not chain")
        .hint("join them by `and`, or put one in brackets")
}

/// ```ebnf
/// coalescence = set_expression { "??" set_expression } ;
/// ```
pub(super) fn coalescence(input: Input<'_>) -> Parsed<'_, Expr> {
    fold(input, set_expression, coalesce_operator, binary)
}

fn coalesce_operator(input: Input<'_>) -> Option<(Input<'_>, BinaryOperator)> {
    let found = input.is(TokenKind::Coalesce);
    found.then(|| (input.ahead(1), BinaryOperator::Coalesce))
}

/// A coalescence that lies beside the operand read before.
pub(super) fn coalescence_operand(input: Input<'_>) -> Parsed<'_, Expr> {
    input.beside(coalescence)
}

/// ```ebnf
/// relation = ( "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" )
///            ( ( "any" | "some" | "all" ) members | coalescence ) ;
/// ```
pub(super) fn relation(input: Input<'_>, left: Expr) -> Parsed<'_, ExprKind> {
    let Some(operator) = relation_operator(input.kind()) else {
        return input.fail(Expected::Rule("a comparison"));
    };
    let input = input.ahead(1);
    let left = Box::new(left);
    if input.is_one_of(&["any", "some", "all"]) {
        let all = input.is_word("all");
        let (input, members) = members(input.ahead(1))?;
        let kind = ExprKind::CompareMembers {
            operator,
            all,
            left,
            members,
        };
        return Ok((input, kind));
    }
    let (input, right) = coalescence_operand(input)?;
    let kind = ExprKind::Compare {
        operator,
        left,
        right: Box::new(right),
    };
    Ok((input, kind))
}

const BETWEEN: &str = "a range is written `e between a and b`";

/// ```ebnf
/// between = [ "not" ] "between" coalescence "and" coalescence ;
/// ```
pub(super) fn between(input: Input<'_>, operand: Expr) -> Parsed<'_, ExprKind> {
    let (input, negated) = flag("not")(input)?;
    let (input, (_, low, _, high)) = cut(
        BETWEEN,
        (
            word("between"),
            coalescence_operand,
            word("and"),
            coalescence_operand,
        ),
    )(input)?;
    let kind = ExprKind::Between {
        operand: Box::new(operand),
        negated,
        low: Box::new(low),
        high: Box::new(high),
    };
    Ok((input, kind))
}

/// ```ebnf
/// membership = [ "not" ] "in" members ;
/// ```
pub(super) fn membership(input: Input<'_>, operand: Expr) -> Parsed<'_, ExprKind> {
    let (input, negated) = flag("not")(input)?;
    let (input, _) = word("in")(input)?;
    let (input, members) = cut("after `in` stands a collection, `(a, b)`, or `(query)`", members)(input)?;
    let kind = ExprKind::In {
        operand: Box::new(operand),
        negated,
        members,
    };
    Ok((input, kind))
}

/// ```ebnf
/// pattern = [ "not" ] ( "like" | "ilike" ) coalescence [ "escape" coalescence ] ;
/// ```
pub(super) fn pattern(input: Input<'_>, operand: Expr) -> Parsed<'_, ExprKind> {
    let (input, negated) = flag("not")(input)?;
    let ignore_case = input.is_word("ilike");
    let (mut input, pattern) = coalescence_operand(input.ahead(1))?;
    let mut escape = None;
    if input.is_word("escape") {
        let (rest, character) = coalescence_operand(input.ahead(1))?;
        escape = Some(Box::new(character));
        input = rest;
    }
    let kind = ExprKind::Like {
        operand: Box::new(operand),
        negated,
        ignore_case,
        pattern: Box::new(pattern),
        escape,
    };
    Ok((input, kind))
}

/// ```ebnf
/// test = "is" [ "not" ] ( "nil" | "null" | "empty" | "dangling" | class_name ) ;
/// ```
pub(super) fn test(input: Input<'_>, operand: Expr) -> Parsed<'_, ExprKind> {
    let (input, _) = word("is")(input)?;
    let (input, negated) = flag("not")(input)?;
    let (input, test) = if input.is_one_of(&["nil", "null"]) {
        (input.ahead(1), IsTest::Nil)
    } else if input.is_word("empty") {
        (input.ahead(1), IsTest::Empty)
    } else if input.is_word("dangling") {
        (input.ahead(1), IsTest::Dangling)
    } else {
        let (input, class) = cut("after `is` stands nil, empty, dangling or a class", class_name)(input)?;
        (input, IsTest::Class(class))
    };
    let kind = ExprKind::Is {
        operand: Box::new(operand),
        negated,
        test,
    };
    Ok((input, kind))
}

/// ```ebnf
/// members = "(" query ")" | "(" expression { "," expression } ")" | coalescence ;
/// ```
/// The bracketed forms only if nothing follows that makes the bracket the operand of an operator.
pub(super) fn members(input: Input<'_>) -> Parsed<'_, Members> {
    let alone = input.is(TokenKind::OpenParenthesis) && !input.after_partner().is_some_and(continues_operand);
    if !alone {
        // One level deeper, as it is when it is printed in brackets.
        let (input, collection) = input.nested(coalescence)?;
        return Ok((input, members_of(collection, false)));
    }
    if let Some((rest, values)) = literal_list(input)? {
        return Ok((rest, Members::Values(values)));
    }
    input.beside(|input| {
        let (input, first) = bracketed(input.ahead(1))?;
        if input.is(TokenKind::CloseParenthesis) {
            return Ok((input.ahead(1), members_of(first, true)));
        }
        let (input, _) = symbol(TokenKind::Comma)(input)?;
        let (input, others) = comma_list(expression)(input)?;
        let (input, _) = symbol(TokenKind::CloseParenthesis)(input)?;
        Ok((input, members_of_list(first, others)))
    })
}

/// Whether the bracket before `input` is an operand of something that binds tighter than a comparison.
fn continues_operand(input: Input<'_>) -> bool {
    use TokenKind::*;
    let symbols = [
        Dot,
        DotLess,
        OpenBracket,
        Exclamation,
        Plus,
        Minus,
        Concatenate,
        Star,
        Slash,
        Percent,
        Coalesce,
    ];
    let set_operators = input.state.scope.get().set_operators;
    symbols.contains(&input.kind())
        || input.is_word("mod")
        || set_operators && input.is_one_of(&["union", "intersect", "except"])
}

fn members_of(collection: Expr, bracketed: bool) -> Members {
    match collection.kind {
        ExprKind::Subquery(query) => Members::Query(query),
        ExprKind::Binary {
            operator: BinaryOperator::Set { .. },
            ..
        } => Members::One(Box::new(collection)),
        _ if bracketed => Members::One(Box::new(collection)),
        _ => Members::Of(Box::new(collection)),
    }
}

/// A list whose members all turn out to be literals, such as `(1, (2))`, is one like any other list of literals.
fn members_of_list(first: Expr, others: Vec<Expr>) -> Members {
    let mut list = vec![first];
    list.extend(others);
    let literals = list.iter().map(|member| match &member.kind {
        ExprKind::Literal(literal) => Some(literal.clone()),
        _ => None,
    });
    match literals.collect() {
        Some(values) => Members::Values(values),
        None => Members::List(list),
    }
}

/// Two or more literals in brackets, without a node for each; `None` if there is anything else.
///
/// Stops at the first token that is no part of such a list, so that the list is read again at most once.
fn literal_list(
    input: Input<'_>,
) -> Result<Option<(Input<'_>, Vec<Literal>)>, nom::Err<super::input::Failure>> {
    let mut input = input.ahead(1);
    let mut values = Vec::new();
    loop {
        let Some(parsed) = signed_literal(input) else {
            return Ok(None);
        };
        let (rest, value) = parsed?;
        values.push(value);
        input = rest.ahead(1);
        match rest.kind() {
            TokenKind::Comma => {}
            TokenKind::CloseParenthesis if values.len() > 1 => return Ok(Some((input, values))),
            _ => return Ok(None),
        }
    }
}

fn signed_literal(input: Input<'_>) -> Option<Parsed<'_, Literal>> {
    if !input.is(TokenKind::Minus) {
        return literal(input);
    }
    if let Some(smallest) = smallest_int(input) {
        return Some(Ok((input.ahead(2), smallest)));
    }
    match literal(input.ahead(1))? {
        Ok((rest, value)) => negated(&value).map(|value| Ok((rest, value))),
        failed => Some(failed),
    }
}
