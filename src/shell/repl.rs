//! `olivine shell`: reads statements, runs them, shows what they come to.
//!
//! A statement may take several lines and ends with `;`. Ctrl-C drops what is typed, or cancels what runs; Ctrl-D ends
//! the shell. Where standard input is no terminal, it is a script (see `exec.rs`).

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustyline::Editor;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;

use super::build_meter::BuildMeter;
use super::complete::{Assistant, Words};
use super::exec::{Input, Script};
use super::interrupt::Interrupt;
use super::problem::{Problem, with_causes};
use super::render::{Format, WriteError, write_outcome};
use crate::database::Database;
use crate::error::Error;
use crate::query::ast::Statement;
use crate::query::{Parameters, caret};
use crate::session::Session;

const HELP: &str = "\
Statements end with ;  for example:
  create class Person { name: string, boss: Person };
  insert Person(name: 'Ann');
  select p.name from Person p where p.boss is nil;
  explain select ...;   show classes;   describe Person;
Commands:
  \\d          classes              \\d Person   attributes of a class
  \\timing     times on or off      \\q          end (also Ctrl-D)";

/// Runs the shell on a database.
pub fn run(path: &Path) -> Result<(), Problem> {
    if !io::stdin().is_terminal() {
        let database = path.to_path_buf();
        let (input, format) = (Input::Standard, Format::Table);
        return super::exec::run(&Script {
            database,
            input,
            parameters: Parameters::new(),
            format,
            keep_going: false,
            read_only: false,
        });
    }
    let database = Database::open(path)?;
    let mut shell = Shell::new(&database);
    println!(
        "Olivine {} on {}; \\? for help",
        env!("CARGO_PKG_VERSION"),
        path.display()
    );
    if let Some(recovery) = database.statistics().recovery {
        println!("{recovery}");
    }
    shell.read_lines()?;
    drop(shell);
    database.close().map_err(Problem::from)
}

struct Shell {
    session: Session,
    interrupt: Interrupt,
    meter: BuildMeter,
    words: Words,
    timing: bool,
}

impl Shell {
    fn new(database: &Database) -> Self {
        let mut session = Session::new(database.clone());
        let interrupt = Interrupt::install();
        session.set_cancel(interrupt.flag());
        let meter = BuildMeter::of(&mut session);
        let shell = Shell {
            session,
            interrupt,
            meter,
            words: Words::default(),
            timing: false,
        };
        shell.renew_words();
        shell
    }

    fn read_lines(&mut self) -> Result<(), Problem> {
        let mut editor = Editor::<Assistant, DefaultHistory>::new().map_err(editor_failed)?;
        editor.set_helper(Some(Assistant {
            words: self.words.clone(),
        }));
        let history = history_path();
        if let Some(history) = &history {
            // A history that cannot be read is not worth a word.
            let _ = editor.load_history(history);
        }
        loop {
            let prompt = if self.session.in_transaction() {
                "olivine*> "
            } else {
                "olivine> "
            };
            match editor.readline(prompt) {
                Ok(text) => {
                    let _ = editor.add_history_entry(text.trim_end());
                    if !self.run_text(&text)? {
                        break;
                    }
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(editor_failed(error)),
            }
        }
        if self.session.in_transaction() {
            println!("the open transaction was rolled back");
        }
        if let Some(history) = &history {
            let _ = editor.save_history(history);
        }
        Ok(())
    }

    /// Runs what was typed; `false` ends the shell.
    fn run_text(&mut self, text: &str) -> Result<bool, Problem> {
        let trimmed = text.trim();
        if let Some(command) = trimmed.strip_prefix('\\') {
            return self.run_command(command);
        }
        self.interrupt.reset();
        match Session::parse(text) {
            Ok(statements) => {
                for statement in &statements {
                    if !self.run_statement(statement, text)? {
                        break;
                    }
                }
                self.renew_words();
            }
            Err(error) => say(error.into(), text),
        }
        Ok(true)
    }

    fn run_command(&mut self, command: &str) -> Result<bool, Problem> {
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        match (word, rest.trim()) {
            ("q" | "quit", _) => return Ok(false),
            ("?" | "h" | "help", _) => println!("{HELP}"),
            ("timing", _) => {
                self.timing = !self.timing;
                println!("timing is {}", if self.timing { "on" } else { "off" });
            }
            ("d", "") => return self.run_text("show classes;"),
            ("d", class) => return self.run_text(&format!("describe {class};")),
            _ => println!("there is no command \\{word}; \\? lists them"),
        }
        Ok(true)
    }

    /// Runs one statement and shows its result; `false` where it failed.
    fn run_statement(&mut self, statement: &Statement, text: &str) -> Result<bool, Problem> {
        let start = Instant::now();
        let ran = self.session.run(statement, text, &Parameters::new());
        self.meter.clear();
        let outcome = match ran {
            Ok(outcome) => outcome,
            Err(error) => {
                say(error, text);
                return Ok(false);
            }
        };
        let mut output = BufWriter::new(io::stdout().lock());
        let session = &self.session;
        match write_outcome(outcome, Format::Table, &|oid| session.describe(oid), &mut output) {
            Ok(()) => {}
            Err(WriteError::Rows(error)) => {
                output.flush()?;
                say(error, text);
                return Ok(false);
            }
            Err(WriteError::Output(error)) => return Err(error.into()),
        }
        if self.timing {
            writeln!(output, "{:.1} ms", start.elapsed().as_secs_f64() * 1e3)?;
        }
        output.flush()?;
        Ok(true)
    }

    fn renew_words(&self) {
        let reader = self.session.reader();
        let catalog = reader.catalog();
        let attributes = catalog.classes.values().flat_map(|class| class.attributes.iter());
        let attributes = attributes.map(|attribute| attribute.name.to_string());
        let classes = catalog
            .class_names
            .keys()
            .chain(catalog.names.keys())
            .map(ToString::to_string);
        self.words.set(classes.chain(attributes));
    }
}

fn say(error: Error, text: &str) {
    let error = error.locate(text);
    println!("{}", with_causes(&error));
    if let Error::Query(error) = &error {
        println!("{}", caret(text, error));
    }
}

fn editor_failed(error: ReadlineError) -> Problem {
    Problem::Failed(format!("reading from the terminal: {error}"))
}

fn history_path() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"))?;
    Some(Path::new(&home).join(".olivine_history"))
}
