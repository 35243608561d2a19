//! `IndexPath`: the objects whose path ends in a range of keys, found backwards from the end.

use super::batch::{BATCH, Batch};
use super::context::Run;
use super::fetch::Gather;
use super::index_scan::{Entries, present};
use super::operator::Operator;
use crate::catalog::IndexId;
use crate::error::Result;
use crate::object::{ClassId, Oid, Value};
use crate::query::eval::equal_range;
use crate::query::plan::{ColumnId, IndexKey};
use crate::read::Direction;

pub struct IndexPath<'a> {
    pub column: ColumnId,
    pub classes: &'a [ClassId],
    /// The reference indexes, from the first step on.
    pub steps: &'a [IndexKey],
    /// The entries of the index at the end.
    pub end: Entries<'a>,
    pub gather: Gather<'a>,
    /// The objects found, ascending, and how many of them were given out.
    pub found: Option<(Vec<Oid>, usize)>,
}

impl<'a> Operator<'a> for IndexPath<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        run.context.check()?;
        output.reset(std::iter::once(self.column));
        if self.found.is_none() {
            self.found = Some((self.find(run)?, 0));
        }
        let Some((oids, given)) = &mut self.found else {
            return Ok(false);
        };
        let batch = oids.iter().skip(*given).take(BATCH).copied().map(Some);
        self.gather.wanted.clear();
        self.gather.wanted.extend(batch);
        *given = given.saturating_add(self.gather.wanted.len());
        if self.gather.wanted.is_empty() {
            return Ok(false);
        }
        present(self.gather.read(run)?, output);
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        if let Some((oids, _)) = self.found.take() {
            run.context.release(size(oids.len()));
        }
        self.end.rewind(run);
    }
}

fn size(oids: usize) -> usize {
    oids.saturating_mul(size_of::<Oid>())
}

impl<'a> IndexPath<'a> {
    fn find(&mut self, run: &Run<'_, 'a>) -> Result<Vec<Oid>> {
        let mut level = Vec::new();
        let mut batch = Vec::with_capacity(BATCH);
        while self.end.next(run, &mut batch)? {
            level.append(&mut batch);
            run.context.check()?;
        }
        for step in self.steps.iter().rev() {
            level.sort_unstable();
            level.dedup();
            level = sources(step.id, &level, run)?;
        }
        level.retain(|oid| self.classes.binary_search(&oid.class()).is_ok());
        level.sort_unstable();
        level.dedup();
        run.context.hold("index path", size(level.len()))?;
        Ok(level)
    }
}

/// All objects that a reference index has for these targets.
fn sources(index: IndexId, targets: &[Oid], run: &Run<'_, '_>) -> Result<Vec<Oid>> {
    let mut sources = Vec::new();
    for target in targets {
        let range = equal_range(Value::Reference(*target));
        let mut postings = run.reader().lookup(index, &range, Direction::Ascending)?;
        loop {
            let before = sources.len();
            postings.next(BATCH, &mut sources)?;
            let found = sources.len().saturating_sub(before);
            run.context.count_index_entries(found);
            run.context.check()?;
            if found == 0 {
                break;
            }
            run.context.hold("index path", size(found))?;
        }
    }
    // The next level is counted anew.
    run.context.release(size(sources.len()));
    Ok(sources)
}
