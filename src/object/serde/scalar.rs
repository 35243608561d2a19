//! Our own scalars as fields: newtype structs under private names.
//!
//! A format for people (JSON) sees their text, another one the number in them; our own bridge knows the names.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use super::super::oid::Oid;
use super::super::reference::Ref;
use super::super::text;
use super::super::time::{Date, Duration, Time, Timestamp};
use super::super::types::Type;
use super::REFERENCE;

/// A scalar that is a count under a private name.
pub(super) trait Scalar: Sized + fmt::Display + Copy {
    /// The name.
    const MARKER: &'static str;
    /// What it is called in messages.
    const NAME: &'static str;

    fn from_count(count: i64) -> Option<Self>;
    fn count(self) -> i64;
    fn parse(text: &str) -> Result<Self, String>;
}

impl Scalar for Date {
    const MARKER: &'static str = "$olivine::Date";
    const NAME: &'static str = "a date";

    fn from_count(count: i64) -> Option<Date> {
        i32::try_from(count).ok().map(Date).filter(|date| date.is_valid())
    }

    fn count(self) -> i64 {
        i64::from(self.0)
    }

    fn parse(text: &str) -> Result<Date, String> {
        text::parse_date(text)
    }
}

impl Scalar for Time {
    const MARKER: &'static str = "$olivine::Time";
    const NAME: &'static str = "a time of day";

    fn from_count(count: i64) -> Option<Time> {
        Some(Time(count)).filter(|time| time.is_valid())
    }

    fn count(self) -> i64 {
        self.0
    }

    fn parse(text: &str) -> Result<Time, String> {
        text::parse_time(text)
    }
}

impl Scalar for Timestamp {
    const MARKER: &'static str = "$olivine::Timestamp";
    const NAME: &'static str = "a timestamp";

    fn from_count(count: i64) -> Option<Timestamp> {
        Some(Timestamp(count)).filter(|instant| instant.is_valid())
    }

    fn count(self) -> i64 {
        self.0
    }

    fn parse(text: &str) -> Result<Timestamp, String> {
        text::parse_timestamp(text)
    }
}

impl Scalar for Duration {
    const MARKER: &'static str = "$olivine::Duration";
    const NAME: &'static str = "a duration";

    fn from_count(count: i64) -> Option<Duration> {
        Some(Duration(count))
    }

    fn count(self) -> i64 {
        self.0
    }

    fn parse(text: &str) -> Result<Duration, String> {
        text::parse_duration(text)
    }
}

/// The type that a private name stands for; `None` for names that are not ours, and for references.
pub(super) fn marked_type(name: &str) -> Option<&'static Type> {
    Some(match name {
        Date::MARKER => &Type::Date,
        Time::MARKER => &Type::Time,
        Timestamp::MARKER => &Type::Timestamp,
        Duration::MARKER => &Type::Duration,
        _ => return None,
    })
}

fn serialize<T: Scalar, S: Serializer>(value: T, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        serializer.serialize_newtype_struct(T::MARKER, &value.to_string())
    } else {
        serializer.serialize_newtype_struct(T::MARKER, &value.count())
    }
}

fn deserialize<'de, T: Scalar, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let for_people = deserializer.is_human_readable();
    let visitor = ScalarVisitor {
        for_people,
        scalar: PhantomData,
    };
    deserializer.deserialize_newtype_struct(T::MARKER, visitor)
}

struct ScalarVisitor<T> {
    for_people: bool,
    scalar: PhantomData<T>,
}

impl<'de, T: Scalar> Visitor<'de> for ScalarVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::NAME)
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<T, E> {
        T::from_count(count).ok_or_else(|| E::custom(format_args!("{} is out of range", T::NAME)))
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<T, E> {
        self.visit_i64(i64::try_from(count).unwrap_or(i64::MAX))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(E::custom)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, content: D) -> Result<T, D::Error> {
        if self.for_people {
            content.deserialize_str(self)
        } else {
            content.deserialize_i64(self)
        }
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(*self, serializer)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        deserialize(deserializer)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(*self, serializer)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        deserialize(deserializer)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(*self, serializer)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        deserialize(deserializer)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(*self, serializer)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        deserialize(deserializer)
    }
}

/// As the 64 bits of the object's identity.
impl Serialize for Oid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(REFERENCE, &self.to_bits())
    }
}

impl<'de> Deserialize<'de> for Oid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Oid, D::Error> {
        deserializer.deserialize_newtype_struct(REFERENCE, OidVisitor)
    }
}

struct OidVisitor;

impl<'de> Visitor<'de> for OidVisitor {
    type Value = Oid;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a reference")
    }

    fn visit_u64<E: Error>(self, bits: u64) -> Result<Oid, E> {
        Oid::from_bits(bits).ok_or_else(|| E::custom("a reference is not zero"))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, content: D) -> Result<Oid, D::Error> {
        content.deserialize_u64(self)
    }
}

/// As the 64 bits of the object's identity.
impl<T> Serialize for Ref<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.oid().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ref<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ref<T>, D::Error> {
        deserializer.deserialize_newtype_struct(REFERENCE, RefVisitor(PhantomData))
    }
}

struct RefVisitor<T>(PhantomData<fn() -> T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for RefVisitor<T> {
    type Value = Ref<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a reference")
    }

    fn visit_u64<E: Error>(self, bits: u64) -> Result<Ref<T>, E> {
        OidVisitor.visit_u64(bits).map(Ref::from_oid)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, content: D) -> Result<Ref<T>, D::Error> {
        content.deserialize_u64(OidVisitor).map(Ref::from_oid)
    }

    /// Called by our own probe alone, which wants to know the target: shows it the target's type and gives up.
    fn visit_some<D: Deserializer<'de>>(self, probe: D) -> Result<Ref<T>, D::Error> {
        T::deserialize(probe)?;
        Err(D::Error::custom("a reference is no value of its target"))
    }
}
