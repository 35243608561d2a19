//! Short postings of the newest base, decoded: what makes a repeated look-up cheap.
//!
//! The cache belongs to one *generation* of the bases; a flush makes the next. Snapshots of other generations pass it
//! by. A flush first moves the generation on, then drops the keys it changed, so a reader that finds its own generation
//! before *and after* a look-up has read a value of its own generation. Additions hold a lock shared, against the flush
//! alone, and check the generation under it, so that no value of an older one is added late.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use smallvec::SmallVec;

use super::IndexKey;
use crate::object::Oid;

/// The most objects of a posting that is kept.
const MAX_OBJECTS: usize = 64;
/// The longest key that is kept.
const MAX_KEY_BYTES: usize = 24;
/// Memory an entry takes, about, when its objects are few.
const ENTRY_BYTES: u64 = 160;

/// Objects of one key, ascending.
pub(super) type Objects = SmallVec<[Oid; 4]>;

/// A key of one base: the number tells apart indexes, and an index dropped and built again.
pub(super) type CacheKey = (u32, IndexKey);

/// Weighs an entry by the memory it takes, about.
#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<CacheKey, Objects> for Bytes {
    fn weight(&self, _: &CacheKey, objects: &Objects) -> u64 {
        let spilled = if objects.spilled() {
            objects.len() as u64 * 8
        } else {
            0
        };
        ENTRY_BYTES.saturating_add(spilled)
    }
}

/// Decoded postings of the newest generation.
#[derive(Debug)]
pub(super) struct PostingCache {
    entries: Cache<CacheKey, Objects, Bytes>,
    generation: AtomicU64,
    adding: RwLock<()>,
}

impl PostingCache {
    /// An empty cache of about `bytes` bytes at most, for generation 0.
    pub(super) fn new(bytes: usize) -> PostingCache {
        let bytes = (bytes as u64).max(64 * ENTRY_BYTES);
        PostingCache {
            entries: Cache::with_weighter((bytes / ENTRY_BYTES) as usize, bytes, Bytes),
            generation: AtomicU64::new(0),
            adding: RwLock::new(()),
        }
    }

    /// The objects of a key in `generation`, if they are here.
    pub(super) fn get(&self, generation: u64, key: &CacheKey) -> Option<Objects> {
        if self.generation.load(Ordering::Acquire) != generation {
            return None;
        }
        let objects = self.entries.get(key)?;
        (self.generation.load(Ordering::Acquire) == generation).then_some(objects)
    }

    /// Keeps the objects of a key, read from the base of `generation`.
    pub(super) fn add(&self, generation: u64, key: CacheKey, objects: &Objects) {
        if objects.is_empty() || objects.len() > MAX_OBJECTS || key.1.len() > MAX_KEY_BYTES {
            return;
        }
        let Some(_guard) = self.adding.try_read() else {
            return;
        };
        if self.generation.load(Ordering::Acquire) == generation {
            self.entries.insert(key, objects.clone());
        }
    }

    /// Moves on to `generation`, in which the objects of `changed` are others.
    pub(super) fn advance<'a>(&self, generation: u64, changed: impl Iterator<Item = &'a CacheKey>) {
        let _guard = self.adding.write();
        self.generation.store(generation, Ordering::Release);
        for key in changed {
            self.entries.remove(key);
        }
    }
}

/// Whether a key may be kept at all.
pub(super) fn is_cacheable(key: &[u8]) -> bool {
    key.len() <= MAX_KEY_BYTES
}
