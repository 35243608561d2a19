//! A sorted map of bytes in memory, for a database without a disk: pages shared by all versions of the map.
//!
//! A change makes a new map that shares every page it did not touch; who holds an older one goes on reading it.

use std::sync::Arc;

/// Items of a page; a page that grows past twice this is split.
const PAGE_ITEMS: usize = 128;

/// A key and its value.
pub(super) type Item = (Arc<[u8]>, Arc<[u8]>);

/// A key, and its value or none to remove it.
pub(super) type Change = (Arc<[u8]>, Option<Arc<[u8]>>);

type Page = Arc<Vec<Item>>;

/// One version of a map; a clone shares everything.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryMap {
    /// No page is empty; keys ascend within and across pages.
    pages: Arc<Vec<Page>>,
}

impl MemoryMap {
    /// The value of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<Arc<[u8]>> {
        let page = self.pages.get(self.page_of(key))?;
        let at = page.binary_search_by(|item| (*item.0).cmp(key)).ok()?;
        page.get(at).map(|item| Arc::clone(&item.1))
    }

    /// Bytes of all keys and values.
    pub(super) fn bytes(&self) -> u64 {
        let items = self.pages.iter().flat_map(|page| page.iter());
        items.map(|(key, value)| (key.len() + value.len()) as u64).sum()
    }

    /// The page that has, or would have, this key.
    fn page_of(&self, key: &[u8]) -> usize {
        let after = self
            .pages
            .partition_point(|page| page.first().is_some_and(|item| *item.0 <= *key));
        after.saturating_sub(1)
    }

    /// Where the first item that is not below the key lies, or the end of the page it would be in.
    fn position(&self, key: &[u8]) -> Position {
        let page = self.page_of(key);
        let item = self
            .pages
            .get(page)
            .map_or(0, |items| items.partition_point(|item| *item.0 < *key));
        Position { page, item }
    }

    /// The items with keys from `start` on and below `end`, from either side.
    pub(super) fn range(&self, start: &[u8], end: &[u8]) -> MemoryItems {
        MemoryItems {
            front: self.position(start),
            back: self.position(end),
            map: self.clone(),
        }
    }

    /// The map after the changes, sorted by key; `None` removes.
    pub(super) fn changed(&self, changes: Vec<Change>) -> MemoryMap {
        let mut pages = Vec::with_capacity(self.pages.len());
        let mut changes = changes.into_iter().peekable();
        for (at, page) in self.pages.iter().enumerate() {
            let next_first = self.pages.get(at.saturating_add(1)).and_then(|next| next.first());
            let mut here = Vec::new();
            while let Some(change) =
                changes.next_if(|change| next_first.is_none_or(|first| change.0 < first.0))
            {
                here.push(change);
            }
            if here.is_empty() {
                pages.push(Arc::clone(page));
            } else {
                push_split(merge_page(page, here), &mut pages);
            }
        }
        push_split(merge_page(&[], changes.collect()), &mut pages);
        MemoryMap {
            pages: Arc::new(pages),
        }
    }
}

/// One page's items after the changes that fall into it.
fn merge_page(items: &[Item], changes: Vec<Change>) -> Vec<Item> {
    let mut merged = Vec::with_capacity(items.len().saturating_add(changes.len()));
    let mut items = items.iter().peekable();
    for (key, value) in changes {
        while let Some(item) = items.next_if(|item| item.0 < key) {
            merged.push(item.clone());
        }
        items.next_if(|item| item.0 == key);
        if let Some(value) = value {
            merged.push((key, value));
        }
    }
    merged.extend(items.cloned());
    merged
}

fn push_split(items: Vec<Item>, pages: &mut Vec<Page>) {
    if items.len() <= PAGE_ITEMS * 2 {
        if !items.is_empty() {
            pages.push(Arc::new(items));
        }
        return;
    }
    for part in items.chunks(PAGE_ITEMS) {
        pages.push(Arc::new(part.to_vec()));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    page: usize,
    item: usize,
}

/// The items of a range, from either side.
#[derive(Debug)]
pub(super) struct MemoryItems {
    map: MemoryMap,
    front: Position,
    back: Position,
}

impl Iterator for MemoryItems {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        while self.front < self.back {
            let page = self.map.pages.get(self.front.page)?;
            if let Some(item) = page.get(self.front.item) {
                self.front.item += 1;
                return Some(item.clone());
            }
            self.front = Position {
                page: self.front.page + 1,
                item: 0,
            };
        }
        None
    }
}

impl DoubleEndedIterator for MemoryItems {
    fn next_back(&mut self) -> Option<Item> {
        while self.front < self.back {
            if let Some(item) = self.back.item.checked_sub(1) {
                self.back.item = item;
                return self.map.pages.get(self.back.page)?.get(item).cloned();
            }
            let page = self.back.page.checked_sub(1)?;
            let item = self.map.pages.get(page)?.len();
            self.back = Position { page, item };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn bytes(number: u64) -> Arc<[u8]> {
        Arc::from(&number.to_be_bytes()[5..])
    }

    #[test]
    fn every_version_reads_as_an_ordered_map_did() {
        let mut map = MemoryMap::default();
        let mut model = BTreeMap::new();
        let mut versions = Vec::new();
        let mut seed = 42u64;
        for round in 0..60 {
            let mut changes = BTreeMap::new();
            for _ in 0..(round * 13 % 400) {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let value = !(seed >> 20).is_multiple_of(3);
                changes.insert(bytes((seed >> 33) % 3000), value.then(|| bytes(seed >> 40)));
            }
            for (key, value) in &changes {
                match value {
                    Some(value) => model.insert(Arc::clone(key), Arc::clone(value)),
                    None => model.remove(key),
                };
            }
            map = map.changed(changes.into_iter().collect());
            versions.push((map.clone(), model.clone()));
        }
        for (map, model) in versions {
            for (low, high) in [(0, 3001), (100, 101), (17, 2000), (5, 5), (2999, 10_000)] {
                let (low, high) = (bytes(low), bytes(high));
                let expected: Vec<_> = model
                    .range(low.clone()..high.clone())
                    .map(|(k, v)| (k.clone(), v.clone()))
                    .collect();
                assert_eq!(map.range(&low, &high).collect::<Vec<_>>(), expected);
                let mut backward: Vec<_> = map.range(&low, &high).rev().collect();
                backward.reverse();
                assert_eq!(backward, expected);
            }
            for key in 0..3000 {
                assert_eq!(map.get(&bytes(key)), model.get(&bytes(key)).cloned());
            }
        }
    }
}
