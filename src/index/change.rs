//! One change of one index entry, and its form in the log.

use smallvec::SmallVec;

use super::IndexId;
use crate::error::{Error, Result};
use crate::object::Oid;

/// An encoded index key; kept inline up to 24 bytes.
pub type IndexKey = SmallVec<[u8; 24]>;

/// One entry added to or removed from one index: a set operation, harmless to repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexChange {
    /// The index.
    pub index: IndexId,
    /// The encoded key, prefix-free among the keys of this index.
    pub key: IndexKey,
    /// The object.
    pub oid: Oid,
    /// Added, or else removed.
    pub added: bool,
}

/// Appends the changes in the form the log keeps them in (versioned).
pub fn encode_changes(changes: &[IndexChange], bytes: &mut Vec<u8>) {
    let _ = (changes, bytes);
}

/// Reads what [`encode_changes`] wrote; damaged bytes are a corruption error.
pub fn decode_changes(bytes: &[u8]) -> Result<Vec<IndexChange>> {
    let _ = bytes;
    Err(Error::corruption("index changes", "not written yet"))
}
