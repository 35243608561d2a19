//! Bulk loading: the entries of one large commit are gathered apart, sorted, and ingested at its end.
//!
//! They go past the deltas. All indexes are written while nothing of it can be seen, the commit is made durable, and only
//! then do the ingestions end, one after the other. Nobody may rely on an index whose ingestion a crash has kept from
//! ending: the commit itself must say that these indexes are to be built again, until they are known to be whole.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::description::Description;
use super::flush::describe;
use super::indexes::IndexStore;
use super::merge::{Counts, PostingWriter, a_holder, merge_key};
use super::posting::DESCRIPTION_KEY;
use super::shared::{Maintained, Maintenance, Shared};
use super::sort::{Sorted, Sorter};
use super::store::{Base, Space, Write};
use super::{IndexId, IndexKey, IndexKind};
use crate::error::{Error, Result};
use crate::object::{CommitNumber, Oid};

/// The entries of a bulk commit, by index.
pub struct IndexLoad<'a> {
    shared: &'a Shared,
    budget: usize,
    loading: Vec<Loading<'a>>,
}

/// One index that gets entries.
struct Loading<'a> {
    id: IndexId,
    kind: IndexKind,
    sorter: Sorter<'a>,
}

/// One index whose entries are sorted.
struct Ready<'a> {
    id: IndexId,
    sorted: Sorted<'a>,
    index: Maintained,
}

/// Gives the error for two objects with one key of a unique index.
pub type Refuse<'a> = &'a dyn Fn(IndexId, Oid, Oid) -> Error;

impl IndexStore {
    /// A place for the entries of a bulk commit that changes about `indexes` indexes. Deltas are flushed first, so that
    /// the bases have everything; no commit may be applied until the load is done.
    pub fn load(&self, indexes: usize) -> Result<IndexLoad<'_>> {
        self.shared.flush_all()?;
        Ok(IndexLoad {
            shared: &self.shared,
            budget: self.shared.sort_budget.saturating_mul(2) / indexes.clamp(2, 16),
            loading: Vec::new(),
        })
    }
}

impl IndexLoad<'_> {
    /// Adds an index that gets entries; gives its place for [`IndexLoad::push`]. `None` where it does not exist.
    pub fn add(&mut self, id: IndexId) -> Option<usize> {
        let kind = self.shared.indexes.read().get(&id).map(Maintained::kind)?;
        self.loading.push(Loading {
            id,
            kind,
            sorter: Sorter::new(&self.shared.store, self.budget),
        });
        Some(self.loading.len().saturating_sub(1))
    }

    /// Adds an entry to the index at `place`. `claims`: no other object may have the key.
    pub fn push(&mut self, place: usize, key: &mut IndexKey, claims: bool, oid: Oid) -> Result<()> {
        let Some(loading) = self.loading.get_mut(place) else {
            return Ok(());
        };
        if loading.kind == IndexKind::Unique {
            // Goes with the key through the sort; equal keys have equal claims, as the key says whether nil is in it.
            key.push(u8::from(claims));
        }
        loading.sorter.push(key, oid)
    }

    /// Writes all entries, has `commit` make the commit durable, and ends the ingestions. If it fails before `commit`
    /// has run, or `commit` does, no index has changed; after that the indexes must be built again.
    pub fn finish(
        self,
        number: CommitNumber,
        refuse: Refuse<'_>,
        commit: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let maintenance = self.shared.maintenance.lock();
        let mut ready = Vec::with_capacity(self.loading.len());
        for Loading { id, sorter, .. } in self.loading {
            let index = self.shared.indexes.read().get(&id).cloned();
            let index = index.ok_or_else(|| Error::Closed(format!("index {} is gone", id.0)))?;
            ready.push(Ready {
                id,
                sorted: sorter.finish()?,
                index,
            });
        }
        ingest(&mut ready, refuse, commit)?;
        let done = ready.into_iter().map(|ready| (ready.id, ready.index));
        self.shared.install(maintenance, done.collect(), number);
        Ok(())
    }
}

/// Writes the first index, within its ingestion the rest, and in the innermost commits.
fn ingest(ready: &mut [Ready<'_>], refuse: Refuse<'_>, commit: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let Some((first, rest)) = ready.split_first_mut() else {
        return commit();
    };
    let Ready { id, sorted, index } = first;
    let space: Arc<Space> = index.space.clone();
    let base = space.base();
    let mut description = describe(&base)?.unwrap_or(index.description);
    let refuse_here = |oid, holder| refuse(*id, oid, holder);
    space.ingest(|write| {
        write_entries(sorted, &base, &mut description, &refuse_here, write)?;
        write(&DESCRIPTION_KEY, Some(&description.encode()))?;
        ingest(rest, refuse, commit)
    })?;
    index.description = description;
    index.bytes = space.bytes();
    Ok(())
}

/// Writes the postings of all entries, together with what the base has.
fn write_entries(
    sorted: &mut Sorted<'_>,
    base: &Base,
    description: &mut Description,
    refuse: &dyn Fn(Oid, Oid) -> Error,
    write: Write<'_>,
) -> Result<()> {
    let unique = description.kind == IndexKind::Unique;
    let mut writer = KeyWriter {
        base: (description.counts.entries > 0).then_some(base),
        counts: description.counts,
        posting: PostingWriter::default(),
        operations: Vec::new(),
    };
    let (mut key, mut next) = (IndexKey::new(), IndexKey::new());
    let mut objects: Vec<Oid> = Vec::new();
    while let Some(oid) = sorted.next(&mut next)? {
        let claims = unique && next.pop() == Some(1);
        if next != key && !objects.is_empty() {
            writer.write(&key, &objects, write)?;
            objects.clear();
        }
        std::mem::swap(&mut key, &mut next);
        if claims && let Some(holder) = writer.holder(&key, &objects)? {
            return Err(refuse(oid, holder));
        }
        objects.push(oid);
    }
    if !objects.is_empty() {
        writer.write(&key, &objects, write)?;
    }
    description.counts = writer.counts;
    Ok(())
}

/// Writes keys, ascending.
struct KeyWriter<'a> {
    /// `None` where there is nothing yet.
    base: Option<&'a Base>,
    counts: Counts,
    posting: PostingWriter,
    operations: Vec<(Oid, bool)>,
}

impl KeyWriter<'_> {
    /// An object that has the key already.
    fn holder(&self, key: &[u8], loaded: &[Oid]) -> Result<Option<Oid>> {
        match (loaded.first(), self.base) {
            (Some(loaded), _) => Ok(Some(*loaded)),
            (None, Some(base)) => a_holder(base, key),
            (None, None) => Ok(None),
        }
    }

    fn write(&mut self, key: &[u8], objects: &[Oid], write: Write<'_>) -> Result<()> {
        let Some(base) = self.base else {
            objects.iter().for_each(|oid| self.posting.push(*oid));
            self.counts.change(0, objects.len() as u64);
            return self.posting.finish(key, write);
        };
        self.operations.clear();
        self.operations.extend(objects.iter().map(|oid| (*oid, true)));
        merge_key(base, key, &self.operations, write, &mut self.counts).map(drop)
    }
}

impl Shared {
    /// Puts new bases in place, which have the entries of commit `number`.
    fn install(
        &self,
        mut maintenance: MutexGuard<'_, Maintenance>,
        done: Vec<(IndexId, Maintained)>,
        number: CommitNumber,
    ) {
        let mut indexes = self.indexes.read().clone();
        for (id, mut index) in done {
            // A new serial number leaves behind what is cached of the base before.
            maintenance.serial = maintenance.serial.saturating_add(1);
            index.serial = maintenance.serial;
            indexes.insert(id, index);
        }
        let members = indexes.iter().map(|(id, index)| (*id, index.member())).collect();
        *self.indexes.write() = indexes;
        let generation = self.newest().generation.saturating_add(1);
        self.cache.advance(generation, std::iter::empty());
        self.advance(None, number, members);
    }
}

impl std::fmt::Debug for IndexLoad<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexLoad")
            .field("indexes", &self.loading.len())
            .finish_non_exhaustive()
    }
}
