//! One step of a walk for many objects at once: every pair of an object and one it leads to.

use super::Evaluator;
use super::object::references;
use crate::error::Result;
use crate::object::{Layout, Oid, Record, Value, ValueRef, codec};
use crate::query::exec::BATCH;
use crate::query::plan::{Column, Expression, ExpressionKind, Slots};

impl Evaluator<'_, '_> {
    /// Gives `see` every pair of an object of `from` and an object that `step` leads to from it.
    pub(super) fn step(
        &self,
        from: &[Oid],
        variable: &Column,
        step: &Expression,
        see: &mut impl FnMut(Oid, Oid),
    ) -> Result<()> {
        self.run.context.check()?;
        match &step.kind {
            ExpressionKind::Attribute { base, slots, .. } if base.as_column() == Some(variable) => {
                self.follow(from, slots, see)
            }
            ExpressionKind::Reverse { base, .. } if base.as_column() == Some(variable) => match step.kind {
                ExpressionKind::Reverse { of_living: true, .. } => {
                    self.sources(&step.kind, &self.living(from.to_vec())?, see)
                }
                _ => self.sources(&step.kind, from, see),
            },
            _ => {
                for (number, oid) in from.iter().enumerate() {
                    if number % BATCH == 0 {
                        self.run.context.check()?;
                    }
                    let value = self.bind(variable, &Value::Reference(*oid), |inner| inner.evaluate(step))?;
                    for reached in references(&value) {
                        see(*oid, reached);
                    }
                }
                Ok(())
            }
        }
    }

    /// Follows an attribute of many objects, read in batches.
    fn follow(&self, from: &[Oid], slots: &Slots, see: &mut impl FnMut(Oid, Oid)) -> Result<()> {
        let mut records = Vec::with_capacity(BATCH);
        for batch in from.chunks(BATCH) {
            self.run.context.check()?;
            records.clear();
            self.run.reader().gather(batch, &mut records)?;
            let bytes = records.iter().flatten().map(|record| record.body.len()).sum();
            self.run.context.count_objects(batch.len(), bytes);
            let mut known = None;
            for record in records.iter().flatten() {
                let class = record.oid.class();
                if known.is_none_or(|(of, _, _)| of != class) {
                    known = slots
                        .slot(class)
                        .zip(self.run.layout(class))
                        .map(|(slot, layout)| (class, slot, layout));
                }
                if let Some((of, slot, layout)) = known
                    && of == class
                {
                    targets(record, slot, layout, see)?;
                }
            }
        }
        Ok(())
    }
}

/// Gives what an attribute of an object refers to.
fn targets(record: &Record<'_>, slot: usize, layout: &Layout, see: &mut impl FnMut(Oid, Oid)) -> Result<()> {
    let value = codec::read_slot(layout, &record.body, slot)?;
    if let ValueRef::Reference(oid) = value {
        see(record.oid, oid);
    } else if let Some(members) = value.members() {
        for member in members {
            if let ValueRef::Reference(oid) = member? {
                see(record.oid, oid);
            }
        }
    }
    Ok(())
}
