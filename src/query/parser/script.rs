//! The entry points: scripts, statements and queries.

use crate::error::{QueryError, QueryErrorCode, Span};
use crate::query::ast::{Query, Statement};

/// Parses a whole script: statements that end with `;` (the last may omit it).
///
/// # Errors
/// The first error in the text; its span is in bytes of `text`, and line and column are filled in.
pub fn parse_script(text: &str) -> Result<Vec<Statement>, QueryError> {
    Err(QueryError::new(
        QueryErrorCode::Unsupported,
        Span::new(0, text.len()),
        "not yet",
    ))
}

/// Parses one statement, with or without its `;`.
///
/// # Errors
/// As [`parse_script`]; also if there is none, or more than one.
pub fn parse_statement(text: &str) -> Result<Statement, QueryError> {
    Err(QueryError::new(
        QueryErrorCode::Unsupported,
        Span::new(0, text.len()),
        "not yet",
    ))
}

/// Parses one query, with or without a `;`.
///
/// # Errors
/// As [`parse_statement`]; also if the statement is none that only reads.
pub fn parse_query(text: &str) -> Result<Query, QueryError> {
    Err(QueryError::new(
        QueryErrorCode::Unsupported,
        Span::new(0, text.len()),
        "not yet",
    ))
}

/// Whether the text ends inside a string, comment, backquotes or bracket, or lacks the `;` of its last statement: a
/// shell then reads another line.
pub fn needs_more(text: &str) -> bool {
    !text.trim_end().ends_with(';')
}
