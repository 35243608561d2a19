//! Truth: comparisons, membership, patterns and quantifiers.

use super::Evaluator;
use crate::error::{QueryErrorCode, Result};
use crate::object::{ClassId, Value};
use crate::query::function::arithmetic::failure;
use crate::query::function::collections::members;
use crate::query::function::compare::{self, and, compare, or};
use crate::query::function::like::Pattern;
use crate::query::plan::{Column, Comparison, Expression, ExpressionKind};

impl<'a> Evaluator<'_, 'a> {
    /// The truth value of what is always a predicate.
    pub(super) fn predicate(&self, kind: &ExpressionKind) -> Result<Option<bool>> {
        use ExpressionKind as K;
        match kind {
            K::Not(operand) => Ok(self.truth(operand)?.map(|truth| !truth)),
            K::And(operands) => self.all(operands),
            K::Or(operands) => self.any(operands),
            K::Compare {
                operator,
                left,
                right,
            } => Ok(compare(*operator, &self.evaluate(left)?, &self.evaluate(right)?)),
            K::CompareMembers {
                operator,
                left,
                all,
                collection,
            } => {
                let members = members("a comparison with members", &self.evaluate(collection)?)?;
                Ok(compare_members(*operator, &self.evaluate(left)?, *all, &members))
            }
            K::Between { value, low, high } => {
                let value = self.evaluate(value)?;
                let low = compare(Comparison::GreaterOrEqual, &value, &self.evaluate(low)?);
                let high = compare(Comparison::LessOrEqual, &value, &self.evaluate(high)?);
                Ok(and(low, high))
            }
            K::InSet {
                value,
                members,
                has_nil,
            } => Ok(in_set(&self.evaluate(value)?, members, *has_nil)),
            K::InList { value, members } => self.in_list(value, members),
            K::InCollection { value, collection } => {
                Ok(in_collection(&self.evaluate(value)?, &self.evaluate(collection)?))
            }
            K::Like {
                value,
                pattern,
                ignore_case,
            } => like(&self.evaluate(value)?, || Ok(Pattern::new(pattern, *ignore_case))),
            K::LikeDynamic {
                value,
                pattern,
                escape,
                ignore_case,
            } => self.like_dynamic(value, pattern, escape.as_deref(), *ignore_case),
            K::IsNil(operand) => Ok(Some(self.evaluate(operand)?.is_nil())),
            K::IsEmpty(operand) => match self.size(operand)? {
                Some(size) => Ok(Some(size == 0)),
                None => is_empty(&self.evaluate(operand)?).map(Some),
            },
            K::IsDangling(operand) => self.is_dangling(operand),
            K::IsClass { value, classes, .. } => Ok(Some(is_class(&self.evaluate(value)?, classes))),
            K::Quantifier {
                all,
                variable,
                collection,
                predicate,
            } => self.quantifier(*all, variable, collection, predicate),
            _ => Err(failure(
                QueryErrorCode::Unsupported,
                "this expression cannot be evaluated by this version",
            )),
        }
    }

    fn all(&self, operands: &[Expression]) -> Result<Option<bool>> {
        let mut result = Some(true);
        for operand in operands {
            result = and(result, self.truth(operand)?);
            if result == Some(false) {
                break;
            }
        }
        Ok(result)
    }

    fn any(&self, operands: &[Expression]) -> Result<Option<bool>> {
        let mut result = Some(false);
        for operand in operands {
            result = or(result, self.truth(operand)?);
            if result == Some(true) {
                break;
            }
        }
        Ok(result)
    }

    fn in_list(&self, value: &Expression, members: &[Expression]) -> Result<Option<bool>> {
        let value = self.evaluate(value)?;
        let mut result = Some(false);
        for member in members {
            result = or(result, compare::is_member(&value, &self.evaluate(member)?));
            if result == Some(true) {
                break;
            }
        }
        Ok(result)
    }

    fn like_dynamic(
        &self,
        value: &Expression,
        pattern: &Expression,
        escape: Option<&Expression>,
        ignore_case: bool,
    ) -> Result<Option<bool>> {
        let value = self.evaluate(value)?;
        let pattern = self.evaluate(pattern)?;
        let escape = match escape.map(|escape| self.evaluate(escape)).transpose()? {
            None => None,
            Some(Value::Nil) => return Ok(None),
            Some(escape) => Some(one_character(&escape)?),
        };
        match pattern {
            Value::Nil => Ok(None),
            Value::String(pattern) => like(&value, || Pattern::parse(&pattern, escape, ignore_case)),
            other => Err(failure(
                QueryErrorCode::Type,
                format!("a pattern is a string, not {}", other.type_name()),
            )),
        }
    }

    fn is_dangling(&self, operand: &Expression) -> Result<Option<bool>> {
        match self.evaluate(operand)? {
            Value::Reference(oid) => Ok(Some(self.run.object(oid)?.is_none())),
            _ => Ok(Some(false)),
        }
    }

    fn quantifier(
        &self,
        all: bool,
        variable: &Column,
        collection: &Expression,
        predicate: &Expression,
    ) -> Result<Option<bool>> {
        let mut result = Some(all);
        for member in members("a quantifier", &self.evaluate(collection)?)?.iter() {
            let truth = self.bind(variable, member, |inner| inner.truth(predicate))?;
            result = if all {
                and(result, truth)
            } else {
                or(result, truth)
            };
            if result == Some(!all) {
                break;
            }
        }
        Ok(result)
    }
}

/// `left op all members` or `left op any members`.
pub(super) fn compare_members(
    operator: Comparison,
    left: &Value,
    all: bool,
    members: &[Value],
) -> Option<bool> {
    let mut result = Some(all);
    for member in members {
        let truth = compare(operator, left, member);
        result = if all {
            and(result, truth)
        } else {
            or(result, truth)
        };
        if result == Some(!all) {
            break;
        }
    }
    result
}

fn in_set(value: &Value, members: &[Value], has_nil: bool) -> Option<bool> {
    if members.is_empty() && !has_nil {
        return Some(false);
    }
    if value.is_nil() {
        return None;
    }
    let nan = matches!(value, Value::Float(number) if number.is_nan());
    match members.binary_search(value) {
        Ok(_) if !nan => Some(true),
        _ if has_nil => None,
        _ => Some(false),
    }
}

fn in_collection(value: &Value, collection: &Value) -> Option<bool> {
    match collection {
        Value::Nil => Some(false),
        Value::List(members) | Value::Set(members) | Value::Bag(members) => compare::member(value, members),
        single => compare::is_member(value, single),
    }
}

fn like(value: &Value, pattern: impl FnOnce() -> Result<Pattern>) -> Result<Option<bool>> {
    match value {
        Value::Nil => Ok(None),
        Value::String(text) => Ok(Some(pattern()?.matches(text.as_bytes()))),
        other => Err(failure(
            QueryErrorCode::Type,
            format!("like compares strings, not {}", other.type_name()),
        )),
    }
}

fn one_character(escape: &Value) -> Result<char> {
    let mut characters = escape.as_str().unwrap_or_default().chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(failure(
            QueryErrorCode::InvalidValue,
            "the escape of like is one character",
        )),
    }
}

fn is_empty(value: &Value) -> Result<bool> {
    match value {
        Value::Nil => Ok(true),
        Value::String(text) => Ok(text.is_empty()),
        Value::Bytes(bytes) => Ok(bytes.is_empty()),
        Value::Map(entries) => Ok(entries.is_empty()),
        other => members("is empty", other).map(|members| members.is_empty()),
    }
}

/// Whether a value is a reference to an object of one of these classes.
pub(super) fn is_class(value: &Value, classes: &[ClassId]) -> bool {
    value
        .as_reference()
        .is_some_and(|oid| classes.binary_search(&oid.class()).is_ok())
}
