//! Comparing indexes with the objects, in both directions.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::CheckReport;
use super::objects::{BATCH, Expected, Sum, hash};
use crate::catalog::{Index, IndexId, index_keys};
use crate::error::Result;
use crate::maintain::progress::{Watch, tell};
use crate::object::{ClassId, Oid, Record};
use crate::read::{Direction, ExtentPosition, Reader};
use crate::view::{EncodedRange, View};

/// Entries that are compared one by one at the same time.
const WINDOW: usize = 1 << 20;

/// Checks all indexes against what the objects give them.
pub(super) fn check(
    view: &View,
    expected: &Expected,
    report: &mut CheckReport,
    watch: Watch<'_>,
) -> Result<()> {
    let mut indexes: Vec<_> = view.catalog().indexes.values().collect();
    indexes.sort_unstable_by_key(|index| index.id);
    for index in indexes
        .into_iter()
        .filter(|index| index.ready && index.steps.is_empty())
    {
        let wanted = expected.get(&index.id).copied().unwrap_or_default();
        match sum_of(view, index.id, report, watch) {
            Ok(found) if found == wanted => check_count(view, index, found.entries, report),
            Ok(_) => compare(view, index, report, watch)?,
            Err(error @ crate::Error::Cancelled(_)) => return Err(error),
            Err(error) => report.find(format!("the index {}", index.name), error.to_string()),
        }
    }
    Ok(())
}

/// An index also keeps counts, which answer queries that only count.
fn check_count(view: &View, index: &Index, entries: u64, report: &mut CheckReport) {
    let place = format!("the index {}", index.name);
    match view.count_entries(index.id) {
        Ok(counted) if counted == entries => {}
        Ok(counted) => report.find(place, format!("it counts {counted} entries and has {entries}")),
        Err(error) => report.find(place, error.to_string()),
    }
}

/// The entries of an index, summed up.
fn sum_of(view: &View, index: IndexId, report: &mut CheckReport, watch: Watch<'_>) -> Result<Sum> {
    let mut sum = Sum::default();
    each_entry(view, index, &mut |key, oid| {
        sum.add(hash(key, oid));
        report.index_entries = report.index_entries.saturating_add(1);
        match report.index_entries % BATCH as u64 {
            0 => tell(watch, "reading indexes", report.index_entries, 0),
            _ => Ok(()),
        }
    })?;
    Ok(sum)
}

fn each_entry(view: &View, index: IndexId, visit: &mut dyn FnMut(&[u8], Oid) -> Result<()>) -> Result<()> {
    let everything = EncodedRange::Between(Vec::new(), None);
    let mut cursor = view.entries(index, &everything, Direction::Ascending)?;
    let mut entries = Vec::new();
    loop {
        entries.clear();
        cursor.next_entries(BATCH, &mut entries)?;
        if entries.is_empty() {
            return Ok(());
        }
        for (key, oid) in &entries {
            visit(key, *oid)?;
        }
    }
}

/// Names every entry that is missing and every one that should not be there. Goes through the objects in windows, and
/// for each of them through the index.
fn compare(view: &View, index: &Arc<Index>, report: &mut CheckReport, watch: Watch<'_>) -> Result<()> {
    let place = format!("the index {}", index.name);
    let mut classes = view.catalog().class_by_id(index.class)?.family.clone();
    classes.sort_unstable();
    let mut windows = Windows {
        view,
        index,
        classes,
        position: ExtentPosition::default(),
        next: Some(0),
    };
    while let Some(mut window) = windows.next_window()? {
        tell(watch, "comparing an index with the objects", 0, 0)?;
        each_entry(view, index.id, &mut |key, oid| {
            if !window.range.contains(&oid.to_bits()) {
                return Ok(());
            }
            if window.entries.remove(&hash(key, oid)).is_none() {
                let object = view.catalog().describe(oid);
                report.find(
                    &*place,
                    format!("it has an entry for {object} that the object does not give"),
                );
            }
            Ok(())
        })?;
        for oid in window.entries.into_values() {
            let object = view.catalog().describe(oid);
            report.find(
                &*place,
                format!("it has no entry for {object}; queries through it miss that object"),
            );
        }
    }
    Ok(())
}

/// What the objects of a range of OIDs give an index.
struct Window {
    range: std::ops::Range<u64>,
    entries: FxHashMap<u64, Oid>,
}

struct Windows<'a> {
    view: &'a View,
    index: &'a Arc<Index>,
    /// Classes still to read, ascending.
    classes: Vec<ClassId>,
    position: ExtentPosition,
    /// Where the next window begins; none after the last.
    next: Option<u64>,
}

impl Windows<'_> {
    fn next_window(&mut self) -> Result<Option<Window>> {
        let Some(start) = self.next else { return Ok(None) };
        let mut entries = FxHashMap::default();
        let mut end = start;
        while let Some(class) = self.classes.first().copied() {
            let mut records: Vec<Record<'_>> = Vec::new();
            // What cannot be read was found before; what is behind it in this class is not compared.
            let scanned = self.view.scan(class, &mut self.position, BATCH, &mut records);
            if records.is_empty() || scanned.is_err() {
                self.classes.remove(0);
                self.position = ExtentPosition::default();
                continue;
            }
            let layout = &self.view.catalog().class_by_id(class)?.layout;
            for record in &records {
                end = record.oid.to_bits().saturating_add(1);
                let keys = index_keys(self.index, layout, &record.body, self.view.secret());
                for (key, _) in keys.into_iter().flatten() {
                    entries.insert(hash(&key, record.oid), record.oid);
                }
            }
            if entries.len() >= WINDOW {
                self.next = Some(end);
                return Ok(Some(Window {
                    range: start..end,
                    entries,
                }));
            }
        }
        self.next = None;
        Ok(Some(Window {
            range: start..u64::MAX,
            entries,
        }))
    }
}
