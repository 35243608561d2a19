//! Types.

use std::sync::Arc;

use super::combinators::{comma_list, cut, name, parenthesized, symbol, unquoted};
use super::input::{Expected, Input, Parsed};
use crate::object::Type;
use crate::query::ast::TypeName;
use crate::query::token::TokenKind;

/// The words that are types by themselves.
pub(crate) static SCALAR_TYPES: [(&str, Type); 12] = [
    ("any", Type::Any),
    ("bool", Type::Bool),
    ("int", Type::Int),
    ("float", Type::Float),
    ("decimal", Type::Decimal),
    ("string", Type::String),
    ("bytes", Type::Bytes),
    ("date", Type::Date),
    ("time", Type::Time),
    ("timestamp", Type::Timestamp),
    ("duration", Type::Duration),
    ("uuid", Type::Uuid),
];

/// ```ebnf
/// type_name = "any" | "bool" | "int" | "float" | "decimal" | "string" | "bytes" | "date" | "time" | "timestamp"
///           | "duration" | "uuid" | collection_type | map_type | struct_type | class_name ;
/// ```
pub(super) fn type_name(input: Input<'_>) -> Parsed<'_, TypeName> {
    let (rest, r#type) = input.nested(any_type)?;
    let span = input.span_to(rest);
    Ok((rest, TypeName { r#type, span }))
}

fn any_type(input: Input<'_>) -> Parsed<'_, Type> {
    match input.kind() {
        TokenKind::Quoted => Ok((input.ahead(1), Type::reference(unquoted(input.text())))),
        TokenKind::Word => word_type(input),
        _ => input.fail(Expected::Rule("a type")),
    }
}

fn word_type(input: Input<'_>) -> Parsed<'_, Type> {
    if input.ahead(1).is(TokenKind::Less) {
        return if input.is_word("map") {
            map_type(input)
        } else {
            collection_type(input)
        };
    }
    if input.is_word("struct") && input.ahead(1).is(TokenKind::OpenParenthesis) {
        return struct_type(input);
    }
    let scalar = SCALAR_TYPES.iter().find(|(word, _)| input.is_word(word));
    let r#type = match scalar {
        Some((_, r#type)) => r#type.clone(),
        None => Type::reference(input.text()),
    };
    Ok((input.ahead(1), r#type))
}

const COLLECTION_TYPE: &str =
    "the type of a collection is written `list<T>`, `set<T>`, `bag<T>` or `map<K, V>`";

/// ```ebnf
/// collection_type = ( "list" | "set" | "bag" ) "<" type_name ">" ;
/// ```
pub(super) fn collection_type(input: Input<'_>) -> Parsed<'_, Type> {
    let build = if input.is_word("list") {
        Type::list
    } else if input.is_word("set") {
        Type::set
    } else if input.is_word("bag") {
        Type::bag
    } else {
        return cut(COLLECTION_TYPE, no_collection_type)(input);
    };
    let (input, (_, member, _)) = cut(
        COLLECTION_TYPE,
        (symbol(TokenKind::Less), type_name, symbol(TokenKind::Greater)),
    )(input.ahead(1))?;
    Ok((input, build(member.r#type)))
}

fn no_collection_type(input: Input<'_>) -> Parsed<'_, Type> {
    input.fail(Expected::Rule("the type of a collection"))
}

/// ```ebnf
/// map_type = "map" "<" type_name "," type_name ">" ;
/// ```
pub(super) fn map_type(input: Input<'_>) -> Parsed<'_, Type> {
    let (input, (_, key, _, value, _)) = cut(
        COLLECTION_TYPE,
        (
            symbol(TokenKind::Less),
            type_name,
            symbol(TokenKind::Comma),
            type_name,
            symbol(TokenKind::Greater),
        ),
    )(input.ahead(1))?;
    Ok((input, Type::map(key.r#type, value.r#type)))
}

/// ```ebnf
/// struct_type = "struct" "(" field_type { "," field_type } ")" ;
/// ```
pub(super) fn struct_type(input: Input<'_>) -> Parsed<'_, Type> {
    let fields = parenthesized(comma_list(field_type));
    let (input, fields) = cut(
        "the type of a struct is written `struct(a: int, b: string)`",
        fields,
    )(input.ahead(1))?;
    Ok((input, Type::Struct(fields.into())))
}

/// ```ebnf
/// field_type = name ":" type_name ;
/// ```
pub(super) fn field_type(input: Input<'_>) -> Parsed<'_, (Arc<str>, Type)> {
    let (input, name) = name(input)?;
    let (input, _) = symbol(TokenKind::Colon)(input)?;
    let (input, r#type) = type_name(input)?;
    Ok((input, (name.text, r#type.r#type)))
}
