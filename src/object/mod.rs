//! Objects: identity, values and their one total order, and how both are written as bytes.

mod layout;
mod oid;
mod record;
mod types;
mod value;

pub use layout::{Layout, Slot};
pub use oid::{ClassId, CommitNumber, MAX_CLASS, MAX_SERIAL, Oid, SERIAL_BITS};
pub use record::Record;
pub use types::Type;
pub use value::{Date, Duration, Time, Timestamp, Value, ValueRef};
