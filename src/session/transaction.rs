//! `begin`, `commit`, `rollback` and savepoints.

use super::answer::Outcome;
use super::runner::{Open, Session, state_error};
use crate::commit::{Durability, Isolation};
use crate::error::{QueryError, QueryErrorCode, Result};
use crate::query::ast::{Begin, Durability as AstDurability, Isolation as AstIsolation, Name, Statement};
use crate::transaction::{Transaction, TransactionOptions};

impl Session {
    pub(super) fn begin(&mut self, begin: &Begin, statement: &Statement) -> Result<Outcome> {
        if self.in_transaction() {
            let message = "a transaction is open already; end it with commit or rollback first";
            return Err(state_error(statement, message).into());
        }
        if begin.read_only {
            self.open = Open::Reading(self.database.snapshot());
            return Ok(Outcome::Done("transaction begun, read only".into()));
        }
        let isolation = match begin.isolation {
            Some(AstIsolation::Snapshot) => Isolation::Snapshot,
            Some(AstIsolation::Serializable) | None => Isolation::Serializable,
        };
        let durability = begin.durability.map(|durability| match durability {
            AstDurability::Sync => Durability::Sync,
            AstDurability::Buffer => Durability::Buffer,
        });
        let options = TransactionOptions {
            isolation,
            durability,
            label: None,
        };
        self.open = Open::Transaction(Box::new(self.database.begin_with(options)?));
        Ok(Outcome::Done("transaction begun".into()))
    }

    pub(super) fn commit(&mut self, statement: &Statement) -> Result<Outcome> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Transaction(transaction) => {
                let number = transaction.commit()?;
                Ok(Outcome::Done(format!("committed as {number}")))
            }
            Open::Reading(_) => Ok(Outcome::Done("transaction ended".into())),
            Open::Nothing => Err(state_error(statement, NOTHING_OPEN).into()),
        }
    }

    pub(super) fn rollback(&mut self, statement: &Statement) -> Result<Outcome> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => Err(state_error(statement, NOTHING_OPEN).into()),
            _ => Ok(Outcome::Done("rolled back".into())),
        }
    }

    pub(super) fn savepoint(&mut self, name: &Name) -> Result<Outcome> {
        let transaction = self.open_transaction(name)?;
        transaction.savepoint(name.text.clone());
        Ok(Outcome::Done(format!("savepoint {} set", name.text)))
    }

    pub(super) fn rollback_to(&mut self, name: &Name) -> Result<Outcome> {
        let transaction = self.open_transaction(name)?;
        match transaction.rollback_to(&name.text) {
            Ok(()) => Ok(Outcome::Done(format!("rolled back to {}", name.text))),
            Err(_) => Err(no_savepoint(name).into()),
        }
    }

    pub(super) fn release(&mut self, name: &Name) -> Result<Outcome> {
        let transaction = self.open_transaction(name)?;
        match transaction.release(&name.text) {
            Ok(()) => Ok(Outcome::Done(format!("savepoint {} released", name.text))),
            Err(_) => Err(no_savepoint(name).into()),
        }
    }

    fn open_transaction(&mut self, name: &Name) -> Result<&mut Transaction> {
        let message = match &mut self.open {
            Open::Transaction(transaction) => return Ok(transaction),
            Open::Reading(_) => {
                "a transaction that only reads has no savepoints: there is nothing to take back"
            }
            Open::Nothing => NOTHING_OPEN,
        };
        Err(QueryError::new(QueryErrorCode::TransactionState, name.span, message).into())
    }
}

fn no_savepoint(name: &Name) -> QueryError {
    let message = format!("there is no savepoint {} in this transaction", name.text);
    QueryError::new(QueryErrorCode::TransactionState, name.span, message)
}

const NOTHING_OPEN: &str = "no transaction is open; begin one first";
