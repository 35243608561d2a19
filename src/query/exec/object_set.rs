//! `IndexSet` and `IndexPath`: objects found through several indexes, as sets that meet before any object is read.

use roaring::RoaringTreemap;
use roaring::treemap::IntoIter;

use super::batch::{BATCH, Batch};
use super::context::Run;
use super::fetch::Gather;
use super::index_scan::{Entries, Growth, identify, present};
use super::operator::Operator;
use crate::catalog::IndexId;
use crate::error::Result;
use crate::object::{ClassId, Oid, Value};
use crate::query::eval::equal_range;
use crate::query::plan::{Access, ColumnId, IndexKey, ObjectSet};
use crate::read::{Direction, Postings};

pub struct IndexSet<'a> {
    pub column: ColumnId,
    pub classes: &'a [ClassId],
    pub finder: Finder<'a>,
    pub gather: Gather<'a>,
    pub growth: Growth,
    /// Whether the objects themselves are not read.
    pub identity: bool,
    /// The objects found and not given out yet, and the bytes they hold.
    pub found: Option<(IntoIter, usize)>,
}

impl<'a> Operator<'a> for IndexSet<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        run.context.check()?;
        output.reset(std::iter::once(self.column));
        if self.found.is_none() {
            let found = self.finder.find(run)?;
            let bytes = size(&found);
            run.context.hold("index set", bytes)?;
            self.found = Some((found.into_iter(), bytes));
        }
        let Some((oids, _)) = &mut self.found else {
            return Ok(false);
        };
        let wanted = oids
            .filter_map(Oid::from_bits)
            .filter(|oid| self.classes.binary_search(&oid.class()).is_ok());
        if self.identity {
            let oids: Vec<Oid> = wanted.take(BATCH).collect();
            let more = !oids.is_empty();
            identify(oids, output);
            return Ok(more);
        }
        self.gather.wanted.clear();
        self.gather
            .wanted
            .extend(wanted.take(self.growth.next()).map(Some));
        if self.gather.wanted.is_empty() {
            return Ok(false);
        }
        present(self.gather.read(run)?, output);
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        if let Some((_, bytes)) = self.found.take() {
            run.context.release(bytes);
        }
        self.growth = Growth::default();
        self.finder.rewind(run);
    }
}

/// Bytes a set holds, about.
fn size(set: &RoaringTreemap) -> usize {
    set.serialized_size()
}

/// How a set of objects is found.
pub enum Finder<'a> {
    /// An index has them.
    Keys(Entries<'a>),
    /// By the last index, and then backwards through reference indexes.
    Path {
        /// The reference indexes, from the first step on.
        steps: &'a [IndexKey],
        /// The entries of the index at the end.
        end: Entries<'a>,
    },
    /// All of these have them.
    And(Vec<Finder<'a>>),
    /// Any of these has them.
    Or(Vec<Finder<'a>>),
}

impl<'a> Finder<'a> {
    pub fn new(set: &'a ObjectSet) -> Finder<'a> {
        match set {
            ObjectSet::Keys { index, access } => {
                Finder::Keys(Entries::new(index.id, access, Direction::Ascending, false))
            }
            ObjectSet::Path { steps, access } => Finder::path(steps, access),
            ObjectSet::And(sets) => Finder::And(sets.iter().map(Finder::new).collect()),
            ObjectSet::Or(sets) => Finder::Or(sets.iter().map(Finder::new).collect()),
        }
    }

    /// What is found backwards along these indexes.
    pub fn path(steps: &'a [IndexKey], access: &'a Access) -> Finder<'a> {
        match steps.split_last() {
            Some((end, steps)) => Finder::Path {
                steps,
                end: Entries::new(end.id, access, Direction::Ascending, false),
            },
            None => Finder::Or(Vec::new()),
        }
    }

    /// The objects; those of other classes that the indexes cover are among them.
    pub fn find(&mut self, run: &Run<'_, 'a>) -> Result<RoaringTreemap> {
        match self {
            Finder::Keys(entries) => read(entries, run),
            Finder::Path { steps, end } => {
                let mut level = read(end, run)?;
                for step in steps.iter().rev() {
                    level = sources(step.id, &level, run)?;
                }
                Ok(level)
            }
            Finder::And(finders) => {
                let mut all: Option<RoaringTreemap> = None;
                for finder in finders {
                    if all.as_ref().is_some_and(RoaringTreemap::is_empty) {
                        break;
                    }
                    let found = finder.find(run)?;
                    all = Some(match all {
                        Some(all) => all & found,
                        None => found,
                    });
                }
                Ok(all.unwrap_or_default())
            }
            Finder::Or(finders) => {
                let mut any = RoaringTreemap::new();
                for finder in finders {
                    any |= finder.find(run)?;
                }
                Ok(any)
            }
        }
    }

    pub fn rewind(&mut self, run: &Run<'_, 'a>) {
        match self {
            Finder::Keys(entries) | Finder::Path { end: entries, .. } => entries.rewind(run),
            Finder::And(finders) | Finder::Or(finders) => {
                finders.iter_mut().for_each(|finder| finder.rewind(run));
            }
        }
    }
}

fn read<'a>(entries: &mut Entries<'a>, run: &Run<'_, 'a>) -> Result<RoaringTreemap> {
    let mut set = RoaringTreemap::new();
    let mut batch = Vec::new();
    while entries.next(run, usize::MAX, &mut batch)? {
        set.extend(batch.drain(..).map(Oid::to_bits));
        check(&set, run)?;
    }
    Ok(set)
}

/// All objects that a reference index has for these targets.
fn sources(index: IndexId, targets: &RoaringTreemap, run: &Run<'_, '_>) -> Result<RoaringTreemap> {
    let mut sources = RoaringTreemap::new();
    let mut found = Vec::new();
    for target in targets.iter().filter_map(Oid::from_bits) {
        let range = equal_range(Value::Reference(target));
        let mut postings = run.reader().lookup(index, &range, Direction::Ascending)?;
        while read_part(postings.as_mut(), run, &mut found)? {
            sources.extend(found.drain(..).map(Oid::to_bits));
            check(&sources, run)?;
        }
    }
    Ok(sources)
}

/// Reads postings on into the empty `found`; false at the end.
fn read_part(postings: &mut dyn Postings, run: &Run<'_, '_>, found: &mut Vec<Oid>) -> Result<bool> {
    postings.next(PART, found)?;
    run.context.count_index_entries(found.len());
    run.context.check()?;
    Ok(!found.is_empty())
}

/// Entries read between two looks at the limits of the query.
const PART: usize = 8 * 1024;

/// Fails if a set that is being made takes more memory than is left.
fn check(set: &RoaringTreemap, run: &Run<'_, '_>) -> Result<()> {
    // A container has at most 8 KiB for 65,536 objects, so that few objects cannot be too many bytes.
    if set.len() < 64 * 1024 {
        return Ok(());
    }
    let bytes = size(set);
    run.context.hold("index set", bytes)?;
    run.context.release(bytes);
    Ok(())
}
