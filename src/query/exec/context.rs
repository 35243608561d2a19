//! What a running query has beside its operators: the state it reads, its parameters, limits and counters.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};

use super::batch::Batch;
use super::profiler::{Profiler, Sink};
use super::spill::TemporaryFiles;
use crate::error::{Error, Result};
use crate::object::{ClassId, Layout, Oid, Record, Timestamp, Value, ValueRef};
use crate::query::eval::ReverseUse;
use crate::query::function::Call;
use crate::query::plan::{ColumnId, Measures, NodeId};
use crate::read::Reader;

/// What all parts of a running statement read; lives as long as the statement runs.
#[derive(Clone)]
pub struct Shared {
    /// The state that is read.
    pub reader: Arc<dyn Reader>,
    /// The values of the statement's parameters, in its order.
    pub parameters: Arc<[Value]>,
    /// The time of the statement.
    pub now: Timestamp,
    /// Whether operators are measured.
    pub profiled: bool,
}

/// The limits of a query.
#[derive(Debug, Clone)]
pub struct Options {
    /// Set by another thread to stop the query; looked at for every batch.
    pub cancel: Arc<AtomicBool>,
    /// Set when the transaction the query reads in has ended; its rows then give [`Error::Closed`].
    pub ended: Arc<AtomicBool>,
    /// When the query gives up.
    pub deadline: Option<Instant>,
    /// The bytes that sorting, grouping, joining and `distinct` may hold together.
    pub memory: usize,
    /// Where rows go that do not fit in it; without it a query that needs more fails.
    pub temporary: Option<Arc<dyn TemporaryFiles>>,
    /// The time `now()` gives.
    pub now: Timestamp,
    /// Where a profile of the run goes, if one is wanted.
    pub profile: Option<Sink>,
}

impl Default for Options {
    /// No deadline, 64 MiB, and the time of the call.
    fn default() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let micros = now.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
        Options {
            cancel: Arc::default(),
            ended: Arc::default(),
            deadline: None,
            memory: 64 * 1024 * 1024,
            temporary: None,
            now: Timestamp(micros),
            profile: None,
        }
    }
}

/// What a query has read so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Rows given out.
    pub rows: u64,
    /// Objects read.
    pub objects: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Entries read from indexes.
    pub index_entries: u64,
    /// The most bytes held at once by operators that hold rows.
    pub peak_memory: u64,
    /// Bytes written to temporary files.
    pub spilled: u64,
}

/// A class and an attribute of it.
type ClassAttribute = (Arc<str>, Arc<str>);

/// Counters and limits of one running query.
#[derive(Debug)]
pub struct Context {
    options: Options,
    statistics: Cell<Statistics>,
    held: Cell<usize>,
    profiler: Option<RefCell<Profiler>>,
    /// The results of subqueries that depend on nothing outside, by number.
    subqueries: RefCell<FxHashMap<u32, Arc<Answer>>>,
    /// How attributes were asked for backwards, by class and name.
    reverse: RefCell<FxHashMap<ClassAttribute, ReverseUse>>,
}

/// The rows of a subquery that is evaluated once.
#[derive(Debug)]
pub struct Answer {
    /// The values of its rows.
    pub values: Arc<[Value]>,
    /// The same as a set, made at the first look-up.
    pub set: OnceLock<FxHashSet<Value>>,
    /// Whether one is nil.
    pub has_nil: bool,
}

impl Context {
    /// A context that has read nothing.
    pub fn new(options: Options) -> Context {
        Context {
            profiler: options
                .profile
                .clone()
                .map(|sink| RefCell::new(Profiler::new(sink))),
            options,
            statistics: Cell::default(),
            held: Cell::new(0),
            subqueries: RefCell::default(),
            reverse: RefCell::default(),
        }
    }

    /// The flag that stops the query.
    pub fn cancel(&self) -> &Arc<AtomicBool> {
        &self.options.cancel
    }

    /// What has been read so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics.get()
    }

    fn count(&self, change: impl FnOnce(&mut Statistics)) {
        let mut statistics = self.statistics.get();
        change(&mut statistics);
        self.statistics.set(statistics);
    }

    /// Counts rows given out.
    pub fn count_rows(&self, rows: usize) {
        self.count(|s| s.rows = s.rows.saturating_add(rows as u64));
    }

    /// Counts objects read, and the bytes of their bodies.
    pub fn count_objects(&self, objects: usize, bytes: usize) {
        self.count(|s| {
            s.objects = s.objects.saturating_add(objects as u64);
            s.bytes = s.bytes.saturating_add(bytes as u64);
        });
        self.measure(|m| {
            m.objects = m.objects.saturating_add(objects as u64);
            m.bytes = m.bytes.saturating_add(bytes as u64);
        });
    }

    /// Counts index entries read.
    pub fn count_index_entries(&self, entries: usize) {
        self.count(|s| s.index_entries = s.index_entries.saturating_add(entries as u64));
        self.measure(|m| m.index_entries = m.index_entries.saturating_add(entries as u64));
    }

    fn measure(&self, change: impl FnOnce(&mut Measures)) {
        if let Some(profiler) = &self.profiler {
            profiler.borrow_mut().change(change);
        }
    }

    /// What is measured goes to `node` from now on; the node it went to before is returned.
    pub fn enter(&self, node: NodeId) -> NodeId {
        match &self.profiler {
            Some(profiler) => profiler.borrow_mut().enter(node),
            None => NodeId::OUTSIDE,
        }
    }

    /// Counts rows that the operator being measured gives out.
    pub fn count_rows_of_node(&self, rows: usize) {
        self.measure(|m| m.rows = m.rows.saturating_add(rows as u64));
    }

    /// Fails if the query was cancelled, its time is over, or its transaction has ended. Called once a batch.
    pub fn check(&self) -> Result<()> {
        if self.options.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled("the query was cancelled".into()));
        }
        if self.options.ended.load(Ordering::Acquire) {
            return Err(Error::Closed(
                "the transaction these rows belong to has ended; read them before it ends".into(),
            ));
        }
        match self.options.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Error::Cancelled(
                "the query took longer than its deadline allows".into(),
            )),
            _ => Ok(()),
        }
    }

    /// Reserves memory for what `operator` holds; an error that names it if the query's budget is used up.
    pub fn hold(&self, operator: &str, bytes: usize) -> Result<()> {
        let held = self.held.get().saturating_add(bytes);
        if bytes > 0 && held > self.options.memory {
            return Err(Error::Limit(format!(
                "the query is over budget: {operator} needs more than the {} bytes a query may hold; ask for \
                 fewer rows or raise the memory limit",
                self.options.memory
            )));
        }
        self.take(bytes);
        Ok(())
    }

    /// The bytes the query may hold.
    pub fn budget(&self) -> usize {
        self.options.memory
    }

    /// The bytes that can still be held before rows should go elsewhere.
    pub fn room(&self) -> usize {
        (self.options.memory / 4 * 3).saturating_sub(self.held.get())
    }

    /// Where rows go that do not fit in memory.
    pub fn temporary(&self) -> Option<&Arc<dyn TemporaryFiles>> {
        self.options.temporary.as_ref()
    }

    /// Counts bytes written to temporary files.
    pub fn count_spilled(&self, bytes: usize) {
        self.count(|s| s.spilled = s.spilled.saturating_add(bytes as u64));
        self.measure(|m| m.spilled = m.spilled.saturating_add(bytes as u64));
    }

    /// Notes memory that is held whatever the budget says: what was bounded by it before.
    pub fn take(&self, bytes: usize) {
        let held = self.held.get().saturating_add(bytes);
        self.held.set(held);
        self.count(|s| s.peak_memory = s.peak_memory.max(held as u64));
        if let Some(profiler) = &self.profiler {
            profiler.borrow_mut().hold(bytes);
        }
    }

    /// Reserves memory for something that is of use but not needed, where three quarters of the budget hold it.
    pub fn try_hold(&self, bytes: usize) -> bool {
        let fits = bytes <= self.room();
        if fits {
            self.take(bytes);
        }
        fits
    }

    /// How an attribute of a class was asked for backwards so far.
    pub fn reverse_use(&self, class: &Arc<str>, attribute: &Arc<str>) -> ReverseUse {
        let key = (class.clone(), attribute.clone());
        self.reverse.borrow().get(&key).cloned().unwrap_or_default()
    }

    /// Remembers how an attribute of a class was asked for backwards.
    pub fn set_reverse_use(&self, class: &Arc<str>, attribute: &Arc<str>, used: ReverseUse) {
        let key = (class.clone(), attribute.clone());
        self.reverse.borrow_mut().insert(key, used);
    }

    /// Gives back memory that was reserved.
    pub fn release(&self, bytes: usize) {
        self.held.set(self.held.get().saturating_sub(bytes));
        if let Some(profiler) = &self.profiler {
            profiler.borrow_mut().release(bytes);
        }
    }

    /// The answer of the subquery `number`, worked out by `run` at its first use.
    pub fn answer(&self, number: u32, run: impl FnOnce() -> Result<Answer>) -> Result<Arc<Answer>> {
        if let Some(answer) = self.subqueries.borrow().get(&number) {
            return Ok(Arc::clone(answer));
        }
        let answer = Arc::new(run()?);
        self.subqueries.borrow_mut().insert(number, Arc::clone(&answer));
        Ok(answer)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let statistics = self.statistics();
        if let Some(profiler) = &mut self.profiler {
            let total = Measures {
                rows: statistics.rows,
                objects: statistics.objects,
                bytes: statistics.bytes,
                index_entries: statistics.index_entries,
                peak_memory: statistics.peak_memory,
                spilled: statistics.spilled,
                ..Measures::default()
            };
            profiler.get_mut().finish(total);
        }
    }
}

/// One run of operators: everything they read, and the rows around them.
#[derive(Clone, Copy)]
pub struct Run<'r, 'a> {
    /// What is read.
    pub shared: &'a Shared,
    /// Counters and limits.
    pub context: &'r Context,
    /// The rows and variables around a subquery or the right side of an `Apply`.
    pub outer: Option<&'r Scope<'r, 'a>>,
}

/// Where an expression finds its columns: innermost first.
#[derive(Clone, Copy)]
pub struct Scope<'r, 'a> {
    /// What is innermost.
    pub here: Place<'r, 'a>,
    /// What is around it.
    pub parent: Option<&'r Scope<'r, 'a>>,
}

/// A part of a [`Scope`].
#[derive(Clone, Copy)]
pub enum Place<'r, 'a> {
    /// A row of a batch.
    Row(&'r Batch<'a>, usize),
    /// A variable of a quantifier, member filter, mapping or closure.
    Variable(ColumnId, &'r Value),
}

impl<'r, 'a> Scope<'r, 'a> {
    /// The value of a column, borrowed; `None` if the scope does not have it.
    pub fn value(&self, column: ColumnId) -> Option<ValueRef<'r>> {
        let mut scope = Some(self);
        while let Some(current) = scope {
            match current.here {
                Place::Row(batch, row) => {
                    if let Some(cells) = batch.position(column).and_then(|at| batch.column(at)) {
                        return Some(cells.value(row));
                    }
                }
                Place::Variable(id, value) if id == column => return Some(value.as_ref()),
                Place::Variable(..) => {}
            }
            scope = current.parent;
        }
        None
    }

    /// The record in an object column; `None` if it has none here.
    pub fn record(&self, column: ColumnId) -> Option<&'r Record<'a>> {
        let mut scope = Some(self);
        while let Some(current) = scope {
            match current.here {
                Place::Row(batch, row) => {
                    if let Some(cells) = batch.position(column).and_then(|at| batch.column(at)) {
                        return cells.record(row);
                    }
                }
                Place::Variable(id, _) if id == column => return None,
                Place::Variable(..) => {}
            }
            scope = current.parent;
        }
        None
    }
}

impl<'a> Run<'_, 'a> {
    /// The state that is read.
    pub fn reader(&self) -> &'a dyn Reader {
        &*self.shared.reader
    }

    /// What functions of the library may use.
    pub fn call<'c>(&self, check: &'c dyn Fn() -> Result<()>) -> Call<'c>
    where
        'a: 'c,
    {
        Call {
            check,
            reader: self.reader(),
            now: self.shared.now,
        }
    }

    /// The layout of a class.
    pub fn layout(&self, class: ClassId) -> Option<&'a Layout> {
        self.reader()
            .catalog()
            .classes
            .get(&class)
            .map(|class| &*class.layout)
    }

    /// Reads one object outside of the batches.
    pub fn object(&self, oid: Oid) -> Result<Option<Record<'a>>> {
        let record = self.reader().object(oid)?;
        if let Some(record) = &record {
            self.context.count_objects(1, record.body.len());
        }
        Ok(record)
    }
}
