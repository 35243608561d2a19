//! Functions on collections. A nil collection counts as empty.

use std::sync::Arc;

use crate::error::{QueryErrorCode, Result};
use crate::object::{Type, Value};
use crate::query::plan::AggregateFunction;

use super::aggregate::{self, Accumulator};
use super::arithmetic::failure;
use super::table::{Call, Function, argument, mismatch};

pub(super) const FUNCTIONS: &[Function] = &[
    pure("count", "count(collection)", count_type, |_, a| {
        over(AggregateFunction::Count, a)
    }),
    pure(
        "sum",
        "sum(collection)",
        |t| numbers(AggregateFunction::Sum, t),
        |_, a| over(AggregateFunction::Sum, a),
    ),
    pure(
        "avg",
        "avg(collection)",
        |t| numbers(AggregateFunction::Avg, t),
        |_, a| over(AggregateFunction::Avg, a),
    ),
    pure("min", "min(collection)", member_type, |_, a| {
        over(AggregateFunction::Min, a)
    }),
    pure("max", "max(collection)", member_type, |_, a| {
        over(AggregateFunction::Max, a)
    }),
    pure("element", "element(collection)", member_type, element),
    pure("first", "first(collection)", member_type, first),
    pure("last", "last(collection)", member_type, last),
    pure(
        "flatten",
        "flatten(collection of collections)",
        flatten_type,
        flatten,
    ),
    pure("distinct", "distinct(collection)", set_type, distinct),
    pure("listtoset", "listtoset(list)", list_to_set_type, distinct),
    pure("sort", "sort(collection)", list_type, sort),
    pure(
        "slice",
        "slice(list | string | bytes, from int, to int)",
        slice_type,
        slice,
    ),
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

/// The members of a collection; none for nil. A map has its values.
pub fn members(function: &str, value: &Value) -> Result<Arc<[Value]>> {
    match value {
        Value::Nil => Ok(Arc::from([])),
        Value::List(members) | Value::Set(members) | Value::Bag(members) => Ok(Arc::clone(members)),
        Value::Map(entries) => Ok(entries.iter().map(|(_, value)| value.clone()).collect()),
        other => Err(mismatch(function, "a collection", other)),
    }
}

fn member_type(types: &[Type]) -> Option<Type> {
    match types {
        [Type::Any] => Some(Type::Any),
        [Type::Map(_, value)] => Some((**value).clone()),
        [t] => t.member().cloned(),
        _ => None,
    }
}

fn count_type(types: &[Type]) -> Option<Type> {
    member_type(types).map(|_| Type::Int)
}

fn numbers(function: AggregateFunction, types: &[Type]) -> Option<Type> {
    aggregate::result_type(function, &member_type(types)?)
}

fn over(function: AggregateFunction, arguments: &[Value]) -> Result<Value> {
    let members = members("an aggregate", argument(arguments, 0))?;
    let mut accumulator = Accumulator::new(function);
    for member in members.iter() {
        accumulator.add(member)?;
    }
    accumulator.finish()
}

/// The only member; nil for an empty collection, an error for several.
pub fn element(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let members = members("element", argument(arguments, 0))?;
    match &*members {
        [] => Ok(Value::Nil),
        [only] => Ok(only.clone()),
        many => Err(failure(
            QueryErrorCode::Cardinality,
            format!("one value was expected, but there are {}", many.len()),
        )),
    }
}

fn first(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    Ok(members("first", argument(arguments, 0))?
        .first()
        .cloned()
        .unwrap_or_default())
}

fn last(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    Ok(members("last", argument(arguments, 0))?
        .last()
        .cloned()
        .unwrap_or_default())
}

fn flatten_type(types: &[Type]) -> Option<Type> {
    let [outer] = types else { return None };
    let member = match outer {
        Type::Any => return Some(Type::Any),
        outer => outer.member()?,
    };
    let flat = match member {
        Type::Any => Type::Any,
        member => member.member()?.clone(),
    };
    Some(match outer {
        Type::List(_) => Type::list(flat),
        Type::Set(_) => Type::set(flat),
        _ => Type::bag(flat),
    })
}

/// The members of the members, as a collection of the outer kind; nils are left out.
fn flatten(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let outer = argument(arguments, 0);
    let mut flat = Vec::new();
    for member in members("flatten", outer)?.iter() {
        flat.extend(members("flatten", member)?.iter().cloned());
    }
    Ok(match outer {
        Value::Set(_) => Value::set(flat),
        Value::Bag(_) => Value::bag(flat),
        _ => Value::List(flat.into()),
    })
}

fn set_type(types: &[Type]) -> Option<Type> {
    member_type(types).map(Type::set)
}

fn list_to_set_type(types: &[Type]) -> Option<Type> {
    matches!(types, [Type::List(_) | Type::Any]).then(|| set_type(types))?
}

fn distinct(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    Ok(Value::set(
        members("distinct", argument(arguments, 0))?.iter().cloned(),
    ))
}

fn list_type(types: &[Type]) -> Option<Type> {
    member_type(types).map(Type::list)
}

/// The members in the total order, nil first.
fn sort(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let mut sorted = members("sort", argument(arguments, 0))?.to_vec();
    sorted.sort();
    Ok(Value::List(sorted.into()))
}

fn slice_type(types: &[Type]) -> Option<Type> {
    match types {
        [
            t @ (Type::List(_) | Type::String | Type::Bytes | Type::Any),
            Type::Int | Type::Any,
            Type::Int | Type::Any,
        ] => Some(t.clone()),
        _ => None,
    }
}

fn slice(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let bound = |index| match argument(arguments, index) {
        Value::Nil => Ok(None),
        Value::Int(bound) => Ok(Some(*bound)),
        other => Err(mismatch("slice", "an int", other)),
    };
    slice_of(argument(arguments, 0), bound(1)?, bound(2)?)
}

/// `value[from:to]`: members (characters, bytes) from position `from` up to, not including, `to`, counted from 0;
/// a bound left out is the end of that side, and what lies outside is left out.
pub fn slice_of(value: &Value, from: Option<i64>, to: Option<i64>) -> Result<Value> {
    let position = |bound: i64| usize::try_from(bound.max(0)).unwrap_or(usize::MAX);
    let skip = from.map_or(0, position);
    let take = to.map_or(usize::MAX, position).saturating_sub(skip);
    Ok(match value {
        Value::Nil => Value::Nil,
        Value::List(members) => Value::List(members.iter().skip(skip).take(take).cloned().collect()),
        Value::String(text) => {
            let part: String = text.chars().skip(skip).take(take).collect();
            Value::String(part.into())
        }
        Value::Bytes(bytes) => Value::Bytes(bytes.iter().skip(skip).take(take).copied().collect()),
        other => return Err(mismatch("a slice", "a list, string or bytes", other)),
    })
}

/// `value[index]`: a member of a list counted from 0, a character, or the value of a map's key; nil outside.
pub fn index_of(value: &Value, index: &Value) -> Result<Value> {
    match (value, index) {
        (Value::Nil, _) | (_, Value::Nil) => Ok(Value::Nil),
        (Value::Map(entries), key) => Ok(entries
            .binary_search_by(|(candidate, _)| candidate.cmp(key))
            .ok()
            .and_then(|at| entries.get(at))
            .map(|(_, value)| value.clone())
            .unwrap_or_default()),
        (Value::List(members), Value::Int(at)) => Ok(usize::try_from(*at)
            .ok()
            .and_then(|at| members.get(at))
            .cloned()
            .unwrap_or_default()),
        (Value::String(text), Value::Int(at)) => {
            let found = usize::try_from(*at).ok().and_then(|at| text.chars().nth(at));
            Ok(found.map_or(Value::Nil, |c| Value::String(c.to_string().into())))
        }
        (Value::List(_) | Value::String(_), other) => Err(mismatch("an index", "an int", other)),
        (other, _) => Err(mismatch("an index", "a list, string or map", other)),
    }
}
