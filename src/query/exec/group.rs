//! `Group`: one row for each group of rows with equal keys, with aggregates worked out as the rows pass.
//!
//! Once memory is full, no further groups are begun: rows of other groups are parted by their keys into temporary files,
//! and each part is gone through by itself when the groups in memory are given out.

use rustc_hash::{FxHashMap, FxHashSet};

use super::batch::{BATCH, Batch, value_size};
use super::compile::{Floats, General, Ints, Row};
use super::context::Run;
use super::operator::{Boxed, Operator};
use super::spill::{Partitions, SpilledRows};
use crate::error::Result;
use crate::object::{Value, ValueRef};
use crate::query::function::aggregate::Accumulator;
use crate::query::plan::{AggregateFunction, ColumnId};

pub struct Group<'a> {
    pub input: Boxed<'a>,
    pub columns: Vec<ColumnId>,
    pub keys: Keys<'a>,
    pub aggregates: Vec<Measure<'a>>,
    /// The fields of `partition`, with their names.
    pub partition: Option<Vec<(std::sync::Arc<str>, General<'a>)>>,
    pub groups: Option<(Groups, usize)>,
    /// Rows put off when memory was full, with the number of times they were parted.
    pub waiting: Vec<(SpilledRows, u32)>,
}

/// What groups rows; one int or string is looked up without making a value of it.
pub enum Keys<'a> {
    /// Nothing: all rows are one group.
    None,
    /// One int.
    Int(Ints<'a>),
    /// One string.
    Text(General<'a>),
    /// Anything else.
    General(Vec<General<'a>>),
}

/// One aggregate.
pub struct Measure<'a> {
    pub function: AggregateFunction,
    pub distinct: bool,
    pub argument: Argument<'a>,
}

/// What an aggregate is over.
pub enum Argument<'a> {
    /// The rows themselves.
    Rows,
    /// Ints.
    Int(Ints<'a>),
    /// Floats.
    Float(Floats<'a>),
    /// Any values.
    General(General<'a>),
}

/// The groups found so far. What belongs to group number `g` lies at `g` times the number of parts.
#[derive(Default)]
pub struct Groups {
    count: usize,
    ints: FxHashMap<i64, usize>,
    texts: FxHashMap<Box<[u8]>, usize>,
    general: FxHashMap<Box<[Value]>, usize>,
    nil: Option<usize>,
    keys: Vec<Value>,
    accumulators: Vec<Accumulator>,
    distinct: Vec<FxHashSet<Value>>,
    partitions: Vec<Vec<Value>>,
    bytes: usize,
    held: usize,
}

impl<'a> Operator<'a> for Group<'a> {
    fn next(&mut self, run: &Run<'_, 'a>, output: &mut Batch<'a>) -> Result<bool> {
        output.reset(self.columns.iter().copied());
        loop {
            let (groups, given) = match self.groups.take() {
                Some(state) => state,
                None => (self.read(None, 0, run)?, 0),
            };
            let end = given.saturating_add(BATCH).min(groups.count);
            for group in given..end {
                output.push_values(self.row(&groups, group)?);
            }
            if end == given
                && let Some((rows, level)) = self.waiting.pop()
            {
                run.context.release(groups.held);
                drop(groups);
                self.groups = Some((self.read(Some(rows), level, run)?, 0));
                continue;
            }
            self.groups = Some((groups, end));
            return Ok(end > given);
        }
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        if let Some((groups, _)) = self.groups.take() {
            run.context.release(groups.held);
        }
        self.waiting.clear();
        self.input.rewind(run);
    }
}

impl<'a> Group<'a> {
    /// Reads rows to their end: the input, or rows put off, which were parted `level` times.
    fn read(&mut self, rows: Option<SpilledRows>, level: u32, run: &Run<'_, 'a>) -> Result<Groups> {
        let mut rows = rows;
        let mut groups = Groups::default();
        if matches!(self.keys, Keys::None) {
            self.open(&mut groups, &[]);
        }
        let mut parts = None;
        let mut batch = Batch::default();
        while match &mut rows {
            None => self.input.next(run, &mut batch)?,
            Some(rows) => rows.next(run, BATCH, &mut batch)?,
        } {
            run.context.check()?;
            self.add_batch(&mut groups, &mut parts, level, &batch, run)?;
            let more = groups.bytes.saturating_sub(groups.held);
            run.context.hold("group by", more)?;
            groups.held = groups.bytes;
        }
        if let Some(parts) = parts {
            let parts = parts.finish(run)?.into_iter().filter(|rows| rows.remaining() > 0);
            self.waiting
                .extend(parts.map(|rows| (rows, level.saturating_add(1))));
        }
        Ok(groups)
    }

    /// Takes a batch into the groups; with `parts`, which are made once memory is full, rows of groups that are not there
    /// go to these.
    fn add_batch(
        &self,
        groups: &mut Groups,
        parts: &mut Option<Partitions>,
        level: u32,
        batch: &Batch<'a>,
        run: &Run<'_, 'a>,
    ) -> Result<()> {
        if self.counts_only() {
            let rows = i64::try_from(batch.len()).unwrap_or(i64::MAX);
            let counts = groups.accumulators.iter_mut();
            counts.for_each(|count| count.add_rows(rows));
            return Ok(());
        }
        let may_part = parts.is_none() && !matches!(self.keys, Keys::None);
        let full = match may_part && run.context.temporary().is_some() {
            true => groups.bytes.saturating_add(run.context.room()),
            false => usize::MAX,
        };
        for index in batch.rows() {
            if parts.is_none() && groups.bytes > full {
                *parts = Partitions::new(run, &batch.columns, level)?;
            }
            let row = Row { batch, index, run };
            match (self.find(groups, &row, parts.is_none())?, &mut *parts) {
                (Some(group), _) => self.add(groups, group, &row)?,
                (None, Some(parts)) => parts.push(run, &self.key_values(&row)?, batch, index)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// The key of a row as values.
    fn key_values(&self, row: &Row<'_, 'a>) -> Result<Vec<Value>> {
        match &self.keys {
            Keys::None => Ok(Vec::new()),
            Keys::Int(int) => Ok(vec![int(row)?.map_or(Value::Nil, Value::Int)]),
            Keys::Text(general) => Ok(vec![general(row)?.into_value()?]),
            Keys::General(keys) => keys.iter().map(|key| key(row)?.into_value()).collect(),
        }
    }

    /// Whether all that is asked for is how many rows there are.
    fn counts_only(&self) -> bool {
        let counts = |measure: &Measure<'_>| !measure.distinct && matches!(measure.argument, Argument::Rows);
        matches!(self.keys, Keys::None) && self.partition.is_none() && self.aggregates.iter().all(counts)
    }

    /// The number of the group a row belongs to, which is begun if it is not there and `may_open`; else `None`.
    fn find(&self, groups: &mut Groups, row: &Row<'_, 'a>, may_open: bool) -> Result<Option<usize>> {
        match &self.keys {
            Keys::None => Ok(Some(0)),
            Keys::Int(int) => {
                let Some(key) = int(row)? else {
                    return Ok(self.nil_group(groups, may_open));
                };
                let mut found = groups.ints.get(&key).copied();
                if found.is_none() && may_open {
                    let group = self.open(groups, &[Value::Int(key)]);
                    groups.ints.insert(key, group);
                    found = Some(group);
                }
                Ok(found)
            }
            Keys::Text(general) => {
                let key = general(row)?;
                let ValueRef::String(text) = key.as_ref() else {
                    return Ok(self.nil_group(groups, may_open));
                };
                let mut found = groups.texts.get(text).copied();
                if found.is_none() && may_open {
                    let group = self.open(groups, &[key.as_ref().to_value()?]);
                    groups.texts.insert(text.into(), group);
                    found = Some(group);
                }
                Ok(found)
            }
            Keys::General(_) => {
                let values = self.key_values(row)?;
                let mut found = groups.general.get(values.as_slice()).copied();
                if found.is_none() && may_open {
                    let group = self.open(groups, &values);
                    groups.general.insert(values.into(), group);
                    found = Some(group);
                }
                Ok(found)
            }
        }
    }

    fn nil_group(&self, groups: &mut Groups, may_open: bool) -> Option<usize> {
        if groups.nil.is_none() && may_open {
            groups.nil = Some(self.open(groups, &[Value::Nil]));
        }
        groups.nil
    }

    /// Begins a group.
    fn open(&self, groups: &mut Groups, keys: &[Value]) -> usize {
        let group = groups.count;
        groups.count = groups.count.saturating_add(1);
        groups.keys.extend_from_slice(keys);
        for measure in &self.aggregates {
            groups.accumulators.push(Accumulator::new(measure.function));
            groups.distinct.push(FxHashSet::default());
        }
        if self.partition.is_some() {
            groups.partitions.push(Vec::new());
        }
        let keys: usize = keys.iter().map(value_size).sum();
        let parts = size_of::<Accumulator>().saturating_add(size_of::<FxHashSet<Value>>());
        let size = self
            .aggregates
            .len()
            .saturating_mul(parts)
            .saturating_add(keys.saturating_mul(2));
        groups.bytes = groups.bytes.saturating_add(size).saturating_add(32);
        group
    }

    /// Takes a row into its group.
    fn add(&self, groups: &mut Groups, group: usize, row: &Row<'_, 'a>) -> Result<()> {
        let first = group.saturating_mul(self.aggregates.len());
        let accumulators = groups.accumulators.iter_mut().skip(first);
        for ((measure, accumulator), place) in self.aggregates.iter().zip(accumulators).zip(first..) {
            if measure.distinct {
                let value = measure.argument.value(row)?;
                let size = value_size(&value);
                let seen = groups.distinct.get_mut(place);
                if value.is_nil() || !seen.is_some_and(|seen| seen.insert(value.clone())) {
                    continue;
                }
                groups.bytes = groups.bytes.saturating_add(size).saturating_add(16);
                accumulator.add(&value)?;
                continue;
            }
            match &measure.argument {
                Argument::Rows => accumulator.add_rows(1),
                Argument::Int(int) => {
                    if let Some(number) = int(row)? {
                        accumulator.add_int(number)?;
                    }
                }
                Argument::Float(float) => {
                    if let Some(number) = float(row)? {
                        accumulator.add_float(number)?;
                    }
                }
                Argument::General(general) => accumulator.add_ref(general(row)?.as_ref())?,
            }
        }
        if let (Some(fields), Some(partition)) = (&self.partition, groups.partitions.get_mut(group)) {
            let mut values = Vec::with_capacity(fields.len());
            for (name, field) in fields {
                values.push((std::sync::Arc::clone(name), field(row)?.into_value()?));
            }
            let member = Value::Struct(values.into());
            groups.bytes = groups.bytes.saturating_add(value_size(&member));
            partition.push(member);
        }
        Ok(())
    }

    /// The row of a group: its keys, its aggregates and its partition.
    fn row(&self, groups: &Groups, group: usize) -> Result<Vec<Value>> {
        let keys = match &self.keys {
            Keys::None => 0,
            Keys::Int(_) | Keys::Text(_) => 1,
            Keys::General(keys) => keys.len(),
        };
        let start = group.saturating_mul(keys);
        let mut row: Vec<Value> = groups.keys.iter().skip(start).take(keys).cloned().collect();
        let count = self.aggregates.len();
        for accumulator in groups
            .accumulators
            .iter()
            .skip(group.saturating_mul(count))
            .take(count)
        {
            row.push(accumulator.finish()?);
        }
        if let Some(partition) = groups.partitions.get(group) {
            row.push(Value::bag(partition.iter().cloned()));
        }
        Ok(row)
    }
}

impl<'a> Argument<'a> {
    fn value(&self, row: &Row<'_, 'a>) -> Result<Value> {
        Ok(match self {
            Argument::Rows => Value::Nil,
            Argument::Int(int) => int(row)?.map_or(Value::Nil, Value::Int),
            Argument::Float(float) => float(row)?.map_or(Value::Nil, Value::Float),
            Argument::General(general) => general(row)?.into_value()?,
        })
    }
}
