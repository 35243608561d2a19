//! A range of one index: its base and the operations over it, merged in key and object order.

use std::cmp::Ordering;

use super::IndexKey;
use super::member::after_chunks;
use super::operations::OperationCursor;
use super::posting::{
    DESCRIPTION_KEY, Posting, StoredKey, count, damaged, decode, parse, split_chunk_key, stored_key,
};
use super::store::{Base, Items};
use crate::error::Result;
use crate::object::Oid;

/// Chunks that are cheaper to pass one by one than to step over by a new search.
const FEW_CHUNKS: u64 = 32;

/// Where a range stands; owns what it reads, so that it may outlive the snapshot it came from.
pub struct RangeCursor {
    base: BaseCursor,
    operations: OperationCursor,
    group: Group,
    descending: bool,
}

impl RangeCursor {
    pub(super) fn new(base: BaseCursor, operations: OperationCursor, descending: bool) -> RangeCursor {
        RangeCursor {
            base,
            operations,
            group: Group::default(),
            descending,
        }
    }

    /// Appends up to `limit` objects; appending none means the end.
    pub fn next(&mut self, limit: usize, oids: &mut Vec<Oid>) -> Result<()> {
        self.read(limit, |_, part| oids.extend_from_slice(part))
    }

    /// As [`RangeCursor::next`], with each object's key.
    pub fn next_entries(&mut self, limit: usize, entries: &mut Vec<(IndexKey, Oid)>) -> Result<()> {
        self.read(limit, |key, part| {
            entries.extend(part.iter().map(|&oid| (key.clone(), oid)))
        })
    }

    /// Counts what is left, to the end.
    pub(super) fn count(&mut self) -> Result<u64> {
        let mut entries = 0u64;
        self.read(usize::MAX, |_, part| {
            entries = entries.saturating_add(part.len() as u64)
        })?;
        Ok(entries)
    }

    /// Gives up to `limit` objects to `emit`, with their key, several of one key at once where they lie together.
    fn read(&mut self, limit: usize, mut emit: impl FnMut(&IndexKey, &[Oid])) -> Result<()> {
        let mut left = limit;
        while left > 0 {
            if self.group.rest().is_empty() && !self.base.is_at_end() {
                self.base.read_group(&mut self.group)?;
                continue;
            }
            left = match self.next_from() {
                From::Group(length) => {
                    let (key, part) = self.group.take(length.min(left));
                    emit(key, part);
                    left.saturating_sub(part.len())
                }
                From::Operation { replaced } => {
                    if replaced {
                        self.group.take(1);
                    }
                    left.saturating_sub(self.emit_operation(&mut emit))
                }
                From::End => break,
            };
        }
        Ok(())
    }

    /// Emits the current operation if it is an addition, and moves on; the number emitted.
    fn emit_operation(&mut self, emit: &mut impl FnMut(&IndexKey, &[Oid])) -> usize {
        let mut emitted = 0;
        if let Some(operation) = self.operations.current()
            && operation.added
        {
            emit(&operation.key, &[operation.oid]);
            emitted = 1;
        }
        self.operations.advance();
        emitted
    }

    /// Which side has the next object.
    fn next_from(&self) -> From {
        let rest = self.group.rest();
        let Some(operation) = self.operations.current() else {
            return if rest.is_empty() {
                From::End
            } else {
                From::Group(rest.len())
            };
        };
        let Some(&first) = rest.first() else {
            return From::Operation { replaced: false };
        };
        match self.directed(self.group.key.cmp(&operation.key)) {
            Ordering::Less => From::Group(rest.len()),
            Ordering::Greater => From::Operation { replaced: false },
            Ordering::Equal => match self.directed(first.cmp(&operation.oid)) {
                Ordering::Less => From::Group(self.length_before(rest, operation.oid)),
                Ordering::Greater => From::Operation { replaced: false },
                Ordering::Equal => From::Operation { replaced: true },
            },
        }
    }

    /// How many of `rest` come before `oid`.
    fn length_before(&self, rest: &[Oid], oid: Oid) -> usize {
        rest.partition_point(|object| self.directed(object.cmp(&oid)) == Ordering::Less)
    }

    fn directed(&self, order: Ordering) -> Ordering {
        if self.descending { order.reverse() } else { order }
    }
}

impl std::fmt::Debug for RangeCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RangeCursor")
            .field("descending", &self.descending)
            .finish_non_exhaustive()
    }
}

/// Where the next object of a merged range comes from.
enum From {
    /// So many objects of the base's group.
    Group(usize),
    /// The current operation; it may stand for the group's next object.
    Operation {
        /// Whether it does.
        replaced: bool,
    },
    /// There is none.
    End,
}

/// Objects of one key as they lie together in the base.
#[derive(Debug, Default)]
pub(super) struct Group {
    key: IndexKey,
    objects: Vec<Oid>,
    taken: usize,
}

impl Group {
    fn rest(&self) -> &[Oid] {
        self.objects.get(self.taken..).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> (&IndexKey, &[Oid]) {
        let start = self.taken;
        self.taken = start.saturating_add(length).min(self.objects.len());
        (&self.key, self.objects.get(start..self.taken).unwrap_or_default())
    }

    fn begin(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.objects.clear();
        self.taken = 0;
    }
}

/// The groups of a range of a base.
pub(super) struct BaseCursor {
    base: Base,
    items: Items,
    /// The bounds, as index keys. The items may go beyond them by chunks, whose stored keys are longer.
    start: IndexKey,
    end: Option<IndexKey>,
    descending: bool,
    at_end: bool,
}

impl BaseCursor {
    /// The groups with `start <= key < end`.
    pub(super) fn new(base: &Base, start: &[u8], end: Option<&[u8]>, descending: bool) -> Result<BaseCursor> {
        let upper = match end {
            Some(end) if descending => upper_bound(base, start, end)?,
            _ => stored_end(),
        };
        let lower = stored_key(start);
        let is_empty = end.is_some_and(|end| end <= start) || lower >= upper;
        let items = if is_empty {
            base.range(&lower, &lower)
        } else {
            base.range(&lower, &upper)
        };
        Ok(BaseCursor {
            base: base.clone(),
            items,
            start: IndexKey::from_slice(start),
            end: end.map(IndexKey::from_slice),
            descending,
            at_end: is_empty,
        })
    }

    fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Reads the next group; at the end, an empty one.
    fn read_group(&mut self, group: &mut Group) -> Result<()> {
        while !self.at_end {
            let item = if self.descending {
                self.items.next_back()
            } else {
                self.items.next()
            };
            let Some(item) = item else { break };
            let (stored, value) = item?;
            let posting = parse(&stored, &value)?;
            let Some(key) = key_of(&stored, posting) else {
                return Err(damaged(&stored));
            };
            match self.side(key) {
                Side::Before => continue,
                Side::Within => {}
                Side::After => break,
            }
            if let Posting::List(bytes) | Posting::Chunk(bytes) = posting {
                group.begin(key);
                decode(&stored, bytes, |oid| group.objects.push(oid))?;
                if self.descending {
                    group.objects.reverse();
                }
                return Ok(());
            }
        }
        self.at_end = true;
        group.begin(&[]);
        Ok(())
    }

    /// Counts the entries left, without decoding them.
    pub(super) fn count(&mut self) -> Result<u64> {
        let mut entries = 0u64;
        while let Some(item) = self.items.next() {
            let (stored, value) = item?;
            let posting = parse(&stored, &value)?;
            let Some(key) = key_of(&stored, posting) else {
                return Err(damaged(&stored));
            };
            match self.side(key) {
                Side::Before => continue,
                Side::Within => {}
                Side::After => break,
            }
            match posting {
                Posting::List(bytes) => entries = entries.saturating_add(count(bytes)),
                Posting::Head { objects, chunks } => {
                    entries = entries.saturating_add(objects);
                    if chunks > FEW_CHUNKS {
                        self.items = self.base.range(&after_chunks(key), &stored_end());
                    }
                }
                Posting::Chunk(_) => {}
            }
        }
        self.at_end = true;
        Ok(entries)
    }

    /// Where a key lies on the way of this cursor.
    fn side(&self, key: &[u8]) -> Side {
        let below = key < &*self.start;
        let above = self.end.as_ref().is_some_and(|end| key >= &**end);
        match (below, above) {
            (false, false) => Side::Within,
            (true, _) if !self.descending => Side::Before,
            (_, true) if self.descending => Side::Before,
            _ => Side::After,
        }
    }
}

enum Side {
    Before,
    Within,
    After,
}

/// The index key an item belongs to.
fn key_of<'a>(stored: &'a [u8], posting: Posting<'_>) -> Option<&'a [u8]> {
    match posting {
        Posting::Chunk(_) => split_chunk_key(stored).map(|(key, _)| key),
        _ => stored.split_first().map(|(_, key)| key),
    }
}

fn stored_end() -> StoredKey {
    StoredKey::from_slice(&DESCRIPTION_KEY)
}

/// The stored key below which all items with index keys below `end` lie.
///
/// That is `end` itself, unless a key in chunks is a beginning of `end`: its chunks may sort above.
fn upper_bound(base: &Base, start: &[u8], end: &[u8]) -> Result<StoredKey> {
    let lower = stored_key(start);
    let upper = stored_key(end);
    if lower >= upper {
        return Ok(upper);
    }
    let Some(last) = base.range(&lower, &upper).next_back() else {
        return Ok(upper);
    };
    let (stored, value) = last?;
    let posting = parse(&stored, &value)?;
    match (posting, key_of(&stored, posting)) {
        (Posting::Head { .. } | Posting::Chunk(_), Some(key)) if end.starts_with(key) => {
            Ok(after_chunks(key))
        }
        _ => Ok(upper),
    }
}
