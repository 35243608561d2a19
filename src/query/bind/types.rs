//! Types: of values, of what two expressions have in common, and what compares with what.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use crate::catalog::{Catalog, Class};
use crate::error::{QueryError, QueryErrorCode, Span};
use crate::object::{Oid, Type, Value};
use crate::query::plan::{Expression, ExpressionKind};

/// The narrowest type of a value; nil is `any`, and so are members of different types.
pub fn type_of(value: &Value, catalog: &Catalog) -> Type {
    let members = |members: &[Value]| Box::new(member_type(members.iter(), catalog));
    match value {
        Value::Nil => Type::Any,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Float(_) => Type::Float,
        Value::Decimal(_) => Type::Decimal,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        Value::Date(_) => Type::Date,
        Value::Time(_) => Type::Time,
        Value::Timestamp(_) => Type::Timestamp,
        Value::Duration(_) => Type::Duration,
        Value::Uuid(_) => Type::Uuid,
        Value::Reference(oid) => reference_type(*oid, catalog),
        Value::List(list) => Type::List(members(list)),
        Value::Set(set) => Type::Set(members(set)),
        Value::Bag(bag) => Type::Bag(members(bag)),
        Value::Map(entries) => Type::Map(
            Box::new(member_type(entries.iter().map(|(key, _)| key), catalog)),
            Box::new(member_type(entries.iter().map(|(_, value)| value), catalog)),
        ),
        Value::Struct(fields) => Type::structure(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), type_of(value, catalog))),
        ),
    }
}

fn reference_type(oid: Oid, catalog: &Catalog) -> Type {
    match catalog.classes.get(&oid.class()) {
        Some(class) => Type::Reference(class.name.clone()),
        None => Type::Any,
    }
}

fn member_type<'v>(members: impl Iterator<Item = &'v Value>, catalog: &Catalog) -> Type {
    let mut common = None;
    for member in members.filter(|member| !member.is_nil()) {
        let r#type = type_of(member, catalog);
        common = Some(match common {
            None => r#type,
            Some(before) => common_type(&before, &r#type, catalog).unwrap_or(Type::Any),
        });
    }
    common.unwrap_or(Type::Any)
}

/// The type of which the values of both types are: the same type, or a class above both. Different numbers have none.
pub(super) fn common_type(a: &Type, b: &Type, catalog: &Catalog) -> Option<Type> {
    match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        (Type::Reference(a), Type::Reference(b)) => {
            common_superclass(a, b, catalog).map(|class| Type::Reference(class.name.clone()))
        }
        (Type::List(a), Type::List(b)) => Some(Type::list(common_member(a, b, catalog))),
        (Type::Set(a), Type::Set(b)) => Some(Type::set(common_member(a, b, catalog))),
        (Type::Bag(a), Type::Bag(b)) => Some(Type::bag(common_member(a, b, catalog))),
        _ => None,
    }
}

fn common_member(a: &Type, b: &Type, catalog: &Catalog) -> Type {
    common_type(a, b, catalog).unwrap_or(Type::Any)
}

fn common_superclass<'c>(a: &str, b: &str, catalog: &'c Catalog) -> Option<&'c Arc<Class>> {
    let b = catalog.class(b)?.id;
    let mut above = catalog.class(a)?;
    while !catalog.is_a(b, above.id) {
        above = catalog.classes.get(&above.superclass?)?;
    }
    Some(above)
}

/// Whether values of the two types can be compared: both numbers, or of one kind; of classes, if one is above the
/// other; of collections, if their members can.
pub(super) fn comparable(a: &Type, b: &Type, catalog: &Catalog) -> bool {
    match (a, b) {
        (Type::Any, _) | (_, Type::Any) => true,
        (Type::Reference(a), Type::Reference(b)) => match (catalog.class(a), catalog.class(b)) {
            (Some(a), Some(b)) => catalog.is_a(a.id, b.id) || catalog.is_a(b.id, a.id),
            _ => true,
        },
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Bag(a), Type::Bag(b)) => {
            comparable(a, b, catalog)
        }
        (Type::Map(a, c), Type::Map(b, d)) => comparable(a, b, catalog) && comparable(c, d, catalog),
        (Type::Struct(a), Type::Struct(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b.iter())
                    .all(|((n, a), (m, b))| n == m && comparable(a, b, catalog))
        }
        (a, b) => a == b || (a.is_number() && b.is_number()),
    }
}

/// Whether a value of type `from` may be stored where `to` is declared: the same type, a number that widens, an
/// object of a subclass; `any` is checked at run time.
pub(super) fn assignable(from: &Type, to: &Type, catalog: &Catalog) -> bool {
    match (from, to) {
        (Type::Any, _) | (_, Type::Any) => true,
        (Type::Int, Type::Float | Type::Decimal) | (Type::Decimal, Type::Float) => true,
        (Type::Reference(from), Type::Reference(to)) => match (catalog.class(from), catalog.class(to)) {
            // An object of the wider class may turn out to be of the narrower one.
            (Some(from), Some(to)) => catalog.is_a(from.id, to.id) || catalog.is_a(to.id, from.id),
            _ => true,
        },
        (Type::List(from), Type::List(to))
        | (Type::Set(from), Type::Set(to))
        | (Type::Bag(from), Type::Bag(to)) => assignable(from, to, catalog),
        (Type::Map(from, a), Type::Map(to, b)) => assignable(from, to, catalog) && assignable(a, b, catalog),
        (Type::Struct(from), Type::Struct(to)) => {
            from.len() == to.len()
                && from
                    .iter()
                    .zip(to.iter())
                    .all(|((n, from), (m, to))| n == m && assignable(from, to, catalog))
        }
        (from, to) => from == to,
    }
}

/// Whether this is the literal nil, which fits every type.
pub(super) fn is_nil(expression: &Expression) -> bool {
    expression.as_constant().is_some_and(Value::is_nil)
}

/// Whether values of this type are collections with members of one type.
pub(super) fn is_collection(r#type: &Type) -> bool {
    r#type.member().is_some()
}

/// A type error at `span`.
pub(super) fn type_error(span: Span, message: impl Into<String>) -> QueryError {
    QueryError::new(QueryErrorCode::Type, span, message)
}

impl<'a> Binder<'a> {
    /// The common type of alternatives (the branches of a `case`, the operands of `??`): nil literals fit all, numbers
    /// of different types are converted to the widest.
    pub(super) fn unify(&mut self, mut alternatives: Vec<&mut Expression>) -> Bound<Type> {
        let mut common: Option<Type> = None;
        for alternative in &alternatives {
            if is_nil(alternative) || is_untyped_parameter(alternative) {
                continue;
            }
            common = Some(match common {
                None => alternative.r#type.clone(),
                Some(before) => self.wider(&before, alternative)?,
            });
        }
        let Some(common) = common else {
            return Ok(Type::Any);
        };
        for alternative in &mut alternatives {
            self.expect(alternative, &common);
            widen(alternative, &common);
        }
        Ok(common)
    }

    fn wider(&self, before: &Type, alternative: &Expression) -> Bound<Type> {
        let r#type = &alternative.r#type;
        match (before, r#type) {
            (Type::Any, _) | (_, Type::Any) => Ok(Type::Any),
            (a, b) if a.is_number() && b.is_number() => Ok(wider_number(a, b)),
            (a, b) => common_type(a, b, self.catalog).ok_or_else(|| {
                type_error(
                    alternative.span,
                    format!("this is of type {type}, but the alternative before it of type {before}"),
                )
            }),
        }
    }
}

fn is_untyped_parameter(expression: &Expression) -> bool {
    matches!(expression.kind, ExpressionKind::Parameter { .. }) && expression.r#type == Type::Any
}

/// The number type that holds numbers of both.
pub(super) fn wider_number(a: &Type, b: &Type) -> Type {
    match (a, b) {
        (Type::Float, _) | (_, Type::Float) => Type::Float,
        (Type::Decimal, _) | (_, Type::Decimal) => Type::Decimal,
        _ => Type::Int,
    }
}

/// Converts a number to a wider type of number.
pub(super) fn widen(expression: &mut Expression, to: &Type) {
    if to.is_number() && expression.r#type.is_number() && expression.r#type != *to {
        let span = expression.span;
        let nil = Expression::new(ExpressionKind::Constant(Value::Nil), Type::Any, span);
        let number = std::mem::replace(expression, nil);
        *expression = Expression::new(ExpressionKind::Cast(Box::new(number)), to.clone(), span);
    }
}
