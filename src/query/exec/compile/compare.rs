//! Predicates: one closure where an attribute meets a constant.

use std::cell::OnceCell;

use rustc_hash::FxHashSet;

use super::{Attribute, Compiler, Test, evaluate_truth};
use crate::object::{ClassId, Oid, Type, Value, ValueRef};
use crate::query::eval::{Visited, answer};
use crate::query::function::compare::holds;
use crate::query::function::like::Pattern;
use crate::query::plan::{Comparison, Expression, ExpressionKind, Subquery, SubqueryForm};

impl<'a> Compiler<'a> {
    /// Compiles a predicate.
    pub fn predicate(&self, expression: &'a Expression) -> Test<'a> {
        use ExpressionKind as K;
        let special = match &expression.kind {
            K::Constant(Value::Bool(truth)) => {
                let truth = Some(*truth);
                Some(Box::new(move |_: &super::Row<'_, 'a>| Ok(truth)) as Test<'a>)
            }
            K::And(operands) => Some(self.all(operands)),
            K::Or(operands) => Some(self.any(operands)),
            K::Not(operand) => {
                let operand = self.predicate(operand);
                Some(
                    Box::new(move |row: &super::Row<'_, 'a>| Ok(operand(row)?.map(|truth| !truth)))
                        as Test<'a>,
                )
            }
            K::Compare {
                operator,
                left,
                right,
            } => self.comparison(*operator, left, right),
            K::Between { value, low, high } => self.between(value, low, high),
            K::InSet {
                value,
                members,
                has_nil,
            } => self.in_set(value, members, *has_nil),
            K::Like {
                value,
                pattern,
                ignore_case,
            } => self.like(value, Pattern::new(pattern, *ignore_case)),
            K::IsNil(operand) => self.attribute(operand).map(|attribute| {
                Box::new(move |row: &super::Row<'_, 'a>| attribute.is_nil(row).map(Some)) as Test<'a>
            }),
            K::IsClass { value, classes, .. } => Some(self.is_class(value, classes)),
            K::Subquery(subquery) => self.is_member(subquery),
            K::Attribute { .. } => self
                .attribute(expression)
                .map(|attribute| Box::new(move |row: &super::Row<'_, 'a>| attribute.truth(row)) as Test<'a>),
            _ => None,
        };
        special.unwrap_or_else(|| Box::new(move |row| evaluate_truth(expression, row)))
    }

    /// Whether a reference is among the rows of a query that needs nothing of this row: they are a bitmap.
    fn is_member(&self, subquery: &'a Subquery) -> Option<Test<'a>> {
        let SubqueryForm::In(value) = &subquery.form else {
            return None;
        };
        if !subquery.outer.is_empty() || !matches!(value.r#type, Type::Reference(_)) {
            return None;
        }
        let reference = self.reference(value);
        let kept: OnceCell<(Visited, bool)> = OnceCell::new();
        Some(Box::new(move |row| {
            let (members, has_nil) = match kept.get() {
                Some(kept) => kept,
                None => {
                    let answer = answer(row.run, subquery)?;
                    let members = answer.values.iter().filter_map(Value::as_reference);
                    kept.get_or_init(|| (members.collect(), answer.has_nil))
                }
            };
            Ok(match reference(row)? {
                Some(oid) if members.contains(oid) => Some(true),
                None if !members.is_empty() || *has_nil => None,
                _ if *has_nil => None,
                _ => Some(false),
            })
        }))
    }

    fn all(&self, operands: &'a [Expression]) -> Test<'a> {
        let operands: Vec<Test<'a>> = operands.iter().map(|operand| self.predicate(operand)).collect();
        Box::new(move |row| {
            let mut result = Some(true);
            for operand in &operands {
                match operand(row)? {
                    Some(true) => {}
                    Some(false) => return Ok(Some(false)),
                    None => result = None,
                }
            }
            Ok(result)
        })
    }

    fn any(&self, operands: &'a [Expression]) -> Test<'a> {
        let operands: Vec<Test<'a>> = operands.iter().map(|operand| self.predicate(operand)).collect();
        Box::new(move |row| {
            let mut result = Some(false);
            for operand in &operands {
                match operand(row)? {
                    Some(false) => {}
                    Some(true) => return Ok(Some(true)),
                    None => result = None,
                }
            }
            Ok(result)
        })
    }

    fn comparison(
        &self,
        operator: Comparison,
        left: &'a Expression,
        right: &'a Expression,
    ) -> Option<Test<'a>> {
        if let (Some(attribute), Some(constant)) = (self.attribute(left), self.constant(right)) {
            return Some(attribute_constant(operator, attribute, constant));
        }
        if let (Some(constant), Some(attribute)) = (self.constant(left), self.attribute(right)) {
            return Some(attribute_constant(operator.swapped(), attribute, constant));
        }
        match (&left.r#type, &right.r#type) {
            (Type::Int, Type::Int) => {
                let (left, right) = (self.int(left), self.int(right));
                Some(Box::new(move |row| {
                    let pair = left(row)?.zip(right(row)?);
                    Ok(pair.map(|(left, right)| holds(operator, left.cmp(&right))))
                }))
            }
            (Type::Float, Type::Float) => {
                let (left, right) = (self.float(left), self.float(right));
                Some(Box::new(move |row| {
                    let pair = left(row)?.zip(right(row)?);
                    Ok(pair.map(|(left, right)| floats(operator, left, right)))
                }))
            }
            _ => {
                let (left, right) = (self.general(left), self.general(right));
                Some(Box::new(move |row| {
                    let (left, right) = (left(row)?, right(row)?);
                    Ok(values(operator, left.as_ref(), right.as_ref()))
                }))
            }
        }
    }

    fn between(&self, value: &'a Expression, low: &'a Expression, high: &'a Expression) -> Option<Test<'a>> {
        let attribute = self.attribute(value)?;
        let low = self.constant(low)?.as_int()?;
        let high = self.constant(high)?.as_int()?;
        attribute.is(&Type::Int).then(|| {
            Box::new(move |row: &super::Row<'_, 'a>| {
                Ok(attribute.int(row)?.map(|number| low <= number && number <= high))
            }) as Test<'a>
        })
    }

    fn in_set(&self, value: &'a Expression, members: &'a [Value], has_nil: bool) -> Option<Test<'a>> {
        let missing = if has_nil { None } else { Some(false) };
        if value.r#type == Type::Int && members.iter().all(|member| matches!(member, Value::Int(_))) {
            let set: FxHashSet<i64> = members.iter().filter_map(Value::as_int).collect();
            let empty = set.is_empty() && !has_nil;
            let int = self.int(value);
            return Some(Box::new(move |row| {
                Ok(match int(row)? {
                    _ if empty => Some(false),
                    None => None,
                    Some(number) if set.contains(&number) => Some(true),
                    Some(_) => missing,
                })
            }));
        }
        if value.r#type == Type::String && members.iter().all(|member| matches!(member, Value::String(_))) {
            let set: FxHashSet<&[u8]> = members
                .iter()
                .filter_map(Value::as_str)
                .map(str::as_bytes)
                .collect();
            let empty = set.is_empty() && !has_nil;
            let general = self.general(value);
            return Some(Box::new(move |row| {
                Ok(match general(row)?.as_ref() {
                    _ if empty => Some(false),
                    ValueRef::String(text) if set.contains(text) => Some(true),
                    ValueRef::String(_) => missing,
                    _ => None,
                })
            }));
        }
        None
    }

    fn like(&self, value: &'a Expression, pattern: Pattern) -> Option<Test<'a>> {
        let attribute = self.attribute(value)?;
        attribute.is(&Type::String).then(|| {
            Box::new(move |row: &super::Row<'_, 'a>| {
                Ok(attribute.text(row)?.map(|text| pattern.matches(text)))
            }) as Test<'a>
        })
    }

    fn is_class(&self, value: &'a Expression, classes: &'a [ClassId]) -> Test<'a> {
        let reference = self.reference(value);
        Box::new(move |row| {
            let class = reference(row)?.map(Oid::class);
            Ok(Some(
                class.is_some_and(|class| classes.binary_search(&class).is_ok()),
            ))
        })
    }
}

/// `attribute op constant` as one closure.
fn attribute_constant<'a>(operator: Comparison, attribute: Attribute<'a>, constant: &'a Value) -> Test<'a> {
    match constant {
        Value::Nil => Box::new(|_| Ok(None)),
        Value::Int(constant) if attribute.is(&Type::Int) => ints(operator, attribute, *constant),
        Value::Float(constant) if attribute.is(&Type::Float) => {
            let constant = *constant;
            Box::new(move |row| {
                Ok(attribute
                    .float(row)?
                    .map(|number| floats(operator, number, constant)))
            })
        }
        Value::String(constant) if attribute.is(&Type::String) => {
            let constant = constant.as_bytes();
            Box::new(move |row| {
                Ok(attribute.text(row)?.map(|text| match operator {
                    Comparison::Equal => text == constant,
                    Comparison::NotEqual => text != constant,
                    _ => holds(operator, text.cmp(constant)),
                }))
            })
        }
        constant => {
            let constant = constant.as_ref();
            Box::new(move |row| Ok(values(operator, attribute.value(row)?, constant)))
        }
    }
}

/// `attribute op int`, with the operator decided once.
fn ints<'a>(operator: Comparison, attribute: Attribute<'a>, constant: i64) -> Test<'a> {
    fn test<'a>(attribute: Attribute<'a>, holds: impl Fn(i64) -> bool + Send + 'a) -> Test<'a> {
        Box::new(move |row| Ok(attribute.int(row)?.map(&holds)))
    }
    match operator {
        Comparison::Equal => test(attribute, move |number| number == constant),
        Comparison::NotEqual => test(attribute, move |number| number != constant),
        Comparison::Less => test(attribute, move |number| number < constant),
        Comparison::LessOrEqual => test(attribute, move |number| number <= constant),
        Comparison::Greater => test(attribute, move |number| number > constant),
        Comparison::GreaterOrEqual => test(attribute, move |number| number >= constant),
    }
}

/// A comparison of floats: with NaN it is false.
#[inline]
fn floats(operator: Comparison, left: f64, right: f64) -> bool {
    left.partial_cmp(&right)
        .is_some_and(|ordering| holds(operator, ordering))
}

/// A comparison of borrowed values, as `function::compare` has it for owned ones.
fn values(operator: Comparison, left: ValueRef<'_>, right: ValueRef<'_>) -> Option<bool> {
    match left.compare_operator(right) {
        Some(ordering) => Some(holds(operator, ordering)),
        None => nan_among(left, right).then_some(false),
    }
}

/// Whether an undecided comparison is one of numbers of which one is NaN.
fn nan_among(left: ValueRef<'_>, right: ValueRef<'_>) -> bool {
    let is_number = |value| {
        matches!(
            value,
            ValueRef::Int(_) | ValueRef::Float(_) | ValueRef::Decimal(_)
        )
    };
    let is_nan = |value| matches!(value, ValueRef::Float(number) if number.is_nan());
    is_number(left) && is_number(right) && (is_nan(left) || is_nan(right))
}
