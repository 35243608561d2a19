//! Making and removing indexes.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::description::{Description, Progress};
use super::indexes::SeveralObjects;
use super::merge::{Counts, PostingWriter};
use super::posting::DESCRIPTION_KEY;
use super::shared::{Maintained, Maintenance, Shared, Unmade};
use super::sort::{Sorted, Sorter};
use super::store::{Access, Space, Write};
use super::{IndexId, IndexKey, IndexKind, MAX_KEY};
use crate::error::{Error, Result};
use crate::heap::LogPosition;
use crate::object::{CommitNumber, Oid};

/// What an index to be made is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) id: IndexId,
    pub(super) kind: IndexKind,
    /// The log through here is in the entries.
    pub(super) applied: LogPosition,
}

impl Shared {
    /// Makes an index without entries.
    pub(super) fn create(&self, plan: Plan) -> Result<()> {
        let mut maintenance = self.maintenance.lock();
        self.remove(&mut maintenance, plan.id)?;
        let space = self
            .store
            .space(&space_name(plan.id, plan.kind), access(plan.kind))?;
        let description = describe(plan, &maintenance, Counts::default());
        let created = space.ingest(|write| write(&DESCRIPTION_KEY, Some(&description.encode())));
        self.install_or_remove(&mut maintenance, plan, space, created.map(|()| description))
    }

    /// Makes an index of the entries, which are of commit `commit`.
    pub(super) fn build(
        &self,
        plan: Plan,
        entries: &mut dyn Iterator<Item = Result<(IndexKey, Oid)>>,
        several: SeveralObjects<'_>,
        commit: CommitNumber,
    ) -> Result<()> {
        let mut sorter = Sorter::new(&self.store, self.sort_budget);
        for entry in entries {
            let (key, oid) = entry?;
            check_key(&key)?;
            sorter.push(&key, oid)?;
        }
        let mut sorted = sorter.finish()?;
        self.remove(&mut self.maintenance.lock(), plan.id)?;
        let space = self
            .store
            .space(&space_name(plan.id, plan.kind), access(plan.kind))?;
        let mut held: Option<MutexGuard<'_, Maintenance>> = None;
        let mut described = None;
        let built = space.ingest(|write| {
            let counts = write_entries(&mut sorted, plan.kind, several, write)?;
            // From here on no flush may pass, or it would speak for this index without having seen it.
            let maintenance = held.insert(self.maintenance.lock());
            check_discarded(&self.unmade.lock(), plan.id, commit)?;
            let description = describe(plan, maintenance, counts);
            described = Some(description);
            write(&DESCRIPTION_KEY, Some(&description.encode()))
        });
        let mut maintenance = held.unwrap_or_else(|| self.maintenance.lock());
        let incomplete = || Error::Closed(format!("index {} was not built", plan.id.0));
        let built = built.and_then(|()| described.ok_or_else(incomplete));
        self.install_or_remove(&mut maintenance, plan, space, built)
    }

    /// Puts a new index in place, or removes the space of one that failed.
    fn install_or_remove(
        &self,
        maintenance: &mut Maintenance,
        plan: Plan,
        space: Space,
        made: Result<Description>,
    ) -> Result<()> {
        let description = match made {
            Ok(description) => description,
            Err(error) => {
                // What cannot be removed has no description, and is removed at the next open.
                let _ = self.store.remove(&space);
                return Err(error);
            }
        };
        maintenance.serial = maintenance.serial.saturating_add(1);
        let index = Maintained {
            bytes: space.bytes(),
            space: Arc::new(space),
            description,
            applied: plan.applied,
            serial: maintenance.serial,
        };
        let mut unmade = self.unmade.lock();
        let waiting = unmade.prepared.remove(&plan.id).unwrap_or_default();
        unmade.discarded.remove(&plan.id);
        drop(unmade);
        let member = index.member(waiting);
        self.indexes.write().insert(plan.id, index);
        self.replace_member(plan.id, Some(member));
        Ok(())
    }

    /// Removes an index, but not what waits for one to be built.
    pub(super) fn remove(&self, _maintenance: &mut Maintenance, id: IndexId) -> Result<()> {
        let Some(index) = self.indexes.write().remove(&id) else {
            return Ok(());
        };
        self.replace_member(id, None);
        self.store.remove(&index.space)
    }
}

/// The name of the space of an index.
pub(super) fn space_name(id: IndexId, kind: IndexKind) -> String {
    match kind {
        IndexKind::Ordered => format!("ordered-{}", id.0),
        IndexKind::Unique => format!("unique-{}", id.0),
    }
}

/// The index whose space has this name, and its kind.
pub(super) fn parse_space_name(name: &str) -> Option<(IndexId, IndexKind)> {
    let (kind, id) = name.split_once('-')?;
    let kind = match kind {
        "ordered" => IndexKind::Ordered,
        "unique" => IndexKind::Unique,
        _ => return None,
    };
    Some((IndexId(id.parse().ok()?), kind))
}

/// What a space is read for.
pub(super) fn access(kind: IndexKind) -> Access {
    match kind {
        IndexKind::Ordered => Access::Range,
        IndexKind::Unique => Access::Point,
    }
}

fn describe(plan: Plan, maintenance: &Maintenance, counts: Counts) -> Description {
    Description {
        kind: plan.kind,
        progress: Progress {
            flush: maintenance.progress.flush,
            applied: plan.applied,
        },
        counts,
    }
}

/// Entries later than the build's commit must not have been let go.
fn check_discarded(unmade: &Unmade, id: IndexId, commit: CommitNumber) -> Result<()> {
    match unmade.discarded.get(&id) {
        Some(&discarded) if discarded > commit => Err(Error::Limit(format!(
            "changes up to commit {discarded} came while index {} was being built from commit {commit}; build it again",
            id.0
        ))),
        _ => Ok(()),
    }
}

/// Refuses a key that no index can hold.
pub(super) fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY {
        return Err(Error::Limit(format!(
            "a value of {} bytes is too long for an index; {MAX_KEY} bytes are the most",
            key.len()
        )));
    }
    Ok(())
}

/// Writes the postings of all entries.
fn write_entries(
    sorted: &mut Sorted<'_>,
    kind: IndexKind,
    several: SeveralObjects<'_>,
    write: Write<'_>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut posting = PostingWriter::default();
    // The objects of the key at hand, where somebody wants to see them.
    let mut objects: Vec<Oid> = Vec::new();
    let mut key = IndexKey::new();
    let mut next = IndexKey::new();
    let mut last: Option<Oid> = None;
    loop {
        let oid = sorted.next(&mut next)?;
        if posting.objects() > 0 && (oid.is_none() || next != key) {
            counts.entries = counts.entries.saturating_add(posting.objects());
            counts.keys = counts.keys.saturating_add(1);
            if objects.len() > 1 {
                several(&key, &objects)?;
            }
            posting.finish(&key, write)?;
            objects.clear();
            last = None;
        }
        let Some(oid) = oid else { return Ok(counts) };
        std::mem::swap(&mut key, &mut next);
        if last == Some(oid) {
            continue;
        }
        last = Some(oid);
        posting.push(oid);
        if kind == IndexKind::Unique {
            objects.push(oid);
        }
    }
}
