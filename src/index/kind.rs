//! What an index is called, and how it lies on disk.

/// Identifies an index within one database; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexId(pub u32);

/// How an index lies on disk and what it promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexKind {
    /// Posting lists: value to objects. Also serves references (target to sources).
    Ordered,
    /// Point keys: at most one object a value; objects with nil in the key are not compared.
    Unique,
}

/// About how much an index holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexSize {
    /// Entries: an object under several keys counts under each.
    pub entries: u64,
    /// Distinct keys.
    pub keys: u64,
}
