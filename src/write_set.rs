//! What a transaction wants: the objects it creates, updates and deletes.
//!
//! Schema changes are ordinary writes to catalog objects, so they need no place of their own here.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::object::Oid;

/// What becomes of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// The object is new, with this encoded body.
    Create(Arc<[u8]>),
    /// The object exists in the snapshot and gets this encoded body.
    Update(Arc<[u8]>),
    /// The object exists in the snapshot and goes.
    Delete,
}

impl Write {
    /// The body the object has after this write; `None` if it is gone.
    pub fn body(&self) -> Option<&Arc<[u8]>> {
        match self {
            Write::Create(body) | Write::Update(body) => Some(body),
            Write::Delete => None,
        }
    }
}

/// The writes of one transaction, one an object, in OID order (which keeps extents clustered in the log).
#[derive(Debug, Clone, Default)]
pub struct WriteSet {
    writes: BTreeMap<Oid, Write>,
}

impl WriteSet {
    /// The write of `oid`, if there is one.
    pub fn get(&self, oid: Oid) -> Option<&Write> {
        self.writes.get(&oid)
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The number of objects written.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// All writes in OID order.
    pub fn iter(&self) -> impl Iterator<Item = (Oid, &Write)> {
        self.writes.iter().map(|(oid, write)| (*oid, write))
    }

    /// The writes of objects from `start` up to, not including, `end`, in OID order.
    pub fn range(&self, start: Oid, end: Option<Oid>) -> impl DoubleEndedIterator<Item = (Oid, &Write)> {
        let end = end.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        self.writes
            .range((std::ops::Bound::Included(start), end))
            .map(|(oid, write)| (*oid, write))
    }

    /// Records that `oid` is new.
    pub fn create(&mut self, oid: Oid, body: Arc<[u8]>) {
        self.writes.insert(oid, Write::Create(body));
    }

    /// Records that `oid` has a new body; an object created here stays a creation.
    pub fn update(&mut self, oid: Oid, body: Arc<[u8]>) {
        let created = matches!(self.writes.get(&oid), Some(Write::Create(_)));
        let write = if created {
            Write::Create(body)
        } else {
            Write::Update(body)
        };
        self.writes.insert(oid, write);
    }

    /// Puts back what was recorded of `oid` before; `None`: nothing.
    pub fn restore(&mut self, oid: Oid, before: Option<Write>) {
        match before {
            Some(write) => self.writes.insert(oid, write),
            None => self.writes.remove(&oid),
        };
    }

    /// Records that `oid` goes; an object created here leaves no trace.
    pub fn delete(&mut self, oid: Oid) {
        if matches!(self.writes.get(&oid), Some(Write::Create(_))) {
            self.writes.remove(&oid);
        } else {
            self.writes.insert(oid, Write::Delete);
        }
    }
}
