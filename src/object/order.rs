//! The one total order of values.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::value::Value;
use super::value_ref::ValueRef;

impl ValueRef<'_> {
    /// Where `self` stands to `other` in the one total order: the order of sorting, grouping, `distinct` and indexes.
    pub fn compare(self, other: ValueRef<'_>) -> Ordering {
        todo!()
    }

    /// What the comparison operators say: `None` (unknown) with nil, with NaN, and between types that cannot be
    /// compared.
    pub fn compare_operator(self, other: ValueRef<'_>) -> Option<Ordering> {
        todo!()
    }

    /// Feeds a hash that agrees with [`ValueRef::compare`]: equal values hash alike.
    pub fn hash_into<H: Hasher>(self, state: &mut H) {
        todo!()
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        self.as_ref().compare(other.as_ref())
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash_into(state);
    }
}
