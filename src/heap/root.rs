//! What the heap keeps with each checkpoint of the table.

use super::fixed::{i64_at, u16_at, u32_at, u64_at};
use super::frame::Chain;
use crate::object::CommitNumber;

const VERSION: u16 = 1;
const FIXED: usize = 48;

/// The heap's own part of a checkpoint; all of it as of the checkpoint's log position.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RootMetadata {
    /// Whether the database was closed after it.
    pub(super) clean: bool,
    pub(super) epoch: u32,
    /// What the next frame must say.
    pub(super) chain: Chain,
    pub(super) last_commit: CommitNumber,
    pub(super) last_time: i64,
    /// Where numbering goes on, for each class.
    pub(super) serials: Vec<(u32, u64)>,
    /// The segments up to the position, as runs of numbers (first, last).
    pub(super) segments: Vec<(u32, u32)>,
    /// The commit from which on every state is whole.
    pub(super) floor: CommitNumber,
    /// For each segment how many of its records are in use, and the newest commit that superseded one; nothing where
    /// that is not known.
    pub(super) uses: Vec<(u32, u32, CommitNumber)>,
}

impl Default for Chain {
    fn default() -> Self {
        Chain::START
    }
}

impl RootMetadata {
    pub(super) fn encode(&self) -> Vec<u8> {
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes();
        let mut bytes = Vec::with_capacity(FIXED);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&u16::from(self.clean).to_le_bytes());
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        bytes.extend_from_slice(&self.chain.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.last_commit.0.to_le_bytes());
        bytes.extend_from_slice(&self.last_time.to_le_bytes());
        bytes.extend_from_slice(&self.chain.previous.to_le_bytes());
        bytes.extend_from_slice(&count(self.serials.len()));
        bytes.extend_from_slice(&count(self.segments.len()));
        bytes.extend_from_slice(&count(self.uses.len().saturating_add(1)));
        for (class, next) in &self.serials {
            bytes.extend_from_slice(&class.to_le_bytes());
            bytes.extend_from_slice(&next.to_le_bytes());
        }
        for (first, last) in &self.segments {
            bytes.extend_from_slice(&first.to_le_bytes());
            bytes.extend_from_slice(&last.to_le_bytes());
        }
        bytes.extend_from_slice(&self.floor.0.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        for (number, live, superseded_by) in &self.uses {
            bytes.extend_from_slice(&number.to_le_bytes());
            bytes.extend_from_slice(&live.to_le_bytes());
            bytes.extend_from_slice(&superseded_by.0.to_le_bytes());
        }
        bytes
    }

    /// `None` if the bytes are not such metadata.
    pub(super) fn decode(bytes: &[u8]) -> Option<RootMetadata> {
        if u16_at(bytes, 0)? != VERSION {
            return None;
        }
        let serials = u32_at(bytes, 36)? as usize;
        let runs = u32_at(bytes, 40)? as usize;
        let runs_start = FIXED.checked_add(serials.checked_mul(12)?)?;
        let end = runs_start.checked_add(runs.checked_mul(8)?)?;
        // Zero: written before segments were given up.
        let uses = u32_at(bytes, 44)? as usize;
        let uses = bytes.get(end..end.checked_add(uses.checked_mul(16)?)?)?;
        let mut uses = uses.chunks_exact(16);
        let floor = uses.next().and_then(|entry| u64_at(entry, 0)).unwrap_or(0);
        let serials = bytes.get(FIXED..runs_start)?.chunks_exact(12);
        let runs = bytes.get(runs_start..end)?.chunks_exact(8);
        Some(RootMetadata {
            clean: u16_at(bytes, 2)? != 0,
            epoch: u32_at(bytes, 4)?,
            chain: Chain {
                sequence: u64_at(bytes, 8)?,
                previous: u32_at(bytes, 32)?,
            },
            last_commit: CommitNumber(u64_at(bytes, 16)?),
            last_time: i64_at(bytes, 24)?,
            serials: serials
                .filter_map(|entry| Some((u32_at(entry, 0)?, u64_at(entry, 4)?)))
                .collect(),
            segments: runs
                .filter_map(|entry| Some((u32_at(entry, 0)?, u32_at(entry, 4)?)))
                .collect(),
            floor: CommitNumber(floor),
            uses: uses
                .filter_map(|entry| {
                    let superseded_by = CommitNumber(u64_at(entry, 8)?);
                    Some((u32_at(entry, 0)?, u32_at(entry, 4)?, superseded_by))
                })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_comes_back_and_a_cut_one_does_not() {
        let metadata = RootMetadata {
            clean: true,
            epoch: 3,
            chain: Chain {
                sequence: 9,
                previous: 8,
            },
            last_commit: CommitNumber(77),
            last_time: -1,
            serials: vec![(1, 2), (64, 1 << 40)],
            segments: vec![(1, 5), (9, 9)],
            floor: CommitNumber(40),
            uses: vec![(1, 7, CommitNumber(70)), (9, 0, CommitNumber(0))],
        };
        let bytes = metadata.encode();
        assert_eq!(RootMetadata::decode(&bytes), Some(metadata));
        for len in 0..bytes.len() {
            assert_eq!(RootMetadata::decode(&bytes[..len]), None);
        }
    }
}
