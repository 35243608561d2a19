//! Making and removing indexes.

use std::sync::Arc;

use super::catch_up::CatchingUp;
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
pub struct IndexPlan {
    /// Its id.
    pub id: IndexId,
    /// How it lies.
    pub kind: IndexKind,
    /// The log through here is in the entries.
    pub applied: LogPosition,
    /// The commit they are of.
    pub commit: CommitNumber,
}

/// Is told how many entries were written; an error ends the build.
pub type Tick<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

impl Shared {
    /// Makes an index without entries.
    pub(super) fn create(&self, plan: IndexPlan) -> Result<()> {
        let mut maintenance = self.maintenance.lock();
        self.remove(&mut maintenance, plan.id)?;
        let space = self
            .store
            .space(&space_name(plan.id, plan.kind), access(plan.kind))?;
        let description = describe(plan, &maintenance, Counts::default());
        let created = space.ingest(|write| write(&DESCRIPTION_KEY, Some(&description.encode())));
        self.install_or_remove(&mut maintenance, plan, space, created.map(|()| description))
    }

    /// Makes an index of the entries. Gives the keys of a unique index that have come to several objects through
    /// changes of later commits.
    pub(super) fn build(
        &self,
        plan: IndexPlan,
        entries: &mut dyn Iterator<Item = Result<(IndexKey, Oid)>>,
        several: SeveralObjects<'_>,
        tick: Tick<'_>,
    ) -> Result<Vec<IndexKey>> {
        let is_prepared = self.unmade.lock().prepared.contains_key(&plan.id);
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
        let mut counts = Counts::default();
        // Without a description the space is incomplete, and a kill leaves no index.
        let written = space.ingest(|write| {
            counts = write_entries(&mut sorted, plan.kind, several, tick, write)?;
            Ok(())
        });
        drop(sorted);
        let mut catching_up = CatchingUp::new(self, plan, &space, counts);
        let caught_up = written.and_then(|()| match is_prepared {
            true => catching_up.catch_up(tick),
            false => Ok(()),
        });
        // From here on no flush may pass, or it would speak for this index without having seen it.
        let mut maintenance = self.maintenance.lock();
        let described = caught_up.and_then(|()| catching_up.finish(&maintenance, is_prepared));
        let (suspects, through) = catching_up.seen();
        maintenance.merged_through = through;
        let plan = IndexPlan {
            applied: described
                .as_ref()
                .map_or(plan.applied, |description| description.progress.applied),
            ..plan
        };
        self.install_or_remove(&mut maintenance, plan, space, described)?;
        Ok(suspects)
    }

    /// Puts a new index in place, or removes the space of one that failed.
    fn install_or_remove(
        &self,
        maintenance: &mut Maintenance,
        plan: IndexPlan,
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
        let waiting = unmade.prepared.remove(&plan.id);
        unmade.discarded.remove(&plan.id);
        drop(unmade);
        self.discard(waiting);
        let member = index.member();
        self.indexes.write().insert(plan.id, index);
        let through = std::mem::take(&mut maintenance.merged_through);
        self.replace_member(plan.id, Some((member, through)));
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

pub(super) fn describe(plan: IndexPlan, maintenance: &Maintenance, counts: Counts) -> Description {
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
pub(super) fn check_discarded(unmade: &Unmade, id: IndexId, commit: CommitNumber) -> Result<()> {
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
    tick: Tick<'_>,
    write: Write<'_>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut posting = PostingWriter::default();
    // The objects of the key at hand, where somebody wants to see them.
    let mut objects: Vec<Oid> = Vec::new();
    let mut key = IndexKey::new();
    let mut next = IndexKey::new();
    let mut last: Option<Oid> = None;
    let mut written = 0u64;
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
        written = written.saturating_add(1);
        if written.is_multiple_of(ENTRIES_A_TICK) {
            tick(written)?;
        }
        posting.push(oid);
        if kind == IndexKind::Unique {
            objects.push(oid);
        }
    }
}

/// How often who waits is told.
const ENTRIES_A_TICK: u64 = 4096;
