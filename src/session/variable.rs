//! `let`: what a statement or expression gives, kept as a parameter of the statements that follow.

use super::answer::{Answer, Outcome};
use super::runner::Session;
use crate::error::Result;
use crate::object::Value;
use crate::query::ast::{InsertSource, Name, Statement, StatementKind};
use crate::query::{Parameters, Row};

impl Session {
    /// Runs `let`.
    ///
    /// A query gives its value: the one value of a bare expression, else the collection of its rows. A change gives
    /// what it returns: a collection of rows. An insert without `returning` gives the new object, or the list of them
    /// where it was written with rows; an update or delete the number of objects.
    pub(super) fn let_variable(
        &mut self,
        name: &Name,
        value: &Statement,
        parameters: &Parameters,
    ) -> Result<Outcome> {
        let value = match &value.kind {
            StatementKind::Query(_) => self.query_value(value, parameters)?,
            _ => self.change_value(value, parameters)?,
        };
        let shown = match &value {
            Value::Reference(oid) => format!("${} is {}", name.text, self.describe(*oid)),
            other => match other.as_members() {
                Some([_]) => format!("${} has one member", name.text),
                Some(members) => format!("${} has {} members", name.text, members.len()),
                None => format!("${} is {other}", name.text),
            },
        };
        self.variables.set(name.text.clone(), value);
        Ok(Outcome::Done(shown))
    }

    fn query_value(&mut self, statement: &Statement, parameters: &Parameters) -> Result<Value> {
        match self.query(statement, parameters)? {
            Outcome::Rows(Answer::Streamed(rows)) => rows.into_value(),
            Outcome::Rows(Answer::Held { rows, .. }) => Ok(collected(rows)),
            _ => Ok(Value::Nil),
        }
    }

    fn change_value(&mut self, statement: &Statement, parameters: &Parameters) -> Result<Value> {
        let changed = self.change(statement, parameters)?;
        let one = matches!(&statement.kind,
            StatementKind::Insert(insert) if matches!(insert.source, InsertSource::Fields(_)));
        Ok(match changed.outcome {
            Outcome::Changed {
                returning: Some(Answer::Held { rows, .. }),
                ..
            } => match collected(rows) {
                Value::List(rows) if one => rows.first().cloned().unwrap_or_default(),
                rows => rows,
            },
            _ if one => changed
                .objects
                .first()
                .copied()
                .map_or(Value::Nil, Value::Reference),
            Outcome::Changed { affected, .. } if !matches!(statement.kind, StatementKind::Insert(_)) => {
                Value::Int(i64::try_from(affected).unwrap_or(i64::MAX))
            }
            _ => Value::list(changed.objects.into_iter().map(Value::Reference)),
        })
    }

    /// The parameters of a statement: the variables of the session under what was given with it.
    pub(super) fn all_parameters(&self, given: &Parameters) -> Parameters {
        let mut all = self.variables.clone();
        for (name, value) in given.iter() {
            all.set(name, value.clone());
        }
        all
    }
}

fn collected(rows: impl Iterator<Item = Row>) -> Value {
    Value::list(rows.map(|row| {
        let bare = row.labels().len() == 1;
        row.into_value(bare)
    }))
}
