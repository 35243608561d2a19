//! The bridge to serde: a Rust struct is a class, its fields are attributes.
//!
//! * [`probe`] learns a class from a Rust type alone, without a value.
//! * [`BodyWriter`] writes a struct as the body of a record, [`from_record`] reads one straight from
//!   the bytes of a record, both by the names of the fields. Serde's attributes (`rename`, `default`, `skip`,
//!   `skip_serializing_if`, `transparent`, `with`) mean what they always mean.
//!
//! # How types correspond
//!
//! | Rust | attribute |
//! | --- | --- |
//! | `bool`; integers; `f32`, `f64` | `bool`; `int`; `float` |
//! | `String`, `&str`, `char` | `string` |
//! | `Decimal`, `Uuid`; the types of this crate for dates and times | the same |
//! | `jiff`'s `civil::Date`, `civil::Time`, `Timestamp`, `SignedDuration` | `date`, `time`, `timestamp`, `duration` |
//! | [`Ref<T>`](super::Ref) | a reference to the class of `T` |
//! | [`Oid`](super::Oid) | `any` |
//! | `Option<T>` | as `T`, nil for `None` |
//! | `BTreeSet<T>`, `HashSet<T>` | `set<T>` |
//! | `Vec<T>`, slices, arrays, tuples of one type, other sequences | `list<T>`, which serde does not tell apart |
//! | other tuples | `list<any>` |
//! | maps | `map<K, V>` |
//! | a struct | `struct(...)`, embedded |
//! | an enum | `any`: a unit variant is its name as a string, another a struct with one field, the variant's name |
//! | what asks for bytes (such as `serde_bytes`) | `bytes` |
//!
//! An attribute declared as `set<T>` or `bag<T>` takes and gives the same Rust types as a list, sorted; one declared
//! as a date, time, instant, decimal or uuid takes and gives text to a type that asks for text. Nil in a field that
//! is no `Option` counts as absent, so its serde default applies.
//!
//! Refused, because they would not come back as they were: `flatten`, unit and empty structs, `Option<Option<T>>`,
//! structs that contain themselves without a `Ref`, and anything but a struct as a class.

mod attribute;
mod collect;
mod de;
mod dummy;
mod failure;
mod name;
mod position;
mod probe;
mod row;
mod scalar;
mod ser;
mod stored_de;
#[cfg(test)]
mod tests;
mod value_de;
mod value_ser;

pub use attribute::from_slot;
pub use de::{from_plain, from_record};
pub use name::serialized_name;
pub use probe::{Field, Shape, class_name, field_names, probe};
pub use row::from_row;
pub use ser::{BodyWriter, to_body};

/// The name under which a reference is a newtype struct; only this bridge knows it, other formats see a number.
pub(crate) const REFERENCE: &str = "$olivine::Reference";
