//! Fitting a value to a declared type.

use std::sync::Arc;

use rust_decimal::Decimal;

use super::codec::MAX_DEPTH;
use super::number;
use super::types::Type;
use super::value::Value;

/// `value` as a value of type `to`, or a sentence why it is none.
///
/// An int widens to float (where that is exact) and decimal, a list to a set or bag; members are fitted one by one;
/// nil fits every type. A struct takes its fields in any order, and nil for those left out. Any reference is accepted
/// where a reference is wanted: whether its class fits, the catalog knows.
pub fn coerce(value: Value, to: &Type) -> Result<Value, String> {
    if fits(&value, to, 0) {
        return Ok(value);
    }
    convert(value, to, 0)
}

/// Whether `value` is already in the one form that values of type `to` have.
fn fits(value: &Value, to: &Type, depth: usize) -> bool {
    let all = |members: &[Value], to: &Type| members.iter().all(|member| fits(member, to, depth + 1));
    if depth > MAX_DEPTH {
        return false;
    }
    match (value, to) {
        (Value::Nil, _)
        | (Value::Bool(_), Type::Bool | Type::Any)
        | (Value::Int(_), Type::Int | Type::Any)
        | (Value::Float(_), Type::Float | Type::Any)
        | (Value::Decimal(_), Type::Decimal | Type::Any)
        | (Value::String(_), Type::String | Type::Any)
        | (Value::Bytes(_), Type::Bytes | Type::Any)
        | (Value::Duration(_), Type::Duration | Type::Any)
        | (Value::Uuid(_), Type::Uuid | Type::Any)
        | (Value::Reference(_), Type::Reference(_) | Type::Any) => true,
        (Value::Date(date), Type::Date | Type::Any) => date.is_valid(),
        (Value::Time(time), Type::Time | Type::Any) => time.is_valid(),
        (Value::Timestamp(instant), Type::Timestamp | Type::Any) => instant.is_valid(),
        (Value::List(members), Type::List(member)) => all(members, member),
        (Value::Set(members), Type::Set(member)) => increasing(members) && all(members, member),
        (Value::Bag(members), Type::Bag(member)) => members.is_sorted() && all(members, member),
        (Value::List(members), Type::Any) => all(members, to),
        (Value::Set(members), Type::Any) => increasing(members) && all(members, to),
        (Value::Bag(members), Type::Any) => members.is_sorted() && all(members, to),
        (Value::Map(entries), Type::Map(..) | Type::Any) => {
            let (key, value) = entry_types(to);
            let sorted = entries.is_sorted_by(|a, b| a.0 < b.0);
            let fit =
                |entry: &(Value, Value)| fits(&entry.0, key, depth + 1) && fits(&entry.1, value, depth + 1);
            sorted && entries.iter().all(fit)
        }
        (Value::Struct(fields), Type::Any) => fields.iter().all(|(_, field)| fits(field, to, depth + 1)),
        (Value::Struct(fields), Type::Struct(declared)) => {
            let mut pairs = fields.iter().zip(declared.iter());
            fields.len() == declared.len()
                && pairs
                    .all(|(field, declared)| field.0 == declared.0 && fits(&field.1, &declared.1, depth + 1))
        }
        _ => false,
    }
}

fn increasing(members: &[Value]) -> bool {
    members.is_sorted_by(|a, b| a < b)
}

fn entry_types(map: &Type) -> (&Type, &Type) {
    match map {
        Type::Map(key, value) => (key, value),
        other => (other, other),
    }
}

/// Converts what does not fit as it is.
fn convert(value: Value, to: &Type, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err(format!("a value nests more than {MAX_DEPTH} deep"));
    }
    if fits(&value, to, depth) {
        return Ok(value);
    }
    let each = |members: &[Value], to: &Type| {
        members
            .iter()
            .map(|member| convert(member.clone(), to, depth + 1))
            .collect::<Result<Vec<Value>, String>>()
    };
    match (&value, to) {
        (Value::Int(int), Type::Float) => exact_float(*int),
        (Value::Int(int), Type::Decimal) => Ok(Value::Decimal(Decimal::from(*int))),
        (Value::List(members), Type::List(member)) => each(members, member).map(Value::list),
        (Value::List(members), Type::Any) => each(members, to).map(Value::list),
        (Value::Set(members) | Value::List(members), Type::Set(member)) => {
            each(members, member).map(Value::set)
        }
        (Value::Set(members), Type::Any) => each(members, to).map(Value::set),
        (Value::Bag(members) | Value::List(members), Type::Bag(member)) => {
            each(members, member).map(Value::bag)
        }
        (Value::Bag(members), Type::Any) => each(members, to).map(Value::bag),
        (Value::Map(entries), Type::Map(..) | Type::Any) => {
            let (key, value) = entry_types(to);
            let convert = |entry: &(Value, Value)| {
                Ok((
                    convert(entry.0.clone(), key, depth + 1)?,
                    convert(entry.1.clone(), value, depth + 1)?,
                ))
            };
            let entries: Result<Vec<_>, String> = entries.iter().map(convert).collect();
            entries.map(Value::map)
        }
        (Value::Struct(fields), Type::Any) => {
            let convert = |(name, field): &(Arc<str>, Value)| {
                Ok((name.clone(), convert(field.clone(), to, depth + 1)?))
            };
            let fields: Result<Vec<_>, String> = fields.iter().map(convert).collect();
            fields.map(Value::structure)
        }
        (Value::Struct(fields), Type::Struct(declared)) => convert_struct(fields, declared, depth),
        _ => Err(mismatch(&value, to)),
    }
}

fn exact_float(int: i64) -> Result<Value, String> {
    let float = number::int_to_float(int);
    match number::float_to_int(float) == Some(int) {
        true => Ok(Value::Float(float)),
        false => Err(format!("the int {int} has no exact float")),
    }
}

fn convert_struct(
    fields: &[(Arc<str>, Value)],
    declared: &[(Arc<str>, Type)],
    depth: usize,
) -> Result<Value, String> {
    if let Some((unknown, _)) = fields
        .iter()
        .find(|(name, _)| !declared.iter().any(|(known, _)| known == name))
    {
        return Err(format!("the struct has no field {unknown}"));
    }
    let convert = |(name, r#type): &(Arc<str>, Type)| {
        let given = fields.iter().find(|(given, _)| given == name);
        let value = given.map_or(Value::Nil, |(_, value)| value.clone());
        convert(value, r#type, depth + 1)
            .map(|value| (name.clone(), value))
            .map_err(|reason| format!("field {name}: {reason}"))
    };
    let fields: Result<Vec<_>, String> = declared.iter().map(convert).collect();
    fields.map(Value::structure)
}

fn mismatch(value: &Value, to: &Type) -> String {
    let mut shown = value.to_string();
    if let Some((end, _)) = shown.char_indices().nth(40) {
        shown.truncate(end);
        shown.push_str("..");
    }
    let hint = match (value, to) {
        (Value::Float(_), Type::Decimal) => "; a decimal is written with a d, as 9.99d",
        (
            Value::Date(_) | Value::Time(_) | Value::Timestamp(_),
            Type::Any | Type::Date | Type::Time | Type::Timestamp,
        ) => ", which is out of range",
        _ => "",
    };
    format!("expected {to}, found {} {shown}{hint}", value.type_name())
}
