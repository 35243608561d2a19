//! Steps from objects: attributes and narrowing.

use std::borrow::Cow;

use super::Evaluator;
use super::predicate::is_class;
use crate::error::{QueryErrorCode, Result};
use crate::object::{ClassId, Oid, Record, Value, codec};
use crate::query::function::arithmetic::failure;
use crate::query::plan::{Expression, Slots};
use crate::read::value_of;

impl<'r, 'a> Evaluator<'r, 'a> {
    /// The attribute of an object; nil where there is no object, or its class lacks the attribute.
    pub(super) fn attribute(&self, base: &Expression, slots: &Slots) -> Result<Value> {
        match self.record_of(base)? {
            Some(record) => match slots.slot(record.oid.class()) {
                Some(slot) => self.slot(&record, slot),
                None => Ok(Value::Nil),
            },
            None => Ok(Value::Nil),
        }
    }

    fn slot(&self, record: &Record<'_>, slot: usize) -> Result<Value> {
        match self.run.layout(record.oid.class()) {
            Some(layout) => codec::read_slot(layout, &record.body, slot)?.to_value(),
            None => Ok(Value::Nil),
        }
    }

    /// The record of the object an expression gives: from the row where it is there, else through the reader.
    fn record_of(&self, base: &Expression) -> Result<Option<Cow<'r, Record<'a>>>> {
        if let Some(column) = base.as_column() {
            let found = self.scope.and_then(|scope| scope.record(column.id));
            if let Some(record) = found {
                return Ok(Some(Cow::Borrowed(record)));
            }
        }
        match self.evaluate(base)? {
            Value::Reference(oid) => Ok(self.run.object(oid)?.map(Cow::Owned)),
            _ => Ok(None),
        }
    }

    /// An attribute of a value whose type is known only now.
    pub(super) fn dynamic_attribute(&self, base: &Expression, name: &str) -> Result<Value> {
        let value = self.evaluate(base)?;
        self.dynamic_step(&value, name)
    }

    fn dynamic_step(&self, value: &Value, name: &str) -> Result<Value> {
        match value {
            Value::Nil => Ok(Value::Nil),
            Value::Reference(oid) => match self.run.object(*oid)? {
                Some(record) => self.named(&record, name),
                None => Ok(Value::Nil),
            },
            Value::Struct(_) => value.field(name).cloned().ok_or_else(|| {
                failure(
                    QueryErrorCode::UnknownName,
                    format!("the struct has no field {name}"),
                )
            }),
            Value::List(members) | Value::Set(members) | Value::Bag(members) => {
                let mut values = Vec::new();
                for member in members.iter() {
                    super::collection::flatten_into(self.dynamic_step(member, name)?, &mut values);
                }
                Ok(Value::bag(values))
            }
            other => Err(failure(
                QueryErrorCode::Type,
                format!("{} has no attribute {name}", other.type_name()),
            )),
        }
    }

    fn named(&self, record: &Record<'_>, name: &str) -> Result<Value> {
        let class = self.run.reader().catalog().classes.get(&record.oid.class());
        if let Some(class) = class.filter(|class| class.derives)
            && let Some(attribute) = class.attribute(name)
        {
            return value_of(self.run.reader(), class, record, attribute);
        }
        let layout = self.run.layout(record.oid.class());
        match layout.and_then(|layout| layout.slot(name)) {
            Some(slot) => self.slot(record, slot),
            None => Err(failure(
                QueryErrorCode::UnknownName,
                format!(
                    "{} has no attribute {name}",
                    self.run.reader().catalog().describe(record.oid)
                ),
            )),
        }
    }

    /// A field of a struct.
    pub(super) fn field(&self, base: &Expression, index: usize, name: &str) -> Result<Value> {
        let value = self.evaluate(base)?;
        let fields = match &value {
            Value::Nil => return Ok(Value::Nil),
            other => other.as_fields().unwrap_or_default(),
        };
        let by_place = fields.get(index).filter(|(field, _)| &**field == name);
        let found = by_place.map(|(_, value)| value).or_else(|| value.field(name));
        Ok(found.cloned().unwrap_or_default())
    }

    /// The reference if it is to an object of one of these classes.
    pub(super) fn narrow(&self, value: &Expression, classes: &[ClassId]) -> Result<Value> {
        let value = self.evaluate(value)?;
        Ok(if is_class(&value, classes) {
            value
        } else {
            Value::Nil
        })
    }
}

/// The objects a value refers to: itself, or the members of a collection.
pub(super) fn references(value: &Value) -> Vec<Oid> {
    match value {
        Value::Reference(oid) => vec![*oid],
        other => {
            let members = other.as_members().unwrap_or_default();
            members.iter().filter_map(Value::as_reference).collect()
        }
    }
}
