//! Conversions of Rust's own types into values.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rust_decimal::Decimal;
use uuid::Uuid;

use super::oid::Oid;
use super::reference::Ref;
use super::time::{Date, Duration, Time, Timestamp};
use super::value::Value;

impl From<i8> for Value {
    fn from(value: i8) -> Value {
        Value::Int(i64::from(value))
    }
}

impl From<i16> for Value {
    fn from(value: i16) -> Value {
        Value::Int(i64::from(value))
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Int(i64::from(value))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<u8> for Value {
    fn from(value: u8) -> Value {
        Value::Int(i64::from(value))
    }
}

impl From<u16> for Value {
    fn from(value: u16) -> Value {
        Value::Int(i64::from(value))
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Value {
        Value::Int(i64::from(value))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float(value)
    }
}

impl From<f32> for Value {
    fn from(value: f32) -> Value {
        Value::Float(f64::from(value))
    }
}

impl From<Decimal> for Value {
    fn from(value: Decimal) -> Value {
        Value::Decimal(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::String(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::String(value.into())
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Value {
        Value::String(value.as_str().into())
    }
}

impl From<Arc<str>> for Value {
    fn from(value: Arc<str>) -> Value {
        Value::String(value)
    }
}

impl From<char> for Value {
    fn from(value: char) -> Value {
        Value::String(value.to_string().into())
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Value {
        Value::Bytes(value.into())
    }
}

impl From<Date> for Value {
    fn from(value: Date) -> Value {
        Value::Date(value)
    }
}

impl From<Time> for Value {
    fn from(value: Time) -> Value {
        Value::Time(value)
    }
}

impl From<Timestamp> for Value {
    fn from(value: Timestamp) -> Value {
        Value::Timestamp(value)
    }
}

impl From<Duration> for Value {
    fn from(value: Duration) -> Value {
        Value::Duration(value)
    }
}

impl From<Uuid> for Value {
    fn from(value: Uuid) -> Value {
        Value::Uuid(value)
    }
}

impl From<Oid> for Value {
    fn from(value: Oid) -> Value {
        Value::Reference(value)
    }
}

impl From<()> for Value {
    fn from((): ()) -> Value {
        Value::Nil
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Value {
        value.clone()
    }
}

impl<T> From<Ref<T>> for Value {
    fn from(reference: Ref<T>) -> Value {
        Value::Reference(reference.oid())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Nil, Into::into)
    }
}

/// A list (of bytes too: a bytes value comes from a slice).
impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(members: Vec<T>) -> Value {
        Value::list(members)
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(members: [T; N]) -> Value {
        Value::list(members)
    }
}

impl<T: Into<Value>> From<BTreeSet<T>> for Value {
    fn from(members: BTreeSet<T>) -> Value {
        Value::set(members)
    }
}

impl<T: Into<Value>, S> From<HashSet<T, S>> for Value {
    fn from(members: HashSet<T, S>) -> Value {
        Value::set(members)
    }
}

impl<K: Into<Value>, V: Into<Value>> From<BTreeMap<K, V>> for Value {
    fn from(entries: BTreeMap<K, V>) -> Value {
        Value::map(entries)
    }
}

impl<K: Into<Value>, V: Into<Value>, S> From<HashMap<K, V, S>> for Value {
    fn from(entries: HashMap<K, V, S>) -> Value {
        Value::map(entries)
    }
}
