//! The process that starts workers, kills them, and compares what they left with the record.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::random::Random;
use super::record::Record;
use super::work::{finding, read_all};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::files::place;
use crate::maintain::Progress;
use crate::maintain::{Restore, Watch};
use crate::object::CommitNumber;

/// What to torture, and for how long.
#[derive(Debug, Clone)]
pub struct Torture {
    /// The database directory; it must not exist, or be empty. Beside it lie `.backup`, `.restored` and
    /// `.salvaged`.
    pub database: PathBuf,
    /// How long.
    pub time: Duration,
    /// The seed; runs of one seed make the same choices, though not at the same moments.
    pub seed: u64,
    /// Bytes on the disk after which a new database is begun.
    pub disk: u64,
}

/// What was done, and how it ended.
#[derive(Debug, Clone, Default)]
pub struct TortureReport {
    /// The seed.
    pub seed: u64,
    /// Workers that were started.
    pub rounds: u64,
    /// Workers that were killed.
    pub kills: u64,
    /// Pairs whose commit was acknowledged.
    pub acknowledged: u64,
    /// Conflicts that workers met (of those that ended by themselves).
    pub conflicts: u64,
    /// Backups that workers finished.
    pub backups: u64,
    /// Backups that were restored and compared.
    pub restores: u64,
    /// Restores that ended at an earlier commit.
    pub earlier: u64,
    /// Databases that were salvaged and compared.
    pub salvages: u64,
    /// Compactions that workers finished.
    pub compactions: u64,
    /// Checks of everything.
    pub checks: u64,
    /// Databases begun anew because the last had grown to the limit.
    pub databases: u64,
    /// The most bytes on the disk.
    pub most_disk: u64,
    /// The most resident memory of a worker, in bytes, where the system tells.
    pub most_memory: u64,
}

impl fmt::Display for TortureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed             {}", self.seed)?;
        writeln!(
            f,
            "workers          {}, {} of them killed",
            self.rounds, self.kills
        )?;
        writeln!(
            f,
            "acknowledged     {} commits, {} conflicts",
            self.acknowledged, self.conflicts
        )?;
        writeln!(
            f,
            "backups          {}, {} restored and compared, {} of them at an earlier commit",
            self.backups, self.restores, self.earlier
        )?;
        writeln!(f, "salvages         {}, without a loss", self.salvages)?;
        writeln!(f, "compactions      {}", self.compactions)?;
        writeln!(f, "checks           {}, all clean", self.checks)?;
        writeln!(f, "databases        {}", self.databases)?;
        writeln!(f, "disk at most     {} MB", self.most_disk >> 20)?;
        write!(
            f,
            "memory at most   {} MB resident in a worker",
            self.most_memory >> 20
        )
    }
}

/// Tortures a database until the time is over; ends with a check.
///
/// # Errors
/// The first finding; the database is left as it was found. [`Error::Cancelled`] where `watch` ends it.
pub fn torture(torture: &Torture, watch: Watch<'_>) -> Result<TortureReport> {
    if !place::is_free(&torture.database)? {
        return Err(Error::Argument(format!(
            "{} exists and is not empty; name another place, torture makes a database of its own",
            torture.database.display()
        )));
    }
    let mut soak = Soak {
        torture,
        random: Random::new(torture.seed),
        record: Record::default(),
        report: TortureReport {
            seed: torture.seed,
            databases: 1,
            ..TortureReport::default()
        },
    };
    let start = Instant::now();
    while start.elapsed() < torture.time {
        let left = torture.time.saturating_sub(start.elapsed());
        soak.round(left, watch)?;
        soak.compare()?;
        let told = Progress {
            stage: "torturing",
            done: start.elapsed().as_secs(),
            total: torture.time.as_secs(),
        };
        if watch(told).is_break() {
            return Err(Error::Cancelled("interrupted while torturing".into()));
        }
        if soak.disk() > torture.disk {
            soak.check()?;
            soak.begin_anew()?;
        }
    }
    soak.check()?;
    soak.report.acknowledged = soak.report.acknowledged.saturating_add(soak.record.acknowledged);
    let _ = place::remove(&soak.beside(".restored"));
    let _ = place::remove(&soak.beside(".salvaged"));
    Ok(soak.report)
}

struct Soak<'a> {
    torture: &'a Torture,
    random: Random,
    record: Record,
    report: TortureReport,
}

impl Soak<'_> {
    fn beside(&self, ending: &str) -> PathBuf {
        place::beside(&self.torture.database, ending)
    }

    /// Bytes of the database and its backup.
    fn disk(&mut self) -> u64 {
        let bytes =
            place::bytes(&self.torture.database).saturating_add(place::bytes(&self.beside(".backup")));
        self.report.most_disk = self.report.most_disk.max(bytes);
        bytes
    }

    /// Runs one worker, and takes in what it says.
    fn round(&mut self, left: Duration, watch: Watch<'_>) -> Result<()> {
        let seed = self.random.next();
        let killed = !self.random.one_in(3);
        let pause = match self.random.below(4) {
            // Also while it opens, recovers and defines.
            0 => self.random.below(150),
            _ => 200 + self.random.below(6_000),
        };
        let pause = Duration::from_millis(pause).min(left.max(Duration::from_millis(500)));
        let time = if killed {
            pause * 4 + Duration::from_secs(5)
        } else {
            pause
        };
        let mut child = self.spawn(seed, time)?;
        let outputs = (child.stdout.take(), child.stderr.take());
        let (Some(output), Some(errors)) = outputs else {
            return Err(finding("a worker without output"));
        };
        let listener = std::thread::spawn(move || listen(output));
        let complaints = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = BufReader::new(errors).take(64 << 10).read_to_string(&mut text);
            text
        });
        let interrupted = self.wait(&mut child, killed.then_some(pause), watch)?;
        let status = child
            .wait()
            .map_err(|error| Error::io("waiting for a worker", error))?;
        let lines = listener.join().unwrap_or_default();
        let complaints = complaints.join().unwrap_or_default();
        self.report.rounds = self.report.rounds.saturating_add(1);
        self.hear(&lines);
        if interrupted {
            return Err(Error::Cancelled("interrupted while torturing".into()));
        }
        match (killed, status.code()) {
            (false, Some(0)) => Ok(()),
            (true, None) => {
                self.report.kills = self.report.kills.saturating_add(1);
                Ok(())
            }
            _ => Err(finding(format!(
                "a worker with the seed {seed} has failed: {complaints}"
            ))),
        }
    }

    fn spawn(&self, seed: u64, time: Duration) -> Result<Child> {
        let program = std::env::current_exe().map_err(|error| Error::io("finding this program", error))?;
        let mut command = Command::new(program);
        command
            .arg("torture-worker")
            .arg(&self.torture.database)
            .arg("--backup")
            .arg(self.beside(".backup"))
            .args([
                "--seed",
                &seed.to_string(),
                "--milliseconds",
                &time.as_millis().to_string(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
            .spawn()
            .map_err(|error| Error::io("starting a worker", error))
    }

    /// Waits until the worker has ended, or kills it after a pause; whether the whole torture was interrupted.
    fn wait(&mut self, child: &mut Child, pause: Option<Duration>, watch: Watch<'_>) -> Result<bool> {
        let start = Instant::now();
        let failed = |error| Error::io("waiting for a worker", error);
        loop {
            self.report.most_memory = self.report.most_memory.max(place::resident(child.id()));
            let over = pause.is_some_and(|pause| start.elapsed() >= pause);
            let told = Progress {
                stage: "torturing, commits",
                done: self.record.acknowledged,
                total: 0,
            };
            let interrupted = watch(told).is_break();
            if over || interrupted {
                child.kill().map_err(failed)?;
                return Ok(interrupted);
            }
            if child.try_wait().map_err(failed)?.is_some() {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn hear(&mut self, lines: &[String]) {
        for line in lines {
            match line.split_once(' ') {
                Some(("conflicts", count)) => {
                    let count = count.parse::<u64>().unwrap_or(0);
                    self.report.conflicts = self.report.conflicts.saturating_add(count);
                }
                Some(("backed", _)) => self.report.backups = self.report.backups.saturating_add(1),
                None if line == "compacted" => {
                    self.report.compactions = self.report.compactions.saturating_add(1);
                }
                _ => self.record.hear(line),
            }
        }
    }

    /// Opens what the worker left, and compares it with the record.
    fn compare(&mut self) -> Result<()> {
        let unmended = match self.random.one_in(3) && place::has(&self.torture.database, "FORMAT") {
            true => self.read_only()?,
            false => None,
        };
        let database = self.open(&self.torture.database)?;
        let snapshot = database.snapshot();
        let found = self.read(&snapshot)?;
        self.record.compare(&found).map_err(finding)?;
        if unmended.is_some_and(|unmended| unmended != found) {
            return Err(finding(
                "reading only showed another state than opening for writing",
            ));
        }
        drop(snapshot);
        if self.random.one_in(4) {
            self.check_one(&database)?;
        }
        database.close()?;
        if self.random.one_in(8) {
            self.salvage(&found)?;
        }
        if self.random.one_in(5) && place::has(&self.beside(".backup"), "manifest") {
            self.restore()?;
        }
        Ok(())
    }

    fn open(&self, path: &Path) -> Result<Database> {
        Database::options(path).memory(64 << 20).open()
    }

    /// What a snapshot holds. A worker that was killed early has not even defined the classes.
    fn read(&self, snapshot: &crate::snapshot::Snapshot) -> Result<BTreeMap<i64, i64>> {
        match read_all(snapshot) {
            Err(Error::Schema(message)) if message.contains("is not defined") => Ok(BTreeMap::new()),
            outcome => outcome,
        }
    }

    /// What a read-only open sees of what a kill left; `None` where there was not even a database yet.
    fn read_only(&self) -> Result<Option<BTreeMap<i64, i64>>> {
        let options = Database::options(&self.torture.database).memory(64 << 20);
        match options.read_only(true).create(false).open() {
            // Killed while the database was being made: only an open for writing makes the rest.
            Err(Error::Format(_)) => Ok(None),
            outcome => self.read(&outcome?.snapshot()).map(Some),
        }
    }

    /// Salvages the closed database: it is sound, so everything is there and nothing is lost.
    fn salvage(&mut self, expected: &BTreeMap<i64, i64>) -> Result<()> {
        let path = self.beside(".salvaged");
        let _ = place::remove(&path);
        let report = Database::salvage(&self.torture.database, &path)?;
        // Once the log has forgotten that a class was dropped, salvage cannot tell it from one that is lost, and lists
        // objects of it that the cleaner has not come by. What is compared below shows that no class is lost.
        let is_loss = |loss: &crate::heap::Loss| !loss.what.contains("was dropped or is lost");
        if let Some(loss) = report.losses.iter().find(|loss| is_loss(loss)) {
            return Err(finding(format!("salvaging a sound database: {loss}")));
        }
        let database = self.open(&path)?;
        if self.read(&database.snapshot())? != *expected {
            return Err(finding("the salvaged database holds something else"));
        }
        self.report.salvages = self.report.salvages.saturating_add(1);
        database.close()
    }

    /// Restores the newest backup, and then a commit not long before it.
    fn restore(&mut self) -> Result<()> {
        let Some(newest) = self.restore_until(None)? else {
            return Ok(());
        };
        let earlier = CommitNumber(newest.0.saturating_sub(self.random.below(300)).max(1));
        if self.restore_until(Some(earlier))?.is_some() {
            self.report.earlier = self.report.earlier.saturating_add(1);
        }
        Ok(())
    }

    /// Restores and checks a state of the past, which is whole in itself; the commit it ends with.
    fn restore_until(&mut self, commit: Option<CommitNumber>) -> Result<Option<CommitNumber>> {
        let path = self.beside(".restored");
        let mut restore = Restore::new(self.beside(".backup"), &path).replace(true);
        if let Some(commit) = commit {
            restore = restore.until_commit(commit);
        }
        let reached = match restore.run() {
            // The first backup was cut short.
            Err(Error::Format(_)) => return Ok(None),
            // The cleaner freed a segment between two backups, or the commit is older than the first.
            Err(Error::Argument(_)) if commit.is_some() => return Ok(None),
            outcome => outcome?.commit,
        };
        let database = self.open(&path)?;
        self.read(&database.snapshot())?;
        self.check_one(&database)?;
        self.report.restores = self.report.restores.saturating_add(1);
        database.close()?;
        Ok(Some(reached))
    }

    fn check(&mut self) -> Result<()> {
        let database = self.open(&self.torture.database)?;
        self.check_one(&database)?;
        database.close()
    }

    fn check_one(&mut self, database: &Database) -> Result<()> {
        let report = database.check()?;
        self.report.checks = self.report.checks.saturating_add(1);
        match report.is_clean() {
            true => Ok(()),
            false => Err(finding(format!("check has findings: {report}"))),
        }
    }

    fn begin_anew(&mut self) -> Result<()> {
        place::remove(&self.torture.database)?;
        let _ = place::remove(&self.beside(".backup"));
        let record = std::mem::take(&mut self.record);
        self.report.acknowledged = self.report.acknowledged.saturating_add(record.acknowledged);
        self.report.databases = self.report.databases.saturating_add(1);
        Ok(())
    }
}

/// All whole lines, until the worker has ended.
fn listen(output: impl Read) -> Vec<String> {
    BufReader::new(output)
        .lines()
        .map_while(std::io::Result::ok)
        .collect()
}
