//! An object as it is read: identity, commit and encoded body.

use std::ops::Deref;
use std::sync::Arc;

use super::codec::{Body, Near};
use super::oid::{CommitNumber, Oid};
use crate::error::Result;

/// One version of an object, borrowed from the store wherever it lies there uncompressed; cheap to clone.
#[derive(Debug, Clone)]
pub struct Record<'a> {
    /// The object.
    pub oid: Oid,
    /// The commit that wrote this version; zero for a write of the reading transaction itself.
    pub commit: CommitNumber,
    /// The encoded body (see `codec.rs`).
    pub body: RecordBody<'a>,
}

/// The encoded body of a [`Record`]. A query may hold one object in many rows, so a clone never copies the bytes.
#[derive(Debug, Clone)]
pub enum RecordBody<'a> {
    /// As it lies in the store.
    Borrowed(&'a [u8]),
    /// Decompressed.
    Shared(Arc<[u8]>),
}

impl RecordBody<'_> {
    /// The bytes, copied.
    pub fn into_owned(self) -> Vec<u8> {
        self.to_vec()
    }

    /// The value in a slot of type `int`: `None` past the count of slots, `Some(None)` for nil.
    #[inline(always)]
    pub fn int(&self, slot: usize) -> Result<Option<Option<i64>>> {
        if let Some(near) = Near::new(self)
            && slot < near.count()
            && let Some(stored) = near.stored(slot)
        {
            return stored.int().map(Some);
        }
        match Body::new(self)?.stored(slot)? {
            Some(stored) => stored.int().map(Some),
            None => Ok(None),
        }
    }

    /// Bytes of memory it holds beyond itself: none of what is borrowed, and its part of what is shared.
    pub fn held(&self) -> usize {
        match self {
            RecordBody::Borrowed(_) => 0,
            RecordBody::Shared(body) => body.len().div_ceil(Arc::strong_count(body)),
        }
    }
}

impl Deref for RecordBody<'_> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        match self {
            RecordBody::Borrowed(body) => body,
            RecordBody::Shared(body) => body,
        }
    }
}

impl PartialEq for RecordBody<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for RecordBody<'_> {}

impl<'a> From<&'a [u8]> for RecordBody<'a> {
    fn from(body: &'a [u8]) -> Self {
        RecordBody::Borrowed(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_bytes_and_each_counts_its_part() {
        let body = RecordBody::Shared(vec![7; 1_000].into());
        assert_eq!((body.len(), body.held()), (1_000, 1_000));
        let rows: Vec<RecordBody<'_>> = (0..9).map(|_| body.clone()).collect();
        assert_eq!(rows.iter().map(RecordBody::held).sum::<usize>(), 900);
        assert_eq!(RecordBody::from(&[7_u8; 3][..]).held(), 0);
    }
}
