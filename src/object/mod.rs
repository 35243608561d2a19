//! Objects: identity, values and their one total order, and how both are written as bytes.

#[cfg(test)]
pub(crate) mod arbitrary_tests;
pub mod codec;
mod coerce;
mod convert;
mod dynamic;
mod field_plan;
mod from;
mod layout;
mod literal;
mod members;
mod number;
mod oid;
mod order;
mod record;
mod reference;
pub mod serde;
mod slot_set;
pub mod text;
mod time;
mod types;
mod value;
mod value_ref;

pub use self::serde::{
    BodyWriter, Field, Shape, class_name, field_names, from_plain, from_record, from_row, from_slot, probe,
    serialized_name, to_body,
};
pub use codec::{
    Body, check_not_null, decode, decode_bool, decode_float, decode_int, decode_reference, decode_string,
    encode_body, read_all, read_slot, references, rewrite,
};
pub use coerce::coerce;
pub use convert::convert;
pub use dynamic::Object;
pub use layout::{Layout, Slot};
pub use members::{Entries, Fields, Members};
pub(crate) use number::{Exact, floor_float, power_of_ten};
pub use oid::{ClassId, CommitNumber, MAX_CLASS, MAX_SERIAL, Oid, SERIAL_BITS};
pub use record::{Record, RecordBody};
pub use reference::Ref;
pub use slot_set::SlotSet;
pub use time::{Date, Duration, Time, Timestamp};
pub use types::Type;
pub use value::Value;
pub use value_ref::{Kind, ValueRef};

pub use rust_decimal::Decimal;
pub use uuid::Uuid;
