//! What a backup and a restore have done.

use std::fmt;

use crate::object::{CommitNumber, Timestamp};

/// What a backup has done; sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// The newest commit in it.
    pub commit: CommitNumber,
    /// The time of that commit.
    pub time: Timestamp,
    /// The oldest commit that can be restored from the directory.
    pub oldest: CommitNumber,
    /// Segments of the database.
    pub segments: u64,
    /// Segments that were copied; the others were there already.
    pub copied: u64,
    /// Bytes that were copied.
    pub bytes_copied: u64,
    /// Bytes of all copies in the directory.
    pub bytes: u64,
}

impl fmt::Display for BackupReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "backed up through commit {} of {}: {} of {} segments copied, {} bytes; {} bytes in all, from commit {}",
            self.commit.0,
            self.time,
            self.copied,
            self.segments,
            self.bytes_copied,
            self.bytes,
            self.oldest.0
        )
    }
}

/// What a restore has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// The newest commit in the database.
    pub commit: CommitNumber,
    /// The time of that commit.
    pub time: Timestamp,
    /// The timeline that begins after it.
    pub timeline: u32,
    /// Segments that were copied.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl fmt::Display for RestoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "restored through commit {} of {}: {} segments, {} bytes; timeline {} begins",
            self.commit.0, self.time, self.segments, self.bytes, self.timeline
        )
    }
}
