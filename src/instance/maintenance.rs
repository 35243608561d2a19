//! The background threads of a database.
//!
//! One writes checkpoints when they are due and makes log segments ahead; one cleans. A third bounds what a power cut can
//! take from buffered commits: it looks twice a window whether the log has an end that is not durable, and syncs it. It
//! does nothing else, so that no checkpoint keeps it waiting.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::cleaning::Pace;
use super::conversion::Conversions;
use super::opened::Parts;
use crate::error::{Error, Result};

/// The handles of the background threads.
#[derive(Debug, Default)]
pub struct Maintenance {
    signal: Arc<Signal>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Signal {
    stop: Mutex<bool>,
    stopped: Condvar,
}

impl Signal {
    /// Waits until `until`; whether the threads shall stop.
    fn stops_before(&self, until: Instant) -> bool {
        let mut stop = self.stop.lock();
        while !*stop && !self.stopped.wait_until(&mut stop, until).timed_out() {}
        *stop
    }
}

impl Maintenance {
    /// Starts the threads for an open database.
    pub fn start(&self, parts: Arc<Parts>) -> Result<()> {
        *self.signal.stop.lock() = false;
        if parts.options.cleaner {
            self.spawn("olivine-cleaner", clean, parts.clone())?;
        }
        self.spawn("olivine-sync", sync, parts.clone())?;
        self.spawn("olivine-maintenance", run, parts)
    }

    fn spawn(&self, name: &str, work: fn(&Signal, &Parts), parts: Arc<Parts>) -> Result<()> {
        let signal = self.signal.clone();
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || work(&signal, &parts))
            .map_err(|error| Error::io("starting a maintenance thread", error))?;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// Stops the threads and waits for them. Harmless to repeat.
    pub fn stop(&self) {
        *self.signal.stop.lock() = true;
        self.signal.stopped.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // They do not panic; if one did, there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

/// Syncs the log twice a window, where there is anything to sync.
fn sync(signal: &Signal, parts: &Parts) {
    let pause = (parts.options.loss_window / 2).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    while !signal.stops_before(Instant::now() + pause) {
        if parts.heap.durable() < parts.heap.end() {
            // A failure sticks to the heap and reaches the next committer.
            let _ = parts.persist();
        }
    }
}

/// Makes segments ahead, keeps the reserve, and writes checkpoints when they are due.
fn run(signal: &Signal, parts: &Parts) {
    let mut rounds = 0u32;
    let mut conversions = Conversions::default();
    while !signal.stops_before(Instant::now() + ROUND) {
        rounds = rounds.wrapping_add(1);
        parts.heap.prepare();
        if rounds.is_multiple_of(ROUNDS_PER_RESERVE) {
            parts.heap.keep_reserve();
        }
        // Failures stick to the heap and reach the next committer.
        if parts.heap.needs_checkpoint() {
            let _ = parts.checkpoint_and_release();
        }
        parts.heal_indexes();
        // What fails is tried again in the next round.
        let _ = parts.convert_some(&mut conversions);
    }
}

/// Cleans when there is much to clean.
fn clean(signal: &Signal, parts: &Parts) {
    while !signal.stops_before(Instant::now() + CLEANER_ROUND) {
        let mut pace = Pace::new(parts.options.cleaner_budget);
        // What fails is tried again in the next round; a heap that takes no writes tells committers why.
        let _ = parts.tend(&mut |moved| {
            let until = Instant::now() + pace.wait_after(moved.bytes).min(LONGEST_WAIT);
            if signal.stops_before(until) || parts.cleaner_must_yield() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
    }
}

const ROUND: Duration = Duration::from_millis(50);
/// The reserve is looked at once a second.
const ROUNDS_PER_RESERVE: u32 = 20;
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(1 << 20);
/// How much lives is looked at four times a second.
const CLEANER_ROUND: Duration = Duration::from_millis(250);
/// A pause of a cleaner with a small budget, at most.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FaultyDisk;
    use crate::index::IndexStorage;
    use crate::instance::{Options, open_on};
    use crate::object::ClassId;

    #[test]
    fn what_is_only_buffered_becomes_durable_by_itself() {
        let options = Options::new(None).loss_window(Duration::from_millis(20));
        let disk = Arc::new(FaultyDisk::new());
        let instance = open_on(disk, IndexStorage::Memory, options).unwrap();
        for _ in 0..3 {
            instance.heap.reserve(ClassId(70), 1000).unwrap();
            let end = instance.heap.end();
            while instance.heap.durable() < end {
                std::thread::yield_now();
            }
        }
    }
}
