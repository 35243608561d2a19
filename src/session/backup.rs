//! The statement `backup to`.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use super::answer::Outcome;
use super::runner::{Session, state_error};
use crate::error::{QueryError, QueryErrorCode, Result};
use crate::object::Value;
use crate::query::Parameters;
use crate::query::ast::{Expr, Statement};

impl Session {
    /// Backs the database up; a cancelled backup leaves what stood in the directory before.
    pub(super) fn backup(
        &mut self,
        path: &Expr,
        statement: &Statement,
        parameters: &Parameters,
    ) -> Result<Outcome> {
        if self.in_transaction() {
            let message =
                "a backup has what is committed, and not what this transaction has changed; end it first";
            return Err(state_error(statement, message).into());
        }
        let Value::String(directory) = self.constant(path, parameters)? else {
            let message = "the place of a backup is a path, as a string";
            return Err(QueryError::new(QueryErrorCode::InvalidValue, path.span, message).into());
        };
        let report = self
            .database
            .backup_watched(directory.as_ref(), false, &mut |_| self.go_on())?;
        Ok(Outcome::Done(report.to_string()))
    }

    /// What a long work of this session is told: to go on, until the cancel handle says otherwise.
    pub(super) fn go_on(&self) -> ControlFlow<()> {
        match self.cancel.load(Ordering::Acquire) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
