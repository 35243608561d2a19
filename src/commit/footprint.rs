//! What a commit changed, in the form that read sets are compared with.

use crate::catalog::IndexId;
use crate::error::Result;
use crate::index::IndexKey;
use crate::object::{ClassId, Oid, SlotSet};
use crate::read_set::ReadSet;
use crate::write_set::{Write, WriteSet};

use super::request::IndexEntry;

/// What a commit did to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// It is new.
    Create,
    /// It has a new body.
    Update,
    /// It is gone.
    Delete,
}

/// Consecutive objects of one class that a commit did the same to.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// The first one.
    pub first: Oid,
    /// How many.
    pub count: u32,
    /// What was done.
    pub touch: Touch,
}

/// A changed key of an index, and the object.
#[derive(Debug, Clone)]
pub struct KeyChange {
    index: IndexId,
    key: IndexKey,
    oid: Oid,
}

/// What one commit changed.
#[derive(Debug, Default)]
pub struct Footprint {
    /// Ascending.
    runs: Vec<Run>,
    /// By index and key.
    keys: Vec<KeyChange>,
    /// Indexes of which too many keys were changed to list them.
    whole_indexes: Vec<IndexId>,
}

/// Something that was read and that a commit changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// An object that was read.
    Object(Oid),
    /// An object of a part of an extent that was read.
    Extent(Oid),
    /// Some object of a class whose extent was read.
    Class(ClassId),
    /// An object in a range of an index that was read; `None` where too many changed.
    Index(IndexId, Option<Oid>),
}

/// Which kinds of reads to compare.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// Objects.
    pub objects: bool,
    /// Extents.
    pub extents: bool,
    /// Ranges of index keys.
    pub keys: bool,
}

/// More changes of one index in a commit are not listed.
const MOST_KEYS: usize = 16_384;

impl Footprint {
    /// The footprint of a commit.
    pub fn new(writes: &WriteSet, entries: &[IndexEntry]) -> Footprint {
        let mut footprint = Footprint::default();
        for (oid, write) in writes.iter() {
            let touch = match write {
                Write::Create(_) => Touch::Create,
                Write::Update(_) => Touch::Update,
                Write::Delete => Touch::Delete,
            };
            footprint.add(oid, touch);
        }
        for part in entries.chunk_by(|a, b| a.change.index == b.change.index) {
            if let Some(first) = part.first().filter(|_| part.len() > MOST_KEYS) {
                footprint.whole_indexes.push(first.change.index);
                continue;
            }
            footprint.keys.extend(part.iter().map(|entry| KeyChange {
                index: entry.change.index,
                key: entry.change.key.clone(),
                oid: entry.change.oid,
            }));
        }
        footprint
    }

    /// The footprint of a commit that made runs of new objects, ascending, and changed these indexes.
    pub fn of_new(runs: impl IntoIterator<Item = (Oid, u32)>, indexes: Vec<IndexId>) -> Footprint {
        let touch = Touch::Create;
        let runs = runs.into_iter();
        Footprint {
            runs: runs.map(|(first, count)| Run { first, count, touch }).collect(),
            keys: Vec::new(),
            whole_indexes: indexes,
        }
    }

    fn add(&mut self, oid: Oid, touch: Touch) {
        if let Some(run) = self.runs.last_mut()
            && run.touch == touch
            && run.first.to_bits().checked_add(u64::from(run.count)) == Some(oid.to_bits())
            && run.first.class() == oid.class()
            && run.count < u32::MAX
        {
            run.count = run.count.saturating_add(1);
            return;
        }
        self.runs.push(Run {
            first: oid,
            count: 1,
            touch,
        });
    }

    /// The runs of objects, ascending.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The indexes that were changed, each once or more.
    pub fn indexes(&self) -> impl Iterator<Item = IndexId> + '_ {
        let parts = self.keys.chunk_by(|a, b| a.index == b.index);
        let listed = parts.filter_map(|part| part.first().map(|first| first.index));
        listed.chain(self.whole_indexes.iter().copied())
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        let runs = self.runs.len().saturating_mul(size_of::<Run>());
        let keys = self.keys.len().saturating_mul(size_of::<KeyChange>());
        runs.saturating_add(keys).saturating_add(128)
    }

    /// The first few changes of what was read. Of an object that was updated and read partly, `differs` tells whether
    /// what was read of it differs.
    pub fn changes(
        &self,
        reads: &ReadSet,
        wanted: Wanted,
        differs: &dyn Fn(Oid, SlotSet) -> Result<bool>,
    ) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        if wanted.objects || wanted.extents {
            for run in &self.runs {
                self.changes_of_run(run, reads, wanted, &mut changes);
                self.changes_of_parts(run, reads, wanted, differs, &mut changes)?;
                if changes.len() >= MOST_NAMED {
                    return Ok(changes);
                }
            }
        }
        if wanted.keys && changes.is_empty() {
            self.changes_of_keys(reads, &mut changes);
        }
        Ok(changes)
    }

    fn changes_of_run(&self, run: &Run, reads: &ReadSet, wanted: Wanted, changes: &mut Vec<Change>) {
        if wanted.objects {
            let whole = &reads.whole;
            if !whole.is_empty() {
                changes.extend(run.first_in(whole).map(Change::Object));
            }
        }
        if wanted.extents
            && let Some(extent) = reads.extents.get(&run.class())
        {
            let (start, end) = run.serials();
            if extent.whole.intersects(start, end) {
                changes.push(Change::Extent(run.first));
            }
        }
    }

    /// The first object of a run that was read partly, and of which what was read has changed.
    fn changes_of_parts(
        &self,
        run: &Run,
        reads: &ReadSet,
        wanted: Wanted,
        differs: &dyn Fn(Oid, SlotSet) -> Result<bool>,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        let changed = |oid: Oid, slots: SlotSet| match run.touch {
            Touch::Update => differs(oid, slots),
            Touch::Create | Touch::Delete => Ok(true),
        };
        for (slots, objects) in reads.parts.iter().filter(|_| wanted.objects) {
            for oid in run.oids().filter(|oid| objects.contains(*oid)) {
                if changed(oid, *slots)? {
                    changes.push(Change::Object(oid));
                    return Ok(());
                }
            }
        }
        let Some(extent) = reads.extents.get(&run.class()).filter(|_| wanted.extents) else {
            return Ok(());
        };
        for (slots, ranges) in &extent.parts {
            for oid in run.oids() {
                let serial = oid.serial();
                if ranges.intersects(serial, serial.saturating_add(1)) && changed(oid, *slots)? {
                    changes.push(Change::Extent(oid));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn changes_of_keys(&self, reads: &ReadSet, changes: &mut Vec<Change>) {
        for (index, ranges) in &reads.keys {
            if self.whole_indexes.contains(index) {
                changes.push(Change::Index(*index, None));
            }
            let start = self.keys.partition_point(|change| change.index < *index);
            let rest = self.keys.get(start..).unwrap_or_default();
            let length = rest.partition_point(|change| change.index == *index);
            let own = rest.get(..length).unwrap_or_default();
            let found = ranges.first_in(own, |change| &change.key);
            let found = found.and_then(|at| own.get(at));
            changes.extend(found.map(|change| Change::Index(*index, Some(change.oid))));
        }
    }
}

impl Run {
    /// The class of its objects.
    pub fn class(&self) -> ClassId {
        self.first.class()
    }

    /// The first serial, and the one after the last.
    fn serials(&self) -> (u64, u64) {
        let first = self.first.serial();
        (first, first.saturating_add(u64::from(self.count)))
    }

    /// Its objects.
    fn oids(&self) -> impl Iterator<Item = Oid> {
        let first = self.first.to_bits();
        (first..first.saturating_add(u64::from(self.count))).filter_map(Oid::from_bits)
    }

    /// An object of the run that is in `set`.
    fn first_in(&self, set: &crate::read_set::OidSet) -> Option<Oid> {
        let first = self.first.to_bits();
        let end = first.saturating_add(u64::from(self.count));
        if self.count as usize <= set.len().saturating_add(1) {
            return self.oids().find(|oid| set.contains(*oid));
        }
        set.iter().find(|oid| (first..end).contains(&oid.to_bits()))
    }
}

/// How many changes are looked for at most.
const MOST_NAMED: usize = 10;
