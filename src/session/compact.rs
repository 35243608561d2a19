//! The statement `compact`.

use super::answer::Outcome;
use super::runner::{Session, state_error};
use crate::error::{Error, Result};
use crate::maintain::CompactOptions;
use crate::query::ast::{Name, Statement};

impl Session {
    /// Compacts the database; a cancelled one keeps what it has moved.
    pub(super) fn compact(&mut self, cluster_by: Option<&[Name]>, statement: &Statement) -> Result<Outcome> {
        if self.in_transaction() {
            let message = "compact does not run inside a transaction, which would keep the space it frees; end it first";
            return Err(state_error(statement, message).into());
        }
        let mut options = CompactOptions::new();
        if let Some(path) = cluster_by {
            options = options.cluster_by_steps(path.iter().map(|step| step.text.as_ref()));
        }
        let report = self.database.compact(&options, &mut |_| self.go_on())?;
        if report.interrupted {
            let sentence = "the compaction was cancelled; what it has moved stays moved, and the next goes on from there";
            return Err(Error::Cancelled(sentence.into()));
        }
        Ok(Outcome::Done(report.to_string()))
    }
}
