//! Inserts, updates and deletes: everything is worked out over the old state before the first object is changed, so a
//! statement that fails changes nothing.

use std::sync::Arc;

use super::answer::{Answer, Outcome};
use super::runner::Session;
use crate::error::{Error, Result};
use crate::object::codec::encode_body;
use crate::object::{Oid, SlotSet, Value};
use crate::query::ast::{Statement, StatementKind};
use crate::query::plan::{Change, Delete, Insert, Returning, Statement as Bound, Update};
use crate::query::{Engine, Parameters, Run};
use crate::read::Reader;
use crate::transaction::Transaction;

impl Session {
    /// Runs an insert, update or delete.
    pub(super) fn change(&mut self, statement: &Statement, parameters: &Parameters) -> Result<Changed> {
        let run = self.run_options();
        let mut left = if self.in_transaction() { 0 } else { CONFLICT_TRIES };
        loop {
            let changed = self.change_under(statement, parameters, &run);
            match changed {
                // Somebody else has just inserted what was not there before: now it is.
                Err(Error::Constraint(_)) if left > 0 && expects_conflicts(statement) => left -= 1,
                changed => return changed.map(|(changed, _)| changed),
            }
        }
    }

    /// Runs an insert, update or delete under a run of its own; the plan it had is returned as well.
    pub(super) fn change_under(
        &mut self,
        statement: &Statement,
        parameters: &Parameters,
        run: &Run,
    ) -> Result<(Changed, Arc<Bound>)> {
        let engine = self.database.instance().engine().clone();
        self.write(|transaction| {
            let prepared = engine.prepare(
                statement,
                transaction.reader().as_ref(),
                parameters,
                &run.settings,
            )?;
            let changing = Changing {
                engine: &engine,
                statement: &prepared,
                parameters,
                run: run.clone(),
            };
            let changed = match &prepared.change {
                Change::Insert(insert) => changing.insert(insert, transaction),
                Change::Update(update) => changing.update(update, transaction),
                Change::Delete(delete) => changing.delete(delete, transaction),
                Change::Query(_) => Err(Error::Argument("a query changes nothing".into())),
            };
            Ok((changed?, prepared))
        })
    }
}

/// How often an insert with `on conflict` is run again where others insert the same at the same time.
const CONFLICT_TRIES: u32 = 10;

fn expects_conflicts(statement: &Statement) -> bool {
    matches!(&statement.kind, StatementKind::Insert(insert) if insert.on_conflict.is_some())
}

/// What a change came to.
pub(super) struct Changed {
    /// What is said of it.
    pub outcome: Outcome,
    /// The objects that were changed, in the order of the statement.
    pub objects: Vec<Oid>,
}

impl Changed {
    fn new(verb: &'static str, objects: Vec<Oid>, returning: Option<Answer>) -> Changed {
        let outcome = Outcome::Changed {
            verb,
            affected: objects.len() as u64,
            returning,
        };
        Changed { outcome, objects }
    }
}

/// A change being run.
pub(super) struct Changing<'a> {
    pub(super) engine: &'a Engine,
    pub(super) statement: &'a Arc<Bound>,
    pub(super) parameters: &'a Parameters,
    pub(super) run: Run,
}

impl Changing<'_> {
    fn insert(&self, insert: &Insert, transaction: &mut Transaction) -> Result<Changed> {
        let reader = transaction.reader();
        let rows =
            self.engine
                .insert_rows(self.statement, insert, reader.clone(), self.parameters, &self.run)?;
        let class = reader.catalog().class_by_id(insert.class)?.clone();
        let defaults: Vec<Value> = class
            .layout
            .slots
            .iter()
            .map(|slot| slot.default.clone())
            .collect();
        let mut objects = Vec::with_capacity(rows.len());
        for row in rows {
            let mut values = defaults.clone();
            for (slot, value) in insert.slots.iter().zip(row) {
                if let Some(place) = values.get_mut(*slot) {
                    *place = value;
                }
            }
            reader
                .catalog()
                .check_references_of(&class, values.iter().enumerate())?;
            objects.push(values);
        }
        drop(reader);
        let mut oids = Vec::with_capacity(objects.len());
        if let Some(conflict) = &insert.on_conflict {
            self.insert_or_update((&class, insert, conflict), objects, transaction, &mut oids)?;
        } else {
            let bodies: Vec<Vec<u8>> = objects
                .iter()
                .map(|values| encode_body(&class.layout, values))
                .collect::<Result<_>>()?;
            for body in bodies {
                oids.push(transaction.insert_body(&class, body)?);
            }
        }
        let returning = self.returning(insert.returning.as_ref(), &oids, transaction)?;
        Ok(Changed::new("inserted", oids, returning))
    }

    fn update(&self, update: &Update, transaction: &mut Transaction) -> Result<Changed> {
        let reader = transaction.reader_of(update.reads(transaction.overlay().catalog()));
        let rows =
            self.engine
                .update_rows(self.statement, update, reader.clone(), self.parameters, &self.run)?;
        let mut bodies = Vec::with_capacity(rows.len());
        for (oid, values) in rows {
            let mut changes = Vec::with_capacity(values.len());
            for (assignment, value) in update.assignments.iter().zip(values) {
                if let Some(slot) = assignment.slots.slot(oid.class()) {
                    changes.push((slot, value));
                }
            }
            let assigned: SlotSet = changes.iter().map(|(slot, _)| *slot).collect();
            bodies.push((oid, transaction.changed_body(oid, &changes)?, assigned));
        }
        drop(reader);
        let oids: Vec<Oid> = bodies.iter().map(|(oid, ..)| *oid).collect();
        for (oid, body, assigned) in bodies {
            transaction.update_body(oid, body, assigned)?;
        }
        let returning = self.returning(update.returning.as_ref(), &oids, transaction)?;
        Ok(Changed::new("updated", oids, returning))
    }

    fn delete(&self, delete: &Delete, transaction: &mut Transaction) -> Result<Changed> {
        let reader = transaction.reader();
        let oids = self
            .engine
            .delete_targets(self.statement, delete, reader, self.parameters, &self.run)?;
        let returning = self.returning(delete.returning.as_ref(), &oids, transaction)?;
        for oid in &oids {
            // A cascade may have taken it already.
            if transaction.exists(*oid)? {
                transaction.delete(*oid)?;
            }
        }
        Ok(Changed::new("deleted", oids, returning))
    }

    fn returning(
        &self,
        returning: Option<&Returning>,
        oids: &[Oid],
        transaction: &Transaction,
    ) -> Result<Option<Answer>> {
        let Some(returning) = returning else {
            return Ok(None);
        };
        let reader = transaction.reader();
        let rows = self.engine.returning_rows(
            self.statement,
            returning,
            oids,
            reader,
            self.parameters,
            &self.run,
        )?;
        let labels = returning.outputs.iter().map(|(output, _)| output.label.clone());
        Ok(Some(Answer::Held {
            labels: labels.collect(),
            rows: rows.into_iter(),
        }))
    }
}
