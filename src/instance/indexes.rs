//! Bringing indexes up to date after an open, and building those again that are lost or damaged.

use std::sync::Arc;

use super::build::{build, no_watch};
use super::opened::Parts;
use crate::catalog::{Catalog, Index, IndexId};
use crate::error::{Error, Result};
use crate::heap::{Heap, LogPosition};
use crate::index::{IndexChange, IndexStore, decode_changes};
use crate::read::Reader;
use crate::view::View;

impl Parts {
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
            IndexStore::drop(&self.indexes, id)?;
            build(&self.indexes, &view, index, self.heap.end(), &|_, _| Ok(()))?;
        }
        pause.publish_again();
        Ok(())
    }

    /// Builds what a kill left unbuilt. A unique index that two objects forbid is dropped, as it would have been.
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
        for id in unbuilt {
            match self.build_index(id, &no_watch) {
                Err(Error::Constraint(_)) | Ok(()) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }
}

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
            None => {
                build(indexes, view, index, end, &|_, _| Ok(()))?;
            }
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
