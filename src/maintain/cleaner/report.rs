//! What compacting has done.

use std::fmt;

/// How far a running compaction is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactProgress {
    /// Records moved so far.
    pub records_moved: u64,
    /// About how many there are to move.
    pub records_to_move: u64,
    /// Bytes written for them so far.
    pub bytes_moved: u64,
    /// Bytes of segment files that were given back to the file system so far.
    pub bytes_freed: u64,
}

/// What compacting has done, or, as a dry run, would do; sizes in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactReport {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Whether it was stopped before its end; what was moved until then stays moved.
    pub interrupted: bool,
    /// Segment files before.
    pub segments_before: u64,
    /// Their bytes.
    pub bytes_before: u64,
    /// Segment files afterwards.
    pub segments_after: u64,
    /// Their bytes.
    pub bytes_after: u64,
    /// Records moved.
    pub records_moved: u64,
    /// Bytes written for them.
    pub bytes_moved: u64,
    /// Segment files removed, or that would be.
    pub segments_freed: u64,
    /// Their bytes.
    pub bytes_freed: u64,
    /// Segments in which nothing lives, kept because an open snapshot may still read them.
    pub segments_pinned: u64,
    /// Their bytes.
    pub bytes_pinned: u64,
    /// Segments kept because `history`, or a pin of a backup, needs them.
    pub segments_kept: u64,
    /// Their bytes.
    pub bytes_kept: u64,
}

impl fmt::Display for CompactReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (moved, freed) = match self.dry_run {
            true => ("to move     ", "to free     "),
            false => ("moved       ", "freed       "),
        };
        writeln!(
            f,
            "before       {} segments, {} bytes",
            self.segments_before, self.bytes_before
        )?;
        writeln!(
            f,
            "{moved} {} records, {} bytes",
            self.records_moved, self.bytes_moved
        )?;
        writeln!(
            f,
            "{freed} {} segments, {} bytes",
            self.segments_freed, self.bytes_freed
        )?;
        if self.segments_pinned > 0 {
            let (segments, bytes) = (self.segments_pinned, self.bytes_pinned);
            writeln!(
                f,
                "pinned       {segments} segments, {bytes} bytes, by open snapshots"
            )?;
        }
        if self.segments_kept > 0 {
            let (segments, bytes) = (self.segments_kept, self.bytes_kept);
            writeln!(
                f,
                "kept         {segments} segments, {bytes} bytes, for history or a backup"
            )?;
        }
        write!(
            f,
            "after        {} segments, {} bytes",
            self.segments_after, self.bytes_after
        )?;
        if self.interrupted {
            write!(f, "\ninterrupted  run it again to go on")?;
        }
        Ok(())
    }
}
