//! `Group`: one row for each group of rows with equal keys, with aggregates worked out as the rows pass.

use rustc_hash::{FxHashMap, FxHashSet};

use super::batch::{BATCH, Batch, value_size};
use super::compile::{Floats, General, Ints, Row};
use super::context::Run;
use super::operator::{Boxed, Operator};
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
        let (groups, given) = match self.groups.take() {
            Some(state) => state,
            None => (self.read(run)?, 0),
        };
        let end = given.saturating_add(BATCH).min(groups.count);
        for group in given..end {
            output.push_values(self.row(&groups, group)?);
        }
        self.groups = Some((groups, end));
        Ok(end > given)
    }

    fn rewind(&mut self, run: &Run<'_, 'a>) {
        if let Some((groups, _)) = self.groups.take() {
            run.context.release(groups.held);
        }
        self.input.rewind(run);
    }
}

impl<'a> Group<'a> {
    fn read(&mut self, run: &Run<'_, 'a>) -> Result<Groups> {
        let mut groups = Groups::default();
        if matches!(self.keys, Keys::None) {
            self.open(&mut groups, &[]);
        }
        let mut batch = Batch::default();
        while self.input.next(run, &mut batch)? {
            run.context.check()?;
            let each = if self.counts_only() {
                let rows = i64::try_from(batch.len()).unwrap_or(i64::MAX);
                groups
                    .accumulators
                    .iter_mut()
                    .for_each(|count| count.add_rows(rows));
                None
            } else {
                Some(batch.rows())
            };
            for index in each.into_iter().flatten() {
                let row = Row {
                    batch: &batch,
                    index,
                    run,
                };
                let group = self.find(&mut groups, &row)?;
                self.add(&mut groups, group, &row)?;
            }
            let more = groups.bytes.saturating_sub(groups.held);
            run.context.hold("group by", more)?;
            groups.held = groups.bytes;
        }
        Ok(groups)
    }

    /// Whether all that is asked for is how many rows there are.
    fn counts_only(&self) -> bool {
        let counts = |measure: &Measure<'_>| !measure.distinct && matches!(measure.argument, Argument::Rows);
        matches!(self.keys, Keys::None) && self.partition.is_none() && self.aggregates.iter().all(counts)
    }

    /// The number of the group a row belongs to.
    fn find(&self, groups: &mut Groups, row: &Row<'_, 'a>) -> Result<usize> {
        match &self.keys {
            Keys::None => Ok(0),
            Keys::Int(int) => match int(row)? {
                None => Ok(self.nil_group(groups)),
                Some(key) => Ok(match groups.ints.get(&key) {
                    Some(group) => *group,
                    None => {
                        let group = self.open(groups, &[Value::Int(key)]);
                        groups.ints.insert(key, group);
                        group
                    }
                }),
            },
            Keys::Text(general) => {
                let key = general(row)?;
                let ValueRef::String(text) = key.as_ref() else {
                    return Ok(self.nil_group(groups));
                };
                if let Some(group) = groups.texts.get(text) {
                    return Ok(*group);
                }
                let group = self.open(groups, &[key.as_ref().to_value()?]);
                groups.texts.insert(text.into(), group);
                Ok(group)
            }
            Keys::General(keys) => {
                let mut values = Vec::with_capacity(keys.len());
                for key in keys {
                    values.push(key(row)?.into_value()?);
                }
                if let Some(group) = groups.general.get(values.as_slice()) {
                    return Ok(*group);
                }
                let group = self.open(groups, &values);
                groups.general.insert(values.into(), group);
                Ok(group)
            }
        }
    }

    fn nil_group(&self, groups: &mut Groups) -> usize {
        if let Some(group) = groups.nil {
            return group;
        }
        let group = self.open(groups, &[Value::Nil]);
        groups.nil = Some(group);
        group
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
