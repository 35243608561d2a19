//! The types an attribute may have.

use std::fmt;
use std::sync::Arc;

/// The type of an attribute, parameter or expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// A value of any type, checked at run time.
    Any,
    /// true or false.
    Bool,
    /// A signed 64-bit integer.
    Int,
    /// An IEEE 754 double.
    Float,
    /// An exact decimal number of up to 28 digits.
    Decimal,
    /// Unicode text.
    String,
    /// Raw bytes.
    Bytes,
    /// A calendar date.
    Date,
    /// A time of day, to the microsecond.
    Time,
    /// An instant in UTC, to the microsecond.
    Timestamp,
    /// A length of time, to the microsecond.
    Duration,
    /// A 128-bit universally unique identifier.
    Uuid,
    /// A reference to an object of the named class or a subclass of it.
    Reference(Arc<str>),
    /// Ordered members, duplicates kept.
    List(Box<Type>),
    /// Members without order and duplicates.
    Set(Box<Type>),
    /// Members without order, duplicates kept.
    Bag(Box<Type>),
    /// Values by key.
    Map(Box<Type>, Box<Type>),
    /// Named fields.
    Struct(Arc<[(Arc<str>, Type)]>),
}

impl Type {
    /// A reference to objects of `class`.
    pub fn reference(class: impl Into<Arc<str>>) -> Type {
        Type::Reference(class.into())
    }

    /// A list of `member`.
    pub fn list(member: Type) -> Type {
        Type::List(Box::new(member))
    }

    /// A set of `member`.
    pub fn set(member: Type) -> Type {
        Type::Set(Box::new(member))
    }

    /// A bag of `member`.
    pub fn bag(member: Type) -> Type {
        Type::Bag(Box::new(member))
    }

    /// A map from `key` to `value`.
    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Box::new(key), Box::new(value))
    }

    /// A struct with these fields.
    pub fn structure<N: Into<Arc<str>>>(fields: impl IntoIterator<Item = (N, Type)>) -> Type {
        Type::Struct(
            fields
                .into_iter()
                .map(|(name, r#type)| (name.into(), r#type))
                .collect(),
        )
    }

    /// The member type of a list, set or bag.
    pub fn member(&self) -> Option<&Type> {
        match self {
            Type::List(member) | Type::Set(member) | Type::Bag(member) => Some(member),
            _ => None,
        }
    }

    /// Whether values of this type may contain references.
    pub fn may_refer(&self) -> bool {
        match self {
            Type::Any | Type::Reference(_) => true,
            Type::List(member) | Type::Set(member) | Type::Bag(member) => member.may_refer(),
            Type::Map(key, value) => key.may_refer() || value.may_refer(),
            Type::Struct(fields) => fields.iter().any(|(_, field)| field.may_refer()),
            _ => false,
        }
    }

    /// Whether values of this type are numbers.
    pub fn is_number(&self) -> bool {
        matches!(self, Type::Int | Type::Float | Type::Decimal)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Any => f.write_str("any"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Float => f.write_str("float"),
            Type::Decimal => f.write_str("decimal"),
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Date => f.write_str("date"),
            Type::Time => f.write_str("time"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Duration => f.write_str("duration"),
            Type::Uuid => f.write_str("uuid"),
            Type::Reference(class) => f.write_str(class),
            Type::List(member) => write!(f, "list<{member}>"),
            Type::Set(member) => write!(f, "set<{member}>"),
            Type::Bag(member) => write!(f, "bag<{member}>"),
            Type::Map(key, value) => write!(f, "map<{key}, {value}>"),
            Type::Struct(fields) => {
                f.write_str("struct(")?;
                for (i, (name, r#type)) in fields.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{name}: {type}")?;
                }
                f.write_str(")")
            }
        }
    }
}
