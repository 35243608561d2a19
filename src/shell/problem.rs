//! What ends the command, and how it is said.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::error::Error;

/// Why the command stops.
#[derive(Debug)]
pub enum Problem {
    /// Something failed: the sentence was not printed yet.
    Failed(String),
    /// Something failed, and was already said.
    Said,
    /// The command was used wrongly.
    Usage(String),
    /// The reader of our output has left.
    ClosedPipe,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Argument(sentence) => Problem::Usage(sentence),
            other => Problem::Failed(with_causes(&other)),
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Problem::ClosedPipe,
            _ => Problem::Failed(format!("writing the output: {error}")),
        }
    }
}

/// An error with what it was caused by, where its own sentence does not say.
pub fn with_causes(error: &Error) -> String {
    let mut sentence = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        let text = deeper.to_string();
        if !sentence.contains(&text) {
            sentence.push_str(": ");
            sentence.push_str(&text);
        }
        cause = deeper.source();
    }
    sentence
}

/// Says what is left to say on standard error, and gives the exit code.
pub fn report(problem: &Problem) -> ExitCode {
    let (sentence, code) = match problem {
        Problem::Failed(sentence) => (Some(sentence), 1),
        Problem::Said => (None, 1),
        Problem::Usage(sentence) => (Some(sentence), 2),
        Problem::ClosedPipe => (None, 141),
    };
    if let Some(sentence) = sentence {
        // Where standard error is closed too, the exit code has to do.
        let _ = writeln!(io::stderr(), "olivine: {sentence}");
    }
    ExitCode::from(code)
}

/// Writes what the command line itself asked for (help, the version) or why it is wrong, and gives the exit code. Help
/// that could not be written is a failure like any other.
pub fn answer(answer: &clap::Error) -> ExitCode {
    let wrong = answer.use_stderr();
    match answer.print().and_then(|()| io::stdout().flush()) {
        Err(error) if !wrong => report(&Problem::from(error)),
        _ if wrong => ExitCode::from(2),
        _ => ExitCode::SUCCESS,
    }
}
