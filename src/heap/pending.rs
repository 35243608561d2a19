//! Groups that are in the log and not yet in the table.
//!
//! The next group is appended while the one before still syncs, so the newest version of an object may lie in a group
//! that was not applied yet.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::position::Location;
use crate::object::Oid;

/// One group's records, and an index over them that is built when it is first asked.
#[derive(Debug)]
pub(super) struct PendingGroup {
    pub(super) records: Vec<(Oid, Location)>,
    index: OnceLock<FxHashMap<Oid, Location>>,
}

impl PendingGroup {
    pub(super) fn new(records: Vec<(Oid, Location)>) -> Arc<PendingGroup> {
        Arc::new(PendingGroup {
            records,
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
