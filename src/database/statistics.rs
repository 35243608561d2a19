//! Figures about an open database.

use std::fmt;

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
    /// What recovery had to say when the database was opened.
    pub recovery: Option<String>,
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "commit       {}", self.commit)?;
        writeln!(f, "classes      {}", self.classes)?;
        writeln!(f, "indexes      {}", self.indexes)?;
        writeln!(f, "segments     {}", self.segments)?;
        writeln!(f, "log bytes    {}", self.log_bytes)?;
        writeln!(f, "records      {}", self.records)?;
        write!(f, "table bytes  {}", self.table_bytes)?;
        if let Some(recovery) = &self.recovery {
            write!(f, "\nrecovery     {recovery}")?;
        }
        Ok(())
    }
}
