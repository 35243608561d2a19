//! What a base says of itself: how far the log is in it, and what it holds.
//!
//! Each base holds one [`Description`], written in the same ingestion as the entries it describes: a base without one
//! is incomplete. A flush that finds nothing to change in an index does not touch its base; how far all indexes have
//! come is written once more, apart, after all bases of the flush: the [`Progress`]. It speaks for the bases whose own
//! description was written before it, which the number of the flush tells.

use super::IndexKind;
use super::merge::Counts;
use crate::heap::LogPosition;

const VERSION: u8 = 1;

/// How far all indexes that existed then have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Number of the flush; the first is 1.
    pub(super) flush: u64,
    /// The log through here is in all bases.
    pub(super) applied: LogPosition,
}

/// One base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Description {
    /// How it lies.
    pub(super) kind: IndexKind,
    /// The last flush that had ended or that wrote this, and the log position it is from.
    pub(super) progress: Progress,
    /// What it holds.
    pub(super) counts: Counts,
}

impl Description {
    /// How far the base has come, given what was written for all.
    pub(super) fn applied(&self, all: Progress) -> LogPosition {
        if all.flush > self.progress.flush {
            self.progress.applied.max(all.applied)
        } else {
            self.progress.applied
        }
    }

    /// The stored form.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.progress.encode();
        bytes.push(match self.kind {
            IndexKind::Ordered => 1,
            IndexKind::Unique => 2,
        });
        bytes.extend_from_slice(&self.counts.entries.to_le_bytes());
        bytes.extend_from_slice(&self.counts.keys.to_le_bytes());
        bytes
    }

    /// Reads the stored form.
    pub(super) fn decode(bytes: &[u8]) -> Option<Description> {
        let (progress, rest) = bytes.split_at_checked(Progress::BYTES)?;
        let (kind, rest) = rest.split_first()?;
        let (entries, rest) = rest.split_first_chunk()?;
        let (keys, rest) = rest.split_first_chunk()?;
        let kind = match kind {
            1 => IndexKind::Ordered,
            2 => IndexKind::Unique,
            _ => return None,
        };
        rest.is_empty().then_some(Description {
            kind,
            progress: Progress::decode(progress)?,
            counts: Counts {
                entries: u64::from_le_bytes(*entries),
                keys: u64::from_le_bytes(*keys),
            },
        })
    }
}

impl Progress {
    const BYTES: usize = 17;

    /// The stored form.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.flush.to_le_bytes());
        bytes.extend_from_slice(&self.applied.segment.to_le_bytes());
        bytes.extend_from_slice(&self.applied.offset.to_le_bytes());
        bytes
    }

    /// Reads the stored form.
    pub(super) fn decode(bytes: &[u8]) -> Option<Progress> {
        let (version, rest) = bytes.split_first()?;
        let (flush, rest) = rest.split_first_chunk()?;
        let (segment, rest) = rest.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        (*version == VERSION && rest.is_empty()).then_some(Progress {
            flush: u64::from_le_bytes(*flush),
            applied: LogPosition {
                segment: u32::from_le_bytes(*segment),
                offset: u32::from_le_bytes(*offset),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_survives_and_damage_is_seen() {
        let description = Description {
            kind: IndexKind::Unique,
            progress: Progress {
                flush: 7,
                applied: LogPosition {
                    segment: 3,
                    offset: 99,
                },
            },
            counts: Counts { entries: 12, keys: 5 },
        };
        let bytes = description.encode();
        assert_eq!(Description::decode(&bytes), Some(description));
        for length in 0..bytes.len() {
            assert_eq!(Description::decode(&bytes[..length]), None);
        }
    }

    #[test]
    fn what_was_written_for_all_counts_only_if_it_is_newer() {
        let at = |flush, offset| Progress {
            flush,
            applied: LogPosition { segment: 1, offset },
        };
        let description = Description {
            kind: IndexKind::Ordered,
            progress: at(4, 100),
            counts: Counts::default(),
        };
        assert_eq!(description.applied(at(4, 500)).offset, 100);
        assert_eq!(description.applied(at(5, 500)).offset, 500);
    }
}
