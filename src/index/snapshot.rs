//! The state of all indexes that one view reads.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cache::{CacheKey, Objects, PostingCache, is_cacheable};
use super::cursor::{BaseCursor, RangeCursor};
use super::delta::{Delta, Rest, Table};
use super::member::Member;
use super::operations::OperationCursor;
use super::overlay::overlay;
use super::{IndexId, IndexKey, IndexSize};
use crate::error::{Error, Result};
use crate::object::{CommitNumber, Oid};

/// One state of all indexes: bases, and the deltas over them. See [`super::IndexStore`] for which commits may read it.
#[derive(Debug, Clone)]
pub struct IndexSnapshot {
    pub(super) members: Arc<FxHashMap<IndexId, Arc<Member>>>,
    /// The oldest first; the last one is the active one.
    pub(super) deltas: SmallVec<[Arc<Delta>; 4]>,
    /// The newest commit in any base: who reads at an earlier one must use an older state.
    pub(super) least: CommitNumber,
    pub(super) generation: u64,
    pub(super) cache: Arc<PostingCache>,
}

impl IndexSnapshot {
    /// The objects with exactly this encoded key at commit `at`, ascending.
    ///
    /// `at` is the commit the snapshot was captured at.
    pub fn get(&self, id: IndexId, key: &[u8], at: CommitNumber) -> Result<SmallVec<[Oid; 4]>> {
        match self.get_short(id, key, at)? {
            Some(objects) => Ok(objects),
            None => {
                let member = self.member(id)?;
                Ok(self.overlaid(id, key, member.objects(key)?, at))
            }
        }
    }

    /// As [`IndexSnapshot::get`], but `None` if there are so many that a range should read them part by part.
    pub fn get_short(&self, id: IndexId, key: &[u8], at: CommitNumber) -> Result<Option<SmallVec<[Oid; 4]>>> {
        let member = self.member(id)?;
        let objects = self.merged_objects(member, key)?;
        Ok(objects.map(|objects| self.overlaid(id, key, objects, at)))
    }

    /// The objects of a key in the base, with what was committed since.
    fn overlaid(&self, id: IndexId, key: &[u8], mut objects: Objects, at: CommitNumber) -> Objects {
        let tables = self.deltas.iter().filter_map(|delta| delta.table_with(id, key));
        for table in tables {
            let mut operations = Vec::new();
            table.operations(key, at, &mut operations);
            overlay(&mut objects, &operations);
        }
        objects
    }

    /// A cursor over the entries with `start <= key < end` (no end: to the last key) at commit `at`, in key order,
    /// within one key by OID; both descending if `descending`.
    pub fn range(
        &self,
        id: IndexId,
        start: &[u8],
        end: Option<&[u8]>,
        descending: bool,
        at: CommitNumber,
    ) -> Result<RangeCursor> {
        let member = self.member(id)?;
        let base = BaseCursor::new(&member.base, start, end, descending)?;
        let operations = match &proper_range(start, end) {
            Some(rest) => OperationCursor::new(self.tables(id), rest, descending, at),
            None => OperationCursor::empty(),
        };
        Ok(RangeCursor::new(base, operations, descending))
    }

    /// The number of entries with `start <= key < end` at commit `at`; without reading them where no recent change
    /// lies in the range.
    pub fn count(&self, id: IndexId, start: &[u8], end: Option<&[u8]>, at: CommitNumber) -> Result<u64> {
        let member = self.member(id)?;
        let Some(rest) = proper_range(start, end) else {
            return Ok(0);
        };
        if self.tables(id).all(|table| table.is_empty_in(&rest)) {
            return BaseCursor::new(&member.base, start, end, false)?.count();
        }
        self.range(id, start, end, false, at)?.count()
    }

    /// Whether the index is there.
    pub fn contains(&self, id: IndexId) -> bool {
        self.members.contains_key(&id)
    }

    /// The keys with several objects at commit `at` among those that have got one since the base was merged.
    pub fn several_above(&self, id: IndexId, at: CommitNumber) -> Result<Vec<IndexKey>> {
        let everything = Rest::of_range(&[], None);
        let mut operations = OperationCursor::new(self.tables(id), &everything, false, at);
        let mut keys: Vec<IndexKey> = Vec::new();
        while let Some(operation) = operations.current() {
            if operation.added && keys.last() != Some(&operation.key) {
                let key = operation.key.clone();
                if self
                    .get_short(id, &key, at)?
                    .is_none_or(|objects| objects.len() > 1)
                {
                    keys.push(key);
                }
            }
            operations.advance();
        }
        Ok(keys)
    }

    /// About how much an index holds: what its base does, and the entries of what lies above; `None` if it is not
    /// there.
    pub fn size(&self, id: IndexId) -> Option<IndexSize> {
        let member = self.members.get(&id)?;
        let above: usize = self.tables(id).map(|table| table.length()).sum();
        let (entries, keys) = (member.counts.entries, member.counts.keys);
        // Keys of entries above are taken to be as often new as those in the base were.
        let new_keys = match entries {
            0 => above as u64,
            _ => (above as u64).saturating_mul(keys) / entries,
        };
        Some(IndexSize {
            entries: entries.saturating_add(above as u64),
            keys: keys.saturating_add(new_keys),
        })
    }

    /// Bytes of changes that this state keeps in memory and `newest`, a later one, has merged.
    pub fn pinned_bytes(&self, newest: &IndexSnapshot) -> u64 {
        let is_newer = |delta: &&Arc<Delta>| newest.deltas.iter().any(|other| Arc::ptr_eq(other, delta));
        let merged = self.deltas.iter().filter(|delta| !is_newer(delta));
        merged.map(|delta| delta.bytes() as u64).sum()
    }

    fn member(&self, id: IndexId) -> Result<&Member> {
        let member = self.members.get(&id).map(|member| &**member);
        member.ok_or_else(|| {
            Error::Schema(format!(
                "index {} does not exist in this snapshot, or is not built yet",
                id.0
            ))
        })
    }

    /// The objects of a key in the base, through the cache; `None` if they are many.
    fn merged_objects(&self, member: &Member, key: &[u8]) -> Result<Option<Objects>> {
        if !is_cacheable(key) {
            return member.short_objects(key);
        }
        let cache_key: CacheKey = (member.serial, IndexKey::from_slice(key));
        if let Some(objects) = self.cache.get(self.generation, &cache_key) {
            return Ok(Some(objects));
        }
        let objects = member.short_objects(key)?;
        if let Some(objects) = &objects {
            self.cache.add(self.generation, cache_key, objects);
        }
        Ok(objects)
    }

    /// The entries over the base of one index, the oldest first.
    fn tables(&self, id: IndexId) -> impl Iterator<Item = Arc<Table>> + '_ {
        self.deltas.iter().filter_map(move |delta| delta.table(id))
    }
}

/// The range, unless it is empty whatever the keys.
fn proper_range(start: &[u8], end: Option<&[u8]>) -> Option<Rest> {
    match end {
        Some(end) if end <= start => None,
        _ => Some(Rest::of_range(start, end)),
    }
}
