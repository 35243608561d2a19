//! Walks: closures that tell how far each object is, and by which way it was reached.
//!
//! A walk goes level by level, as it is asked for. For paths it remembers, for each object, from which one it was first
//! reached: in a table for each of the exact levels below the minimum, where an object may come several times, and in
//! one table for all levels after it, where each comes once.

use rustc_hash::FxHashMap;

use super::Evaluator;
use super::object::references;
use super::visited::Visited;
use crate::error::Result;
use crate::object::{Oid, Value};
use crate::query::plan::ExpressionKind;

/// Bytes of an entry of a table of ways.
const WAY: usize = 20;

/// A walk that has got to some level.
#[derive(Debug, Default)]
pub struct Walk {
    level: Vec<Oid>,
    depth: u64,
    minimum: u64,
    reached: Visited,
    /// Whether ways are remembered.
    paths: bool,
    exact: Vec<FxHashMap<Oid, Oid>>,
    ways: FxHashMap<Oid, Oid>,
    held: usize,
}

impl Walk {
    /// A walk at its first level: the objects reached by the least number of steps.
    pub fn start(evaluator: &Evaluator<'_, '_>, closure: &ExpressionKind, paths: bool) -> Result<Walk> {
        let ExpressionKind::Closure {
            start,
            variable,
            step,
            minimum,
            ..
        } = closure
        else {
            return Ok(Walk::default());
        };
        let start: Visited = references(&evaluator.evaluate(start)?).into_iter().collect();
        let mut walk = Walk {
            paths,
            minimum: *minimum,
            depth: *minimum,
            ..Walk::default()
        };
        if paths {
            walk.level = start.sorted();
            while (walk.exact.len() as u64) < *minimum && !walk.level.is_empty() {
                let mut ways = FxHashMap::default();
                evaluator.step(&walk.level, variable, step, &mut |from, to| {
                    ways.entry(to).or_insert(from);
                })?;
                walk.level = ways.keys().copied().collect();
                walk.level.sort_unstable();
                walk.exact.push(ways);
                walk.hold(evaluator)?;
            }
            walk.reached = walk.level.iter().copied().collect();
        } else {
            walk.reached = evaluator.exact_level(start, variable, step, *minimum)?;
            walk.level = walk.reached.sorted();
        }
        walk.hold(evaluator)?;
        Ok(walk)
    }

    /// Goes on to the next level; false, and an empty level, at the end.
    pub fn advance(&mut self, evaluator: &Evaluator<'_, '_>, closure: &ExpressionKind) -> Result<bool> {
        let ExpressionKind::Closure {
            variable,
            step,
            maximum,
            ..
        } = closure
        else {
            return Ok(false);
        };
        let from = std::mem::take(&mut self.level);
        if maximum.is_some_and(|maximum| self.depth >= maximum) {
            return Ok(false);
        }
        let (reached, ways, level, paths) = (&mut self.reached, &mut self.ways, &mut self.level, self.paths);
        evaluator.step(&from, variable, step, &mut |from, to| {
            if reached.insert(to) {
                level.push(to);
                if paths {
                    ways.insert(to, from);
                }
            }
        })?;
        self.level.sort_unstable();
        self.depth = self.depth.saturating_add(1);
        self.hold(evaluator)?;
        Ok(!self.level.is_empty())
    }

    /// The objects of this level, ascending.
    pub fn level(&self) -> &[Oid] {
        &self.level
    }

    /// The number of steps to this level.
    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// A shortest way to an object of this level, from the start on.
    pub fn path(&self, oid: Oid) -> Value {
        let mut path = vec![oid];
        let mut at = oid;
        for _ in self.minimum..self.depth {
            if let Some(from) = self.ways.get(&at) {
                at = *from;
                path.push(at);
            }
        }
        for ways in self.exact.iter().rev() {
            if let Some(from) = ways.get(&at) {
                at = *from;
                path.push(at);
            }
        }
        path.reverse();
        Value::list(path.into_iter().map(Value::Reference))
    }

    /// Accounts for what the walk holds.
    fn hold(&mut self, evaluator: &Evaluator<'_, '_>) -> Result<()> {
        let ways = self.exact.iter().map(FxHashMap::len).sum::<usize>();
        let entries = ways.saturating_add(self.ways.len()).saturating_mul(WAY);
        let size = self.reached.size().saturating_add(entries);
        let more = size.saturating_sub(self.held);
        evaluator.run.context.hold("closure with depth or path", more)?;
        self.held = self.held.max(size);
        Ok(())
    }

    /// The bytes the walk holds, to be given back.
    pub fn held(&self) -> usize {
        self.held
    }
}
