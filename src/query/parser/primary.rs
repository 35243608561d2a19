//! Operands: literals, names, calls, constructors, brackets and the forms with words of their own.

use super::combinators::{
    comma_list, cut, name, name_here, optional_list, parenthesized, symbol, unquoted, word,
};
use super::expression::expression;
use super::input::{Expected, Input, Parsed};
use super::literal::literal;
use super::query::{bracketed, query};
use super::types::type_name;
use crate::error::{QueryError, QueryErrorCode};
use crate::object::Value;
use crate::query::ast::{
    CaseBranch, CollectionKind, Expr, ExprKind, Field, IsTest, Literal, MapEntry, Name, Parameter,
};
use crate::query::token::{TokenKind, is_reserved};

/// ```ebnf
/// primary = literal | parameter | object | case | exists | cast | extract | definedness | count_rows
///         | collection | map | structure | call | bracket | name ;
/// ```
pub(super) fn primary(input: Input<'_>) -> Parsed<'_, Expr> {
    let (rest, kind) = match input.kind() {
        TokenKind::OpenParenthesis => return bracket(input),
        TokenKind::OpenBracket => collection(input)?,
        TokenKind::Parameter => parameter(input)?,
        TokenKind::Object => object(input)?,
        TokenKind::Quoted if input.ahead(1).is(TokenKind::OpenParenthesis) => call(input)?,
        TokenKind::Quoted => (input.ahead(1), ExprKind::Name(name_here(input))),
        _ => match literal(input) {
            Some(literal) => {
                let (rest, literal) = literal?;
                (rest, ExprKind::Literal(literal))
            }
            None => word_primary(input)?,
        },
    };
    Ok((rest, Expr::new(kind, input.span_to(rest))))
}

/// An operand that begins with a word that is no literal.
fn word_primary(input: Input<'_>) -> Parsed<'_, ExprKind> {
    if input.kind() != TokenKind::Word {
        return input.fail(Expected::Rule("an expression"));
    }
    if input.is_word("case") {
        return case(input);
    }
    if input.ahead(1).is(TokenKind::OpenParenthesis) {
        return special_form(input);
    }
    if is_reserved(input.text()) {
        return input.fail(Expected::Rule("an expression"));
    }
    Ok((input.ahead(1), ExprKind::Name(name_here(input))))
}

/// Words that make a form of their own when a bracket follows; a function of such a name needs backquotes.
pub(crate) const SPECIAL_FORMS: [&str; 10] = [
    "bag",
    "cast",
    "count",
    "exists",
    "extract",
    "is_defined",
    "is_undefined",
    "list",
    "map",
    "set",
];

fn special_form(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let form: fn(Input<'_>) -> Parsed<'_, ExprKind> = match input.text().to_ascii_lowercase().as_str() {
        "list" | "set" | "bag" => collection,
        "map" => map,
        "struct" => structure,
        "cast" => cast,
        "exists" => exists,
        "extract" => extract,
        "is_defined" | "is_undefined" => definedness,
        "count" if input.ahead(2).is(TokenKind::Star) => count_rows,
        "distinct" => call,
        word if is_reserved(word) => return input.fail(Expected::Rule("an expression")),
        _ => call,
    };
    form(input)
}

/// ```ebnf
/// parameter = PARAMETER ;
/// ```
pub(super) fn parameter(input: Input<'_>) -> Parsed<'_, ExprKind> {
    if !input.is(TokenKind::Parameter) {
        return input.fail(Expected::Rule("a parameter"));
    }
    let text = input.text().strip_prefix('$').unwrap_or_default();
    let parameter = if text.starts_with(|c: char| c.is_ascii_digit()) {
        match text.parse() {
            Ok(number) => Parameter::Positional(number),
            Err(_) => return input.refuse(out_of_range(input, "there is no parameter of so large a number")),
        }
    } else {
        Parameter::Named(text.into())
    };
    Ok((input.ahead(1), ExprKind::Parameter(parameter)))
}

/// ```ebnf
/// object = OBJECT ;
/// ```
pub(super) fn object(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let Some((class, serial)) = input
        .text()
        .rsplit_once('#')
        .filter(|_| input.is(TokenKind::Object))
    else {
        return input.fail(Expected::Rule("an object"));
    };
    let Ok(serial) = serial.parse() else {
        return input.refuse(out_of_range(input, "no object has so large a number"));
    };
    let class = Name::new(unquoted(class), input.span());
    Ok((input.ahead(1), ExprKind::Object { class, serial }))
}

fn out_of_range(input: Input<'_>, message: &str) -> QueryError {
    QueryError::new(QueryErrorCode::OutOfRange, input.span(), message)
}

/// ```ebnf
/// bracket = "(" query ")" ;
/// ```
/// The query may be an expression alone.
pub(super) fn bracket(input: Input<'_>) -> Parsed<'_, Expr> {
    let (rest, mut inside) = parenthesized(bracketed)(input)?;
    inside.span = input.span_to(rest);
    Ok((rest, inside))
}

const EXISTS: &str = "write `exists (query)` or `exists x in c: p`";

/// ```ebnf
/// exists = "exists" "(" query ")" ;
/// ```
pub(super) fn exists(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let (input, _) = word("exists")(input)?;
    let (input, query) = cut(EXISTS, parenthesized(query))(input)?;
    Ok((input, ExprKind::Exists(Box::new(query))))
}

const CASE: &str = "a case is written `case when p then a else b end` or `case e when a then b end`";

/// ```ebnf
/// case = "case" [ expression ] case_branch { case_branch } [ "else" expression ] "end" ;
/// ```
pub(super) fn case(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let (mut input, _) = word("case")(input)?;
    let mut operand = None;
    if !input.is_word("when") {
        let (rest, value) = input.beside(cut(CASE, expression))?;
        operand = Some(Box::new(value));
        input = rest;
    }
    let (mut input, first) = input.beside(cut(CASE, case_branch))?;
    let mut branches = vec![first];
    while input.is_word("when") {
        let (rest, branch) = input.beside(cut(CASE, case_branch))?;
        branches.push(branch);
        input = rest;
    }
    let mut otherwise = None;
    if let Ok((rest, _)) = word("else")(input) {
        let (rest, value) = rest.beside(cut(CASE, expression))?;
        otherwise = Some(Box::new(value));
        input = rest;
    }
    let (input, _) = cut(CASE, word("end"))(input)?;
    let kind = ExprKind::Case {
        operand,
        branches,
        otherwise,
    };
    Ok((input, kind))
}

/// ```ebnf
/// case_branch = "when" expression "then" expression ;
/// ```
pub(super) fn case_branch(input: Input<'_>) -> Parsed<'_, CaseBranch> {
    let (input, _) = word("when")(input)?;
    let (input, when) = expression(input)?;
    let (input, _) = word("then")(input)?;
    let (input, then) = input.beside(expression)?;
    Ok((input, CaseBranch { when, then }))
}

const CAST: &str = "a conversion is written `cast(e as type)`";

/// ```ebnf
/// cast = "cast" "(" expression "as" type_name ")" ;
/// ```
pub(super) fn cast(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let (input, _) = word("cast")(input)?;
    let (input, (operand, _, r#type)) = cut(
        CAST,
        parenthesized(|input| nom::Parser::parse(&mut (expression, word("as"), type_name), input)),
    )(input)?;
    let operand = Box::new(operand);
    Ok((input, ExprKind::Cast { operand, r#type }))
}

/// ```ebnf
/// extract = "extract" "(" ( name "from" expression | [ expression { "," expression } ] ) ")" ;
/// ```
/// `extract(year from t)` is `extract('year', t)`.
pub(super) fn extract(input: Input<'_>) -> Parsed<'_, ExprKind> {
    if !input.ahead(3).is_word("from") {
        return call(input);
    }
    let (function, part) = (name_here(input), input.ahead(2));
    let (rest, part_name) = name(part)?;
    let part = Expr::new(
        ExprKind::Literal(Literal(Value::String(part_name.text))),
        part.span(),
    );
    let (rest, operand) = cut("write `extract(year from t)`", expression)(rest.ahead(1))?;
    let (rest, _) = cut(
        "write `extract(year from t)`",
        symbol(TokenKind::CloseParenthesis),
    )(rest)?;
    let kind = ExprKind::Call {
        function,
        distinct: false,
        arguments: vec![part, operand],
    };
    Ok((rest, kind))
}

/// ```ebnf
/// definedness = ( "is_defined" | "is_undefined" ) "(" expression ")" ;
/// ```
/// They are `is not nil` and `is nil`.
pub(super) fn definedness(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let negated = input.is_word("is_defined");
    let (input, operand) = cut("one expression is tested", parenthesized(expression))(input.ahead(1))?;
    let kind = ExprKind::Is {
        operand: Box::new(operand),
        negated,
        test: IsTest::Nil,
    };
    Ok((input, kind))
}

/// ```ebnf
/// count_rows = "count" "(" "*" ")" ;
/// ```
pub(super) fn count_rows(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let (input, _) = word("count")(input)?;
    let (input, _) = parenthesized(symbol(TokenKind::Star))(input)?;
    Ok((input, ExprKind::CountRows))
}

const COLLECTION: &str = "a collection is written `list(a, b)`, `[a, b]`, `set(a, b)` or `bag(a, b)`";

/// ```ebnf
/// collection = ( "list" | "set" | "bag" ) "(" [ expression { "," expression } ] ")"
///            | "[" [ expression { "," expression } ] "]" ;
/// ```
pub(super) fn collection(input: Input<'_>) -> Parsed<'_, ExprKind> {
    if input.is(TokenKind::OpenBracket) {
        return list_in_square_brackets(input);
    }
    let kind = if input.is_word("set") {
        CollectionKind::Set
    } else if input.is_word("bag") {
        CollectionKind::Bag
    } else {
        CollectionKind::List
    };
    let (input, members) = cut(COLLECTION, optional_list(expression))(input.ahead(1))?;
    Ok((input, ExprKind::Collection { kind, members }))
}

fn list_in_square_brackets(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let mut input = input.ahead(1);
    let mut members = Vec::new();
    if !input.is(TokenKind::CloseBracket) {
        (input, members) = cut(COLLECTION, comma_list(expression))(input)?;
    }
    let (input, _) = cut(COLLECTION, symbol(TokenKind::CloseBracket))(input)?;
    let kind = CollectionKind::List;
    Ok((input, ExprKind::Collection { kind, members }))
}

/// ```ebnf
/// map = "map" "(" [ map_entry { "," map_entry } ] ")" ;
/// ```
pub(super) fn map(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let (input, _) = word("map")(input)?;
    let (input, entries) = cut("a map is written `map('a': 1, 'b': 2)`", optional_list(map_entry))(input)?;
    Ok((input, ExprKind::Map(entries)))
}

/// ```ebnf
/// map_entry = expression ":" expression ;
/// ```
pub(super) fn map_entry(input: Input<'_>) -> Parsed<'_, MapEntry> {
    let (input, key) = expression(input)?;
    let (input, _) = symbol(TokenKind::Colon)(input)?;
    let (input, value) = input.beside(expression)?;
    Ok((input, MapEntry { key, value }))
}

/// ```ebnf
/// structure = "struct" "(" [ field { "," field } ] ")" ;
/// ```
pub(super) fn structure(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let (input, _) = word("struct")(input)?;
    let (input, fields) = cut("a struct is written `struct(a: 1, b: 'x')`", optional_list(field))(input)?;
    Ok((input, ExprKind::Struct(fields)))
}

/// ```ebnf
/// field = name ":" expression ;
/// ```
pub(super) fn field(input: Input<'_>) -> Parsed<'_, Field> {
    let (input, name) = name(input)?;
    let (input, _) = symbol(TokenKind::Colon)(input)?;
    let (input, value) = expression(input)?;
    Ok((input, Field { name, value }))
}

const CALL: &str = "a call is written `f(a, b)`; a query may be its only argument";

/// ```ebnf
/// call = ( name | "distinct" ) "(" [ "distinct" expression | ANY_WORD | query
///        | expression "," expression { "," expression } ] ")" ;
/// ```
pub(super) fn call(input: Input<'_>) -> Parsed<'_, ExprKind> {
    let function = name_here(input);
    let (input, _) = symbol(TokenKind::OpenParenthesis)(input.ahead(1))?;
    let distinct = input.is_word("distinct");
    let (input, arguments) = if distinct {
        let (input, argument) = cut(CALL, expression)(input.ahead(1))?;
        (input, vec![argument])
    } else {
        cut(CALL, call_arguments)(input)?
    };
    let (input, _) = cut(CALL, symbol(TokenKind::CloseParenthesis))(input)?;
    let kind = ExprKind::Call {
        function,
        distinct,
        arguments,
    };
    Ok((input, kind))
}

/// A word that is the whole argument, which is a name (of a class, most likely) even where it is reserved.
fn lone_name(input: Input<'_>) -> Option<Expr> {
    let is_literal = input.is_one_of(&["true", "false", "nil", "null", "nan", "inf"]);
    let alone = input.kind() == TokenKind::Word && input.ahead(1).is(TokenKind::CloseParenthesis);
    (alone && !is_literal).then(|| Expr::new(ExprKind::Name(name_here(input)), input.span()))
}

fn call_arguments(input: Input<'_>) -> Parsed<'_, Vec<Expr>> {
    if input.is(TokenKind::CloseParenthesis) {
        return Ok((input, Vec::new()));
    }
    if let Some(name) = lone_name(input) {
        return Ok((input.ahead(1), vec![name]));
    }
    let (input, first) = input.beside(bracketed)?;
    let mut arguments = vec![first];
    let Ok((input, _)) = symbol(TokenKind::Comma)(input) else {
        return Ok((input, arguments));
    };
    let (input, others) = comma_list(expression)(input)?;
    arguments.extend(others);
    Ok((input, arguments))
}
