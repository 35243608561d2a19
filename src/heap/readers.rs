//! Which commits may still be read.
//!
//! Every reader registers the oldest commit it may be asked for. The *floor* is a commit from which on every state is
//! whole: the cleaner raises it, never above what a reader or the history needs, before it does something that an older
//! state would miss. What it raises the floor for reaches the disk only with a checkpoint that says so, and so the floor
//! of an opened database is true.
//!
//! Segment files need no floor: see the head of `segments.rs`. A dropped tombstone does, since it is taken out of the
//! table that open readers share; and so does a reader that comes and asks for an older state.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::object::CommitNumber;

/// Held by a reader: nothing it may read is dropped.
#[derive(Debug)]
pub(super) struct Mark {
    commit: CommitNumber,
}

/// The open readers, and the floor.
#[derive(Debug)]
pub(super) struct Readers {
    state: Mutex<State>,
    /// The newest commit that was applied.
    newest: AtomicU64,
}

#[derive(Debug)]
struct State {
    marks: Vec<Weak<Mark>>,
    /// Marks at which those of closed readers are thrown out.
    most: usize,
    floor: CommitNumber,
}

impl Readers {
    /// Nobody reads, and states from `floor` up to `newest` are whole.
    pub(super) fn new(floor: CommitNumber, newest: CommitNumber) -> Readers {
        Readers {
            state: Mutex::new(State {
                marks: Vec::new(),
                most: FEWEST,
                floor,
            }),
            newest: AtomicU64::new(newest.0),
        }
    }

    /// Says that `commit` was applied.
    pub(super) fn applied(&self, commit: CommitNumber) {
        self.newest.fetch_max(commit.0, Ordering::AcqRel);
    }

    fn newest(&self) -> CommitNumber {
        CommitNumber(self.newest.load(Ordering::Acquire))
    }

    /// Registers a reader of the newest state, which is looked up under the lock, so that the floor cannot pass it.
    pub(super) fn register_newest(&self) -> Arc<Mark> {
        let mut state = self.state.lock();
        let commit = self.newest();
        state.add(commit)
    }

    /// Registers a reader of the states from `commit` on.
    ///
    /// # Errors
    /// [`Error::Expired`] if they are not whole.
    pub(super) fn register(&self, commit: CommitNumber) -> Result<Arc<Mark>> {
        let mut state = self.state.lock();
        if commit < state.floor {
            return Err(Error::Expired(format!(
                "the state as of commit {commit} is no longer kept; the oldest that is kept is that of commit {}",
                state.floor
            )));
        }
        Ok(state.add(commit))
    }

    /// The oldest commit from which on every state is whole.
    pub(super) fn floor(&self) -> CommitNumber {
        self.state.lock().floor
    }

    /// Raises the floor towards `wanted`, but not above what an open reader may be asked for, nor above the newest
    /// commit; gives the commit it was raised to, below which no open reader reads.
    pub(super) fn raise(&self, wanted: CommitNumber) -> CommitNumber {
        let mut state = self.state.lock();
        let oldest = state.oldest().unwrap_or(CommitNumber(u64::MAX));
        let allowed = wanted.min(oldest).min(self.newest());
        state.floor = state.floor.max(allowed);
        allowed
    }

    /// Raises the floor to `commit`, whoever reads: for what only readers still to come would miss.
    pub(super) fn raise_for_new_readers(&self, commit: CommitNumber) {
        let mut state = self.state.lock();
        state.floor = state.floor.max(commit);
    }
}

impl State {
    fn add(&mut self, commit: CommitNumber) -> Arc<Mark> {
        if self.marks.len() >= self.most {
            self.marks.retain(|mark| mark.strong_count() > 0);
            self.most = self.marks.len().saturating_mul(2).max(FEWEST);
        }
        let mark = Arc::new(Mark { commit });
        self.marks.push(Arc::downgrade(&mark));
        mark
    }

    fn oldest(&mut self) -> Option<CommitNumber> {
        self.marks.retain(|mark| mark.strong_count() > 0);
        let commits = self.marks.iter().filter_map(Weak::upgrade);
        commits.map(|mark| mark.commit).min()
    }
}

const FEWEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_stays_below_open_readers_and_refuses_older_ones() {
        let readers = Readers::new(CommitNumber(0), CommitNumber(99));
        readers.applied(CommitNumber(100));
        let old = readers.register(CommitNumber(10)).unwrap();
        let newer = readers.register_newest();
        assert_eq!(readers.raise(CommitNumber(50)), CommitNumber(10));
        drop(old);
        assert_eq!(readers.raise(CommitNumber(50)), CommitNumber(50));
        assert!(matches!(
            readers.register(CommitNumber(49)),
            Err(Error::Expired(_))
        ));
        assert!(readers.register(CommitNumber(50)).is_ok());
        drop(newer);
        assert_eq!(readers.raise(CommitNumber(500)), CommitNumber(100));
    }

    #[test]
    fn marks_of_closed_readers_do_not_pile_up() {
        let readers = Readers::new(CommitNumber(0), CommitNumber(0));
        let _held = readers.register(CommitNumber(1)).unwrap();
        for commit in 2..10_000 {
            drop(readers.register(CommitNumber(commit)).unwrap());
        }
        assert!(readers.state.lock().marks.len() <= 2 * FEWEST);
    }
}
