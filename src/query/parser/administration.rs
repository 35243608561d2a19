//! Statements that show, explain and look after a database.

use nom::Parser;
use nom::branch::alt;

use super::combinators::{class_name, cut, flag, name, name_here, symbol, word};
use super::expression::expression;
use super::input::{Expected, Input, Parsed};
use super::literal::string_literal;
use super::primary::parameter;
use super::schema::attribute_path;
use super::statement::inner_statement;
use crate::query::ast::{Expr, ExprKind, Name, Show, StatementKind};
use crate::query::token::TokenKind;

/// ```ebnf
/// explain = "explain" inner_statement ;
/// ```
pub(super) fn explain(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("explain")(input)?;
    let (input, statement) = cut("write `explain select ..`", inner_statement)(input)?;
    Ok((input, StatementKind::Explain(Box::new(statement))))
}

/// ```ebnf
/// profile = "profile" inner_statement ;
/// ```
pub(super) fn profile(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("profile")(input)?;
    let (input, statement) = cut("write `profile select ..`", inner_statement)(input)?;
    Ok((input, StatementKind::Profile(Box::new(statement))))
}

/// ```ebnf
/// analyze = "analyze" [ class_name ] ;
/// ```
pub(super) fn analyze(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("analyze")(input)?;
    let named = matches!(input.kind(), TokenKind::Word | TokenKind::Quoted);
    if !named {
        input.note(Expected::Rule("a class"));
        return Ok((input, StatementKind::Analyze(None)));
    }
    let (input, class) = class_name(input)?;
    Ok((input, StatementKind::Analyze(Some(class))))
}

/// ```ebnf
/// show = "show" ( "classes" | "indexes" | "names" | "queries" | "snapshots" | "stats" | "settings" ) ;
/// ```
pub(super) fn show(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("show")(input)?;
    let what = alt((
        word("classes").map(|_| Show::Classes),
        word("indexes").map(|_| Show::Indexes),
        word("names").map(|_| Show::Names),
        word("queries").map(|_| Show::Queries),
        word("snapshots").map(|_| Show::Snapshots),
        word("stats").map(|_| Show::Stats),
        word("settings").map(|_| Show::Settings),
    ));
    let sentence = "write `show classes`, `indexes`, `names`, `queries`, `snapshots`, `stats` or `settings`";
    let (input, show) = cut(sentence, what)(input)?;
    Ok((input, StatementKind::Show(show)))
}

/// ```ebnf
/// describe = "describe" class_name ;
/// ```
pub(super) fn describe(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("describe")(input)?;
    let (input, class) = cut("write `describe C`", class_name)(input)?;
    Ok((input, StatementKind::Describe(class)))
}

const SET: &str = "an option is set by `set option = e`";

/// ```ebnf
/// set_option = "set" name ( "=" | "to" ) ( ANY_WORD | expression ) ;
/// ```
/// A word that is the whole value needs no backquotes.
pub(super) fn set_option(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("set")(input)?;
    let (input, option) = cut(SET, name)(input)?;
    let (input, to) = flag("to")(input)?;
    let (input, ()) = if to {
        (input, ())
    } else {
        cut(SET, symbol(TokenKind::Equal).map(|_| ()))(input)?
    };
    let (input, value) = cut(SET, option_value)(input)?;
    Ok((input, StatementKind::Set { option, value }))
}

fn option_value(input: Input<'_>) -> Parsed<'_, Expr> {
    let alone = matches!(input.ahead(1).kind(), TokenKind::Semicolon | TokenKind::End);
    let is_literal = input.is_one_of(&["true", "false", "nil", "null", "nan", "inf"]);
    if input.kind() == TokenKind::Word && alone && !is_literal {
        let value = Expr::new(ExprKind::Name(name_here(input)), input.span());
        return Ok((input.ahead(1), value));
    }
    expression(input)
}

/// ```ebnf
/// check = "check" ;
/// ```
pub(super) fn check(input: Input<'_>) -> Parsed<'_, StatementKind> {
    word("check").map(|_| StatementKind::Check).parse(input)
}

/// ```ebnf
/// compact = "compact" [ "cluster" "by" attribute_path ] ;
/// ```
pub(super) fn compact(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("compact")(input)?;
    let (input, cluster) = flag("cluster")(input)?;
    if !cluster {
        return Ok((input, StatementKind::Compact { cluster_by: None }));
    }
    let (input, (_, path)): (_, (_, Vec<Name>)) = cut(
        "write `compact cluster by C.attribute`",
        (word("by"), attribute_path),
    )(input)?;
    let cluster_by = Some(path);
    Ok((input, StatementKind::Compact { cluster_by }))
}

/// ```ebnf
/// collect = "collect" "garbage" [ "dry" "run" ] ;
/// ```
pub(super) fn collect(input: Input<'_>) -> Parsed<'_, StatementKind> {
    const COLLECT: &str = "write `collect garbage [dry run]`";
    let (input, _) = word("collect")(input)?;
    let (input, _) = cut(COLLECT, word("garbage"))(input)?;
    let (mut input, dry_run) = flag("dry")(input)?;
    if dry_run {
        input = cut(COLLECT, word("run"))(input)?.0;
    }
    Ok((input, StatementKind::CollectGarbage { dry_run }))
}

/// ```ebnf
/// backup = "backup" "to" ( string_literal | parameter ) ;
/// ```
pub(super) fn backup(start: Input<'_>) -> Parsed<'_, StatementKind> {
    const BACKUP: &str = "write `backup to 'path'`";
    let (input, _) = word("backup")(start)?;
    let (path, _) = cut(BACKUP, word("to"))(input)?;
    let path_kind = alt((string_literal.map(ExprKind::Literal), parameter));
    let (input, kind) = cut(BACKUP, path_kind)(path)?;
    let path = Expr::new(kind, path.span_to(input));
    Ok((input, StatementKind::Backup { path }))
}
