//! Sorting the entries of an index that is built, within a budget of memory.
//!
//! Entries are gathered in memory; when they fill the budget they are sorted and set aside as a *run*: blocks of
//! entries in a space of the store that exists only for this. At the end all runs are merged. What fits the budget is
//! never written.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::IndexKey;
use super::change::{put_number, take_number};
use super::posting::damaged;
use super::store::{Access, Bytes, Items, Space, Store};
use crate::error::Result;
use crate::object::Oid;

/// Bytes of entries in one block of a run.
const BLOCK_BYTES: usize = 16 * 1024;
/// How the names of spaces for runs begin.
pub(super) const RUN_PREFIX: &str = "run-";

/// An entry in memory: the key lies in the arena.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// The key's first 8 bytes, so that most comparisons need no more.
    prefix: u64,
    oid: Oid,
    offset: u32,
    length: u32,
}

/// Takes entries in any order.
pub(super) struct Sorter<'a> {
    store: &'a Store,
    budget: usize,
    arena: Vec<u8>,
    entries: Vec<Entry>,
    runs: Option<Runs<'a>>,
}

impl<'a> Sorter<'a> {
    /// A sorter that keeps about `budget` bytes in memory.
    pub(super) fn new(store: &'a Store, budget: usize) -> Sorter<'a> {
        Sorter {
            store,
            // Offsets into the arena are 32 bits.
            budget: budget.clamp(64 * 1024, 2 << 30),
            arena: Vec::new(),
            entries: Vec::new(),
            runs: None,
        }
    }

    /// Adds an entry.
    pub(super) fn push(&mut self, key: &[u8], oid: Oid) -> Result<()> {
        let used = self
            .arena
            .len()
            .saturating_add(self.entries.len().saturating_mul(size_of::<Entry>()));
        if used.saturating_add(key.len()) > self.budget && !self.entries.is_empty() && self.store.is_on_disk()
        {
            self.set_aside()?;
        }
        let (Ok(offset), Ok(length)) = (u32::try_from(self.arena.len()), u32::try_from(key.len())) else {
            return Err(crate::error::Error::Limit(
                "the index has more keys than a database in memory can sort; use a database on disk".into(),
            ));
        };
        self.arena.extend_from_slice(key);
        self.entries.push(Entry {
            prefix: prefix(key),
            oid,
            offset,
            length,
        });
        Ok(())
    }

    /// The entries in order, each once.
    pub(super) fn finish(mut self) -> Result<Sorted<'a>> {
        if self.runs.is_some() {
            self.set_aside()?;
        }
        self.sort();
        let Some(runs) = self.runs else {
            return Ok(Sorted::Memory {
                arena: self.arena,
                entries: self.entries.into_iter(),
            });
        };
        let mut readers: Vec<RunReader> = (0..runs.count).map(|run| runs.read(run)).collect();
        let mut next = BinaryHeap::with_capacity(readers.len());
        for (run, reader) in readers.iter_mut().enumerate() {
            next.extend(reader.next()?.map(|(key, oid)| Reverse((key, oid, run))));
        }
        Ok(Sorted::Runs {
            readers,
            next,
            _runs: runs,
        })
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        self.entries.sort_unstable_by(|a, b| compare(arena, a, b));
    }

    fn set_aside(&mut self) -> Result<()> {
        self.sort();
        if self.runs.is_none() {
            self.runs = Some(Runs::new(self.store)?);
        }
        if let Some(runs) = &mut self.runs {
            runs.write(&self.arena, &self.entries)?;
        }
        self.arena.clear();
        self.entries.clear();
        Ok(())
    }
}

fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(bytes)
}

fn key_in<'a>(arena: &'a [u8], entry: &Entry) -> &'a [u8] {
    let start = entry.offset as usize;
    arena
        .get(start..start.saturating_add(entry.length as usize))
        .unwrap_or_default()
}

fn compare(arena: &[u8], a: &Entry, b: &Entry) -> Ordering {
    let keys = || match a.length.max(b.length) {
        // The prefixes are equal and hold both keys, but for zero bytes at the end.
        0..=8 => a.length.cmp(&b.length),
        _ => key_in(arena, a).cmp(key_in(arena, b)),
    };
    a.prefix
        .cmp(&b.prefix)
        .then_with(keys)
        .then_with(|| a.oid.cmp(&b.oid))
}

/// The entries in key and object order.
pub(super) enum Sorted<'a> {
    /// All in memory.
    Memory {
        /// The keys.
        arena: Vec<u8>,
        /// The entries left.
        entries: std::vec::IntoIter<Entry>,
    },
    /// Merged from runs.
    Runs {
        /// One a run.
        readers: Vec<RunReader>,
        /// The next entry of each run.
        next: BinaryHeap<Reverse<(IndexKey, Oid, usize)>>,
        /// Removes them in the end.
        _runs: Runs<'a>,
    },
}

impl Sorted<'_> {
    /// The next entry; its key replaces what is in `key`.
    pub(super) fn next(&mut self, key: &mut IndexKey) -> Result<Option<Oid>> {
        key.clear();
        match self {
            Sorted::Memory { arena, entries } => {
                let Some(entry) = entries.next() else {
                    return Ok(None);
                };
                key.extend_from_slice(key_in(arena, &entry));
                Ok(Some(entry.oid))
            }
            Sorted::Runs { readers, next, .. } => {
                let Some(Reverse((smallest, oid, run))) = next.pop() else {
                    return Ok(None);
                };
                if let Some(reader) = readers.get_mut(run) {
                    next.extend(reader.next()?.map(|(key, oid)| Reverse((key, oid, run))));
                }
                *key = smallest;
                Ok(Some(oid))
            }
        }
    }
}

/// Runs set aside; removed when dropped.
pub(super) struct Runs<'a> {
    store: &'a Store,
    space: Space,
    count: u32,
}

impl<'a> Runs<'a> {
    fn new(store: &'a Store) -> Result<Runs<'a>> {
        Ok(Runs {
            store,
            space: run_space(store)?,
            count: 0,
        })
    }

    fn write(&mut self, arena: &[u8], entries: &[Entry]) -> Result<()> {
        let run = self.count;
        self.count = run.saturating_add(1);
        self.space.ingest(|write| {
            let mut number = 0u32;
            let mut block = Vec::with_capacity(BLOCK_BYTES * 2);
            for entry in entries {
                put_number(u64::from(entry.length), &mut block);
                block.extend_from_slice(key_in(arena, entry));
                block.extend_from_slice(&entry.oid.to_bits().to_le_bytes());
                if block.len() >= BLOCK_BYTES {
                    write(&block_key(run, number), Some(&block))?;
                    number = number.saturating_add(1);
                    block.clear();
                }
            }
            match block.is_empty() {
                true => Ok(()),
                false => write(&block_key(run, number), Some(&block)),
            }
        })
    }

    fn read(&self, run: u32) -> RunReader {
        let items = self
            .space
            .base()
            .range(&block_key(run, 0), &block_key(run.saturating_add(1), 0));
        RunReader {
            items,
            block: None,
            offset: 0,
        }
    }
}

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next open.
        let _ = self.store.remove(&self.space);
    }
}

/// A space for what is set aside while an index is built; one that is not removed is at the next open.
pub(super) fn run_space(store: &Store) -> Result<Space> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = format!("{RUN_PREFIX}{}", NUMBER.fetch_add(1, Relaxed));
    store.space(&name, Access::Range)
}

fn block_key(run: u32, block: u32) -> [u8; 8] {
    ((u64::from(run) << 32) | u64::from(block)).to_be_bytes()
}

/// Reads one run.
pub(super) struct RunReader {
    items: Items,
    block: Option<(Bytes, Bytes)>,
    offset: usize,
}

impl RunReader {
    fn next(&mut self) -> Result<Option<(IndexKey, Oid)>> {
        loop {
            if let Some((key, block)) = &self.block {
                let mut rest = block.get(self.offset..).unwrap_or_default();
                if !rest.is_empty() {
                    let entry = take_entry(&mut rest).ok_or_else(|| damaged(key))?;
                    self.offset = block.len().saturating_sub(rest.len());
                    return Ok(Some(entry));
                }
            }
            self.block = self.items.next().transpose()?;
            self.offset = 0;
            if self.block.is_none() {
                return Ok(None);
            }
        }
    }
}

fn take_entry(input: &mut &[u8]) -> Option<(IndexKey, Oid)> {
    let length = usize::try_from(take_number(input)?).ok()?;
    let (key, rest) = input.split_at_checked(length)?;
    let (oid, rest) = rest.split_first_chunk::<8>()?;
    *input = rest;
    Some((
        IndexKey::from_slice(key),
        Oid::from_bits(u64::from_le_bytes(*oid))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::store::IndexStorage;
    use super::*;

    #[test]
    fn entries_come_sorted_from_memory_and_from_runs() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(IndexStorage::Directory(directory.path().into()), 1 << 20).unwrap();
        for count in [0u64, 1, 1000, 20_000] {
            let mut sorter = Sorter::new(&store, 0);
            let mut expected = Vec::new();
            for number in 0..count {
                let shuffled = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let length = (shuffled % 13) as usize;
                let key = &shuffled.to_be_bytes().repeat(2)[..length];
                let oid = Oid::from_bits(shuffled | 1).unwrap();
                sorter.push(key, oid).unwrap();
                expected.push((IndexKey::from_slice(key), oid));
            }
            expected.sort_unstable();
            let mut sorted = sorter.finish().unwrap();
            assert_eq!(matches!(sorted, Sorted::Runs { .. }), count > 10_000);
            let mut key = IndexKey::new();
            let mut read = Vec::new();
            while let Some(oid) = sorted.next(&mut key).unwrap() {
                read.push((key.clone(), oid));
            }
            assert_eq!(read, expected);
        }
        assert!(store.names().is_empty());
    }
}
