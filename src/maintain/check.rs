//! Checking a whole database, open and in use: every byte of the log, every object, every index.
//!
//! The log and the table are verified as files. Then one committed state is read: each object must decode, and each
//! index must have exactly as many entries as the objects give it.

use std::fmt;

use rustc_hash::FxHashMap;

use crate::catalog::{Class, IndexId, index_keys};
use crate::error::Result;
use crate::instance::Instance;
use crate::object::codec::read_all;
use crate::object::{ClassId, Record};
use crate::read::{ExtentPosition, Reader};
use crate::view::View;

/// Something wrong with stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Where: file and offset, object, or index.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

/// What a check has seen and found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// Objects read and decoded.
    pub objects: u64,
    /// Index entries counted.
    pub index_entries: u64,
    /// Everything found wrong; empty where all is well.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// Whether nothing wrong was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    fn find(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.findings.push(Finding {
            place: place.into(),
            what: what.into(),
        });
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        let outcome = match self.findings.len() {
            0 => "all is well".to_string(),
            1 => "1 finding".to_string(),
            more => format!("{more} findings"),
        };
        write!(
            f,
            "{} objects and {} index entries checked: {outcome}",
            self.objects, self.index_entries
        )
    }
}

/// Checks a database. Reads only, and may run while others read and write.
///
/// # Errors
/// Where the check itself cannot go on; what it finds is in the report.
pub fn check(instance: &Instance) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    instance.verify_files(&mut |place, what| report.find(place, what))?;
    let view = instance.pipeline().view();
    let mut expected: FxHashMap<IndexId, u64> = FxHashMap::default();
    let mut classes: Vec<ClassId> = view.catalog().classes.keys().copied().collect();
    classes.sort_unstable();
    for class in classes {
        check_extent(&view, class, &mut expected, &mut report)?;
    }
    check_indexes(&view, &expected, &mut report);
    Ok(report)
}

fn check_extent(
    view: &View,
    class: ClassId,
    expected: &mut FxHashMap<IndexId, u64>,
    report: &mut CheckReport,
) -> Result<()> {
    let class = view.catalog().class_by_id(class)?.clone();
    let mut position = ExtentPosition::default();
    loop {
        let mut records: Vec<Record<'_>> = Vec::new();
        if let Err(error) = view.scan(class.id, &mut position, BATCH, &mut records) {
            report.find(format!("the extent of {}", class.name), error.to_string());
            return Ok(());
        }
        if records.is_empty() {
            return Ok(());
        }
        for record in &records {
            report.objects = report.objects.saturating_add(1);
            if let Err(error) = check_object(view, &class, record, expected) {
                report.find(view.catalog().describe(record.oid), error.to_string());
            }
        }
    }
}

fn check_object(
    view: &View,
    class: &Class,
    record: &Record<'_>,
    expected: &mut FxHashMap<IndexId, u64>,
) -> Result<()> {
    read_all(&class.layout, &record.body)?;
    for id in &class.indexes {
        let Some(index) = view
            .catalog()
            .indexes
            .get(id)
            .filter(|index| index.ready && index.steps.is_empty())
        else {
            continue;
        };
        let keys = index_keys(index, &class.layout, &record.body, view.secret())?;
        let entries = expected.entry(*id).or_default();
        *entries = entries.saturating_add(keys.len() as u64);
    }
    Ok(())
}

fn check_indexes(view: &View, expected: &FxHashMap<IndexId, u64>, report: &mut CheckReport) {
    let mut indexes: Vec<_> = view.catalog().indexes.values().collect();
    indexes.sort_unstable_by_key(|index| index.id);
    for index in indexes
        .into_iter()
        .filter(|index| index.ready && index.steps.is_empty())
    {
        let wanted = expected.get(&index.id).copied().unwrap_or(0);
        match view.count_entries(index.id) {
            Ok(found) => {
                report.index_entries = report.index_entries.saturating_add(found);
                if found != wanted {
                    let what =
                        format!("it has {found} entries where the objects give {wanted}; drop and create it");
                    report.find(format!("the index {}", index.name), what);
                }
            }
            Err(error) => report.find(format!("the index {}", index.name), error.to_string()),
        }
    }
}

const BATCH: usize = 1024;
