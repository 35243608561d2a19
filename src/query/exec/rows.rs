//! The rows of a query, pulled a batch at a time.

use std::sync::Arc;

use self_cell::self_cell;

use super::batch::Batch;
use super::build::build_root;
use super::context::{Context, Options, Run, Shared, Statistics};
use super::operator::Boxed;
use crate::error::{Error, Result};
use crate::object::Value;
use crate::query::cancel::CancelHandle;
use crate::query::plan::{Change, Output, Plan, Query, ResultKind, Statement};

/// What the operators borrow from.
struct Source {
    statement: Arc<Statement>,
    shared: Shared,
}

/// What runs: the operators, and the rows they gave last.
struct Running<'a> {
    operator: Boxed<'a>,
    batch: Batch<'a>,
    /// How many of its selected rows were given out.
    given: usize,
    /// The places of the outputs in the batch.
    outputs: Vec<usize>,
    /// Whether no column is given out twice, so that values may be moved out of the batch.
    apart: bool,
}

self_cell!(
    struct Execution {
        owner: Source,
        #[not_covariant]
        dependent: Running,
    }
);

/// The rows of a query: an iterator that runs the query as it is read. Owned, `'static` and `Send`.
///
/// After an error, and after the last row, it gives no more rows.
pub struct Rows {
    execution: Execution,
    context: Box<Context>,
    labels: Arc<[Arc<str>]>,
    done: bool,
}

/// One row: values with labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    labels: Arc<[Arc<str>]>,
    values: Vec<Value>,
}

/// The query of a statement.
fn query(statement: &Statement) -> Result<&Query> {
    match &statement.change {
        Change::Query(query) => Ok(query),
        _ => Err(Error::Argument(
            "this statement changes data; it is no query".into(),
        )),
    }
}

/// The places of the outputs in the rows of the plan.
fn places(query: &Query) -> Vec<usize> {
    let outputs = query.outputs.iter();
    if let Plan::Project { columns, .. } = &query.plan {
        let place = |output: &Output| columns.iter().position(|(column, _)| *column == output.column);
        return outputs.filter_map(place).collect();
    }
    let columns = query.plan.columns();
    let place = |output: &Output| columns.iter().position(|column| *column == output.column);
    outputs.filter_map(place).collect()
}

/// Whether the place at `at` is among those before it.
fn has_before(places: &[usize], at: usize) -> bool {
    let place = places.get(at);
    places.iter().take(at).any(|before| Some(before) == place)
}

impl Rows {
    /// Begins to run the query of a statement; nothing is read before the first row is asked for.
    pub(super) fn new(statement: Arc<Statement>, shared: Shared, options: Options) -> Result<Rows> {
        let outputs = &query(&statement)?.outputs;
        let labels = outputs.iter().map(|output| Arc::clone(&output.label)).collect();
        let execution = Execution::try_new(Source { statement, shared }, |source| {
            let query = query(&source.statement)?;
            let outputs = places(query);
            let apart = (1..outputs.len()).all(|at| !has_before(&outputs, at));
            Ok::<_, Error>(Running {
                operator: build_root(&query.plan, &source.shared)?,
                batch: Batch::default(),
                given: 0,
                outputs,
                apart,
            })
        })?;
        Ok(Rows {
            execution,
            context: Box::new(Context::new(options)),
            labels,
            done: false,
        })
    }

    fn query(&self) -> Result<&Query> {
        query(&self.execution.borrow_owner().statement)
    }

    /// The labels of the columns.
    pub fn labels(&self) -> &[Arc<str>] {
        &self.labels
    }

    /// The types of the columns, in the order of the labels.
    pub fn types(&self) -> Vec<crate::object::Type> {
        let outputs = self
            .query()
            .map(|query| query.outputs.as_slice())
            .unwrap_or_default();
        outputs
            .iter()
            .map(|output| output.column.r#type.clone())
            .collect()
    }

    /// Whether a row stands for the bare value of its one column.
    pub fn is_bare(&self) -> bool {
        self.query().is_ok_and(|query| query.bare)
    }

    /// What the rows are together: a bag, a set, a list, or a single value.
    pub fn kind(&self) -> ResultKind {
        self.query().map_or(ResultKind::Bag, |query| query.kind)
    }

    /// The commit number of the state that is read.
    pub fn commit(&self) -> crate::object::CommitNumber {
        self.execution.borrow_owner().shared.reader.commit()
    }

    /// The state the rows are read from, to follow references in them.
    pub fn reader(&self) -> &Arc<dyn crate::read::Reader> {
        &self.execution.borrow_owner().shared.reader
    }

    /// What has been read so far.
    pub fn statistics(&self) -> Statistics {
        self.context.statistics()
    }

    /// A handle that stops the query from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle::new(self.context.cancel().clone())
    }

    /// The values of the next row; `None` at the end.
    fn advance(&mut self) -> Result<Option<Vec<Value>>> {
        let context = &self.context;
        self.execution.with_dependent_mut(|source, running| {
            context.check()?;
            while running.given >= running.batch.len() {
                let run = Run {
                    shared: &source.shared,
                    context,
                    outer: None,
                };
                if !running.operator.next(&run, &mut running.batch)? {
                    return Ok(None);
                }
                running.given = 0;
                context.count_rows(running.batch.len());
            }
            let row = running.batch.row(running.given);
            running.given = running.given.saturating_add(1);
            Ok(Some(if running.apart {
                running.batch.take_values(&running.outputs, row)
            } else {
                running.batch.values(&running.outputs, row)
            }))
        })
    }

    /// All remaining rows as one value: the list, set or bag of the rows' values, or the single value.
    pub fn into_value(mut self) -> Result<Value> {
        let bare = self.is_bare();
        let mut values = Vec::new();
        for row in &mut self {
            values.push(row?.into_value(bare));
        }
        Ok(match self.kind() {
            ResultKind::Single => values.pop().unwrap_or_default(),
            ResultKind::List => Value::List(values.into()),
            ResultKind::Set => Value::set(values),
            ResultKind::Bag => Value::bag(values),
        })
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        if self.done {
            return None;
        }
        match self.advance() {
            Ok(Some(values)) => Some(Ok(Row {
                labels: Arc::clone(&self.labels),
                values,
            })),
            Ok(None) => {
                self.done = true;
                None
            }
            Err(error) => {
                self.done = true;
                Some(Err(error))
            }
        }
    }
}

impl std::iter::FusedIterator for Rows {}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("labels", &self.labels)
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}

impl Row {
    /// A row of these values.
    pub fn new(labels: Arc<[Arc<str>]>, values: Vec<Value>) -> Row {
        Row { labels, values }
    }

    /// The labels of the columns.
    pub fn labels(&self) -> &[Arc<str>] {
        &self.labels
    }

    /// The value of the column at `index`, counted from 0.
    pub fn get(&self, index: usize) -> Option<&Value> {
        self.values.get(index)
    }

    /// The value of the column with this label.
    pub fn get_named(&self, label: &str) -> Option<&Value> {
        let index = self.labels.iter().position(|candidate| &**candidate == label)?;
        self.values.get(index)
    }

    /// The values, in the order of the labels.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The values, owned.
    pub fn into_values(self) -> Vec<Value> {
        self.values
    }

    /// The row as one value: its only value where `bare`, else a struct.
    pub fn into_value(mut self, bare: bool) -> Value {
        if bare {
            return self.values.pop().unwrap_or_default();
        }
        Value::structure(self.labels.iter().cloned().zip(self.values))
    }
}
