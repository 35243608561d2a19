//! Queries, their plans, and older states.

use std::borrow::Cow;
use std::sync::Arc;

use super::answer::{Answer, Outcome};
use super::runner::{Session, unsupported};
use crate::error::{QueryError, QueryErrorCode, Result};
use crate::object::{CommitNumber, Timestamp, Value, text};
use crate::query::ast::{AsOf, Query, Statement, StatementKind};
use crate::query::plan::Explanation;
use crate::query::{Parameters, ProfileSink, Run};
use crate::read::Reader;

impl Session {
    /// Runs a query.
    pub(super) fn query(&mut self, statement: &Statement, parameters: &Parameters) -> Result<Outcome> {
        let engine = self.database.instance().engine().clone();
        let (statement, reader) = self.timed(statement, parameters)?;
        let prepared = engine.prepare(&statement, reader.as_ref(), parameters, &self.settings)?;
        let rows = engine.rows(prepared, reader, parameters, self.run_options())?;
        Ok(Outcome::Rows(Answer::Streamed(rows)))
    }

    /// Shows the plan of a query or change.
    pub(super) fn explain(&mut self, statement: &Statement, parameters: &Parameters) -> Result<Outcome> {
        if !has_plan(statement) {
            return Err(unsupported(statement, "a plan of this statement").into());
        }
        let engine = self.database.instance().engine().clone();
        let (statement, reader) = self.timed(statement, parameters)?;
        let prepared = engine.prepare(&statement, reader.as_ref(), parameters, &self.settings)?;
        Ok(Outcome::Plan(Explanation::of(&prepared, None)))
    }

    /// Runs a query or change and shows its plan with what each node did. A query's rows are read to the end and
    /// dropped; a change is made.
    pub(super) fn profile(&mut self, statement: &Statement, parameters: &Parameters) -> Result<Outcome> {
        if !has_plan(statement) {
            return Err(unsupported(statement, "a profile of this statement").into());
        }
        let sink = ProfileSink::default();
        let run = Run {
            profile: Some(sink.clone()),
            ..self.run_options()
        };
        let prepared = if let StatementKind::Query(_) = statement.kind {
            let engine = self.database.instance().engine().clone();
            let (statement, reader) = self.timed(statement, parameters)?;
            let prepared = engine.prepare(&statement, reader.as_ref(), parameters, &self.settings)?;
            let rows = engine.rows(prepared.clone(), reader, parameters, run)?;
            for row in rows {
                row?;
            }
            prepared
        } else {
            self.change_under(statement, parameters, &run)?.1
        };
        let profile = sink.lock();
        Ok(Outcome::Plan(Explanation::of(&prepared, Some(&profile))))
    }

    /// A statement without its `as of`, and the state it reads.
    fn timed<'s>(
        &self,
        statement: &'s Statement,
        parameters: &Parameters,
    ) -> Result<(Cow<'s, Statement>, Arc<dyn Reader>)> {
        let StatementKind::Query(query) = &statement.kind else {
            return Ok((Cow::Borrowed(statement), self.reader()));
        };
        let Some(as_of) = &query.as_of else {
            return Ok((Cow::Borrowed(statement), self.reader()));
        };
        let reader = self.older(as_of, parameters)?;
        let query = Query {
            as_of: None,
            ..Query::clone(query)
        };
        let now = Statement::new(StatementKind::Query(Box::new(query)), statement.span);
        Ok((Cow::Owned(now), reader))
    }

    /// The state of an earlier commit or time.
    fn older(&self, as_of: &AsOf, parameters: &Parameters) -> Result<Arc<dyn Reader>> {
        let (AsOf::Commit(expression) | AsOf::Timestamp(expression)) = as_of;
        let engine = self.database.instance().engine().clone();
        let value = engine.value(expression, self.reader(), parameters, &self.run_options())?;
        let refused = |wanted: &str| {
            let message = format!("as of needs {wanted}, not {value}");
            QueryError::new(QueryErrorCode::InvalidValue, expression.span, message)
        };
        let snapshot = match as_of {
            AsOf::Commit(_) => {
                let number = value.as_int().and_then(|number| u64::try_from(number).ok());
                let number = number.ok_or_else(|| refused("the number of a commit"))?;
                self.database.snapshot_at(CommitNumber(number))?
            }
            AsOf::Timestamp(_) => {
                let time = time(&value).ok_or_else(|| refused("a timestamp"))?;
                self.database.snapshot_at_time(time)?
            }
        };
        Ok(snapshot.reader())
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Timestamp(time) => Some(*time),
        Value::String(written) => text::parse_timestamp(written).ok(),
        _ => None,
    }
}

fn has_plan(statement: &Statement) -> bool {
    matches!(
        statement.kind,
        StatementKind::Query(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
    )
}
