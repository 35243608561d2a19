//! `insert .. on conflict`: objects that are there already are left as they are, or changed.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::change::Changing;
use crate::catalog::Class;
use crate::error::{Error, QueryError, QueryErrorCode, Result, Span};
use crate::object::codec::encode_body;
use crate::object::{Oid, SlotSet, Value};
use crate::query::plan::{ConflictUpdate, Insert, OnConflict};
use crate::read::{Direction, IndexRange, Reader};
use crate::transaction::Transaction;

impl Changing<'_> {
    /// Inserts what is not there yet, in order; objects inserted and changed are appended to `oids`.
    pub(super) fn insert_or_update(
        &self,
        (class, insert, conflict): (&Arc<Class>, &Insert, &OnConflict),
        objects: Vec<Vec<Value>>,
        transaction: &mut Transaction,
        oids: &mut Vec<Oid>,
    ) -> Result<()> {
        let before: Arc<dyn Reader> = transaction.reader();
        let mut met: FxHashMap<Vec<Value>, ()> = FxHashMap::default();
        let mut changes = Vec::new();
        for values in objects {
            let key: Vec<Value> = conflict
                .slots
                .iter()
                .map(|slot| values.get(*slot).cloned().unwrap_or_default())
                .collect();
            // nil is never a conflict: a unique index has any number of it.
            let is_key = !key.iter().any(Value::is_nil);
            if is_key && met.insert(key.clone(), ()).is_some() {
                if conflict.update.is_some() {
                    return Err(twice(&key).into());
                }
                continue;
            }
            let there = if is_key {
                existing(before.as_ref(), conflict, key)?
            } else {
                None
            };
            match (there, &conflict.update) {
                (None, _) => changes.push(Change::Insert(encode_body(&class.layout, &values)?)),
                (Some(_), None) => {}
                (Some(oid), Some(update)) => {
                    let excluded = excluded(class, insert, &values);
                    let (body, assigned) =
                        self.changed((oid, excluded), class, update, &before, transaction)?;
                    changes.push(Change::Update(oid, body, assigned));
                }
            }
        }
        drop(before);
        for change in changes {
            oids.push(match change {
                Change::Insert(body) => transaction.insert_body(class, body)?,
                Change::Update(oid, body, assigned) => {
                    transaction.update_body(oid, body, assigned)?;
                    oid
                }
            });
        }
        Ok(())
    }

    /// The new body of an object that is there, and the slots that are given values.
    fn changed(
        &self,
        (oid, excluded): (Oid, Value),
        class: &Class,
        update: &ConflictUpdate,
        reader: &Arc<dyn Reader>,
        transaction: &Transaction,
    ) -> Result<(Vec<u8>, SlotSet)> {
        if class.family.binary_search(&oid.class()).is_err() {
            let message = format!(
                "{} has the values of the unique index, and is no {}: it cannot be updated in its place",
                reader.catalog().describe(oid),
                class.name
            );
            return Err(Error::Argument(message));
        }
        let values = self.engine.conflict_values(
            self.statement,
            update,
            (oid, excluded),
            reader.clone(),
            self.parameters,
            &self.run,
        )?;
        let changes: Vec<(usize, Value)> = update
            .assignments
            .iter()
            .zip(values)
            .filter_map(|(assignment, value)| Some((assignment.slots.slot(oid.class())?, value)))
            .collect();
        let assigned = changes.iter().map(|(slot, _)| *slot).collect();
        Ok((transaction.changed_body(oid, &changes)?, assigned))
    }
}

/// What becomes of one row.
enum Change {
    Insert(Vec<u8>),
    Update(Oid, Vec<u8>, SlotSet),
}

/// The object that has these values of the unique index.
fn existing(reader: &dyn Reader, conflict: &OnConflict, key: Vec<Value>) -> Result<Option<Oid>> {
    let range = IndexRange {
        prefix: key,
        lower: std::ops::Bound::Unbounded,
        upper: std::ops::Bound::Unbounded,
    };
    let mut found = Vec::new();
    reader
        .lookup(conflict.index, &range, Direction::Ascending)?
        .next(1, &mut found)?;
    Ok(found.first().copied())
}

/// The struct of what was to be inserted.
fn excluded(class: &Class, insert: &Insert, values: &[Value]) -> Value {
    let field = |slot: &usize| {
        let name = class.layout.slots.get(*slot)?.name.clone();
        Some((name, values.get(*slot).cloned().unwrap_or_default()))
    };
    Value::structure(insert.slots.iter().filter_map(field))
}

fn twice(key: &[Value]) -> QueryError {
    let key: Vec<String> = key.iter().map(Value::to_string).collect();
    let message = format!(
        "two rows of the insert have {}: the second would change what the first has just made",
        key.join(", ")
    );
    QueryError::new(QueryErrorCode::Cardinality, Span::default(), message)
}
