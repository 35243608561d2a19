//! Statements on classes, indexes and named queries.

use nom::Parser;

use super::combinators::{
    attribute_name, class_name, comma_list, cut, flag, name, parenthesized, symbol, word,
};
use super::expression::expression;
use super::input::{Expected, Input, Parsed};
use super::query::{direction, query};
use super::types::type_name;
use crate::error::{QueryError, QueryErrorCode};
use crate::query::ast::{
    AlterClass, AttributeDefinition, ClassChange, ClassDefinition, CreateClass, CreateIndex, Define, Expr,
    IndexComponent, IndexKind, MergeRule, MethodDefinition, Name, OnDelete, ParameterDefinition,
    StatementKind,
};
use crate::query::token::TokenKind;

/// ```ebnf
/// create = "create" ( create_class | create_index ) ;
/// ```
pub(super) fn create(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("create")(input)?;
    if input.is_one_of(&["class", "dependent"]) {
        create_class(input)
    } else {
        cut("write `create class ..` or `create index ..`", create_index)(input)
    }
}

const CLASS: &str = "a class is written `create class C extends B { attribute: type, .. }`";

/// ```ebnf
/// create_class = [ "dependent" ] "class" [ if_not_exists ] class { "," class } ;
/// ```
pub(super) fn create_class(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, dependent) = flag("dependent")(input)?;
    let (input, _) = cut(CLASS, word("class"))(input)?;
    let (input, if_not_exists) = if_not_exists(input)?;
    let (input, classes) = cut(CLASS, comma_list(class))(input)?;
    let create = CreateClass {
        dependent,
        if_not_exists,
        classes,
    };
    Ok((input, StatementKind::CreateClass(create)))
}

/// ```ebnf
/// if_not_exists = "if" "not" "exists" ;
/// ```
/// Nothing if it is not there.
pub(super) fn if_not_exists(input: Input<'_>) -> Parsed<'_, bool> {
    if !(input.is_word("if") && input.ahead(1).is_word("not")) {
        return Ok((input, false));
    }
    let (input, _) = cut("write `if not exists`", word("exists"))(input.ahead(2))?;
    Ok((input, true))
}

/// ```ebnf
/// if_exists = "if" "exists" ;
/// ```
/// Nothing if it is not there.
pub(super) fn if_exists(input: Input<'_>) -> Parsed<'_, bool> {
    let found = input.is_word("if") && input.ahead(1).is_word("exists");
    Ok((input.ahead(2 * usize::from(found)), found))
}

/// ```ebnf
/// class = class_name [ "extends" class_name ] "{" [ class_member { "," class_member } ] "}" ;
/// ```
pub(super) fn class(input: Input<'_>) -> Parsed<'_, ClassDefinition> {
    let (input, name) = class_name(input)?;
    let (input, extends) = extends(input)?;
    let (mut input, _) = symbol(TokenKind::OpenBrace)(input)?;
    let mut class = ClassDefinition {
        name,
        extends,
        attributes: Vec::new(),
        methods: Vec::new(),
    };
    if input.is(TokenKind::CloseBrace) {
        return Ok((input.ahead(1), class));
    }
    loop {
        let (rest, ()) = class_member(input, &mut class)?;
        if rest.is(TokenKind::Comma) {
            input = rest.ahead(1);
            continue;
        }
        rest.note(Expected::Text(","));
        let (rest, _) = symbol(TokenKind::CloseBrace)(rest)?;
        return Ok((rest, class));
    }
}

fn extends(input: Input<'_>) -> Parsed<'_, Option<Name>> {
    let (input, extends) = flag("extends")(input)?;
    if !extends {
        return Ok((input, None));
    }
    let (input, superclass) = class_name(input)?;
    Ok((input, Some(superclass)))
}

/// ```ebnf
/// class_member = attribute | method ;
/// ```
fn class_member<'a>(input: Input<'a>, class: &mut ClassDefinition) -> Parsed<'a, ()> {
    if input.is_word("method") && !input.ahead(1).is(TokenKind::Colon) {
        let (input, method) = method(input)?;
        class.methods.push(method);
        return Ok((input, ()));
    }
    let (input, attribute) = attribute(input)?;
    class.attributes.push(attribute);
    Ok((input, ()))
}

/// ```ebnf
/// attribute = name ":" type_name { merge_rule | "not" ( "null" | "nil" ) | "default" expression | "unique"
///                                | "inverse" attribute_name | on_delete } ;
/// ```
/// Each option at most once.
pub(super) fn attribute(input: Input<'_>) -> Parsed<'_, AttributeDefinition> {
    let (input, name) = name(input)?;
    let (input, _) = symbol(TokenKind::Colon)(input)?;
    let (mut input, r#type) = type_name(input)?;
    let mut attribute = AttributeDefinition {
        name,
        r#type,
        not_null: false,
        default: None,
        unique: false,
        inverse: None,
        on_delete: None,
        merge: None,
    };
    while input.is_one_of(&["counter", "union", "not", "default", "unique", "inverse", "on"]) {
        let (rest, repeated) = attribute_option(input, &mut attribute)?;
        if repeated {
            let message = format!("`{}` is given twice for one attribute", input.text());
            return input.refuse(QueryError::new(QueryErrorCode::Syntax, input.span(), message));
        }
        input = rest;
    }
    input.note(Expected::Rule("an option such as `not null`"));
    Ok((input, attribute))
}

const ATTRIBUTE: &str =
    "an attribute is written `a: type counter not null default e unique inverse b on delete clear`";

/// One option; whether it was there before.
fn attribute_option<'a>(input: Input<'a>, attribute: &mut AttributeDefinition) -> Parsed<'a, bool> {
    if input.is_word("not") {
        let rest = input.ahead(1);
        let null = if rest.is_word("nil") { "nil" } else { "null" };
        let (rest, _) = cut(ATTRIBUTE, word(null))(rest)?;
        return Ok((rest, std::mem::replace(&mut attribute.not_null, true)));
    }
    if input.is_word("default") {
        let (rest, value) = input.ahead(1).beside(cut(ATTRIBUTE, expression))?;
        return Ok((rest, attribute.default.replace(value).is_some()));
    }
    if input.is_word("unique") {
        return Ok((input.ahead(1), std::mem::replace(&mut attribute.unique, true)));
    }
    if input.is_word("inverse") {
        let (rest, name) = cut(ATTRIBUTE, attribute_name)(input.ahead(1))?;
        return Ok((rest, attribute.inverse.replace(name).is_some()));
    }
    if input.is_one_of(&["counter", "union"]) {
        let (rest, rule) = merge_rule(input)?;
        return Ok((rest, attribute.merge.replace(rule).is_some()));
    }
    let (rest, action) = cut(ATTRIBUTE, on_delete)(input)?;
    Ok((rest, attribute.on_delete.replace(action).is_some()))
}

/// ```ebnf
/// merge_rule = "counter" | "union" ;
/// ```
pub(super) fn merge_rule(input: Input<'_>) -> Parsed<'_, MergeRule> {
    let counter = word("counter").map(|_| MergeRule::Counter);
    let union = word("union").map(|_| MergeRule::Union);
    nom::branch::alt((counter, union)).parse(input)
}

/// ```ebnf
/// on_delete = "on" "delete" ( "leave" | "restrict" | "clear" | "cascade" ) ;
/// ```
pub(super) fn on_delete(input: Input<'_>) -> Parsed<'_, OnDelete> {
    let (input, _) = word("on")(input)?;
    let (input, _) = word("delete")(input)?;
    nom::branch::alt((
        word("leave").map(|_| OnDelete::Leave),
        word("restrict").map(|_| OnDelete::Restrict),
        word("clear").map(|_| OnDelete::Clear),
        word("cascade").map(|_| OnDelete::Cascade),
    ))
    .parse(input)
}

const METHOD: &str = "a method is written `method m(a: T): T as e`";

/// ```ebnf
/// method = "method" name "(" [ parameter_definition { "," parameter_definition } ] ")" ":" type_name "as" expression ;
/// ```
pub(super) fn method(input: Input<'_>) -> Parsed<'_, MethodDefinition> {
    let (input, _) = word("method")(input)?;
    let (input, (name, parameters, _, result, _, body)) = cut(
        METHOD,
        (
            name,
            super::combinators::optional_list(parameter_definition),
            symbol(TokenKind::Colon),
            type_name,
            word("as"),
            expression,
        ),
    )(input)?;
    let method = MethodDefinition {
        name,
        parameters,
        result,
        body,
    };
    Ok((input, method))
}

/// ```ebnf
/// parameter_definition = name ":" type_name ;
/// ```
pub(super) fn parameter_definition(input: Input<'_>) -> Parsed<'_, ParameterDefinition> {
    let (input, name) = name(input)?;
    let (input, _) = symbol(TokenKind::Colon)(input)?;
    let (input, r#type) = type_name(input)?;
    Ok((input, ParameterDefinition { name, r#type }))
}

const ALTER: &str = "write `alter class C add attribute a: type`, `drop attribute a`, `rename attribute a to b`, \
                     `retype attribute a to type`, \
                     `merge attribute a by counter`, `move attribute a to D`, `rename to D`, `extends B` or `[not] dependent`";

/// ```ebnf
/// alter = "alter" "class" class_name class_change ;
/// ```
pub(super) fn alter(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("alter")(input)?;
    let (input, (_, class, change)) = cut(ALTER, (word("class"), class_name, class_change))(input)?;
    Ok((input, StatementKind::AlterClass(AlterClass { class, change })))
}

/// ```ebnf
/// class_change = "add" ( "attribute" attribute | method ) | "drop" ( "attribute" | "method" ) name
///              | "rename" "attribute" name "to" name
///              | "retype" "attribute" name ( "to" | ":" ) type_name [ "using" expression ]
///              | "merge" "attribute" name "by" ( merge_rule | "none" )
///              | "move" "attribute" name "to" class_name | "rename" "to" class_name | "extends" class_name
///              | [ "not" ] "dependent" ;
/// ```
pub(super) fn class_change(input: Input<'_>) -> Parsed<'_, ClassChange> {
    if input.is_word("rename") && input.ahead(1).is_word("to") {
        let (input, name) = class_name(input.ahead(2))?;
        return Ok((input, ClassChange::RenameClass(name)));
    }
    let added = nom::branch::alt((
        (word("attribute"), attribute).map(|(_, attribute)| ClassChange::Add(Box::new(attribute))),
        method.map(|method| ClassChange::AddMethod(Box::new(method))),
    ));
    let dropped = nom::branch::alt((
        (word("attribute"), name).map(|(_, name)| ClassChange::Drop(name)),
        (word("method"), name).map(|(_, name)| ClassChange::DropMethod(name)),
    ));
    nom::branch::alt((
        (word("add"), cut(ALTER, added)).map(|(_, change)| change),
        (word("drop"), cut(ALTER, dropped)).map(|(_, change)| change),
        (
            word("rename"),
            cut(ALTER, (word("attribute"), name, word("to"), name)),
        )
            .map(|(_, (_, from, _, to))| ClassChange::Rename { from, to }),
        (
            word("retype"),
            cut(ALTER, (word("attribute"), name, to_or_colon, type_name, using)),
        )
            .map(|(_, (_, attribute, (), r#type, using))| ClassChange::Retype {
                attribute,
                r#type,
                using,
            }),
        (
            word("merge"),
            cut(ALTER, (word("attribute"), name, word("by"), rule_or_none)),
        )
            .map(|(_, (_, attribute, _, rule))| ClassChange::Merge { attribute, rule }),
        (
            word("move"),
            cut(ALTER, (word("attribute"), name, word("to"), class_name)),
        )
            .map(|(_, (_, attribute, _, to))| ClassChange::Move { attribute, to }),
        (word("extends"), cut(ALTER, class_name)).map(|(_, class)| ClassChange::Extends(class)),
        word("dependent").map(|_| ClassChange::Dependent(true)),
        (word("not"), cut(ALTER, word("dependent"))).map(|_| ClassChange::Dependent(false)),
    ))
    .parse(input)
}

/// The expression that gives the new values, if there is one.
fn using(input: Input<'_>) -> Parsed<'_, Option<Box<Expr>>> {
    if !input.is_word("using") {
        return Ok((input, None));
    }
    let (input, value) = expression(input.ahead(1))?;
    Ok((input, Some(Box::new(value))))
}

fn rule_or_none(input: Input<'_>) -> Parsed<'_, Option<MergeRule>> {
    nom::branch::alt((merge_rule.map(Some), word("none").map(|_| None))).parse(input)
}

fn to_or_colon(input: Input<'_>) -> Parsed<'_, ()> {
    if input.is(TokenKind::Colon) {
        return Ok((input.ahead(1), ()));
    }
    let (input, _) = word("to")(input)?;
    Ok((input, ()))
}

/// ```ebnf
/// drop = "drop" ( "class" [ if_exists ] class_name | "index" [ if_exists ] name ) ;
/// ```
pub(super) fn drop(input: Input<'_>) -> Parsed<'_, StatementKind> {
    const DROP: &str = "write `drop class [if exists] C` or `drop index [if exists] i`";
    let (input, _) = word("drop")(input)?;
    let (input, class) = flag("class")(input)?;
    if class {
        let (input, (if_exists, name)) = cut(DROP, (if_exists, class_name))(input)?;
        return Ok((input, StatementKind::DropClass { if_exists, name }));
    }
    let (input, (_, if_exists, name)) = cut(DROP, (word("index"), if_exists, name))(input)?;
    Ok((input, StatementKind::DropIndex { if_exists, name }))
}

const INDEX: &str = "an index is written `create [unique|bitmap] index i on C(path, ..)`";

/// ```ebnf
/// create_index = [ "unique" | "bitmap" ] "index" [ if_not_exists ] name "on" class_name
///                "(" index_component { "," index_component } ")" ;
/// ```
pub(super) fn create_index(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let kind = if input.is_word("unique") {
        IndexKind::Unique
    } else if input.is_word("bitmap") {
        IndexKind::Bitmap
    } else {
        IndexKind::Ordered
    };
    let input = input.ahead(usize::from(kind != IndexKind::Ordered));
    let (input, _) = word("index")(input)?;
    let components = parenthesized(comma_list(index_component));
    let (input, (if_not_exists, name, _, class, components)) =
        cut(INDEX, (if_not_exists, name, word("on"), class_name, components))(input)?;
    let create = CreateIndex {
        kind,
        if_not_exists,
        name,
        class,
        components,
    };
    Ok((input, StatementKind::CreateIndex(create)))
}

/// ```ebnf
/// index_component = attribute_path [ "asc" | "desc" ] ;
/// ```
pub(super) fn index_component(input: Input<'_>) -> Parsed<'_, IndexComponent> {
    let (input, path) = attribute_path(input)?;
    let (input, descending) = direction(input)?;
    Ok((input, IndexComponent { path, descending }))
}

/// ```ebnf
/// attribute_path = name { "." attribute_name } ;
/// ```
pub(super) fn attribute_path(input: Input<'_>) -> Parsed<'_, Vec<Name>> {
    let (mut input, first) = name(input)?;
    let mut path = vec![first];
    while let Ok((rest, _)) = symbol(TokenKind::Dot)(input) {
        let (rest, next) = attribute_name(rest)?;
        path.push(next);
        input = rest;
    }
    Ok((input, path))
}

const DEFINE: &str = "a named query is written `define name(a: T, ..) as query`, or `define name as query`";

/// ```ebnf
/// define = "define" name [ "(" parameter_definition { "," parameter_definition } ")" ] "as" query ;
/// ```
pub(super) fn define(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("define")(input)?;
    let (mut input, name) = cut(DEFINE, name)(input)?;
    let mut parameters = Vec::new();
    if input.is(TokenKind::OpenParenthesis) {
        (input, parameters) = cut(DEFINE, parenthesized(comma_list(parameter_definition)))(input)?;
    }
    let (input, (_, query)) = cut(DEFINE, (word("as"), query))(input)?;
    let define = Define {
        name,
        parameters,
        query,
    };
    Ok((input, StatementKind::Define(Box::new(define))))
}

/// ```ebnf
/// undefine = "undefine" name ;
/// ```
pub(super) fn undefine(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("undefine")(input)?;
    let (input, name) = cut("write `undefine name`", name)(input)?;
    Ok((input, StatementKind::Undefine(name)))
}
