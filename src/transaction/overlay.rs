//! A committed state under the writes of one transaction: what the transaction itself sees.
//!
//! The overlay is copied when it is written while rows still read it, so rows see the state as it was when they were
//! made. Index entries are kept as net differences to the committed state: an entry added and removed again is none.
//!
//! While a savepoint or a statement is open, every change also goes to the [`UndoLog`], which takes it back exactly:
//! writes, index entries (and with them claims on unique values) and schema. A write that fails changes nothing.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::undo::{Undo, UndoLog};
use crate::catalog::{Catalog, Class, Index, IndexId, index_differences};
use crate::error::{Error, Result};
use crate::index::{IndexKey, RangeCursor};
use crate::object::codec::converted;
use crate::object::{ClassId, CommitNumber, Oid, Record, SlotSet};
use crate::read::{Direction, ExtentPosition, IndexRange, IndexSize, Postings, Reader, count_postings};
use crate::view::{EncodedRange, View, encode_range, fresh, freshen, has_values, is_hashed, ready_index};
use crate::write_set::{Write, WriteSet};

/// The entries one transaction adds to and removes from one index.
pub type EntryChanges = BTreeMap<(IndexKey, Oid), EntryChange>;

/// What becomes of one index entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryChange {
    /// Added, or else removed.
    pub added: bool,
    /// Whether the key has nil in it, and so may be held by several objects of a unique index.
    pub has_nil: bool,
}

/// One index entry that a write adds or removes.
struct Difference {
    index: IndexId,
    key: IndexKey,
    change: EntryChange,
}

type Differences = SmallVec<[Difference; 2]>;

/// The state a transaction sees.
#[derive(Debug, Clone)]
pub struct Overlay {
    view: Arc<View>,
    catalog: Arc<Catalog>,
    writes: WriteSet,
    entries: FxHashMap<IndexId, EntryChanges>,
    undo: UndoLog,
}

impl Overlay {
    /// The committed state itself.
    pub fn new(view: Arc<View>) -> Self {
        let catalog = view.catalog().clone();
        Overlay {
            view,
            catalog,
            writes: WriteSet::default(),
            entries: FxHashMap::default(),
            undo: UndoLog::default(),
        }
    }

    /// The committed state below.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// The writes.
    pub fn writes(&self) -> &WriteSet {
        &self.writes
    }

    /// The writes, and the index entries they change.
    pub fn into_changes(self) -> (WriteSet, FxHashMap<IndexId, EntryChanges>) {
        (self.writes, self.entries)
    }

    /// Writes an object, all its attributes: `None` deletes it. The object's class must exist.
    pub fn write(&mut self, oid: Oid, body: Option<&[u8]>, is_new: bool) -> Result<()> {
        self.write_slots(oid, body, is_new, SlotSet::ALL)
    }

    /// Gives an object a new body, in which these slots were given values.
    pub fn update(&mut self, oid: Oid, body: &[u8], assigned: SlotSet) -> Result<()> {
        self.write_slots(oid, Some(body), false, assigned)
    }

    fn write_slots(&mut self, oid: Oid, body: Option<&[u8]>, is_new: bool, assigned: SlotSet) -> Result<()> {
        self.change_entries(oid, body, is_new)?;
        if self.undo.is_on() {
            self.undo.push(Undo::Write(oid, self.writes.keep(oid)));
        }
        match body {
            Some(body) if is_new => self.writes.create(oid, body),
            Some(body) => self.writes.update(oid, body, assigned),
            None => self.writes.delete(oid),
        }
        Ok(())
    }

    /// Replaces the catalog after catalog objects were written, and gives indexes that are new on existing writes
    /// their entries.
    pub fn set_catalog(&mut self, catalog: Arc<Catalog>) -> Result<()> {
        let before = std::mem::replace(&mut self.catalog, catalog);
        self.undo.push(Undo::Catalog(before.clone()));
        let dropped: Vec<IndexId> = self
            .entries
            .keys()
            .filter(|id| !self.catalog.indexes.contains_key(id))
            .copied()
            .collect();
        for id in dropped {
            if let Some(changes) = self.entries.remove(&id) {
                self.undo.push(Undo::Index(id, changes));
            }
        }
        let is_new = |index: &&Arc<Index>| index.steps.is_empty() && !before.indexes.contains_key(&index.id);
        let new: Vec<Arc<Index>> = self.catalog.indexes.values().filter(is_new).cloned().collect();
        for index in new {
            self.index_own_writes(&index)?;
        }
        Ok(())
    }

    fn index_own_writes(&mut self, index: &Index) -> Result<()> {
        let writes: Vec<(Oid, Option<Vec<u8>>)> = self
            .writes
            .iter()
            .filter(|(oid, _)| self.catalog.is_a(oid.class(), index.class))
            .map(|(oid, write)| (oid, write.body().map(<[u8]>::to_vec)))
            .collect();
        for (oid, body) in writes {
            let class = self.catalog.class_by_id(oid.class())?.clone();
            let only = Class {
                indexes: vec![index.id],
                ..Class::clone(&class)
            };
            let view = self.view.clone();
            let before = view.object(oid)?;
            let before = before.as_ref().map(|record| &*record.body);
            let differences = self.differences(&only, before, body.as_deref())?;
            self.change_class_entries(oid, differences);
        }
        Ok(())
    }

    fn change_entries(&mut self, oid: Oid, after: Option<&[u8]>, is_new: bool) -> Result<()> {
        let class = self.catalog.class_by_id(oid.class())?;
        if class.indexes.is_empty() {
            return Ok(());
        }
        let differences = match self.writes.get(oid) {
            Some(write) => self.differences(class, write.body(), after),
            None if is_new => self.differences(class, None, after),
            None => {
                let before = self.view.object(oid)?;
                self.differences(class, before.as_ref().map(|record| &*record.body), after)
            }
        }?;
        self.change_class_entries(oid, differences);
        Ok(())
    }

    fn differences(&self, class: &Class, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<Differences> {
        let mut differences = Differences::new();
        let now = |body: Option<&[u8]>| match body {
            Some(body) if class.layout.converted_slots > 0 => converted(&class.layout, body),
            _ => Ok(None),
        };
        let (old, new) = (now(before)?, now(after)?);
        index_differences(
            &self.catalog,
            class,
            old.as_deref().or(before),
            new.as_deref().or(after),
            self.view.secret(),
            &mut |index, key, has_nil, added| {
                differences.push(Difference {
                    index: index.id,
                    key: key.clone(),
                    change: EntryChange { added, has_nil },
                });
            },
        )?;
        Ok(differences)
    }

    /// The log of changes to take back.
    pub fn undo_log(&mut self) -> &mut UndoLog {
        &mut self.undo
    }

    /// Takes back every change since the log had `length` entries.
    pub fn undo_to(&mut self, length: usize) {
        while let Some(undo) = self.undo.pop_above(length) {
            match undo {
                Undo::Write(oid, before) => self.writes.restore(oid, before),
                Undo::Entry(index, entry, before) => {
                    let changes = self.entries.entry(index).or_default();
                    match before {
                        Some(change) => changes.insert(entry, change),
                        None => changes.remove(&entry),
                    };
                }
                Undo::Index(index, changes) => {
                    self.entries.insert(index, changes);
                }
                Undo::Catalog(catalog) => {
                    self.catalog = catalog;
                    self.entries.retain(|id, _| self.catalog.indexes.contains_key(id));
                }
            }
        }
    }

    fn change_class_entries(&mut self, oid: Oid, differences: Differences) {
        for Difference { index, key, change } in differences {
            let changes = self.entries.entry(index).or_default();
            let entry = (key, oid);
            if self.undo.is_on() {
                let before = changes.get(&entry).copied();
                self.undo.push(Undo::Entry(index, entry.clone(), before));
            }
            match changes.entry(entry) {
                Entry::Occupied(entry) if entry.get().added != change.added => {
                    entry.remove();
                }
                Entry::Occupied(mut entry) => {
                    entry.insert(change);
                }
                Entry::Vacant(entry) => {
                    entry.insert(change);
                }
            }
        }
    }

    fn record<'a>(&'a self, oid: Oid, write: Write<'a>) -> Option<Record<'a>> {
        let body = write.body()?;
        Some(Record {
            oid,
            commit: CommitNumber::default(),
            body: body.into(),
        })
    }

    /// Appends up to `limit` own new objects past the committed ones.
    fn scan_own<'a>(
        &'a self,
        class: ClassId,
        position: &mut ExtentPosition,
        limit: usize,
        records: &mut Vec<Record<'a>>,
    ) {
        let Some(first) = Oid::new(class, position.next_serial.max(1)) else {
            return;
        };
        let own = self
            .writes
            .range(first, Oid::new(ClassId(class.0.saturating_add(1)), 0));
        let records_of = own.filter_map(|(oid, write)| self.record(oid, write));
        for record in records_of.take(limit) {
            position.next_serial = record.oid.serial().saturating_add(1);
            records.push(record);
        }
    }

    /// Puts own writes of the serials `from..to` of a class in place among `records[start..]`, which came from the
    /// committed state.
    fn merge_writes<'a>(
        &'a self,
        class: ClassId,
        from: u64,
        to: u64,
        start: usize,
        records: &mut Vec<Record<'a>>,
    ) {
        let Some(first) = Oid::new(class, from.max(1)) else {
            return;
        };
        let end = Oid::new(class, to).or_else(|| Oid::new(ClassId(class.0.saturating_add(1)), 0));
        let mut own = self.writes.range(first, end).peekable();
        if own.peek().is_none() {
            return;
        }
        let committed = records.split_off(start.min(records.len()));
        let mut committed = committed.into_iter().peekable();
        for (oid, write) in own {
            while let Some(record) = committed.next_if(|record| record.oid < oid) {
                records.push(record);
            }
            committed.next_if(|record| record.oid == oid);
            records.extend(self.record(oid, write));
        }
        records.extend(committed);
    }

    fn own_entries(&self, index: &Index, range: &EncodedRange, values: &IndexRange) -> Result<OwnEntries> {
        let mut own = OwnEntries::default();
        let Some(changes) = self.entries.get(&index.id) else {
            return Ok(own);
        };
        for ((key, oid), change) in entries_within(changes, range) {
            let exact = matches!(range, EncodedRange::Key(_)) && is_hashed(index);
            if !change.added {
                own.removed.push((key.clone(), *oid));
            } else if !exact || has_values(self, index, *oid, &values.prefix)? {
                own.added.push((key.clone(), *oid));
            }
        }
        Ok(own)
    }
}

/// Own entries of one index in one range, in key order.
#[derive(Debug, Default)]
struct OwnEntries {
    added: Vec<(IndexKey, Oid)>,
    removed: Vec<(IndexKey, Oid)>,
}

fn entries_within<'a>(
    changes: &'a EntryChanges,
    range: &EncodedRange,
) -> Box<dyn Iterator<Item = (&'a (IndexKey, Oid), &'a EntryChange)> + 'a> {
    let (start, end) = match range {
        EncodedRange::Key(key) => {
            let mut after = key.to_vec();
            after.push(0);
            (key.to_vec(), Some(after))
        }
        EncodedRange::Between(start, end) => (start.clone(), end.clone()),
    };
    let below_end = move |key: &IndexKey| end.as_ref().is_none_or(|end| key.as_slice() < end.as_slice());
    let Some(smallest) = Oid::from_bits(1) else {
        return Box::new(std::iter::empty());
    };
    let first = (IndexKey::from_slice(&start), smallest);
    Box::new(
        changes
            .range(first..)
            .take_while(move |((key, _), _)| below_end(key)),
    )
}

impl Reader for Overlay {
    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    fn commit(&self) -> CommitNumber {
        self.view.commit()
    }

    fn object(&self, oid: Oid) -> Result<Option<Record<'_>>> {
        if !self.catalog.is_live(oid.class()) {
            return Ok(None);
        }
        match self.writes.get(oid) {
            Some(write) => Ok(self.record(oid, write)),
            None => {
                let record = self.view.object(oid)?;
                record.map(|record| fresh(&self.catalog, record)).transpose()
            }
        }
    }

    fn gather<'a>(&'a self, oids: &[Oid], records: &mut Vec<Option<Record<'a>>>) -> Result<()> {
        let start = records.len();
        self.view.gather(oids, records)?;
        freshen(&self.catalog, records.iter_mut().skip(start).flatten())?;
        if self.writes.is_empty() {
            return Ok(());
        }
        for (oid, record) in oids.iter().zip(records.iter_mut().skip(start)) {
            if let Some(write) = self.writes.get(*oid) {
                *record = self.record(*oid, write);
            }
        }
        Ok(())
    }

    fn scan<'a>(
        &'a self,
        class: ClassId,
        position: &mut ExtentPosition,
        limit: usize,
        records: &mut Vec<Record<'a>>,
    ) -> Result<()> {
        if !self.catalog.is_live(class) {
            return Ok(());
        }
        let start = records.len();
        loop {
            let from = position.next_serial;
            self.view.scan(class, position, limit, records)?;
            freshen(&self.catalog, records.iter_mut().skip(start))?;
            if records.len() == start {
                self.scan_own(class, position, limit, records);
                return Ok(());
            }
            self.merge_writes(class, from, position.next_serial, start, records);
            if records.len() > start {
                return Ok(());
            }
        }
    }

    fn extent_estimate(&self, class: ClassId) -> u64 {
        let Some(first) = Oid::new(class, 1) else { return 0 };
        let own = self
            .writes
            .range(first, Oid::new(ClassId(class.0.saturating_add(1)), 0));
        let created = own.filter(|(_, write)| matches!(write, Write::Create(_))).count();
        self.view.extent_estimate(class).saturating_add(created as u64)
    }

    fn lookup(
        &self,
        index: IndexId,
        range: &IndexRange,
        direction: Direction,
    ) -> Result<Box<dyn Postings + '_>> {
        let index = ready_index(&self.catalog, index)?;
        let encoded = encode_range(index, range, self.view.secret())?;
        let own = self.own_entries(index, &encoded, range)?;
        let committed = self
            .view
            .catalog()
            .indexes
            .get(&index.id)
            .is_some_and(|index| index.ready);
        if own.added.is_empty() && own.removed.is_empty() && committed {
            return self.view.lookup(index.id, range, direction);
        }
        let committed = if committed {
            Some(self.view.entries(index.id, &encoded, direction)?)
        } else {
            None
        };
        let mut added = own.added;
        if direction == Direction::Ascending {
            added.reverse();
        }
        let verify =
            (matches!(encoded, EncodedRange::Key(_)) && is_hashed(index)).then(|| range.prefix.clone());
        let merged = MergedPostings {
            overlay: self,
            index: index.clone(),
            verify,
            committed,
            waiting: Vec::new(),
            added,
            removed: own.removed,
            direction,
        };
        Ok(Box::new(merged))
    }

    fn count(&self, index: IndexId, range: &IndexRange) -> Result<u64> {
        if !self.entries.contains_key(&index) && self.view.catalog().indexes.contains_key(&index) {
            return self.view.count(index, range);
        }
        let mut postings = self.lookup(index, range, Direction::Ascending)?;
        count_postings(postings.as_mut())
    }

    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        self.view.index_size(index)
    }
}

/// Committed entries without the removed ones, merged with the added ones in key order.
struct MergedPostings<'a> {
    overlay: &'a Overlay,
    index: Arc<Index>,
    /// The values to verify at the object, where keys are hashes.
    verify: Option<Vec<crate::object::Value>>,
    committed: Option<RangeCursor>,
    /// Committed entries not yet merged, next one last.
    waiting: Vec<(IndexKey, Oid)>,
    /// Own entries, next one last.
    added: Vec<(IndexKey, Oid)>,
    /// Ascending.
    removed: Vec<(IndexKey, Oid)>,
    direction: Direction,
}

impl MergedPostings<'_> {
    fn refill(&mut self, limit: usize) -> Result<()> {
        while self.waiting.is_empty() {
            let Some(cursor) = &mut self.committed else {
                return Ok(());
            };
            cursor.next_entries(limit.max(16), &mut self.waiting)?;
            if self.waiting.is_empty() {
                self.committed = None;
                return Ok(());
            }
            let removed = &self.removed;
            self.waiting.retain(|entry| removed.binary_search(entry).is_err());
            if let Some(values) = &self.verify {
                let mut kept = Vec::new();
                for (key, oid) in self.waiting.drain(..) {
                    if has_values(self.overlay.view.as_ref(), &self.index, oid, values)? {
                        kept.push((key, oid));
                    }
                }
                self.waiting = kept;
            }
            self.waiting.reverse();
        }
        Ok(())
    }

    fn own_is_next(&self) -> bool {
        match (self.added.last(), self.waiting.last()) {
            (Some(own), Some(committed)) => match self.direction {
                Direction::Ascending => own < committed,
                Direction::Descending => own > committed,
            },
            (own, _) => own.is_some(),
        }
    }
}

impl Postings for MergedPostings<'_> {
    fn next(&mut self, limit: usize, oids: &mut Vec<Oid>) -> Result<()> {
        for _ in 0..limit {
            self.refill(limit)?;
            let next = if self.own_is_next() {
                self.added.pop()
            } else {
                self.waiting.pop()
            };
            let Some((_, oid)) = next else { return Ok(()) };
            oids.push(oid);
        }
        Ok(())
    }
}

/// Where an object that was to be changed is not there.
pub fn missing(catalog: &Catalog, oid: Oid) -> Error {
    Error::NotFound(format!(
        "{} does not exist here; it may have been deleted",
        catalog.describe(oid)
    ))
}
