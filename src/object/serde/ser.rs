//! Rust structs as bodies of records.

use std::ops::Range;

use serde::ser::{Impossible, Serialize, SerializeStruct, Serializer};
use smallvec::SmallVec;

use super::super::codec::{Body, BodyBuilder, append_body, finish, put, refuse_nil, too_large};
use super::super::layout::Layout;
use super::failure::Failure;
use super::value_ser::ValueSerializer;
use crate::error::{Error, Result};

/// The body of `value` as an object of the layout's class. Errors as for [`BodyWriter::encode`].
pub fn to_body<T: Serialize + ?Sized>(value: &T, layout: &Layout) -> Result<Vec<u8>> {
    BodyWriter::default()
        .encode(value, layout, None)
        .map(<[u8]>::to_vec)
}

/// Writes structs as bodies, one after the other, and keeps its buffers for the next.
#[derive(Debug, Default)]
pub struct BodyWriter {
    /// The values as the struct gave them.
    data: Vec<u8>,
    given: SmallVec<[Given; 16]>,
    body: Vec<u8>,
}

impl BodyWriter {
    /// The body of `value` as an object of the layout's class, over the body it had before, if there is one.
    ///
    /// An attribute that `T` does not know keeps its bytes, or takes its default; a field that is skipped
    /// (`skip_serializing_if`) is nil, or the default where the attribute is `not null`. A field without an attribute
    /// is [`Error::Schema`], a value that does not fit is [`Error::Argument`], nil in an attribute that is `not null`
    /// is [`Error::Constraint`] (references: see [`encode_body`](super::super::encode_body)).
    pub fn encode<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        layout: &Layout,
        old: Option<&[u8]>,
    ) -> Result<&[u8]> {
        self.data.clear();
        self.given.clear();
        self.given.resize(layout.slots.len(), Given::Unknown);
        let fields = ObjectFields {
            layout,
            given: &mut self.given,
            data: &mut self.data,
            next_slot: 0,
        };
        value
            .serialize(ObjectSerializer { fields })
            .map_err(|failure| failure.into_error(layout))?;
        match self.ends_in_order(layout)? {
            Some(ends) => {
                self.body.clear();
                append_body(&ends, &self.data, &mut self.body).ok_or_else(|| too_large(layout))?;
            }
            None => self.body = self.assemble(layout, old)?,
        }
        Ok(&self.body)
    }

    /// Where each slot ends in the data, if all slots were given and lie there in their order.
    #[inline]
    fn ends_in_order(&self, layout: &Layout) -> Result<Option<SmallVec<[usize; 16]>>> {
        let mut ends = SmallVec::new();
        let mut end = 0;
        for (slot, given) in layout.slots.iter().zip(&self.given) {
            match given {
                Given::Value(range) if range.start == end => end = range.end,
                Given::Nil => refuse_nil(layout, slot)?,
                Given::Skipped if !slot.not_null => {}
                Given::Unknown if slot.dropped => {}
                _ => return Ok(None),
            }
            ends.push(end);
        }
        Ok((end == self.data.len()).then_some(ends))
    }

    /// The body, slot by slot.
    fn assemble(&self, layout: &Layout, old: Option<&[u8]>) -> Result<Vec<u8>> {
        let old = old.map(Body::new).transpose()?;
        let mut body = BodyBuilder::default();
        for (number, slot) in layout.slots.iter().enumerate() {
            let known = old.map_or(Ok(None), |old| old.slot(number))?;
            match (self.given.get(number), known) {
                _ if slot.dropped => {}
                (Some(Given::Value(range)), _) => {
                    body.data
                        .extend_from_slice(self.data.get(range.clone()).unwrap_or_default());
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
}

/// What a struct said about one slot.
#[derive(Debug, Clone)]
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
    given: &'l mut [Given],
    data: &'l mut Vec<u8>,
    /// The slot after the last one written.
    next_slot: usize,
}

impl ObjectFields<'_> {
    /// The slot of a field; fields mostly come in the order of the slots.
    #[inline]
    fn find(&self, field: &str) -> Result<usize, Failure> {
        match self.layout.slots.get(self.next_slot) {
            Some(slot) if *slot.name == *field && !slot.dropped => Ok(self.next_slot),
            _ => self.search(field),
        }
    }

    #[cold]
    fn search(&self, field: &str) -> Result<usize, Failure> {
        self.layout.slot(field).ok_or_else(|| {
            Failure::from(Error::Schema(format!(
                "class {} has no attribute {field}; define the class again with it, or alter the class",
                self.layout.name
            )))
        })
    }

    #[inline]
    fn set(&mut self, slot: usize, given: Given) {
        if let Some(place) = self.given.get_mut(slot) {
            *place = given;
        }
        self.next_slot = slot + 1;
    }
}

impl SerializeStruct for ObjectFields<'_> {
    type Ok = ();
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
            .serialize(ValueSerializer::new(&slot.r#type, self.data))
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

    fn end(self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A whole object, which only a struct can be.
struct ObjectSerializer<'l> {
    fields: ObjectFields<'l>,
}

impl ObjectSerializer<'_> {
    #[cold]
    fn refuse<T>(self, what: &str) -> Result<T, Failure> {
        let sentence = format!(
            "an object of class {} must be a struct with named fields, not {what}",
            self.fields.layout.name
        );
        Err(Failure::new(sentence))
    }
}

type None = Impossible<(), Failure>;

impl<'l> Serializer for ObjectSerializer<'l> {
    type Ok = ();
    type Error = Failure;
    type SerializeSeq = None;
    type SerializeTuple = None;
    type SerializeTupleStruct = None;
    type SerializeTupleVariant = None;
    type SerializeMap = None;
    type SerializeStruct = ObjectFields<'l>;
    type SerializeStructVariant = None;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<ObjectFields<'l>, Failure> {
        Ok(self.fields)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Failure> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Failure> {
        value.serialize(self)
    }

    fn serialize_bool(self, _: bool) -> Result<(), Failure> {
        self.refuse("a bool")
    }

    fn serialize_i8(self, _: i8) -> Result<(), Failure> {
        self.refuse("a number")
    }

    fn serialize_i16(self, _: i16) -> Result<(), Failure> {
        self.refuse("a number")
    }

    fn serialize_i32(self, _: i32) -> Result<(), Failure> {
        self.refuse("a number")
    }

    fn serialize_i64(self, _: i64) -> Result<(), Failure> {
        self.refuse("a number")
    }

    fn serialize_u8(self, _: u8) -> Result<(), Failure> {
        self.refuse("a number")
    }

    fn serialize_u16(self, _: u16) -> Result<(), Failure> {
        self.refuse("a number")
    }

    fn serialize_u32(self, _: u32) -> Result<(), Failure> {
        self.refuse("a number")
    }

    fn serialize_u64(self, _: u64) -> Result<(), Failure> {
        self.refuse("a number")
    }

    fn serialize_f32(self, _: f32) -> Result<(), Failure> {
        self.refuse("a number")
    }

    fn serialize_f64(self, _: f64) -> Result<(), Failure> {
        self.refuse("a number")
    }

    fn serialize_char(self, _: char) -> Result<(), Failure> {
        self.refuse("a character")
    }

    fn serialize_str(self, _: &str) -> Result<(), Failure> {
        self.refuse("a text")
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Failure> {
        self.refuse("bytes")
    }

    fn serialize_none(self) -> Result<(), Failure> {
        self.refuse("nothing")
    }

    fn serialize_unit(self) -> Result<(), Failure> {
        self.refuse("a unit")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Failure> {
        self.refuse("a unit")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Failure> {
        self.refuse("an enum")
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Failure> {
        self.refuse("an enum")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<None, Failure> {
        self.refuse("a list")
    }

    fn serialize_tuple(self, _: usize) -> Result<None, Failure> {
        self.refuse("a tuple")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<None, Failure> {
        self.refuse("a tuple")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<None, Failure> {
        self.refuse("an enum")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<None, Failure> {
        self.refuse("a map, or a struct with a flattened field")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<None, Failure> {
        self.refuse("an enum")
    }
}
