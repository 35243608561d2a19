//! Statements on transactions.

use nom::Parser;
use nom::branch::alt;

use super::combinators::{cut, flag, name, word};
use super::input::{Input, Parsed};
use crate::error::{QueryError, QueryErrorCode};
use crate::query::ast::{Begin, Durability, Isolation, StatementKind};
use crate::query::token::TokenKind;

/// ```ebnf
/// begin = "begin" { "read" "only" | "isolation" ( "serializable" | "snapshot" ) | "durability" ( "sync" | "buffer" ) } ;
/// ```
/// Each option at most once.
pub(super) fn begin(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (mut input, _) = word("begin")(input)?;
    let mut begin = Begin::default();
    loop {
        let start = input;
        let repeated;
        if let Ok((rest, _)) = word("read")(input) {
            input = cut("write `read only`", word("only"))(rest)?.0;
            repeated = std::mem::replace(&mut begin.read_only, true);
        } else if let Ok((rest, _)) = word("isolation")(input) {
            let (rest, level) = cut("isolation is serializable or snapshot", isolation)(rest)?;
            repeated = begin.isolation.replace(level).is_some();
            input = rest;
        } else if let Ok((rest, _)) = word("durability")(input) {
            let (rest, level) = cut("durability is sync or buffer", durability)(rest)?;
            repeated = begin.durability.replace(level).is_some();
            input = rest;
        } else {
            return Ok((input, StatementKind::Begin(begin)));
        }
        if repeated {
            let message = format!("`{}` is given twice", start.text());
            return start.refuse(QueryError::new(QueryErrorCode::Syntax, start.span(), message));
        }
    }
}

fn isolation(input: Input<'_>) -> Parsed<'_, Isolation> {
    alt((
        word("serializable").map(|_| Isolation::Serializable),
        word("snapshot").map(|_| Isolation::Snapshot),
    ))
    .parse(input)
}

fn durability(input: Input<'_>) -> Parsed<'_, Durability> {
    alt((
        word("sync").map(|_| Durability::Sync),
        word("buffer").map(|_| Durability::Buffer),
    ))
    .parse(input)
}

/// ```ebnf
/// commit = "commit" ;
/// ```
pub(super) fn commit(input: Input<'_>) -> Parsed<'_, StatementKind> {
    word("commit").map(|_| StatementKind::Commit).parse(input)
}

/// ```ebnf
/// rollback = "rollback" [ "to" [ "savepoint" ] name ] ;
/// ```
pub(super) fn rollback(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("rollback")(input)?;
    let (input, partial) = flag("to")(input)?;
    if !partial {
        return Ok((input, StatementKind::Rollback));
    }
    let (input, name) = cut("write `rollback to s`", name)(after_savepoint(input))?;
    Ok((input, StatementKind::RollbackTo(name)))
}

/// The input after the word `savepoint`, if it stands before the name of one.
fn after_savepoint(input: Input<'_>) -> Input<'_> {
    let named = matches!(input.ahead(1).kind(), TokenKind::Word | TokenKind::Quoted);
    input.ahead(usize::from(named && input.is_word("savepoint")))
}

/// ```ebnf
/// savepoint = "savepoint" name ;
/// ```
pub(super) fn savepoint(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("savepoint")(input)?;
    let (input, name) = cut("write `savepoint s`", name)(input)?;
    Ok((input, StatementKind::Savepoint(name)))
}

/// ```ebnf
/// release = "release" [ "savepoint" ] name ;
/// ```
pub(super) fn release(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("release")(input)?;
    let (input, name) = cut("write `release s`", name)(after_savepoint(input))?;
    Ok((input, StatementKind::Release(name)))
}
