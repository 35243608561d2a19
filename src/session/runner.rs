//! The session: dispatches each statement to what runs it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::answer::{Answer, Outcome};
use crate::database::Database;
use crate::error::{Error, QueryError, QueryErrorCode, Result};
use crate::instance::BuildWatch;
use crate::maintain::Finding;
use crate::object::{Oid, Value};
use crate::query::ast::{Statement, StatementKind};
use crate::query::{CancelHandle, Parameters, Run, Settings};
use crate::read::Reader;
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;

/// Runs statements on one database. Outside `begin` .. `commit` each is a transaction of its own. Dropping the session
/// rolls an open transaction back.
///
/// ```
/// use olivine::{Database, Outcome, Session};
///
/// let mut session = Session::new(Database::in_memory()?);
/// session.execute("create class Book { title: string, year: int }", ())?;
/// session.execute("insert Book(title: 'Solaris', year: 1961)", ())?;
/// let outcomes = session.execute("select title from Book where year < $1", (1970,))?;
/// assert!(matches!(outcomes.as_slice(), [Outcome::Rows(_)]));
/// # Ok::<(), olivine::Error>(())
/// ```
#[derive(Debug)]
pub struct Session {
    pub(super) database: Database,
    pub(super) open: Open,
    /// What `let` has kept.
    pub(super) variables: Parameters,
    /// What `set` has set.
    pub(super) settings: Settings,
    pub(super) cancel: Arc<AtomicBool>,
    pub(super) progress: Option<BuildWatch>,
}

/// What `begin` left open.
#[derive(Debug)]
pub(super) enum Open {
    /// Nothing: each statement is a transaction of its own.
    Nothing,
    /// A transaction.
    Transaction(Box<Transaction>),
    /// A transaction that only reads.
    Reading(Snapshot),
}

impl Session {
    /// A session without an open transaction.
    pub fn new(database: Database) -> Self {
        Session {
            database,
            open: Open::Nothing,
            variables: Parameters::new(),
            settings: Settings::default(),
            cancel: Arc::default(),
            progress: None,
        }
    }

    /// Has `watch` told how far an index is that a statement builds over existing objects: now and then. Where it says
    /// `Break`, the statement ends in [`Error::Cancelled`] and there is no such index, as after the cancel flag.
    pub fn set_build_watch(&mut self, watch: BuildWatch) {
        self.progress = Some(watch);
    }

    /// What the build of an index is told: to go on, until the cancel flag or the caller's watch says otherwise.
    pub(super) fn build_watch(&self) -> BuildWatch {
        let (cancel, progress) = (self.cancel.clone(), self.progress.clone());
        BuildWatch::new(move |built| match &progress {
            _ if cancel.load(Ordering::Acquire) => ControlFlow::Break(()),
            Some(progress) => progress.tell(built),
            None => ControlFlow::Continue(()),
        })
    }

    /// Gives the flag that stops a running statement from another thread: it ends in [`Error::Cancelled`] within a
    /// batch of rows. Whoever sets the flag clears it.
    pub fn set_cancel(&mut self, flag: Arc<AtomicBool>) {
        self.cancel = flag;
    }

    /// A handle that stops the statement that runs, from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle::new(self.cancel.clone())
    }

    /// What `let` has kept so far, by name.
    pub fn variables(&self) -> &Parameters {
        &self.variables
    }

    /// Whether `begin` has opened a transaction that is not yet ended.
    pub fn in_transaction(&self) -> bool {
        !matches!(self.open, Open::Nothing)
    }

    /// The statements of a text. The text is parsed whole: nothing of it runs if any statement is wrong.
    ///
    /// # Errors
    /// The first syntax error, with line and column.
    pub fn parse(text: &str) -> std::result::Result<Vec<Statement>, QueryError> {
        crate::query::parse_script(text).map_err(|error| error.locate(text))
    }

    /// Runs all statements of a text, and stops at the first that fails.
    ///
    /// # Errors
    /// Of the statement that failed; those before it have run.
    pub fn execute(&mut self, text: &str, parameters: impl Into<Parameters>) -> Result<Vec<Outcome>> {
        let parameters = parameters.into();
        let statements = Self::parse(text)?;
        statements
            .iter()
            .map(|statement| self.run(statement, text, &parameters))
            .collect()
    }

    /// Runs one statement that was parsed from `text`.
    ///
    /// # Errors
    /// What is wrong with the statement, with line and column in `text`. A statement that fails changes nothing.
    pub fn run(&mut self, statement: &Statement, text: &str, parameters: &Parameters) -> Result<Outcome> {
        if let Open::Transaction(transaction) = &self.open {
            transaction.note_names(text.get(statement.span.start..statement.span.end).unwrap_or(text));
        }
        let parameters = self.all_parameters(parameters);
        self.dispatch(statement, &parameters)
            .map_err(|error| error.locate(text))
    }

    /// An object as text in the state the session sees: `Person#42`.
    pub fn describe(&self, oid: Oid) -> String {
        self.reader().catalog().describe(oid)
    }

    fn dispatch(&mut self, statement: &Statement, parameters: &Parameters) -> Result<Outcome> {
        match &statement.kind {
            StatementKind::Query(_) => self.query(statement, parameters),
            StatementKind::Explain(explained) => self.explain(explained, parameters),
            StatementKind::Profile(profiled) => self.profile(profiled, parameters),
            StatementKind::Insert(_) | StatementKind::Update(_) | StatementKind::Delete(_) => {
                self.change(statement, parameters).map(|changed| changed.outcome)
            }
            StatementKind::Let { parameter, value } => self.let_variable(parameter, value, parameters),
            StatementKind::Set { option, value } => self.set(option, value, parameters),
            StatementKind::Define(define) => self.define_query(define),
            StatementKind::Undefine(name) => self.undefine_query(name),
            StatementKind::Begin(begin) => self.begin(begin, statement),
            StatementKind::Commit => self.commit(statement),
            StatementKind::Rollback => self.rollback(statement),
            StatementKind::Savepoint(name) => self.savepoint(name),
            StatementKind::RollbackTo(name) => self.rollback_to(name),
            StatementKind::Release(name) => self.release(name),
            StatementKind::CreateClass(_)
            | StatementKind::AlterClass(_)
            | StatementKind::DropClass { .. }
            | StatementKind::CreateIndex(_)
            | StatementKind::DropIndex { .. }
            | StatementKind::Name { .. }
            | StatementKind::Unname(_) => self.define(statement, parameters),
            StatementKind::Show(_) | StatementKind::Describe(_) => self.show(statement),
            StatementKind::Check => self.check(),
            StatementKind::Compact { cluster_by } => self.compact(cluster_by.as_deref(), statement),
            StatementKind::CollectGarbage { dry_run } => self.collect(*dry_run, statement),
            StatementKind::Backup { path } => self.backup(path, statement, parameters),
            _ => Err(unsupported(statement, "this statement").into()),
        }
    }

    fn check(&self) -> Result<Outcome> {
        let report = self.database.check_watched(&mut |_| self.go_on())?;
        let row = |finding: &Finding| vec![finding.place.as_str().into(), finding.what.as_str().into()];
        let rows: Vec<Vec<Value>> = report.findings.iter().map(row).collect();
        Ok(match rows.is_empty() {
            true => Outcome::Done(report.to_string()),
            false => Outcome::Rows(Answer::held(["place".into(), "what".into()], rows)),
        })
    }

    /// What the next statement runs under.
    pub(super) fn run_options(&self) -> Run {
        let ended = match &self.open {
            Open::Transaction(transaction) => transaction.ended(),
            _ => Arc::default(),
        };
        Run {
            cancel: self.cancel.clone(),
            ended,
            settings: self.settings,
            profile: None,
        }
    }

    /// The state the next statement reads.
    pub(crate) fn reader(&self) -> Arc<dyn Reader> {
        match &self.open {
            Open::Nothing => self.database.snapshot().reader(),
            Open::Transaction(transaction) => transaction.reader(),
            Open::Reading(snapshot) => snapshot.reader(),
        }
    }

    /// Runs `work` in the open transaction, which is as it was before if `work` fails, or in one of its own that is
    /// committed, and run again where another transaction was faster.
    pub(super) fn write<R>(&mut self, work: impl FnMut(&mut Transaction) -> Result<R>) -> Result<R> {
        match &mut self.open {
            Open::Nothing => self.database.transact(work),
            Open::Transaction(transaction) => transaction.atomically(work),
            Open::Reading(_) => Err(Error::ReadOnly(
                "the open transaction only reads; end it, and begin one without read only".into(),
            )),
        }
    }
}

/// A statement where it may not stand.
pub(super) fn state_error(statement: &Statement, message: &str) -> QueryError {
    QueryError::new(QueryErrorCode::TransactionState, statement.span, message)
}

/// Valid language that this version does not run.
pub(super) fn unsupported(statement: &Statement, what: &str) -> QueryError {
    let message = format!("{what} is valid, but not supported in this version");
    QueryError::new(QueryErrorCode::Unsupported, statement.span, message)
}
