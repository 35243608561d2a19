//! Rust values as the encoded values of attributes, by the attribute's type.

use rust_decimal::Decimal;
use serde::ser::{Serialize, Serializer};

use super::super::codec::{MAX_DEPTH, Tag, put_bytes, put_decimal, put_int};
use super::super::number;
use super::super::oid::Oid;
use super::super::text;
use super::super::types::Type;
use super::REFERENCE;
use super::collect::{Collector, Nested};
use super::failure::Failure;
use super::scalar::{Scalar, marked_type};
use crate::error::Result;
use crate::object::{Date, Duration, Time, Timestamp};

/// Appends one value of a type to a buffer; answers whether it did: nil appends nothing.
pub(super) struct ValueSerializer<'s> {
    r#type: &'s Type,
    out: &'s mut Vec<u8>,
    depth: usize,
    /// The type a private name says the value has, whatever it looks like.
    marked: Option<&'s Type>,
}

impl<'s> ValueSerializer<'s> {
    pub fn new(r#type: &'s Type, out: &'s mut Vec<u8>) -> ValueSerializer<'s> {
        ValueSerializer {
            r#type,
            out,
            depth: 0,
            marked: None,
        }
    }

    /// A value within this one.
    pub fn below<'b>(r#type: &'b Type, out: &'b mut Vec<u8>, depth: usize) -> ValueSerializer<'b> {
        ValueSerializer {
            r#type,
            out,
            depth: depth + 1,
            marked: None,
        }
    }

    #[cold]
    fn mismatch<T>(&self, found: &str) -> Result<T, Failure> {
        Err(Failure::new(format!("expected {}, found {found}", self.r#type)))
    }

    /// Appends the tag where the type is `any`.
    fn tag(&mut self, tag: Tag) {
        if matches!(self.r#type, Type::Any) {
            self.out.push(tag as u8);
        }
    }

    fn int(mut self, value: i64) -> Result<bool, Failure> {
        if let Some(marked) = self.marked {
            return self.count(marked, value);
        }
        match self.r#type {
            Type::Int | Type::Any => {
                self.tag(Tag::Int);
                put_int(value, self.out);
            }
            Type::Float => {
                let float = number::int_to_float(value);
                if number::float_to_int(float) != Some(value) {
                    return Err(Failure::new(format!("the int {value} has no exact float")));
                }
                self.out.extend_from_slice(&float.to_le_bytes());
            }
            Type::Decimal => put_decimal(Decimal::from(value), self.out),
            _ => return self.mismatch("an int"),
        }
        Ok(true)
    }

    /// A date, time, instant or duration by its count.
    fn count(mut self, marked: &Type, count: i64) -> Result<bool, Failure> {
        let (tag, valid) = match marked {
            Type::Date => (Tag::Date, Date::from_count(count).is_some()),
            Type::Time => (Tag::Time, Time::from_count(count).is_some()),
            Type::Timestamp => (Tag::Timestamp, Timestamp::from_count(count).is_some()),
            _ => (Tag::Duration, Duration::from_count(count).is_some()),
        };
        if !valid {
            return Err(Failure::new(format!("the {marked} is out of range")));
        }
        if self.r#type != marked && *self.r#type != Type::Any {
            return self.mismatch(&format!("a {marked}"));
        }
        self.tag(tag);
        put_int(count, self.out);
        Ok(true)
    }

    /// Text where the attribute holds something that has a form as text.
    fn scalar_text(self, r#type: &'s Type, value: &str) -> Result<bool, Failure> {
        let count = match r#type {
            Type::Date => text::parse_date(value).map(Scalar::count),
            Type::Time => text::parse_time(value).map(Scalar::count),
            Type::Timestamp => text::parse_timestamp(value).map(Scalar::count),
            Type::Duration => text::parse_duration(value).map(Scalar::count),
            Type::Decimal => {
                put_decimal(text::parse_decimal(value).map_err(Failure::new)?, self.out);
                return Ok(true);
            }
            Type::Uuid => {
                let uuid = text::parse_uuid(value).map_err(Failure::new)?;
                self.out.extend_from_slice(uuid.as_bytes());
                return Ok(true);
            }
            _ => return self.mismatch("a string"),
        };
        let count = count.map_err(Failure::new)?;
        self.count(r#type, count)
    }

    /// The 64 bits of a reference.
    fn reference(mut self, bits: u64) -> Result<bool, Failure> {
        let Some(oid) = Oid::from_bits(bits) else {
            return Err(Failure::new("a reference is zero"));
        };
        match self.r#type {
            Type::Reference(_) | Type::Any => {
                self.tag(Tag::Reference);
                self.out.extend_from_slice(&oid.to_bits().to_le_bytes());
                Ok(true)
            }
            _ => self.mismatch("a reference"),
        }
    }

    fn is_reference(&self) -> bool {
        matches!(self.marked, Some(Type::Reference(_)))
    }

    /// Begins a list, map or struct.
    fn collect(self, kind: Tag) -> Result<Collector<'s>, Failure> {
        if self.depth >= MAX_DEPTH {
            return Err(Failure::new(format!("a value nests more than {MAX_DEPTH} deep")));
        }
        let (r#type, name) = (self.r#type, kind.kind().name());
        Collector::open(r#type, kind, self.out, self.depth)
            .ok_or_else(|| Failure::new(format!("expected {type}, found a {name}")))
    }

    /// Begins a variant with content: a struct with one field, where any value may stand.
    fn variant(self, name: &'static str) -> Result<Collector<'s>, Failure> {
        match self.r#type {
            Type::Any => self.collect(Tag::Struct),
            _ => self.mismatch(&format!("the enum variant {name}")),
        }
    }
}

/// A type that says: this is a reference.
static MARKED_REFERENCE: std::sync::LazyLock<Type> = std::sync::LazyLock::new(|| Type::reference(""));

impl<'s> Serializer for ValueSerializer<'s> {
    type Ok = bool;
    type Error = Failure;
    type SerializeSeq = Collector<'s>;
    type SerializeTuple = Collector<'s>;
    type SerializeTupleStruct = Collector<'s>;
    type SerializeTupleVariant = Nested<'s>;
    type SerializeMap = Collector<'s>;
    type SerializeStruct = Collector<'s>;
    type SerializeStructVariant = Nested<'s>;

    fn serialize_bool(mut self, value: bool) -> Result<bool, Failure> {
        if !matches!(self.r#type, Type::Bool | Type::Any) {
            return self.mismatch("a bool");
        }
        self.tag(Tag::Bool);
        self.out.push(u8::from(value));
        Ok(true)
    }

    fn serialize_i8(self, value: i8) -> Result<bool, Failure> {
        self.int(i64::from(value))
    }

    fn serialize_i16(self, value: i16) -> Result<bool, Failure> {
        self.int(i64::from(value))
    }

    fn serialize_i32(self, value: i32) -> Result<bool, Failure> {
        self.int(i64::from(value))
    }

    fn serialize_i64(self, value: i64) -> Result<bool, Failure> {
        self.int(value)
    }

    fn serialize_i128(self, value: i128) -> Result<bool, Failure> {
        match i64::try_from(value) {
            Ok(value) => self.int(value),
            Err(_) => Err(Failure::new(format!("{value} is out of the range of int"))),
        }
    }

    fn serialize_u8(self, value: u8) -> Result<bool, Failure> {
        self.int(i64::from(value))
    }

    fn serialize_u16(self, value: u16) -> Result<bool, Failure> {
        self.int(i64::from(value))
    }

    fn serialize_u32(self, value: u32) -> Result<bool, Failure> {
        self.int(i64::from(value))
    }

    fn serialize_u64(self, value: u64) -> Result<bool, Failure> {
        if self.is_reference() {
            return self.reference(value);
        }
        self.serialize_i128(i128::from(value))
    }

    fn serialize_u128(self, value: u128) -> Result<bool, Failure> {
        match i64::try_from(value) {
            Ok(value) => self.int(value),
            Err(_) => Err(Failure::new(format!("{value} is out of the range of int"))),
        }
    }

    fn serialize_f32(self, value: f32) -> Result<bool, Failure> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(mut self, value: f64) -> Result<bool, Failure> {
        if !matches!(self.r#type, Type::Float | Type::Any) {
            return self.mismatch("a float");
        }
        self.tag(Tag::Float);
        self.out.extend_from_slice(&value.to_le_bytes());
        Ok(true)
    }

    fn serialize_char(self, value: char) -> Result<bool, Failure> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(mut self, value: &str) -> Result<bool, Failure> {
        match (self.marked, self.r#type) {
            (Some(marked), _) => self.scalar_text(marked, value),
            (None, Type::String | Type::Any) => {
                self.tag(Tag::String);
                put_bytes(value.as_bytes(), self.out);
                Ok(true)
            }
            (None, r#type) => self.scalar_text(r#type, value),
        }
    }

    fn serialize_bytes(mut self, value: &[u8]) -> Result<bool, Failure> {
        match self.r#type {
            Type::Uuid if value.len() == 16 => self.out.extend_from_slice(value),
            Type::Bytes | Type::Any => {
                self.tag(Tag::Bytes);
                put_bytes(value, self.out);
            }
            _ => return self.mismatch("bytes"),
        }
        Ok(true)
    }

    fn serialize_none(self) -> Result<bool, Failure> {
        Ok(false)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<bool, Failure> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<bool, Failure> {
        Ok(false)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<bool, Failure> {
        Ok(false)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<bool, Failure> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        mut self,
        name: &'static str,
        value: &T,
    ) -> Result<bool, Failure> {
        if name == REFERENCE {
            self.marked = Some(&MARKED_REFERENCE);
        } else if let Some(marked) = marked_type(name) {
            self.marked = Some(marked);
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<bool, Failure> {
        let mut collector = self.variant(variant)?;
        collector.field(variant, value)?;
        collector.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Collector<'s>, Failure> {
        self.collect(Tag::List)
    }

    fn serialize_tuple(self, _: usize) -> Result<Collector<'s>, Failure> {
        self.collect(Tag::List)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Collector<'s>, Failure> {
        self.collect(Tag::List)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Nested<'s>, Failure> {
        self.variant(variant)?.variant(variant, Tag::List)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Collector<'s>, Failure> {
        self.collect(Tag::Map)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Collector<'s>, Failure> {
        self.collect(Tag::Struct)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Nested<'s>, Failure> {
        self.variant(variant)?.variant(variant, Tag::Struct)
    }

    /// Types that have a form for programs and one for people give the latter, so that a query sees text; but where
    /// the attribute's type is one of these, the value itself is quicker.
    fn is_human_readable(&self) -> bool {
        !matches!(
            self.r#type,
            Type::Uuid | Type::Date | Type::Time | Type::Timestamp | Type::Duration
        )
    }
}
