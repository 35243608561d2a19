//! What recent commits changed: the memory that read sets are validated against.
//!
//! It holds a footprint for each of the newest commits, accepted ones included, up to a bound on bytes; and, without
//! bound in time, the last commit that changed each class and each index. A read set older than the footprints is
//! validated by the latter: nothing is missed, but more is taken for a conflict than need be.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::footprint::Footprint;
use crate::catalog::IndexId;
use crate::object::{ClassId, CommitNumber};

/// Time and label of a commit, for messages.
#[derive(Debug, Clone, Default)]
pub struct Mark {
    /// Microseconds since 1970-01-01 UTC.
    pub time: i64,
    /// What its transaction was called.
    pub label: Option<Arc<str>>,
}

#[derive(Debug)]
struct Kept {
    mark: Mark,
    /// `None` once there was no more room for it.
    footprint: Option<Arc<Footprint>>,
}

/// The memory of recent commits.
#[derive(Debug)]
pub struct Recent {
    /// Consecutive commits; those with a footprint are the newest.
    kept: VecDeque<Kept>,
    /// The number of the newest one.
    last: CommitNumber,
    /// How many have a footprint.
    footprints: usize,
    bytes: usize,
    limit: usize,
    classes: FxHashMap<ClassId, CommitNumber>,
    indexes: FxHashMap<IndexId, CommitNumber>,
}

/// Commits whose time and label are remembered.
const MARKS: usize = 16_384;

impl Recent {
    /// Nothing known after `last`; footprints take at most `limit` bytes.
    pub fn new(last: CommitNumber, limit: usize) -> Recent {
        Recent {
            kept: VecDeque::new(),
            last,
            footprints: 0,
            bytes: 0,
            limit,
            classes: FxHashMap::default(),
            indexes: FxHashMap::default(),
        }
    }

    /// Adds the next commit.
    pub fn push(&mut self, number: CommitNumber, mark: Mark, footprint: Arc<Footprint>) {
        self.last = number;
        for run in footprint.runs() {
            self.classes.insert(run.class(), number);
        }
        for index in footprint.indexes() {
            self.indexes.insert(index, number);
        }
        self.bytes = self.bytes.saturating_add(footprint.bytes());
        self.footprints = self.footprints.saturating_add(1);
        self.kept.push_back(Kept {
            mark,
            footprint: Some(footprint),
        });
        self.forget();
    }

    fn forget(&mut self) {
        while self.bytes > self.limit && self.footprints > 0 {
            let oldest = self.kept.len().saturating_sub(self.footprints);
            let oldest = self.kept.get_mut(oldest);
            if let Some(footprint) = oldest.and_then(|kept| kept.footprint.take()) {
                self.bytes = self.bytes.saturating_sub(footprint.bytes());
            }
            self.footprints = self.footprints.saturating_sub(1);
        }
        while self.kept.len() > MARKS.max(self.footprints) {
            self.kept.pop_front();
        }
    }

    /// Takes back the commits after `last`, which were never made. What they would have changed counts as changed by
    /// `last`.
    pub fn withdraw(&mut self, last: CommitNumber) {
        while self.last > last {
            if let Some(kept) = self.kept.pop_back()
                && let Some(footprint) = kept.footprint
            {
                self.footprints = self.footprints.saturating_sub(1);
                self.bytes = self.bytes.saturating_sub(footprint.bytes());
            }
            self.last = CommitNumber(self.last.0.saturating_sub(1));
        }
        let changes = self.classes.values_mut().chain(self.indexes.values_mut());
        changes.for_each(|change| *change = (*change).min(last));
    }

    /// Up to `limit` footprints of the commits after `since` up to `through`, oldest first; `None` where the first of
    /// them is not kept any more.
    pub fn footprints(
        &self,
        since: CommitNumber,
        through: CommitNumber,
        limit: usize,
    ) -> Option<Vec<Arc<Footprint>>> {
        let first = usize::try_from(self.last.0.saturating_sub(since.0)).ok()?;
        if first > self.footprints {
            return None;
        }
        let wanted = usize::try_from(through.min(self.last).0.saturating_sub(since.0)).ok()?;
        let start = self.kept.len().saturating_sub(first);
        let kept = self.kept.iter().skip(start).take(wanted.min(limit));
        Some(kept.filter_map(|kept| kept.footprint.clone()).collect())
    }

    /// Time and label of a commit, if they are remembered.
    pub fn mark(&self, number: CommitNumber) -> Option<Mark> {
        let back = usize::try_from(self.last.0.checked_sub(number.0)?).ok()?;
        let at = self.kept.len().checked_sub(back.checked_add(1)?)?;
        self.kept.get(at).map(|kept| kept.mark.clone())
    }

    /// The last commit that changed a class.
    pub fn class(&self, class: ClassId) -> CommitNumber {
        self.classes.get(&class).copied().unwrap_or_default()
    }

    /// The last commit that changed an index.
    pub fn index(&self, index: IndexId) -> CommitNumber {
        self.indexes.get(&index).copied().unwrap_or_default()
    }
}
