//! Saving the catalog: what decodes and fits together.

use crate::catalog::{Catalog, Class, Index, SystemClass};
use crate::error::Result;
use crate::heap::{Loss, Remains};
use crate::maintain::SalvageReport;
use crate::object::Oid;

/// Reads the catalog objects that are there, gives those that hold to `take`, and the catalog they make up. Indexes are
/// marked as still to be built.
pub(super) fn salvage(
    remains: &Remains,
    report: &mut SalvageReport,
    take: &mut dyn FnMut(Oid, Vec<u8>) -> Result<()>,
) -> Result<Catalog> {
    let catalog = read(remains, report)?;
    let mut entries: Vec<(Oid, Vec<u8>)> = Vec::new();
    for class in catalog.classes.values() {
        let Some(object) = class.object else { continue };
        entries.push((object, class_body(&catalog, class, report)?));
    }
    for index in catalog.indexes.values() {
        match misfit(&catalog, index) {
            None => entries.push((index.object, Catalog::unbuilt(index)?)),
            Some(why) => {
                let what = format!("the index {} was left out: {why}", index.name);
                report.losses.push(Loss::of_object(index.object, None, what));
            }
        }
    }
    entries.sort_unstable();
    for (oid, version) in remains.objects() {
        let is_entry = entries.binary_search_by_key(&oid, |(oid, _)| *oid);
        if !oid.class().is_system() {
            continue;
        }
        match is_entry {
            Ok(index) => {
                let body = entries.get(index).map(|(_, body)| body.clone());
                take(oid, body.unwrap_or_default())?;
            }
            // Names, and what else stands in the catalog by itself.
            Err(_) if stands_alone(oid) => take(oid, remains.body(oid, &version)?)?,
            Err(_) => {}
        }
    }
    Ok(catalog)
}

/// The catalog of all entries that decode.
fn read(remains: &Remains, report: &mut SalvageReport) -> Result<Catalog> {
    let mut catalog = Catalog::empty()?;
    for (oid, version) in remains.objects() {
        if !oid.class().is_system() {
            continue;
        }
        let body = remains.body(oid, &version);
        let next = body.and_then(|body| catalog.after(version.commit, [(oid, Some(body.as_slice()))]));
        match next {
            Ok(next) => catalog = next,
            Err(error) => {
                let what = format!("an entry of the catalog cannot be read: {error}");
                report
                    .losses
                    .push(Loss::of_object(oid, Some(version.location), what));
            }
        }
    }
    Ok(catalog)
}

/// The body of a class; one whose superclass is lost becomes a class without one, and keeps all its attributes.
fn class_body(catalog: &Catalog, class: &Class, report: &mut SalvageReport) -> Result<Vec<u8>> {
    let lost = class
        .superclass
        .filter(|superclass| !catalog.classes.contains_key(superclass));
    if let Some(superclass) = lost
        && let Some(object) = class.object
    {
        let what = format!(
            "the class {} no longer extends class number {}, which is lost",
            class.name, superclass.0
        );
        report.losses.push(Loss::of_object(object, None, what));
    }
    let mut stored = (*class.stored).clone();
    if lost.is_some() {
        stored.superclass = None;
    }
    stored.encode()
}

/// Why an index does not fit the classes that are left.
fn misfit(catalog: &Catalog, index: &Index) -> Option<String> {
    let Some(class) = catalog.classes.get(&index.class) else {
        return Some(format!("its class number {} is lost", index.class.0));
    };
    for step in &index.steps {
        if catalog
            .indexes
            .get(step)
            .is_none_or(|step| misfit(catalog, step).is_some())
        {
            return Some(format!("the index number {} it stands on is lost", step.0));
        }
    }
    for component in &index.components {
        if let Some(name) = component.path.first()
            && class.attribute(name).is_none()
        {
            return Some(format!("{} has no attribute {name}", class.name));
        }
    }
    None
}

/// Classes and indexes were looked at together; names, and all other entries, stand alone.
fn stands_alone(oid: Oid) -> bool {
    let of = SystemClass::of(oid.class());
    of.is_some() && !matches!(of, Some(SystemClass::Class | SystemClass::Index))
}
