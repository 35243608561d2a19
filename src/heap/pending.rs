//! Groups that are in the log and not yet in the table.
//!
//! The next group is appended while the one before still syncs, so the newest version of an object may lie in a group
//! that was not applied yet.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::frame::Chain;
use super::position::{Location, LogPosition};
use crate::object::Oid;

/// One group's records, and an index over them that is built when it is first asked.
#[derive(Debug)]
pub(super) struct PendingGroup {
    pub(super) records: Vec<(Oid, Location)>,
    /// The segments of the versions that the records supersede, one entry a version.
    pub(super) superseded: Vec<u32>,
    /// Says that this is no commit group, but a move.
    pub(super) moved: Option<PendingMove>,
    index: OnceLock<FxHashMap<Oid, Location>>,
}

/// What the table needs to know of a move, beside where the copies lie.
#[derive(Debug)]
pub(super) struct PendingMove {
    /// Where each record was copied from.
    pub(super) origins: Vec<Location>,
    /// The position after it.
    pub(super) end: LogPosition,
    pub(super) chain: Chain,
}

impl PendingGroup {
    pub(super) fn new(
        records: Vec<(Oid, Location)>,
        superseded: Vec<u32>,
        moved: Option<PendingMove>,
    ) -> Arc<PendingGroup> {
        Arc::new(PendingGroup {
            records,
            superseded,
            moved,
            index: OnceLock::new(),
        })
    }

    /// Where the group's newest version of `oid` lies.
    pub(super) fn find(&self, oid: Oid) -> Option<Location> {
        let index = self.index.get_or_init(|| self.records.iter().copied().collect());
        index.get(&oid).copied()
    }
}

/// The groups not yet applied, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Pending {
    groups: Mutex<VecDeque<Arc<PendingGroup>>>,
}

impl Pending {
    pub(super) fn push(&self, group: Arc<PendingGroup>) {
        self.groups.lock().push_back(group);
    }

    /// The oldest group, if it is a move.
    pub(super) fn first_move(&self) -> Option<Arc<PendingGroup>> {
        let groups = self.groups.lock();
        groups.front().filter(|group| group.moved.is_some()).cloned()
    }

    /// Takes out a group that has been applied.
    pub(super) fn remove(&self, group: &Arc<PendingGroup>) {
        self.groups.lock().retain(|known| !Arc::ptr_eq(known, group));
    }

    /// The groups, the newest first.
    pub(super) fn newest_first(&self) -> Vec<Arc<PendingGroup>> {
        self.groups.lock().iter().rev().cloned().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.lock().is_empty()
    }
}
