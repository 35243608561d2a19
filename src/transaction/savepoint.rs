//! Savepoints: places inside a transaction to go back to.

use std::sync::Arc;

use super::handle::Transaction;
use crate::error::{Error, Result};

/// A place in a transaction that has a name.
#[derive(Debug, Clone)]
pub struct Savepoint {
    name: Arc<str>,
    /// Length of the undo log when it was set.
    length: usize,
}

impl Transaction {
    /// Sets a savepoint. One of the same name stays, hidden behind this one until this one is released.
    pub fn savepoint(&mut self, name: impl Into<Arc<str>>) {
        let length = self.overlay_mut().undo_log().hold();
        let name = name.into();
        self.savepoints_mut().push(Savepoint { name, length });
    }

    /// Takes back everything since the savepoint: objects, index entries, claims on unique values, schema and names.
    /// The savepoint stays; those set after it are gone. What was read since still counts as read.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no savepoint of that name.
    pub fn rollback_to(&mut self, name: &str) -> Result<()> {
        let at = self.find_savepoint(name)?;
        let above = at.saturating_add(1);
        let length = self
            .savepoints_mut()
            .get(at)
            .map_or(0, |savepoint| savepoint.length);
        self.overlay_mut().undo_to(length);
        self.drop_savepoints(above);
        Ok(())
    }

    /// Forgets the savepoint and those set after it; what was done since stays.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no savepoint of that name.
    pub fn release(&mut self, name: &str) -> Result<()> {
        let at = self.find_savepoint(name)?;
        self.drop_savepoints(at);
        Ok(())
    }

    /// Runs `work`; if it fails, the transaction is as it was before.
    pub(crate) fn atomically<R>(&mut self, work: impl FnOnce(&mut Transaction) -> Result<R>) -> Result<R> {
        let length = self.overlay_mut().undo_log().hold();
        let savepoints = self.savepoints_mut().len();
        let outcome = work(self);
        if outcome.is_err() {
            self.overlay_mut().undo_to(length);
            self.drop_savepoints(savepoints);
        }
        self.overlay_mut().undo_log().release();
        outcome
    }

    fn find_savepoint(&mut self, name: &str) -> Result<usize> {
        let found = self
            .savepoints_mut()
            .iter()
            .rposition(|savepoint| *savepoint.name == *name);
        found.ok_or_else(|| Error::Argument(format!("there is no savepoint {name} in this transaction")))
    }

    fn drop_savepoints(&mut self, from: usize) {
        let savepoints = self.savepoints_mut();
        let dropped = savepoints.len().saturating_sub(from);
        savepoints.truncate(from);
        for _ in 0..dropped {
            self.overlay_mut().undo_log().release();
        }
    }
}
