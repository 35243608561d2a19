//! Whether what a transaction read still holds: the check that makes transactions serializable.
//!
//! A transaction that reads one snapshot and commits as number N is as if it had run at N alone, if nothing it read was
//! changed by a commit between its snapshot and N. Four kinds of reads are compared, each by what is cheaper:
//!
//! * objects: by the commit at their head where they are few, else by the footprints of the commits in between;
//! * objects that were read partly: by the values in those slots, at the snapshot and now, where a footprint says that
//!   they were updated. That a value changed and changed back does not matter: it is the one the transaction would
//!   read if it ran now;
//! * extents and ranges of index keys: not at all where no commit in between touched the class or the index, else by
//!   the footprints, and where those are not kept any more, every change of the class or index counts.

use parking_lot::RwLock;

use super::accepted::Accepted;
use super::footprint::{Change, Wanted};
use super::merge::differ;
use super::recent::Recent;
use crate::catalog::IndexId;
use crate::error::Result;
use crate::heap::Heap;
use crate::object::{CommitNumber, Oid, SlotSet};
use crate::read::Reader;
use crate::read_set::{OidSet, ReadSet};
use crate::view::View;

/// What was changed of what was read, and by which commit.
#[derive(Debug)]
pub struct Overtaken {
    /// The commit.
    pub commit: CommitNumber,
    /// Some of what it changed.
    pub changes: Vec<Change>,
}

/// What a read set is compared with.
pub struct ReadCheck<'a> {
    /// The heads of published objects.
    pub heap: &'a Heap,
    /// The footprints of recent commits.
    pub recent: &'a RwLock<Recent>,
    /// The heads of accepted, unpublished objects; `None` where only published commits count.
    pub accepted: Option<&'a Accepted>,
    /// The state that was read.
    pub base: &'a View,
    /// The newest published state.
    pub view: &'a View,
    /// Commits up to this one are known not to matter.
    pub since: CommitNumber,
    /// Commits up to this one count.
    pub through: CommitNumber,
}

/// Footprints compared between two holds of the lock on them.
const AT_ONCE: usize = 256;

impl ReadCheck<'_> {
    /// The first change of what was read, if there is one.
    ///
    /// Heads are compared only for objects that `skip` does not hold: the caller compares those anyway.
    pub fn run(&self, reads: &ReadSet, skip: &dyn Fn(Oid) -> bool) -> Result<Option<Overtaken>> {
        if self.through <= self.since || reads.is_empty() {
            return Ok(None);
        }
        let mut wanted = self.touched(reads);
        let commits = self.through.0.saturating_sub(self.since.0);
        let few = |objects: &OidSet| objects.len() as u64 <= commits / 4 + 1;
        let by_heads = reads.parts.iter().all(|(_, part)| few(part)) && few(&reads.whole);
        if by_heads {
            if let Some(overtaken) = self.compare_heads(&reads.whole, skip)? {
                return Ok(Some(overtaken));
            }
            for (slots, part) in &reads.parts {
                if let Some(overtaken) = self.compare_parts(part, *slots)? {
                    return Ok(Some(overtaken));
                }
            }
        } else {
            wanted.objects = true;
        }
        if !(wanted.objects || wanted.extents || wanted.keys) {
            return Ok(None);
        }
        match self.compare_footprints(reads, wanted)? {
            Compared::Unchanged => Ok(None),
            Compared::Changed(overtaken) => Ok(Some(overtaken)),
            Compared::Forgotten => self.compare_coarsely(reads, wanted, by_heads),
        }
    }

    /// Which kinds of reads footprints must be compared for.
    fn touched(&self, reads: &ReadSet) -> Wanted {
        if reads.extents.is_empty() && reads.keys.is_empty() {
            return Wanted::default();
        }
        let recent = self.recent.read();
        let extents = reads
            .extents
            .iter()
            .any(|(class, _)| recent.class(*class) > self.since);
        let keys = reads.keys.keys().any(|index| recent.index(*index) > self.since);
        Wanted {
            objects: false,
            extents,
            keys,
        }
    }

    fn compare_heads(&self, objects: &OidSet, skip: &dyn Fn(Oid) -> bool) -> Result<Option<Overtaken>> {
        for oid in objects.iter().filter(|oid| !skip(*oid)) {
            if let Some(commit) = self.newer_head(oid)? {
                return Ok(Some(Overtaken {
                    commit,
                    changes: vec![Change::Object(oid)],
                }));
            }
        }
        Ok(None)
    }

    fn newer_head(&self, oid: Oid) -> Result<Option<CommitNumber>> {
        let accepted = self.accepted.and_then(|accepted| accepted.head(oid));
        let head = match accepted {
            Some(commit) => Some(commit),
            None => self.heap.head(oid)?.map(|head| head.commit),
        };
        Ok(head.filter(|commit| *commit > self.since))
    }

    fn compare_parts(&self, objects: &OidSet, slots: SlotSet) -> Result<Option<Overtaken>> {
        for oid in objects.iter() {
            if let Some(commit) = self.newer_head(oid)?
                && self.differs(oid, slots)?
            {
                return Ok(Some(Overtaken {
                    commit,
                    changes: vec![Change::Object(oid)],
                }));
            }
        }
        Ok(None)
    }

    /// Whether an object has other values in these slots than it had when it was read, or is gone or new.
    fn differs(&self, oid: Oid, slots: SlotSet) -> Result<bool> {
        let before = self.base.object(oid)?;
        let Some(class) = self.view.catalog().classes.get(&oid.class()) else {
            return Ok(true);
        };
        let differs = |before: Option<&[u8]>, now: Option<&[u8]>| match (before, now) {
            (Some(before), Some(now)) => differ(&class.layout, before, now, slots),
            (before, now) => Ok(before.is_some() != now.is_some()),
        };
        let before = before.as_ref().map(|record| &*record.body);
        match self.accepted.and_then(|accepted| accepted.write(oid)) {
            Some(write) => differs(before, write.body()),
            None => differs(
                before,
                self.view.object(oid)?.as_ref().map(|record| &*record.body),
            ),
        }
    }

    fn compare_footprints(&self, reads: &ReadSet, wanted: Wanted) -> Result<Compared> {
        let mut since = self.since;
        while since < self.through {
            let footprints = self.recent.read().footprints(since, self.through, AT_ONCE);
            let Some(footprints) = footprints else {
                return Ok(Compared::Forgotten);
            };
            if footprints.is_empty() {
                break;
            }
            for footprint in footprints {
                since = CommitNumber(since.0.saturating_add(1));
                let changes = footprint.changes(reads, wanted, &|oid, slots| self.differs(oid, slots))?;
                if !changes.is_empty() {
                    return Ok(Compared::Changed(Overtaken {
                        commit: since,
                        changes,
                    }));
                }
            }
        }
        Ok(Compared::Unchanged)
    }

    /// Where footprints are gone: every change of a class or an index that was read of counts.
    fn compare_coarsely(&self, reads: &ReadSet, wanted: Wanted, by_heads: bool) -> Result<Option<Overtaken>> {
        if !by_heads {
            if let Some(overtaken) = self.compare_heads(&reads.whole, &|_| false)? {
                return Ok(Some(overtaken));
            }
            for (slots, part) in &reads.parts {
                if let Some(overtaken) = self.compare_parts(part, *slots)? {
                    return Ok(Some(overtaken));
                }
            }
        }
        let recent = self.recent.read();
        for class in reads.extents.keys().filter(|_| wanted.extents) {
            let commit = recent.class(*class);
            if commit > self.since {
                return Ok(Some(Overtaken {
                    commit,
                    changes: vec![Change::Class(*class)],
                }));
            }
        }
        let mut indexes = reads.keys.keys().filter(|_| wanted.keys);
        let last = |index: &IndexId| recent.index(*index);
        let changed = indexes.find(|index| last(index) > self.since);
        Ok(changed.map(|index| Overtaken {
            commit: last(index),
            changes: vec![Change::Index(*index, None)],
        }))
    }
}

enum Compared {
    Unchanged,
    Changed(Overtaken),
    /// Footprints that are needed are not kept any more.
    Forgotten,
}
