//! The command line: what may be said, and which part of the program each subcommand calls.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::exec::{Input, Script};
use super::problem::{Problem, report};
use super::render::Format;
use crate::object::Value;
use crate::query::Parameters;

/// Olivine: a persistent, transactional object database.
#[derive(Debug, Parser)]
#[command(
    name = "olivine",
    version,
    about,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
struct Command {
    #[command(subcommand)]
    action: Option<Action>,
    /// Open the interactive shell on this database.
    database: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Explore a database interactively.
    Shell {
        /// The database directory; created if it does not exist.
        database: PathBuf,
    },
    /// Run statements from an argument, a file or standard input.
    Exec(ExecArguments),
    #[command(flatten)]
    Care(super::care::Care),
    /// Measure read, query and materialization throughput, with every count verified.
    #[cfg(feature = "bench")]
    Bench(BenchArguments),
}

#[derive(Debug, Args)]
struct ExecArguments {
    /// The database directory; created if it does not exist.
    database: PathBuf,
    /// The statements themselves.
    #[arg(short = 'c', long = "command", value_name = "TEXT", conflicts_with = "file")]
    command: Option<String>,
    /// A file of statements; - for standard input.
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    file: Option<PathBuf>,
    /// A value for the parameter $NAME of the statements: an OQL literal (5, 'text', date '2026-11-30', nil), or else
    /// taken as text. May be given several times.
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, Value)>,
    /// How results are written.
    #[arg(long, value_enum, default_value_t = FormatName::Table)]
    format: FormatName,
    /// Go on with the next statement after one has failed; the exit code still tells.
    #[arg(long)]
    keep_going: bool,
    /// Open the database for reading only.
    #[arg(long)]
    read_only: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatName {
    /// Aligned columns for people.
    Table,
    /// One JSON object a statement and line.
    Json,
    /// Comma-separated values with a header line.
    Csv,
}

#[cfg(feature = "bench")]
#[derive(Debug, Args)]
struct BenchArguments {
    /// oo7, oo1 or debian, all three where none is named; or wordnet, posting, aging, ceiling or search.
    circuit: Option<String>,
    /// The scale: for oo7 tiny, small-3, small-6, small-9, medium-3, medium-6, medium-9 or large-3; for oo1 small or large; for debian,
    /// aging, ceiling and search tiny or full.
    #[arg(long)]
    scale: Option<String>,
    /// The seed of the generated data.
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// Whether commits are measured on the disk (sync) or handed to the operating system (buffer); ceiling measures both.
    #[arg(long, value_enum, default_value_t = DurabilityName::Sync)]
    durability: DurabilityName,
    /// Where to put the databases; a temporary directory, removed afterwards, where none is given.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Also write the report as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The folder of the files of WordNet 3.0, for wordnet; /usr/share/wordnet (Debian's package wordnet-base) where none is
    /// given.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Gigabytes of work, for posting; 4 where none are given.
    #[arg(long, value_name = "N")]
    gb: Option<f64>,
}

#[cfg(feature = "bench")]
#[derive(Debug, Clone, Copy, ValueEnum)]
enum DurabilityName {
    /// On the disk when acknowledged.
    Sync,
    /// Handed to the operating system when acknowledged.
    Buffer,
}

#[cfg(feature = "bench")]
impl DurabilityName {
    fn name(self) -> &'static str {
        match self {
            DurabilityName::Sync => "sync",
            DurabilityName::Buffer => "buffer",
        }
    }
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Table => Format::Table,
            FormatName::Json => Format::Json,
            FormatName::Csv => Format::Csv,
        }
    }
}

/// Runs the command with the arguments of this process. The exit code is 0 where all was done, 1 where something
/// failed (the reason is on standard error), 2 for a wrong use, 141 where the reader of a pipe has left.
pub fn run() -> ExitCode {
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(answer) => return super::problem::answer(&answer),
    };
    let outcome = match (command.action, command.database) {
        (Some(Action::Shell { database }), _) | (None, Some(database)) => super::repl::run(&database),
        (Some(Action::Exec(arguments)), _) => super::exec::run(&script(arguments)),
        (Some(Action::Care(care)), _) => super::care::run(care),
        #[cfg(feature = "bench")]
        (Some(Action::Bench(arguments)), _) => bench(arguments),
        (None, None) => Ok(()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => report(&problem),
    }
}

/// `name=value`: a literal, or else text.
fn parameter(text: &str) -> Result<(String, Value), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("write it as name=value".into());
    };
    let name = name.trim().trim_start_matches('$');
    let is_word = name
        .chars()
        .all(|character| character == '_' || character.is_alphanumeric());
    if name.is_empty() || !is_word {
        return Err(format!("{name:?} is no name of a parameter"));
    }
    let value = crate::query::parse_literal(value).unwrap_or_else(|| Value::from(value));
    Ok((name.into(), value))
}

fn script(arguments: ExecArguments) -> Script {
    let parameters = arguments.parameters.into_iter();
    let input = match (arguments.command, arguments.file) {
        (Some(text), _) => Input::Text(text),
        (None, Some(path)) if path.as_os_str() != "-" => Input::File(path),
        (None, _) => Input::Standard,
    };
    Script {
        database: arguments.database,
        input,
        parameters: parameters.fold(Parameters::new(), |all, (name, value)| all.with(name, value)),
        format: arguments.format.into(),
        keep_going: arguments.keep_going,
        read_only: arguments.read_only,
    }
}

#[cfg(feature = "bench")]
fn bench(arguments: BenchArguments) -> Result<(), Problem> {
    let arguments = crate::bench::Arguments {
        circuit: arguments.circuit,
        scale: arguments.scale,
        seed: Some(arguments.seed),
        durability: Some(arguments.durability.name().into()),
        directory: arguments.dir,
        json: arguments.json,
        data: arguments.data,
        gigabytes: arguments.gb,
    };
    crate::bench::run(arguments).map_err(Problem::from)
}
