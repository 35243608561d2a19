//! Numbers of three types, compared by their exact values.
//!
//! An int and a decimal are `mantissa / 10^scale`, a float is `mantissa * 2^exponent`. Two of them are compared
//! without rounding by bringing both over a common denominator, in 256 bits where 128 are not enough.

use std::cmp::Ordering;

use rust_decimal::Decimal;

/// A number that is exactly `mantissa / 10^scale`; the mantissa has at most 96 bits, the scale is at most 28.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exact {
    /// The digits, with sign.
    pub mantissa: i128,
    /// How many of them stand after the point.
    pub scale: u32,
}

impl Exact {
    /// Whether its magnitude is exactly `float`, which is not negative.
    pub fn equals_magnitude(self, float: f64) -> bool {
        let magnitude = Exact {
            mantissa: self.mantissa.abs(),
            scale: self.scale,
        };
        compare_float_exact(float, magnitude) == Ordering::Equal
    }
}

impl From<i64> for Exact {
    fn from(value: i64) -> Exact {
        Exact {
            mantissa: i128::from(value),
            scale: 0,
        }
    }
}

impl From<Decimal> for Exact {
    fn from(value: Decimal) -> Exact {
        Exact {
            mantissa: value.mantissa(),
            scale: value.scale(),
        }
    }
}

/// The one form of a number that all numbers equal to it have, whatever their types; for hashing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Canonical {
    /// A whole number in the range of `int`.
    Int(i64),
    /// Another number that a double holds exactly, by its bits.
    Float(u64),
    /// A number that no double holds: mantissa without trailing zeros, and scale.
    Decimal(i128, u32),
    /// Not a number.
    Nan,
}

/// 2^63, the first double above the range of `int`.
const INT_END: f64 = 9_223_372_036_854_775_808.0;

/// The double nearest to `value`.
pub(crate) fn int_to_float(value: i64) -> f64 {
    value as f64
}

/// The double nearest to `value`, or one beside it.
pub(crate) fn decimal_to_float(value: Decimal) -> f64 {
    let exact = Exact::from(value);
    exact.mantissa as f64 / power_of_ten(exact.scale) as f64
}

/// The int equal to `value`, if there is one.
pub(crate) fn float_to_int(value: f64) -> Option<i64> {
    let whole = value.trunc() == value && (-INT_END..INT_END).contains(&value);
    whole.then_some(value as i64)
}

/// Orders doubles by value; NaN equals itself and comes after all others, -0.0 equals 0.0.
pub(crate) fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Orders an int and a double by exact value; NaN is the greater.
pub(crate) fn compare_int_float(int: i64, float: f64) -> Ordering {
    if float.is_nan() || float >= INT_END {
        return Ordering::Less;
    }
    if float < -INT_END {
        return Ordering::Greater;
    }
    let whole = float.trunc();
    int.cmp(&(whole as i64))
        .then_with(|| compare_floats(whole, float))
}

/// Orders two exact numbers.
pub(crate) fn compare_exact(a: Exact, b: Exact) -> Ordering {
    if a.scale == b.scale || a.mantissa.signum() != b.mantissa.signum() {
        return a.mantissa.cmp(&b.mantissa);
    }
    let left = a.mantissa.unsigned_abs().carrying_mul(power_of_ten(b.scale), 0);
    let right = b.mantissa.unsigned_abs().carrying_mul(power_of_ten(a.scale), 0);
    let magnitudes = (left.1, left.0).cmp(&(right.1, right.0));
    if a.mantissa < 0 {
        magnitudes.reverse()
    } else {
        magnitudes
    }
}

/// Orders a double and an exact number; NaN is the greater.
pub(crate) fn compare_float_exact(float: f64, exact: Exact) -> Ordering {
    if float.is_nan() {
        return Ordering::Greater;
    }
    let sign = i128::from(float > 0.0) - i128::from(float < 0.0);
    match sign.cmp(&exact.mantissa.signum()) {
        Ordering::Equal if sign == 0 => Ordering::Equal,
        Ordering::Equal if sign > 0 => compare_magnitudes(float, exact.mantissa.unsigned_abs(), exact.scale),
        Ordering::Equal => compare_magnitudes(-float, exact.mantissa.unsigned_abs(), exact.scale).reverse(),
        different => different,
    }
}

/// Orders a positive double and `mantissa / 10^scale`, also positive.
fn compare_magnitudes(float: f64, mantissa: u128, scale: u32) -> Ordering {
    if float >= 2f64.powi(97) {
        return Ordering::Greater;
    }
    if float < 2f64.powi(-97) {
        return Ordering::Less;
    }
    let bits = float.to_bits();
    // Not subnormal, being at least 2^-97: the leading bit is implied.
    let digits = u128::from((bits & ((1 << 52) - 1)) | (1 << 52));
    let biased = (bits >> 52) as u32;
    // float = digits * 2^(biased - 1075), and -150 < biased - 1075 < 45 here.
    let (left, right) = match biased.checked_sub(1075) {
        Some(shift) => (
            (digits << shift).carrying_mul(power_of_ten(scale), 0),
            (mantissa, 0),
        ),
        None => (
            digits.carrying_mul(power_of_ten(scale), 0),
            shift_left(mantissa, 1075u32.saturating_sub(biased)),
        ),
    };
    (left.1, left.0).cmp(&(right.1, right.0))
}

/// `value * 2^shift` as low and high half; the value has at most 97 bits and the shift is below 150.
fn shift_left(value: u128, shift: u32) -> (u128, u128) {
    match shift {
        0 => (value, 0),
        1..128 => (value << shift, value >> (128 - shift)),
        _ => (0, value << (shift.saturating_sub(128) & 127)),
    }
}

/// 10^exponent, for exponents up to 38.
pub(crate) fn power_of_ten(exponent: u32) -> u128 {
    10u128.saturating_pow(exponent)
}

/// The largest double not above `mantissa / 10^scale`.
pub(crate) fn floor_float(mantissa: u128, scale: u32) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let mut float = mantissa as f64 / power_of_ten(scale) as f64;
    while compare_magnitudes(float, mantissa, scale) == Ordering::Greater {
        float = float.next_down();
    }
    while compare_magnitudes(float.next_up(), mantissa, scale) != Ordering::Greater {
        float = float.next_up();
    }
    float
}

/// The form of a double by which equal numbers are alike.
pub(crate) fn canonical_float(value: f64) -> Canonical {
    match float_to_int(value) {
        Some(int) => Canonical::Int(int),
        None if value.is_nan() => Canonical::Nan,
        None => Canonical::Float(value.to_bits()),
    }
}

/// The form of a decimal by which equal numbers are alike.
pub(crate) fn canonical_decimal(value: Decimal) -> Canonical {
    let Exact {
        mut mantissa,
        mut scale,
    } = Exact::from(value);
    while scale > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale -= 1;
    }
    if scale == 0
        && let Ok(int) = i64::try_from(mantissa)
    {
        return Canonical::Int(int);
    }
    let float = floor_float(mantissa.unsigned_abs(), scale);
    let float = if mantissa < 0 { -float } else { float };
    if compare_float_exact(float, Exact { mantissa, scale }) == Ordering::Equal {
        Canonical::Float(float.to_bits())
    } else {
        Canonical::Decimal(mantissa, scale)
    }
}
