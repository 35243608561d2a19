//! Which segments are worth cleaning.
//!
//! Moving what lives out of a segment costs its live bytes and gives back the rest. A segment that has been left alone
//! for long is likely to stay as it is, so the same gain is worth more there than in a young one, whose records are
//! still dying by themselves: gain over cost, times age.

use crate::heap::{Amount, SegmentUse};

/// Garbage below this is not worth the work.
const LEAST_GARBAGE: u64 = 16 << 20;
/// Cleaning begins when this many hundredths of the segments are garbage ...
const BEGIN_AT: u64 = 30;
/// ... and goes on until it is fewer than this.
const GO_ON_AT: u64 = 22;

/// Bytes of the sealed segments, and how many of them live.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// All segments in which something lives.
    pub all: u64,
    /// Of which live.
    pub live: u64,
    /// Those in which nothing lives.
    pub dead: Amount,
}

/// Sums up the uses of the segments.
pub fn census(uses: &[SegmentUse]) -> Census {
    let mut census = Census::default();
    for found in uses {
        if found.live == 0 {
            census.dead.add(found.bytes);
        } else {
            census.all = census.all.saturating_add(found.bytes);
            census.live = census.live.saturating_add(found.live_bytes());
        }
    }
    census
}

impl Census {
    /// Whether so much is garbage that cleaning should begin; less is enough where it is `running`.
    pub fn asks_for_cleaning(&self, running: bool) -> bool {
        let garbage = self.all.saturating_sub(self.live);
        let share = if running { GO_ON_AT } else { BEGIN_AT };
        garbage >= LEAST_GARBAGE && garbage.saturating_mul(100) > self.all.saturating_mul(share)
    }
}

/// The segments to clean next: the best first, until `room` bytes would be moved. At least one, if any has garbage.
pub fn choose(uses: &[SegmentUse], room: u64) -> Vec<u32> {
    let newest = uses.last().map_or(0, |found| found.number);
    let mut scored: Vec<(u128, &SegmentUse)> = uses
        .iter()
        .filter(|found| found.live > 0 && found.live < found.records)
        .map(|found| (score(found, newest), found))
        .collect();
    scored.sort_by_key(|(score, found)| (std::cmp::Reverse(*score), found.number));
    let mut chosen = Vec::new();
    let mut moved = 0u64;
    for (_, found) in scored {
        moved = moved.saturating_add(found.live_bytes());
        if !chosen.is_empty() && moved > room {
            break;
        }
        chosen.push(found.number);
    }
    chosen.sort_unstable();
    chosen
}

/// Gain over cost, times age.
fn score(found: &SegmentUse, newest: u32) -> u128 {
    let age = u128::from(newest.saturating_sub(found.number)).saturating_add(1);
    let records = u128::from(found.records.max(1));
    let live = u128::from(found.live).min(records);
    (records - live) * age * (1 << 20) / (records + live)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::CommitNumber;

    fn segment(number: u32, live: u64) -> SegmentUse {
        SegmentUse {
            number,
            bytes: 64 << 20,
            records: 1000,
            live,
            superseded_by: CommitNumber(0),
            last_commit: CommitNumber(0),
        }
    }

    #[test]
    fn the_emptiest_come_first_and_age_counts() {
        let uses = [
            segment(1, 900),
            segment(2, 100),
            segment(3, 1000),
            segment(9, 100),
        ];
        assert_eq!(choose(&uses, 1), [2]);
        assert_eq!(choose(&uses, 14 << 20), [2, 9]);
        assert_eq!(choose(&uses, u64::MAX), [1, 2, 9]);
        assert!(choose(&[segment(3, 1000), segment(4, 0)], u64::MAX).is_empty());
    }

    #[test]
    fn cleaning_begins_later_than_it_ends() {
        let quarter = census(&[segment(1, 750), segment(2, 750), segment(3, 0)]);
        assert_eq!(quarter.dead.segments, 1);
        assert!(!quarter.asks_for_cleaning(false) && quarter.asks_for_cleaning(true));
        assert!(census(&[segment(1, 500)]).asks_for_cleaning(false));
    }
}
