//! Merging operations into a base: postings are read, changed and written again, in key order.

use std::collections::BTreeMap;

use super::cache::Objects;
use super::member::{after_chunks, chunks, decode_chunk};
use super::operations::OperationCursor;
use super::overlay::{merged, overlay};
use super::posting::{
    ListBuilder, Posting, StoredKey, chunk_key, damaged, decode, encode_head, parse, split_chunk_key,
    stored_key,
};
use super::store::{Base, Write};
use super::{IndexKey, posting};
use crate::error::Result;
use crate::object::Oid;

/// A long posting with at most so many objects left becomes a list again; that many always fit one.
const FEW_OBJECTS: u64 = 100;
/// Chunks passed one by one to get to the next operation, before a new search is cheaper.
const FEW_CHUNKS: usize = 32;

/// What an index holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Entries.
    pub(super) entries: u64,
    /// Distinct keys.
    pub(super) keys: u64,
}

impl Counts {
    pub(super) fn change(&mut self, before: u64, after: u64) {
        self.entries = self.entries.saturating_sub(before).saturating_add(after);
        match (before, after) {
            (0, 1..) => self.keys = self.keys.saturating_add(1),
            (1.., 0) => self.keys = self.keys.saturating_sub(1),
            _ => {}
        }
    }
}

/// Operations on entries, in key and object order, one for each entry.
pub(super) trait Operations {
    /// Replaces what is in `key` and `operations` by the next key and all operations on it; `false` at the end.
    fn next_key(&mut self, key: &mut IndexKey, operations: &mut Vec<(Oid, bool)>) -> Result<bool>;
}

impl Operations for OperationCursor {
    fn next_key(&mut self, key: &mut IndexKey, operations: &mut Vec<(Oid, bool)>) -> Result<bool> {
        operations.clear();
        let Some(first) = self.current() else {
            return Ok(false);
        };
        key.clone_from(&first.key);
        while let Some(operation) = self.current().filter(|operation| operation.key == *key) {
            operations.push((operation.oid, operation.added));
            self.advance();
        }
        Ok(true)
    }
}

/// Writes what `operations` change in `base`, keeps `counts` right, and appends the keys that changed to `changed`.
pub(super) fn merge(
    base: &Base,
    operations: &mut dyn Operations,
    write: Write<'_>,
    counts: &mut Counts,
    changed: &mut Vec<IndexKey>,
) -> Result<()> {
    let mut key = IndexKey::new();
    let mut of_key: Vec<(Oid, bool)> = Vec::new();
    while operations.next_key(&mut key, &mut of_key)? {
        if merge_key(base, &key, &of_key, write, counts)? {
            changed.push(key.clone());
        }
    }
    Ok(())
}

/// An object that has `key` in `base`, if one has.
pub(super) fn a_holder(base: &Base, key: &[u8]) -> Result<Option<Oid>> {
    let stored = stored_key(key);
    let value = base.get(&stored)?;
    let mut holder = None;
    match value.as_deref().map(|value| parse(&stored, value)).transpose()? {
        Some(Posting::List(bytes)) => decode(&stored, bytes, |oid| holder = holder.or(Some(oid)))?,
        Some(Posting::Head { .. }) => {
            if let Some(item) = chunks(base, key).next() {
                let (stored, value) = item?;
                decode_chunk(&stored, &value, |oid| holder = holder.or(Some(oid)))?;
            }
        }
        _ => {}
    }
    Ok(holder)
}

/// Whether a key has several objects in the base.
pub(super) fn has_several(base: &Base, key: &[u8]) -> Result<bool> {
    let stored = stored_key(key);
    let Some(value) = base.get(&stored)? else {
        return Ok(false);
    };
    Ok(match parse(&stored, &value)? {
        Posting::List(bytes) => posting::count(bytes) > 1,
        Posting::Head { .. } => true,
        Posting::Chunk(_) => return Err(damaged(&stored)),
    })
}

/// Merges the operations on one key; whether they changed anything.
pub(super) fn merge_key(
    base: &Base,
    key: &[u8],
    operations: &[(Oid, bool)],
    write: Write<'_>,
    counts: &mut Counts,
) -> Result<bool> {
    let stored = stored_key(key);
    let value = base.get(&stored)?;
    let mut objects = Objects::new();
    match value.as_deref().map(|value| parse(&stored, value)).transpose()? {
        None => {}
        Some(Posting::List(bytes)) => decode(&stored, bytes, |oid| objects.push(oid))?,
        Some(Posting::Head { objects, chunks }) => {
            let long = LongPosting::new(base, key, objects, chunks);
            return long.merge(operations, write, counts);
        }
        Some(Posting::Chunk(_)) => return Err(damaged(&stored)),
    }
    let before = objects.clone();
    overlay(&mut objects, operations);
    if objects == before {
        return Ok(false);
    }
    counts.change(before.len() as u64, objects.len() as u64);
    if objects.is_empty() {
        write(&stored, None)?;
    } else {
        write_posting(key, &objects, write)?;
    }
    Ok(true)
}

fn write_posting(key: &[u8], objects: &[Oid], write: Write<'_>) -> Result<()> {
    let mut posting = PostingWriter::default();
    for &oid in objects {
        posting.push(oid);
    }
    posting.finish(key, write)
}

/// Writes the posting of one key, its objects ascending.
#[derive(Debug, Default)]
pub(super) struct PostingWriter {
    list: ListBuilder,
    chunks: Vec<(u64, Vec<u8>)>,
    objects: u64,
}

impl PostingWriter {
    /// Adds an object above all before.
    pub(super) fn push(&mut self, oid: Oid) {
        self.objects = self.objects.saturating_add(1);
        if !self.list.push(oid) {
            self.end_chunk();
            self.list.push(oid);
        }
    }

    /// The objects added since the last key.
    pub(super) fn objects(&self) -> u64 {
        self.objects
    }

    /// Writes the posting under `key` and starts the next one.
    pub(super) fn finish(&mut self, key: &[u8], write: Write<'_>) -> Result<()> {
        let objects = std::mem::take(&mut self.objects);
        if self.list.is_empty() {
            return Ok(());
        }
        if self.chunks.is_empty() {
            return write(&stored_key(key), Some(&self.list.take_list()));
        }
        self.end_chunk();
        write(
            &stored_key(key),
            Some(&encode_head(objects, self.chunks.len() as u64)),
        )?;
        for (separator, chunk) in self.chunks.drain(..) {
            write(&chunk_key(key, separator), Some(&chunk))?;
        }
        Ok(())
    }

    fn end_chunk(&mut self) {
        let separator = if self.chunks.is_empty() {
            0
        } else {
            self.list.first()
        };
        self.chunks.push((separator, self.list.take_chunk()));
    }
}

/// A posting in chunks while it is changed.
struct LongPosting<'a> {
    base: &'a Base,
    key: &'a [u8],
    /// Objects and chunks it has now.
    objects: u64,
    chunks: u64,
    /// The chunks to write, by separator, or to remove.
    edits: BTreeMap<u64, Option<Vec<u8>>>,
}

/// A chunk as stored.
struct Chunk {
    separator: u64,
    objects: Vec<Oid>,
}

impl<'a> LongPosting<'a> {
    fn new(base: &'a Base, key: &'a [u8], objects: u64, chunks: u64) -> Self {
        LongPosting {
            base,
            key,
            objects,
            chunks,
            edits: BTreeMap::new(),
        }
    }

    fn merge(mut self, operations: &[(Oid, bool)], write: Write<'_>, counts: &mut Counts) -> Result<bool> {
        let before = self.objects;
        self.edit(operations)?;
        if self.edits.is_empty() {
            return Ok(false);
        }
        counts.change(before, self.objects);
        if self.objects <= FEW_OBJECTS {
            self.collapse(write)?;
        } else {
            write(
                &stored_key(self.key),
                Some(&encode_head(self.objects, self.chunks)),
            )?;
            self.write_edits(write)?;
        }
        Ok(true)
    }

    /// Performs the operations on the chunks they belong to.
    fn edit(&mut self, mut operations: &[(Oid, bool)]) -> Result<()> {
        let all = self.chunks <= FEW_CHUNKS as u64
            || operations.len().saturating_mul(FEW_CHUNKS) as u64 >= self.chunks;
        let patience = if all { usize::MAX } else { FEW_CHUNKS };
        while let Some(&(oid, _)) = operations.first() {
            let mut items = self.base.range(&self.chunk_for(oid)?, &after_chunks(self.key));
            let mut item = items.next();
            for _ in 0..patience {
                let Some((stored, value)) = item.transpose()? else {
                    return Err(damaged(&stored_key(self.key)));
                };
                item = items.next();
                let next = match &item {
                    Some(Ok((stored, _))) => separator(stored)?,
                    Some(Err(_)) => continue,
                    None => u64::MAX,
                };
                let is_last = item.is_none();
                let here = operations.partition_point(|(oid, _)| is_last || oid.to_bits() < next);
                let (here, rest) = operations.split_at_checked(here).unwrap_or((operations, &[]));
                operations = rest;
                if !here.is_empty() {
                    let mut objects = Vec::new();
                    decode_chunk(&stored, &value, |oid| objects.push(oid))?;
                    let chunk = Chunk {
                        separator: separator(&stored)?,
                        objects,
                    };
                    self.edit_chunk(chunk, here, is_last);
                }
                if operations.is_empty() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The stored key of the chunk an object belongs to; of the first one if it lies below all.
    fn chunk_for(&self, oid: Oid) -> Result<StoredKey> {
        let mut above = chunk_key(self.key, oid.to_bits());
        above.push(0);
        let first = chunk_key(self.key, 0);
        match self.base.range(&first, &above).next_back() {
            Some(item) => Ok(StoredKey::from_slice(&item?.0)),
            None => Ok(first),
        }
    }

    /// Performs the operations that belong to one chunk.
    fn edit_chunk(&mut self, chunk: Chunk, operations: &[(Oid, bool)], is_last: bool) {
        let objects = merged(&chunk.objects, operations);
        if objects == chunk.objects {
            return;
        }
        self.objects = self
            .objects
            .saturating_sub(chunk.objects.len() as u64)
            .saturating_add(objects.len() as u64);
        self.chunks = self.chunks.saturating_sub(1);
        let appended = is_last && objects.starts_with(&chunk.objects);
        // What came below the first chunk has moved it down.
        let below = objects.first().is_some_and(|oid| oid.to_bits() < chunk.separator);
        self.edits.insert(chunk.separator, None);
        for (at, (first, value)) in pieces(&objects, appended).into_iter().enumerate() {
            let separator = match at {
                0 if below => 0,
                0 => chunk.separator,
                _ => first,
            };
            self.edits.insert(separator, Some(value));
            self.chunks = self.chunks.saturating_add(1);
        }
    }

    fn write_edits(&mut self, write: Write<'_>) -> Result<()> {
        for (separator, value) in std::mem::take(&mut self.edits) {
            write(&chunk_key(self.key, separator), value.as_deref())?;
        }
        Ok(())
    }

    /// Writes what is left as a list, or removes the key if that is nothing; removes all chunks.
    fn collapse(mut self, write: Write<'_>) -> Result<()> {
        for item in chunks(self.base, self.key) {
            let (stored, value) = item?;
            self.edits
                .entry(separator(&stored)?)
                .or_insert_with(|| Some(value.to_vec()));
        }
        let mut posting = PostingWriter::default();
        for (&separator, value) in &self.edits {
            let Some(value) = value else { continue };
            decode_chunk(&chunk_key(self.key, separator), value, |oid| posting.push(oid))?;
        }
        if posting.objects() != self.objects {
            return Err(damaged(&stored_key(self.key)));
        }
        if self.objects == 0 {
            write(&stored_key(self.key), None)?;
        }
        posting.finish(self.key, write)?;
        for separator in self.edits.into_keys() {
            write(&chunk_key(self.key, separator), None)?;
        }
        Ok(())
    }
}

fn separator(stored: &[u8]) -> Result<u64> {
    split_chunk_key(stored)
        .map(|(_, separator)| separator)
        .ok_or_else(|| damaged(stored))
}

/// The chunks for ascending objects, each with its first object's bits. A chunk that grew at its end is filled and
/// the rest goes on in the next; any other is split evenly, so that both halves have room.
fn pieces(objects: &[Oid], appended: bool) -> Vec<(u64, Vec<u8>)> {
    let filled = fill(objects);
    if appended || filled.len() < 2 {
        return filled;
    }
    let length = objects.len().div_ceil(filled.len());
    objects.chunks(length.max(1)).flat_map(fill).collect()
}

fn fill(objects: &[Oid]) -> Vec<(u64, Vec<u8>)> {
    let mut pieces = Vec::new();
    let mut list = posting::ListBuilder::default();
    for &oid in objects {
        if !list.push(oid) {
            pieces.push((list.first(), list.take_chunk()));
            list.push(oid);
        }
    }
    if !list.is_empty() {
        pieces.push((list.first(), list.take_chunk()));
    }
    pieces
}
