//! One result, in the format asked for.

use std::io::{self, Write};

use super::cell::Name;
use super::{csv, json, table};
use crate::error::Error;
use crate::session::{Answer, Outcome};

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns for people.
    Table,
    /// One JSON object a statement and line.
    Json,
    /// Comma-separated values with a header line.
    Csv,
}

/// What stops a result from being written.
#[derive(Debug)]
pub enum WriteError {
    /// The rows ended in an error.
    Rows(Error),
    /// The output cannot be written.
    Output(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Output(error)
    }
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        WriteError::Rows(error)
    }
}

/// Writes what a statement came to. `name` makes text of an object.
pub fn write_outcome(
    outcome: Outcome,
    format: Format,
    name: Name<'_>,
    output: &mut dyn Write,
) -> Result<(), WriteError> {
    match outcome {
        Outcome::Rows(rows) => write_rows(rows, None, format, name, output),
        Outcome::Changed {
            affected,
            returning: Some(rows),
            ..
        } => write_rows(rows, Some(affected), format, name, output),
        Outcome::Changed {
            verb,
            affected,
            returning: None,
        } => match format {
            Format::Table => Ok(writeln!(output, "{affected} {} {verb}", plural(affected))?),
            Format::Json => Ok(json::affected(affected, output)?),
            Format::Csv => Ok(()),
        },
        Outcome::Plan(plan) => match format {
            Format::Json => Ok(json::value(&plan.to_value(), name, output)?),
            _ => write_rows(Answer::of_plan(&plan), None, format, name, output),
        },
        Outcome::Done(sentence) => match format {
            Format::Table => Ok(writeln!(output, "{sentence}")?),
            Format::Json => Ok(json::affected(0, output)?),
            Format::Csv => Ok(()),
        },
    }
}

/// "object" or "objects".
pub fn plural(count: u64) -> &'static str {
    if count == 1 { "object" } else { "objects" }
}

fn write_rows(
    rows: Answer,
    affected: Option<u64>,
    format: Format,
    name: Name<'_>,
    output: &mut dyn Write,
) -> Result<(), WriteError> {
    match format {
        Format::Table => table::write(rows, name, output),
        Format::Json => json::write(rows, affected, name, output),
        Format::Csv => csv::write(rows, name, output),
    }
}

/// Writes an error as a line of JSON.
pub fn write_error(error: &Error, output: &mut dyn Write) -> io::Result<()> {
    json::error(error, output)
}
