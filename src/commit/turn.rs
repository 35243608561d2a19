//! The exclusive turn: how a transaction that was overtaken again and again gets through.
//!
//! While somebody has the turn, other threads wait before they commit. They wait for a bounded time only, so that a turn
//! whose holder waits for one of them ends in a delay and not in a deadlock; then the holder may be overtaken once more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Who has the turn.
#[derive(Debug, Default)]
pub struct Turn {
    taken: AtomicBool,
    holder: Mutex<Option<ThreadId>>,
    ended: Condvar,
}

/// The turn, until it is dropped.
#[derive(Debug)]
pub struct ExclusiveTurn<'a>(&'a Turn);

/// The longest a committer waits for another's turn to end.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

impl Turn {
    /// Takes the turn; `None` if this thread has it already, or another keeps it too long.
    pub fn take(&self) -> Option<ExclusiveTurn<'_>> {
        let mut holder = self.holder.lock();
        if !self.wait_for_others(&mut holder) || holder.is_some() {
            return None;
        }
        *holder = Some(std::thread::current().id());
        self.taken.store(true, Ordering::Release);
        Some(ExclusiveTurn(self))
    }

    /// Waits while another thread has the turn.
    #[inline]
    pub fn pass(&self) {
        if self.taken.load(Ordering::Acquire) {
            self.wait_for_others(&mut self.holder.lock());
        }
    }

    /// Whether no other thread has the turn any more, after a wait.
    fn wait_for_others(&self, holder: &mut parking_lot::MutexGuard<'_, Option<ThreadId>>) -> bool {
        let deadline = Instant::now() + LONGEST_WAIT;
        let own = std::thread::current().id();
        while holder.is_some_and(|holder| holder != own) {
            if self.ended.wait_until(holder, deadline).timed_out() {
                return false;
            }
        }
        true
    }
}

impl Drop for ExclusiveTurn<'_> {
    fn drop(&mut self) {
        *self.0.holder.lock() = None;
        self.0.taken.store(false, Ordering::Release);
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_wait_and_the_holder_does_not() {
        let turn = Turn::default();
        let taken = turn.take();
        assert!(taken.is_some());
        turn.pass();
        assert!(turn.take().is_none(), "it has the turn already");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                turn.pass();
                assert!(done.load(Ordering::Acquire));
                assert!(turn.take().is_some());
            });
            std::thread::sleep(Duration::from_millis(20));
            done.store(true, Ordering::Release);
            drop(taken);
        });
        turn.pass();
    }
}
