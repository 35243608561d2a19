//! The entry points: scripts, statements and queries.

use super::failure::query_error;
use super::input::{Expected, Failure, Input, Parsed, State};
use super::statement::statement;
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::query::ast::{
    AlterClass, ClassChange, Expr, ExprKind, MethodDefinition, Query, Statement, StatementKind, Value,
};
use crate::query::roomy::{may_nest, with_room};
use crate::query::token::{TokenKind, Tokens, tokenize};

/// Parses a whole script: statements that end with `;` (the last may omit it).
///
/// # Errors
/// The first error in the text; its span is in bytes of `text`, and line and column are filled in.
pub fn parse_script(text: &str) -> Result<Vec<Statement>, QueryError> {
    let tokens = tokenize(text).map_err(|failed| failed.error.locate(text))?;
    with_room(may_nest(text), || parse_tokens(text, &tokens)).unwrap_or_else(|error| {
        let message = format!("the text is long and the system gives no thread to parse it in: {error}");
        Err(QueryError::new(QueryErrorCode::TooComplex, Span::new(0, text.len()), message).locate(text))
    })
}

fn parse_tokens(text: &str, tokens: &Tokens) -> Result<Vec<Statement>, QueryError> {
    let state = State::new(text, tokens);
    match script(state.input()) {
        Ok((_, statements)) => Ok(statements),
        Err(nom::Err::Error(failure) | nom::Err::Failure(failure)) => {
            Err(query_error(state.input(), failure).locate(text))
        }
        Err(nom::Err::Incomplete(_)) => Err(query_error(state.input(), Failure::Expected(None)).locate(text)),
    }
}

/// ```ebnf
/// script = { ";" } [ statement { ";" { ";" } statement } { ";" } ] ;
/// ```
pub(super) fn script(input: Input<'_>) -> Parsed<'_, Vec<Statement>> {
    let mut input = input;
    let mut statements = Vec::new();
    loop {
        while input.is(TokenKind::Semicolon) {
            input = input.ahead(1);
        }
        if input.is(TokenKind::End) {
            return Ok((input, statements));
        }
        input.state.statement_start.set(input.at);
        let (rest, next) = statement(input)?;
        statements.push(next);
        if !matches!(rest.kind(), TokenKind::Semicolon | TokenKind::End) {
            return rest.fail(Expected::Text(";"));
        }
        input = rest;
    }
}

/// Parses one statement, with or without its `;`.
///
/// # Errors
/// As [`parse_script`]; also if there is none, or more than one.
pub fn parse_statement(text: &str) -> Result<Statement, QueryError> {
    let mut statements = parse_script(text)?.into_iter();
    let Some(first) = statements.next() else {
        let span = Span::new(text.len(), text.len());
        return Err(QueryError::new(QueryErrorCode::Syntax, span, "there is no statement").locate(text));
    };
    match statements.next() {
        None => Ok(first),
        Some(second) => {
            let message = "one statement is expected, and here begins another";
            Err(QueryError::new(QueryErrorCode::Syntax, second.span, message).locate(text))
        }
    }
}

/// Parses one query, with or without a `;`.
///
/// # Errors
/// As [`parse_statement`]; also if the statement is none that only reads.
pub fn parse_query(text: &str) -> Result<Query, QueryError> {
    let statement = parse_statement(text)?;
    match statement.kind {
        StatementKind::Query(query) => Ok(*query),
        _ => {
            let message = "a query is expected: `select ..`, or an expression";
            Err(QueryError::new(QueryErrorCode::Syntax, statement.span, message).locate(text))
        }
    }
}

/// Parses an expression that stands alone.
///
/// # Errors
/// As [`parse_statement`].
pub fn parse_expression(text: &str) -> Result<Expr, QueryError> {
    let statement = parse_statement(&format!("name value = {text}"))?;
    match statement.kind {
        StatementKind::Name { value, .. } => Ok(value),
        _ => Err(QueryError::new(
            QueryErrorCode::Syntax,
            statement.span,
            "an expression is expected",
        )),
    }
}

/// Parses a method without the word before it: `full_name(): string as first || ' ' || last`.
///
/// # Errors
/// As [`parse_statement`].
pub fn parse_method(text: &str) -> Result<MethodDefinition, QueryError> {
    const BEFORE: &str = "alter class C add method ";
    let parsed = parse_statement(&format!("{BEFORE}{text}")).map_err(|mut error| {
        let within = |at: usize| at.saturating_sub(BEFORE.len());
        error.span = Span::new(within(error.span.start), within(error.span.end));
        error.locate(text)
    });
    match parsed?.kind {
        StatementKind::AlterClass(AlterClass {
            change: ClassChange::AddMethod(method),
            ..
        }) => Ok(*method),
        _ => Err(QueryError::new(
            QueryErrorCode::Syntax,
            Span::new(0, text.len()),
            "a method is expected",
        )),
    }
}

/// The value of a text that is one literal; `None` where it is anything else.
pub fn parse_literal(text: &str) -> Option<Value> {
    match parse_expression(text).ok()?.kind {
        ExprKind::Literal(literal) => Some(literal.0),
        _ => None,
    }
}

/// Whether the text ends inside a string, comment, backquotes or bracket, or lacks the `;` of its last statement: a
/// shell then reads another line.
pub fn needs_more(text: &str) -> bool {
    match tokenize(text) {
        Err(failed) => failed.open,
        Ok(read) => {
            let mut last = read.tokens.iter().rev().skip(1);
            last.next()
                .is_some_and(|token| token.kind != TokenKind::Semicolon)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_knows_when_to_read_on() {
        for text in [
            "select 1",
            "select '",
            "select 1; select",
            "/* a",
            "select (1",
            "select `a;",
        ] {
            assert!(needs_more(text), "{text}");
        }
        for text in [
            "",
            " ",
            "-- a",
            "select 1;",
            "select 1; -- a",
            "select ';';",
            "select 1 ? 2",
            "select (1;",
        ] {
            assert!(!needs_more(text), "{text}");
        }
    }
}
