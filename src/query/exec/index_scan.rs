//! `IndexScan`: the objects an index has for a range of keys, in key order, read a batch at a time.

use std::collections::VecDeque;
use std::ops::Bound;

use rustc_hash::FxHashSet;

use super::batch::{BATCH, Batch, Cells, Object};
use super::compile::{Row, evaluate};
use super::context::Run;
use super::fetch::Gather;
use super::operator::Operator;
use crate::catalog::IndexId;
use crate::error::Result;
use crate::object::{ClassId, Oid, Value};
use crate::query::plan::{Access, ColumnId, Equal, Expression};
use crate::read::{Direction, IndexRange, Postings};

pub struct IndexScan<'a> {
    pub column: ColumnId,
    pub classes: &'a [ClassId],
    pub entries: Entries<'a>,
    pub gather: Gather<'a>,
    pub growth: Growth,
    /// Whether the objects themselves are not read.
    pub identity: bool,
}

/// How many objects are read at once: few at first, since a limit or `exists` may want no more.
pub struct Growth(usize);

impl Default for Growth {
    fn default() -> Growth {
        Growth(FIRST)
    }
}

impl Growth {
    pub fn next(&mut self) -> usize {
        let size = self.0;
        self.0 = size.saturating_mul(4).min(BATCH);
        size
    }
}

/// Objects read at first.
const FIRST: usize = 16;

impl<'a> Operator<'a> for IndexScan<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        run.context.check()?;
        output.reset(std::iter::once(self.column));
        let size = self.growth.next();
        let mut oids = Vec::with_capacity(size);
        if !self.entries.next(run, size, &mut oids)? {
            return Ok(false);
        }
        oids.retain(|oid| self.classes.binary_search(&oid.class()).is_ok());
        if self.identity {
            identify(oids, output);
            return Ok(true);
        }
        self.gather.wanted.clear();
        self.gather.wanted.extend(oids.into_iter().map(Some));
        present(self.gather.read(run)?, output);
        Ok(true)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        self.growth = Growth::default();
        self.entries.rewind(run);
    }
}

/// Puts the objects that are there into the only column of a batch.
pub fn present<'a>(objects: Vec<Object<'a>>, output: &mut Batch<'a>) {
    let records: Vec<_> = objects
        .into_iter()
        .filter_map(|object| match object {
            Object::Present(record) => Some(record),
            Object::Nil | Object::Gone(_) => None,
        })
        .collect();
    output.length = records.len();
    if let Some(cells) = output.cells.first_mut() {
        *cells = Cells::Records(records);
    }
}

/// Puts references to objects into the only column of a batch.
pub fn identify(oids: Vec<Oid>, output: &mut Batch<'_>) {
    output.length = oids.len();
    if let Some(cells) = output.cells.first_mut() {
        *cells = Cells::Values(oids.into_iter().map(Value::Reference).collect());
    }
}

/// The entries of an index that an [`Access`] asks for.
pub struct Entries<'a> {
    pub index: IndexId,
    pub access: &'a Access,
    pub direction: Direction,
    /// Whether an object may come under several keys, and is wanted once.
    pub multiple: bool,
    state: Option<State<'a>>,
}

struct State<'a> {
    ranges: VecDeque<IndexRange>,
    postings: Option<Box<dyn Postings + 'a>>,
    seen: FxHashSet<Oid>,
}

impl<'a> Entries<'a> {
    pub fn new(index: IndexId, access: &'a Access, direction: Direction, multiple: bool) -> Entries<'a> {
        Entries {
            index,
            access,
            direction,
            multiple,
            state: None,
        }
    }

    /// Appends the next entries, up to `limit` and about a batch of them; false at the end.
    pub fn next(&mut self, run: &Run<'_, 'a>, limit: usize, oids: &mut Vec<Oid>) -> Result<bool> {
        let limit = limit.min(BATCH);
        let state = match &mut self.state {
            Some(state) => state,
            none => none.insert(State {
                ranges: ranges(self.access, self.direction, run)?,
                postings: None,
                seen: FxHashSet::default(),
            }),
        };
        // Short ranges, as of an `in` list, are put together to a batch.
        while oids.len() < limit {
            let before = oids.len();
            if let Some(postings) = &mut state.postings {
                postings.next(limit.saturating_sub(before), oids)?;
                run.context.count_index_entries(oids.len().saturating_sub(before));
            }
            if oids.len() == before {
                let Some(range) = state.ranges.pop_front() else {
                    break;
                };
                state.postings = Some(run.reader().lookup(self.index, &range, self.direction)?);
            }
        }
        let found = !oids.is_empty();
        if self.multiple {
            let before = state.seen.len();
            oids.retain(|oid| state.seen.insert(*oid));
            let new = state.seen.len().saturating_sub(before);
            run.context.hold("index scan", new.saturating_mul(ENTRY))?;
        }
        Ok(found)
    }

    pub fn rewind(&mut self, run: &Run<'_, 'a>) {
        if let Some(state) = self.state.take() {
            run.context.release(state.seen.len().saturating_mul(ENTRY));
        }
    }
}

/// Bytes of an identifier in a hash set.
const ENTRY: usize = 16;

fn outside<T>(run: &Run<'_, '_>, then: impl FnOnce(&Row<'_, '_>) -> T) -> T {
    let nowhere = Batch::default();
    then(&Row {
        batch: &nowhere,
        index: 0,
        run,
    })
}

/// The value of a key; `None` for nil and NaN, which match no key.
fn key(expression: &Expression, run: &Run<'_, '_>) -> Result<Option<Value>> {
    let value = outside(run, |row| evaluate(expression, row))?;
    Ok(Some(value).filter(matches_a_key))
}

fn matches_a_key(value: &Value) -> bool {
    !value.is_nil() && !matches!(value, Value::Float(number) if number.is_nan())
}

/// The ranges of keys an access asks for, in the order they are read; none if nothing can match.
pub fn ranges(access: &Access, direction: Direction, run: &Run<'_, '_>) -> Result<VecDeque<IndexRange>> {
    let mut prefix = Vec::with_capacity(access.equal.len());
    for equal in &access.equal {
        prefix.push(match equal {
            Equal::Nil => Value::Nil,
            Equal::Value(expression) => match key(expression, run)? {
                Some(value) => value,
                None => return Ok(VecDeque::new()),
            },
        });
    }
    if let Some(among) = &access.among {
        return among_ranges(among, &prefix, direction, run);
    }
    let mut bounds = [Bound::Unbounded, Bound::Unbounded];
    for (bound, wanted) in bounds.iter_mut().zip([&access.lower, &access.upper]) {
        if let Some((expression, inclusive)) = wanted {
            *bound = match key(expression, run)? {
                Some(value) if *inclusive => Bound::Included(value),
                Some(value) => Bound::Excluded(value),
                None => return Ok(VecDeque::new()),
            };
        }
    }
    let [mut lower, upper] = without_nil_and_nan(bounds);
    if access.not_nil && matches!(lower, Bound::Unbounded) {
        lower = Bound::Excluded(Value::Nil);
    }
    Ok(VecDeque::from([IndexRange { prefix, lower, upper }]))
}

/// With a bound on one side, the other leaves out nil below and NaN above.
fn without_nil_and_nan([lower, upper]: [Bound<Value>; 2]) -> [Bound<Value>; 2] {
    let is_number = |bound: &Bound<Value>| {
        let (Bound::Included(value) | Bound::Excluded(value)) = bound else {
            return false;
        };
        matches!(value, Value::Int(_) | Value::Float(_) | Value::Decimal(_))
    };
    match (&lower, &upper) {
        (Bound::Unbounded, Bound::Unbounded) => [lower, upper],
        (Bound::Unbounded, _) => [Bound::Excluded(Value::Nil), upper],
        (_, Bound::Unbounded) if is_number(&lower) => [lower, Bound::Excluded(Value::Float(f64::NAN))],
        _ => [lower, upper],
    }
}

fn among_ranges(
    among: &[(Expression, bool)],
    prefix: &[Value],
    direction: Direction,
    run: &Run<'_, '_>,
) -> Result<VecDeque<IndexRange>> {
    let mut values = Vec::new();
    for (expression, collection) in among {
        let value = outside(run, |row| evaluate(expression, row))?;
        match value.as_members() {
            Some(members) if *collection => values.extend(members.iter().cloned()),
            _ => values.push(value),
        }
    }
    values.retain(matches_a_key);
    values.sort();
    values.dedup();
    if direction == Direction::Descending {
        values.reverse();
    }
    let range = |value| {
        let mut prefix = prefix.to_vec();
        prefix.push(value);
        IndexRange {
            prefix,
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        }
    };
    Ok(values.into_iter().map(range).collect())
}
