//! Arithmetic on values: `+ - * / %`, unary minus and `||`.
//!
//! nil on either side gives nil. Two ints give an int (`7 / 2` is 3, `%` takes the dividend's sign); an int with a
//! decimal gives a decimal; a float with any number gives a float. A result out of its type's range and a division
//! by zero are errors, for floats too: only an infinite operand gives an infinite result.
//!
//! Times: timestamp - timestamp, date - date and time - time give a duration; a timestamp moves by any duration, a
//! date by whole days (cast it to a timestamp for less), a time around the clock. Durations add, multiply and divide.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use crate::error::{Error, QueryError, QueryErrorCode, Result, Span};
use crate::object::{Date, Duration, Time, Timestamp, Type, Value};
use crate::query::plan::Arithmetic;

/// Microseconds of a day.
pub const DAY: i64 = 86_400_000_000;

/// An error of an expression, at a place that the caller knows and sets.
pub fn failure(code: QueryErrorCode, message: impl Into<String>) -> Error {
    QueryError::new(code, Span::default(), message).into()
}

/// A result that its type cannot hold.
#[cold]
pub fn out_of_range(what: &str) -> Error {
    failure(QueryErrorCode::OutOfRange, format!("{what} is out of range"))
}

#[cold]
fn division_by_zero() -> Error {
    failure(QueryErrorCode::DivisionByZero, "division by zero")
}

/// `a op b` on ints.
#[inline]
pub fn int(operator: Arithmetic, a: i64, b: i64) -> Result<i64> {
    let result = match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide if b == 0 => return Err(division_by_zero()),
        Arithmetic::Remainder if b == 0 => return Err(division_by_zero()),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Remainder => Some(a.wrapping_rem(b)),
    };
    result.ok_or_else(|| out_of_range(&format!("int {a} {} {b}", operator)))
}

/// `a op b` on floats.
#[inline]
pub fn float(operator: Arithmetic, a: f64, b: f64) -> Result<f64> {
    let result = match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide if b == 0.0 => return Err(division_by_zero()),
        Arithmetic::Remainder if b == 0.0 => return Err(division_by_zero()),
        Arithmetic::Divide => a / b,
        Arithmetic::Remainder => a % b,
    };
    if result.is_infinite() && a.is_finite() && b.is_finite() {
        return Err(out_of_range(&format!("float {a} {} {b}", operator)));
    }
    Ok(result)
}

/// `a op b` on decimals.
pub fn decimal(operator: Arithmetic, a: Decimal, b: Decimal) -> Result<Decimal> {
    let result = match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide if b.is_zero() => return Err(division_by_zero()),
        Arithmetic::Remainder if b.is_zero() => return Err(division_by_zero()),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Remainder => a.checked_rem(b),
    };
    result.ok_or_else(|| out_of_range(&format!("decimal {a} {} {b}", operator)))
}

/// A decimal as the nearest float.
pub fn decimal_to_float(decimal: Decimal) -> f64 {
    decimal.to_f64().unwrap_or(f64::NAN)
}

/// `a op b`.
pub fn binary(operator: Arithmetic, a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Nil, _) | (_, Value::Nil) => Ok(Value::Nil),
        (Value::Int(a), Value::Int(b)) => int(operator, *a, *b).map(Value::Int),
        (Value::Float(a), Value::Float(b)) => float(operator, *a, *b).map(Value::Float),
        (Value::Int(a), Value::Float(b)) => float(operator, *a as f64, *b).map(Value::Float),
        (Value::Float(a), Value::Int(b)) => float(operator, *a, *b as f64).map(Value::Float),
        (Value::Decimal(a), Value::Decimal(b)) => decimal(operator, *a, *b).map(Value::Decimal),
        (Value::Int(a), Value::Decimal(b)) => decimal(operator, Decimal::from(*a), *b).map(Value::Decimal),
        (Value::Decimal(a), Value::Int(b)) => decimal(operator, *a, Decimal::from(*b)).map(Value::Decimal),
        (Value::Float(a), Value::Decimal(b)) => float(operator, *a, decimal_to_float(*b)).map(Value::Float),
        (Value::Decimal(a), Value::Float(b)) => float(operator, decimal_to_float(*a), *b).map(Value::Float),
        _ => temporal(operator, a, b),
    }
}

/// `a op b` where one is a date, time, timestamp or duration.
fn temporal(operator: Arithmetic, a: &Value, b: &Value) -> Result<Value> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    match (operator, a, b) {
        (Subtract, Value::Timestamp(a), Value::Timestamp(b)) => difference(a.0, b.0),
        (Subtract, Value::Time(a), Value::Time(b)) => difference(a.0, b.0),
        (Subtract, Value::Date(a), Value::Date(b)) => difference(
            i64::from(a.0).saturating_mul(DAY),
            i64::from(b.0).saturating_mul(DAY),
        ),
        (Add | Subtract, Value::Duration(a), Value::Duration(b)) => duration(int(operator, a.0, b.0)),
        (Add | Subtract, Value::Timestamp(a), Value::Duration(b)) => int(operator, a.0, b.0)
            .map(Timestamp)
            .and_then(|time| match time.is_valid() {
                true => Ok(time),
                false => Err(out_of_range("timestamp")),
            })
            .map(Value::Timestamp)
            .map_err(|_| out_of_range("timestamp")),
        (Add | Subtract, Value::Date(a), Value::Duration(b)) => move_date(operator, *a, *b),
        (Add | Subtract, Value::Time(a), Value::Duration(b)) => {
            let micros = int(operator, a.0, b.0 % DAY)?;
            Ok(Value::Time(Time(micros.rem_euclid(DAY))))
        }
        (Add, Value::Duration(_), Value::Timestamp(_) | Value::Date(_) | Value::Time(_)) => {
            temporal(operator, b, a)
        }
        (Multiply | Divide, Value::Duration(a), Value::Int(b)) => duration(int(operator, a.0, *b)),
        (Multiply | Divide, Value::Duration(a), Value::Float(b)) => {
            float(operator, a.0 as f64, *b).and_then(whole_micros)
        }
        (Multiply, Value::Int(_) | Value::Float(_), Value::Duration(_)) => temporal(operator, b, a),
        (Divide, Value::Duration(a), Value::Duration(b)) => {
            float(operator, a.0 as f64, b.0 as f64).map(Value::Float)
        }
        _ => Err(failure(
            QueryErrorCode::Type,
            format!("{} {} {} does not fit", a.type_name(), operator, b.type_name()),
        )),
    }
}

fn difference(a: i64, b: i64) -> Result<Value> {
    duration(int(Arithmetic::Subtract, a, b))
}

fn duration(micros: Result<i64>) -> Result<Value> {
    match micros {
        Ok(micros) => Ok(Value::Duration(Duration(micros))),
        Err(Error::Query(error)) if error.code == QueryErrorCode::OutOfRange => Err(out_of_range("duration")),
        Err(error) => Err(error),
    }
}

fn whole_micros(micros: f64) -> Result<Value> {
    float_to_int(micros.round())
        .map(|micros| Value::Duration(Duration(micros)))
        .ok_or_else(|| out_of_range("duration"))
}

fn move_date(operator: Arithmetic, date: Date, by: Duration) -> Result<Value> {
    if by.0 % DAY != 0 {
        return Err(failure(
            QueryErrorCode::InvalidValue,
            "a date moves by whole days; cast it to a timestamp to move it by less",
        ));
    }
    let days = int(operator, i64::from(date.0), by.0 / DAY)?;
    let date = i32::try_from(days).ok().map(Date).filter(|date| date.is_valid());
    date.map(Value::Date).ok_or_else(|| out_of_range("date"))
}

/// The int equal to `number`; `None` if it has a fraction or does not fit.
pub fn float_to_int(number: f64) -> Option<i64> {
    // -2^63 is exact as a float, and 2^63 is the first float above the range.
    const BELOW: f64 = -9_223_372_036_854_775_808.0;
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    (number.fract() == 0.0 && (BELOW..ABOVE).contains(&number)).then_some(number as i64)
}

/// `-a`.
pub fn negate(a: &Value) -> Result<Value> {
    match a {
        Value::Nil => Ok(Value::Nil),
        Value::Int(a) => a
            .checked_neg()
            .map(Value::Int)
            .ok_or_else(|| out_of_range(&format!("int -({a})"))),
        Value::Float(a) => Ok(Value::Float(-a)),
        Value::Decimal(a) => Ok(Value::Decimal(-a)),
        Value::Duration(a) => duration(a.0.checked_neg().ok_or_else(|| out_of_range("duration"))),
        _ => Err(failure(
            QueryErrorCode::Type,
            format!("-{} does not fit", a.type_name()),
        )),
    }
}

/// `a || b` on strings, bytes or lists.
pub fn concatenate(a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Nil, _) | (_, Value::Nil) => Ok(Value::Nil),
        (Value::String(a), Value::String(b)) => Ok(Value::String([&**a, &**b].concat().into())),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Value::Bytes([&**a, &**b].concat().into())),
        (Value::List(a), Value::List(b)) => Ok(Value::List(a.iter().chain(b.iter()).cloned().collect())),
        _ => Err(failure(
            QueryErrorCode::Type,
            format!("{} || {} does not fit", a.type_name(), b.type_name()),
        )),
    }
}

/// The type of `a op b`, `None` if it does not fit; `any` where an operand is of type any.
pub fn result_type(operator: Arithmetic, a: &Type, b: &Type) -> Option<Type> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    match (operator, a, b) {
        (_, Type::Any, _) | (_, _, Type::Any) => Some(Type::Any),
        (_, Type::Int, Type::Int) => Some(Type::Int),
        (_, a, b) if a.is_number() && b.is_number() => {
            let float = *a == Type::Float || *b == Type::Float;
            Some(if float { Type::Float } else { Type::Decimal })
        }
        (Subtract, Type::Timestamp, Type::Timestamp)
        | (Subtract, Type::Date, Type::Date)
        | (Subtract, Type::Time, Type::Time)
        | (Add | Subtract, Type::Duration, Type::Duration)
        | (Multiply | Divide, Type::Duration, Type::Int | Type::Float)
        | (Multiply, Type::Int | Type::Float, Type::Duration) => Some(Type::Duration),
        (Add | Subtract, Type::Timestamp | Type::Date | Type::Time, Type::Duration) => Some(a.clone()),
        (Add, Type::Duration, Type::Timestamp | Type::Date | Type::Time) => Some(b.clone()),
        (Divide, Type::Duration, Type::Duration) => Some(Type::Float),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(result: Result<Value>) -> QueryErrorCode {
        match result {
            Err(Error::Query(error)) => error.code,
            other => panic!("expected a query error, got {other:?}"),
        }
    }

    fn run(operator: Arithmetic, a: Value, b: Value) -> Value {
        binary(operator, &a, &b).unwrap()
    }

    #[test]
    fn int_division_truncates_and_remainder_takes_the_dividends_sign() {
        assert_eq!(
            run(Arithmetic::Divide, Value::Int(7), Value::Int(2)),
            Value::Int(3)
        );
        assert_eq!(
            run(Arithmetic::Divide, Value::Int(-7), Value::Int(2)),
            Value::Int(-3)
        );
        assert_eq!(
            run(Arithmetic::Remainder, Value::Int(-7), Value::Int(2)),
            Value::Int(-1)
        );
        assert_eq!(
            run(Arithmetic::Remainder, Value::Int(7), Value::Int(-2)),
            Value::Int(1)
        );
        assert_eq!(
            run(Arithmetic::Divide, Value::Float(7.0), Value::Int(2)),
            Value::Float(3.5)
        );
        assert_eq!(
            run(Arithmetic::Remainder, Value::Int(i64::MIN), Value::Int(-1)),
            Value::Int(0)
        );
    }

    #[test]
    fn overflow_and_division_by_zero_are_errors() {
        let min = Value::Int(i64::MIN);
        let one = Value::Int(1);
        assert_eq!(
            code(binary(Arithmetic::Add, &Value::Int(i64::MAX), &one)),
            QueryErrorCode::OutOfRange
        );
        assert_eq!(
            code(binary(Arithmetic::Subtract, &min, &one)),
            QueryErrorCode::OutOfRange
        );
        assert_eq!(
            code(binary(Arithmetic::Divide, &min, &Value::Int(-1))),
            QueryErrorCode::OutOfRange
        );
        assert_eq!(code(negate(&min)), QueryErrorCode::OutOfRange);
        for zero in [Value::Int(0), Value::Float(0.0), Value::Decimal(Decimal::ZERO)] {
            assert_eq!(
                code(binary(Arithmetic::Divide, &one, &zero)),
                QueryErrorCode::DivisionByZero
            );
            assert_eq!(
                code(binary(Arithmetic::Remainder, &one, &zero)),
                QueryErrorCode::DivisionByZero
            );
        }
        let big = Value::Float(f64::MAX);
        assert_eq!(
            code(binary(Arithmetic::Multiply, &big, &big)),
            QueryErrorCode::OutOfRange
        );
        let decimal = Value::Decimal(Decimal::MAX);
        assert_eq!(
            code(binary(Arithmetic::Add, &decimal, &one)),
            QueryErrorCode::OutOfRange
        );
    }

    #[test]
    fn nil_makes_every_result_nil() {
        assert_eq!(run(Arithmetic::Divide, Value::Nil, Value::Int(0)), Value::Nil);
        assert_eq!(run(Arithmetic::Add, Value::Int(1), Value::Nil), Value::Nil);
        assert_eq!(negate(&Value::Nil).unwrap(), Value::Nil);
        assert_eq!(
            concatenate(&Value::Nil, &Value::String("a".into())).unwrap(),
            Value::Nil
        );
    }

    #[test]
    fn an_int_meets_a_decimal_as_a_decimal() {
        let price = Value::Decimal(Decimal::new(1250, 2));
        assert_eq!(run(Arithmetic::Multiply, price, Value::Int(2)), Value::Int(25));
    }

    #[test]
    fn times_move_by_durations() {
        let day = Value::Duration(Duration(DAY));
        assert_eq!(
            run(Arithmetic::Add, Value::Date(Date(10)), day.clone()),
            Value::Date(Date(11))
        );
        assert_eq!(
            run(Arithmetic::Add, day.clone(), Value::Timestamp(Timestamp(5))),
            Value::Timestamp(Timestamp(DAY + 5))
        );
        assert_eq!(
            run(Arithmetic::Subtract, Value::Date(Date(11)), Value::Date(Date(10))),
            day
        );
        assert_eq!(
            run(
                Arithmetic::Subtract,
                Value::Time(Time(0)),
                Value::Duration(Duration(1))
            ),
            Value::Time(Time(DAY - 1))
        );
        let hour = Value::Duration(Duration(3_600_000_000));
        assert_eq!(
            code(binary(Arithmetic::Add, &Value::Date(Date(0)), &hour)),
            QueryErrorCode::InvalidValue
        );
        assert_eq!(run(Arithmetic::Divide, day, hour), Value::Float(24.0));
    }

    #[test]
    fn the_static_type_is_the_type_of_the_result() {
        let samples = [
            (Type::Int, Value::Int(3)),
            (Type::Float, Value::Float(2.5)),
            (Type::Decimal, Value::Decimal(Decimal::new(15, 1))),
            (Type::Date, Value::Date(Date(3))),
            (Type::Time, Value::Time(Time(3))),
            (Type::Timestamp, Value::Timestamp(Timestamp(3))),
            (Type::Duration, Value::Duration(Duration(DAY))),
            (Type::String, Value::String("a".into())),
        ];
        use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract};
        for operator in [Add, Subtract, Multiply, Divide, Remainder] {
            for (ta, a) in &samples {
                for (tb, b) in &samples {
                    match (result_type(operator, ta, tb), binary(operator, a, b)) {
                        (Some(t), Ok(value)) => assert_eq!(t.to_string(), value.type_name()),
                        (None, Err(_)) => {}
                        (t, value) => panic!("{ta} {} {tb}: {t:?} but {value:?}", operator),
                    }
                }
            }
        }
    }
}
