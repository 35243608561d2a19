//! The class name of a Rust value, from its serde data model.

use std::fmt;

use ::serde::ser::{Impossible, Serialize, Serializer};

use crate::error::{Error, Result};

/// The class name of `value`: the name of its struct, as serde has it. Stops at the name, so it costs nothing.
///
/// # Errors
/// [`Error::Schema`] where `value` is no struct with named fields.
pub fn serialized_name<T: Serialize + ?Sized>(value: &T) -> Result<&'static str> {
    match value.serialize(NameSerializer) {
        Err(Stop::Struct(name)) => Ok(name),
        Ok(()) | Err(Stop::Other) => Err(Error::Schema(format!(
            "a {} cannot be an object: only a struct with named fields can",
            std::any::type_name::<T>()
        ))),
    }
}

/// Why serialization stopped.
#[derive(Debug)]
enum Stop {
    /// At a struct of this name.
    Struct(&'static str),
    /// At anything else.
    Other,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped at the name")
    }
}

impl std::error::Error for Stop {}

impl ::serde::ser::Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Stop::Other
    }
}

struct NameSerializer;

type Never = Impossible<(), Stop>;

impl Serializer for NameSerializer {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Never, Stop> {
        Err(Stop::Struct(name))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_bool(self, _: bool) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_i8(self, _: i8) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_i16(self, _: i16) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_i32(self, _: i32) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_i64(self, _: i64) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_u8(self, _: u8) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_u16(self, _: u16) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_u32(self, _: u32) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_u64(self, _: u64) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_f32(self, _: f32) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_f64(self, _: f64) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_char(self, _: char) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_str(self, _: &str) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_none(self) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_unit(self) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Stop> {
        Err(Stop::Other)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Never, Stop> {
        Err(Stop::Other)
    }
    fn serialize_tuple(self, _: usize) -> Result<Never, Stop> {
        Err(Stop::Other)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Never, Stop> {
        Err(Stop::Other)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Stop> {
        Err(Stop::Other)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Never, Stop> {
        Err(Stop::Other)
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Stop> {
        Err(Stop::Other)
    }
}
