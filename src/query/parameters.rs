//! The values of a statement's parameters.

use std::sync::Arc;

use crate::object::Value;

/// Values for the parameters of a statement: by name (`$name`), made by [`params!`](crate::params), or by position
/// (`$1`), made from a tuple.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    values: Vec<(Arc<str>, Value)>,
}

impl Parameters {
    /// No parameters.
    pub fn new() -> Self {
        Parameters::default()
    }

    /// Adds a parameter; a later value replaces an earlier one of the same name. Names are given without `$`.
    #[must_use]
    pub fn with(mut self, name: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets a parameter.
    pub fn set(&mut self, name: impl Into<Arc<str>>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        match self.values.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = value,
            None => self.values.push((name, value)),
        }
    }

    /// The value of the parameter `name` (without `$`).
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values
            .iter()
            .find(|(known, _)| &**known == name)
            .map(|(_, value)| value)
    }

    /// All parameters, in the order they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(name, value)| (&**name, value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn positional(values: impl IntoIterator<Item = Value>) -> Self {
        let numbered = values
            .into_iter()
            .zip(1usize..)
            .map(|(value, number)| (number.to_string().into(), value));
        Parameters {
            values: numbered.collect(),
        }
    }
}

impl From<()> for Parameters {
    fn from((): ()) -> Self {
        Parameters::new()
    }
}

impl From<&Parameters> for Parameters {
    fn from(parameters: &Parameters) -> Self {
        parameters.clone()
    }
}

impl From<Vec<Value>> for Parameters {
    fn from(values: Vec<Value>) -> Self {
        Parameters::positional(values)
    }
}

impl<A: Into<Value>> From<(A,)> for Parameters {
    fn from((a,): (A,)) -> Self {
        Parameters::positional([a.into()])
    }
}

impl<A: Into<Value>, B: Into<Value>> From<(A, B)> for Parameters {
    fn from((a, b): (A, B)) -> Self {
        Parameters::positional([a.into(), b.into()])
    }
}

impl<A: Into<Value>, B: Into<Value>, C: Into<Value>> From<(A, B, C)> for Parameters {
    fn from((a, b, c): (A, B, C)) -> Self {
        Parameters::positional([a.into(), b.into(), c.into()])
    }
}

impl<A: Into<Value>, B: Into<Value>, C: Into<Value>, D: Into<Value>> From<(A, B, C, D)> for Parameters {
    fn from((a, b, c, d): (A, B, C, D)) -> Self {
        Parameters::positional([a.into(), b.into(), c.into(), d.into()])
    }
}

/// Parameters by name: `params! { name: "Lem", since: 1960 }`.
///
/// ```
/// let parameters = olivine::params! { name: "Lem", since: 1960 };
/// assert_eq!(parameters.get("since"), Some(&olivine::Value::from(1960)));
/// ```
#[macro_export]
macro_rules! params {
    ($($name:ident : $value:expr),* $(,)?) => {
        $crate::Parameters::new()$(.with(stringify!($name), $value))*
    };
}
