//! Functions on values of any type.

use std::hash::Hash;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::error::Result;
use crate::object::{Type, Value};
use crate::query::plan::Comparison;

use super::compare;
use super::table::{Call, Function, argument};

pub(super) const FUNCTIONS: &[Function] = &[
    pure("coalesce", "coalesce(value, ...)", coalesce_type, coalesce),
    pure("nullif", "nullif(value, value)", nullif_type, nullif),
    pure("is_defined", "is_defined(value)", one_to_bool, is_defined),
    pure("is_undefined", "is_undefined(value)", one_to_bool, is_undefined),
    pure("hash", "hash(value)", one_to_int, hash),
    Function {
        ..pure(
            "uuid",
            "uuid()",
            |types| types.is_empty().then_some(Type::Uuid),
            uuid,
        )
    },
];

const fn pure(
    name: &'static str,
    usage: &'static str,
    result: fn(&[Type]) -> Option<Type>,
    run: fn(&Call<'_>, &[Value]) -> Result<Value>,
) -> Function {
    Function {
        name,
        usage,
        strict: false,
        result,
        run,
    }
}

/// The type that values of both types have: the same type, the wider number, else `any` if one is `any`.
pub fn common_type(a: &Type, b: &Type) -> Option<Type> {
    match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        (Type::Any, _) | (_, Type::Any) => Some(Type::Any),
        // The value itself is not converted, so the common type of different numbers is known at run time only.
        (a, b) if a.is_number() && b.is_number() => Some(Type::Any),
        (Type::Reference(_), Type::Reference(_)) => Some(Type::Any),
        _ => None,
    }
}

fn coalesce_type(types: &[Type]) -> Option<Type> {
    let mut all = types.iter();
    let first = all.next()?.clone();
    all.try_fold(first, |common, t| common_type(&common, t))
}

/// The first argument that is not nil.
fn coalesce(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let found = arguments.iter().find(|value| !matches!(value, Value::Nil));
    Ok(found.cloned().unwrap_or_default())
}

fn nullif_type(types: &[Type]) -> Option<Type> {
    match types {
        [a, b] => common_type(a, b).map(|_| a.clone()),
        _ => None,
    }
}

/// nil if both are equal, else the first.
fn nullif(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let first = argument(arguments, 0);
    let equal = compare::compare(Comparison::Equal, first, argument(arguments, 1));
    Ok(if equal == Some(true) {
        Value::Nil
    } else {
        first.clone()
    })
}

fn one_to_bool(types: &[Type]) -> Option<Type> {
    (types.len() == 1).then_some(Type::Bool)
}

fn one_to_int(types: &[Type]) -> Option<Type> {
    (types.len() == 1).then_some(Type::Int)
}

fn is_defined(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    Ok(Value::Bool(!matches!(argument(arguments, 0), Value::Nil)))
}

fn is_undefined(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    Ok(Value::Bool(matches!(argument(arguments, 0), Value::Nil)))
}

/// 64 bits that are equal for equal values, in every process.
fn hash(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let mut hasher = SipHasher13::new_with_keys(0, 0);
    argument(arguments, 0).hash(&mut hasher);
    Ok(Value::Int(hasher.finish() as i64))
}

fn uuid(_: &Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Uuid(uuid::Uuid::new_v4()))
}
