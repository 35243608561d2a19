//! Typed references.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use super::oid::Oid;

/// A reference to an object of the class of `T`: its identity, nothing else. `Copy`, `Send` and `Sync` whatever `T`.
///
/// Following one is a visible call (`snapshot.get(reference)`); there is no hidden load.
pub struct Ref<T> {
    oid: Oid,
    target: PhantomData<fn() -> T>,
}

impl<T> Ref<T> {
    /// The reference to `oid`; that the object is of the class of `T` is for the caller to know, and is checked
    /// when it is followed.
    #[inline(always)]
    pub fn from_oid(oid: Oid) -> Ref<T> {
        Ref {
            oid,
            target: PhantomData,
        }
    }

    /// The object's identity.
    #[inline(always)]
    pub fn oid(self) -> Oid {
        self.oid
    }

    /// The same object seen as a `U`, such as a superclass or another Rust type of the same class.
    #[inline(always)]
    pub fn cast<U>(self) -> Ref<U> {
        Ref::from_oid(self.oid)
    }
}

impl<T> Clone for Ref<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<T> {}

impl<T> PartialEq for Ref<T> {
    fn eq(&self, other: &Self) -> bool {
        self.oid == other.oid
    }
}

impl<T> Eq for Ref<T> {}

impl<T> PartialOrd for Ref<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Ref<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.oid.cmp(&other.oid)
    }
}

impl<T> Hash for Ref<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.oid.hash(state);
    }
}

impl<T> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.oid)
    }
}

impl<T> fmt::Display for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.oid)
    }
}

impl<T> From<Ref<T>> for Oid {
    #[inline]
    fn from(reference: Ref<T>) -> Oid {
        reference.oid
    }
}
