//! Sets of objects that indexes give, and what is made of several.

use super::expression::Expression;
use super::node::{Access, IndexKey};

/// A set of objects, found through indexes without reading an object.
#[derive(Debug, Clone, PartialEq)]
pub enum ObjectSet {
    /// Those an index has for a range of keys.
    Keys {
        /// The index.
        index: IndexKey,
        /// The keys wanted.
        access: Access,
    },
    /// Those whose path ends in a range of keys: the last index of `steps` is read, and its objects are looked up in
    /// the reference index before it as targets, and so on backwards.
    Path {
        /// The indexes stood on, from the first reference to the attribute at the end.
        steps: Vec<IndexKey>,
        /// The keys wanted of the last.
        access: Access,
    },
    /// Those in all of these.
    And(Vec<ObjectSet>),
    /// Those in any of these.
    Or(Vec<ObjectSet>),
}

impl ObjectSet {
    /// The expressions in it.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            ObjectSet::Keys { access, .. } | ObjectSet::Path { access, .. } => access.expressions(),
            ObjectSet::And(sets) | ObjectSet::Or(sets) => {
                sets.iter().flat_map(ObjectSet::expressions).collect()
            }
        }
    }

    /// The expressions in it.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expression> {
        match self {
            ObjectSet::Keys { access, .. } | ObjectSet::Path { access, .. } => access.expressions_mut(),
            ObjectSet::And(sets) | ObjectSet::Or(sets) => {
                sets.iter_mut().flat_map(ObjectSet::expressions_mut).collect()
            }
        }
    }
}
