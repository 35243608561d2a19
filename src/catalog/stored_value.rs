//! Parts of catalog entries as values and back; whatever else is found there is damage.

use std::sync::Arc;

use super::schema::IndexId;
use crate::error::{Error, Result};
use crate::object::{ClassId, Type, Value};

pub fn damaged(what: impl Into<String>) -> Error {
    Error::corruption("the catalog", what)
}

pub fn text(value: &Value) -> Result<Arc<str>> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(damaged(format!("{other} where a text should be"))),
    }
}

pub fn flag(value: &Value) -> Result<bool> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        other => Err(damaged(format!("{other} where true or false should be"))),
    }
}

pub fn list(value: &Value) -> Result<Arc<[Value]>> {
    match value {
        Value::List(members) => Ok(members.clone()),
        other => Err(damaged(format!("{other} where a list should be"))),
    }
}

pub fn number(value: &Value) -> Result<u32> {
    match value {
        Value::Int(number) => u32::try_from(*number).map_err(|_| damaged(format!("the number {number}"))),
        other => Err(damaged(format!("{other} where a number should be"))),
    }
}

pub fn class_id(value: &Value) -> Result<ClassId> {
    number(value).map(ClassId)
}

pub fn index_id(value: &Value) -> Result<IndexId> {
    number(value).map(IndexId)
}

pub fn field<'a>(value: &'a Value, name: &str) -> Result<&'a Value> {
    let Value::Struct(fields) = value else {
        return Err(damaged(format!("{value} where a struct should be")));
    };
    let found = fields.iter().find(|(field, _)| &**field == name);
    found
        .map(|(_, value)| value)
        .ok_or_else(|| damaged(format!("a struct without {name}")))
}

/// A field that older catalog objects do not have; nil there.
pub fn optional_field<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.field(name).unwrap_or(&Value::Nil)
}

pub fn type_to_value(r#type: &Type) -> Value {
    let parts = |word: &str, parts: Vec<Value>| Value::list(std::iter::once(Value::from(word)).chain(parts));
    match r#type {
        Type::Reference(class) => parts("reference", vec![Value::String(class.clone())]),
        Type::List(member) => parts("list", vec![type_to_value(member)]),
        Type::Set(member) => parts("set", vec![type_to_value(member)]),
        Type::Bag(member) => parts("bag", vec![type_to_value(member)]),
        Type::Map(key, value) => parts("map", vec![type_to_value(key), type_to_value(value)]),
        Type::Struct(fields) => {
            let field = |(name, r#type): &(Arc<str>, Type)| {
                Value::list([Value::String(name.clone()), type_to_value(r#type)])
            };
            parts("struct", fields.iter().map(field).collect())
        }
        simple => Value::from(simple.to_string().as_str()),
    }
}

pub fn type_from_value(value: &Value) -> Result<Type> {
    match value {
        Value::String(word) => simple_type(word),
        Value::List(parts) => match &**parts {
            [Value::String(word), rest @ ..] => compound_type(word, rest),
            _ => Err(damaged(format!("the type {value}"))),
        },
        _ => Err(damaged(format!("the type {value}"))),
    }
}

fn simple_type(word: &str) -> Result<Type> {
    Ok(match word {
        "any" => Type::Any,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "float" => Type::Float,
        "decimal" => Type::Decimal,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "date" => Type::Date,
        "time" => Type::Time,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "uuid" => Type::Uuid,
        other => return Err(damaged(format!("the unknown type {other}"))),
    })
}

fn compound_type(word: &str, parts: &[Value]) -> Result<Type> {
    Ok(match (word, parts) {
        ("reference", [class]) => Type::Reference(text(class)?),
        ("list", [member]) => Type::list(type_from_value(member)?),
        ("set", [member]) => Type::set(type_from_value(member)?),
        ("bag", [member]) => Type::bag(type_from_value(member)?),
        ("map", [key, value]) => Type::map(type_from_value(key)?, type_from_value(value)?),
        ("struct", fields) => Type::structure(fields.iter().map(struct_field).collect::<Result<Vec<_>>>()?),
        _ => return Err(damaged(format!("the unknown type {word}"))),
    })
}

fn struct_field(value: &Value) -> Result<(Arc<str>, Type)> {
    match &*list(value)? {
        [name, r#type] => Ok((text(name)?, type_from_value(r#type)?)),
        _ => Err(damaged(format!("the struct field {value}"))),
    }
}
