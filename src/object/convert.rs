//! Converting values to another type where nothing is lost by it.

use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};

use super::coerce::coerce;
use super::number;
use super::text;
use super::time::{Time, Timestamp};
use super::types::Type;
use super::value::Value;

/// `value` as a value of type `to` that says the same, or a sentence why there is none.
///
/// More than [`coerce`]: text is parsed and anything with a form as text written, a float or decimal without a fraction
/// is an int, a date is its midnight and back, a single value is a collection of one, and collections become one
/// another where no duplicate is lost.
pub fn convert(value: Value, to: &Type) -> Result<Value, String> {
    if let (Value::List(members) | Value::Bag(members), Type::Set(of)) = (&value, to) {
        // To coerce would drop duplicates.
        return convert_members(members, to, of);
    }
    let refusal = match coerce(value.clone(), to) {
        Ok(fitted) => return Ok(fitted),
        Err(refusal) => refusal,
    };
    let converted = match (&value, to) {
        (Value::String(text), _) => parse(text, to)?,
        (_, Type::String) => as_text(&value).map(Value::from),
        (_, Type::Int) => to_int(&value),
        (_, Type::Float) => to_float(&value),
        (Value::Float(number), Type::Decimal) => exact_decimal(*number),
        (Value::Date(date), Type::Timestamp) => Timestamp::from_parts(*date, Time(0)).map(Value::Timestamp),
        (Value::Timestamp(instant), Type::Date) if instant.time() == Time(0) => {
            Some(Value::Date(instant.date()))
        }
        (Value::List(_) | Value::Set(_) | Value::Bag(_), Type::List(of) | Type::Set(of) | Type::Bag(of)) => {
            return convert_members(value.as_members().unwrap_or_default(), to, of);
        }
        (_, Type::List(of) | Type::Set(of) | Type::Bag(of)) => {
            return convert_members(std::slice::from_ref(&value), to, of);
        }
        _ => None,
    };
    converted.ok_or(refusal)
}

fn convert_members(members: &[Value], to: &Type, of: &Type) -> Result<Value, String> {
    let each = |member: &Value| convert(member.clone(), of);
    let converted = members.iter().map(each).collect::<Result<Vec<Value>, String>>()?;
    let count = converted.len();
    let collection = match to {
        Type::List(_) => Value::list(converted),
        Type::Bag(_) => Value::bag(converted),
        _ => Value::set(converted),
    };
    if collection.as_members().map_or(0, <[Value]>::len) < count {
        return Err("it has duplicates, which a set would lose".into());
    }
    Ok(collection)
}

fn as_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Date(date) => date.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Timestamp(instant) => instant.to_string(),
        Value::Duration(length) => length.to_string(),
        Value::Uuid(uuid) => uuid.to_string(),
        _ => return None,
    })
}

fn to_int(value: &Value) -> Option<Value> {
    let number = match value {
        Value::Bool(truth) => Some(i64::from(*truth)),
        Value::Float(float) => number::float_to_int(*float),
        Value::Decimal(decimal) if decimal.is_integer() => decimal.to_i64(),
        _ => None,
    };
    number.map(Value::Int)
}

fn to_float(value: &Value) -> Option<Value> {
    let Value::Decimal(decimal) = value else {
        return None;
    };
    let float = decimal.to_f64()?;
    let back = Decimal::from_f64_retain(float).or_else(|| Decimal::from_f64(float));
    let same = back == Some(*decimal) || Decimal::from_f64(float) == Some(*decimal);
    same.then_some(Value::Float(float))
}

/// The decimal with the shortest digits that mean this float.
fn exact_decimal(float: f64) -> Option<Value> {
    let decimal = text::parse_decimal(&float.to_string()).ok()?;
    (decimal.to_f64() == Some(float)).then_some(Value::Decimal(decimal))
}

fn parse(written: &str, to: &Type) -> Result<Option<Value>, String> {
    let trimmed = written.trim();
    let no = |what: &str| format!("{written:?} is no {what}");
    Ok(Some(match to {
        Type::Bool => match trimmed {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err(no("bool")),
        },
        Type::Int => Value::Int(trimmed.parse().map_err(|_| no("int"))?),
        Type::Float => Value::Float(trimmed.parse().map_err(|_| no("float"))?),
        Type::Decimal => Value::Decimal(text::parse_decimal(trimmed)?),
        Type::Date => Value::Date(text::parse_date(trimmed)?),
        Type::Time => Value::Time(text::parse_time(trimmed)?),
        Type::Timestamp => Value::Timestamp(text::parse_timestamp(trimmed)?),
        Type::Duration => Value::Duration(text::parse_duration(trimmed)?),
        Type::Uuid => Value::Uuid(text::parse_uuid(trimmed)?),
        Type::Bytes => Value::Bytes(written.as_bytes().into()),
        Type::List(of) | Type::Set(of) | Type::Bag(of) => {
            return convert_members(&[Value::from(written)], to, of).map(Some);
        }
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost() {
        let kept = |value: Value, to: Type| convert(value, &to).map(|value| value.to_string());
        assert_eq!(kept(Value::Int(3), Type::Float), Ok("3.0".into()));
        assert_eq!(kept(Value::Float(3.0), Type::Int), Ok("3".into()));
        assert_eq!(
            kept("2001-02-03".into(), Type::Date),
            Ok("date '2001-02-03'".into())
        );
        assert_eq!(kept(Value::Int(3), Type::String), Ok("'3'".into()));
        assert_eq!(kept(" 7 ".into(), Type::Int), Ok("7".into()));
        assert_eq!(kept("x".into(), Type::list(Type::String)), Ok("list('x')".into()));
        assert_eq!(kept(Value::Float(0.1), Type::Decimal), Ok("0.1d".into()));
        assert_eq!(kept(Value::Nil, Type::Int), Ok("nil".into()));
        for (value, to) in [
            (Value::Float(1.5), Type::Int),
            (Value::Int((1 << 53) + 1), Type::Float),
            ("many".into(), Type::Int),
            ("2001-02-30".into(), Type::Date),
            (Value::Bool(true), Type::Date),
            (Value::list([1, 1]), Type::set(Type::Int)),
        ] {
            assert!(convert(value.clone(), &to).is_err(), "{value} to {to}");
        }
    }
}
