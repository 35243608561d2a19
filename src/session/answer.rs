//! What a statement comes to.

use std::sync::Arc;

use crate::error::Result;
use crate::object::Value;
use crate::query::plan::Explanation;
use crate::query::{Row, Rows};

/// What a statement comes to.
#[derive(Debug)]
pub enum Outcome {
    /// A query: its rows.
    Rows(Answer),
    /// A change of objects.
    Changed {
        /// What was done: `inserted`, `updated`, `deleted`.
        verb: &'static str,
        /// How many objects.
        affected: u64,
        /// What `returning` gave.
        returning: Option<Answer>,
    },
    /// `explain` and `profile`: a plan.
    Plan(Explanation),
    /// Anything else, as a sentence.
    Done(String),
}

/// Rows with labels: streamed from a running query, or held.
#[derive(Debug)]
pub enum Answer {
    /// From a running query.
    Streamed(Rows),
    /// Worked out already.
    Held {
        /// The labels of the columns.
        labels: Arc<[Arc<str>]>,
        /// The rows still to come.
        rows: std::vec::IntoIter<Row>,
    },
}

impl Answer {
    /// A plan as rows of text, one a node.
    pub fn of_plan(plan: &Explanation) -> Self {
        let rows = plan.lines().into_iter();
        let rows = rows.map(|line| vec![Value::from(line.as_str())]).collect();
        Answer::held(["plan".into()], rows)
    }

    /// An answer of rows that are worked out already.
    pub fn held(labels: impl IntoIterator<Item = Arc<str>>, rows: Vec<Vec<Value>>) -> Self {
        let labels: Arc<[Arc<str>]> = labels.into_iter().collect();
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|values| Row::new(labels.clone(), values))
            .collect();
        Answer::Held {
            labels,
            rows: rows.into_iter(),
        }
    }

    /// The labels of the columns.
    pub fn labels(&self) -> &[Arc<str>] {
        match self {
            Answer::Streamed(rows) => rows.labels(),
            Answer::Held { labels, .. } => labels,
        }
    }
}

impl Iterator for Answer {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        match self {
            Answer::Streamed(rows) => rows.next(),
            Answer::Held { rows, .. } => rows.next().map(Ok),
        }
    }
}
