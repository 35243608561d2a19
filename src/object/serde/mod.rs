//! The bridge to serde.

mod name;

pub use name::serialized_name;

use ::serde::{Deserialize, Serialize};

use super::layout::Layout;
use super::types::Type;
use crate::error::Result;

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
}

/// Class name and attributes of the struct `T`, from the type alone.
pub fn probe<'de, T: Deserialize<'de>>() -> Result<Shape> {
    todo!()
}

/// The class name of the struct `T`, from the type alone.
pub fn class_name<'de, T: Deserialize<'de>>() -> Result<&'static str> {
    todo!()
}

/// The body of `value` as an object of the layout's class.
pub fn to_body<T: Serialize + ?Sized>(value: &T, layout: &Layout) -> Result<Vec<u8>> {
    todo!()
}

/// The body of `value` over `old`: attributes that `T` does not know keep their bytes.
pub fn update_body<T: Serialize + ?Sized>(value: &T, layout: &Layout, old: &[u8]) -> Result<Vec<u8>> {
    todo!()
}

/// The object in `body` as a `T`, straight from the bytes.
pub fn from_record<'a, T: Deserialize<'a>>(layout: &'a Layout, body: &'a [u8]) -> Result<T> {
    todo!()
}
