//! From the farthest failure to an error a person can act on.

use super::input::{Expected, Failure, Farthest, Input};
use super::statement::{opening_words, opens_statement};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::query::nearest;
use crate::query::token::{TokenKind, is_reserved};

/// How much of a token an error shows, in characters.
const SHOWN: usize = 40;

/// How many of the things that would have been accepted an error names.
const NAMED: usize = 6;

/// The error that a failed parse ends in; `first` is the beginning of the text.
pub(super) fn query_error(first: Input<'_>, failure: Failure) -> QueryError {
    let sentence = match failure {
        Failure::Error(error) => return *error,
        Failure::Expected(sentence) => sentence,
    };
    let farthest = first.state.take_farthest();
    let here = first.at(farthest.at);
    if let Some(error) = unknown_statement(here) {
        return error;
    }
    let message = format!("{} where {} was expected", found(here), expected(&farthest));
    let error = QueryError::new(QueryErrorCode::Syntax, place(here), message);
    match hint(here, &farthest).or(sentence.map(str::to_owned)) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn place(here: Input<'_>) -> Span {
    if here.is(TokenKind::End) && here.at > 0 {
        let end = here.back().span().end;
        return Span::new(end, end);
    }
    here.span()
}

fn found(here: Input<'_>) -> String {
    if here.is(TokenKind::End) {
        return "the text ends".to_owned();
    }
    format!("found {}", shown(here.text()))
}

fn shown(text: &str) -> String {
    let text = text.lines().next().unwrap_or_default();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}..`", text.get(..end).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}

/// What would have been accepted: rules first, then symbols, then words.
fn expected(farthest: &Farthest) -> String {
    let mut expected = farthest.expected.clone();
    expected.sort_by_key(|item| match item {
        Expected::Rule(_) => 0,
        Expected::Text(text) if !text.starts_with(char::is_alphabetic) => 1,
        Expected::Text(_) => 2,
    });
    let mut names: Vec<String> = expected.iter().take(NAMED).map(|item| name_of(*item)).collect();
    if expected.len() > NAMED {
        names.push("another clause".to_owned());
    }
    match names.split_last() {
        None => "something else".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

fn name_of(item: Expected) -> String {
    match item {
        Expected::Rule(rule) => rule.to_owned(),
        Expected::Text(text) => format!("`{text}`"),
    }
}

/// A statement whose first word is misspelt, such as `selct`, reads as an expression for a while.
fn unknown_statement(here: Input<'_>) -> Option<QueryError> {
    let start = here.at(here.state.statement_start.get());
    let distance = here.at.checked_sub(start.at)?;
    let next = start.ahead(1).kind();
    let plain = begins_operand(next) || next == TokenKind::Star;
    if start.kind() != TokenKind::Word || is_reserved(start.text()) || !(1..=3).contains(&distance) || !plain
    {
        return None;
    }
    let words = opening_words().chain(["select", "with"]);
    let meant = nearest(start.text(), words)?;
    let message = format!("{} begins no statement", shown(start.text()));
    let error = QueryError::new(QueryErrorCode::Syntax, start.span(), message);
    (!meant.eq_ignore_ascii_case(start.text())).then(|| error.hint(format!("did you mean `{meant}`?")))
}

fn begins_operand(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        Word | Quoted | Object | Parameter | String | Bytes | Int | Float | Decimal
    )
}

/// A sentence for a mistake that many make.
fn hint(here: Input<'_>, farthest: &Farthest) -> Option<String> {
    bracket_left_open(here)
        .or_else(|| foreign_symbol(here, farthest))
        .or_else(|| misplaced_clause(here, farthest))
        .or_else(|| missing_semicolon(here, farthest))
        .or_else(|| misspelt_keyword(here, farthest))
        .or_else(|| reserved_name(here, farthest))
        .or_else(|| label_without_as(here, farthest))
}

fn expects(farthest: &Farthest, rule: &'static str) -> bool {
    farthest.expected.contains(&Expected::Rule(rule))
}

fn foreign_symbol(here: Input<'_>, farthest: &Farthest) -> Option<String> {
    let before = here.back().kind();
    let operand = expects(farthest, "an expression");
    let hint = match here.kind() {
        TokenKind::Equal if before == TokenKind::Equal => "equality is written with one `=`",
        TokenKind::Equal if before == TokenKind::NotEqual => "inequality is written `!=`",
        TokenKind::Exclamation if operand => "negation is written `not`",
        TokenKind::OpenBrace if operand => {
            "there is no `{}` literal: write `struct(..)`, `list(..)`, `set(..)` or `map(..)`"
        }
        TokenKind::Dot if operand && here.ahead(1).is(TokenKind::Int) => {
            "a number begins with a digit: `0.5`"
        }
        TokenKind::Plus if operand => "there is no sign `+`",
        TokenKind::Concatenate if operand => "the disjunction is written `or`",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn misplaced_clause(here: Input<'_>, farthest: &Farthest) -> Option<String> {
    let inside = expects(farthest, "an expression") || !unclosed_brackets(here).is_empty();
    let hint = if here.is_word("having") {
        "`having` stands after `group by`"
    } else if here.is_word("select") && inside {
        "a query within an expression stands in brackets"
    } else if here.is_word("as") && here.ahead(1).is_word("of") {
        "`as of commit 42` or `as of timestamp '..'` stands at the end of the whole statement"
    } else {
        return None;
    };
    Some(hint.to_owned())
}

fn follows_line_break(here: Input<'_>) -> bool {
    let (before, span) = (here.back().span(), here.span());
    let between = here.whole_text().get(before.end..span.start).unwrap_or_default();
    here.at > 0 && between.contains('\n')
}

fn missing_semicolon(here: Input<'_>, farthest: &Farthest) -> Option<String> {
    let bracket = here.ahead(1).is(TokenKind::OpenParenthesis);
    let opens = opens_statement(here.text(), bracket) && follows_line_break(here) || here.is_word("select");
    let may_end = farthest.expected.contains(&Expected::Text(";"));
    let missing = here.is(TokenKind::Word) && opens && may_end;
    missing.then(|| format!("a `;` is missing before {}", shown(here.text())))
}

fn misspelt_keyword(here: Input<'_>, farthest: &Farthest) -> Option<String> {
    if here.kind() != TokenKind::Word {
        return None;
    }
    let words = farthest.expected.iter().filter_map(|item| match item {
        Expected::Text(text) if text.starts_with(char::is_alphabetic) => Some(*text),
        _ => None,
    });
    let clauses = [
        "from", "where", "group", "order", "having", "limit", "join", "set",
    ];
    let before = here.back();
    let meant = nearest(here.text(), words).or_else(|| {
        let alias = here.at > 0 && before.is(TokenKind::Word) && !is_reserved(before.text());
        alias.then(|| nearest(before.text(), clauses)).flatten()
    })?;
    Some(format!("did you mean `{meant}`?"))
}

fn reserved_name(here: Input<'_>, farthest: &Farthest) -> Option<String> {
    // Where an expression is missing, a word that goes on with the query or the expression is no name.
    let goes_on = [
        "and",
        "as",
        "between",
        "except",
        "from",
        "having",
        "in",
        "intersect",
        "is",
        "join",
        "like",
        "on",
        "or",
        "union",
        "where",
    ];
    let wants_name =
        expects(farthest, "a name") || expects(farthest, "an expression") && !here.is_one_of(&goes_on);
    let reserved = here.is(TokenKind::Word) && is_reserved(here.text());
    (reserved && wants_name).then(|| {
        format!(
            "`{0}` is a reserved word; as a name it is written `` `{0}` ``",
            here.text()
        )
    })
}

fn label_without_as(here: Input<'_>, farthest: &Farthest) -> Option<String> {
    let accepts = |word| farthest.expected.contains(&Expected::Text(word));
    let label =
        matches!(here.kind(), TokenKind::Word | TokenKind::Quoted) && accepts("as") && accepts("from");
    label.then(|| format!("a label is written with `as`: `as {}`", here.text()))
}

fn bracket_left_open(here: Input<'_>) -> Option<String> {
    if !matches!(here.kind(), TokenKind::End | TokenKind::Semicolon) {
        return None;
    }
    let open = *unclosed_brackets(here).last()?;
    let open = here.at(open);
    let error = QueryError::new(QueryErrorCode::Syntax, open.span(), "").locate(here.whole_text());
    let (line, column) = error.position?;
    Some(format!(
        "the `{}` in line {line}, column {column} is not closed",
        open.text()
    ))
}

/// The brackets of this statement that are open at `here`.
fn unclosed_brackets(here: Input<'_>) -> Vec<usize> {
    let mut open = Vec::new();
    for at in here.state.statement_start.get()..here.at {
        match here.at(at).kind() {
            TokenKind::OpenParenthesis | TokenKind::OpenBracket | TokenKind::OpenBrace => open.push(at),
            TokenKind::CloseParenthesis | TokenKind::CloseBracket | TokenKind::CloseBrace => {
                open.pop();
            }
            _ => {}
        }
    }
    open
}
