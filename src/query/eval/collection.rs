//! Collections: made, filtered, mapped, joined and reduced.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Evaluator;
use crate::error::{QueryErrorCode, Result};
use crate::object::{Type, Value};
use crate::query::function::aggregate::Accumulator;
use crate::query::function::arithmetic::failure;
use crate::query::function::collections::members;
use crate::query::plan::{AggregateFunction, Column, Expression, ExpressionKind, SetOperator};

impl Evaluator<'_, '_> {
    /// The value of what is made of collections.
    pub(super) fn collection(&self, expression: &Expression) -> Result<Value> {
        use ExpressionKind as K;
        match &expression.kind {
            K::Collection(members) => {
                let members: Vec<Value> = members.iter().map(|e| self.evaluate(e)).collect::<Result<_>>()?;
                Ok(of_type(members, &expression.r#type))
            }
            K::Select {
                collection,
                variable,
                predicate,
            } => self.select(collection, variable, predicate),
            K::Map {
                collection,
                variable,
                body,
            } => self.map(collection, variable, body),
            K::Aggregate {
                function,
                distinct,
                collection,
            } => self.aggregate(*function, *distinct, collection),
            K::SetOperation {
                operator,
                all,
                left,
                right,
            } => {
                let left = members("a set operation", &self.evaluate(left)?)?;
                let right = members("a set operation", &self.evaluate(right)?)?;
                Ok(of_type(
                    set_operation(*operator, *all, &left, &right),
                    &expression.r#type,
                ))
            }
            K::Include {
                collection,
                value,
                members,
            } => self.include(collection, value, *members, &expression.r#type),
            K::Exclude {
                collection,
                value,
                members,
            } => self.exclude(collection, value, *members),
            _ => Ok(Value::Nil),
        }
    }

    fn select(&self, collection: &Expression, variable: &Column, predicate: &Expression) -> Result<Value> {
        let collection = self.evaluate(collection)?;
        if collection.is_nil() {
            return Ok(Value::Nil);
        }
        let mut kept = Vec::new();
        for member in members("a member filter", &collection)?.iter() {
            if self.bind(variable, member, |inner| inner.truth(predicate))? == Some(true) {
                kept.push(member.clone());
            }
        }
        Ok(like(kept, &collection))
    }

    fn map(&self, collection: &Expression, variable: &Column, body: &Expression) -> Result<Value> {
        let collection = self.evaluate(collection)?;
        if collection.is_nil() {
            return Ok(Value::Nil);
        }
        let mut values = Vec::new();
        for member in members("a step", &collection)?.iter() {
            let value = self.bind(variable, member, |inner| inner.evaluate(body))?;
            flatten_into(value, &mut values);
        }
        Ok(Value::bag(values))
    }

    fn aggregate(
        &self,
        function: AggregateFunction,
        distinct: bool,
        collection: &Expression,
    ) -> Result<Value> {
        if function == AggregateFunction::Count
            && let Some(count) = self.size(collection)?
        {
            return Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)));
        }
        let mut members = members("an aggregate", &self.evaluate(collection)?)?.to_vec();
        if distinct {
            members.sort();
            members.dedup();
        }
        let mut accumulator = Accumulator::new(function);
        for member in &members {
            accumulator.add(member)?;
        }
        accumulator.finish()
    }

    /// The number of members of a set of objects that need not be made to be counted; `None` of anything else.
    pub(super) fn size(&self, collection: &Expression) -> Result<Option<u64>> {
        match &collection.kind {
            ExpressionKind::Closure { .. } => Ok(Some(self.reached_by(&collection.kind)?.len() as u64)),
            ExpressionKind::Reverse { .. } => self.count_sources(&collection.kind),
            _ => Ok(None),
        }
    }

    fn include(
        &self,
        collection: &Expression,
        value: &Expression,
        many: bool,
        result: &Type,
    ) -> Result<Value> {
        let base = self.evaluate(collection)?;
        let value = self.evaluate(value)?;
        let mut all = members("+=", &base)?.to_vec();
        if many {
            all.extend(members("+=", &value)?.iter().cloned());
        } else {
            all.push(value);
        }
        Ok(match base {
            Value::Nil => of_type(all, result),
            base => like(all, &base),
        })
    }

    fn exclude(&self, collection: &Expression, value: &Expression, many: bool) -> Result<Value> {
        let base = self.evaluate(collection)?;
        let value = self.evaluate(value)?;
        if base.is_nil() {
            return Ok(Value::Nil);
        }
        let unwanted = if many {
            members("-=", &value)?
        } else {
            Arc::from([value])
        };
        let mut counts: FxHashMap<&Value, usize> = FxHashMap::default();
        for member in unwanted.iter() {
            let count = counts.entry(member).or_default();
            *count = count.saturating_add(1);
        }
        let mut kept = members("-=", &base)?.to_vec();
        kept.retain(|member| match counts.get_mut(member) {
            Some(count) if *count > 0 => {
                *count = count.saturating_sub(1);
                false
            }
            _ => true,
        });
        Ok(like(kept, &base))
    }

    /// A struct of these fields.
    pub(super) fn structure(&self, fields: &[(Arc<str>, Expression)]) -> Result<Value> {
        let fields: Vec<(Arc<str>, Value)> = fields
            .iter()
            .map(|(name, value)| Ok((Arc::clone(name), self.evaluate(value)?)))
            .collect::<Result<_>>()?;
        Ok(Value::Struct(fields.into()))
    }

    /// A map of these keys and values.
    pub(super) fn map_of(&self, entries: &[(Expression, Expression)]) -> Result<Value> {
        let mut all = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = self.evaluate(key)?;
            if key.is_nil() {
                return Err(failure(
                    QueryErrorCode::InvalidValue,
                    "a key of a map cannot be nil",
                ));
            }
            all.push((key, self.evaluate(value)?));
        }
        let given = all.len();
        let map = Value::map(all);
        if map.as_entries().is_some_and(|entries| entries.len() < given) {
            return Err(failure(
                QueryErrorCode::InvalidValue,
                "a key comes twice in one map",
            ));
        }
        Ok(map)
    }
}

/// A collection of the kind that a type names; a list where it names none.
pub(super) fn of_type(members: Vec<Value>, kind: &Type) -> Value {
    match kind {
        Type::Set(_) => Value::set(members),
        Type::Bag(_) => Value::bag(members),
        _ => Value::List(members.into()),
    }
}

/// A collection of the same kind as another; a map's values make a bag.
fn like(members: Vec<Value>, other: &Value) -> Value {
    match other {
        Value::List(_) => Value::List(members.into()),
        Value::Set(_) => Value::set(members),
        _ => Value::bag(members),
    }
}

/// Adds a value to `values`: a collection by its members (one level), nothing for nil.
pub(super) fn flatten_into(value: Value, values: &mut Vec<Value>) {
    match &value {
        Value::Nil => {}
        Value::List(members) | Value::Set(members) | Value::Bag(members) => {
            values.extend(members.iter().filter(|member| !member.is_nil()).cloned());
        }
        _ => values.push(value),
    }
}

/// `left operator right` on members; with `all` duplicates are kept, else each value comes once.
pub fn set_operation(operator: SetOperator, all: bool, left: &[Value], right: &[Value]) -> Vec<Value> {
    let mut counts: FxHashMap<&Value, usize> = FxHashMap::default();
    for member in right {
        let count = counts.entry(member).or_default();
        *count = count.saturating_add(1);
    }
    let mut take = |member: &Value| match counts.get_mut(member) {
        Some(count) if *count > 0 => {
            if all {
                *count = count.saturating_sub(1);
            }
            true
        }
        _ => false,
    };
    let mut result: Vec<Value> = match operator {
        SetOperator::Union => left.iter().chain(right).cloned().collect(),
        SetOperator::Intersect => left.iter().filter(|member| take(member)).cloned().collect(),
        SetOperator::Except => left.iter().filter(|member| !take(member)).cloned().collect(),
    };
    if !all {
        result.sort();
        result.dedup();
    }
    result
}
