//! Olivine beside other stores: one driver, one data set, rounds interleaved, every answer checked.
//!
//! `docs/peers.md` says what is measured and how.

mod bare_file;
mod circuits;
mod data;
mod measure;
mod oql;
mod peers;
mod random;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use serde_json::json;

use circuits::load::{ChildOptions, LoadOptions, LookUpOptions};
use circuits::{Settings, clear, commit, load, materialize, overwrite, query, read, scan};
use report::Report;

/// Measures Olivine beside an in-memory vector, a hash map, bare fjall, SQLite and LMDB.
#[derive(Debug, Parser)]
#[command(name = "olivine-peers", version)]
struct Arguments {
    /// What to run; all circuits but `load` if nothing is said.
    #[command(subcommand)]
    circuit: Option<Circuit>,
    /// Objects in each store; default: a million, ten million for `load`.
    #[arg(long, global = true)]
    objects: Option<usize>,
    /// Rounds of each piece of work.
    #[arg(long, global = true, default_value_t = 5)]
    rounds: usize,
    /// Seed of data and order.
    #[arg(long, global = true, default_value_t = 1)]
    seed: u64,
    /// Only this peer of read, scan and overwrite (may be repeated); ratios and marks then are missing.
    #[arg(long, global = true)]
    only: Vec<String>,
    /// Where the stores lie; default: a folder in the system's folder for temporary files.
    #[arg(long, global = true)]
    dir: Option<PathBuf>,
    /// Also writes everything measured to this file.
    #[arg(long, global = true)]
    json: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Circuit {
    /// All circuits but `load`.
    All,
    /// Reads by OID: random, hot, dependent, neighbours.
    Read,
    /// Scans with a predicate, fresh and half overwritten.
    Scan,
    /// Whole typed objects, scanning and at random.
    Materialize,
    /// Random overwrites without syncs.
    Overwrite,
    /// Queries beside SQL: look-ups, range, path, closure, group, top ten.
    Query,
    /// Durable commits from 1, 8 and 64 threads.
    Commit,
    /// Ten million objects with two indexes; perhaps killed; opened again.
    Load(LoadOptions),
    /// The process that loads.
    #[command(hide = true)]
    LoadChild(ChildOptions),
    /// The process that opens again.
    #[command(hide = true)]
    LookUp(LookUpOptions),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.circuit {
        Some(Circuit::LoadChild(options)) => return load::load(options),
        Some(Circuit::LookUp(options)) => return load::look_up(options),
        _ => {}
    }
    let objects = arguments.objects.unwrap_or(match arguments.circuit {
        Some(Circuit::Load(_)) => 10_000_000,
        _ => 1_000_000,
    });
    ensure!(objects >= 1_000, "at least 1,000 objects are needed");
    ensure!(arguments.rounds >= 1, "at least one round is needed");
    let (directory, temporary) = directory(&arguments)?;
    let mut report = Report {
        settings: settings(&arguments, objects),
        ..Report::default()
    };
    let done = run(&arguments, objects, &directory, &mut report);
    if temporary {
        clear(&directory)?;
    }
    done?;
    report.print_marks();
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

fn run(
    arguments: &Arguments,
    objects: usize,
    directory: &std::path::Path,
    report: &mut Report,
) -> Result<()> {
    let settings = Settings {
        objects,
        rounds: arguments.rounds,
        seed: arguments.seed,
        only: arguments.only.clone(),
        directory: directory.to_path_buf(),
    };
    let all: [fn(&Settings, &mut Report) -> Result<()>; 6] = [
        read::run,
        scan::run,
        materialize::run,
        overwrite::run,
        query::run,
        commit::run,
    ];
    let [read, scan, materialize, overwrite, query, commit] = all;
    let chosen = match &arguments.circuit {
        None | Some(Circuit::All) => all.to_vec(),
        Some(Circuit::Read) => vec![read],
        Some(Circuit::Scan) => vec![scan],
        Some(Circuit::Materialize) => vec![materialize],
        Some(Circuit::Overwrite) => vec![overwrite],
        Some(Circuit::Query) => vec![query],
        Some(Circuit::Commit) => vec![commit],
        Some(Circuit::Load(options)) => return load::run(options, objects as u64, directory, report),
        Some(Circuit::LoadChild(_) | Circuit::LookUp(_)) => Vec::new(),
    };
    chosen
        .into_iter()
        .try_for_each(|circuit| circuit(&settings, report))
}

/// Where the stores lie, and whether that folder goes when all is done.
fn directory(arguments: &Arguments) -> Result<(PathBuf, bool)> {
    let (directory, temporary) = match &arguments.dir {
        Some(directory) => (directory.clone(), false),
        None => (
            std::env::temp_dir().join(format!("olivine-peers-{}", std::process::id())),
            true,
        ),
    };
    std::fs::create_dir_all(&directory).with_context(|| format!("creating {}", directory.display()))?;
    Ok((directory, temporary))
}

fn settings(arguments: &Arguments, objects: usize) -> serde_json::Map<String, serde_json::Value> {
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let model = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let entries = [
        ("objects", json!(objects)),
        ("rounds", json!(arguments.rounds)),
        ("seed", json!(arguments.seed)),
        ("processors", json!(processors)),
        ("processor", json!(model.map(|(_, name)| name))),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
    ];
    entries
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
