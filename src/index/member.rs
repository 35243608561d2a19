//! One index within a state of the store: its base, and how its postings are read.

use super::cache::Objects;
use super::merge::Counts;
use super::posting::{Posting, StoredKey, chunk_key, damaged, decode, parse, stored_key};
use super::store::{Base, Items};
use crate::error::Result;
use crate::object::Oid;

/// One index: its base.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// The merged entries.
    pub(super) base: Base,
    /// What they are.
    pub(super) counts: Counts,
    /// Tells its cached postings from those of an index that had the same id before.
    pub(super) serial: u32,
}

impl Member {
    /// The objects of a key in the base, ascending; `None` if they are many, in chunks.
    pub(super) fn short_objects(&self, key: &[u8]) -> Result<Option<Objects>> {
        let stored = stored_key(key);
        let mut objects = Objects::new();
        let Some(value) = self.base.get(&stored)? else {
            return Ok(Some(objects));
        };
        match parse(&stored, &value)? {
            Posting::List(bytes) => decode(&stored, bytes, |oid| objects.push(oid))?,
            Posting::Head { .. } => return Ok(None),
            Posting::Chunk(_) => return Err(damaged(&stored)),
        }
        Ok(Some(objects))
    }

    /// The objects of a key in the base, ascending.
    pub(super) fn objects(&self, key: &[u8]) -> Result<Objects> {
        if let Some(objects) = self.short_objects(key)? {
            return Ok(objects);
        }
        let mut objects = Objects::new();
        for item in chunks(&self.base, key) {
            let (stored, value) = item?;
            decode_chunk(&stored, &value, |oid| objects.push(oid))?;
        }
        Ok(objects)
    }
}

/// The chunks of a key, ascending.
pub(super) fn chunks(base: &Base, key: &[u8]) -> Items {
    base.range(&chunk_key(key, 0), &after_chunks(key))
}

/// The smallest stored key above all chunks of a key.
pub(super) fn after_chunks(key: &[u8]) -> StoredKey {
    let mut after = chunk_key(key, u64::MAX);
    after.push(0);
    after
}

/// Gives each OID of a stored chunk to `push`; anything but a chunk is damage.
pub(super) fn decode_chunk(stored: &[u8], value: &[u8], push: impl FnMut(Oid)) -> Result<()> {
    match parse(stored, value)? {
        Posting::Chunk(bytes) => decode(stored, bytes, push),
        _ => Err(damaged(stored)),
    }
}
