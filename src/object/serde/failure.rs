//! The error type of the bridge, as serde wants it.

use std::fmt;

use super::super::layout::Layout;
use crate::error::Error;

/// Why a value could not be read or written.
#[derive(Debug)]
pub(super) enum Failure {
    /// A finished error.
    Error(Box<Error>),
    /// A field that the record has no value for.
    Missing(&'static str),
}

impl Failure {
    /// An argument or value that does not fit.
    #[cold]
    pub fn new(sentence: impl Into<String>) -> Failure {
        Failure::from(Error::Argument(sentence.into()))
    }

    /// Says which attribute it is about.
    #[cold]
    pub fn at(self, layout: &Layout, attribute: &str) -> Failure {
        let place = format!("attribute {}.{attribute}", layout.name);
        match self {
            Failure::Error(error) => match *error {
                Error::Argument(sentence) => Failure::new(format!("{place}: {sentence}")),
                Error::Corruption(damage) => Error::corruption(place, damage.what).into(),
                other => other.into(),
            },
            Failure::Missing(field) => Failure::new(format!("{place}: its field {field} has no value")),
        }
    }

    /// The error for the caller.
    pub fn into_error(self, layout: &Layout) -> Error {
        match self {
            Failure::Error(error) => *error,
            Failure::Missing(field) => Error::Argument(format!(
                "attribute {}.{field} has no value here; make the field an Option, or give it a serde default",
                layout.name
            )),
        }
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Failure {
        Failure::Error(Box::new(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Error(error) => error.fmt(f),
            Failure::Missing(field) => write!(f, "the field {field} has no value"),
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
        Failure::Missing(field)
    }
}

impl serde::ser::Error for Failure {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Failure {
        Failure::new(message.to_string())
    }
}
