//! Reading every object: it decodes, its references lead somewhere, and what it gives to indexes is summed up.

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::Xxh3Default;

use super::CheckReport;
use crate::catalog::{Class, IndexId, index_keys};
use crate::error::Result;
use crate::maintain::progress::{Watch, tell};
use crate::object::codec::{read_all, read_slot};
use crate::object::{ClassId, Oid, Record, Type, Value};
use crate::read::{ExtentPosition, Reader};
use crate::view::View;

/// Objects read together.
pub(super) const BATCH: usize = 1024;

/// Entries of an index, summed up so that their order does not matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) entries: u64,
    sum: u64,
}

impl Sum {
    pub(super) fn add(&mut self, entry: u64) {
        self.entries = self.entries.saturating_add(1);
        self.sum = self.sum.wrapping_add(entry);
    }
}

/// An entry of an index as one number.
pub(super) fn hash(key: &[u8], oid: Oid) -> u64 {
    let mut hasher = Xxh3Default::new();
    hasher.update(&oid.to_bits().to_le_bytes());
    hasher.update(key);
    hasher.digest()
}

/// What the objects give each index.
pub(super) type Expected = FxHashMap<IndexId, Sum>;

/// Checks all objects; gives what the indexes must hold.
pub(super) fn check(view: &View, report: &mut CheckReport, watch: Watch<'_>) -> Result<Expected> {
    let mut expected = Expected::default();
    let mut classes: Vec<ClassId> = view.catalog().classes.keys().copied().collect();
    classes.sort_unstable();
    let total = classes.iter().map(|class| view.extent_estimate(*class)).sum();
    for class in classes {
        let class = view.catalog().class_by_id(class)?.clone();
        let referring = referring_slots(&class);
        let mut position = ExtentPosition::default();
        loop {
            let records = read_batch(view, &class, &mut position, report);
            if records.is_empty() {
                break;
            }
            for record in &records {
                report.objects = report.objects.saturating_add(1);
                let checked = check_object(view, &class, record, &mut expected)
                    .and_then(|()| check_references(view, &class, &referring, record, report));
                if let Err(error) = checked {
                    report.find(view.catalog().describe(record.oid), error.to_string());
                }
            }
            tell(watch, "reading objects", report.objects, total)?;
        }
    }
    Ok(expected)
}

/// The next objects of a class; none at the end. Those that cannot be read are reported, and passed over.
fn read_batch<'a>(
    view: &'a View,
    class: &Class,
    position: &mut ExtentPosition,
    report: &mut CheckReport,
) -> Vec<Record<'a>> {
    let before = *position;
    let mut records = Vec::new();
    if view.scan(class.id, position, BATCH, &mut records).is_ok() {
        return records;
    }
    *position = before;
    records.clear();
    for _ in 0..BATCH {
        let (known, serial) = (records.len(), position.next_serial);
        match view.scan(class.id, position, 1, &mut records) {
            Ok(()) if records.len() == known => break,
            Ok(()) => {}
            Err(error) => {
                report.find(format!("the extent of {}", class.name), error.to_string());
                // Where the table itself cannot be read, the rest of the class is lost to this check.
                if position.next_serial == serial {
                    break;
                }
            }
        }
    }
    records
}

fn check_object(view: &View, class: &Class, record: &Record<'_>, expected: &mut Expected) -> Result<()> {
    read_all(&class.layout, &record.body)?;
    for id in &class.indexes {
        let index = view.catalog().indexes.get(id);
        let Some(index) = index.filter(|index| index.ready && index.steps.is_empty()) else {
            continue;
        };
        let sum = expected.entry(*id).or_default();
        for (key, _) in index_keys(index, &class.layout, &record.body, view.secret())? {
            sum.add(hash(&key, record.oid));
        }
    }
    Ok(())
}

/// The attributes that can hold references: slot and name.
fn referring_slots(class: &Class) -> Vec<(usize, std::sync::Arc<str>)> {
    let refers = |attribute: &&crate::catalog::Attribute| may_refer(&attribute.r#type);
    let slots = class.attributes.iter().filter(refers);
    slots
        .map(|attribute| (attribute.slot, attribute.name.clone()))
        .collect()
}

fn may_refer(r#type: &Type) -> bool {
    match r#type {
        Type::Reference(_) | Type::Any => true,
        Type::List(member) | Type::Set(member) | Type::Bag(member) => may_refer(member),
        Type::Map(key, value) => may_refer(key) || may_refer(value),
        Type::Struct(fields) => fields.iter().any(|(_, field)| may_refer(field)),
        _ => false,
    }
}

fn check_references(
    view: &View,
    class: &Class,
    slots: &[(usize, std::sync::Arc<str>)],
    record: &Record<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    for (slot, name) in slots {
        let value = read_slot(&class.layout, &record.body, *slot)?.to_value()?;
        let mut targets = Vec::new();
        references(&value, &mut targets);
        for target in targets {
            report.references = report.references.saturating_add(1);
            // A target that cannot be read is a finding of its own.
            if matches!(view.object(target), Ok(None)) {
                let catalog = view.catalog();
                let place = format!("{}.{name}", catalog.describe(record.oid));
                report.dangles(place, format!("{} is gone", catalog.describe(target)));
            }
        }
    }
    Ok(())
}

/// All references in a value. Values nest no deeper than they can be stored.
fn references(value: &Value, found: &mut Vec<Oid>) {
    if let Some(oid) = value.as_reference() {
        found.push(oid);
    } else if let Some(members) = value.as_members() {
        members.iter().for_each(|member| references(member, found));
    } else if let Some(entries) = value.as_entries() {
        for (key, value) in entries {
            references(key, found);
            references(value, found);
        }
    } else if let Some(fields) = value.as_fields() {
        fields.iter().for_each(|(_, field)| references(field, found));
    }
}
