//! Objects without a Rust type: a class name and attributes by name.

use std::fmt;

use super::value::Value;

/// An object as a class name and values by attribute name.
#[derive(Clone, PartialEq)]
pub struct Object {
    class: String,
    attributes: Vec<(String, Value)>,
}

impl Object {
    /// An object of `class` with no attribute set.
    pub fn new(class: impl Into<String>) -> Object {
        Object {
            class: class.into(),
            attributes: Vec::new(),
        }
    }

    /// Sets one attribute; a second value for one name replaces the first.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Object {
        self.set(name, value);
        self
    }

    /// Sets one attribute; a second value for one name replaces the first.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        match self.attributes.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = value,
            None => self.attributes.push((name, value)),
        }
    }

    /// The value of an attribute; `None` if it was not set.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.attributes
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    /// The class name.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// The attributes that were set, in that order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.attributes.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// `Note(text: 'reread', about: 65#7)`.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.class)?;
        for (position, (name, value)) in self.attributes.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{name}: {value}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
