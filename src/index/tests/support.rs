//! What the tests share.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::heap::LogPosition;
use crate::index::shared::Limits;
use crate::index::*;
use crate::object::{CommitNumber, Oid};

pub(super) const ORDERED: IndexId = IndexId(1);

pub(super) const UNIQUE: IndexId = IndexId(2);

pub(super) const IDLE: IndexId = IndexId(3);

pub(super) type Entries = BTreeSet<(Vec<u8>, Oid)>;

pub(super) fn oid(number: u64) -> Oid {
    Oid::from_bits(number).unwrap()
}

/// Prefix-free: the length comes first.
pub(super) fn key(number: u64) -> Vec<u8> {
    let text = number
        .to_string()
        .repeat(1 + usize::from(number.is_multiple_of(7)) * 12);
    [&[text.len() as u8], text.as_bytes()].concat()
}

pub(super) fn change(index: IndexId, key: &[u8], oid: Oid, added: bool) -> IndexChange {
    IndexChange {
        index,
        key: IndexKey::from_slice(key),
        oid,
        added,
    }
}

pub(super) fn position(commit: u64) -> LogPosition {
    LogPosition {
        segment: 1,
        offset: commit as u32 * 8,
    }
}

pub(super) fn open(storage: &IndexStorage, entries: usize, synced: &Arc<AtomicU64>) -> Result<IndexStore> {
    let synced = Arc::clone(synced);
    let sync = move |position: LogPosition| {
        synced.fetch_max(u64::from(position.offset), Ordering::SeqCst);
        Ok(())
    };
    let limits = Limits {
        entries,
        bytes: 1 << 30,
    };
    IndexStore::open_with(storage.clone(), 4 << 20, limits, Arc::new(sync))
}

pub(super) fn read_range(
    snapshot: &IndexSnapshot,
    id: IndexId,
    bounds: (&[u8], Option<&[u8]>),
    descending: bool,
    at: CommitNumber,
    limit: usize,
) -> Vec<(Vec<u8>, Oid)> {
    let mut cursor = snapshot.range(id, bounds.0, bounds.1, descending, at).unwrap();
    let mut all = Vec::new();
    loop {
        let mut part = Vec::new();
        cursor.next_entries(limit, &mut part).unwrap();
        assert!(part.len() <= limit);
        if part.is_empty() {
            return all;
        }
        all.extend(part.into_iter().map(|(key, oid)| (key.to_vec(), oid)));
    }
}

pub(super) fn read_all(store: &IndexStore, id: IndexId, at: u64) -> Vec<(Vec<u8>, Oid)> {
    let snapshot = store.capture(CommitNumber(at));
    read_range(&snapshot, id, (&[], None), false, CommitNumber(at), 1000)
}

pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => copy(&entry.path(), &target),
            // A file may go while others are copied.
            _ => drop(std::fs::copy(entry.path(), target)),
        }
    }
}
