//! The engine: from the text of a statement to what it yields.
//!
//! # The life of a query
//!
//! 1. `token.rs` and `parser/` make a tree of the text ([`ast`](super::ast)); the tree prints itself back.
//! 2. `bind/` resolves names, types and parameters against the catalog: a bound [`Statement`] with a plan.
//! 3. `optimize/` rewrites the plan by small rules, asking the reader for sizes.
//! 4. The statement is kept in the plan cache, under its text, the catalog and the types of its parameters.
//! 5. `exec/` builds operators over a [`Reader`] and compiles expressions; [`Rows`] pulls batches through them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::ast;
use super::bind::{self, bind_statement, bind_value, has_definitions, type_of};
use super::exec::{self, Options, ProfileSink, Row, Rows, TemporaryFiles};
use super::optimize::{ReaderEstimates, optimize};
use super::parameters::Parameters;
use super::parser::parse_statement;
use super::plan::{
    Change, Column, ColumnId, ConflictUpdate, Delete, Expression, Insert, Output, Plan, Query, ResultKind,
    Returning, Statement, Update,
};
use super::plan_cache::{Kept, PlanCache};
use super::prepared::Prepared;
use super::roomy::{may_nest_parsed, with_room};
use super::settings::Settings;
use crate::catalog::Catalog;
use crate::error::{Error, QueryError, QueryErrorCode, Result, Span};
use crate::object::{Oid, Type, Value};
use crate::read::Reader;

/// Parses, binds, optimizes and runs statements; keeps their plans.
#[derive(Debug)]
pub struct Engine {
    memory: usize,
    temporary: Option<Arc<dyn TemporaryFiles>>,
    plans: Mutex<PlanCache>,
    optimizer_off: AtomicBool,
}

/// What a statement runs under.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Set from another thread to stop it.
    pub cancel: Arc<AtomicBool>,
    /// Set when the transaction it reads in has ended.
    pub ended: Arc<AtomicBool>,
    /// What the session has set.
    pub settings: Settings,
    /// Where a profile goes, if one is wanted.
    pub profile: Option<ProfileSink>,
}

/// The types of parameters, by name.
pub(super) type ParameterTypes = Vec<(Arc<str>, Type)>;

impl Engine {
    /// An engine whose queries may hold `memory` bytes each in sorts, groups, joins and `distinct`, and put rows that do
    /// not fit into temporary files.
    pub fn new(memory: usize, temporary: Option<Arc<dyn TemporaryFiles>>) -> Self {
        Engine {
            memory,
            temporary,
            plans: Mutex::default(),
            optimizer_off: AtomicBool::new(false),
        }
    }

    /// Switches the optimizer off or on; plans then keep the form they were bound in. For tests: answers are the same.
    pub fn set_optimizer(&self, on: bool) {
        self.optimizer_off.store(!on, Ordering::Relaxed);
        self.plans.lock().clear();
    }

    /// Runs a query given as text.
    ///
    /// # Errors
    /// [`Error::Query`] where the text is wrong or changes data.
    pub fn query(
        &self,
        text: &str,
        parameters: &Parameters,
        reader: Arc<dyn Reader>,
        ended: Option<Arc<AtomicBool>>,
    ) -> Result<Rows> {
        let prepared = self.prepare_text(text, reader.as_ref(), parameters)?;
        let run = Run {
            ended: ended.unwrap_or_default(),
            ..Run::default()
        };
        self.rows(prepared, reader, parameters, run)
            .map_err(|error| error.locate(text))
    }

    /// The plan of a query given as text; from the cache without parsing where it was met before.
    fn prepare_text(
        &self,
        text: &str,
        reader: &dyn Reader,
        parameters: &Parameters,
    ) -> Result<Arc<Statement>> {
        if let Some(kept) = self.plans.lock().get(text, reader, parameters) {
            return Ok(kept);
        }
        let kept = self.plan(&parse_query_text(text)?, text, reader, parameters)?;
        let prepared = kept.statement().clone();
        self.plans.lock().insert(text.into(), kept);
        Ok(prepared)
    }

    /// A plan of the query `statement`, which was parsed from `text`.
    pub(super) fn plan(
        &self,
        statement: &ast::Statement,
        text: &str,
        reader: &dyn Reader,
        parameters: &Parameters,
    ) -> Result<Kept> {
        let types = parameter_types(parameters, reader);
        let given = bind::Parameters::Given(types.clone());
        let planned = self
            .bind(statement, reader, &given, &Settings::default())
            .map_err(|error| error.locate(text))?;
        Ok(Kept::new(reader, types, planned))
    }

    /// Parses and checks a query that is to be run many times.
    ///
    /// # Errors
    /// [`Error::Query`] where the text is wrong or changes data.
    pub fn prepare_query(&self, text: &str, reader: &dyn Reader) -> Result<Prepared> {
        let statement = parse_query_text(text)?;
        let checked = self
            .bind(
                &statement,
                reader,
                &bind::Parameters::Unknown,
                &Settings::default(),
            )
            .map_err(|error| error.locate(text))?;
        Ok(Prepared::new(text, statement, checked.parameters.clone()))
    }

    /// Runs a prepared query.
    ///
    /// # Errors
    /// [`Error::Query`] where it does not fit the schema any more, or a parameter its place.
    pub fn run(
        &self,
        prepared: &Prepared,
        parameters: &Parameters,
        reader: Arc<dyn Reader>,
        ended: Option<Arc<AtomicBool>>,
    ) -> Result<Rows> {
        let plan = prepared.plan(self, reader.as_ref(), parameters)?;
        let run = Run {
            ended: ended.unwrap_or_default(),
            ..Run::default()
        };
        self.rows(plan, reader, parameters, run)
            .map_err(|error| error.locate(prepared.text()))
    }

    /// The plan of a statement.
    ///
    /// # Errors
    /// [`Error::Query`] where a name, type or parameter is wrong, or the statement has no plan.
    pub fn prepare(
        &self,
        statement: &ast::Statement,
        reader: &dyn Reader,
        parameters: &Parameters,
        settings: &Settings,
    ) -> Result<Arc<Statement>> {
        let given = bind::Parameters::Given(parameter_types(parameters, reader));
        self.bind(statement, reader, &given, settings)
    }

    fn bind(
        &self,
        statement: &ast::Statement,
        reader: &dyn Reader,
        given: &bind::Parameters,
        settings: &Settings,
    ) -> Result<Arc<Statement>> {
        let schema = schema(reader.catalog(), settings);
        with_room(deep(statement.span, &schema), || {
            let bound = bind_statement(statement, &schema, given)?.ok_or_else(|| {
                let message = "this statement has no plan to run";
                QueryError::new(QueryErrorCode::Unsupported, statement.span, message)
            })?;
            Ok(Arc::new(self.optimized(bound, &schema, reader, settings)))
        })
        .map_err(no_thread)?
    }

    fn optimized(
        &self,
        bound: Statement,
        schema: &Catalog,
        reader: &dyn Reader,
        settings: &Settings,
    ) -> Statement {
        if self.optimizer_off.load(Ordering::Relaxed) || !settings.optimizer {
            return bound;
        }
        optimize(bound, schema, &ReaderEstimates(reader))
    }

    /// Begins to run a prepared query.
    pub fn rows(
        &self,
        prepared: Arc<Statement>,
        reader: Arc<dyn Reader>,
        parameters: &Parameters,
        run: Run,
    ) -> Result<Rows> {
        if prepared.explain {
            return explained(&prepared, reader, self.options(&run));
        }
        let values = parameter_values(&prepared, parameters)?;
        exec::execute(prepared, reader, values, self.options(&run))
    }

    /// The value of an expression that stands alone.
    pub fn value(
        &self,
        expression: &ast::Expr,
        reader: Arc<dyn Reader>,
        parameters: &Parameters,
        run: &Run,
    ) -> Result<Value> {
        let given = bind::Parameters::Given(parameter_types(parameters, reader.as_ref()));
        let schema = schema(reader.catalog(), &run.settings);
        let bound = with_room(deep(expression.span, &schema), || {
            let bound = bind_value(expression, &schema, &given)?;
            let optimized = self.optimized(bound, &schema, reader.as_ref(), &run.settings);
            Ok::<_, Error>(Arc::new(optimized))
        })
        .map_err(no_thread)??;
        self.rows(bound, reader, parameters, run.clone())?.into_value()
    }

    /// The rows an insert creates objects from.
    pub fn insert_rows(
        &self,
        prepared: &Statement,
        insert: &Insert,
        reader: Arc<dyn Reader>,
        parameters: &Parameters,
        run: &Run,
    ) -> Result<Vec<Vec<Value>>> {
        exec::insert_rows(
            insert,
            reader,
            parameter_values(prepared, parameters)?,
            self.options(run),
        )
    }

    /// The new values that `on conflict .. update` gives an object.
    pub fn conflict_values(
        &self,
        prepared: &Statement,
        update: &ConflictUpdate,
        object: (Oid, Value),
        reader: Arc<dyn Reader>,
        parameters: &Parameters,
        run: &Run,
    ) -> Result<Vec<Value>> {
        exec::conflict_values(
            update,
            object,
            reader,
            parameter_values(prepared, parameters)?,
            self.options(run),
        )
    }

    /// The objects an update changes, with the new values of its assignments.
    pub fn update_rows(
        &self,
        prepared: &Statement,
        update: &Update,
        reader: Arc<dyn Reader>,
        parameters: &Parameters,
        run: &Run,
    ) -> Result<Vec<(Oid, Vec<Value>)>> {
        exec::update_rows(
            update,
            reader,
            parameter_values(prepared, parameters)?,
            self.options(run),
        )
    }

    /// The objects a delete deletes.
    pub fn delete_targets(
        &self,
        prepared: &Statement,
        delete: &Delete,
        reader: Arc<dyn Reader>,
        parameters: &Parameters,
        run: &Run,
    ) -> Result<Vec<Oid>> {
        exec::delete_targets(
            delete,
            reader,
            parameter_values(prepared, parameters)?,
            self.options(run),
        )
    }

    /// What `returning` gives for objects in the state of `reader`.
    pub fn returning_rows(
        &self,
        prepared: &Statement,
        returning: &Returning,
        oids: &[Oid],
        reader: Arc<dyn Reader>,
        parameters: &Parameters,
        run: &Run,
    ) -> Result<Vec<Row>> {
        exec::returning_rows(
            returning,
            oids,
            reader,
            parameter_values(prepared, parameters)?,
            self.options(run),
        )
    }

    fn options(&self, run: &Run) -> Options {
        Options {
            cancel: run.cancel.clone(),
            ended: run.ended.clone(),
            profile: run.profile.clone(),
            memory: run.settings.memory.unwrap_or(self.memory),
            temporary: self.temporary.clone(),
            deadline: run
                .settings
                .timeout
                .and_then(|timeout| Instant::now().checked_add(timeout)),
            ..Options::default()
        }
    }
}

/// A text that must be a query.
fn parse_query_text(text: &str) -> Result<ast::Statement> {
    let statement = parse_statement(text).map_err(|error| error.locate(text))?;
    if matches!(
        statement.kind,
        ast::StatementKind::Query(_) | ast::StatementKind::Explain(_)
    ) {
        return Ok(statement);
    }
    let message = "this statement is no query; run it in a transaction or a session";
    let error = QueryError::new(QueryErrorCode::TransactionState, statement.span, message);
    Err(error.locate(text).into())
}

fn no_thread(error: std::io::Error) -> Error {
    Error::io("starting a thread for a long statement", error)
}

/// Whether a statement at `span` may nest deeply, itself or through the definitions it uses.
fn deep(span: Span, schema: &Catalog) -> bool {
    may_nest_parsed(span.end.saturating_sub(span.start)) || has_definitions(schema)
}

/// The schema that statements are planned over.
fn schema(catalog: &Arc<Catalog>, settings: &Settings) -> Arc<Catalog> {
    if settings.indexes {
        return catalog.clone();
    }
    let mut without = Catalog::clone(catalog);
    without.indexes.clear();
    without.index_names.clear();
    for class in without.classes.values_mut() {
        Arc::make_mut(class).indexes.clear();
    }
    Arc::new(without)
}

/// The plan itself as rows of text.
fn explained(prepared: &Statement, reader: Arc<dyn Reader>, options: Options) -> Result<Rows> {
    let column = Column {
        id: ColumnId(0),
        name: "plan".into(),
        r#type: Type::String,
    };
    let line = |line: &str| vec![Expression::constant(Value::from(line), Type::String)];
    let rows = prepared.to_string().lines().map(line).collect();
    let plan = Plan::Values {
        columns: vec![column.clone()],
        rows,
    };
    let outputs = vec![Output {
        label: "plan".into(),
        column,
    }];
    let query = Query {
        plan,
        outputs,
        bare: true,
        kind: ResultKind::List,
    };
    let (explain, parameters, columns) = (false, Vec::new(), 1);
    let statement = Statement {
        change: Change::Query(query),
        explain,
        parameters,
        columns,
    };
    exec::execute(Arc::new(statement), reader, Vec::new(), options)
}

fn parameter_types(parameters: &Parameters, reader: &dyn Reader) -> ParameterTypes {
    let typed = |(name, value): (&str, &Value)| (Arc::from(name), type_of(value, reader.catalog()));
    parameters.iter().map(typed).collect()
}

fn parameter_values(prepared: &Statement, parameters: &Parameters) -> Result<Vec<Value>> {
    let value = |(name, _): &(Arc<str>, Type)| {
        let value = parameters.get(name).cloned();
        value.ok_or_else(|| Error::Argument(format!("the parameter ${name} was not given")))
    };
    prepared.parameters.iter().map(value).collect()
}
