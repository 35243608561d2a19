//! Closures: the objects reached by repeating a step.
//!
//! The levels below the minimum are exact sets; from there on the walk is breadth first and visits each object once.
//! A level is a bitmap walked in the order of identifiers, and read in batches. So it ends on every graph.

use super::Evaluator;
use super::object::references;
use super::visited::Visited;
use crate::error::Result;
use crate::object::{Oid, Value};
use crate::query::plan::{Column, Expression, ExpressionKind};

impl Evaluator<'_, '_> {
    /// The set of distinct objects reached from the start by a walk of `minimum..=maximum` steps.
    pub(super) fn closure(&self, kind: &ExpressionKind) -> Result<Value> {
        let reached = self.reached_by(kind)?;
        Ok(Value::Set(reached.into_iter().map(Value::Reference).collect()))
    }

    /// The objects that a closure reaches, ascending.
    pub(super) fn reached_by(&self, kind: &ExpressionKind) -> Result<Vec<Oid>> {
        let ExpressionKind::Closure {
            start,
            variable,
            step,
            minimum,
            maximum,
        } = kind
        else {
            return Ok(Vec::new());
        };
        let start = references(&self.evaluate(start)?).into_iter().collect();
        let level = self.exact_level(start, variable, step, *minimum)?;
        self.reached(level, variable, step, (*minimum, *maximum))
    }

    /// The objects reached by a walk of exactly `steps` steps.
    pub(super) fn exact_level(
        &self,
        start: Visited,
        variable: &Column,
        step: &Expression,
        steps: u64,
    ) -> Result<Visited> {
        let (mut level, mut depth) = (start, 0_u64);
        // On a cycle a level comes back after some steps; whole rounds from there on change nothing.
        let mut anchor = (level.clone(), 0_u64);
        while depth < steps && !level.is_empty() {
            level = self.next_level(&level.sorted(), variable, step)?;
            depth = depth.saturating_add(1);
            if level == anchor.0 {
                let period = depth.saturating_sub(anchor.1).max(1);
                let left = steps.saturating_sub(depth);
                depth = depth.saturating_add(left.saturating_sub(left % period));
            } else if depth.is_power_of_two() {
                anchor = (level.clone(), depth);
            }
        }
        Ok(level)
    }

    /// The objects reached from those of a level at the depth `bounds.0` by walks down to the depth `bounds.1`.
    fn reached(
        &self,
        level: Visited,
        variable: &Column,
        step: &Expression,
        bounds: (u64, Option<u64>),
    ) -> Result<Vec<Oid>> {
        let (mut depth, maximum) = bounds;
        let mut from = level.sorted();
        let mut reached = level;
        let mut held = 0_usize;
        while !from.is_empty() && maximum.is_none_or(|maximum| depth < maximum) {
            let mut next = Visited::default();
            self.step(&from, variable, step, &mut |_, to| {
                if reached.insert(to) {
                    next.insert(to);
                }
            })?;
            from = next.sorted();
            depth = depth.saturating_add(1);
            let size = reached.size();
            self.run.context.hold("closure", size.saturating_sub(held))?;
            held = held.max(size);
        }
        self.run.context.release(held);
        Ok(reached.sorted())
    }

    /// The objects one step away from those of a level.
    fn next_level(&self, from: &[Oid], variable: &Column, step: &Expression) -> Result<Visited> {
        let mut next = Visited::default();
        self.step(from, variable, step, &mut |_, reached| {
            next.insert(reached);
        })?;
        Ok(next)
    }
}
