//! The process that works on the database until it is killed or its time is over.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::evolve;
use super::random::Random;
use super::work::{ACCOUNTS, check_accounts, define, finding, read_all, transfer, write_pair};
use crate::catalog::IndexDefinition;
use crate::commit::Durability;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::maintain::CompactOptions;
use crate::transaction::TransactionOptions;

/// What a worker is to do.
#[derive(Debug, Clone)]
pub struct Worker {
    /// The database directory.
    pub database: PathBuf,
    /// Where it backs up to.
    pub backup: PathBuf,
    /// The seed of its threads.
    pub seed: u64,
    /// When it ends by itself.
    pub time: Duration,
}

/// Threads that write pairs, each keys of its own.
const WRITERS: u64 = 4;
/// Keys of each.
const KEYS: u64 = 150;
const MEMORY: usize = 64 << 20;

/// Works until the time is over; says on standard output what it tries and what was acknowledged.
///
/// # Errors
/// Whatever the database says that it should not, and what was found wrong.
pub fn worker(worker: &Worker) -> Result<()> {
    let database = Database::options(&worker.database).memory(MEMORY).open()?;
    define(&database)?;
    let work = Work {
        database,
        worker,
        end: Instant::now() + worker.time,
        failed: AtomicBool::new(false),
        conflicts: AtomicU64::new(0),
    };
    let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 0..WRITERS {
            let work = &work;
            threads.push(scope.spawn(move || work.guard(|| work.write(number))));
        }
        threads.push(scope.spawn(|| work.guard(|| work.transfers())));
        threads.push(scope.spawn(|| work.guard(|| work.evolve())));
        threads.push(scope.spawn(|| work.guard(|| work.read())));
        threads.push(scope.spawn(|| work.guard(|| work.maintain())));
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<()>>| {
            thread
                .join()
                .unwrap_or_else(|_| Err(finding("a thread has panicked")))
        };
        threads.into_iter().map(join).collect()
    });
    outcomes.into_iter().collect::<Result<Vec<()>>>()?;
    say(&format!("conflicts {}\n", work.conflicts.load(Ordering::Relaxed)))?;
    work.database.close()
}

struct Work<'a> {
    database: Database,
    worker: &'a Worker,
    end: Instant,
    failed: AtomicBool,
    conflicts: AtomicU64,
}

impl Work<'_> {
    /// Lets the other threads end when one has failed.
    fn guard(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        work().inspect_err(|_| self.failed.store(true, Ordering::Release))
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.end && !self.failed.load(Ordering::Acquire)
    }

    fn random(&self, thread: u64) -> Random {
        Random::new(self.worker.seed.wrapping_mul(31).wrapping_add(thread))
    }

    fn write(&self, thread: u64) -> Result<()> {
        let mut random = self.random(thread);
        while self.goes_on() {
            let key = (random.below(KEYS) * WRITERS + thread) as i64;
            let value = (!random.one_in(4)).then(|| random.below(1_000_000) as i64);
            let padding = match random.below(30) {
                0 => 40_000,
                _ => random.below(300) as usize,
            };
            let durability = if random.one_in(3) {
                Durability::Buffer
            } else {
                Durability::Sync
            };
            let text = value.map_or("-".into(), |value| value.to_string());
            say(&format!("try {key} {text} .\n"))?;
            let detour = random.one_in(4);
            self.until_done(durability, |tx| {
                if detour {
                    // Taken back: nothing of it may ever be seen.
                    tx.savepoint("before");
                    write_pair(tx, key, Some(-8), 20)?;
                    tx.rollback_to("before")?;
                }
                write_pair(tx, key, value, padding)
            })?;
            say(&format!("ack {key} {text} .\n"))?;
            // Written and rolled back: nothing of it may ever be seen.
            if random.one_in(10) {
                let mut tx = self.database.begin()?;
                write_pair(&mut tx, key, Some(-7), 10)?;
            }
        }
        Ok(())
    }

    /// Commits `work`, again and again while others were faster.
    fn until_done(
        &self,
        durability: Durability,
        mut work: impl FnMut(&mut crate::transaction::Transaction) -> Result<()>,
    ) -> Result<()> {
        loop {
            let options = TransactionOptions {
                durability: Some(durability),
                ..TransactionOptions::default()
            };
            let mut tx = self.database.begin_with(options)?;
            match work(&mut tx).and_then(|()| tx.commit()) {
                Ok(_) => return Ok(()),
                Err(error) if error.is_conflict() => {
                    self.conflicts.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn transfers(&self) -> Result<()> {
        let mut random = self.random(100);
        while self.goes_on() {
            let (from, to) = (
                random.below(ACCOUNTS as u64) as i64,
                random.below(ACCOUNTS as u64) as i64,
            );
            if from != to {
                let amount = random.below(50) as i64;
                self.until_done(Durability::Buffer, |tx| transfer(tx, from, to, amount))?;
            }
            if random.one_in(20) {
                check_accounts(&self.database.snapshot())?;
            }
        }
        Ok(())
    }

    /// Creates and deletes shapes, and alters or drops their class.
    fn evolve(&self) -> Result<()> {
        let mut random = self.random(400);
        while self.goes_on() {
            match random.below(60) {
                0 => self.drop_shapes()?,
                1..8 => evolve::alter(&self.database, &mut random)?,
                _ => {
                    let turn = evolve::choose(&self.database, &mut random)?;
                    let key = evolve::key(turn.number);
                    let text = turn.value().map_or("-".into(), |value| value.to_string());
                    say(&format!("try {key} {text} .\n"))?;
                    evolve::take(&self.database, turn)?;
                    say(&format!("ack {key} {text} .\n"))?;
                }
            }
        }
        Ok(())
    }

    fn drop_shapes(&self) -> Result<()> {
        let tell = |verb: &str| {
            let keys = (0..evolve::SHAPES).map(|number| evolve::key(number as i64));
            let lines: String = keys.map(|key| format!("{verb} {key} - .\n")).collect();
            say(&lines)
        };
        tell("try")?;
        evolve::drop_class(&self.database)?;
        tell("also")?;
        evolve::define(&self.database)
    }

    /// Reads everything, twice from each snapshot: what it shows must not change.
    fn read(&self) -> Result<()> {
        let mut random = self.random(200);
        while self.goes_on() {
            let snapshot = self.database.snapshot();
            let before = read_all(&snapshot)?;
            std::thread::sleep(Duration::from_millis(random.below(300)));
            if read_all(&snapshot)? != before {
                return Err(finding("a snapshot has changed"));
            }
            let commit = snapshot.commit();
            drop(snapshot);
            match self
                .database
                .snapshot_at(commit)
                .and_then(|older| read_all(&older))
            {
                Ok(older) if older == before => {}
                Ok(_) => return Err(finding(format!("the state of commit {} has changed", commit.0))),
                // It is no longer kept.
                Err(Error::Expired(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Checkpoints, compactions, backups, checks, and indexes that come and go.
    fn maintain(&self) -> Result<()> {
        let mut random = self.random(300);
        while self.goes_on() {
            match random.below(8) {
                0 | 1 => self.database.checkpoint()?,
                2 | 3 => self.toggle_indexes(&mut random)?,
                4 => {
                    let mut options = CompactOptions::new();
                    if random.one_in(3) {
                        options = options.cluster_by("TortureRight.left");
                    }
                    self.database
                        .compact(&options, &mut |_| ControlFlow::Continue(()))?;
                    say("compacted\n")?;
                }
                5 => {
                    self.database
                        .backup_watched(&self.worker.backup, true, &mut |_| ControlFlow::Continue(()))?;
                    say("backed up\n")?;
                }
                6 if random.one_in(4) => {
                    let report = self.database.check()?;
                    if !report.is_clean() {
                        return Err(finding(format!("a check while all goes on: {report}")));
                    }
                }
                _ => std::thread::sleep(Duration::from_millis(random.below(200))),
            }
        }
        Ok(())
    }

    /// Creates an index, or drops it. A kill may have left either.
    fn toggle_indexes(&self, random: &mut Random) -> Result<()> {
        let indexes = [
            ("TortureLeft", "value", "TortureLeft_value"),
            ("TortureRight", "left.value", "TortureRight_left_value"),
        ];
        let Some((class, path, name)) = indexes.get(random.below(2) as usize) else {
            return Ok(());
        };
        let outcome = match random.one_in(2) {
            true => self.database.create_index(class, &IndexDefinition::on(path)),
            false => self.database.transact(|tx| tx.drop_index(name)),
        };
        match outcome {
            // It exists already, or does not, or the other stands on it.
            Err(Error::Schema(_)) => Ok(()),
            outcome => outcome,
        }
    }
}

/// Says whole lines, whichever thread says them.
fn say(line: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    output
        .write_all(line.as_bytes())
        .and_then(|()| output.flush())
        .map_err(|error| Error::io("telling the parent", error))
}
