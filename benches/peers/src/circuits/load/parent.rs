//! The process that watches: it keeps the record of what was acknowledged, samples memory, kills, and compares.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use parking_lot::Mutex;
use serde_json::json;

use super::accounts::digest_of_first;
use super::look_up::Found;
use crate::circuits::clear;
use crate::measure::{Memory, memory_of};
use crate::report::{Bound, Report};

/// What it is told.
#[derive(Debug, clap::Args)]
pub struct LoadOptions {
    /// Accounts a transaction.
    #[arg(long, default_value_t = 10_000)]
    pub batch: u64,
    /// Accounts between two calls of `persist`; in between, commits are handed to the operating system only.
    #[arg(long, default_value_t = 1_000_000)]
    pub persist: u64,
    /// Loads by transactions, as before there was a bulk load.
    #[arg(long)]
    pub transactions: bool,
    /// Kills the loading process (SIGKILL) once this many accounts are acknowledged, or made within a bulk load.
    #[arg(long)]
    pub kill_after: Option<u64>,
    /// Also loads SQLite with this many accounts (WAL, synchronous off), to compare; 0: not.
    #[arg(long, default_value_t = 3_000_000)]
    pub sqlite: u64,
}

const MIB: f64 = 1_048_576.0;

/// What the loading process said and took.
#[derive(Debug, Default, Clone, serde::Serialize)]
struct Watched {
    /// Given to a bulk load that has not ended.
    made: u64,
    acknowledged: u64,
    durable: u64,
    /// Seconds until the last acknowledgement, and of closing.
    seconds: f64,
    closing: Option<f64>,
    /// Seconds of processor time of the whole process, if it lived to tell.
    processor: Option<f64>,
    /// The most of both that any sample showed.
    memory: Memory,
    /// Seconds to reach each million acknowledged, and anonymous bytes then.
    millions: Vec<(f64, u64)>,
}

/// Loads, reopens, compares and reports.
pub fn run(options: &LoadOptions, objects: u64, directory: &Path, report: &mut Report) -> Result<()> {
    let path = directory.join("load");
    clear(&path)?;
    std::fs::create_dir_all(directory)?;
    let watched = watch(options, &path, false, objects)?;
    tell("Olivine", &watched);
    mark_memory(&watched, report);
    let found = reopen(&path, watched.acknowledged)?;
    compare(options, objects, &watched, &found)?;
    mark_open(options, &found, report);
    let entry = json!({ "loaded": watched, "opened": found, "kill_after": options.kill_after });
    report.settings.insert("load".into(), entry);
    if options.sqlite > 0 && options.kill_after.is_none() {
        against_sqlite(options, &watched, directory, report)?;
    }
    clear(&path)
}

fn watch(options: &LoadOptions, path: &Path, sqlite: bool, objects: u64) -> Result<Watched> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("load-child").arg("--path").arg(path);
    command.args(["--accounts", &objects.to_string()]);
    command.args([
        "--batch",
        &options.batch.to_string(),
        "--persist",
        &options.persist.to_string(),
    ]);
    if sqlite {
        command.arg("--sqlite");
    }
    if options.transactions {
        command.arg("--transactions");
    }
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .context("starting the loading process")?;
    let output = child
        .stdout
        .take()
        .ok_or_else(|| anyhow!("the loading process has no output"))?;
    let (done, id) = (AtomicBool::new(false), child.id());
    let memory = Mutex::new(Memory::default());
    let kill_after = options.kill_after.filter(|_| !sqlite);
    let watched = std::thread::scope(|scope| {
        scope.spawn(|| sample(id, &done, &memory));
        let watched = listen(output, &mut child, kill_after);
        done.store(true, Ordering::Relaxed);
        watched
    });
    let status = child.wait()?;
    let watched = Watched {
        memory: *memory.lock(),
        ..watched?
    };
    ensure!(
        kill_after.is_some() || status.success(),
        "the loading process failed: {status}"
    );
    Ok(watched)
}

/// Reads what the process says to its end; what it had said before it was killed counts too.
fn listen(output: ChildStdout, child: &mut Child, kill_after: Option<u64>) -> Result<Watched> {
    let start = Instant::now();
    let mut watched = Watched::default();
    for line in BufReader::new(output).lines() {
        let line = line?;
        let (word, number) = line
            .split_once(' ')
            .ok_or_else(|| anyhow!("not understood: {line}"))?;
        match word {
            "acknowledged" | "made" => {
                watched.made = number.parse()?;
                watched.seconds = start.elapsed().as_secs_f64();
                if word == "acknowledged" {
                    watched.acknowledged = watched.made;
                }
                while watched.millions.len() as u64 * 1_000_000 + 1_000_000 <= watched.made {
                    let memory = memory_of(child.id()).unwrap_or_default();
                    watched.millions.push((watched.seconds, memory.anonymous));
                }
            }
            "durable" => watched.durable = number.parse()?,
            "closed" => watched.closing = Some(number.parse()?),
            "processor" => watched.processor = Some(number.parse()?),
            _ => bail!("not understood: {line}"),
        }
        if kill_after.is_some_and(|count| watched.made >= count) {
            child.kill()?;
        }
    }
    Ok(watched)
}

fn sample(id: u32, done: &AtomicBool, most: &Mutex<Memory>) {
    while !done.load(Ordering::Relaxed) {
        if let Some(memory) = memory_of(id) {
            let mut most = most.lock();
            most.anonymous = most.anonymous.max(memory.anonymous);
            most.peak_resident = most.peak_resident.max(memory.peak_resident);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn reopen(path: &PathBuf, least: u64) -> Result<Found> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg("look-up")
        .arg("--path")
        .arg(path)
        .args(["--least", &least.to_string()]);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .context("starting the process that opens again")?;
    ensure!(output.status.success(), "opening again failed: {}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Everything acknowledged is there, and what is there is whole transactions from the first on.
fn compare(options: &LoadOptions, objects: u64, watched: &Watched, found: &Found) -> Result<()> {
    ensure!(
        found.count >= watched.acknowledged,
        "of {} acknowledged accounts {} are there",
        watched.acknowledged,
        found.count
    );
    let whole = found.count.is_multiple_of(options.batch) || found.count == objects;
    ensure!(
        whole,
        "{} accounts are no whole number of transactions",
        found.count
    );
    ensure!(
        found.digest == digest_of_first(found.count),
        "the accounts are not the ones loaded"
    );
    println!(
        "  compared: {} acknowledged, {} of them persisted; {} found, their digest is right; {} look-ups on each index agree",
        watched.acknowledged, watched.durable, found.count, found.looked_up
    );
    Ok(())
}

fn tell(who: &str, watched: &Watched) {
    println!(
        "\nload: {who}, {} accounts, an index on code (unique) and on balance",
        watched.acknowledged
    );
    println!(
        "  {:.1} s, {:.0} thousand objects/s; closing {:.2} s; anonymous memory at most {:.0} MiB, resident at most {:.0} MiB",
        watched.seconds,
        watched.acknowledged as f64 / watched.seconds / 1e3,
        watched.closing.unwrap_or_default(),
        watched.memory.anonymous as f64 / MIB,
        watched.memory.peak_resident as f64 / MIB,
    );
    if let Some(processor) = watched.processor {
        let each = processor * 1e6 / watched.acknowledged as f64;
        println!("  processor time {processor:.1} s, {each:.1} us an object");
    }
    for (million, (seconds, anonymous)) in (1..).zip(&watched.millions) {
        let anonymous = *anonymous as f64 / MIB;
        println!("  {million:>3} million after {seconds:>6.1} s, anonymous memory {anonymous:>4.0} MiB");
    }
}

fn mark_memory(watched: &Watched, report: &mut Report) {
    let anonymous = watched.memory.anonymous as f64 / MIB;
    report.mark(
        "anonymous memory while loading, MiB",
        Some(anonymous),
        Bound::AtMost(300.0),
    );
}

fn mark_open(options: &LoadOptions, found: &Found, report: &mut Report) {
    println!(
        "  opened after {:.3} s, unique look-up done at {:.3} s, ordered look-up at {:.3} s{}",
        found.open,
        found.unique,
        found.ordered,
        found
            .recovery
            .as_ref()
            .map_or(String::new(), |recovery| format!(" ({recovery})")),
    );
    let how = if options.kill_after.is_some() {
        "a kill"
    } else {
        "closing"
    };
    let text = format!("open after {how}, through a look-up on each index, s");
    report.mark(text, Some(found.ordered), Bound::AtMost(3.0));
}

fn against_sqlite(
    options: &LoadOptions,
    olivine: &Watched,
    directory: &Path,
    report: &mut Report,
) -> Result<()> {
    let path = directory.join("load-sqlite");
    clear(&path)?;
    let sqlite = watch(options, &path, true, options.sqlite)?;
    tell("SQLite", &sqlite);
    let rate = |watched: &Watched| watched.acknowledged as f64 / watched.seconds;
    let text = format!(
        "load with two indexes, faster than SQLite with {} objects",
        options.sqlite
    );
    report.mark(text, Some(rate(olivine) / rate(&sqlite)), Bound::AtLeast(5.0));
    clear(&path)
}
