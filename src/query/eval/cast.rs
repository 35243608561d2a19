//! `cast(e as T)`.

use std::sync::Arc;

use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};

use crate::error::{QueryErrorCode, Result};
use crate::object::{Timestamp, Type, Value, coerce, text};
use crate::query::exec::Run;
use crate::query::function::arithmetic::{DAY, failure, float_to_int, out_of_range};

/// `value` as a value of type `to`, or an error that says why it is none. nil stays nil. Text is parsed; numbers are
/// rounded toward zero on the way to int; a reference must be to an object of the class.
pub fn cast(run: &Run<'_, '_>, value: Value, to: &Type) -> Result<Value> {
    match (&value, to) {
        (Value::Nil, _) | (_, Type::Any) => Ok(value),
        (Value::String(text), to) if *to != Type::String => parse(text, to),
        (_, Type::Int) => to_int(&value),
        (_, Type::Float) => value
            .as_float()
            .map(Value::Float)
            .ok_or_else(|| no_cast(&value, to)),
        (_, Type::Decimal) => to_decimal(&value),
        (_, Type::String) => Ok(Value::String(as_text(run, &value).into())),
        (Value::Date(date), Type::Timestamp) => {
            let micros = i64::from(date.0)
                .checked_mul(DAY)
                .ok_or_else(|| out_of_range("timestamp"))?;
            Ok(Value::Timestamp(Timestamp(micros)))
        }
        (Value::Timestamp(time), Type::Date) => i32::try_from(time.0.div_euclid(DAY))
            .map(|days| Value::Date(crate::object::Date(days)))
            .map_err(|_| out_of_range("date")),
        (Value::Timestamp(time), Type::Time) => Ok(Value::Time(crate::object::Time(time.0.rem_euclid(DAY)))),
        (Value::Reference(oid), Type::Reference(class)) => {
            let catalog = run.reader().catalog();
            let wanted = catalog.class(class).map(|class| class.id);
            match wanted.is_some_and(|wanted| catalog.is_a(oid.class(), wanted)) {
                true => Ok(value),
                false => Err(failure(
                    QueryErrorCode::InvalidValue,
                    format!("{} is no {class}", catalog.describe(*oid)),
                )),
            }
        }
        (_, Type::List(member)) => members(run, &value, member, to).map(|all| Value::List(all.into())),
        (_, Type::Set(member)) => members(run, &value, member, to).map(Value::set),
        (_, Type::Bag(member)) => members(run, &value, member, to).map(Value::bag),
        _ => coerce(value, to).map_err(|reason| failure(QueryErrorCode::InvalidValue, reason)),
    }
}

fn no_cast(value: &Value, to: &Type) -> crate::error::Error {
    failure(
        QueryErrorCode::InvalidValue,
        format!("{} cannot become {to}", value.type_name()),
    )
}

fn members(run: &Run<'_, '_>, value: &Value, member: &Type, to: &Type) -> Result<Vec<Value>> {
    let members = value.as_members().ok_or_else(|| no_cast(value, to))?;
    members
        .iter()
        .map(|value| cast(run, value.clone(), member))
        .collect()
}

fn as_text(run: &Run<'_, '_>, value: &Value) -> String {
    let name = |oid| run.reader().catalog().describe(oid);
    match value {
        Value::String(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Uuid(uuid) => uuid.to_string(),
        Value::Reference(oid) => name(*oid),
        Value::Date(_) | Value::Time(_) | Value::Timestamp(_) | Value::Duration(_) => {
            // The literal form is a type word and the text in quotes.
            let literal = value.to_string();
            let quoted = literal.split('\'').nth(1).map(str::to_owned);
            quoted.unwrap_or(literal)
        }
        other => other.display_with(&name).to_string(),
    }
}

fn to_int(value: &Value) -> Result<Value> {
    let number = match value {
        Value::Int(number) => Some(*number),
        Value::Bool(truth) => Some(i64::from(*truth)),
        Value::Float(number) => float_to_int(number.trunc()),
        Value::Decimal(number) => number.trunc().to_i64(),
        other => return Err(no_cast(other, &Type::Int)),
    };
    number
        .map(Value::Int)
        .ok_or_else(|| out_of_range(&format!("{value} as an int")))
}

fn to_decimal(value: &Value) -> Result<Value> {
    let number = match value {
        Value::Decimal(number) => Some(*number),
        Value::Int(number) => Some(Decimal::from(*number)),
        Value::Float(number) => Decimal::from_f64(*number),
        other => return Err(no_cast(other, &Type::Decimal)),
    };
    number
        .map(Value::Decimal)
        .ok_or_else(|| out_of_range(&format!("{value} as a decimal")))
}

fn parse(written: &Arc<str>, to: &Type) -> Result<Value> {
    let trimmed = written.trim();
    let invalid = |reason: String| {
        failure(
            QueryErrorCode::InvalidValue,
            format!("{written:?} cannot become {to}: {reason}"),
        )
    };
    match to {
        Type::Bool => match trimmed.to_ascii_lowercase().as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(invalid("it is neither true nor false".into())),
        },
        Type::Int => trimmed
            .parse()
            .map(Value::Int)
            .map_err(|e| invalid(e.to_string())),
        Type::Float => trimmed
            .parse()
            .map(Value::Float)
            .map_err(|e| invalid(e.to_string())),
        Type::Decimal => text::parse_decimal(trimmed).map(Value::Decimal).map_err(invalid),
        Type::Date => text::parse_date(trimmed).map(Value::Date).map_err(invalid),
        Type::Time => text::parse_time(trimmed).map(Value::Time).map_err(invalid),
        Type::Timestamp => text::parse_timestamp(trimmed)
            .map(Value::Timestamp)
            .map_err(invalid),
        Type::Duration => text::parse_duration(trimmed)
            .map(Value::Duration)
            .map_err(invalid),
        Type::Uuid => text::parse_uuid(trimmed).map(Value::Uuid).map_err(invalid),
        Type::Bytes => Ok(Value::Bytes(written.as_bytes().into())),
        _ => Err(invalid("text is no such value".into())),
    }
}
