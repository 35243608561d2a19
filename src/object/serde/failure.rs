//! The error type of the bridge, as serde wants it.

use std::fmt;

use super::super::layout::Layout;
use crate::error::Error;

/// Why a value could not be read or written; one word, so that a result with a small value is handed on in registers.
#[derive(Debug)]
pub(super) struct Failure(Option<Box<Reason>>);

#[derive(Debug)]
pub(super) enum Reason {
    /// A finished error.
    Error(Error),
    /// A field that the record has no value for.
    Missing(&'static str),
}

impl Failure {
    /// Another way must be tried; says nothing, costs nothing.
    pub const UNSUITABLE: Failure = Failure(None);

    /// What it is.
    pub fn reason(self) -> Reason {
        match self.0 {
            Some(reason) => *reason,
            None => Reason::Error(Error::Argument("the value cannot be read so".into())),
        }
    }

    /// An argument or value that does not fit.
    #[cold]
    pub fn new(sentence: impl Into<String>) -> Failure {
        Failure::from(Error::Argument(sentence.into()))
    }

    /// Says which attribute it is about.
    #[cold]
    pub fn at(self, layout: &Layout, attribute: &str) -> Failure {
        let place = format!("attribute {}.{attribute}", layout.name);
        match self.reason() {
            Reason::Error(error) => match error {
                Error::Argument(sentence) => Failure::new(format!("{place}: {sentence}")),
                Error::Corruption(damage) => Error::corruption(place, damage.what).into(),
                other => other.into(),
            },
            Reason::Missing(field) => Failure::new(format!("{place}: its field {field} has no value")),
        }
    }

    /// The error for the caller.
    pub fn into_error(self, layout: &Layout) -> Error {
        match self.reason() {
            Reason::Error(error) => error,
            Reason::Missing(field) => Error::Argument(format!(
                "attribute {}.{field} has no value here; make the field an Option, or give it a serde default",
                layout.name
            )),
        }
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Failure {
        Failure(Some(Box::new(Reason::Error(error))))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_deref() {
            Some(Reason::Error(error)) => error.fmt(f),
            Some(Reason::Missing(field)) => write!(f, "the field {field} has no value"),
            None => f.write_str("the value cannot be read so"),
        }
    }
}

impl std::error::Error for Failure {}

impl serde::de::Error for Failure {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Failure {
        Failure::new(message.to_string())
    }

    #[cold]
    fn missing_field(field: &'static str) -> Failure {
        Failure(Some(Box::new(Reason::Missing(field))))
    }
}

impl serde::ser::Error for Failure {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Failure {
        Failure::new(message.to_string())
    }
}
