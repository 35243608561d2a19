//! Building indexes over existing objects, and bringing them up to date after an open.

use std::sync::Arc;

use super::opened::Parts;
use crate::catalog::{Catalog, Index, IndexId, SchemaChange, duplicate_value, index_keys};
use crate::commit::{Durability, Pause, Request};
use crate::error::Result;
use crate::heap::{Heap, LogPosition};
use crate::index::{IndexChange, IndexKey, IndexStore, decode_changes};
use crate::object::codec::read_slot;
use crate::object::{ClassId, Oid, Record, SlotSet};
use crate::read::{ExtentPosition, Reader};
use crate::view::{View, has_values, is_hashed};
use crate::write_set::WriteSet;

impl Parts {
    /// Builds an index that a commit has created over existing objects, and makes it usable. Commits wait meanwhile;
    /// readers do not.
    ///
    /// # Errors
    /// [`Error::Constraint`](crate::Error::Constraint) where two objects have one value of a unique index; the index
    /// is dropped again.
    pub fn build_index(&self, id: IndexId) -> Result<()> {
        let pause = self.pipeline.pause();
        let view = self.pipeline.view();
        let Some(index) = view.catalog().indexes.get(&id).filter(|index| !index.ready) else {
            return Ok(());
        };
        self.persist()?;
        if index.steps.is_empty()
            && let Err(error) = build(&self.indexes, &view, index, self.heap.end())
        {
            commit_changes(&pause, &view, view.catalog().drop_index(index)?)?;
            return Err(error);
        }
        commit_changes(&pause, &view, vec![view.catalog().mark_ready(index)?])
    }

    /// Builds the indexes anew in which a read has met damage; commits wait meanwhile. Where that fails, the next open
    /// builds all of them.
    pub(super) fn heal_indexes(&self) {
        for id in self.indexes.damaged() {
            if self.build_anew(id).is_err() {
                self.indexes.give_up();
            }
        }
    }

    fn build_anew(&self, id: IndexId) -> Result<()> {
        let pause = self.pipeline.pause();
        let view = self.pipeline.view();
        if let Some(index) = view.catalog().indexes.get(&id) {
            self.persist()?;
            build(&self.indexes, &view, index, self.heap.end())?;
        }
        pause.publish_again();
        Ok(())
    }

    /// Builds what a kill left unbuilt.
    pub(super) fn finish_builds(&self) -> Result<()> {
        let view = self.pipeline.view();
        let mut unbuilt: Vec<IndexId> = view
            .catalog()
            .indexes
            .values()
            .filter(|index| !index.ready)
            .map(|index| index.id)
            .collect();
        unbuilt.sort_unstable();
        unbuilt.into_iter().try_for_each(|id| self.build_index(id))
    }
}

/// Commits changes of the catalog for the owner of a pause.
pub(super) fn commit_changes(pause: &Pause<'_>, view: &Arc<View>, changes: Vec<SchemaChange>) -> Result<()> {
    let mut writes = WriteSet::default();
    for change in changes {
        match change {
            SchemaChange::Create(oid, body) => writes.create(oid, &body),
            SchemaChange::Update(oid, body) => writes.update(oid, &body, SlotSet::ALL),
            SchemaChange::Delete(oid) => writes.delete(oid),
        }
    }
    let request = Request {
        snapshot: view.commit(),
        base: view.clone(),
        catalog: view.catalog().clone(),
        catalog_version: view.catalog().version,
        writes: Arc::new(writes),
        entries: Vec::new(),
        deltas: Vec::new(),
        reads: None,
        durability: Durability::Sync,
        label: Some("index build".into()),
    };
    pause.commit(request).map(drop)
}

/// Builds one index from the objects of a view, which must show every commit of the log through `applied`.
pub(super) fn build(indexes: &IndexStore, view: &View, index: &Index, applied: LogPosition) -> Result<()> {
    if indexes.kind(index.id).is_some() {
        IndexStore::drop(indexes, index.id)?;
    }
    let mut entries = Entries::new(view, index)?;
    let mut several = |_: &[u8], holders: &[Oid]| refuse_duplicates(view, index, holders);
    indexes.build(
        index.id,
        index.kind,
        &mut entries,
        &mut several,
        applied,
        view.commit(),
    )
}

/// Refuses two objects with one value in a unique index; nil and equal hashes of different values may stand.
fn refuse_duplicates(view: &View, index: &Index, holders: &[Oid]) -> Result<()> {
    for (position, oid) in holders.iter().enumerate() {
        let Some(values) = values_of(view, index, *oid)? else {
            continue;
        };
        for other in holders.iter().skip(position.saturating_add(1)) {
            if !is_hashed(index) || has_values(view, index, *other, &values)? {
                return Err(duplicate_value(view.catalog(), index, *other, *oid));
            }
        }
    }
    Ok(())
}

/// The indexed values of an object, `None` where one of them is nil.
fn values_of(view: &View, index: &Index, oid: Oid) -> Result<Option<Vec<crate::object::Value>>> {
    let Some(record) = view.object(oid)? else {
        return Ok(None);
    };
    let class = view.catalog().class_by_id(oid.class())?;
    let mut values = Vec::new();
    for component in &index.components {
        let slot = component.path.last().and_then(|name| class.layout.slot(name));
        let Some(slot) = slot else { return Ok(None) };
        let value = read_slot(&class.layout, &record.body, slot)?.to_value()?;
        if value.is_nil() {
            return Ok(None);
        }
        values.push(value);
    }
    Ok(Some(values))
}

/// All entries of an index over a view, in OID order.
struct Entries<'a> {
    view: &'a View,
    index: &'a Index,
    classes: Vec<ClassId>,
    position: ExtentPosition,
    ready: Vec<(IndexKey, Oid)>,
}

impl<'a> Entries<'a> {
    fn new(view: &'a View, index: &'a Index) -> Result<Self> {
        let mut classes = view.catalog().class_by_id(index.class)?.family.clone();
        classes.reverse();
        Ok(Entries {
            view,
            index,
            classes,
            position: ExtentPosition::default(),
            ready: Vec::new(),
        })
    }

    fn refill(&mut self) -> Result<()> {
        while let Some(class) = self.classes.last().copied().filter(|_| self.ready.is_empty()) {
            let mut records: Vec<Record<'_>> = Vec::with_capacity(BATCH);
            self.view.scan(class, &mut self.position, BATCH, &mut records)?;
            if records.is_empty() {
                self.classes.pop();
                self.position = ExtentPosition::default();
                continue;
            }
            let layout = &self.view.catalog().class_by_id(class)?.layout;
            for record in records.iter().rev() {
                let keys = index_keys(self.index, layout, &record.body, self.view.secret())?;
                for (key, _) in keys {
                    IndexStore::check_key(&key)?;
                    self.ready.push((key, record.oid));
                }
            }
        }
        Ok(())
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<(IndexKey, Oid)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty()
            && let Err(error) = self.refill()
        {
            self.classes.clear();
            return Some(Err(error));
        }
        self.ready.pop().map(Ok)
    }
}

const BATCH: usize = 1024;

/// Brings every index up to the end of the log: drops what the catalog does not know, replays what the log has, and
/// builds what is missing, incomplete or ahead of the log.
pub(super) fn recover(heap: &Heap, indexes: &IndexStore, view: &View) -> Result<()> {
    let catalog = view.catalog();
    let stored = |index: &&Arc<Index>| index.ready && index.steps.is_empty();
    for id in indexes.known() {
        if !catalog.indexes.get(&id).is_some_and(|index| stored(&index)) {
            IndexStore::drop(indexes, id)?;
        }
    }
    let end = heap.end();
    let mut from = end;
    for index in catalog.indexes.values().filter(stored) {
        match indexes.applied(index.id).filter(|applied| *applied <= end) {
            Some(applied) => from = from.min(applied),
            None => build(indexes, view, index, end)?,
        }
    }
    replay(heap, indexes, catalog, from, end)
}

fn replay(
    heap: &Heap,
    indexes: &IndexStore,
    catalog: &Catalog,
    from: LogPosition,
    end: LogPosition,
) -> Result<()> {
    if from >= end {
        return Ok(());
    }
    heap.replay(from, &mut |commit| {
        // A commit that changes no index says nothing about them.
        let changes = match commit.deltas {
            [] => Vec::new(),
            deltas => decode_changes(deltas)?,
        };
        let wanted = |change: &IndexChange| {
            catalog.indexes.contains_key(&change.index)
                && indexes
                    .applied(change.index)
                    .is_some_and(|applied| applied < commit.end)
        };
        let changes: Vec<IndexChange> = changes.into_iter().filter(wanted).collect();
        indexes.apply(commit.number, commit.end, &changes)?;
        indexes.published(commit.number);
        Ok(())
    })
}
