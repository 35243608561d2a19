//! What the table says was there.

use std::sync::Arc;

use super::super::root::RootMetadata;
use super::super::table::Table;
use super::{Loss, Remains};
use crate::files::Disk;
use crate::object::{ClassId, Oid};

/// Compares what was found with the table, where that can be read: an object whose newest version is not among it was lost,
/// or an older version stands in for it.
pub(super) fn ask_table(disk: &Arc<dyn Disk>, numbers: &[u32], remains: &mut Remains) {
    let (table, root) = match Table::open(disk.clone()) {
        Ok((table, Some(root))) => (table, root),
        Ok((_, None)) => {
            remains.losses.push(lost_table("there is none", numbers));
            return;
        }
        Err(error) => {
            remains.losses.push(lost_table(&error.to_string(), numbers));
            return;
        }
    };
    if let Some(metadata) = RootMetadata::decode(&root.metadata) {
        for number in metadata.segments.iter().flat_map(|(first, last)| *first..=*last) {
            if numbers.binary_search(&number).is_err() {
                let what = "the segment file is missing";
                remains.losses.push(Loss::of_segment(number, 0, what));
            }
        }
        for (class, next) in metadata.serials {
            let known = remains.serials.entry(class).or_default();
            *known = next.max(*known);
        }
        remains.last_commit = remains.last_commit.max(metadata.last_commit);
        remains.last_time = remains.last_time.max(metadata.last_time);
    }
    let version = table.version();
    for class in version.classes() {
        ask_class(&version, class, remains);
    }
}

fn ask_class(version: &super::super::table::TableVersion, class: ClassId, remains: &mut Remains) {
    let mut serial = 0;
    let mut entries = Vec::new();
    loop {
        entries.clear();
        if let Err(error) = version.scan(class, &mut serial, 1024, &mut entries) {
            let what = format!("the table of class number {} cannot be read on: {error}", class.0);
            remains.losses.push(Loss {
                what,
                ..Loss::default()
            });
            return;
        }
        if entries.is_empty() {
            return;
        }
        for (oid, location) in &entries {
            compare(*oid, *location, remains);
        }
    }
}

fn compare(oid: Oid, location: super::super::position::Location, remains: &mut Remains) {
    let known = remains.versions.get(&oid.to_bits()).copied();
    let what = match known {
        // What lies later in the log was written after the table was.
        Some(known) if known.location.0 >= location.0 => return,
        Some(known) => format!(
            "the newest version cannot be read; the one of commit {} was taken",
            known.commit.0
        ),
        None => "the object cannot be read".to_string(),
    };
    remains.losses.push(Loss::of_object(oid, Some(location), what));
}

fn lost_table(why: &str, numbers: &[u32]) -> Loss {
    let mut what =
        format!("the object table cannot be read ({why}), so a lost object may not be known to be lost");
    let first = numbers.first().copied().unwrap_or(0);
    let last = numbers.last().copied().unwrap_or(0);
    let missing = (first..=last).filter(|number| numbers.binary_search(number).is_err());
    let missing: Vec<String> = missing.take(20).map(|number| number.to_string()).collect();
    if !missing.is_empty() {
        what.push_str("; there is no segment ");
        what.push_str(&missing.join(", "));
    }
    Loss {
        what,
        ..Loss::default()
    }
}
