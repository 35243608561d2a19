//! An object as it is read: identity, commit and encoded body.

use std::borrow::Cow;

use super::oid::{CommitNumber, Oid};

/// One version of an object, borrowed from the store wherever it lies there uncompressed.
#[derive(Debug, Clone)]
pub struct Record<'a> {
    /// The object.
    pub oid: Oid,
    /// The commit that wrote this version; zero for a write of the reading transaction itself.
    pub commit: CommitNumber,
    /// The encoded body (see `codec.rs`).
    pub body: Cow<'a, [u8]>,
}
