//! The committed state at one commit number.
//!
//! A view is made once a published group and shared by every snapshot taken before the next: commit number, catalog,
//! table and segments of the heap, and the indexes' bases and deltas, captured together under the publish lock. All
//! reads of it are lock-free and see exactly the commits up to its number.

use std::ops::Bound;
use std::sync::Arc;

use crate::catalog::{Catalog, Class, Index, IndexId, IndexKind, index_keys};
use crate::error::{Error, Result};
use crate::heap::HeapView;
pub use crate::heap::{TOGETHER, Together};
use crate::index::key::{encode_component, is_hash, range_bounds, unique_key};
use crate::index::{IndexKey, IndexSnapshot, RangeCursor};
use crate::object::codec::converted;
use crate::object::{ClassId, CommitNumber, Oid, Record, RecordBody, Value};
use crate::read::{Direction, ExtentPosition, IndexRange, IndexSize, Postings, Reader};

/// One committed state, immutable and shared.
#[derive(Debug)]
pub struct View {
    commit: CommitNumber,
    time: i64,
    catalog: Arc<Catalog>,
    heap: HeapView,
    indexes: Arc<IndexSnapshot>,
    secret: [u8; 16],
}

/// A range of encoded keys of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EncodedRange {
    /// Exactly this key.
    Key(IndexKey),
    /// From the first key up to, not including, the second (`None`: to the end).
    Between(Vec<u8>, Option<Vec<u8>>),
}

impl View {
    /// The state after `commit`, made at `time` (microseconds since 1970).
    pub fn new(
        commit: CommitNumber,
        time: i64,
        catalog: Arc<Catalog>,
        heap: HeapView,
        indexes: Arc<IndexSnapshot>,
        secret: [u8; 16],
    ) -> Self {
        View {
            commit,
            time,
            catalog,
            heap,
            indexes,
            secret,
        }
    }

    /// The same state, read through a newer view of the heap.
    pub fn with_heap(&self, heap: HeapView) -> Self {
        View {
            heap,
            catalog: self.catalog.clone(),
            indexes: self.indexes.clone(),
            ..*self
        }
    }

    /// The time of its commit, microseconds since 1970-01-01 UTC.
    pub fn time(&self) -> i64 {
        self.time
    }

    /// Bytes that this state keeps and `newest`, a later one, does not: old segments and merged index changes.
    pub fn pinned_bytes(&self, newest: &View) -> u64 {
        let heap = self.heap.pinned_bytes(&newest.heap);
        heap.saturating_add(self.indexes.pinned_bytes(&newest.indexes))
    }

    /// The key of this database for hashing long unique values.
    pub fn secret(&self) -> [u8; 16] {
        self.secret
    }

    /// The heap's part of the state.
    pub fn heap(&self) -> &HeapView {
        &self.heap
    }

    /// An object's class, commit and body, if nothing about it is out of the ordinary. `None` says only that
    /// [`Reader::object`] must be asked.
    #[inline(always)]
    pub fn plain(&self, oid: Oid) -> Option<(&Arc<Class>, CommitNumber, &[u8])> {
        let class = self.catalog.live_class(oid.class())?;
        if !class.plain {
            return None;
        }
        let (commit, body) = self.heap.plain(oid, self.commit)?;
        Some((class, commit, body))
    }

    /// What [`View::plain`] finds of each of `oids`, at most [`TOGETHER`] of them, all at once; set in `found` in their
    /// order. Whether their classes are still there, and plain, is for the caller to look at.
    #[inline]
    pub fn plain_many<'a>(&'a self, oids: impl Iterator<Item = Oid> + Clone, found: &mut Together<'a>) {
        self.heap.plain_many(oids, self.commit, found);
    }

    /// The entries of an index in a range of encoded keys, in key order.
    pub fn entries(&self, index: IndexId, range: &EncodedRange, direction: Direction) -> Result<RangeCursor> {
        let descending = direction == Direction::Descending;
        match range {
            EncodedRange::Between(start, end) => {
                self.indexes
                    .range(index, start, end.as_deref(), descending, self.commit)
            }
            EncodedRange::Key(key) => {
                let mut after = key.to_vec();
                after.push(0);
                self.indexes
                    .range(index, key, Some(&after), descending, self.commit)
            }
        }
    }

    /// The number of entries of an index in a range of encoded keys.
    fn count_within(&self, index: IndexId, range: &EncodedRange) -> Result<u64> {
        match range {
            EncodedRange::Between(start, end) => {
                self.indexes.count(index, start, end.as_deref(), self.commit)
            }
            EncodedRange::Key(key) => {
                let mut after = key.to_vec();
                after.push(0);
                self.indexes.count(index, key, Some(&after), self.commit)
            }
        }
    }

    /// The number of entries of an index.
    pub fn count_entries(&self, index: IndexId) -> Result<u64> {
        self.indexes.count(index, &[], None, self.commit)
    }

    /// The objects with exactly this encoded key, ascending.
    pub fn holders(&self, index: IndexId, key: &[u8]) -> Result<smallvec::SmallVec<[Oid; 4]>> {
        self.indexes.get(index, key, self.commit)
    }

    /// Whether an index is in place: ready, or about to be.
    pub fn has_index(&self, index: IndexId) -> bool {
        self.indexes.contains(index)
    }

    /// The keys of an index that have several objects, among those that have got one since its base was merged.
    pub fn several_above(&self, index: IndexId) -> Result<Vec<IndexKey>> {
        self.indexes.several_above(index, self.commit)
    }

    /// The objects of one key, verified where it is a hash; `None` if they are many.
    fn point(&self, index: &Index, key: &IndexKey, range: &IndexRange) -> Result<Option<Vec<Oid>>> {
        if !is_hashed(index) || !is_hash(key) {
            let holders = self.indexes.get_short(index.id, key, self.commit)?;
            return Ok(holders.map(smallvec::SmallVec::into_vec));
        }
        let holders = self.holders(index.id, key)?;
        let mut verified = Vec::with_capacity(holders.len());
        for oid in holders {
            if has_values(self, index, oid, &range.prefix)? {
                verified.push(oid);
            }
        }
        Ok(Some(verified))
    }
}

/// A record as the catalog has it: values of attributes that were retyped since it was written are converted.
#[inline]
pub fn fresh<'a>(catalog: &Catalog, record: Record<'a>) -> Result<Record<'a>> {
    match catalog.live_class(record.oid.class()) {
        Some(class) if class.layout.converted_slots > 0 => freshened(class, record),
        _ => Ok(record),
    }
}

#[inline(never)]
fn freshened<'a>(class: &Class, record: Record<'a>) -> Result<Record<'a>> {
    match converted(&class.layout, &record.body)? {
        Some(body) => Ok(Record {
            body: RecordBody::Shared(body.into()),
            ..record
        }),
        None => Ok(record),
    }
}

/// As [`fresh`], for many.
pub fn freshen<'r, 'a: 'r>(
    catalog: &Catalog,
    records: impl Iterator<Item = &'r mut Record<'a>>,
) -> Result<()> {
    if !catalog.converts {
        return Ok(());
    }
    for record in records {
        *record = fresh(catalog, record.clone())?;
    }
    Ok(())
}

/// Whether the index may hold hashes in place of values, so that a hit must be verified at the object.
pub fn is_hashed(index: &Index) -> bool {
    index.kind == IndexKind::Unique && !index.ordered
}

/// Whether the object really has these values in the attributes of a hashed index.
pub fn has_values(reader: &dyn Reader, index: &Index, oid: Oid, values: &[Value]) -> Result<bool> {
    let Some(record) = reader.object(oid)? else {
        return Ok(false);
    };
    let class = reader.catalog().class_by_id(oid.class())?;
    let unhashed = Index {
        kind: IndexKind::Ordered,
        ..index.clone()
    };
    let wanted = encode_values(index, values)?;
    let keys = index_keys(&unhashed, &class.layout, &record.body, [0; 16])?;
    Ok(keys.iter().any(|(key, _)| key.as_slice() == wanted.as_slice()))
}

fn encode_values(index: &Index, values: &[Value]) -> Result<Vec<u8>> {
    let mut key = Vec::with_capacity(24);
    for (component, value) in index.components.iter().zip(values) {
        encode_component(value.as_ref(), component.descending, &mut key)?;
    }
    Ok(key)
}

/// The encoded form of a range of an index.
///
/// # Errors
/// [`Error::Argument`] for a range the index cannot serve: it knows only whole values.
pub fn encode_range(index: &Index, range: &IndexRange, secret: [u8; 16]) -> Result<EncodedRange> {
    let unbounded = matches!((&range.lower, &range.upper), (Bound::Unbounded, Bound::Unbounded));
    if unbounded && range.prefix.len() == index.components.len() {
        let key = encode_values(index, &range.prefix)?;
        return Ok(EncodedRange::Key(match index.kind {
            IndexKind::Unique => IndexKey::from_slice(&unique_key(&key, secret)),
            IndexKind::Ordered => IndexKey::from_slice(&key),
        }));
    }
    let everything = unbounded && range.prefix.is_empty();
    if !index.ordered && !everything {
        return Err(Error::Argument(format!(
            "the index {} finds whole values only, not ranges",
            index.name
        )));
    }
    let descending: Vec<bool> = index
        .components
        .iter()
        .map(|component| component.descending)
        .collect();
    let (start, end) = range_bounds(
        &range.prefix,
        as_bound(&range.lower),
        as_bound(&range.upper),
        &descending,
    )?;
    Ok(EncodedRange::Between(start, end))
}

fn as_bound(bound: &Bound<Value>) -> Bound<&Value> {
    bound.as_ref()
}

impl Reader for View {
    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    fn commit(&self) -> CommitNumber {
        self.commit
    }

    fn object(&self, oid: Oid) -> Result<Option<Record<'_>>> {
        if !self.catalog.is_live(oid.class()) {
            return Ok(None);
        }
        let record = self.heap.get(oid, self.commit)?;
        record.map(|record| fresh(&self.catalog, record)).transpose()
    }

    fn gather<'a>(&'a self, oids: &[Oid], records: &mut Vec<Option<Record<'a>>>) -> Result<()> {
        if oids.iter().all(|oid| self.catalog.is_live(oid.class())) {
            let start = records.len();
            self.heap.gather(oids, self.commit, records)?;
            let read = records.iter_mut().skip(start).flatten();
            return freshen(&self.catalog, read);
        }
        for oid in oids {
            records.push(self.object(*oid)?);
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
        self.heap
            .scan(class, &mut position.next_serial, self.commit, limit, records)?;
        freshen(&self.catalog, records.iter_mut().skip(start))
    }

    fn extent_estimate(&self, class: ClassId) -> u64 {
        if self.catalog.is_live(class) {
            self.heap.extent_estimate(class)
        } else {
            0
        }
    }

    fn lookup(
        &self,
        index: IndexId,
        range: &IndexRange,
        direction: Direction,
    ) -> Result<Box<dyn Postings + '_>> {
        let index = ready_index(&self.catalog, index)?;
        match encode_range(index, range, self.secret)? {
            EncodedRange::Key(key) => {
                let Some(mut oids) = self.point(index, &key, range)? else {
                    let postings = self.entries(index.id, &EncodedRange::Key(key), direction)?;
                    return Ok(Box::new(CursorPostings(postings)));
                };
                if direction == Direction::Ascending {
                    oids.reverse();
                }
                Ok(Box::new(PointPostings { oids }))
            }
            encoded => Ok(Box::new(CursorPostings(
                self.entries(index.id, &encoded, direction)?,
            ))),
        }
    }

    fn count(&self, index: IndexId, range: &IndexRange) -> Result<u64> {
        let index = ready_index(&self.catalog, index)?;
        match encode_range(index, range, self.secret)? {
            EncodedRange::Key(key) => match self.point(index, &key, range)? {
                Some(oids) => Ok(oids.len() as u64),
                None => self.count_within(index.id, &EncodedRange::Key(key)),
            },
            encoded => self.count_within(index.id, &encoded),
        }
    }

    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        self.indexes.size(index)
    }
}

/// The index with this identifier, if it may be read.
pub fn ready_index(catalog: &Catalog, id: IndexId) -> Result<&Arc<Index>> {
    let index = catalog.indexes.get(&id).filter(|index| index.ready);
    index.ok_or_else(|| {
        Error::Schema(format!(
            "the index number {} was dropped or is still being built",
            id.0
        ))
    })
}

/// The few objects of one key, in reverse, so that the next is the last.
struct PointPostings {
    oids: Vec<Oid>,
}

impl Postings for PointPostings {
    fn next(&mut self, limit: usize, oids: &mut Vec<Oid>) -> Result<()> {
        let rest = self.oids.len().saturating_sub(limit);
        oids.extend(self.oids.drain(rest..).rev());
        Ok(())
    }
}

struct CursorPostings(RangeCursor);

impl Postings for CursorPostings {
    fn next(&mut self, limit: usize, oids: &mut Vec<Oid>) -> Result<()> {
        self.0.next(limit, oids)
    }
}
