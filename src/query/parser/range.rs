//! The ranges of `from`.

use super::combinators::{cut, flag, is_name, name, name_here, symbol, word};
use super::expression::clause_expression;
use super::input::{Expected, Input, Parsed};
use super::postfix::{postfix, steps};
use super::query::begins_as_of;
use crate::error::{QueryError, QueryErrorCode};
use crate::query::ast::{Expr, ExprKind, Join, Name, Range};
use crate::query::token::TokenKind;

/// ```ebnf
/// ranges = range { "," ( range | join ) | join } ;
/// ```
pub(super) fn ranges(input: Input<'_>) -> Parsed<'_, Vec<Range>> {
    let (mut input, first) = input.beside(range)?;
    let mut ranges = vec![first];
    loop {
        let after_comma = symbol(TokenKind::Comma)(input).ok().map(|(rest, _)| rest);
        let next = after_comma.unwrap_or(input);
        let (rest, range) = if begins_join(next) {
            next.beside(join)?
        } else if after_comma.is_some() {
            next.beside(cut(RANGE, range))?
        } else {
            input.note(Expected::Text("join"));
            return Ok((input, ranges));
        };
        ranges.push(range);
        input = rest;
    }
}

const RANGE: &str = "a range is written `C x`, `only C x`, `x in e` or `p.path x`";

fn begins_join(input: Input<'_>) -> bool {
    input.is_word("join") || input.is_word("left") && input.ahead(1).is_word("join")
}

/// ```ebnf
/// join = [ "left" ] "join" range [ "on" clause_expression ] ;
/// ```
pub(super) fn join(input: Input<'_>) -> Parsed<'_, Range> {
    let (input, left) = flag("left")(input)?;
    let (input, _) = word("join")(input)?;
    let (mut input, mut range) = cut("a join is written `[left] join C x on p`", range)(input)?;
    range.join = if left { Join::Left } else { Join::Inner };
    if input.is_word("on") && !begins_on_conflict(input) {
        let (rest, on) = input
            .ahead(1)
            .beside(cut("`on` takes a condition", clause_expression))?;
        range.on = Some(on);
        input = rest;
    } else {
        input.note(Expected::Text("on"));
    }
    Ok((input, range))
}

/// Whether the `on conflict (` of an `insert` is next, which is no condition of a join.
pub(super) fn begins_on_conflict(input: Input<'_>) -> bool {
    input.is_word("on") && input.ahead(1).is_word("conflict") && input.ahead(2).is(TokenKind::OpenParenthesis)
}

/// ```ebnf
/// range = ( name "in" clause_expression | "only" class_name [ alias ] | range_source [ alias ] )
///         { "with" ( "depth" | "path" ) name } ;
/// ```
pub(super) fn range(input: Input<'_>) -> Parsed<'_, Range> {
    let named = is_name(input) && input.ahead(1).is_word("in");
    let only = !named && input.is_word("only") && is_word(input.ahead(1));
    let (input, source, variable) = if named {
        let (rest, variable) = name(input)?;
        let (rest, source) = cut(RANGE, clause_expression)(rest.ahead(1))?;
        (rest, source, Some(variable))
    } else {
        let (rest, source) = range_source(input.ahead(usize::from(only)))?;
        let (rest, variable) = alias(rest)?;
        (rest, source, variable)
    };
    let range = Range {
        join: Join::Product,
        only,
        source,
        variable,
        depth: None,
        path: None,
        on: None,
    };
    if only && !matches!(range.source.kind, ExprKind::Name(_)) {
        let message = "`only` stands before a class";
        return input.refuse(QueryError::new(
            QueryErrorCode::Syntax,
            range.source.span,
            message,
        ));
    }
    walk_bindings(input, range)
}

fn is_word(input: Input<'_>) -> bool {
    matches!(input.kind(), TokenKind::Word | TokenKind::Quoted)
}

/// ```ebnf
/// range_source = ANY_WORD { step | index | "!" } | postfix ;
/// ```
/// The first if the word is not followed by `(`: it is a class, a name or a variable.
pub(super) fn range_source(input: Input<'_>) -> Parsed<'_, Expr> {
    if is_word(input) && !input.ahead(1).is(TokenKind::OpenParenthesis) {
        let source = Expr::new(ExprKind::Name(name_here(input)), input.span());
        return steps(input, input.ahead(1), source);
    }
    let operand = is_word(input) || begins_operand(input);
    if operand {
        postfix(input)
    } else {
        input.fail(Expected::Rule("a range"))
    }
}

fn begins_operand(input: Input<'_>) -> bool {
    use TokenKind::*;
    matches!(input.kind(), Object | Parameter | OpenParenthesis | OpenBracket)
}

/// ```ebnf
/// alias = [ "as" ] name ;
/// ```
/// Nothing if neither is there.
pub(super) fn alias(input: Input<'_>) -> Parsed<'_, Option<Name>> {
    if begins_as_of(input) {
        return Ok((input, None));
    }
    if let Ok((rest, _)) = word("as")(input) {
        let (rest, variable) = cut("after `as` stands the range variable", name)(rest)?;
        return Ok((rest, Some(variable)));
    }
    if is_name(input) {
        let (rest, variable) = name(input)?;
        return Ok((rest, Some(variable)));
    }
    Ok((input, None))
}

fn walk_bindings<'a>(input: Input<'a>, mut range: Range) -> Parsed<'a, Range> {
    let mut input = input;
    while input.is_word("with") {
        let (start, kind) = (input, input.ahead(1));
        if !kind.is_one_of(&["depth", "path"]) {
            return cut(WALK, |input: Input<'a>| {
                input.fail(Expected::Rule("`depth` or `path`"))
            })(kind);
        }
        let (rest, variable) = cut(WALK, name)(kind.ahead(1))?;
        let slot = if kind.is_word("depth") {
            &mut range.depth
        } else {
            &mut range.path
        };
        let closure = matches!(range.source.kind, ExprKind::Closure { .. });
        if slot.replace(variable).is_some() || !closure {
            return start.refuse(misplaced_binding(start, closure));
        }
        input = rest;
    }
    Ok((input, range))
}

const WALK: &str = "write `x.attribute{1,} y with depth d with path p`";

fn misplaced_binding(input: Input<'_>, closure: bool) -> QueryError {
    let message = if closure {
        "this is bound twice"
    } else {
        "`with depth` and `with path` follow a range that ends in a closure"
    };
    QueryError::new(QueryErrorCode::Syntax, input.span(), message).hint(WALK)
}
