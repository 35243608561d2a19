//! Whether the catalog hangs together.

use super::CheckReport;
use crate::catalog::{Catalog, Class, Index};
use crate::object::Value;
use crate::read::Reader;
use crate::view::View;

/// Checks classes, indexes and names against one another.
pub(super) fn check(view: &View, report: &mut CheckReport) {
    let catalog = view.catalog();
    for class in catalog.classes.values() {
        check_class(catalog, class, report);
    }
    for index in catalog.indexes.values() {
        check_index(catalog, index, report);
    }
    for name in catalog.names.values() {
        if let Value::Reference(oid) = name.value
            && view.object(oid).is_ok_and(|found| found.is_none())
        {
            let target = catalog.describe(oid);
            report.dangles(format!("the name {}", name.name), format!("{target} is gone"));
        }
    }
}

fn check_class(catalog: &Catalog, class: &Class, report: &mut CheckReport) {
    let place = || format!("the class {}", class.name);
    if let Some(superclass) = class.superclass
        && !catalog.classes.contains_key(&superclass)
    {
        report.find(
            place(),
            format!("the class number {} it extends does not exist", superclass.0),
        );
    }
    if catalog.class_names.get(&class.name) != Some(&class.id) {
        report.find(place(), "another class has the same name");
    }
}

fn check_index(catalog: &Catalog, index: &Index, report: &mut CheckReport) {
    let place = || format!("the index {}", index.name);
    let Some(class) = catalog.classes.get(&index.class) else {
        report.find(
            place(),
            format!("the class number {} it is on does not exist", index.class.0),
        );
        return;
    };
    for component in &index.components {
        let first = component.path.first();
        if first.is_none_or(|name| class.attribute(name).is_none()) {
            let name = first.map_or("", |name| name);
            report.find(place(), format!("{} has no attribute {name}", class.name));
        }
    }
    for step in &index.steps {
        if !catalog.indexes.contains_key(step) {
            report.find(
                place(),
                format!("the index number {} it stands on does not exist", step.0),
            );
        }
    }
    if catalog.index_names.get(&index.name) != Some(&index.id) {
        report.find(place(), "another index has the same name");
    }
}
