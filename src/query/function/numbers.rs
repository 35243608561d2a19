//! Functions on numbers.

use rust_decimal::{Decimal, RoundingStrategy};

use crate::error::{QueryErrorCode, Result};
use crate::object::{Type, Value};
use crate::query::plan::Arithmetic;

use super::arithmetic::{self, decimal_to_float, failure, out_of_range};
use super::table::{Call, Function, argument, mismatch};

pub(super) const FUNCTIONS: &[Function] = &[
    pure("abs", "abs(number)", same, abs),
    pure("sign", "sign(number)", to_int, sign),
    pure("floor", "floor(number)", same, floor),
    pure("ceil", "ceil(number)", same, ceil),
    pure("round", "round(number [, digits int])", rounded, round),
    pure("trunc", "trunc(number [, digits int])", rounded, trunc),
    pure("sqrt", "sqrt(number)", to_float, sqrt),
    pure("power", "power(number, exponent number)", two_to_float, power),
    pure("exp", "exp(number)", to_float, exp),
    pure("ln", "ln(number)", to_float, ln),
    pure("log", "log([base number,] number)", one_or_two_to_float, log),
    pure("mod", "mod(number, number)", remainder_type, remainder),
    Function {
        strict: false,
        ..pure("greatest", "greatest(value, ...)", extreme_type, greatest)
    },
    Function {
        strict: false,
        ..pure("least", "least(value, ...)", extreme_type, least)
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
        strict: true,
        result,
        run,
    }
}

fn is_number(t: &Type) -> bool {
    t.is_number() || *t == Type::Any
}

fn same(types: &[Type]) -> Option<Type> {
    match types {
        [t] if is_number(t) => Some(t.clone()),
        _ => None,
    }
}

fn rounded(types: &[Type]) -> Option<Type> {
    match types {
        [t] | [t, Type::Int | Type::Any] if is_number(t) => Some(t.clone()),
        _ => None,
    }
}

fn to_int(types: &[Type]) -> Option<Type> {
    same(types).map(|_| Type::Int)
}

fn to_float(types: &[Type]) -> Option<Type> {
    same(types).map(|_| Type::Float)
}

fn two_to_float(types: &[Type]) -> Option<Type> {
    (types.len() == 2 && types.iter().all(is_number)).then_some(Type::Float)
}

fn one_or_two_to_float(types: &[Type]) -> Option<Type> {
    to_float(types).or_else(|| two_to_float(types))
}

fn remainder_type(types: &[Type]) -> Option<Type> {
    match types {
        [a, b] if is_number(a) && is_number(b) => arithmetic::result_type(Arithmetic::Remainder, a, b),
        _ => None,
    }
}

/// The common type of all: equal types, or the widest number.
fn extreme_type(types: &[Type]) -> Option<Type> {
    let mut all = types.iter();
    let first = all.next()?.clone();
    all.try_fold(first, |common, t| super::other::common_type(&common, t))
}

fn number(function: &str, arguments: &[Value], index: usize) -> Result<f64> {
    match argument(arguments, index) {
        Value::Int(number) => Ok(*number as f64),
        Value::Float(number) => Ok(*number),
        Value::Decimal(number) => Ok(decimal_to_float(*number)),
        other => Err(mismatch(function, "a number", other)),
    }
}

fn abs(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    match argument(arguments, 0) {
        Value::Int(number) => number
            .checked_abs()
            .map(Value::Int)
            .ok_or_else(|| out_of_range(&format!("int abs({number})"))),
        Value::Float(number) => Ok(Value::Float(number.abs())),
        Value::Decimal(number) => Ok(Value::Decimal(number.abs())),
        other => Err(mismatch("abs", "a number", other)),
    }
}

/// -1, 0 or 1; nil for NaN, which has no sign.
fn sign(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    Ok(match argument(arguments, 0) {
        Value::Int(number) => Value::Int(number.signum()),
        Value::Float(number) if number.is_nan() => Value::Nil,
        Value::Float(number) => Value::Int(i64::from(*number > 0.0) - i64::from(*number < 0.0)),
        Value::Decimal(number) => {
            Value::Int(i64::from(*number > Decimal::ZERO) - i64::from(*number < Decimal::ZERO))
        }
        other => return Err(mismatch("sign", "a number", other)),
    })
}

fn floor(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    rounding(
        "floor",
        arguments,
        f64::floor,
        RoundingStrategy::ToNegativeInfinity,
    )
}

fn ceil(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    rounding("ceil", arguments, f64::ceil, RoundingStrategy::ToPositiveInfinity)
}

/// Halves go away from zero.
fn round(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    rounding(
        "round",
        arguments,
        f64::round,
        RoundingStrategy::MidpointAwayFromZero,
    )
}

fn trunc(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    rounding("trunc", arguments, f64::trunc, RoundingStrategy::ToZero)
}

/// Rounds to a number of digits after the point (0 if not given; negative ones round before it).
fn rounding(
    function: &str,
    arguments: &[Value],
    float: fn(f64) -> f64,
    strategy: RoundingStrategy,
) -> Result<Value> {
    let digits = match arguments.get(1) {
        None => 0,
        Some(Value::Int(digits)) => i32::try_from(*digits).unwrap_or(if *digits < 0 { -400 } else { 400 }),
        Some(other) => return Err(mismatch(function, "an int", other)),
    };
    match argument(arguments, 0) {
        Value::Int(number) if digits >= 0 => Ok(Value::Int(*number)),
        Value::Int(number) => {
            let rounded = round_decimal(Decimal::from(*number), digits, strategy)?;
            i64::try_from(rounded)
                .map(Value::Int)
                .map_err(|_| out_of_range(&format!("int {function}({number}, {digits})")))
        }
        Value::Decimal(number) => round_decimal(*number, digits, strategy).map(Value::Decimal),
        Value::Float(number) => Ok(Value::Float(round_float(*number, digits, float))),
        other => Err(mismatch(function, "a number", other)),
    }
}

fn round_decimal(number: Decimal, digits: i32, strategy: RoundingStrategy) -> Result<Decimal> {
    if let Ok(digits) = u32::try_from(digits) {
        return Ok(number.round_dp_with_strategy(digits.min(28), strategy));
    }
    let places = digits.unsigned_abs();
    let unit = (places <= 28).then(|| Decimal::from_i128_with_scale(10_i128.pow(places), 0));
    match unit {
        None => Ok(Decimal::ZERO),
        Some(unit) => number
            .checked_div(unit)
            .map(|units| units.round_dp_with_strategy(0, strategy))
            .and_then(|units| units.checked_mul(unit))
            .ok_or_else(|| out_of_range(&format!("decimal {number} rounded"))),
    }
}

fn round_float(number: f64, digits: i32, float: fn(f64) -> f64) -> f64 {
    if digits == 0 || !number.is_finite() {
        return float(number);
    }
    let unit = 10_f64.powi(digits);
    let scaled = number * unit;
    match (unit == 0.0, scaled.is_finite()) {
        (true, _) => 0.0,
        (false, true) => float(scaled) / unit,
        // More digits than the number has.
        (false, false) => number,
    }
}

/// A result that must be a number of the real line, or infinite only because the argument was.
fn finite(function: &str, argument: f64, result: f64) -> Result<Value> {
    if result.is_infinite() && argument.is_finite() {
        return Err(out_of_range(&format!("float {function}({argument})")));
    }
    Ok(Value::Float(result))
}

fn sqrt(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let number = number("sqrt", arguments, 0)?;
    if number < 0.0 {
        return Err(out_of_range("the square root of a negative number"));
    }
    Ok(Value::Float(number.sqrt()))
}

fn power(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let base = number("power", arguments, 0)?;
    let exponent = number("power", arguments, 1)?;
    let result = base.powf(exponent);
    if result.is_nan() && !base.is_nan() && !exponent.is_nan() {
        return Err(out_of_range("a fractional power of a negative number"));
    }
    finite(
        "power",
        if exponent.is_finite() { base } else { exponent },
        result,
    )
}

fn exp(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let number = number("exp", arguments, 0)?;
    finite("exp", number, number.exp())
}

fn logarithm(function: &str, number: f64) -> Result<f64> {
    if number <= 0.0 {
        return Err(failure(
            QueryErrorCode::OutOfRange,
            format!("{function} needs a number above zero, not {number}"),
        ));
    }
    Ok(number.ln())
}

fn ln(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    logarithm("ln", number("ln", arguments, 0)?).map(Value::Float)
}

fn log(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let first = number("log", arguments, 0)?;
    if arguments.len() < 2 {
        logarithm("log", first)?;
        return Ok(Value::Float(first.log10()));
    }
    let base = logarithm("log", first)?;
    let value = logarithm("log", number("log", arguments, 1)?)?;
    arithmetic::float(Arithmetic::Divide, value, base).map(Value::Float)
}

fn remainder(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    arithmetic::binary(
        Arithmetic::Remainder,
        argument(arguments, 0),
        argument(arguments, 1),
    )
}

/// The largest argument in the total order; nils are left out.
fn greatest(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let present = arguments.iter().filter(|value| !matches!(value, Value::Nil));
    Ok(present.max().cloned().unwrap_or_default())
}

/// The smallest argument in the total order; nils are left out.
fn least(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let present = arguments.iter().filter(|value| !matches!(value, Value::Nil));
    Ok(present.min().cloned().unwrap_or_default())
}
