//! Figures about an open database.

use std::fmt;

use crate::object::Uuid;

/// Figures about an open database; sizes in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The newest commit.
    pub commit: u64,
    /// User classes.
    pub classes: u64,
    /// Indexes.
    pub indexes: u64,
    /// Segment files of the heap.
    pub segments: u64,
    /// Bytes of the log in use.
    pub log_bytes: u64,
    /// Records in the log, superseded versions included.
    pub records: u64,
    /// Bytes of changes to the object table in memory.
    pub table_bytes: u64,
    /// Bytes of all indexes, but for what is not merged into their bases yet.
    pub index_bytes: u64,
    /// The random identity given at creation.
    pub database_id: Uuid,
    /// How often history was cut off, by recovery of an unacknowledged tail: a position in history is (timeline, commit).
    pub timeline: u32,
    /// What recovery had to say when the database was opened.
    pub recovery: Option<String>,
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "database     {}", self.database_id)?;
        writeln!(f, "timeline     {}", self.timeline)?;
        writeln!(f, "commit       {}", self.commit)?;
        writeln!(f, "classes      {}", self.classes)?;
        writeln!(f, "indexes      {}", self.indexes)?;
        writeln!(f, "segments     {}", self.segments)?;
        writeln!(f, "log bytes    {}", self.log_bytes)?;
        writeln!(f, "records      {}", self.records)?;
        writeln!(f, "table bytes  {}", self.table_bytes)?;
        write!(f, "index bytes  {}", self.index_bytes)?;
        if let Some(recovery) = &self.recovery {
            write!(f, "\nrecovery     {recovery}")?;
        }
        Ok(())
    }
}
