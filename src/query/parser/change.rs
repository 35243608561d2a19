//! Statements that change objects and names.

use nom::Parser;

use super::combinators::{
    class_name, comma_list, cut, flag, name, optional_list, parenthesized, symbol, word,
};
use super::expression::{clause_expression, expression};
use super::input::{Expected, Input, Parsed};
use super::primary::field;
use super::query::{filter_clause, projection, query};
use super::range::{alias, begins_on_conflict};
use super::statement::inner_statement;
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::query::ast::{
    Assignment, AssignmentOperator, ConflictAction, Delete, Expr, Insert, InsertSource, Name, OnConflict,
    Projection, StatementKind, Update,
};
use crate::query::token::TokenKind;

const INSERT: &str =
    "write `insert C(attribute: e, ..)`, or `insert into C (attribute, ..) values (e, ..), ..`";

/// ```ebnf
/// insert = "insert" ( "into" class_name insert_rows | class_name "(" [ field { "," field } ] ")" )
///          [ on_conflict ] [ returning ] ;
/// ```
pub(super) fn insert(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("insert")(input)?;
    let (input, into) = flag("into")(input)?;
    let (input, class) = cut(INSERT, class_name)(input)?;
    let (mut input, source) = if into {
        cut(INSERT, insert_rows)(input)?
    } else {
        cut(INSERT, optional_list(field).map(InsertSource::Fields))(input)?
    };
    let mut conflict = None;
    if begins_on_conflict(input) {
        let (rest, clause) = cut(CONFLICT, on_conflict)(input)?;
        conflict = Some(clause);
        input = rest;
    } else {
        input.note(Expected::Text("on conflict"));
    }
    let (input, returning) = returning(input)?;
    let insert = Insert {
        class,
        source,
        on_conflict: conflict,
        returning,
    };
    Ok((input, StatementKind::Insert(Box::new(insert))))
}

/// ```ebnf
/// insert_rows = "(" name { "," name } ")" ( "values" row { "," row } | query ) ;
/// ```
/// Every row has as many values as there are names.
pub(super) fn insert_rows(input: Input<'_>) -> Parsed<'_, InsertSource> {
    let (input, attributes) = parenthesized(comma_list(name))(input)?;
    if !(input.is_word("values") && input.ahead(1).is(TokenKind::OpenParenthesis)) {
        input.note(Expected::Text("values"));
        let (input, query) = query(input)?;
        return Ok((input, InsertSource::Query { attributes, query }));
    }
    let count = attributes.len();
    let (input, rows) = comma_list(move |input| {
        let (rest, values) = row(input)?;
        if values.len() != count {
            return input.refuse(uneven(input.span_to(rest), values.len(), count));
        }
        Ok((rest, values))
    })(input.ahead(1))?;
    Ok((input, InsertSource::Rows { attributes, rows }))
}

fn uneven(span: Span, values: usize, attributes: usize) -> QueryError {
    let message = format!("this row has {values} values for {attributes} attributes");
    QueryError::new(QueryErrorCode::Syntax, span, message)
}

/// ```ebnf
/// row = "(" expression { "," expression } ")" ;
/// ```
pub(super) fn row(input: Input<'_>) -> Parsed<'_, Vec<Expr>> {
    parenthesized(comma_list(expression))(input)
}

const CONFLICT: &str =
    "write `on conflict (attribute) do nothing` or `on conflict (attribute) update set a = e`";

/// ```ebnf
/// on_conflict = "on" "conflict" "(" name { "," name } ")" ( "do" "nothing" | [ "do" ] "update" "set" assignments ) ;
/// ```
pub(super) fn on_conflict(input: Input<'_>) -> Parsed<'_, OnConflict> {
    let (input, (_, _, attributes)) =
        (word("on"), word("conflict"), parenthesized(comma_list(name))).parse(input)?;
    let (input, given) = flag("do")(input)?;
    let (input, nothing) = if given {
        flag("nothing")(input)?
    } else {
        (input, false)
    };
    let (input, action) = if nothing {
        (input, ConflictAction::Nothing)
    } else {
        let (input, _) = word("update")(input)?;
        let (input, _) = word("set")(input)?;
        let (input, assignments) = assignments(input, None)?;
        (input, ConflictAction::Update(assignments))
    };
    Ok((input, OnConflict { attributes, action }))
}

/// ```ebnf
/// returning = "returning" projection ;
/// ```
/// Nothing if it is not there.
pub(super) fn returning(input: Input<'_>) -> Parsed<'_, Option<Projection>> {
    let (input, found) = flag("returning")(input)?;
    if !found {
        return Ok((input, None));
    }
    let (input, projection) = cut("`returning` takes what a `select` takes", projection)(input)?;
    Ok((input, Some(projection)))
}

const UPDATE: &str = "write `update C x set attribute = e, .. where p`";

/// ```ebnf
/// update = "update" class_name [ alias ] "set" assignments [ "where" clause_expression ] [ returning ] ;
/// ```
pub(super) fn update(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("update")(input)?;
    let (input, (class, variable, _)) = cut(UPDATE, (class_name, alias, word("set")))(input)?;
    let (input, assignments) = cut(UPDATE, |input| assignments(input, variable.as_ref()))(input)?;
    let (input, filter) = filter(input)?;
    let (input, returning) = returning(input)?;
    let update = Update {
        class,
        variable,
        assignments,
        filter,
        returning,
    };
    Ok((input, StatementKind::Update(Box::new(update))))
}

fn filter(input: Input<'_>) -> Parsed<'_, Option<Expr>> {
    if !input.is_word("where") {
        input.note(Expected::Text("where"));
        return Ok((input, None));
    }
    let (input, condition) = input.beside(filter_clause)?;
    Ok((input, Some(condition)))
}

/// ```ebnf
/// assignments = assignment { "," assignment } ;
/// ```
pub(super) fn assignments<'a>(input: Input<'a>, variable: Option<&Name>) -> Parsed<'a, Vec<Assignment>> {
    comma_list(|input| assignment(input, variable))(input)
}

/// ```ebnf
/// assignment = [ name "." ] attribute_name ( "=" | "+=" | "-=" ) clause_expression ;
/// ```
/// The name before the dot is the range variable of the update; without it, the attribute must not be reserved.
pub(super) fn assignment<'a>(input: Input<'a>, variable: Option<&Name>) -> Parsed<'a, Assignment> {
    let (rest, mut attribute) = name(input)?;
    let mut input = rest;
    if rest.is(TokenKind::Dot) && variable == Some(&attribute) {
        (input, attribute) = super::combinators::attribute_name(rest.ahead(1))?;
    }
    let operator = match input.kind() {
        TokenKind::PlusEqual => AssignmentOperator::Add,
        TokenKind::MinusEqual => AssignmentOperator::Remove,
        _ => {
            input.note(Expected::Text("+="));
            input.note(Expected::Text("-="));
            symbol(TokenKind::Equal)(input)?;
            AssignmentOperator::Set
        }
    };
    let (input, value) = clause_expression(input.ahead(1))?;
    let assignment = Assignment {
        attribute,
        operator,
        value,
    };
    Ok((input, assignment))
}

/// ```ebnf
/// delete = "delete" [ "from" ] class_name [ alias ] [ "where" clause_expression ] [ returning ] ;
/// ```
pub(super) fn delete(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("delete")(input)?;
    let (input, _) = flag("from")(input)?;
    let (input, (class, variable)) = cut("write `delete C x where p`", (class_name, alias))(input)?;
    let (input, filter) = filter(input)?;
    let (input, returning) = returning(input)?;
    let delete = Delete {
        class,
        variable,
        filter,
        returning,
    };
    Ok((input, StatementKind::Delete(Box::new(delete))))
}

const LET: &str = "a script variable is written `let $a = e` or `let $a = insert C(..)`";

/// ```ebnf
/// let_statement = "let" PARAMETER "=" inner_statement ;
/// ```
/// The parameter has a name, not a number.
pub(super) fn let_statement(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("let")(input)?;
    let (input, parameter) = cut(LET, variable)(input)?;
    let (input, (_, value)) = cut(LET, (symbol(TokenKind::Equal), inner_statement))(input)?;
    let value = Box::new(value);
    Ok((input, StatementKind::Let { parameter, value }))
}

fn variable(input: Input<'_>) -> Parsed<'_, Name> {
    let text = input.text().strip_prefix('$').unwrap_or_default();
    if input.kind() != TokenKind::Parameter || text.starts_with(|c: char| c.is_ascii_digit()) {
        return input.fail(Expected::Rule("a variable such as `$a`"));
    }
    Ok((input.ahead(1), Name::new(text, input.span())))
}

/// ```ebnf
/// name_root = "name" name "=" expression ;
/// ```
pub(super) fn name_root(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("name")(input)?;
    let (input, (name, _, value)) = cut(
        "a root is named by `name n = e`",
        (name, symbol(TokenKind::Equal), expression),
    )(input)?;
    Ok((input, StatementKind::Name { name, value }))
}

/// ```ebnf
/// unname = "unname" name ;
/// ```
pub(super) fn unname(input: Input<'_>) -> Parsed<'_, StatementKind> {
    let (input, _) = word("unname")(input)?;
    let (input, name) = cut("write `unname n`", name)(input)?;
    Ok((input, StatementKind::Unname(name)))
}
