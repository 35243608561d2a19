//! The statement `collect garbage`.

use super::answer::{Answer, Outcome};
use super::runner::{Session, state_error};
use crate::error::{Error, Result};
use crate::maintain::{CollectOptions, CollectReport};
use crate::object::Value;
use crate::query::ast::Statement;

impl Session {
    /// Collects garbage, or says what would be collected; a cancelled collection keeps what it has deleted.
    pub(super) fn collect(&mut self, dry_run: bool, statement: &Statement) -> Result<Outcome> {
        if self.in_transaction() {
            let message = "collect garbage does not run inside a transaction; end it first";
            return Err(state_error(statement, message).into());
        }
        let options = CollectOptions::new().dry_run(dry_run);
        let report = self.database.collect_watched(&options, &mut |_| self.go_on())?;
        if report.interrupted {
            let sentence = "the collection was cancelled; what it has deleted stays deleted";
            return Err(Error::Cancelled(sentence.into()));
        }
        Ok(match dry_run && !report.classes.is_empty() {
            true => Outcome::Rows(findings(&report)),
            false => Outcome::Done(report.to_string()),
        })
    }
}

/// The dependent classes with their garbage, then the roots with what they keep alive.
fn findings(report: &CollectReport) -> Answer {
    let count = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let class = |found: &crate::maintain::ClassGarbage| {
        vec![
            Value::String(format!("class {}", found.class).into()),
            count(found.objects),
            count(found.garbage),
            Value::list(found.samples.iter().copied().map(Value::Reference)),
        ]
    };
    let root = |found: &crate::maintain::RootReach| {
        vec![
            Value::String(format!("reached from {}", found.root).into()),
            count(found.reached),
            Value::Nil,
            Value::Nil,
        ]
    };
    let rows = report.classes.iter().map(class);
    let rows = rows.chain(report.roots.iter().map(root)).collect();
    Answer::held(
        [
            "what".into(),
            "objects".into(),
            "garbage".into(),
            "samples".into(),
        ],
        rows,
    )
}
