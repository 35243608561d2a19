//! Literals: what the text of a token stands for.

use std::sync::Arc;

use super::input::{Input, Parsed};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::Value;
use crate::object::text::{
    parse_date, parse_decimal, parse_duration, parse_time, parse_timestamp, parse_uuid,
};
use crate::query::ast::Literal;
use crate::query::token::TokenKind;

/// The distance from zero of the smallest int, which only a minus makes an int.
const SMALLEST_INT: u64 = 1 << 63;

/// ```ebnf
/// literal = INT | FLOAT | DECIMAL | STRING | BYTES | typed_literal
///         | "true" | "false" | "nil" | "null" | "nan" | "inf" ;
/// ```
/// `None`: the next token begins no literal.
pub(super) fn literal(input: Input<'_>) -> Option<Parsed<'_, Literal>> {
    let (text, span) = (input.text(), input.span());
    let value = match input.kind() {
        TokenKind::Int => int(text, span),
        TokenKind::Float => float(text, span),
        TokenKind::Decimal => decimal(text, span),
        TokenKind::String => string(text, span).map(Value::String),
        TokenKind::Bytes => bytes(text, span),
        TokenKind::Word => match word_literal(text) {
            Some(value) => Ok(value),
            None => return typed_literal(input),
        },
        _ => return None,
    };
    Some(match value {
        Ok(value) => Ok((input.ahead(1), Literal(value))),
        Err(error) => input.refuse(error),
    })
}

/// ```ebnf
/// typed_literal = ( "date" | "time" | "timestamp" | "duration" | "uuid" ) STRING ;
/// ```
pub(super) fn typed_literal(input: Input<'_>) -> Option<Parsed<'_, Literal>> {
    if !input.ahead(1).is(TokenKind::String) {
        return None;
    }
    let read = scalar_reader(input.text())?;
    let value = string(input.ahead(1).text(), input.ahead(1).span()).and_then(|text| {
        read(&text)
            .map_err(|message| QueryError::new(QueryErrorCode::InvalidValue, input.ahead(1).span(), message))
    });
    Some(match value {
        Ok(value) => Ok((input.ahead(2), Literal(value))),
        Err(error) => input.refuse(error),
    })
}

type Reader = fn(&str) -> Result<Value, String>;

fn scalar_reader(word: &str) -> Option<Reader> {
    let readers: [(&str, Reader); 5] = [
        ("date", |text| parse_date(text).map(Value::Date)),
        ("time", |text| parse_time(text).map(Value::Time)),
        ("timestamp", |text| parse_timestamp(text).map(Value::Timestamp)),
        ("duration", |text| parse_duration(text).map(Value::Duration)),
        ("uuid", |text| parse_uuid(text).map(Value::Uuid)),
    ];
    let found = readers
        .into_iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(word));
    found.map(|(_, reader)| reader)
}

fn word_literal(word: &str) -> Option<Value> {
    if word.len() > 5 {
        return None;
    }
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    Some(match word.as_bytes().first()? {
        b't' | b'T' if is("true") => Value::Bool(true),
        b'f' | b'F' if is("false") => Value::Bool(false),
        b'n' | b'N' if is("nil") || is("null") => Value::Nil,
        b'n' | b'N' if is("nan") => Value::Float(f64::NAN),
        b'i' | b'I' if is("inf") => Value::Float(f64::INFINITY),
        _ => return None,
    })
}

fn int(text: &str, span: Span) -> Result<Value, QueryError> {
    text.parse().map(Value::Int).map_err(|_| int_range(span))
}

fn int_range(span: Span) -> QueryError {
    QueryError::new(
        QueryErrorCode::OutOfRange,
        span,
        "the number does not fit an int of 64 bits",
    )
    .hint("write it as a decimal with a `d` at the end, or as a float with `.0`")
}

fn float(text: &str, span: Span) -> Result<Value, QueryError> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Value::Float(number)),
        _ => Err(QueryError::new(
            QueryErrorCode::OutOfRange,
            span,
            "the number is too large for a float",
        )),
    }
}

fn decimal(text: &str, span: Span) -> Result<Value, QueryError> {
    let digits = text.strip_suffix('d').unwrap_or(text);
    parse_decimal(digits)
        .map(Value::Decimal)
        .map_err(|message| QueryError::new(QueryErrorCode::OutOfRange, span, message))
}

fn bytes(text: &str, span: Span) -> Result<Value, QueryError> {
    let digits = text.get(2..text.len().saturating_sub(1)).unwrap_or_default();
    let wrong = || {
        QueryError::new(
            QueryErrorCode::Syntax,
            span,
            "bytes are pairs of hexadecimal digits: x'00ff'",
        )
    };
    let digits = digits
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(wrong)?;
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(wrong());
    }
    Ok(Value::Bytes(
        pairs.iter().map(|[high, low]| high << 4 | low).collect(),
    ))
}

/// The text of a string token, without its quotes and with its escapes resolved.
fn string(text: &str, span: Span) -> Result<Arc<str>, QueryError> {
    let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    let quote = text.chars().next().unwrap_or('\'');
    if !inside.contains([quote, '\\']) {
        return Ok(inside.into());
    }
    let mut resolved = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(next) = rest.find([quote, '\\']) {
        let (plain, special) = rest.split_at(next);
        resolved.push_str(plain);
        let start = span.end - 1 - special.len();
        let (character, length) = escaped(special).map_err(|length| unknown_escape(start, length))?;
        resolved.push(character);
        rest = special.get(length..).unwrap_or_default();
    }
    resolved.push_str(rest);
    Ok(resolved.into())
}

/// The character at the beginning of `text` that a doubled quote or an escape stands for, and its length in bytes; an
/// error is the length of an unknown escape.
fn escaped(text: &str) -> Result<(char, usize), usize> {
    let mut characters = text.chars();
    let first = characters.next().unwrap_or_default();
    if first != '\\' {
        return Ok((first, 2));
    }
    match characters.next() {
        Some('n') => Ok(('\n', 2)),
        Some('t') => Ok(('\t', 2)),
        Some(same @ ('\\' | '\'' | '"')) => Ok((same, 2)),
        Some('u') => unicode_escape(text),
        other => Err(1 + other.map_or(0, char::len_utf8)),
    }
}

fn unicode_escape(text: &str) -> Result<(char, usize), usize> {
    let end = text.find('}').ok_or(2_usize)?;
    let digits = text.get(3..end).ok_or(2_usize)?;
    let well_formed = text.starts_with("\\u{") && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits, 16).ok().filter(|_| well_formed);
    match code.and_then(char::from_u32) {
        Some(character) => Ok((character, end + 1)),
        None => Err(end + 1),
    }
}

fn unknown_escape(start: usize, length: usize) -> QueryError {
    QueryError::new(
        QueryErrorCode::Syntax,
        Span::new(start, start + length),
        "this escape is not known",
    )
    .hint("the escapes of a string are \\n \\t \\\\ \\' \\\" \\u{1F600}; a backslash itself is written \\\\")
}

/// `-9223372036854775808`, the one int whose digits alone are none.
pub(super) fn smallest_int(input: Input<'_>) -> Option<Literal> {
    let digits = input.ahead(1);
    let smallest = input.is(TokenKind::Minus)
        && digits.is(TokenKind::Int)
        && digits.text().parse::<u64>() == Ok(SMALLEST_INT);
    smallest.then_some(Literal(Value::Int(i64::MIN)))
}

/// The literal that a minus before `literal` makes; `None` if it is no number, or negative itself.
pub(super) fn negated(literal: &Literal) -> Option<Literal> {
    let value = match &literal.0 {
        Value::Int(number) if *number >= 0 => Value::Int(number.checked_neg()?),
        Value::Float(number) if number.is_sign_positive() && !number.is_nan() => Value::Float(-number),
        Value::Decimal(number) if number.is_zero() => Value::Decimal(*number),
        Value::Decimal(number) if number.is_sign_positive() => Value::Decimal(-*number),
        _ => return None,
    };
    Some(Literal(value))
}

/// ```ebnf
/// string_literal = STRING ;
/// ```
pub(super) fn string_literal(input: Input<'_>) -> Parsed<'_, Literal> {
    if !input.is(TokenKind::String) {
        return input.fail(super::input::Expected::Rule("a string"));
    }
    match string(input.text(), input.span()) {
        Ok(text) => Ok((input.ahead(1), Literal(Value::String(text)))),
        Err(error) => input.refuse(error),
    }
}
