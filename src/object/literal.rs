//! Values as text: the literal form of the query language.

use std::fmt;

use super::oid::Oid;
use super::value::Value;

impl Value {
    /// The literal form of this value, with references written by `name` (as `Person#42`).
    pub fn display_with<'a>(&'a self, name: &'a dyn Fn(Oid) -> String) -> impl fmt::Display + 'a {
        todo!();
        #[expect(unreachable_code)]
        ""
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}
