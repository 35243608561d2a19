//! What takes changes of a transaction back: savepoints, and statements that fail half-way.

use std::sync::Arc;

use super::overlay::{EntryChange, EntryChanges};
use crate::catalog::{Catalog, IndexId};
use crate::index::IndexKey;
use crate::object::Oid;
use crate::write_set::Kept;

/// How to take back one change of an overlay.
#[derive(Debug, Clone)]
pub enum Undo {
    /// The write of an object there was before.
    Write(Oid, Option<Kept>),
    /// The change of an index entry there was before.
    Entry(IndexId, (IndexKey, Oid), Option<EntryChange>),
    /// The changes there were to an index that was dropped.
    Index(IndexId, EntryChanges),
    /// The catalog before; indexes it does not have lose their entries.
    Catalog(Arc<Catalog>),
}

/// Changes in the order they were made, kept only while somebody may want to go back.
#[derive(Debug, Clone, Default)]
pub struct UndoLog {
    changes: Vec<Undo>,
    /// How many savepoints and statements may go back.
    holders: usize,
}

impl UndoLog {
    /// Whether changes are kept.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.holders > 0
    }

    /// Keeps a change, if any are kept.
    pub fn push(&mut self, undo: Undo) {
        if self.is_on() {
            self.changes.push(undo);
        }
    }

    /// Keeps changes from now on; gives the length to go back to.
    pub fn hold(&mut self) -> usize {
        self.holders = self.holders.saturating_add(1);
        self.changes.len()
    }

    /// Ends one [`UndoLog::hold`]; with the last one all is let go.
    pub fn release(&mut self) {
        self.holders = self.holders.saturating_sub(1);
        if self.holders == 0 {
            self.changes = Vec::new();
        }
    }

    /// Takes off the newest change, if there are more than `length`.
    pub fn pop_above(&mut self, length: usize) -> Option<Undo> {
        if self.changes.len() > length {
            self.changes.pop()
        } else {
            None
        }
    }
}
