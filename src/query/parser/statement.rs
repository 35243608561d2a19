//! Statements: the word that opens one says which production reads it.

use super::administration::{
    analyze, backup, check, collect, compact, describe, explain, profile, set_option, show,
};
use super::change::{delete, insert, let_statement, name_root, unname, update};
use super::input::{Input, Parsed};
use super::query::timed_query;
use super::schema::{alter, create, define, drop, undefine};
use super::transaction::{begin, commit, release, rollback, savepoint};
use crate::query::ast::{Statement, StatementKind};
use crate::query::token::TokenKind;

type Production = fn(Input<'_>) -> Parsed<'_, StatementKind>;

/// The words that open a statement, sorted, and their productions. At the beginning of a statement such a word is a
/// name only in backquotes, or a function if a bracket follows.
static OPENING: [(&str, Production); 26] = [
    ("alter", alter),
    ("analyze", analyze),
    ("backup", backup),
    ("begin", begin),
    ("check", check),
    ("collect", collect),
    ("commit", commit),
    ("compact", compact),
    ("create", create),
    ("define", define),
    ("delete", delete),
    ("describe", describe),
    ("drop", drop),
    ("explain", explain),
    ("insert", insert),
    ("let", let_statement),
    ("name", name_root),
    ("profile", profile),
    ("release", release),
    ("rollback", rollback),
    ("savepoint", savepoint),
    ("set", set_option),
    ("show", show),
    ("undefine", undefine),
    ("unname", unname),
    ("update", update),
];

/// The words that open a statement.
pub(crate) fn opening_words() -> impl Iterator<Item = &'static str> {
    OPENING.iter().map(|(word, _)| *word)
}

/// Whether a statement that begins with `word` is one that this word opens; `bracket`: whether `(` follows.
pub(crate) fn opens_statement(word: &str, bracket: bool) -> bool {
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    opening_words().any(is) && (!bracket || is("explain") || is("profile"))
}

/// ```ebnf
/// statement = create | alter | drop | define | undefine | insert | let_statement | update | delete | name_root | unname
///           | begin | commit | rollback | savepoint | release | explain | profile | analyze | show | describe
///           | set_option | check | compact | collect | backup | query_statement ;
/// ```
pub(super) fn statement(input: Input<'_>) -> Parsed<'_, Statement> {
    let (rest, kind) = match production(input) {
        Some(production) => production(input)?,
        None => query_statement(input)?,
    };
    Ok((rest, Statement::new(kind, input.span_to(rest))))
}

fn production(input: Input<'_>) -> Option<Production> {
    let bracket = input.ahead(1).is(TokenKind::OpenParenthesis);
    if input.kind() != TokenKind::Word || !opens_statement(input.text(), bracket) {
        return None;
    }
    let found = OPENING.iter().find(|(word, _)| input.is_word(word));
    found.map(|(_, production)| *production)
}

/// ```ebnf
/// query_statement = timed_query ;
/// ```
pub(super) fn query_statement(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (rest, query) = timed_query(input)?;
    Ok((rest, StatementKind::Query(Box::new(query))))
}

/// ```ebnf
/// inner_statement = insert | update | delete | query_statement ;
/// ```
pub(super) fn inner_statement(input: Input<'_>) -> Parsed<'_, Statement> {
    let bracket = input.ahead(1).is(TokenKind::OpenParenthesis);
    let (rest, kind) = if bracket {
        query_statement(input)?
    } else if input.is_word("insert") {
        insert(input)?
    } else if input.is_word("update") {
        update(input)?
    } else if input.is_word("delete") {
        delete(input)?
    } else {
        query_statement(input)?
    };
    Ok((rest, Statement::new(kind, input.span_to(rest))))
}
