//! What the store's callers and its background thread share, and which state a reader gets.
//!
//! # States
//!
//! A state ([`IndexSnapshot`]) is a base for each index and the deltas over them, the oldest first, the last one
//! active. Entries carry commit numbers, and readers pass over what is later than their commit, so one state serves
//! readers at many commits, and committing changes no state: it adds to the active delta.
//!
//! A base has no commit numbers. **Invariant: a reader at commit C never uses a base that has entries of a commit later
//! than C.** Each state knows the newest commit in its bases, `least`; a flush makes a state whose `least` is that of
//! the delta it merged, and the state before stays in place for captures below it: a commit is applied here before it
//! is published, so a flush can be ahead of what readers may see. The state before is complete for all commits up to
//! the new `least`, since it holds the delta that was merged. Captures come in commit order, so once one has reached a
//! state, those before it are dropped; snapshots that hold them go on reading theirs.
//!
//! # The life of an entry
//!
//! 1. `apply` adds it to the active delta, with its commit number.
//! 2. The delta is full: it is *frozen*, and a new one becomes active, in a new state (same bases, same `least`).
//! 3. The background thread makes the log durable through the newest commit of the oldest frozen delta; then merges it
//!    into each base it has entries for, one ingestion an index, the index's `applied` position in the same ingestion.
//! 4. It takes new bases of all indexes, and makes the state of those and the remaining deltas.
//!
//! A failure in 3 leaves the state as it was; its bases do not see what some indexes have ingested already. The next
//! try merges the same delta into what is there now: operations on a set, whose repetition changes nothing.
//!
//! # Locks
//!
//! In this order: `maintenance` (flush, build, create, drop: one at a time), `writing` (the active delta), `states`;
//! the others are held for a moment with none taken inside. `capture` takes `states` alone.

use std::borrow::Borrow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

use super::cache::PostingCache;
use super::catch_up::Waiting;
use super::delta::Delta;
use super::description::{Description, Progress};
use super::indexes::SyncThrough;
use super::member::Member;
use super::store::{Space, Store};
use super::{IndexChange, IndexId, IndexKind, IndexSnapshot};
use crate::error::{Error, Result};
use crate::heap::LogPosition;
use crate::object::CommitNumber;

/// Deltas that may wait for a flush.
const MOST_FROZEN: usize = 3;
/// How long the background thread waits after a failure before it tries again.
const RETRY: Duration = Duration::from_secs(1);

/// When a delta is full.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Entries.
    pub(super) entries: usize,
    /// Bytes.
    pub(super) bytes: usize,
}

/// One index as it is maintained.
#[derive(Clone)]
pub(super) struct Maintained {
    /// Where its base lies.
    pub(super) space: Arc<Space>,
    /// What its base says of itself.
    pub(super) description: Description,
    /// How far it has come.
    pub(super) applied: LogPosition,
    /// Bytes of its base when it was last written.
    pub(super) bytes: u64,
    /// See [`Member::serial`].
    pub(super) serial: u32,
}

/// What only one at a time may change.
#[derive(Default)]
pub(super) struct Maintenance {
    /// The last flush that ended.
    pub(super) progress: Progress,
    /// The last serial number given.
    pub(super) serial: u32,
    /// The newest commit in the base of an index that is about to be put in place.
    pub(super) merged_through: CommitNumber,
}

/// Indexes that do not exist.
#[derive(Default)]
pub(super) struct Unmade {
    /// Those to be built, with the entries of merged deltas that wait for that.
    pub(super) prepared: BTreeMap<IndexId, Waiting>,
    /// The newest commit whose entries of an index were let go, since nobody had said that it would be built.
    pub(super) discarded: FxHashMap<IndexId, CommitNumber>,
}

/// How the background thread stands.
#[derive(Debug, Default)]
pub(super) struct Flushing {
    frozen: usize,
    failure: Option<Failure>,
    pub(super) closing: bool,
}

#[derive(Debug)]
struct Failure {
    sentence: String,
    no_space: bool,
}

/// The state for new readers, and those it replaced before readers were ready for it.
struct States {
    /// Ascending by `least`; needed only by captures to come.
    older: VecDeque<Arc<IndexSnapshot>>,
    newest: Arc<IndexSnapshot>,
}

/// See the head of this file.
pub(super) struct Shared {
    pub(super) store: Store,
    /// Holds how far all indexes have come.
    pub(super) progress_space: Space,
    pub(super) cache: Arc<PostingCache>,
    pub(super) sync_through: SyncThrough,
    pub(super) limits: Limits,
    pub(super) sort_budget: usize,
    pub(super) maintenance: Mutex<Maintenance>,
    pub(super) unmade: Mutex<Unmade>,
    pub(super) indexes: RwLock<BTreeMap<IndexId, Maintained>>,
    writing: Mutex<()>,
    states: RwLock<States>,
    /// The newest commit captured at: no capture comes below it.
    captured: AtomicU64,
    flushing: Mutex<Flushing>,
    changed: Condvar,
    /// States no capture needs, for the background thread to drop: freeing a delta takes a while.
    retired: Mutex<Vec<Arc<IndexSnapshot>>>,
}

/// What [`Shared`] is made of.
pub(super) struct Parts {
    pub(super) store: Store,
    pub(super) progress_space: Space,
    pub(super) sync_through: SyncThrough,
    pub(super) limits: Limits,
    pub(super) sort_budget: usize,
    pub(super) cache_bytes: usize,
    pub(super) maintenance: Maintenance,
    pub(super) indexes: BTreeMap<IndexId, Maintained>,
}

impl Shared {
    pub(super) fn new(parts: Parts) -> Shared {
        let cache = Arc::new(PostingCache::new(parts.cache_bytes));
        let newest = IndexSnapshot {
            members: Arc::new(
                parts
                    .indexes
                    .iter()
                    .map(|(&id, index)| (id, index.member()))
                    .collect(),
            ),
            deltas: smallvec![Arc::new(Delta::new(parts.limits.entries))],
            least: CommitNumber::default(),
            generation: 0,
            cache: Arc::clone(&cache),
        };
        Shared {
            store: parts.store,
            progress_space: parts.progress_space,
            cache,
            sync_through: parts.sync_through,
            limits: parts.limits,
            sort_budget: parts.sort_budget,
            maintenance: Mutex::new(parts.maintenance),
            unmade: Mutex::default(),
            retired: Mutex::default(),
            indexes: RwLock::new(parts.indexes),
            writing: Mutex::new(()),
            states: RwLock::new(States {
                older: VecDeque::new(),
                newest: Arc::new(newest),
            }),
            captured: AtomicU64::new(0),
            flushing: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The state for a reader at commit `at`.
    pub(super) fn capture(&self, at: CommitNumber) -> Arc<IndexSnapshot> {
        let states = self.states.read();
        self.captured.fetch_max(at.0, Ordering::AcqRel);
        if states.older.is_empty() {
            return Arc::clone(&states.newest);
        }
        drop(states);
        let mut states = self.states.write();
        let before = states
            .older
            .partition_point(|state| state.least <= at)
            .saturating_sub(1);
        let is_newest = states.newest.least <= at;
        let retired = if is_newest { states.older.len() } else { before };
        self.retire(states.older.drain(..retired));
        match states.older.front() {
            Some(older) if !is_newest => Arc::clone(older),
            _ => Arc::clone(&states.newest),
        }
    }

    /// Leaves states that no capture needs any more to the background thread.
    fn retire(&self, states: impl Iterator<Item = Arc<IndexSnapshot>>) {
        self.retired.lock().extend(states);
        self.changed.notify_all();
    }

    /// The newest state, whatever readers may see yet.
    pub(super) fn newest(&self) -> Arc<IndexSnapshot> {
        Arc::clone(&self.states.read().newest)
    }

    /// Replaces an index, or removes it, in all states that may be captured; one whose base has entries through some
    /// commit is not in the states for readers before that.
    pub(super) fn replace_member(&self, id: IndexId, member: Option<(Arc<Member>, CommitNumber)>) {
        let mut states = self.states.write();
        let with_member = |state: &mut Arc<IndexSnapshot>| {
            let least = state.least;
            let members = Arc::make_mut(&mut Arc::make_mut(state).members);
            match &member {
                Some((member, through)) if *through <= least => members.insert(id, Arc::clone(member)),
                _ => members.remove(&id),
            };
        };
        with_member(&mut states.newest);
        states.older.iter_mut().for_each(with_member);
    }

    /// Puts the state after the merge of `merged`, if it is one, in place: `members`, and the deltas that remain.
    pub(super) fn advance(
        &self,
        merged: Option<&Arc<Delta>>,
        least: CommitNumber,
        members: FxHashMap<IndexId, Arc<Member>>,
    ) {
        let mut states = self.states.write();
        let before = Arc::clone(&states.newest);
        let mut next = IndexSnapshot::clone(&before);
        next.deltas
            .retain(|delta| merged.is_none_or(|merged| !Arc::ptr_eq(delta, merged)));
        next.members = Arc::new(members);
        next.least = next.least.max(least);
        next.generation = next.generation.saturating_add(1);
        if next.least.0 <= self.captured.load(Ordering::Acquire) {
            self.retire(states.older.drain(..).chain([before]));
        } else {
            states.older.push_back(before);
        }
        states.newest = Arc::new(next);
    }

    /// Adds the changes of one commit; freezes the active delta when it is full.
    pub(super) fn apply<C: Borrow<IndexChange>>(
        &self,
        commit: CommitNumber,
        position: LogPosition,
        changes: &[C],
    ) -> Result<()> {
        let _writing = self.writing.lock();
        if self.flushing.lock().closing {
            return Err(Error::Closed("the database has been closed".into()));
        }
        let state = self.newest();
        let Some(active) = state.deltas.last() else {
            return Ok(());
        };
        active.add(commit, position, changes);
        if active.entries() >= self.limits.entries || active.bytes() >= self.limits.bytes {
            self.wait_for_room();
            if self.flushing.lock().frozen < MOST_FROZEN {
                self.freeze();
            }
        }
        Ok(())
    }

    /// Freezes the active delta if it has anything, entries or only a newer position; whether it had.
    pub(super) fn freeze_active(&self) -> bool {
        let _writing = self.writing.lock();
        let has_any = self
            .newest()
            .deltas
            .last()
            .is_some_and(|active| active.through().is_some());
        if has_any {
            self.freeze();
        }
        has_any
    }

    fn freeze(&self) {
        let mut states = self.states.write();
        let mut next = IndexSnapshot::clone(&states.newest);
        next.deltas.push(Arc::new(Delta::new(self.limits.entries)));
        states.newest = Arc::new(next);
        drop(states);
        self.flushing.lock().frozen += 1;
        self.changed.notify_all();
    }

    /// Waits while too many deltas are frozen; not while flushing fails.
    fn wait_for_room(&self) {
        let mut flushing = self.flushing.lock();
        while flushing.frozen >= MOST_FROZEN && flushing.failure.is_none() && !flushing.closing {
            self.changed.wait(&mut flushing);
        }
    }

    /// The error that keeps deltas from being flushed, once too many wait.
    pub(super) fn room(&self) -> Result<()> {
        self.wait_for_room();
        let flushing = self.flushing.lock();
        match &flushing.failure {
            Some(failure) if flushing.frozen >= MOST_FROZEN => Err(failure.to_error()),
            _ => Ok(()),
        }
    }

    /// Notes how a flush of one delta ended.
    pub(super) fn flushed(&self, result: &Result<bool>) {
        let mut flushing = self.flushing.lock();
        match result {
            Ok(merged) => {
                flushing.failure = None;
                flushing.frozen = flushing.frozen.saturating_sub(usize::from(*merged));
            }
            Err(error) => flushing.failure = Some(Failure::new(error)),
        }
        drop(flushing);
        self.changed.notify_all();
    }

    /// Waits until a delta is frozen, for the background thread; `false` when it shall end.
    pub(super) fn wait_for_work(&self) -> bool {
        let mut flushing = self.flushing.lock();
        if flushing.failure.is_some() && !flushing.closing {
            self.changed.wait_for(&mut flushing, RETRY);
        }
        while flushing.frozen == 0 && !flushing.closing {
            MutexGuard::unlocked(&mut flushing, || self.drop_retired());
            if flushing.frozen == 0 && !flushing.closing {
                self.changed.wait(&mut flushing);
            }
        }
        !flushing.closing
    }

    /// Drops the states that no capture needs.
    pub(super) fn drop_retired(&self) {
        let retired = std::mem::take(&mut *self.retired.lock());
        drop(retired);
    }

    /// Makes all waiting end, and later `apply` fail.
    pub(super) fn stop(&self) {
        self.flushing.lock().closing = true;
        self.changed.notify_all();
    }

    /// Whether [`Shared::stop`] was called.
    pub(super) fn is_stopped(&self) -> bool {
        self.flushing.lock().closing
    }
}

impl Maintained {
    /// The index as readers see it, from a new base.
    pub(super) fn member(&self) -> Arc<Member> {
        Arc::new(Member {
            base: self.space.base(),
            counts: self.description.counts,
            serial: self.serial,
        })
    }

    /// How it lies.
    pub(super) fn kind(&self) -> IndexKind {
        self.description.kind
    }
}

impl Failure {
    fn new(error: &Error) -> Failure {
        Failure {
            sentence: error.to_string(),
            no_space: matches!(error, Error::NoSpace { .. }),
        }
    }

    fn to_error(&self) -> Error {
        let sentence = format!(
            "the indexes cannot take more changes, since writing them fails: {}",
            self.sentence
        );
        match self.no_space {
            true => Error::io(sentence, std::io::Error::from(std::io::ErrorKind::StorageFull)),
            false => Error::ReadOnly(sentence),
        }
    }
}
