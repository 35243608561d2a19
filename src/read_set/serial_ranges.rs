//! Ranges of serial numbers, merged: the parts of an extent that were read.

/// Disjoint ranges, ascending; each has its start and not its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SerialRanges(Vec<(u64, u64)>);

/// More ranges than this are merged over the gaps between them.
const MOST: usize = 1024;

impl SerialRanges {
    /// Adds the serials from `start` up to, not including, `end`.
    pub fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        // Nearly always the range goes on where the last one ended.
        if let Some(last) = self.0.last_mut()
            && last.0 <= start
            && start <= last.1
        {
            last.1 = last.1.max(end);
            return;
        }
        let from = self.0.partition_point(|range| range.1 < start);
        let to = self.0.partition_point(|range| range.0 <= end);
        let touched = self.0.get(from..to).unwrap_or_default();
        let start = touched.first().map_or(start, |first| first.0.min(start));
        let end = touched.last().map_or(end, |last| last.1.max(end));
        self.0.splice(from..to.max(from), [(start, end)]);
        if self.0.len() > MOST {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        let pairs = self.0.chunks(2);
        let joined = pairs.filter_map(|pair| Some((pair.first()?.0, pair.last()?.1)));
        self.0 = joined.collect();
    }

    /// Whether a serial from `start` up to, not including, `end` is in a range.
    pub fn intersects(&self, start: u64, end: u64) -> bool {
        let at = self.0.partition_point(|range| range.1 <= start);
        self.0.get(at).is_some_and(|range| range.0 < end)
    }

    /// The number of ranges.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_where_they_touch() {
        let mut ranges = SerialRanges::default();
        for (start, end) in [(10, 20), (30, 40), (20, 25), (50, 60), (5, 6), (24, 31), (7, 7)] {
            ranges.insert(start, end);
        }
        assert_eq!(ranges.0, [(5, 6), (10, 40), (50, 60)]);
        assert!(ranges.intersects(39, 45) && ranges.intersects(0, 100) && ranges.intersects(5, 6));
        assert!(!ranges.intersects(40, 50) && !ranges.intersects(6, 10) && !ranges.intersects(60, 61));
    }

    #[test]
    fn many_ranges_become_fewer_that_cover_them() {
        let mut ranges = SerialRanges::default();
        for number in 0..10_000 {
            ranges.insert(number * 10, number * 10 + 1);
        }
        assert!(ranges.len() <= MOST);
        assert!((0..10_000).all(|number| ranges.intersects(number * 10, number * 10 + 1)));
    }
}
