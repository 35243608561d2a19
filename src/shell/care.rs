//! The subcommands that care for a database: check, backup, restore, compact, collect.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};

use super::collect::{CollectArguments, collect};
use super::interrupt::Interrupt;
use super::problem::Problem;
use crate::database::Database;
use crate::heap::Loss;
use crate::maintain::{
    CheckReport, CompactOptions, CompactProgress, CompactReport, Finding, Progress, Restore, SalvageReport,
};
use crate::object::CommitNumber;
use crate::object::text::parse_timestamp;
use crate::torture::{Torture, Worker};

#[derive(Debug, Subcommand)]
pub enum Care {
    /// Check a whole database: every byte, every version, every reference, every index; changes nothing.
    Check(CheckArguments),
    /// Write everything that can be read of a damaged database into a new one, and list what is lost.
    Salvage(SalvageArguments),
    /// Back a database up into a directory, where only what is new is copied.
    Backup(BackupArguments),
    /// Work on a new database with many threads for a long time, kill it again and again, and compare with a record.
    Torture(TortureArguments),
    #[command(hide = true)]
    TortureWorker(WorkerArguments),
    /// Make a database of a backup, as of its newest moment or of any commit.
    Restore(RestoreArguments),
    /// Reclaim the space of old versions and deleted objects, and lay objects side by side.
    Compact(CompactArguments),
    /// Delete the objects of dependent classes that nothing reaches.
    Collect(CollectArguments),
}

#[derive(Debug, Args)]
pub struct CompactArguments {
    /// The database directory; it must not be open elsewhere (a program compacts its own with `Database::compact`).
    database: PathBuf,
    /// Only say what would be moved and freed.
    #[arg(long)]
    dry_run: bool,
    /// Lay objects along a class and its attributes, as in Module.assemblies.parts, instead of in OID order; may be given
    /// several times.
    #[arg(long, value_name = "PATH")]
    cluster: Vec<String>,
    /// The most bytes to move in a second.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    budget: Option<u64>,
    /// How the report is written.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The database directory.
    database: PathBuf,
    /// How the findings are written.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Count references to objects that are gone as findings too; they are allowed, and only listed otherwise.
    #[arg(long)]
    dangling: bool,
}

#[derive(Debug, Args)]
pub struct SalvageArguments {
    /// The directory of the damaged database; it is only read.
    database: PathBuf,
    /// The directory of the new one; it must not exist, or be empty.
    out: PathBuf,
    /// How the losses are written.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

#[derive(Debug, Args)]
pub struct BackupArguments {
    /// The database directory; it must not be open elsewhere (a program backs its own up with `Database::backup`).
    database: PathBuf,
    /// The directory of the backup; created if it does not exist, else it must hold a backup of this database.
    directory: PathBuf,
    /// Afterwards remove what only earlier moments need; they can then not be restored any more.
    #[arg(long)]
    prune: bool,
}

#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// The directory of the backup.
    backup: PathBuf,
    /// The database directory to make; it must not exist, or be empty.
    database: PathBuf,
    /// Replace the database that is there, once the new one is complete.
    #[arg(long)]
    replace: bool,
    /// Take history through this commit only.
    #[arg(long, value_name = "N", conflicts_with = "until_time")]
    until_commit: Option<u64>,
    /// Take history through the last commit at or before this time only, such as 2026-11-30T12:00:00Z.
    #[arg(long, value_name = "T")]
    until_time: Option<String>,
}

#[derive(Debug, Args)]
pub struct TortureArguments {
    /// The directory of the database to make; it must not exist, or be empty. It and what lies beside it is kept
    /// after a finding.
    database: PathBuf,
    /// How long.
    #[arg(long, value_name = "N", default_value_t = 30.0)]
    minutes: f64,
    /// The seed of all choices; a new one where none is given.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Megabytes on the disk after which a new database is begun.
    #[arg(long, value_name = "N", default_value_t = 2_048)]
    disk: u64,
}

#[derive(Debug, Args)]
pub struct WorkerArguments {
    database: PathBuf,
    #[arg(long)]
    backup: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    milliseconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Lines for people.
    Text,
    /// One JSON object.
    Json,
}

/// Runs one of the subcommands.
pub fn run(care: Care) -> Result<(), Problem> {
    match care {
        Care::Check(arguments) => check(&arguments),
        Care::Salvage(arguments) => salvage(&arguments),
        Care::Backup(arguments) => backup(&arguments),
        Care::Restore(arguments) => restore(&arguments),
        Care::Compact(arguments) => compact(&arguments),
        Care::Collect(arguments) => collect(&arguments),
        Care::Torture(arguments) => torture(arguments),
        Care::TortureWorker(arguments) => crate::torture::worker(&Worker {
            database: arguments.database,
            backup: arguments.backup,
            seed: arguments.seed,
            time: Duration::from_millis(arguments.milliseconds),
        })
        .map_err(Problem::from),
    }
}

/// Checks a database without changing it; findings are on standard output, and make it fail.
fn check(arguments: &CheckArguments) -> Result<(), Problem> {
    let options = Database::options(&arguments.database).read_only(true);
    let database = options.create(false).open()?;
    let mut meter = Meter::new();
    let report = database.check_watched(&mut |progress| meter.show(progress));
    meter.clear();
    let report = report?;
    match arguments.format {
        ReportFormat::Text => writeln!(io::stdout(), "{report}")?,
        ReportFormat::Json => writeln!(io::stdout(), "{}", check_as_json(&report))?,
    }
    io::stdout().flush()?;
    match report.is_clean() && !(arguments.dangling && report.dangling_references > 0) {
        true => Ok(()),
        false => Err(Problem::Said),
    }
}

fn check_as_json(report: &CheckReport) -> serde_json::Value {
    let list = |findings: &[Finding]| -> serde_json::Value {
        let entry = |finding: &Finding| serde_json::json!({ "place": finding.place, "what": finding.what });
        findings.iter().map(entry).collect()
    };
    serde_json::json!({
        "clean": report.is_clean(),
        "objects": report.objects,
        "versions": report.versions,
        "references": report.references,
        "index_entries": report.index_entries,
        "findings": list(&report.findings),
        "findings_not_listed": report.findings_not_listed,
        "dangling_references": report.dangling_references,
        "dangling": list(&report.dangling),
    })
}

/// Salvages a database. Losses are the result, not a failure: they are on standard output.
fn salvage(arguments: &SalvageArguments) -> Result<(), Problem> {
    let mut meter = Meter::new();
    let report = Database::salvage_watched(&arguments.database, &arguments.out, &mut |progress| {
        meter.show(progress)
    });
    meter.clear();
    let report = report?;
    match arguments.format {
        ReportFormat::Text => writeln!(io::stdout(), "{report}")?,
        ReportFormat::Json => writeln!(io::stdout(), "{}", salvage_as_json(&report))?,
    }
    io::stdout().flush().map_err(Problem::from)
}

fn salvage_as_json(report: &SalvageReport) -> serde_json::Value {
    let entry = |loss: &Loss| {
        serde_json::json!({
            "segment": loss.segment,
            "offset": loss.offset,
            "object": loss.oid.map(|oid| format!("{oid:?}")),
            "what": loss.what,
        })
    };
    serde_json::json!({
        "classes": report.classes,
        "objects": report.objects,
        "indexes": report.indexes,
        "timeline": report.timeline,
        "dangling_references": report.dangling_references,
        "losses": report.losses.iter().map(entry).collect::<serde_json::Value>(),
    })
}

fn backup(arguments: &BackupArguments) -> Result<(), Problem> {
    let database = Database::options(&arguments.database).create(false).open()?;
    let mut meter = Meter::new();
    let report = database.backup_watched(&arguments.directory, arguments.prune, &mut |progress| {
        meter.show(progress)
    });
    meter.clear();
    writeln!(io::stdout(), "{}", report?)?;
    io::stdout().flush()?;
    database.close().map_err(Problem::from)
}

fn restore(arguments: &RestoreArguments) -> Result<(), Problem> {
    let mut restore = Restore::new(&arguments.backup, &arguments.database).replace(arguments.replace);
    if let Some(commit) = arguments.until_commit {
        restore = restore.until_commit(CommitNumber(commit));
    }
    if let Some(text) = &arguments.until_time {
        restore = restore.until_time(parse_timestamp(text).map_err(Problem::Usage)?);
    }
    let mut meter = Meter::new();
    let report = restore.run_watched(&mut |progress| meter.show(progress));
    meter.clear();
    writeln!(io::stdout(), "{}", report?)?;
    io::stdout().flush().map_err(Problem::from)
}

/// Compacts a database. Interrupted, it has moved a part, and fails so that a script knows.
fn compact(arguments: &CompactArguments) -> Result<(), Problem> {
    let options = Database::options(&arguments.database).create(false);
    let database = options.cleaner(false).open()?;
    let mut options = CompactOptions::new().dry_run(arguments.dry_run);
    options = arguments
        .cluster
        .iter()
        .fold(options, |options, path| options.cluster_by(path));
    if let Some(budget) = arguments.budget {
        options = options.budget(budget);
    }
    let mut meter = Meter::new();
    let report = database.compact(&options, &mut |progress| meter.show(in_stages(progress)));
    meter.clear();
    let report = report?;
    match arguments.format {
        ReportFormat::Text => writeln!(io::stdout(), "{report}")?,
        ReportFormat::Json => writeln!(io::stdout(), "{}", compaction_as_json(&report))?,
    }
    io::stdout().flush()?;
    database.close()?;
    match report.interrupted {
        true => Err(Problem::Failed(
            "interrupted; what was moved stays moved, and the next run goes on from there".into(),
        )),
        false => Ok(()),
    }
}

fn in_stages(progress: &CompactProgress) -> Progress {
    Progress {
        stage: "moving",
        done: progress.records_moved,
        total: progress.records_to_move.max(progress.records_moved),
    }
}

fn compaction_as_json(report: &CompactReport) -> serde_json::Value {
    serde_json::json!({
        "dry_run": report.dry_run,
        "interrupted": report.interrupted,
        "segments_before": report.segments_before,
        "bytes_before": report.bytes_before,
        "segments_after": report.segments_after,
        "bytes_after": report.bytes_after,
        "records_moved": report.records_moved,
        "bytes_moved": report.bytes_moved,
        "segments_freed": report.segments_freed,
        "bytes_freed": report.bytes_freed,
        "segments_pinned": report.segments_pinned,
        "bytes_pinned": report.bytes_pinned,
        "segments_kept": report.segments_kept,
        "bytes_kept": report.bytes_kept,
    })
}

fn torture(arguments: TortureArguments) -> Result<(), Problem> {
    let seconds = arguments.minutes * 60.0;
    let time = Duration::try_from_secs_f64(seconds)
        .map_err(|_| Problem::Usage("give a number of minutes above zero".into()))?;
    let mut fresh = [0u8; 8];
    // Where the system has no chance to give, one seed is as good as another.
    let _ = getrandom::fill(&mut fresh);
    let torture = Torture {
        database: arguments.database,
        time,
        seed: arguments
            .seed
            .unwrap_or(u64::from_le_bytes(fresh) % 1_000_000_000),
        disk: arguments.disk.saturating_mul(1 << 20),
    };
    writeln!(io::stdout(), "seed {}", torture.seed)?;
    let mut meter = Meter::new();
    let report = crate::torture::torture(&torture, &mut |progress| meter.show(progress));
    meter.clear();
    writeln!(io::stdout(), "{}", report?)?;
    io::stdout().flush().map_err(Problem::from)
}

/// Shows on a terminal how far long work has come, and ends it at Ctrl-C.
pub struct Meter {
    interrupt: Interrupt,
    on_terminal: bool,
    shown: Option<Instant>,
}

impl Meter {
    /// A meter on standard error, silent where that is no terminal.
    pub fn new() -> Meter {
        Meter {
            interrupt: Interrupt::install(),
            on_terminal: io::stderr().is_terminal(),
            shown: None,
        }
    }

    /// Shows progress now and then; `Break` once Ctrl-C was pressed.
    pub fn show(&mut self, progress: Progress) -> ControlFlow<()> {
        if self.interrupt.is_set() {
            return ControlFlow::Break(());
        }
        let due = self.shown.is_none_or(|shown| shown.elapsed() >= INTERVAL);
        if self.on_terminal && due {
            self.shown = Some(Instant::now());
            let Progress {
                stage, done, total, ..
            } = progress;
            let percent = done.saturating_mul(100).checked_div(total);
            let text = match percent {
                Some(percent) => format!("{stage}: {percent} %"),
                None => format!("{stage}: {done}"),
            };
            // A terminal that does not take it is no reason to stop.
            let _ = write!(io::stderr(), "\r\x1b[K{text}").and_then(|()| io::stderr().flush());
        }
        ControlFlow::Continue(())
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K").and_then(|()| io::stderr().flush());
        }
    }
}

const INTERVAL: Duration = Duration::from_millis(200);
