//! Values as text: the literal form of the query language, which reads back as the same value.

use std::fmt::{self, Display, Formatter, Write};

use super::oid::Oid;
use super::value::Value;

impl Value {
    /// The literal form of this value, with references written by `name` (as `Person#42`).
    pub fn display_with<'a>(&'a self, name: &'a dyn Fn(Oid) -> String) -> impl Display + 'a {
        Literal { value: self, name }
    }
}

/// The literal form, with references by class number (`64#42`).
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_value(self, &|oid| oid.to_string(), f)
    }
}

struct Literal<'a> {
    value: &'a Value,
    name: &'a dyn Fn(Oid) -> String,
}

impl Display for Literal<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_value(self.value, self.name, f)
    }
}

fn write_value(value: &Value, name: &dyn Fn(Oid) -> String, f: &mut Formatter<'_>) -> fmt::Result {
    match value {
        Value::Nil => f.write_str("nil"),
        Value::Bool(value) => write!(f, "{value}"),
        Value::Int(value) => write!(f, "{value}"),
        Value::Float(value) => write_float(*value, f),
        Value::Decimal(value) => write!(f, "{value}d"),
        Value::String(value) => write_string(value, f),
        Value::Bytes(value) => write_bytes(value, f),
        Value::Date(value) => write!(f, "date '{value}'"),
        Value::Time(value) => write!(f, "time '{value}'"),
        Value::Timestamp(value) => write!(f, "timestamp '{value}'"),
        Value::Duration(value) => write!(f, "duration '{value}'"),
        Value::Uuid(value) => write!(f, "uuid '{value}'"),
        Value::Reference(value) => f.write_str(&name(*value)),
        Value::List(members) => write_members("list", members, name, f),
        Value::Set(members) => write_members("set", members, name, f),
        Value::Bag(members) => write_members("bag", members, name, f),
        Value::Map(entries) => write_items("map", entries, f, |(key, value), f| {
            write_value(key, name, f)?;
            f.write_str(": ")?;
            write_value(value, name, f)
        }),
        Value::Struct(fields) => write_items("struct", fields, f, |(field, value), f| {
            write_name(field, f)?;
            f.write_str(": ")?;
            write_value(value, name, f)
        }),
    }
}

fn write_members(
    word: &str,
    members: &[Value],
    name: &dyn Fn(Oid) -> String,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    write_items(word, members, f, |member, f| write_value(member, name, f))
}

/// `word(item, item)`.
fn write_items<T>(
    word: &str,
    items: &[T],
    f: &mut Formatter<'_>,
    write: impl Fn(&T, &mut Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    write!(f, "{word}(")?;
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        write(item, f)?;
    }
    f.write_str(")")
}

/// The shortest text that reads back as the same double; always with a dot or an exponent.
fn write_float(value: f64, f: &mut Formatter<'_>) -> fmt::Result {
    if value.is_nan() {
        f.write_str("nan")
    } else if value.is_infinite() {
        f.write_str(if value > 0.0 { "inf" } else { "-inf" })
    } else {
        write!(f, "{value:?}")
    }
}

fn write_string(text: &str, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char('\'')?;
    for character in text.chars() {
        match character {
            '\'' => f.write_str("''")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            control if control.is_control() => write!(f, "\\u{{{:x}}}", u32::from(control))?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('\'')
}

fn write_bytes(bytes: &[u8], f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("x'")?;
    for byte in bytes {
        write!(f, "{byte:02x}")?;
    }
    f.write_str("'")
}

/// A field's name, in backquotes where it is no identifier.
fn write_name(name: &str, f: &mut Formatter<'_>) -> fmt::Result {
    let mut characters = name.chars();
    let first = characters
        .next()
        .is_some_and(|first| first == '_' || unicode_ident::is_xid_start(first));
    if first && characters.all(unicode_ident::is_xid_continue) {
        f.write_str(name)
    } else {
        write!(f, "`{}`", name.replace('`', "``"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ClassId, Date, Duration, Timestamp};

    #[test]
    fn values_print_as_literals() {
        let person = Oid::new(ClassId(64), 42).unwrap();
        for (value, expected) in [
            (Value::Nil, "nil"),
            (Value::Bool(true), "true"),
            (Value::Int(-5), "-5"),
            (Value::Float(1.0), "1.0"),
            (Value::Float(1e300), "1e300"),
            (Value::Float(0.1), "0.1"),
            (Value::Float(f64::NAN), "nan"),
            (Value::Float(f64::NEG_INFINITY), "-inf"),
            (Value::Decimal("12.50".parse().unwrap()), "12.50d"),
            ("it's\n\\\u{7}".into(), "'it''s\\n\\\\\\u{7}'"),
            ([0u8, 255].as_slice().into(), "x'00ff'"),
            (Value::Date(Date(0)), "date '1970-01-01'"),
            (Value::Timestamp(Timestamp(0)), "timestamp '1970-01-01T00:00:00Z'"),
            (Value::Duration(Duration(3_600_000_000)), "duration 'PT1H'"),
            (Value::list([1, 2]), "list(1, 2)"),
            (Value::map([("a", 1)]), "map('a': 1)"),
            (Value::structure([("a", 1), ("b c", 2)]), "struct(a: 1, `b c`: 2)"),
            (Value::set([person]), "set(64#42)"),
        ] {
            assert_eq!(value.to_string(), expected);
        }
        let name = |oid: Oid| format!("Person#{}", oid.serial());
        assert_eq!(
            Value::list([person]).display_with(&name).to_string(),
            "list(Person#42)"
        );
    }
}
