//! What has been committed since the bases: entries in memory, each with its commit number.
//!
//! One thread adds to the active delta while others read it. A reader at commit C passes over entries of later
//! commits, so it does not matter how much of a later commit it meets. A frozen delta does not change any more.
//!
//! An index's entries are an ordered map behind a lock that is held for one look-up, one part of a range, or at most
//! [`ADD_AT_ONCE`] additions. Most look-ups never get there: a filter over (index, key) for the whole delta says "no"
//! with one memory access.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;
use rustc_hash::{FxHashMap, FxHasher};

use super::{IndexChange, IndexId, IndexKey};
use crate::heap::LogPosition;
use crate::object::{CommitNumber, Oid};

/// Additions made under one hold of a table's lock.
const ADD_AT_ONCE: usize = 256;
/// Memory an entry takes, about, with its share of the tree's nodes.
const ENTRY_BYTES: usize = 80;

/// An operation on one entry, as a reader at some commit sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operation {
    /// The key.
    pub(super) key: IndexKey,
    /// The object.
    pub(super) oid: Oid,
    /// Added, or else removed.
    pub(super) added: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: IndexKey,
    oid: u64,
    commit: u64,
}

impl Entry {
    fn new(key: &[u8], oid: u64, commit: u64) -> Entry {
        Entry {
            key: IndexKey::from_slice(key),
            oid,
            commit,
        }
    }

    fn same_object(&self, other: &Entry) -> bool {
        self.oid == other.oid && self.key == other.key
    }
}

/// The part of a range that has not been read yet, between two entries.
#[derive(Debug, Clone)]
pub(super) struct Rest {
    lower: Bound<Entry>,
    upper: Bound<Entry>,
}

impl Rest {
    /// All entries with keys from `start` on and, if there is an `end`, below it.
    pub(super) fn of_range(start: &[u8], end: Option<&[u8]>) -> Rest {
        Rest {
            lower: Bound::Included(Entry::new(start, 0, 0)),
            upper: end.map_or(Bound::Unbounded, |end| Bound::Excluded(Entry::new(end, 0, 0))),
        }
    }

    fn bounds(&self) -> (Bound<&Entry>, Bound<&Entry>) {
        (self.lower.as_ref(), self.upper.as_ref())
    }
}

/// The entries of one index in one delta.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: RwLock<BTreeMap<Entry, bool>>,
}

impl Table {
    /// The number of its entries.
    pub(super) fn length(&self) -> usize {
        self.entries.read().len()
    }

    /// Appends the operations on `key` at commit `at`, one for each object, ascending.
    pub(super) fn operations(&self, key: &[u8], at: CommitNumber, operations: &mut Vec<(Oid, bool)>) {
        let entries = self.entries.read();
        let range = Entry::new(key, 0, 0)..=Entry::new(key, u64::MAX, u64::MAX);
        for (entry, &added) in entries.range(range) {
            let Some(oid) = Oid::from_bits(entry.oid) else {
                continue;
            };
            if entry.commit > at.0 {
                continue;
            }
            match operations.last_mut() {
                Some(last) if last.0 == oid => last.1 = added,
                _ => operations.push((oid, added)),
            }
        }
    }

    /// Appends about `limit` operations of `rest` at commit `at`, in key and object order (from the back if
    /// `descending`), one for each entry; moves `rest` on and gives whether there may be more.
    pub(super) fn read(
        &self,
        rest: &mut Rest,
        descending: bool,
        at: CommitNumber,
        limit: usize,
        operations: &mut Vec<Operation>,
    ) -> bool {
        let entries = self.entries.read();
        let range = entries.range::<Entry, _>(rest.bounds());
        let (last, more) = if descending {
            take(range.rev(), at, limit, |_, _| {}, operations)
        } else {
            let newer = |operation: &mut Operation, added| operation.added = added;
            take(range, at, limit, newer, operations)
        };
        match last {
            Some(last) if descending => rest.upper = Bound::Excluded(Entry { commit: 0, ..last }),
            Some(last) => {
                rest.lower = Bound::Excluded(Entry {
                    commit: u64::MAX,
                    ..last
                });
            }
            None => {}
        }
        more
    }

    /// Whether no entry lies in `rest`.
    pub(super) fn is_empty_in(&self, rest: &Rest) -> bool {
        self.entries
            .read()
            .range::<Entry, _>(rest.bounds())
            .next()
            .is_none()
    }

    fn add<C: Borrow<IndexChange>>(&self, commit: CommitNumber, changes: &[C]) {
        for part in changes.chunks(ADD_AT_ONCE) {
            let mut entries = self.entries.write();
            for change in part.iter().map(C::borrow) {
                let entry = Entry {
                    key: change.key.clone(),
                    oid: change.oid.to_bits(),
                    commit: commit.0,
                };
                entries.insert(entry, change.added);
            }
        }
    }
}

/// Collects operations of entries up to commit `at` until about `limit` are there; entries of one object are
/// adjacent, and `repeated` decides what a further one does. Gives the last entry passed, and whether it stopped early.
fn take<'a>(
    range: impl Iterator<Item = (&'a Entry, &'a bool)>,
    at: CommitNumber,
    limit: usize,
    repeated: impl Fn(&mut Operation, bool),
    operations: &mut Vec<Operation>,
) -> (Option<Entry>, bool) {
    let mut last: Option<&Entry> = None;
    // Entries passed over for their commit count too, or a part could hold the lock for long.
    let mut passed = 0usize;
    let mut found: Option<&Entry> = None;
    for (entry, &added) in range {
        let again = last.is_some_and(|last| last.same_object(entry));
        if passed >= limit && !again {
            return (last.cloned(), true);
        }
        passed = passed.saturating_add(1);
        last = Some(entry);
        let Some(oid) = Oid::from_bits(entry.oid) else {
            continue;
        };
        if entry.commit > at.0 {
            continue;
        }
        match operations.last_mut() {
            Some(operation) if found.is_some_and(|found| found.same_object(entry)) => {
                repeated(operation, added)
            }
            _ => operations.push(Operation {
                key: entry.key.clone(),
                oid,
                added,
            }),
        }
        found = Some(entry);
    }
    (last.cloned(), false)
}

/// All entries committed in one stretch of time.
#[derive(Debug)]
pub(super) struct Delta {
    tables: RwLock<FxHashMap<IndexId, Arc<Table>>>,
    filter: Box<[AtomicU64]>,
    entries: AtomicUsize,
    bytes: AtomicUsize,
    through: RwLock<Option<(CommitNumber, LogPosition)>>,
}

impl Delta {
    /// An empty delta meant for about `entries` entries.
    pub(super) fn new(entries: usize) -> Delta {
        let words = (entries / 4).next_power_of_two().max(64);
        Delta {
            tables: RwLock::default(),
            filter: (0..words).map(|_| AtomicU64::new(0)).collect(),
            entries: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            through: RwLock::new(None),
        }
    }

    /// Adds the changes of one commit. Only one thread may add, commits in order.
    pub(super) fn add<C: Borrow<IndexChange>>(
        &self,
        commit: CommitNumber,
        position: LogPosition,
        changes: &[C],
    ) {
        let mut bytes = 0usize;
        for part in changes.chunk_by(|a, b| a.borrow().index == b.borrow().index) {
            let Some(first) = part.first().map(C::borrow) else {
                continue;
            };
            for change in part.iter().map(C::borrow) {
                self.mark(change.index, &change.key);
                let spilled = if change.key.spilled() { change.key.len() } else { 0 };
                bytes = bytes.saturating_add(ENTRY_BYTES).saturating_add(spilled);
            }
            self.table_or_new(first.index).add(commit, part);
        }
        self.entries.fetch_add(changes.len(), Ordering::Release);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        *self.through.write() = Some((commit, position));
    }

    /// The newest commit added, and where its log record ends.
    pub(super) fn through(&self) -> Option<(CommitNumber, LogPosition)> {
        *self.through.read()
    }

    /// Entries added.
    pub(super) fn entries(&self) -> usize {
        self.entries.load(Ordering::Acquire)
    }

    /// Memory it takes, about, without the filter.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The entries of one index, if there are any.
    pub(super) fn table(&self, index: IndexId) -> Option<Arc<Table>> {
        self.tables.read().get(&index).cloned()
    }

    /// The entries of one index if it may have some of `key`.
    pub(super) fn table_with(&self, index: IndexId, key: &[u8]) -> Option<Arc<Table>> {
        if self.entries() == 0 {
            return None;
        }
        let (word, bits) = self.place(index, key);
        let marked = self.filter.get(word)?.load(Ordering::Acquire) & bits == bits;
        if marked { self.table(index) } else { None }
    }

    /// The entries of all indexes, by index.
    pub(super) fn tables(&self) -> Vec<(IndexId, Arc<Table>)> {
        let tables = self.tables.read();
        let mut all: Vec<_> = tables
            .iter()
            .map(|(&id, table)| (id, Arc::clone(table)))
            .collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all
    }

    fn table_or_new(&self, index: IndexId) -> Arc<Table> {
        if let Some(table) = self.table(index) {
            return table;
        }
        Arc::clone(self.tables.write().entry(index).or_default())
    }

    fn mark(&self, index: IndexId, key: &[u8]) {
        let (word, bits) = self.place(index, key);
        if let Some(word) = self.filter.get(word)
            && word.load(Ordering::Relaxed) & bits != bits
        {
            word.fetch_or(bits, Ordering::Release);
        }
    }

    /// The word of the filter and the bits in it that stand for a key: three bits in one of about a word for four
    /// entries, which lets 2 % of absent keys through.
    fn place(&self, index: IndexId, key: &[u8]) -> (usize, u64) {
        let mut hasher = FxHasher::default();
        hasher.write_u32(index.0);
        hasher.write(key);
        let hash = hasher.finish();
        let bits = 1 << (hash & 63) | 1 << ((hash >> 6) & 63) | 1 << ((hash >> 12) & 63);
        (
            (hash >> 18) as usize & (self.filter.len().saturating_sub(1)),
            bits,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(key: &[u8], oid: u64, added: bool) -> IndexChange {
        IndexChange {
            index: IndexId(1),
            key: IndexKey::from_slice(key),
            oid: Oid::from_bits(oid).unwrap(),
            added,
        }
    }

    fn read(table: &Table, descending: bool, at: u64, limit: usize) -> Vec<(Vec<u8>, u64, bool)> {
        let mut rest = Rest::of_range(b"a", Some(b"z"));
        let mut all = Vec::new();
        let mut operations = Vec::new();
        while table.read(&mut rest, descending, CommitNumber(at), limit, &mut operations) {
            all.append(&mut operations);
        }
        all.append(&mut operations);
        all.into_iter()
            .map(|o| (o.key.to_vec(), o.oid.to_bits(), o.added))
            .collect()
    }

    #[test]
    fn a_reader_sees_the_newest_operation_up_to_its_commit_in_parts_of_any_size() {
        let delta = Delta::new(100);
        let position = LogPosition::default();
        delta.add(
            CommitNumber(1),
            position,
            &[
                change(b"b", 5, true),
                change(b"b", 3, true),
                change(b"c", 5, true),
            ],
        );
        delta.add(CommitNumber(2), position, &[change(b"b", 5, false)]);
        delta.add(
            CommitNumber(3),
            position,
            &[
                change(b"b", 5, true),
                change(b"zz", 1, true),
                change(b"c", 9, true),
            ],
        );
        let table = delta.table_with(IndexId(1), b"b").unwrap();
        let expected = [
            (0, vec![]),
            (
                1,
                vec![
                    (b"b".to_vec(), 3, true),
                    (b"b".to_vec(), 5, true),
                    (b"c".to_vec(), 5, true),
                ],
            ),
            (
                2,
                vec![
                    (b"b".to_vec(), 3, true),
                    (b"b".to_vec(), 5, false),
                    (b"c".to_vec(), 5, true),
                ],
            ),
        ];
        for (at, mut expected) in expected {
            for limit in [1, 2, 3, 100] {
                assert_eq!(
                    read(&table, false, at, limit),
                    expected,
                    "at {at}, {limit} at once"
                );
            }
            expected.reverse();
            for limit in [1, 2, 3, 100] {
                assert_eq!(
                    read(&table, true, at, limit),
                    expected,
                    "at {at}, {limit} at once, descending"
                );
            }
        }
        let mut operations = Vec::new();
        table.operations(b"b", CommitNumber(3), &mut operations);
        assert_eq!(
            operations
                .iter()
                .map(|o| (o.0.to_bits(), o.1))
                .collect::<Vec<_>>(),
            [(3, true), (5, true)]
        );
        assert_eq!(delta.through(), Some((CommitNumber(3), position)));
        assert!(delta.table_with(IndexId(2), b"b").is_none());
    }
}
