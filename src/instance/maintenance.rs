//! The one background thread of a database: checkpoints when they are due, and a bound on what a power cut can take
//! from buffered commits.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::opened::Parts;
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
    /// Starts the thread for an open database.
    pub fn start(&self, parts: Arc<Parts>) -> Result<()> {
        let signal = self.signal.clone();
        *signal.stop.lock() = false;
        let thread = std::thread::Builder::new()
            .name("olivine-maintenance".into())
            .spawn(move || run(&signal, &parts))
            .map_err(|error| Error::io("starting the maintenance thread", error))?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Stops the thread and waits for it. Harmless to repeat.
    pub fn stop(&self) {
        *self.signal.stop.lock() = true;
        self.signal.stopped.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // The thread does not panic; if it did, there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

fn run(signal: &Signal, parts: &Parts) {
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
        idle_rounds = idle_rounds.saturating_add(1);
        parts.heap.prepare();
        // Failures stick to the heap and reach the next committer.
        if parts.heap.needs_checkpoint() {
            let _ = parts.heap.checkpoint();
        }
        if idle_rounds >= ROUNDS_PER_SYNC && parts.heap.durable() < parts.heap.end() {
            idle_rounds = 0;
            let _ = parts.persist();
        }
    }
}

const ROUND: Duration = Duration::from_millis(50);
/// Buffered commits are synced once a second.
const ROUNDS_PER_SYNC: u32 = 20;
