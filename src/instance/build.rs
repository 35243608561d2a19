//! Building an index over existing objects, beside readers and writers.
//!
//! # The life of a build
//!
//! 1. A commit creates the index as *building*. Whoever bound the schema before it conflicts and runs again, so every
//!    later commit logs the changes of the index, which are kept for the build. Queries do not use it.
//! 2. The entries of all objects are read from one view, sorted in runs, and written; then what was committed meanwhile
//!    is merged, until little is left. A kill until here leaves an index without a description, which is removed.
//! 3. The index is put in place. From then on commits check what they claim of a unique index against it. What earlier
//!    ones claimed, where two objects came to one value, is looked at now.
//! 4. A commit marks the index as *ready*.
//!
//! Writers wait in 1, 3 and 4 for what is in flight, and in 4 for one commit with its sync; readers never wait. What
//! fails, or is interrupted, drops the index. A kill leaves it building, and the next open builds it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::MutexGuard;

use super::opened::Parts;
use crate::catalog::{Index, IndexId, IndexKind, SchemaChange, duplicate_value, index_keys};
use crate::commit::{Durability, Pause, Request};
use crate::error::{Error, Result};
use crate::heap::LogPosition;
use crate::index::key::unique_key;
use crate::index::{IndexKey, IndexPlan, IndexStore};
use crate::object::{ClassId, Oid, Record, SlotSet};
use crate::read::{ExtentPosition, Reader};
use crate::view::View;
use crate::write_set::WriteSet;

/// How far the build of an index has come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildProgress {
    /// The name of the index.
    pub index: Arc<str>,
    /// Objects read and entries written.
    pub done: u64,
    /// About how many of both there are.
    pub total: u64,
}

/// Is told how far the build of an index has come; `Break` ends it, and leaves no index.
#[derive(Clone)]
pub struct BuildWatch(Arc<Told>);

type Told = dyn Fn(&BuildProgress) -> ControlFlow<()> + Send + Sync;

impl BuildWatch {
    /// A watch that calls `told`, from the thread that builds.
    pub fn new(told: impl Fn(&BuildProgress) -> ControlFlow<()> + Send + Sync + 'static) -> BuildWatch {
        BuildWatch(Arc::new(told))
    }

    /// Tells it how far a build has come.
    pub(crate) fn tell(&self, progress: &BuildProgress) -> ControlFlow<()> {
        (self.0)(progress)
    }
}

impl std::fmt::Debug for BuildWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BuildWatch")
    }
}

/// A watch that never ends a build.
pub(super) fn no_watch(_: &BuildProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// What a build is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Objects are read.
    Reading,
    /// Entries are written.
    Writing,
}

/// Is told how many objects or entries a stage has done; an error ends the build.
pub(super) type Tell<'a> = &'a dyn Fn(Stage, u64) -> Result<()>;

impl Parts {
    /// Builds an index that a commit has created over existing objects, and makes it usable. Readers and writers go on.
    ///
    /// # Errors
    /// [`Error::Constraint`] where two objects have one value of a unique index, [`Error::Cancelled`] where `watch` ends
    /// it, [`Error::Schema`] where somebody drops it meanwhile; there is no such index then.
    pub fn build_index(&self, id: IndexId, watch: &dyn Fn(&BuildProgress) -> ControlFlow<()>) -> Result<()> {
        let built = self.build_beside(id, watch);
        self.builds.lock().remove(&id);
        if built.is_err() {
            // What cannot be dropped now is built at the next open.
            let _ = self.drop_unbuilt(id);
        }
        built
    }

    /// Drops an index that shall not be built, since one that was created with it could not be. Where that fails, the
    /// next open builds it.
    pub fn abandon_build(&self, id: IndexId) {
        let _ = self.drop_unbuilt(id);
    }

    /// The indexes that are being built, and how far they are.
    pub fn builds(&self) -> Vec<BuildProgress> {
        self.builds.lock().values().cloned().collect()
    }

    fn build_beside(&self, id: IndexId, watch: &dyn Fn(&BuildProgress) -> ControlFlow<()>) -> Result<()> {
        let pause = self.pipeline.pause();
        let (view, end) = (self.pipeline.view(), self.heap.end());
        let index = view.catalog().indexes.get(&id).filter(|index| !index.ready);
        let Some(index) = index.cloned() else {
            return Ok(());
        };
        let index = &*index;
        if index.steps.is_empty() {
            self.indexes.prepare(id);
        }
        drop(pause);
        let objects = objects_of(&view, index)?;
        let tell = |stage: Stage, done: u64| {
            let progress = BuildProgress {
                index: index.name.clone(),
                done: if stage == Stage::Reading {
                    done
                } else {
                    done.saturating_add(objects)
                },
                total: objects.saturating_mul(2),
            };
            let flow = watch(&progress);
            self.builds.lock().insert(id, progress);
            match flow {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(interrupted(index)),
            }
        };
        tell(Stage::Reading, 0)?;
        if index.steps.is_empty() {
            let turn = self.turn_to_build(&tell)?;
            self.persist()?;
            let suspects = build(&self.indexes, &view, index, end, &tell)?;
            drop(turn);
            // It pins what the cleaner would free.
            drop(view);
            self.check_unique(index, suspects)?;
        } else {
            self.wait_for_steps(index, &tell)?;
        }
        self.mark_ready(id)
    }

    /// One index is built at a time: each takes a part of the memory.
    fn turn_to_build(&self, tell: Tell<'_>) -> Result<MutexGuard<'_, ()>> {
        loop {
            if let Some(turn) = self.build_turn.try_lock_for(INTERVAL) {
                return Ok(turn);
            }
            tell(Stage::Reading, 0)?;
        }
    }

    /// Waits until the indexes that a path index is made of are ready, where others build them.
    fn wait_for_steps(&self, index: &Index, tell: Tell<'_>) -> Result<()> {
        loop {
            let view = self.pipeline.view();
            let mut ready = true;
            for step in &index.steps {
                let step = view.catalog().indexes.get(step).ok_or_else(|| dropped(index))?;
                ready &= step.ready;
            }
            if ready {
                return Ok(());
            }
            // A database that takes no more commits makes none ready.
            self.pipeline.settled(|| Ok((false, ())))?;
            tell(Stage::Reading, 0)?;
            std::thread::sleep(INTERVAL);
        }
    }

    /// Looks at the values of a unique index that came to several objects while it was built.
    fn check_unique(&self, index: &Index, suspects: Vec<IndexKey>) -> Result<()> {
        if index.kind != IndexKind::Unique {
            return Ok(());
        }
        self.pipeline.pause().publish_again();
        let view = self.pipeline.view();
        let recent = view.several_above(index.id)?;
        for key in suspects.iter().chain(&recent) {
            refuse_duplicates(&view, index, key, &view.holders(index.id, key)?)?;
        }
        Ok(())
    }

    fn mark_ready(&self, id: IndexId) -> Result<()> {
        let pause = self.pipeline.pause();
        let view = self.pipeline.view();
        let Some(index) = view.catalog().indexes.get(&id) else {
            return Err(Error::Schema(
                "the index was dropped while it was being built".into(),
            ));
        };
        commit_changes(&pause, &view, vec![view.catalog().mark_ready(index)?])
    }

    fn drop_unbuilt(&self, id: IndexId) -> Result<()> {
        let pause = self.pipeline.pause();
        let view = self.pipeline.view();
        match view.catalog().indexes.get(&id) {
            Some(index) => commit_changes(&pause, &view, view.catalog().drop_unbuilt(index)?),
            None => Ok(()),
        }
    }
}

fn interrupted(index: &Index) -> Error {
    Error::Cancelled(format!(
        "the build of the index {} was interrupted; there is no such index",
        index.name
    ))
}

fn dropped(index: &Index) -> Error {
    Error::Schema(format!(
        "an index that {} stands on was dropped while it was being built",
        index.name
    ))
}

/// About how many objects an index is built over.
fn objects_of(view: &View, index: &Index) -> Result<u64> {
    let family = &view.catalog().class_by_id(index.class)?.family;
    let counts = family.iter().map(|class| view.extent_estimate(*class));
    Ok(counts.fold(0, u64::saturating_add))
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

/// Builds one index from the objects of a view, which must show every commit of the log through `applied`. Gives the
/// keys that came to several objects through commits since.
pub(super) fn build(
    indexes: &IndexStore,
    view: &View,
    index: &Index,
    applied: LogPosition,
    tell: Tell<'_>,
) -> Result<Vec<IndexKey>> {
    let mut entries = Entries::new(view, index, tell)?;
    let mut several = |key: &[u8], holders: &[Oid]| refuse_duplicates(view, index, key, holders);
    let plan = IndexPlan {
        id: index.id,
        kind: index.kind,
        applied,
        commit: view.commit(),
    };
    indexes.build(plan, &mut entries, &mut several, &mut |written| {
        tell(Stage::Writing, written)
    })
}

/// Refuses two objects with one value in a unique index; nil and equal hashes of different values may stand.
fn refuse_duplicates(view: &View, index: &Index, key: &[u8], holders: &[Oid]) -> Result<()> {
    let unhashed = Index {
        kind: IndexKind::Ordered,
        ..index.clone()
    };
    let mut claimed: Vec<(IndexKey, Oid)> = Vec::new();
    for oid in holders {
        let Some(value) = claim(view, &unhashed, key, *oid)? else {
            continue;
        };
        if let Some((_, other)) = claimed.iter().find(|(other, _)| *other == value) {
            return Err(duplicate_value(view.catalog(), index, *oid, *other));
        }
        claimed.push((value, *oid));
    }
    Ok(())
}

/// The value that an object claims under a key of a unique index; `None` where it has nil in it.
fn claim(view: &View, unhashed: &Index, key: &[u8], oid: Oid) -> Result<Option<IndexKey>> {
    let Some(record) = view.object(oid)? else {
        return Ok(None);
    };
    let layout = &view.catalog().class_by_id(oid.class())?.layout;
    let values = index_keys(unhashed, layout, &record.body, view.secret())?;
    let under_key =
        |(value, has_nil): &(IndexKey, bool)| !has_nil && *unique_key(value, view.secret()) == *key;
    Ok(values.into_iter().find(under_key).map(|(value, _)| value))
}

/// All entries of an index over a view, in OID order.
struct Entries<'a> {
    view: &'a View,
    index: &'a Index,
    classes: Vec<ClassId>,
    position: ExtentPosition,
    ready: Vec<(IndexKey, Oid)>,
    read: u64,
    tell: Tell<'a>,
}

impl<'a> Entries<'a> {
    fn new(view: &'a View, index: &'a Index, tell: Tell<'a>) -> Result<Self> {
        let mut classes = view.catalog().class_by_id(index.class)?.family.clone();
        classes.reverse();
        Ok(Entries {
            view,
            index,
            classes,
            position: ExtentPosition::default(),
            ready: Vec::new(),
            read: 0,
            tell,
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
            self.read = self.read.saturating_add(records.len() as u64);
            (self.tell)(Stage::Reading, self.read)?;
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

/// How often who waits looks again, and says so.
const INTERVAL: Duration = Duration::from_millis(20);
