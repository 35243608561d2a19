//! What class a Rust type is, learned from its `Deserialize` alone.
//!
//! A type shows itself only by what it asks its deserializer for, and a deserializer cannot make values up. So the
//! type is asked many times, each time with a path that leads to one place within it: the fields, members, keys and
//! elements on the way are offered, and at the end of the path the request is written down and refused. Where a
//! tuple or a map wants something before the place in question, it gets a dummy, such as 1 or an empty text.

use std::any::type_name;
use std::cell::RefCell;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::super::types::Type;
use super::REFERENCE;
use super::dummy::{Dummy, accepts_absence};
use super::failure::Failure;
use super::scalar::marked_type;
use crate::error::{Error, Result};

/// A class as a Rust type describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The class name.
    pub name: &'static str,
    /// The attributes, in declaration order.
    pub fields: Vec<Field>,
}

/// One attribute of a [`Shape`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The attribute's name.
    pub name: &'static str,
    /// Its type.
    pub r#type: Type,
    /// Whether it may be nil or absent: an `Option`, or a field with a serde default.
    pub optional: bool,
    /// Whether it may be nil: an `Option`.
    pub nilable: bool,
}

/// What a type asked for at one place.
#[derive(Debug, Clone)]
enum Found {
    Scalar(Type),
    Option,
    List,
    Set,
    Tuple(usize),
    Map,
    Struct(&'static str, &'static [&'static str]),
    /// The key of a struct that has flattened fields.
    Identifier,
    Unit,
}

/// Class name and attributes of the struct `T`, from the type alone.
pub fn probe<'de, T: Deserialize<'de>>() -> Result<Shape> {
    let (name, fields) = class_of::<T>()?;
    if fields.is_empty() {
        let sentence = format!("the struct {name} has no fields, and so no attributes to store");
        return Err(Error::Schema(sentence));
    }
    let mut shape = Shape {
        name,
        fields: Vec::with_capacity(fields.len()),
    };
    for (position, field) in fields.iter().copied().enumerate() {
        let mut walk = Walk {
            ask: ask::<T>,
            path: vec![position],
            structs: vec![name],
        };
        let (r#type, nilable) = walk.learn().map_err(|reason| {
            Error::Schema(format!("the field {name}.{field} cannot be stored: {reason}"))
        })?;
        let optional = nilable || accepts_absence::<T>(field);
        shape.fields.push(Field {
            name: field,
            r#type,
            optional,
            nilable,
        });
    }
    Ok(shape)
}

/// The class name of the struct `T`, from the type alone.
pub fn class_name<'de, T: Deserialize<'de>>() -> Result<&'static str> {
    class_of::<T>().map(|(name, _)| name)
}

/// The names of the fields of the struct `T`; `None` where it is none.
pub fn field_names<'de, T: Deserialize<'de>>() -> Option<&'static [&'static str]> {
    match ask::<T>(&[]) {
        Some(Found::Struct(_, fields)) => Some(fields),
        _ => None,
    }
}

fn class_of<'de, T: Deserialize<'de>>() -> Result<(&'static str, &'static [&'static str])> {
    let reason = match ask::<T>(&[]) {
        Some(Found::Struct(name, fields)) => return Ok((name, fields)),
        Some(Found::Map) => {
            "a map, or a struct with a flattened field, which is not supported on stored classes"
        }
        Some(Found::Unit) => "a unit",
        _ => "not a struct with named fields",
    };
    Err(Error::Schema(format!(
        "{} cannot be a class: it is {reason}",
        type_name::<T>()
    )))
}

/// What `T` asks for at the end of `path`; `None` if it does not get there.
fn ask<'de, T: Deserialize<'de>>(path: &[usize]) -> Option<Found> {
    let found = RefCell::new(None);
    let probe = Probe { path, found: &found };
    // Its answer is always a refusal: no path ends in a value.
    drop(T::deserialize(probe));
    found.into_inner()
}

/// A walk over all places within one field.
struct Walk {
    ask: fn(&[usize]) -> Option<Found>,
    path: Vec<usize>,
    /// The structs around the current place.
    structs: Vec<&'static str>,
}

impl Walk {
    /// The type at the current place, and whether nil is one of its values; or a reason.
    fn learn(&mut self) -> Result<(Type, bool), String> {
        match (self.ask)(&self.path) {
            Some(Found::Scalar(r#type)) => Ok((r#type, false)),
            Some(Found::List) => Ok((Type::list(self.below(0)?.0), false)),
            Some(Found::Set) => Ok((Type::set(self.below(0)?.0), false)),
            Some(Found::Map) => self.learn_map(),
            Some(Found::Tuple(length)) => self.learn_tuple(length),
            Some(Found::Struct(name, fields)) => self.learn_struct(name, fields),
            Some(Found::Option) => match self.below(0)? {
                (_, true) => Err("an Option within an Option would not come back as it was".into()),
                (r#type, false) => Ok((r#type, true)),
            },
            Some(Found::Identifier) => Err("a flattened field is not supported".into()),
            Some(Found::Unit) => Err("a unit has no value to store".into()),
            None => Ok((Type::Any, false)),
        }
    }

    fn below(&mut self, step: usize) -> Result<(Type, bool), String> {
        self.path.push(step);
        let learned = self.learn();
        self.path.pop();
        learned
    }

    fn learn_map(&mut self) -> Result<(Type, bool), String> {
        let key = self.below(0)?.0;
        let value = self.below(1)?.0;
        Ok((Type::map(key, value), false))
    }

    fn learn_tuple(&mut self, length: usize) -> Result<(Type, bool), String> {
        let mut types = Vec::new();
        for element in 0..length {
            types.push(self.below(element)?.0);
        }
        let first = types.first().cloned().unwrap_or(Type::Any);
        let alike = types.iter().all(|r#type| *r#type == first);
        Ok((Type::list(if alike { first } else { Type::Any }), false))
    }

    fn learn_struct(
        &mut self,
        name: &'static str,
        fields: &'static [&'static str],
    ) -> Result<(Type, bool), String> {
        if self.structs.contains(&name) {
            return Err(format!("{name} contains itself; refer to it by Ref<{name}>"));
        }
        if fields.is_empty() {
            return Err(format!("{name} has no fields to store"));
        }
        self.structs.push(name);
        let mut types = Vec::new();
        for (position, field) in fields.iter().enumerate() {
            let learned = self.below(position);
            types.push((
                *field,
                learned.map_err(|reason| format!("in {field}: {reason}"))?.0,
            ));
        }
        self.structs.pop();
        Ok((Type::structure(types), false))
    }
}

/// Leads a type along a path.
#[derive(Clone, Copy)]
struct Probe<'p> {
    path: &'p [usize],
    found: &'p RefCell<Option<Found>>,
}

/// The attribute type of well-known types of other crates, which ask for text and show themselves only by name.
fn named_scalar(wanted: &str) -> Option<Type> {
    let known = [
        (type_name::<uuid::Uuid>(), Type::Uuid),
        (type_name::<rust_decimal::Decimal>(), Type::Decimal),
        (type_name::<jiff::civil::Date>(), Type::Date),
        (type_name::<jiff::civil::Time>(), Type::Time),
        (type_name::<jiff::Timestamp>(), Type::Timestamp),
        (type_name::<jiff::SignedDuration>(), Type::Duration),
    ];
    known
        .into_iter()
        .find_map(|(name, r#type)| (name == wanted).then_some(r#type))
}

/// Whether a type that asks for a sequence is one of the standard library's sets, which serde does not tell from lists.
fn is_set(wanted: &str) -> bool {
    const SETS: [&str; 2] = [
        "alloc::collections::btree::set::BTreeSet<",
        "std::collections::hash::set::HashSet<",
    ];
    SETS.iter().any(|set| wanted.starts_with(set))
}

fn refused() -> Failure {
    Failure::UNSUITABLE
}

impl<'p> Probe<'p> {
    /// The next step and the probe behind it, or at the end of the path writes down what was found.
    fn step(self, found: Found) -> Result<(usize, Probe<'p>), Failure> {
        match self.path.split_first() {
            Some((step, path)) => Ok((*step, Probe { path, ..self })),
            None => {
                *self.found.borrow_mut() = Some(found);
                Err(refused())
            }
        }
    }

    /// A place that has nothing below it.
    fn leaf<T>(self, found: Found) -> Result<T, Failure> {
        self.step(found).and(Err(refused()))
    }

    /// A scalar, unless the wanted value is one of the types that only show themselves by name.
    fn scalar<T>(self, r#type: Type) -> Result<T, Failure> {
        self.leaf(Found::Scalar(named_scalar(type_name::<T>()).unwrap_or(r#type)))
    }
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        self.scalar(Type::Any)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        self.scalar(Type::Bool)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        self.scalar(Type::Int)
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        self.scalar(Type::Float)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        self.scalar(Type::String)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        self.scalar(Type::Bytes)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_any(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        self.leaf(Found::Identifier)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        self.leaf(Found::Unit)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let (_, below) = self.step(Found::Option)?;
        visitor.visit_some(below)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match marked_type(name) {
            Some(r#type) => self.leaf(Found::Scalar(r#type.clone())),
            None if name == REFERENCE => {
                let target = RefCell::new(None);
                drop(visitor.visit_some(Probe {
                    path: &[],
                    found: &target,
                }));
                let r#type = match target.into_inner() {
                    Some(Found::Struct(class, _)) => Type::reference(class),
                    _ => Type::Any,
                };
                self.leaf(Found::Scalar(r#type))
            }
            None => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let found = if is_set(type_name::<V::Value>()) {
            Found::Set
        } else {
            Found::List
        };
        let (_, below) = self.step(found)?;
        visitor.visit_seq(Elements { before: 0, below })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Failure> {
        let (before, below) = self.step(Found::Tuple(length))?;
        visitor.visit_seq(Elements { before, below })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let (step, below) = self.step(Found::Map)?;
        let at_key = step == 0;
        visitor.visit_map(Entry { at_key, below })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let (step, below) = self.step(Found::Struct(name, fields))?;
        let field = fields.get(step).copied().unwrap_or_default();
        visitor.visit_map(OneField { field, below })
    }
}

/// Dummies, then the element on the path.
struct Elements<'p> {
    before: usize,
    below: Probe<'p>,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        match self.before.checked_sub(1) {
            Some(before) => {
                self.before = before;
                seed.deserialize(Dummy).map(Some)
            }
            None => seed.deserialize(self.below).map(Some),
        }
    }
}

/// One entry of a map, with its key or its value on the path.
struct Entry<'p> {
    at_key: bool,
    below: Probe<'p>,
}

impl<'de> MapAccess<'de> for Entry<'_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        if self.at_key {
            seed.deserialize(self.below).map(Some)
        } else {
            seed.deserialize(Dummy).map(Some)
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        seed.deserialize(self.below)
    }
}

/// One field of a struct, on the path.
struct OneField<'p> {
    field: &'static str,
    below: Probe<'p>,
}

impl<'de> MapAccess<'de> for OneField<'_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        seed.deserialize(BorrowedStrDeserializer::new(self.field))
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        seed.deserialize(self.below)
    }
}
