//! A catalog for tests, made by hand.

use std::sync::Arc;

use super::{Parameters, bind_statement};
use crate::catalog::{
    Attribute, Catalog, Class, Component, Index, IndexId, IndexKind, Name, OnDelete, StoredClass,
};
use crate::error::QueryError;
use crate::object::{ClassId, Layout, Oid, Slot, Type, Value};
use crate::query::parser::parse_statement;
use crate::query::plan::Statement;

/// `Person`, `Student` below it, `Dept`, `Site` and `Node` with `Leaf` below it; a root `ceo`; no indexes.
pub(in crate::query) fn classes() -> Catalog {
    let mut catalog = Catalog::default();
    let reference = Type::reference;
    let person: Vec<(&str, Type)> = vec![
        ("name", Type::String),
        ("age", Type::Int),
        ("score", Type::Float),
        ("dept", reference("Dept")),
        ("boss", reference("Person")),
        ("friends", Type::set(reference("Person"))),
        ("tags", Type::list(Type::String)),
        ("born", Type::Date),
        ("data", Type::Any),
    ];
    let mut student = person.clone();
    student.push(("school", Type::String));
    add_class(&mut catalog, 64, "Person", None, &[64, 65], person);
    add_class(&mut catalog, 65, "Student", Some(64), &[65], student);
    let dept = vec![
        ("name", Type::String),
        ("site", reference("Site")),
        ("budget", Type::Decimal),
    ];
    add_class(&mut catalog, 66, "Dept", None, &[66], dept);
    add_class(
        &mut catalog,
        67,
        "Site",
        None,
        &[67],
        vec![("city", Type::String)],
    );
    add_class(
        &mut catalog,
        68,
        "Node",
        None,
        &[68, 69],
        vec![("next", reference("Node"))],
    );
    let leaf = vec![
        ("next", reference("Node")),
        ("twigs", Type::list(reference("Node"))),
    ];
    add_class(&mut catalog, 69, "Leaf", Some(68), &[69], leaf);
    let root = Name {
        name: "ceo".into(),
        value: Value::Reference(oid(64, 1)),
        object: oid(3, 1),
    };
    catalog.names.insert("ceo".into(), Arc::new(root));
    catalog
}

/// [`classes`] with indexes: on single attributes, composite, unique, on a collection, and on a path.
pub(in crate::query) fn indexed() -> Catalog {
    let mut catalog = classes();
    add_index(&mut catalog, 1, "person_age", 64, &["age"], IndexKind::Ordered);
    add_index(&mut catalog, 2, "person_name", 64, &["name"], IndexKind::Unique);
    add_index(&mut catalog, 3, "person_dept", 64, &["dept"], IndexKind::Ordered);
    add_index(&mut catalog, 4, "person_tags", 64, &["tags"], IndexKind::Ordered);
    add_index(
        &mut catalog,
        5,
        "person_dept_age",
        64,
        &["dept", "age desc"],
        IndexKind::Ordered,
    );
    add_index(&mut catalog, 6, "dept_site", 66, &["site"], IndexKind::Ordered);
    add_index(&mut catalog, 7, "site_city", 67, &["city"], IndexKind::Ordered);
    add_index(
        &mut catalog,
        8,
        "person_city",
        64,
        &["dept.site.city"],
        IndexKind::Ordered,
    );
    if let Some(path) = catalog.indexes.get_mut(&IndexId(8)).and_then(Arc::get_mut) {
        path.steps = vec![IndexId(3), IndexId(6), IndexId(7)];
    }
    catalog
}

pub(in crate::query) fn oid(class: u32, serial: u64) -> Oid {
    Oid::new(ClassId(class), serial).expect("a good identifier")
}

fn add_class(
    catalog: &mut Catalog,
    id: u32,
    name: &str,
    superclass: Option<u32>,
    family: &[u32],
    attributes: Vec<(&str, Type)>,
) {
    let (id, superclass) = (ClassId(id), superclass.map(ClassId));
    let attribute = |(slot, (name, r#type)): (usize, &(&str, Type))| Attribute {
        name: (*name).into(),
        r#type: r#type.clone(),
        not_null: false,
        default: Value::Nil,
        declared_in: id,
        slot,
        inverse: None,
        on_delete: OnDelete::Leave,
        index_backed: false,
        merge: None,
    };
    let attributes: Vec<Attribute> = attributes.iter().enumerate().map(attribute).collect();
    let slots = attributes.iter().map(|attribute| Slot {
        name: attribute.name.clone(),
        r#type: attribute.r#type.clone(),
        default: Value::Nil,
        not_null: false,
        dropped: false,
        converted_from: None,
    });
    let layout = Layout::new(id, name.into(), slots.collect(), Vec::new());
    let stored = StoredClass::new(name.into(), superclass, Vec::new());
    let class = Class {
        id,
        name: name.into(),
        superclass,
        attributes,
        layout: Arc::new(layout),
        family: family.iter().map(|id| ClassId(*id)).collect(),
        relates: false,
        derives: false,
        plain: true,
        dependent: false,
        indexes: Vec::new(),
        object: None,
        stored: Arc::new(stored),
    };
    catalog.classes.insert(id, Arc::new(class));
    catalog.class_names.insert(name.into(), id);
}

fn add_index(catalog: &mut Catalog, id: u32, name: &str, class: u32, components: &[&str], kind: IndexKind) {
    let component = |text: &&str| Component {
        path: text.trim_end_matches(" desc").split('.').map(Arc::from).collect(),
        descending: text.ends_with(" desc"),
    };
    let index = Index {
        id: IndexId(id),
        name: name.into(),
        class: ClassId(class),
        components: components.iter().map(component).collect(),
        kind,
        steps: Vec::new(),
        ready: true,
        ordered: kind == IndexKind::Ordered,
        object: oid(2, u64::from(id)),
    };
    catalog.indexes.insert(index.id, Arc::new(index));
    catalog.index_names.insert(name.into(), IndexId(id));
}

/// Parses and binds one statement, with parameters of unknown type.
pub(in crate::query) fn bind(text: &str, catalog: &Catalog) -> Result<Statement, QueryError> {
    let statement = parse_statement(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let bound = bind_statement(&statement, catalog, &Parameters::Unknown)?;
    Ok(bound.unwrap_or_else(|| panic!("{text}: nothing to bind")))
}
