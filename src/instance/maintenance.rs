//! The one background thread of a database: checkpoints when they are due, and a bound on what a power cut can take
//! from buffered commits.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::opened::Instance;
use crate::error::{Error, Result};

/// The handle of the background thread.
#[derive(Debug, Default)]
pub struct Maintenance {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Signal {
    stop: Mutex<bool>,
    stopped: Condvar,
}

impl Maintenance {
    /// Starts the thread for `instance`.
    pub fn start(&self, instance: Weak<Instance>) -> Result<()> {
        let signal = self.signal.clone();
        *signal.stop.lock() = false;
        let thread = std::thread::Builder::new()
            .name("olivine-maintenance".into())
            .spawn(move || run(&signal, &instance))
            .map_err(|error| Error::io("starting the maintenance thread", error))?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Stops the thread and waits for it; whether it ran. Harmless to repeat.
    pub fn stop(&self) -> bool {
        *self.signal.stop.lock() = true;
        self.signal.stopped.notify_all();
        let thread = self.thread.lock().take();
        let ran = thread.is_some();
        // The thread itself drops the last handle if it outlives all others; it must not wait for itself.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
        ran
    }
}

fn run(signal: &Signal, instance: &Weak<Instance>) {
    let mut idle_rounds = 0u32;
    loop {
        let mut stop = signal.stop.lock();
        if !*stop {
            signal.stopped.wait_for(&mut stop, ROUND);
        }
        if *stop {
            return;
        }
        drop(stop);
        let Some(instance) = instance.upgrade() else {
            return;
        };
        idle_rounds = idle_rounds.saturating_add(1);
        // Failures stick to the heap and reach the next committer.
        if instance.heap.needs_checkpoint() {
            let _ = instance.heap.checkpoint();
        }
        if idle_rounds >= ROUNDS_PER_SYNC && instance.heap.durable() < instance.heap.end() {
            idle_rounds = 0;
            let _ = instance.persist();
        }
    }
}

const ROUND: Duration = Duration::from_millis(50);
/// Buffered commits are synced once a second.
const ROUNDS_PER_SYNC: u32 = 20;
