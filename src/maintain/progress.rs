//! How far long work has come, and how it is ended early.

use std::ops::ControlFlow;

use crate::error::{Error, Result};

/// How far a check, backup, restore or salvage has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done: a few words.
    pub stage: &'static str,
    /// How much of it is done, in whatever the stage counts: bytes, objects, segments.
    pub done: u64,
    /// How much there is to do; 0 where nobody knows.
    pub total: u64,
}

/// Is told how far long work has come; `Break` ends the work, with nothing half done left behind.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Tells `watch` and obeys it.
pub(super) fn tell(watch: Watch<'_>, stage: &'static str, done: u64, total: u64) -> Result<()> {
    match watch(Progress { stage, done, total }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled(format!("interrupted while {stage}"))),
    }
}
