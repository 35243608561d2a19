//! The body of a record: the attributes of one object as bytes.
//!
//! # Body
//!
//! ```text
//! header | offset table | value | value | ...
//! ```
//!
//! The first byte of the header has the width of the offsets in its low two bits (0: u8, 1: u16, 2: u32) and the
//! number of slots in its high six; 63 there means that the number follows as a u16. The offset table has the end of
//! each slot's value, counted from the end of the table; u8 where all values together are under 256 bytes, else u16,
//! else u32. An empty slot is nil. A slot past the number is not there at all: the attribute is younger than the
//! record, and has the default of its class. Everything is little-endian.
//!
//! # Values
//!
//! In postcard's encoding: bool one byte; int, date, time, timestamp and duration as zigzag varints; float 8 bytes;
//! string and bytes a varint length and the bytes; decimal and uuid 16 bytes. A reference is 8 bytes. So nothing but
//! nil is empty.
//!
//! A list, set, bag or map is the varint of `number << 1 | has_nil`, where some are nil a bitmap of those (a map has
//! two bits an entry: key, value), and then all that are not nil. Sets and bags are sorted, maps by key. A struct is
//! the bitmap (at least one byte) and the fields that are not nil.
//!
//! A value of type `any`, and every member below it, has a tag byte in front. A struct there is the varint of
//! `number << 1 | has_nil`, the bitmap, and each field's name before its value (nil fields have only the name).
//!
//! # Reading
//!
//! Nothing is decoded until it is asked for: a slot is found by its offset, a collection is handed out as its bytes
//! and decoded while it is walked over. Bytes that do not make sense are an error, whatever they are.

mod body;
mod conversion;
mod decode;
mod encode;
mod slots;
#[cfg(test)]
mod tests;
mod varint;

pub use body::{Body, Near, Stored};
pub(crate) use body::{BodyBuilder, append_body};
pub use conversion::converted;
pub use decode::decode;
pub(crate) use decode::{
    ANY, Header, is_set, kind_of, stored_entries, stored_fields, stored_members, stored_references, take,
    take_text, text,
};
pub(crate) use encode::{Tag, put, put_bitmap, put_bytes, put_decimal, put_header, put_int};
pub use slots::{
    check_not_null, decode_bool, decode_float, decode_int, decode_reference, decode_string, encode_body,
    read_all, read_slot, read_value, references, references_in_slots, rewrite,
};
pub(crate) use slots::{finish, refuse_nil, too_large};

/// How deeply collections may nest within one value.
pub const MAX_DEPTH: usize = 100;
