//! Ranges of index keys, merged.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::index::IndexKey;

/// Disjoint ranges of encoded keys; each has its start and not its end (`None`: it has no end).
#[derive(Debug, Clone, Default)]
pub struct KeyRanges {
    ranges: BTreeMap<IndexKey, Option<IndexKey>>,
    /// Bytes of keys that are too long to lie in the map itself.
    spilled: usize,
}

/// More ranges than this are merged over the gaps between them.
const MOST: usize = 8192;
/// As well as when keys take more bytes than this.
const MOST_BYTES: usize = 1 << 20;

impl KeyRanges {
    /// Adds the keys from `start` up to, not including, `end`.
    pub fn insert(&mut self, start: &[u8], end: Option<&[u8]>) {
        if end.is_some_and(|end| end <= start) {
            return;
        }
        let mut first = IndexKey::from_slice(start);
        let mut last = end.map(IndexKey::from_slice);
        let before = self.ranges.range(..=first.clone()).next_back();
        if let Some((known, until)) = before
            && until.as_ref().is_none_or(|until| *until >= first)
        {
            if covers(until, &last) {
                return;
            }
            first = known.clone();
        }
        while let Some((known, until)) = self.touching(&first, &last) {
            self.ranges.remove(&known);
            if covers(&until, &last) {
                last = until;
            }
        }
        self.spilled = self.spilled.saturating_add(spilled(&first, &last));
        self.ranges.insert(first, last);
        if self.ranges.len() > MOST || self.spilled > MOST_BYTES {
            self.coarsen();
        }
    }

    /// A range that begins in or right after the given one.
    fn touching(&self, first: &IndexKey, last: &Option<IndexKey>) -> Option<(IndexKey, Option<IndexKey>)> {
        let upper = match last {
            Some(last) => Bound::Included(last),
            None => Bound::Unbounded,
        };
        let found = self
            .ranges
            .range::<IndexKey, _>((Bound::Included(first), upper))
            .next();
        found.map(|(first, last)| (first.clone(), last.clone()))
    }

    fn coarsen(&mut self) {
        let ranges: Vec<_> = std::mem::take(&mut self.ranges).into_iter().collect();
        let joined = ranges.chunks(2).filter_map(|pair| {
            let (first, _) = pair.first()?;
            let (_, last) = pair.last()?;
            Some((first.clone(), last.clone()))
        });
        self.ranges = joined.collect();
        self.spilled = self.ranges.iter().map(|(first, last)| spilled(first, last)).sum();
    }

    /// Whether a key is in a range.
    pub fn contains(&self, key: &IndexKey) -> bool {
        let before = self.ranges.range::<IndexKey, _>(..=key).next_back();
        before.is_some_and(|(_, last)| last.as_ref().is_none_or(|last| key < last))
    }

    /// Where in ascending keys the first one of any range is.
    pub fn first_in<T>(&self, sorted: &[T], key: impl Fn(&T) -> &IndexKey) -> Option<usize> {
        if sorted.len() <= self.ranges.len() {
            return sorted.iter().position(|item| self.contains(key(item)));
        }
        self.ranges.iter().find_map(|(first, last)| {
            let at = sorted.partition_point(|item| key(item) < first);
            let found = key(sorted.get(at)?);
            last.as_ref().is_none_or(|last| found < last).then_some(at)
        })
    }

    /// Bytes they take, about.
    pub fn bytes(&self) -> usize {
        self.ranges.len().saturating_mul(96).saturating_add(self.spilled)
    }
}

/// Whether a range up to `end` reaches as far as one up to `other`.
fn covers(end: &Option<IndexKey>, other: &Option<IndexKey>) -> bool {
    match (end, other) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(end), Some(other)) => end >= other,
    }
}

fn spilled(first: &IndexKey, last: &Option<IndexKey>) -> usize {
    let long = |key: &IndexKey| if key.spilled() { key.len() } else { 0 };
    long(first).saturating_add(last.as_ref().map_or(0, long))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> IndexKey {
        IndexKey::from_slice(text.as_bytes())
    }

    fn shown(ranges: &KeyRanges) -> Vec<String> {
        let text = |key: &IndexKey| String::from_utf8(key.to_vec()).unwrap();
        ranges
            .ranges
            .iter()
            .map(|(first, last)| format!("{}-{}", text(first), last.as_ref().map(text).unwrap_or_default()))
            .collect()
    }

    #[test]
    fn ranges_merge_where_they_touch() {
        let mut ranges = KeyRanges::default();
        for (start, end) in [
            ("d", "f"),
            ("k", "m"),
            ("f", "g"),
            ("a", "b"),
            ("l", "p"),
            ("e", "f"),
            ("z", "z"),
        ] {
            ranges.insert(start.as_bytes(), Some(end.as_bytes()));
        }
        assert_eq!(shown(&ranges), ["a-b", "d-g", "k-p"]);
        assert!(ranges.contains(&key("d")) && ranges.contains(&key("o")) && !ranges.contains(&key("g")));
        let sorted = ["b", "c", "g", "j"].map(key);
        assert_eq!(ranges.first_in(&sorted, |key| key), None);
        let sorted = ["b", "c", "e", "j"].map(key);
        assert_eq!(ranges.first_in(&sorted, |key| key), Some(2));
        ranges.insert(b"c", Some(b"l"));
        assert_eq!(shown(&ranges), ["a-b", "c-p"]);
        ranges.insert(b"n", None);
        assert_eq!(shown(&ranges), ["a-b", "c-"]);
        ranges.insert(b"", Some(b"x"));
        assert_eq!(shown(&ranges), ["-"]);
    }

    #[test]
    fn many_ranges_become_fewer_that_cover_them() {
        let mut ranges = KeyRanges::default();
        let keys: Vec<IndexKey> = (0..100_000u32)
            .map(|number| IndexKey::from_slice(&(number * 7).to_be_bytes()))
            .collect();
        for key in &keys {
            let mut end = key.clone();
            end.push(0);
            ranges.insert(key, Some(&end));
        }
        assert!(ranges.ranges.len() <= MOST && ranges.bytes() < 2 << 20);
        assert!(keys.iter().all(|key| ranges.contains(key)));
    }
}
