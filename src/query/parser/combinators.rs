//! The parsers of words, symbols, names and lists that productions are put together from.

use nom::Parser;
use nom::combinator::opt;

use super::input::{Expected, Failure, Input, Parsed};
use crate::error::Span;
use crate::query::ast::Name;
use crate::query::token::{TokenKind, is_reserved};

/// The keyword `keyword`, in whatever case.
pub(super) fn word<'a>(keyword: &'static str) -> impl Fn(Input<'a>) -> Parsed<'a, Span> {
    move |input| {
        if input.is_word(keyword) {
            Ok((input.ahead(1), input.span()))
        } else {
            input.fail(Expected::Text(keyword))
        }
    }
}

/// The keyword `keyword`, or nothing.
pub(super) fn flag<'a>(keyword: &'static str) -> impl Fn(Input<'a>) -> Parsed<'a, bool> {
    move |input| opt(word(keyword)).map(|found| found.is_some()).parse(input)
}

/// The symbol `kind`.
pub(super) fn symbol<'a>(kind: TokenKind) -> impl Fn(Input<'a>) -> Parsed<'a, Span> {
    move |input| {
        if input.is(kind) {
            Ok((input.ahead(1), input.span()))
        } else {
            input.fail(symbol_text(kind))
        }
    }
}

/// `parser`, past the point of no return: if it gives up, no other alternative is tried, and `sentence` says how
/// the thing is written.
pub(super) fn cut<'a, T>(
    sentence: &'static str,
    mut parser: impl Parser<Input<'a>, Output = T, Error = Failure>,
) -> impl FnMut(Input<'a>) -> Parsed<'a, T> {
    move |input| match parser.parse(input) {
        Err(nom::Err::Error(Failure::Expected(_))) => {
            Err(nom::Err::Failure(Failure::Expected(Some(sentence))))
        }
        parsed => parsed,
    }
}

/// One or more of `item`, with commas between.
pub(super) fn comma_list<'a, T>(
    mut item: impl FnMut(Input<'a>) -> Parsed<'a, T>,
) -> impl FnMut(Input<'a>) -> Parsed<'a, Vec<T>> {
    move |input| {
        let (mut input, first) = input.beside(&mut item)?;
        let mut items = vec![first];
        loop {
            let Ok((rest, _)) = symbol(TokenKind::Comma)(input) else {
                return Ok((input, items));
            };
            let (rest, next) = rest.beside(&mut item)?;
            items.push(next);
            input = rest;
        }
    }
}

/// `item` in round brackets.
pub(super) fn parenthesized<'a, T>(
    mut item: impl FnMut(Input<'a>) -> Parsed<'a, T>,
) -> impl FnMut(Input<'a>) -> Parsed<'a, T> {
    move |input| {
        let (input, _) = symbol(TokenKind::OpenParenthesis)(input)?;
        let (input, inside) = item(input)?;
        let (input, _) = symbol(TokenKind::CloseParenthesis)(input)?;
        Ok((input, inside))
    }
}

/// No, one or more of `item` in round brackets, with commas between.
pub(super) fn optional_list<'a, T>(
    item: impl FnMut(Input<'a>) -> Parsed<'a, T>,
) -> impl FnMut(Input<'a>) -> Parsed<'a, Vec<T>> {
    let mut items = comma_list(item);
    parenthesized(move |input| {
        if input.is(TokenKind::CloseParenthesis) {
            Ok((input, Vec::new()))
        } else {
            items(input)
        }
    })
}

/// ```ebnf
/// name = WORD | QUOTED ;
/// ```
/// A word must not be reserved.
pub(super) fn name(input: Input<'_>) -> Parsed<'_, Name> {
    if is_name(input) {
        Ok((input.ahead(1), name_here(input)))
    } else {
        input.fail(Expected::Rule("a name"))
    }
}

/// ```ebnf
/// class_name = ANY_WORD | QUOTED ;
/// ```
pub(super) fn class_name(input: Input<'_>) -> Parsed<'_, Name> {
    any_word(input, "a class")
}

/// ```ebnf
/// attribute_name = ANY_WORD | QUOTED ;
/// ```
pub(super) fn attribute_name(input: Input<'_>) -> Parsed<'_, Name> {
    any_word(input, "an attribute")
}

fn any_word<'a>(input: Input<'a>, rule: &'static str) -> Parsed<'a, Name> {
    match input.kind() {
        TokenKind::Word | TokenKind::Quoted => Ok((input.ahead(1), name_here(input))),
        _ => input.fail(Expected::Rule(rule)),
    }
}

/// Whether the next token is a name.
pub(super) fn is_name(input: Input<'_>) -> bool {
    match input.kind() {
        TokenKind::Word => !is_reserved(input.text()),
        TokenKind::Quoted => true,
        _ => false,
    }
}

/// The next token, a word or a quoted name, as a name.
pub(super) fn name_here(input: Input<'_>) -> Name {
    Name::new(unquoted(input.text()), input.span())
}

/// A name without its backquotes.
pub(super) fn unquoted(text: &str) -> String {
    match text.strip_prefix('`').and_then(|text| text.strip_suffix('`')) {
        Some(inside) => inside.replace("``", "`"),
        None => text.to_owned(),
    }
}

fn symbol_text(kind: TokenKind) -> Expected {
    Expected::Text(match kind {
        TokenKind::Semicolon => ";",
        TokenKind::Comma => ",",
        TokenKind::Dot => ".",
        TokenKind::OpenParenthesis => "(",
        TokenKind::CloseParenthesis => ")",
        TokenKind::OpenBracket => "[",
        TokenKind::CloseBracket => "]",
        TokenKind::OpenBrace => "{",
        TokenKind::CloseBrace => "}",
        TokenKind::Colon => ":",
        TokenKind::Equal => "=",
        TokenKind::Less => "<",
        TokenKind::Greater => ">",
        TokenKind::Int => return Expected::Rule("a whole number"),
        TokenKind::String => return Expected::Rule("a string"),
        _ => return Expected::Rule("a symbol"),
    })
}
