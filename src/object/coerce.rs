//! Fitting a value to a declared type.

use super::types::Type;
use super::value::Value;

/// `value` as a value of type `to`, or a sentence why it is none.
///
/// Numbers widen where that is exact; members are checked one by one; nil fits every type. Any reference is accepted
/// where a reference is wanted: whether its class fits, the catalog knows.
pub fn coerce(value: Value, to: &Type) -> Result<Value, String> {
    todo!()
}
