//! `olivine exec`: runs a script and writes one result a statement.
//!
//! The text is parsed whole before anything runs. A statement that fails stops the script, unless it is told to keep
//! going; then the exit code still tells, and results and errors keep the order of the statements.

use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;

use super::build_meter::BuildMeter;
use super::interrupt::Interrupt;
use super::problem::{Problem, with_causes};
use super::render::{Format, WriteError, write_error, write_outcome};
use crate::database::Database;
use crate::error::{Error, QueryError};
use crate::query::ast::Statement;
use crate::query::{Parameters, caret};
use crate::session::Session;

/// What to run, on what.
#[derive(Debug)]
pub struct Script {
    /// The database directory.
    pub database: PathBuf,
    /// Where the statements are.
    pub input: Input,
    /// The values of parameters.
    pub parameters: Parameters,
    /// How results are written.
    pub format: Format,
    /// Whether to go on after a failure.
    pub keep_going: bool,
    /// Whether to open the database for reading only.
    pub read_only: bool,
}

/// Where the statements of a script are.
#[derive(Debug)]
pub enum Input {
    /// Here.
    Text(String),
    /// In a file.
    File(PathBuf),
    /// On standard input.
    Standard,
}

impl Input {
    /// What errors call it.
    fn name(&self) -> String {
        match self {
            Input::Text(_) => "command".into(),
            Input::File(path) => path.display().to_string(),
            Input::Standard => "standard input".into(),
        }
    }

    fn read(&self) -> Result<String, Problem> {
        let bytes = match self {
            Input::Text(text) => return Ok(text.clone()),
            Input::File(path) => std::fs::read(path),
            Input::Standard => {
                let mut bytes = Vec::new();
                io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
            }
        };
        let bytes = bytes.map_err(|error| Problem::Failed(format!("reading {}: {error}", self.name())))?;
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..valid).unwrap_or_default();
            let line = before
                .iter()
                .filter(|byte| **byte == b'\n')
                .count()
                .saturating_add(1);
            Problem::Failed(format!(
                "{}:{line}: the text is not UTF-8; convert it first",
                self.name()
            ))
        })
    }
}

/// Runs a script.
pub fn run(script: &Script) -> Result<(), Problem> {
    let text = script.input.read()?;
    let options = Database::options(&script.database)
        .read_only(script.read_only)
        .create(!script.read_only);
    let database = options.open()?;
    let interrupt = Interrupt::install();
    let mut output = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let outcome = run_text(script, &text, &database, &interrupt, &mut output);
    let flushed = output.flush().map_err(Problem::from);
    outcome.and(flushed)?;
    drop(output);
    database.close().map_err(Problem::from)
}

fn run_text(
    script: &Script,
    text: &str,
    database: &Database,
    interrupt: &Interrupt,
    output: &mut dyn Write,
) -> Result<(), Problem> {
    let mut session = Session::new(database.clone());
    session.set_cancel(interrupt.flag());
    let meter = BuildMeter::of(&mut session);
    let statements = match Session::parse(text) {
        Ok(statements) => statements,
        Err(error) => {
            fail(script, text, None, error.into(), output)?;
            return Err(Problem::Said);
        }
    };
    let mut failed = false;
    for statement in &statements {
        let run = run_statement(script, statement, text, &mut session, output);
        meter.clear();
        match run? {
            Ok(()) => {}
            Err(error) => {
                fail(script, text, Some(statement), error, output)?;
                if !script.keep_going || interrupt.is_set() {
                    return Err(Problem::Said);
                }
                failed = true;
            }
        }
    }
    if session.in_transaction() {
        output.flush()?;
        return Err(Problem::Failed(
            "the script ended inside a transaction, which was rolled back; end it with commit".into(),
        ));
    }
    if failed { Err(Problem::Said) } else { Ok(()) }
}

/// Runs one statement and writes its result. The outer error is about the output, the inner about the statement.
fn run_statement(
    script: &Script,
    statement: &Statement,
    text: &str,
    session: &mut Session,
    output: &mut dyn Write,
) -> Result<Result<(), Error>, Problem> {
    let outcome = match session.run(statement, text, &script.parameters) {
        Ok(outcome) => outcome,
        Err(error) => return Ok(Err(error)),
    };
    let written = write_outcome(outcome, script.format, &|oid| session.describe(oid), output);
    match written {
        Ok(()) => {
            // Whoever reads our output may take a line for an acknowledgement, so it does not wait for the next one.
            if !session.in_transaction() {
                output.flush()?;
            }
            Ok(Ok(()))
        }
        Err(WriteError::Rows(Error::Query(error))) if error.position.is_none() => {
            Ok(Err(error.locate(text).into()))
        }
        Err(WriteError::Rows(error)) => Ok(Err(error)),
        Err(WriteError::Output(error)) => Err(error.into()),
    }
}

/// Says an error on standard error, and in a JSON stream that goes on also there.
fn fail(
    script: &Script,
    text: &str,
    statement: Option<&Statement>,
    error: Error,
    output: &mut dyn Write,
) -> Result<(), Problem> {
    let error = &error.locate(text);
    if script.format == Format::Json && script.keep_going {
        write_error(error, output)?;
    }
    output.flush()?;
    let place = match error {
        Error::Query(error) => error.position,
        _ => statement.map(|statement| crate::error::line_and_column(text, statement.span.start)),
    };
    let name = script.input.name();
    let mut sentence = match place {
        Some((line, column)) => format!("{name}:{line}:{column}: {}", without_place(error)),
        None => format!("{name}: {}", with_causes(error)),
    };
    if let Error::Query(error) = error {
        sentence.push('\n');
        sentence.push_str(&caret(text, error));
    }
    // Where standard error is closed, the exit code has to do.
    let _ = writeln!(io::stderr(), "{}", sentence.trim_end());
    Ok(())
}

fn without_place(error: &Error) -> String {
    match error {
        Error::Query(error) => QueryError {
            position: None,
            ..QueryError::clone(error)
        }
        .to_string(),
        other => with_causes(other),
    }
}
