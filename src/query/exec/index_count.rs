//! `IndexCount`: how many objects an index has for a range of keys, from the counts that the index keeps.

use super::batch::Batch;
use super::context::Run;
use super::index_scan::ranges;
use super::object_set::Finder;
use super::operator::Operator;
use crate::catalog::IndexId;
use crate::error::Result;
use crate::object::{ClassId, Oid, Value};
use crate::query::eval::equal_range;
use crate::query::plan::{Access, ColumnId, IndexKey};
use crate::read::Direction;

pub struct IndexCount<'a> {
    pub column: ColumnId,
    /// The classes counted, ascending.
    pub classes: &'a [ClassId],
    pub source: Source<'a>,
    pub done: bool,
}

/// What is counted.
pub enum Source<'a> {
    /// The entries of a range of keys.
    Keys(&'a IndexKey, &'a Access),
    /// The sources, in a reference index, of a set of targets. No object refers to two of them.
    Sources(&'a IndexKey, Finder<'a>),
    /// The members of a set.
    Set(Finder<'a>),
}

impl<'a> Operator<'a> for IndexCount<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        run.context.check()?;
        output.reset(std::iter::once(self.column));
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        let count = self.count(run)?;
        output.push_values([Value::Int(i64::try_from(count).unwrap_or(i64::MAX))]);
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.done = false;
        match &mut self.source {
            Source::Keys(..) => {}
            Source::Sources(_, finder) | Source::Set(finder) => finder.rewind(run),
        }
    }
}

impl<'a> IndexCount<'a> {
    fn count(&mut self, run: &Run<'_, 'a>) -> Result<u64> {
        let mut count = 0_u64;
        match &mut self.source {
            Source::Keys(index, access) => {
                for range in ranges(access, Direction::Ascending, run)? {
                    count = count.saturating_add(entries(index.id, &range, self.classes, run)?);
                }
            }
            Source::Sources(index, finder) => {
                for target in finder.find(run)?.iter().filter_map(Oid::from_bits) {
                    let range = equal_range(Value::Reference(target));
                    count = count.saturating_add(entries(index.id, &range, self.classes, run)?);
                }
            }
            Source::Set(finder) => {
                let found = finder.find(run)?;
                let oids = found.iter().filter_map(Oid::from_bits);
                let wanted = oids.filter(|oid| self.classes.binary_search(&oid.class()).is_ok());
                count = wanted.count() as u64;
            }
        }
        Ok(count)
    }
}

/// The number of entries an index has in a range for objects of these classes.
pub fn entries(
    index: IndexId,
    range: &crate::read::IndexRange,
    classes: &[ClassId],
    run: &Run<'_, '_>,
) -> Result<u64> {
    run.context.check()?;
    if covers_only(index, classes, run) {
        run.context.count_index_entries(1);
        return run.reader().count(index, range);
    }
    let mut postings = run.reader().lookup(index, range, Direction::Ascending)?;
    let (mut count, mut oids) = (0_u64, Vec::new());
    loop {
        oids.clear();
        postings.next(super::BATCH, &mut oids)?;
        run.context.count_index_entries(oids.len());
        run.context.check()?;
        if oids.is_empty() {
            return Ok(count);
        }
        let wanted = oids
            .iter()
            .filter(|oid| classes.binary_search(&oid.class()).is_ok());
        count = count.saturating_add(wanted.count() as u64);
    }
}

/// Whether all objects an index has are of these classes.
fn covers_only(index: IndexId, classes: &[ClassId], run: &Run<'_, '_>) -> bool {
    let catalog = run.reader().catalog();
    let class = catalog
        .indexes
        .get(&index)
        .and_then(|index| catalog.classes.get(&index.class));
    class.is_some_and(|class| {
        class
            .family
            .iter()
            .all(|class| classes.binary_search(class).is_ok())
    })
}
