//! Comparison in three-valued logic, and `and`, `or`, `not` on it.
//!
//! A truth value is `Option<bool>`; `None` is unknown. A comparison with nil is unknown, one with NaN is false
//! whatever the operator, and one between kinds that do not compare (possible with `any` only) is unknown.

use std::cmp::Ordering;

use crate::object::Value;
use crate::query::plan::Comparison;

/// Whether the operator holds for operands in this order.
#[inline]
pub fn holds(comparison: Comparison, ordering: Ordering) -> bool {
    match comparison {
        Comparison::Equal => ordering.is_eq(),
        Comparison::NotEqual => ordering.is_ne(),
        Comparison::Less => ordering.is_lt(),
        Comparison::LessOrEqual => ordering.is_le(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::GreaterOrEqual => ordering.is_ge(),
    }
}

/// `a op b`.
pub fn compare(comparison: Comparison, a: &Value, b: &Value) -> Option<bool> {
    if is_nan(a) || is_nan(b) {
        return (!matches!((a, b), (Value::Nil, _) | (_, Value::Nil)) && comparable(a, b)).then_some(false);
    }
    comparable(a, b).then(|| holds(comparison, a.cmp(b)))
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(number) if number.is_nan())
}

/// Whether two values are of kinds that compare: both numbers, or both of one kind; nil compares with nothing.
pub fn comparable(a: &Value, b: &Value) -> bool {
    let number = |value: &Value| matches!(value, Value::Int(_) | Value::Float(_) | Value::Decimal(_));
    if matches!(a, Value::Nil) || matches!(b, Value::Nil) {
        return false;
    }
    std::mem::discriminant(a) == std::mem::discriminant(b) || (number(a) && number(b))
}

/// `a and b`.
pub fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// `a or b`.
pub fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// A truth value as a value: unknown is nil.
pub fn truth(truth: Option<bool>) -> Value {
    truth.map_or(Value::Nil, Value::Bool)
}

/// Whether a member of a collection is `item`: unknown if one of them is nil; kinds that do not compare are not equal.
pub fn is_member(item: &Value, member: &Value) -> Option<bool> {
    match (item, member) {
        (Value::Nil, _) | (_, Value::Nil) => None,
        _ => Some(compare(Comparison::Equal, item, member) == Some(true)),
    }
}

/// `item in members`: unknown unless found where the item or a member is nil.
pub fn member(item: &Value, members: &[Value]) -> Option<bool> {
    let mut result = Some(false);
    for candidate in members {
        result = or(result, is_member(item, candidate));
        if result == Some(true) {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: [Option<bool>; 3] = [Some(false), None, Some(true)];

    #[test]
    fn and_or_follow_three_valued_logic() {
        for (i, a) in TABLE.iter().enumerate() {
            for (j, b) in TABLE.iter().enumerate() {
                assert_eq!(and(*a, *b), TABLE[i.min(j)]);
                assert_eq!(or(*a, *b), TABLE[i.max(j)]);
            }
        }
    }

    #[test]
    fn a_comparison_with_nil_is_unknown_and_with_nan_false() {
        let all = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ];
        let nan = Value::Float(f64::NAN);
        for comparison in all {
            assert_eq!(compare(comparison, &Value::Nil, &Value::Int(1)), None);
            assert_eq!(compare(comparison, &Value::Nil, &nan), None);
            assert_eq!(compare(comparison, &nan, &nan), Some(false));
            assert_eq!(compare(comparison, &nan, &Value::Int(1)), Some(false));
            assert_eq!(
                compare(comparison, &Value::Int(1), &Value::String("1".into())),
                None
            );
            let two = Value::Decimal(crate::object::Decimal::TWO);
            assert_eq!(
                compare(comparison, &Value::Int(1), &two),
                compare(comparison.swapped(), &two, &Value::Int(1))
            );
        }
    }

    #[test]
    fn numbers_compare_by_exact_value() {
        let big = Value::Int((1 << 53) + 1);
        let near = Value::Float(9_007_199_254_740_992.0);
        assert_eq!(compare(Comparison::Equal, &big, &near), Some(false));
        assert_eq!(compare(Comparison::Greater, &big, &near), Some(true));
        assert_eq!(
            compare(Comparison::Equal, &Value::Float(-0.0), &Value::Int(0)),
            Some(true)
        );
    }

    #[test]
    fn membership_is_unknown_where_a_nil_might_have_matched() {
        let members = [Value::Int(1), Value::Nil];
        assert_eq!(member(&Value::Int(1), &members), Some(true));
        assert_eq!(member(&Value::Int(2), &members), None);
        assert_eq!(member(&Value::Nil, &[]), Some(false));
        assert_eq!(member(&Value::Nil, &[Value::Int(1)]), None);
        let text = Value::from("1");
        assert_eq!(member(&text, &members[..1]), Some(false));
        assert_eq!(member(&text, &members), None);
    }
}
