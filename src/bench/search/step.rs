//! One round at one number of threads: they search for a while, and every answer is looked at.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::classes::{Entry, uid};
use crate::bench::random::Random;
use crate::error::{Error, Result};
use crate::{Database, Ref, params};

/// What is searched, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    pub database: &'a Database,
    /// The entries, in the order of their numbers.
    pub entries: &'a [Ref<Entry>],
    /// How long the threads search.
    pub time: Duration,
    pub seed: u32,
}

/// What a round gave.
#[derive(Debug, Clone, Copy, Default)]
pub struct Round {
    /// Searches a second by all threads together.
    pub searches: f64,
    /// Entries a second to which the writer gave another value of the searched attribute.
    pub updates: f64,
}

/// Stack of a searching thread, bytes: a thousand of them must be no burden.
const STACK: usize = 512 << 10;

/// The gate all threads wait at, and the sign to stop.
#[derive(Debug, Default)]
struct Signals {
    open: Mutex<bool>,
    opened: Condvar,
    stop: AtomicBool,
    searches: AtomicU64,
    updates: AtomicU64,
}

impl Signals {
    fn wait(&self) {
        let mut open = self.open.lock();
        while !*open {
            self.opened.wait(&mut open);
        }
    }

    fn open(&self) {
        *self.open.lock() = true;
        self.opened.notify_all();
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Search<'_> {
    /// Searches with `threads` threads, beside a writer if asked.
    ///
    /// # Errors
    /// What the database answers, and [`Error::Other`] for a wrong answer.
    pub fn round(&self, threads: usize, writer: bool) -> Result<Round> {
        let signals = Signals::default();
        let seconds = std::thread::scope(|scope| {
            let running: std::io::Result<Vec<_>> = (0..threads + usize::from(writer))
                .map(|thread| {
                    let random = Random::new(self.seed.wrapping_add(u32::try_from(thread).unwrap_or(0)));
                    let signals = &signals;
                    let work = move || match thread < threads {
                        true => self.search(random, signals),
                        false => self.update(random, signals),
                    };
                    let builder = std::thread::Builder::new().stack_size(STACK);
                    builder.spawn_scoped(scope, work)
                })
                .collect();
            signals.open();
            let started = Instant::now();
            if running.is_ok() {
                std::thread::sleep(self.time);
            }
            signals.stop.store(true, Ordering::Relaxed);
            let seconds = started.elapsed().as_secs_f64();
            for one in running.map_err(|error| Error::io(format!("starting {threads} threads"), error))? {
                one.join()
                    .map_err(|_| Error::other("a searching thread panicked"))??;
            }
            Ok::<f64, Error>(seconds)
        })?;
        let rate = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64 / seconds;
        Ok(Round {
            searches: rate(&signals.searches),
            updates: rate(&signals.updates),
        })
    }

    fn search(&self, mut random: Random, signals: &Signals) -> Result<()> {
        signals.wait();
        let mut searches = 0u64;
        while !signals.stopped() {
            self.look_up(random.position(self.entries.len()))?;
            searches += u64::from(!signals.stopped());
        }
        signals.searches.fetch_add(searches, Ordering::Relaxed);
        Ok(())
    }

    /// One search: a snapshot, a query by the indexed attribute, and the whole object it finds. A writer only exchanges
    /// values between two entries in one transaction, so every snapshot has exactly one entry with each.
    fn look_up(&self, number: usize) -> Result<()> {
        let wanted = uid(u32::try_from(number).unwrap_or(u32::MAX));
        let snapshot = self.database.snapshot();
        let rows = snapshot.query(
            "select e from Entry e where e.uid = $uid",
            params! { uid: wanted.as_str() },
        )?;
        let mut found = 0;
        for row in rows.objects::<Entry>() {
            let (_, entry) = row?;
            if entry.uid != wanted || !entry.is_whole() {
                return Err(Error::other(format!("a search for {wanted} gave {entry:?}")));
            }
            found += 1;
        }
        match found {
            1 => Ok(()),
            _ => Err(Error::other(format!(
                "a search for {wanted} gave {found} entries"
            ))),
        }
    }

    /// Exchanges the searched attribute of two entries, over and over, one transaction each.
    fn update(&self, mut random: Random, signals: &Signals) -> Result<()> {
        signals.wait();
        let mut updates = 0u64;
        while !signals.stopped() {
            let mut draw = || self.entries.get(random.position(self.entries.len())).copied();
            let (Some(one), Some(other)) = (draw(), draw()) else {
                return Ok(());
            };
            if one == other {
                continue;
            }
            self.database.transact(|tx| {
                let (Some(mut first), Some(mut second)) = (tx.get(one)?, tx.get(other)?) else {
                    return Err(Error::other("an entry is gone"));
                };
                std::mem::swap(&mut first.uid, &mut second.uid);
                tx.update(one, &first)?;
                tx.update(other, &second)
            })?;
            updates += 2;
        }
        signals.updates.fetch_add(updates, Ordering::Relaxed);
        Ok(())
    }
}
