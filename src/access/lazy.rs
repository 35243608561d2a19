//! The body of an object with derived attributes, put together when somebody asks for one of them.

use std::fmt;
use std::sync::OnceLock;

use serde::Deserialize;

use super::completed_for;
use crate::catalog::Class;
use crate::error::Result;
use crate::object::{Record, RecordBody, field_names};
use crate::read::Reader;

/// Where the members of derived attributes are read from, and the body with them once it was needed.
#[derive(Clone)]
pub struct Lazy<'a> {
    reader: &'a dyn Reader,
    body: OnceLock<RecordBody<'a>>,
}

impl<'a> Lazy<'a> {
    /// Nothing read yet.
    pub fn new(reader: &'a dyn Reader) -> Self {
        Lazy {
            reader,
            body: OnceLock::new(),
        }
    }

    /// What it reads from.
    pub fn reader(&self) -> &'a dyn Reader {
        self.reader
    }

    /// The bytes to read a `T` from: those stored, where it has no field for a derived attribute.
    pub fn body<'s, T: Deserialize<'s>>(&'s self, class: &Class, record: &'s Record<'a>) -> Result<&'s [u8]> {
        if !wants_derived::<T>(class) {
            return Ok(&record.body);
        }
        if let Some(body) = self.body.get() {
            return Ok(body);
        }
        let body = completed_for::<()>(self.reader, class, record)?;
        Ok(self.body.get_or_init(|| body))
    }
}

/// Whether a `T` has a field for a derived attribute of a class.
pub fn wants_derived<'de, T: Deserialize<'de>>(class: &Class) -> bool {
    let fields = field_names::<T>();
    let wanted = |name: &str| fields.is_none_or(|fields| fields.contains(&name));
    let mut derived = class.attributes.iter().filter(|own| own.is_derived());
    derived.any(|own| wanted(&own.name))
}

impl fmt::Debug for Lazy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}
