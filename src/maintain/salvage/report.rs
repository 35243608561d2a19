//! What salvaging has saved, and what it could not.

use std::fmt;

use crate::heap::Loss;

/// What salvaging has saved, and what it could not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvageReport {
    /// Classes in the new database.
    pub classes: u64,
    /// Objects in it.
    pub objects: u64,
    /// Indexes in it.
    pub indexes: u64,
    /// Its timeline.
    pub timeline: u32,
    /// What was lost: segment, offset and object, as far as they are known.
    pub losses: Vec<Loss>,
    /// References in the new database to objects that are not there, those included that were there before.
    pub dangling_references: u64,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.segment, self.offset) {
            (Some(segment), Some(offset)) => write!(f, "segment {segment} offset {offset}")?,
            (Some(segment), None) => write!(f, "segment {segment}")?,
            _ => f.write_str("database")?,
        }
        if let Some(oid) = self.oid {
            write!(f, " (object {oid:?})")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl fmt::Display for SalvageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for loss in &self.losses {
            writeln!(f, "{loss}")?;
        }
        let losses = match self.losses.len() {
            0 => "no losses".to_string(),
            1 => "1 loss".to_string(),
            more => format!("{more} losses"),
        };
        write!(
            f,
            "{} objects of {} classes and {} indexes saved; {losses}; {} dangling references",
            self.objects, self.classes, self.indexes, self.dangling_references
        )
    }
}
