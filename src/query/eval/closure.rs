//! Closures: the objects reached by repeating a step.
//!
//! The levels below the minimum are exact sets; from there on the walk is breadth first and visits each object once.
//! A level is a bitmap walked in the order of identifiers, and read in batches. So it ends on every graph.

use super::Evaluator;
use super::object::references;
use super::visited::Visited;
use crate::error::Result;
use crate::object::{Oid, Record, Value, ValueRef, codec};
use crate::query::exec::BATCH;
use crate::query::plan::{Column, Expression, ExpressionKind, Slots};

impl<'a> Evaluator<'_, 'a> {
    /// The set of distinct objects reached from the start by a walk of `minimum..=maximum` steps.
    pub(super) fn closure(&self, kind: &ExpressionKind) -> Result<Value> {
        let ExpressionKind::Closure {
            start,
            variable,
            step,
            minimum,
            maximum,
        } = kind
        else {
            return Ok(Value::Nil);
        };
        let mut level: Visited = references(&self.evaluate(start)?).into_iter().collect();
        let mut depth = 0_u64;
        // On a cycle a level comes back after some steps; whole rounds from there on change nothing.
        let mut anchor = (level.clone(), 0_u64);
        while depth < *minimum && !level.is_empty() {
            level = self.next_level(&level, variable, step)?;
            depth = depth.saturating_add(1);
            if level == anchor.0 {
                let period = depth.saturating_sub(anchor.1).max(1);
                let left = minimum.saturating_sub(depth);
                depth = depth.saturating_add(left.saturating_sub(left % period));
            } else if depth.is_power_of_two() {
                anchor = (level.clone(), depth);
            }
        }
        let mut reached = level.clone();
        let mut held = 0_usize;
        while !level.is_empty() && maximum.is_none_or(|maximum| depth < maximum) {
            let next = self.next_level(&level, variable, step)?;
            level = next
                .sorted()
                .into_iter()
                .filter(|oid| reached.insert(*oid))
                .collect();
            depth = depth.saturating_add(1);
            let size = reached.size();
            self.run.context.hold("closure", size.saturating_sub(held))?;
            held = held.max(size);
        }
        self.run.context.release(held);
        Ok(Value::Set(
            reached.sorted().into_iter().map(Value::Reference).collect(),
        ))
    }

    /// The objects one step away from those of a level.
    fn next_level(&self, level: &Visited, variable: &Column, step: &Expression) -> Result<Visited> {
        self.run.context.check()?;
        let mut next = Visited::default();
        let from = level.sorted();
        match &step.kind {
            ExpressionKind::Attribute { base, slots, .. } if base.as_column() == Some(variable) => {
                self.follow(&from, slots, &mut next)?;
            }
            ExpressionKind::Reverse {
                base,
                classes,
                slots,
                index,
                ..
            } if base.as_column() == Some(variable) => match index {
                Some(index) => self.sources_by_index(*index, classes, &from, &mut next)?,
                None => self.sources_by_scan(classes, slots, &from, &mut next)?,
            },
            _ => {
                for oid in from {
                    let value = self.bind(variable, &Value::Reference(oid), |inner| inner.evaluate(step))?;
                    for reached in references(&value) {
                        next.insert(reached);
                    }
                }
            }
        }
        Ok(next)
    }

    /// Follows an attribute of many objects, read in batches.
    fn follow(&self, from: &[Oid], slots: &Slots, next: &mut Visited) -> Result<()> {
        let mut records = Vec::with_capacity(BATCH);
        for batch in from.chunks(BATCH) {
            self.run.context.check()?;
            records.clear();
            self.run.reader().gather(batch, &mut records)?;
            let bytes = records.iter().flatten().map(|record| record.body.len()).sum();
            self.run.context.count_objects(batch.len(), bytes);
            for record in records.iter().flatten() {
                self.targets(record, slots, next)?;
            }
        }
        Ok(())
    }

    /// Adds what an attribute of an object refers to.
    fn targets(&self, record: &Record<'a>, slots: &Slots, next: &mut Visited) -> Result<()> {
        let class = record.oid.class();
        let (Some(slot), Some(layout)) = (slots.slot(class), self.run.layout(class)) else {
            return Ok(());
        };
        let value = codec::read_slot(layout, &record.body, slot)?;
        if let ValueRef::Reference(oid) = value {
            next.insert(oid);
        } else if let Some(members) = value.members() {
            for member in members {
                if let ValueRef::Reference(oid) = member? {
                    next.insert(oid);
                }
            }
        }
        Ok(())
    }
}
