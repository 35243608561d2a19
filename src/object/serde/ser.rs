//! Rust structs as bodies of records.

use std::ops::Range;

use serde::ser::{Impossible, Serialize, SerializeStruct, Serializer};
use smallvec::SmallVec;

use super::super::codec::{Body, BodyBuilder, finish, put, refuse_nil};
use super::super::layout::Layout;
use super::failure::Failure;
use super::value_ser::ValueSerializer;
use crate::error::{Error, Result};

/// The body of `value` as an object of the layout's class.
///
/// An attribute that `T` does not know takes its default; a field that is skipped (`skip_serializing_if`) is nil, or
/// the default where the attribute is `not null`. A field without an attribute is [`Error::Schema`], a value that
/// does not fit is [`Error::Argument`], nil in an attribute that is `not null` is [`Error::Constraint`] (references:
/// see [`encode_body`](super::super::encode_body)).
pub fn to_body<T: Serialize + ?Sized>(value: &T, layout: &Layout) -> Result<Vec<u8>> {
    write(value, layout, None)
}

/// The body of `value` over `old`: attributes that `T` does not know keep their bytes. Errors as for [`to_body`].
pub fn update_body<T: Serialize + ?Sized>(value: &T, layout: &Layout, old: &[u8]) -> Result<Vec<u8>> {
    write(value, layout, Some(Body::new(old)?))
}

fn write<T: Serialize + ?Sized>(value: &T, layout: &Layout, old: Option<Body<'_>>) -> Result<Vec<u8>> {
    let fields = value
        .serialize(ObjectSerializer { layout })
        .map_err(|failure| failure.into_error(layout))?;
    let mut body = BodyBuilder::default();
    body.data.reserve(fields.data.len());
    for (number, slot) in layout.slots.iter().enumerate() {
        let known = old.map_or(Ok(None), |old| old.slot(number))?;
        match (fields.given.get(number), known) {
            _ if slot.dropped => {}
            (Some(Given::Value(range)), _) => {
                body.data
                    .extend_from_slice(fields.data.get(range.clone()).unwrap_or_default());
            }
            (Some(Given::Nil), _) => refuse_nil(layout, slot)?,
            (Some(Given::Skipped), _) if !slot.not_null => {}
            (Some(Given::Unknown) | None, Some(bytes)) => body.data.extend_from_slice(bytes),
            (Some(Given::Unknown | Given::Skipped) | None, _) => {
                if slot.default.is_nil() {
                    refuse_nil(layout, slot)?;
                }
                put(&slot.r#type, &slot.default, &mut body.data);
            }
        }
        body.end_slot();
    }
    finish(layout, body)
}

/// What a struct said about one slot.
#[derive(Clone)]
enum Given {
    /// Nothing.
    Unknown,
    /// That its field is left out.
    Skipped,
    /// Nil.
    Nil,
    /// A value, encoded in these bytes of the data.
    Value(Range<usize>),
}

/// The fields of one struct, encoded, by slot.
struct ObjectFields<'l> {
    layout: &'l Layout,
    given: SmallVec<[Given; 16]>,
    data: Vec<u8>,
    /// The slot after the last one written.
    next_slot: usize,
}

impl ObjectFields<'_> {
    /// The slot of a field; fields mostly come in the order of the slots.
    fn find(&self, field: &str) -> Result<usize, Failure> {
        match self.layout.slots.get(self.next_slot) {
            Some(slot) if *slot.name == *field && !slot.dropped => Ok(self.next_slot),
            _ => self.layout.slot(field).ok_or_else(|| {
                Failure::from(Error::Schema(format!(
                    "class {} has no attribute {field}; define the class again with it, or alter the class",
                    self.layout.name
                )))
            }),
        }
    }

    fn set(&mut self, slot: usize, given: Given) {
        if let Some(place) = self.given.get_mut(slot) {
            *place = given;
        }
        self.next_slot = slot + 1;
    }
}

impl<'l> SerializeStruct for ObjectFields<'l> {
    type Ok = ObjectFields<'l>;
    type Error = Failure;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        field: &'static str,
        value: &T,
    ) -> Result<(), Failure> {
        let number = self.find(field)?;
        let Some(slot) = self.layout.slots.get(number) else {
            return Ok(());
        };
        let start = self.data.len();
        let written = value
            .serialize(ValueSerializer::new(&slot.r#type, &mut self.data))
            .map_err(|failure| failure.at(self.layout, field))?;
        let given = if written {
            Given::Value(start..self.data.len())
        } else {
            Given::Nil
        };
        self.set(number, given);
        Ok(())
    }

    fn skip_field(&mut self, field: &'static str) -> Result<(), Failure> {
        let number = self.find(field)?;
        self.set(number, Given::Skipped);
        Ok(())
    }

    fn end(self) -> Result<ObjectFields<'l>, Failure> {
        Ok(self)
    }
}

/// A whole object, which only a struct can be.
struct ObjectSerializer<'l> {
    layout: &'l Layout,
}

impl<'l> ObjectSerializer<'l> {
    #[cold]
    fn refuse<T>(self, what: &str) -> Result<T, Failure> {
        let sentence = format!(
            "an object of class {} must be a struct with named fields, not {what}",
            self.layout.name
        );
        Err(Failure::new(sentence))
    }
}

type None<'l> = Impossible<ObjectFields<'l>, Failure>;

impl<'l> Serializer for ObjectSerializer<'l> {
    type Ok = ObjectFields<'l>;
    type Error = Failure;
    type SerializeSeq = None<'l>;
    type SerializeTuple = None<'l>;
    type SerializeTupleStruct = None<'l>;
    type SerializeTupleVariant = None<'l>;
    type SerializeMap = None<'l>;
    type SerializeStruct = ObjectFields<'l>;
    type SerializeStructVariant = None<'l>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<ObjectFields<'l>, Failure> {
        Ok(ObjectFields {
            layout: self.layout,
            given: SmallVec::from_elem(Given::Unknown, self.layout.slots.len()),
            data: Vec::with_capacity(64),
            next_slot: 0,
        })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<ObjectFields<'l>, Failure> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<ObjectFields<'l>, Failure> {
        value.serialize(self)
    }

    fn serialize_bool(self, _: bool) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a bool")
    }

    fn serialize_i8(self, _: i8) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a number")
    }

    fn serialize_i16(self, _: i16) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a number")
    }

    fn serialize_i32(self, _: i32) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a number")
    }

    fn serialize_i64(self, _: i64) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a number")
    }

    fn serialize_u8(self, _: u8) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a number")
    }

    fn serialize_u16(self, _: u16) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a number")
    }

    fn serialize_u32(self, _: u32) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a number")
    }

    fn serialize_u64(self, _: u64) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a number")
    }

    fn serialize_f32(self, _: f32) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a number")
    }

    fn serialize_f64(self, _: f64) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a number")
    }

    fn serialize_char(self, _: char) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a character")
    }

    fn serialize_str(self, _: &str) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a text")
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("bytes")
    }

    fn serialize_none(self) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("nothing")
    }

    fn serialize_unit(self) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a unit")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("a unit")
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("an enum")
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<ObjectFields<'l>, Failure> {
        self.refuse("an enum")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<None<'l>, Failure> {
        self.refuse("a list")
    }

    fn serialize_tuple(self, _: usize) -> Result<None<'l>, Failure> {
        self.refuse("a tuple")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<None<'l>, Failure> {
        self.refuse("a tuple")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<None<'l>, Failure> {
        self.refuse("an enum")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<None<'l>, Failure> {
        self.refuse("a map, or a struct with a flattened field")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<None<'l>, Failure> {
        self.refuse("an enum")
    }
}
