//! A bulk load: one commit of any size, its indexes built at its end.
//!
//! Objects go to the log as they come; nothing of them can be seen. Their index entries are gathered, sorted, and in the
//! end ingested together with what the indexes have, past the deltas; unique keys are verified on the way. Only then does
//! the last part of the commit go to the log, and all of it to the disk.
//!
//! That last part also says that the indexes are not ready, and a commit behind it that they are, once their ingestions
//! have ended: a crash between the two leaves indexes that the next open builds, as it does any that a kill left unbuilt.
//! A crash before the last part leaves nothing of the load.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::MutexGuard;
use rustc_hash::FxHashMap;

use super::build::commit_changes;
use super::cleaning::Cleaning;
use super::opened::Parts;
use crate::catalog::{Catalog, Class, Index, IndexId, duplicate_value, index_keys};
use crate::commit::{Bulk, Pause};
use crate::error::{Error, Result};
use crate::heap::RecordEntry;
use crate::index::{IndexLoad, IndexStore};
use crate::object::codec::check_not_null;
use crate::object::{ClassId, CommitNumber, Oid};
use crate::read::Reader;
use crate::view::View;

/// Bytes of bodies that are written at a time: with their headers they fill about one frame.
const PART_BYTES: usize = 448 << 10;
/// About what a record takes beside its body.
const RECORD_BYTES: usize = 40;
/// Serial numbers taken at a time.
const SERIALS: u64 = 4096;

/// A commit that is being loaded; dropping it leaves nothing of it.
#[derive(Debug)]
pub struct Load<'a> {
    parts: &'a Parts,
    bulk: Bulk<'a>,
    entries: IndexLoad<'a>,
    view: Arc<View>,
    classes: FxHashMap<ClassId, ClassLoad>,
    /// The indexes that get entries, and their places in `entries`.
    indexes: FxHashMap<IndexId, (Arc<Index>, usize)>,
    bodies: Vec<u8>,
    records: Vec<(Oid, Range<usize>)>,
    /// The objects made so far.
    count: u64,
    // No move may be written in between.
    _cleaning: MutexGuard<'a, Cleaning>,
}

/// What is known of a class that is loaded.
#[derive(Debug)]
struct ClassLoad {
    class: Arc<Class>,
    indexes: Vec<(Arc<Index>, usize)>,
    serials: Range<u64>,
    /// The first and the last serial number of an object made.
    made: Option<(u64, u64)>,
    required: bool,
}

impl Parts {
    /// Begins a bulk load. Other committers wait until it is dropped.
    pub fn begin_load(&self, label: Option<Arc<str>>) -> Result<Load<'_>> {
        self.check_writable()?;
        self.pipeline.check_bulk()?;
        let cleaning = self.begin_cleaning();
        let bulk = self.pipeline.begin_bulk(label)?;
        let view = bulk.view();
        let entries = self.indexes.load(view.catalog().indexes.len())?;
        Ok(Load {
            parts: self,
            bulk,
            entries,
            view,
            classes: FxHashMap::default(),
            indexes: FxHashMap::default(),
            bodies: Vec::with_capacity(PART_BYTES),
            records: Vec::new(),
            count: 0,
            _cleaning: cleaning,
        })
    }
}

impl Load<'_> {
    /// The catalog everything is bound to.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.view.catalog()
    }

    /// Objects made so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// A new identifier of a class.
    pub fn new_oid(&mut self, class: &Arc<Class>) -> Result<Oid> {
        let heap = &self.parts.heap;
        let known = class_load(
            &mut self.classes,
            &mut self.indexes,
            &mut self.entries,
            &self.view,
            class,
        )?;
        if known.serials.is_empty() {
            known.serials = heap.reserve(class.id, SERIALS)?;
        }
        let serial = known.serials.next().unwrap_or_default();
        Oid::new(class.id, serial)
            .ok_or_else(|| Error::Limit(format!("{} has used up its identifiers", class.name)))
    }

    /// Creates the object of an identifier that [`Load::new_oid`] gave.
    pub fn create(&mut self, oid: Oid, body: &[u8]) -> Result<()> {
        let Some(known) = self.classes.get_mut(&oid.class()) else {
            return Ok(());
        };
        if known.required {
            check_not_null(&known.class.layout, body)?;
        }
        for (index, place) in &known.indexes {
            for (mut key, has_nil) in index_keys(index, &known.class.layout, body, self.view.secret())? {
                IndexStore::check_key(&key)?;
                self.entries.push(*place, &mut key, !has_nil, oid)?;
            }
        }
        let (serial, made) = (
            oid.serial(),
            known.made.get_or_insert((oid.serial(), oid.serial())),
        );
        *made = (made.0.min(serial), made.1.max(serial));
        let start = self.bodies.len();
        self.bodies.extend_from_slice(body);
        self.records.push((oid, start..self.bodies.len()));
        self.count = self.count.saturating_add(1);
        let bytes = self
            .bodies
            .len()
            .saturating_add(self.records.len().saturating_mul(RECORD_BYTES));
        if bytes >= PART_BYTES {
            self.write_part()
        } else {
            Ok(())
        }
    }

    fn write_part(&mut self) -> Result<()> {
        let body_of = |range: &Range<usize>| self.bodies.get(range.clone());
        let entry = |(oid, range): &(Oid, Range<usize>)| RecordEntry {
            oid: *oid,
            body: body_of(range),
            fresh: true,
        };
        let records: Vec<RecordEntry<'_>> = self.records.iter().map(entry).collect();
        self.bulk.append(&records)?;
        self.bodies.clear();
        self.records.clear();
        Ok(())
    }

    /// Verifies unique keys, makes everything durable, and then visible.
    pub fn finish(mut self) -> Result<CommitNumber> {
        if self.count == 0 {
            return Ok(self.view.commit());
        }
        self.write_part()?;
        let Load {
            parts: _,
            mut bulk,
            entries,
            view,
            classes,
            indexes,
            _cleaning: cleaning,
            ..
        } = self;
        let catalog = view.catalog();
        let unbuilt = unbuilt(&indexes)?;
        let refuse = |id: IndexId, oid: Oid, holder: Oid| match catalog.indexes.get(&id) {
            Some(index) => duplicate_value(catalog, index, oid, holder),
            None => Error::Closed(format!("index {} is gone", id.0)),
        };
        let number = bulk.number();
        entries.finish(number, &refuse, &mut || {
            let records: Vec<RecordEntry<'_>> = unbuilt.iter().map(unready).collect();
            bulk.seal(&records)
        })?;
        let mut touched: Vec<IndexId> = indexes.keys().copied().collect();
        touched.sort_unstable();
        bulk.publish(runs(&classes), touched)?;
        // Where this fails the indexes are whole all the same; the next open builds them once more.
        let _ = mark_ready(bulk.pause(), &bulk.view(), &indexes);
        drop(cleaning);
        Ok(number)
    }
}

fn unready((oid, body): &(Oid, Vec<u8>)) -> RecordEntry<'_> {
    RecordEntry {
        oid: *oid,
        body: Some(body),
        fresh: false,
    }
}

fn class_load<'c>(
    classes: &'c mut FxHashMap<ClassId, ClassLoad>,
    indexes: &mut FxHashMap<IndexId, (Arc<Index>, usize)>,
    entries: &mut IndexLoad<'_>,
    view: &View,
    class: &Arc<Class>,
) -> Result<&'c mut ClassLoad> {
    match classes.entry(class.id) {
        std::collections::hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
        std::collections::hash_map::Entry::Vacant(vacant) => {
            let made = ClassLoad {
                class: class.clone(),
                indexes: indexes_of(class, indexes, entries, view)?,
                serials: 0..0,
                made: None,
                required: class.has_required_reference(),
            };
            Ok(vacant.insert(made))
        }
    }
}

fn indexes_of(
    class: &Class,
    indexes: &mut FxHashMap<IndexId, (Arc<Index>, usize)>,
    entries: &mut IndexLoad<'_>,
    view: &View,
) -> Result<Vec<(Arc<Index>, usize)>> {
    let holds = view.catalog().holders.contains_key(&class.id);
    if class.relates || class.derives || holds {
        return Err(Error::Argument(format!(
            "{} has an attribute with an inverse, a derived one, or one that keeps dependent objects alive, which a bulk load does \
             not keep in step; insert its objects in transactions",
            class.name
        )));
    }
    let mut found = Vec::new();
    for id in &class.indexes {
        let known = view
            .catalog()
            .indexes
            .get(id)
            .filter(|index| index.steps.is_empty());
        let Some(index) = known else { continue };
        if !indexes.contains_key(id) {
            let place = if index.ready { entries.add(*id) } else { None };
            let place = place.ok_or_else(|| {
                Error::Argument(format!(
                    "the index {} is still being built; load once it is ready",
                    index.name
                ))
            })?;
            indexes.insert(*id, (index.clone(), place));
        }
        found.extend(indexes.get(id).cloned());
    }
    Ok(found)
}

/// The bodies that say that the indexes are not ready.
fn unbuilt(indexes: &FxHashMap<IndexId, (Arc<Index>, usize)>) -> Result<Vec<(Oid, Vec<u8>)>> {
    let body = |(index, _): &(Arc<Index>, usize)| Ok((index.object, Catalog::unbuilt(index)?));
    indexes.values().map(body).collect()
}

fn mark_ready(
    pause: &Pause<'_>,
    view: &Arc<View>,
    indexes: &FxHashMap<IndexId, (Arc<Index>, usize)>,
) -> Result<()> {
    if indexes.is_empty() {
        return Ok(());
    }
    let changes = indexes
        .values()
        .map(|(index, _)| view.catalog().mark_ready(index));
    commit_changes(pause, view, changes.collect::<Result<_>>()?)
}

/// The objects made, class by class, as runs. A run may name an identifier that was left without an object.
fn runs(classes: &FxHashMap<ClassId, ClassLoad>) -> Vec<(Oid, u32)> {
    let mut runs = Vec::new();
    for (class, known) in classes {
        let Some((mut first, last)) = known.made else {
            continue;
        };
        while first <= last {
            let count = u32::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(u32::MAX);
            runs.extend(Oid::new(*class, first).map(|oid| (oid, count)));
            first = first.saturating_add(u64::from(count));
        }
    }
    runs.sort_unstable();
    runs
}
