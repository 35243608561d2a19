//! Numbers of three types, compared by their exact values.

use rust_decimal::Decimal;

/// The double nearest to `value`.
pub(crate) fn int_to_float(value: i64) -> f64 {
    todo!()
}

/// The double nearest to `value`, or one beside it.
pub(crate) fn decimal_to_float(value: Decimal) -> f64 {
    todo!()
}
