//! Durable commits of one object each, from 1, 8 and 64 threads, against what the disk gives to a bare file.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use parking_lot::Mutex;

use super::Settings;
use crate::bare_file::{BareFile, Blocks};
use crate::data::{Items, digest_of};
use crate::measure::time;
use crate::peers::{Lmdb, LmdbSync, Lsm, OLIVINE, Olivine, Peer, SQLITE, Sqlite, SqliteSync};
use crate::report::{Bound, Clock, Duel, Report, Row, Unit};

const THREADS: [usize; 3] = [1, 8, 64];
/// How long each peer commits in one round.
const ROUND: Duration = Duration::from_millis(1_000);
/// Rounds at most: commits are slow.
const ROUNDS: usize = 3;
/// The bodies are those of this many items, over and over.
const BODIES: usize = 10_000;
const BARE: &str = "bare file, fallocated";
const ZEROED: &str = "bare file, zeroed";

/// A store that commits one item at a time from any thread.
trait Commits: Sync {
    /// Commits a body under a key no other commit has; returns once it is on the disk.
    fn commit(&self, key: u64, body: &[u8]) -> Result<()>;

    /// The digest of what is there, by the keys committed under; `None` where keys are not kept.
    fn digest(&self) -> Result<Option<u64>>;

    /// How many items are there.
    fn count(&self) -> Result<u64>;
}

/// A store, its name and what was acknowledged by it.
struct Peer64 {
    name: &'static str,
    store: Box<dyn Commits>,
    keys: AtomicU64,
}

/// Runs the circuit.
pub fn run(settings: &Settings, report: &mut Report) -> Result<()> {
    let items = Items::new(BODIES, settings.seed);
    let bodies: Vec<Vec<u8>> = items
        .keys()
        .map(|key| items.body(key, items.value(key)))
        .collect();
    let peers = create(&settings.directory("commit")?)?;
    let mut duels: Vec<Duel> = Vec::new();
    for threads in THREADS {
        let work = format!("commit: one object, durable, {threads} threads");
        let mut duel = Duel::new(work, Clock::Wall, Unit::CommitsASecond);
        duel.rows = peers.iter().map(|peer| Row::new(peer.name)).collect();
        for _ in 0..settings.rounds.min(ROUNDS) {
            for (peer, row) in peers.iter().zip(&mut duel.rows) {
                let (count, taken) = time(|| commit_for(ROUND, threads, peer, &bodies));
                match count {
                    Ok(count) => row.add(count as usize, taken, true),
                    Err(error) => {
                        eprintln!("  {}: {error:#}", peer.name);
                        row.verified = false;
                    }
                }
            }
        }
        duels.push(duel);
    }
    for (at, peer) in peers.iter().enumerate() {
        let verified = check(peer, &bodies);
        if let Err(error) = &verified {
            eprintln!("  {}: {error:#}", peer.name);
        }
        for duel in &mut duels {
            duel.rows[at].verified &= verified.is_ok();
        }
    }
    for duel in duels {
        report.add(duel);
    }
    mark(report);
    Ok(())
}

fn mark(report: &mut Report) {
    let (Some(last), Some(first)) = (
        report.duels.last(),
        report.duels.iter().rev().nth(THREADS.len() - 1),
    ) else {
        return;
    };
    let share = last.ratio(BARE, OLIVINE);
    let faster = [SQLITE, "LMDB"].map(|peer| (peer, last.ratio(peer, OLIVINE)));
    let sync = first.median(BARE);
    if let Some(sync) = sync {
        println!(
            "\n  one append and fdatasync on the fallocated file takes {:.2} ms",
            sync * 1e3
        );
    }
    report.mark(
        "durable commits, 64 threads, part of the fallocated bare file",
        share,
        Bound::AtLeast(0.5),
    );
    for (peer, faster) in faster {
        report.mark(
            format!("durable commits, 64 threads, faster than {peer}"),
            faster,
            Bound::AtLeast(20.0),
        );
    }
}

fn create(directory: &Path) -> Result<Vec<Peer64>> {
    let peer = |name, store| Peer64 {
        name,
        store,
        keys: AtomicU64::new(0),
    };
    let sqlite = Sqlite::create(&directory.join("sqlite.db"), SqliteSync::Full)?;
    Ok(vec![
        peer(
            OLIVINE,
            Box::new(InOlivine(Olivine::create(&directory.join("olivine"))?)) as Box<dyn Commits>,
        ),
        peer(
            BARE,
            Box::new(BareFile::create(
                &directory.join("fallocated"),
                Blocks::Allocated,
            )?),
        ),
        peer(
            ZEROED,
            Box::new(BareFile::create(&directory.join("zeroed"), Blocks::Written)?),
        ),
        peer(
            "LMDB",
            Box::new(InLmdb(Lmdb::create(&directory.join("lmdb"), LmdbSync::Always)?)),
        ),
        peer("fjall", Box::new(InLsm(Lsm::create(&directory.join("fjall"))?))),
        peer(SQLITE, Box::new(InSqlite(Mutex::new(sqlite)))),
    ])
}

/// Commits from `threads` threads for about `duration`; returns how many were acknowledged.
fn commit_for(duration: Duration, threads: usize, peer: &Peer64, bodies: &[Vec<u8>]) -> Result<u64> {
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    let work = || -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            let key = peer.keys.fetch_add(1, Ordering::Relaxed);
            peer.store.commit(key, &bodies[key as usize % bodies.len()])?;
            count.fetch_add(1, Ordering::Relaxed);
            if start.elapsed() >= duration {
                stop.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("a committing thread panicked"))?
        })
    })?;
    Ok(count.into_inner())
}

/// Every acknowledged commit is there, once, whole.
fn check(peer: &Peer64, bodies: &[Vec<u8>]) -> Result<()> {
    let acknowledged = peer.keys.load(Ordering::Relaxed);
    let found = peer.store.count()?;
    ensure!(
        found == acknowledged,
        "{acknowledged} commits were acknowledged, {found} objects found"
    );
    let part = |key: u64| digest_of(key, &bodies[key as usize % bodies.len()]);
    let expected = (0..acknowledged).map(part).fold(0, u64::wrapping_add);
    let digest = peer.store.digest()?;
    ensure!(
        digest.is_none_or(|digest| digest == expected),
        "the objects are not the ones committed"
    );
    Ok(())
}

struct InOlivine(Olivine);

/// Olivine numbers the objects itself, in the order of their making: the key is not kept.
impl Commits for InOlivine {
    fn commit(&self, _: u64, body: &[u8]) -> Result<()> {
        self.0.put(body)
    }

    fn digest(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    fn count(&self) -> Result<u64> {
        self.0.count()
    }
}

impl Commits for BareFile {
    fn commit(&self, _: u64, body: &[u8]) -> Result<()> {
        self.append(body)
    }

    fn digest(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    fn count(&self) -> Result<u64> {
        Ok(self.records())
    }
}

struct InLmdb(Lmdb);

impl Commits for InLmdb {
    fn commit(&self, key: u64, body: &[u8]) -> Result<()> {
        self.0.put(key, body)
    }

    fn digest(&self) -> Result<Option<u64>> {
        self.0.digest().map(Some)
    }

    fn count(&self) -> Result<u64> {
        self.0.count_above(i64::MIN)
    }
}

struct InLsm(Lsm);

impl Commits for InLsm {
    fn commit(&self, key: u64, body: &[u8]) -> Result<()> {
        self.0.put(key, body)
    }

    fn digest(&self) -> Result<Option<u64>> {
        self.0.digest().map(Some)
    }

    fn count(&self) -> Result<u64> {
        self.0.count_above(i64::MIN)
    }
}

/// One connection in turn: its best case, since SQLite has one writer and many connections only wait on its lock file.
struct InSqlite(Mutex<Sqlite>);

impl Commits for InSqlite {
    fn commit(&self, key: u64, body: &[u8]) -> Result<()> {
        self.0.lock().put(key, body)
    }

    fn digest(&self) -> Result<Option<u64>> {
        self.0.lock().digest().map(Some)
    }

    fn count(&self) -> Result<u64> {
        self.0.lock().count_above(i64::MIN)
    }
}
