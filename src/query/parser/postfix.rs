//! Steps: what follows an operand and binds tightest.

use super::combinators::{attribute_name, class_name, cut, optional_list, symbol, word};
use super::expression::{expression, note_operator};
use super::input::{Expected, Input, Parsed};
use super::primary::primary;
use crate::error::{QueryError, QueryErrorCode};
use crate::query::ast::{Expr, ExprKind, Name, PathStep, Repetitions};
use crate::query::token::TokenKind;

/// ```ebnf
/// postfix = primary { step | index | "!" } ;
/// ```
pub(super) fn postfix(input: Input<'_>) -> Parsed<'_, Expr> {
    let (rest, operand) = primary(input)?;
    steps(input, rest, operand)
}

/// The steps after `operand`, which begins at `start`.
pub(super) fn steps<'a>(start: Input<'a>, input: Input<'a>, operand: Expr) -> Parsed<'a, Expr> {
    let (mut input, mut operand) = (input, operand);
    loop {
        let (rest, kind) = match input.kind() {
            TokenKind::Dot | TokenKind::DotLess => step(input, operand)?,
            TokenKind::OpenBracket => input.beside(|input| index(input, operand))?,
            TokenKind::Exclamation => (input.ahead(1), ExprKind::NotNil(Box::new(operand))),
            TokenKind::OpenBrace => return misplaced_repetitions(input, operand),
            _ => {
                note_operator(input);
                return Ok((input, operand));
            }
        };
        rest.raise()?;
        operand = Expr::new(kind, start.span_to(rest));
        input = rest;
    }
}

/// A `{` after an operand: if it looks like a count it is a closure on the wrong thing, else somebody else's.
fn misplaced_repetitions<'a>(input: Input<'a>, operand: Expr) -> Parsed<'a, Expr> {
    if !input.ahead(1).is(TokenKind::Int) {
        note_operator(input);
        return Ok((input, operand));
    }
    let error = QueryError::new(
        QueryErrorCode::Syntax,
        input.span(),
        "a closure repeats an attribute, a reverse step or a path in brackets",
    );
    input.refuse(error.hint("write `x.attribute{1,}` or `x.(path){1,}`"))
}

const STEP: &str =
    "after a dot stands an attribute, a method with its arguments, or a path in brackets that is repeated";

/// ```ebnf
/// step = "." attribute_name [ arguments ] [ repetitions ]
///      | reverse_step [ repetitions ]
///      | "." path repetitions ;
/// ```
pub(super) fn step(input: Input<'_>, object: Expr) -> Parsed<'_, ExprKind> {
    if input.is(TokenKind::DotLess) {
        let (input, (class, attribute)) = reverse_step(input)?;
        return reverse(input, object, class, attribute);
    }
    let input = input.ahead(1);
    if input.is(TokenKind::OpenParenthesis) {
        let (input, path) = path(input)?;
        let (input, repetitions) = cut(REPETITIONS, repetitions)(input)?;
        return Ok((input, closure(object, path, repetitions)));
    }
    let (input, name) = cut(STEP, attribute_name)(input)?;
    if !input.is(TokenKind::OpenParenthesis) {
        if is_repetitions(input) {
            return repeated_step(input, object, PathStep::Attribute(name));
        }
        let object = Box::new(object);
        return Ok((input, ExprKind::Attribute { object, name }));
    }
    let (input, arguments) = cut(STEP, arguments)(input)?;
    if is_repetitions(input) {
        return repeated_step(input, object, PathStep::Method { name, arguments });
    }
    let object = Box::new(object);
    let kind = ExprKind::Method {
        object,
        name,
        arguments,
    };
    Ok((input, kind))
}

/// A closure over one step.
fn repeated_step<'a>(input: Input<'a>, object: Expr, step: PathStep) -> Parsed<'a, ExprKind> {
    let (input, repetitions) = repetitions(input)?;
    Ok((input, closure(object, vec![step], repetitions)))
}

fn reverse<'a>(input: Input<'a>, object: Expr, class: Name, attribute: Name) -> Parsed<'a, ExprKind> {
    if !is_repetitions(input) {
        let object = Box::new(object);
        return Ok((
            input,
            ExprKind::Reverse {
                object,
                class,
                attribute,
            },
        ));
    }
    repeated_step(input, object, PathStep::Reverse { class, attribute })
}

fn closure(start: Expr, path: Vec<PathStep>, repetitions: Repetitions) -> ExprKind {
    ExprKind::Closure {
        start: Box::new(start),
        path,
        repetitions,
    }
}

/// ```ebnf
/// arguments = "(" [ expression { "," expression } ] ")" ;
/// ```
pub(super) fn arguments(input: Input<'_>) -> Parsed<'_, Vec<Expr>> {
    input.beside(optional_list(expression))
}

const REVERSE: &str = "a reverse step is written `x.<Class.attribute`";

/// ```ebnf
/// reverse_step = ".<" class_name "." attribute_name ;
/// ```
pub(super) fn reverse_step(input: Input<'_>) -> Parsed<'_, (Name, Name)> {
    let (input, _) = symbol(TokenKind::DotLess)(input)?;
    let (input, (class, _, attribute)) =
        cut(REVERSE, (class_name, symbol(TokenKind::Dot), attribute_name))(input)?;
    Ok((input, (class, attribute)))
}

const INDEX: &str = "in square brackets stand `[i]`, `[a:b]`, `[is Class]` or `[where p]`";

/// ```ebnf
/// index = narrowing | filter | "[" expression [ ":" expression ] "]" ;
/// ```
pub(super) fn index(input: Input<'_>, operand: Expr) -> Parsed<'_, ExprKind> {
    if input.ahead(1).is_word("is") {
        let (input, class) = narrowing(input)?;
        let operand = Box::new(operand);
        return Ok((input, ExprKind::Narrow { operand, class }));
    }
    let collection = Box::new(operand);
    if input.ahead(1).is_word("where") {
        let (input, predicate) = filter(input)?;
        let predicate = Box::new(predicate);
        return Ok((
            input,
            ExprKind::Filter {
                collection,
                predicate,
            },
        ));
    }
    let (input, _) = symbol(TokenKind::OpenBracket)(input)?;
    let (input, first) = cut(INDEX, expression)(input)?;
    if !input.is(TokenKind::Colon) {
        let (input, _) = cut(INDEX, symbol(TokenKind::CloseBracket))(input)?;
        let index = Box::new(first);
        return Ok((input, ExprKind::Index { collection, index }));
    }
    let (input, to) = input.ahead(1).beside(cut(INDEX, expression))?;
    let (input, _) = cut(INDEX, symbol(TokenKind::CloseBracket))(input)?;
    let kind = ExprKind::Slice {
        collection,
        from: Box::new(first),
        to: Box::new(to),
    };
    Ok((input, kind))
}

/// ```ebnf
/// narrowing = "[" "is" class_name "]" ;
/// ```
pub(super) fn narrowing(input: Input<'_>) -> Parsed<'_, Name> {
    let (input, _) = symbol(TokenKind::OpenBracket)(input)?;
    let (input, (_, class, _)) =
        cut(INDEX, (word("is"), class_name, symbol(TokenKind::CloseBracket)))(input)?;
    Ok((input, class))
}

/// ```ebnf
/// filter = "[" "where" expression "]" ;
/// ```
pub(super) fn filter(input: Input<'_>) -> Parsed<'_, Expr> {
    let (input, _) = symbol(TokenKind::OpenBracket)(input)?;
    let (input, (_, predicate, _)) = cut(
        INDEX,
        (word("where"), expression, symbol(TokenKind::CloseBracket)),
    )(input)?;
    Ok((input, predicate))
}

const PATH: &str = "a path in brackets is written `(attribute.attribute[where p])`";

/// ```ebnf
/// path = "(" ( attribute_name [ arguments ] [ repetitions ] | path_step ) { path_step } ")" ;
/// ```
pub(super) fn path(input: Input<'_>) -> Parsed<'_, Vec<PathStep>> {
    input.nested(|input| {
        let (input, _) = symbol(TokenKind::OpenParenthesis)(input)?;
        let (mut input, first) = cut(PATH, first_step)(input)?;
        let mut steps = vec![first];
        while !input.is(TokenKind::CloseParenthesis) {
            let (rest, next) = input.beside(cut(PATH, path_step))?;
            rest.raise()?;
            steps.push(next);
            input = rest;
        }
        Ok((input.ahead(1), steps))
    })
}

fn first_step(input: Input<'_>) -> Parsed<'_, PathStep> {
    match input.kind() {
        TokenKind::DotLess => path_step(input),
        TokenKind::OpenParenthesis => repeated_path(input),
        _ => attribute_step(input),
    }
}

/// ```ebnf
/// path_step = "." attribute_name [ arguments ] [ repetitions ]
///           | reverse_step [ repetitions ]
///           | [ "." ] path repetitions
///           | narrowing | filter ;
/// ```
/// A path within a path has a dot before it, but at the beginning.
pub(super) fn path_step(input: Input<'_>) -> Parsed<'_, PathStep> {
    match input.kind() {
        TokenKind::DotLess => {
            let (input, (class, attribute)) = reverse_step(input)?;
            repeated(input, PathStep::Reverse { class, attribute })
        }
        TokenKind::Dot if input.ahead(1).is(TokenKind::OpenParenthesis) => repeated_path(input.ahead(1)),
        TokenKind::Dot => attribute_step(input.ahead(1)),
        TokenKind::OpenBracket if input.ahead(1).is_word("is") => {
            let (input, class) = narrowing(input)?;
            Ok((input, PathStep::Narrow(class)))
        }
        TokenKind::OpenBracket => {
            let (input, predicate) = filter(input)?;
            Ok((input, PathStep::Filter(Box::new(predicate))))
        }
        _ => input.fail(Expected::Rule("a step of the path")),
    }
}

fn attribute_step(input: Input<'_>) -> Parsed<'_, PathStep> {
    let (input, name) = attribute_name(input)?;
    if !input.is(TokenKind::OpenParenthesis) {
        return repeated(input, PathStep::Attribute(name));
    }
    let (input, arguments) = cut(STEP, arguments)(input)?;
    repeated(input, PathStep::Method { name, arguments })
}

fn repeated_path(input: Input<'_>) -> Parsed<'_, PathStep> {
    let (input, path) = path(input)?;
    let (input, repetitions) = cut(REPETITIONS, repetitions)(input)?;
    Ok((input, PathStep::Closure { path, repetitions }))
}

fn repeated(input: Input<'_>, step: PathStep) -> Parsed<'_, PathStep> {
    if !is_repetitions(input) {
        return Ok((input, step));
    }
    let (input, repetitions) = repetitions(input)?;
    let path = vec![step];
    Ok((input, PathStep::Closure { path, repetitions }))
}

/// Whether a count begins here: `{` also opens the body of a class.
fn is_repetitions(input: Input<'_>) -> bool {
    input.is(TokenKind::OpenBrace) && !matches!(input.ahead(1).kind(), TokenKind::Word | TokenKind::Quoted)
}

const REPETITIONS: &str = "a closure is written `{m,n}`, `{m,}` or `{n}`";

/// ```ebnf
/// repetitions = "{" INT [ "," [ INT ] ] "}" ;
/// ```
pub(super) fn repetitions(input: Input<'_>) -> Parsed<'_, Repetitions> {
    let start = input;
    let (input, _) = symbol(TokenKind::OpenBrace)(input)?;
    let (mut input, least) = cut(REPETITIONS, count)(input)?;
    let mut greatest = Some(least);
    if input.is(TokenKind::Comma) {
        input = input.ahead(1);
        greatest = None;
        if input.is(TokenKind::Int) {
            let (rest, number) = count(input)?;
            greatest = Some(number);
            input = rest;
        }
    }
    let (input, _) = cut(REPETITIONS, symbol(TokenKind::CloseBrace))(input)?;
    let span = start.span_to(input);
    if greatest.is_some_and(|greatest| greatest < least) {
        let message = "the least number of repetitions is above the greatest";
        return start.refuse(QueryError::new(QueryErrorCode::Syntax, span, message));
    }
    let repetitions = Repetitions {
        least,
        greatest,
        span,
    };
    Ok((input, repetitions))
}

fn count(input: Input<'_>) -> Parsed<'_, u32> {
    let (rest, span) = symbol(TokenKind::Int)(input)?;
    match input.text().parse() {
        Ok(number) => Ok((rest, number)),
        Err(_) => input.refuse(QueryError::new(
            QueryErrorCode::OutOfRange,
            span,
            format!("a number of repetitions is at most {}", u32::MAX),
        )),
    }
}
