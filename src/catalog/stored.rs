//! Catalog entries as objects of system classes: their layouts, and the way to bytes and back.
//!
//! | system class | serial number | attributes |
//! | --- | --- | --- |
//! | `OlivineClass` | class id - 63 | name, superclass (class id or nil), lists of slots, methods, history; version, dependent |
//! | `OlivineIndex` | index id | name, class, kind, components, steps, ready, ordered |
//! | `OlivineName` | any | name, value |
//! | `OlivineQuery` | any | name, parameters: a list of structs, text |
//!
//! A type is stored as text where it has no parts (`'int'`), else as a list: `['list', member]`, `['map', key,
//! value]`, `['reference', class name]`, `['struct', [field name, type], ...]`.

use std::sync::{Arc, LazyLock};

use super::definition::OnDelete;
use super::merge::MergeRule;
use super::schema::{Component, Index, IndexId, IndexKind, Method, NamedQuery, Parameter};
use super::stored_value::{
    class_id, damaged, field, flag, index_id, list, number, optional_field, text, type_from_value,
    type_to_value,
};
use crate::error::Result;
use crate::object::codec::{encode_body, read_slot};
use crate::object::{ClassId, Layout, Oid, Slot, Type, Value};

/// The classes the catalog itself is stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemClass {
    /// Classes.
    Class,
    /// Indexes.
    Index,
    /// Named roots.
    Name,
    /// Named queries.
    Query,
}

impl SystemClass {
    /// All of them, in the order they must be loaded.
    pub const ALL: [SystemClass; 4] = [
        SystemClass::Class,
        SystemClass::Index,
        SystemClass::Name,
        SystemClass::Query,
    ];

    /// The class identifier.
    pub fn id(self) -> ClassId {
        match self {
            SystemClass::Class => ClassId(1),
            SystemClass::Index => ClassId(2),
            SystemClass::Name => ClassId(3),
            SystemClass::Query => ClassId(4),
        }
    }

    /// The system class with this identifier.
    pub fn of(id: ClassId) -> Option<SystemClass> {
        Self::ALL.into_iter().find(|class| class.id() == id)
    }

    /// Its layout, fixed for ever (attributes may be appended).
    pub fn layout(self) -> &'static Arc<Layout> {
        static CLASS: LazyLock<Arc<Layout>> = LazyLock::new(|| {
            system_layout(
                SystemClass::Class,
                "OlivineClass",
                &[
                    ("name", Type::String),
                    ("superclass", Type::Int),
                    ("slots", Type::Any),
                    ("methods", Type::Any),
                    ("version", Type::Int),
                    ("history", Type::Any),
                    ("dependent", Type::Bool),
                ],
            )
        });
        static INDEX: LazyLock<Arc<Layout>> = LazyLock::new(|| {
            let attributes = [
                ("name", Type::String),
                ("class", Type::Int),
                ("kind", Type::String),
                ("components", Type::Any),
                ("steps", Type::Any),
                ("ready", Type::Bool),
                ("ordered", Type::Bool),
            ];
            system_layout(SystemClass::Index, "OlivineIndex", &attributes)
        });
        static NAME: LazyLock<Arc<Layout>> = LazyLock::new(|| {
            system_layout(
                SystemClass::Name,
                "OlivineName",
                &[("name", Type::String), ("value", Type::Any)],
            )
        });
        static QUERY: LazyLock<Arc<Layout>> = LazyLock::new(|| {
            let attributes = [
                ("name", Type::String),
                ("parameters", Type::Any),
                ("text", Type::String),
            ];
            system_layout(SystemClass::Query, "OlivineQuery", &attributes)
        });
        match self {
            SystemClass::Class => &CLASS,
            SystemClass::Index => &INDEX,
            SystemClass::Name => &NAME,
            SystemClass::Query => &QUERY,
        }
    }
}

fn system_layout(class: SystemClass, name: &str, attributes: &[(&str, Type)]) -> Arc<Layout> {
    let slot = |(name, r#type): &(&str, Type)| Slot {
        name: (*name).into(),
        r#type: r#type.clone(),
        default: Value::Nil,
        not_null: false,
        dropped: false,
        converted_from: None,
    };
    let slots = attributes.iter().map(slot).collect();
    Arc::new(Layout::new(class.id(), name.into(), slots, Vec::new()))
}

/// A class as its catalog object holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredClass {
    /// The name.
    pub name: Arc<str>,
    /// The class it extends.
    pub superclass: Option<ClassId>,
    /// All slots of its records, inherited ones included.
    pub slots: Vec<StoredSlot>,
    /// The methods it declares itself.
    pub methods: Vec<Method>,
    /// 1 when it was created, one more with each change.
    pub version: u32,
    /// The changes, oldest first.
    pub history: Vec<ClassVersion>,
    /// Whether it was declared dependent itself.
    pub dependent: bool,
}

/// A version of a class, and the change that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassVersion {
    /// The number, from 2 on.
    pub version: u32,
    /// What changed, as a sentence.
    pub change: Arc<str>,
}

/// A slot of a [`StoredClass`].
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSlot {
    /// The attribute's name.
    pub name: Arc<str>,
    /// Its type.
    pub r#type: Type,
    /// Its default.
    pub default: Value,
    /// Whether nil is refused.
    pub not_null: bool,
    /// Whether it was dropped.
    pub dropped: bool,
    /// The class that declares it; `None` for the class itself.
    pub declared_in: Option<ClassId>,
    /// The names it had before, oldest first.
    pub formerly: Vec<Arc<str>>,
    /// The attribute of the class it refers to that is its inverse.
    pub inverse: Option<Arc<str>>,
    /// What becomes of the object when the one it refers to here is deleted.
    pub on_delete: OnDelete,
    /// Whether it is a side of a relationship that only the reference stores, and an index reads backwards.
    pub index_backed: bool,
    /// The slot the attribute had before it was retyped, where bodies without this one are converted from that.
    pub converted_from: Option<u32>,
    /// How changes that were made at the same time come together.
    pub merge: Option<MergeRule>,
}

/// An index as its catalog object holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredIndex {
    /// The name.
    pub name: Arc<str>,
    /// The class it is on.
    pub class: ClassId,
    /// Its kind.
    pub kind: IndexKind,
    /// Its components.
    pub components: Vec<Component>,
    /// The indexes a path index stands on.
    pub steps: Vec<IndexId>,
    /// Whether it is built.
    pub ready: bool,
    /// Whether ranges can be read from it.
    pub ordered: bool,
}

/// A named root as its catalog object holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredName {
    /// The name.
    pub name: Arc<str>,
    /// What it stands for.
    pub value: Value,
}

impl StoredClass {
    /// The first version of a class.
    pub fn new(name: Arc<str>, superclass: Option<ClassId>, slots: Vec<StoredSlot>) -> Self {
        StoredClass {
            name,
            superclass,
            slots,
            methods: Vec::new(),
            version: 1,
            history: Vec::new(),
            dependent: false,
        }
    }

    /// The body of the catalog object.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let slots = Value::list(self.slots.iter().map(StoredSlot::to_value));
        let superclass = self
            .superclass
            .map_or(Value::Nil, |class| Value::Int(i64::from(class.0)));
        let methods = match self.methods.is_empty() {
            true => Value::Nil,
            false => Value::list(self.methods.iter().map(method_to_value)),
        };
        let version = |version: &ClassVersion| {
            Value::structure([
                ("version", Value::Int(i64::from(version.version))),
                ("change", Value::String(version.change.clone())),
            ])
        };
        let values = [
            Value::String(self.name.clone()),
            superclass,
            slots,
            methods,
            Value::Int(i64::from(self.version)),
            Value::list(self.history.iter().map(version)),
            Value::Bool(self.dependent),
        ];
        encode_body(SystemClass::Class.layout(), &values)
    }

    /// The class in the body of a catalog object.
    pub fn decode(body: &[u8]) -> Result<StoredClass> {
        let entry = Entry {
            class: SystemClass::Class,
            body,
        };
        let slots = entry.list("slots")?;
        let history = match entry.value("history")? {
            Value::Nil => Vec::new(),
            versions => list(&versions)?
                .iter()
                .map(ClassVersion::from_value)
                .collect::<Result<_>>()?,
        };
        Ok(StoredClass {
            name: entry.text("name")?,
            superclass: match entry.value("superclass")? {
                Value::Nil => None,
                id => Some(class_id(&id)?),
            },
            slots: slots.iter().map(StoredSlot::from_value).collect::<Result<_>>()?,
            methods: match entry.value("methods")? {
                Value::Nil => Vec::new(),
                methods => list(&methods)?
                    .iter()
                    .map(method_from_value)
                    .collect::<Result<_>>()?,
            },
            version: match entry.value("version")? {
                Value::Nil => 1,
                version => number(&version)?,
            },
            history,
            dependent: match entry.value("dependent")? {
                Value::Nil => false,
                dependent => flag(&dependent)?,
            },
        })
    }
}

impl ClassVersion {
    fn from_value(value: &Value) -> Result<ClassVersion> {
        Ok(ClassVersion {
            version: number(field(value, "version")?)?,
            change: text(field(value, "change")?)?,
        })
    }
}

impl StoredSlot {
    /// The slot of an optional attribute.
    pub fn new(name: Arc<str>, r#type: Type) -> Self {
        StoredSlot {
            name,
            r#type,
            default: Value::Nil,
            not_null: false,
            dropped: false,
            declared_in: None,
            formerly: Vec::new(),
            inverse: None,
            on_delete: OnDelete::Leave,
            index_backed: false,
            converted_from: None,
            merge: None,
        }
    }

    fn to_value(&self) -> Value {
        let declared_in = self
            .declared_in
            .map_or(Value::Nil, |class| Value::Int(i64::from(class.0)));
        let backed = self.index_backed.then_some(("index_backed", Value::Bool(true)));
        let fields = [
            ("name", Value::String(self.name.clone())),
            ("type", type_to_value(&self.r#type)),
            ("default", self.default.clone()),
            ("not_null", Value::Bool(self.not_null)),
            ("dropped", Value::Bool(self.dropped)),
            ("declared_in", declared_in),
            (
                "formerly",
                Value::list(self.formerly.iter().cloned().map(Value::String)),
            ),
            ("inverse", self.inverse.clone().map_or(Value::Nil, Value::String)),
            ("on_delete", Value::from(on_delete_word(self.on_delete))),
        ];
        let converted = self
            .converted_from
            .map(|slot| ("converted_from", Value::Int(i64::from(slot))));
        let merge = self.merge.map(|rule| ("merge", Value::from(rule.word())));
        Value::structure(fields.into_iter().chain(backed).chain(converted).chain(merge))
    }

    fn from_value(value: &Value) -> Result<StoredSlot> {
        Ok(StoredSlot {
            name: text(field(value, "name")?)?,
            r#type: type_from_value(field(value, "type")?)?,
            default: field(value, "default")?.clone(),
            not_null: flag(field(value, "not_null")?)?,
            dropped: flag(field(value, "dropped")?)?,
            declared_in: match field(value, "declared_in")? {
                Value::Nil => None,
                id => Some(class_id(id)?),
            },
            formerly: match optional_field(value, "formerly") {
                Value::Nil => Vec::new(),
                names => list(names)?.iter().map(text).collect::<Result<_>>()?,
            },
            inverse: match optional_field(value, "inverse") {
                Value::Nil => None,
                name => Some(text(name)?),
            },
            on_delete: match optional_field(value, "on_delete") {
                Value::Nil => OnDelete::Leave,
                word => on_delete(&text(word)?)?,
            },
            index_backed: matches!(optional_field(value, "index_backed"), Value::Bool(true)),
            converted_from: match optional_field(value, "converted_from") {
                Value::Nil => None,
                slot => Some(number(slot)?),
            },
            merge: match optional_field(value, "merge") {
                Value::Nil => None,
                word => Some(merge_rule(&text(word)?)?),
            },
        })
    }
}

fn on_delete_word(on_delete: OnDelete) -> &'static str {
    match on_delete {
        OnDelete::Leave => "leave",
        OnDelete::Restrict => "restrict",
        OnDelete::Clear => "clear",
        OnDelete::Cascade => "cascade",
    }
}

fn merge_rule(word: &str) -> Result<MergeRule> {
    MergeRule::of_word(word).ok_or_else(|| damaged(format!("an unknown merge rule {word}")))
}

fn on_delete(word: &str) -> Result<OnDelete> {
    Ok(match word {
        "leave" => OnDelete::Leave,
        "restrict" => OnDelete::Restrict,
        "clear" => OnDelete::Clear,
        "cascade" => OnDelete::Cascade,
        other => return Err(damaged(format!("the unknown rule {other} for deletes"))),
    })
}

impl StoredIndex {
    /// The catalog object of an index that exists.
    pub fn of(index: &Index) -> StoredIndex {
        StoredIndex {
            name: index.name.clone(),
            class: index.class,
            kind: index.kind,
            components: index.components.clone(),
            steps: index.steps.clone(),
            ready: index.ready,
            ordered: index.ordered,
        }
    }

    /// The body of the catalog object.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let kind = match self.kind {
            IndexKind::Ordered => "ordered",
            IndexKind::Unique => "unique",
        };
        let component = |component: &Component| {
            let path = Value::list(component.path.iter().map(|step| Value::String(step.clone())));
            Value::structure([("path", path), ("descending", Value::Bool(component.descending))])
        };
        let steps = Value::list(self.steps.iter().map(|step| Value::Int(i64::from(step.0))));
        let values = [
            Value::String(self.name.clone()),
            Value::Int(i64::from(self.class.0)),
            Value::from(kind),
            Value::list(self.components.iter().map(component)),
            steps,
            Value::Bool(self.ready),
            Value::Bool(self.ordered),
        ];
        encode_body(SystemClass::Index.layout(), &values)
    }

    /// The index in the body of a catalog object.
    pub fn decode(body: &[u8]) -> Result<StoredIndex> {
        let entry = Entry {
            class: SystemClass::Index,
            body,
        };
        let kind = match &*entry.text("kind")? {
            "ordered" => IndexKind::Ordered,
            "unique" => IndexKind::Unique,
            other => return Err(damaged(format!("an index of the unknown kind {other}"))),
        };
        let component = |value: &Value| -> Result<Component> {
            let path = list(field(value, "path")?)?
                .iter()
                .map(text)
                .collect::<Result<_>>()?;
            Ok(Component {
                path,
                descending: flag(field(value, "descending")?)?,
            })
        };
        Ok(StoredIndex {
            name: entry.text("name")?,
            class: class_id(&entry.value("class")?)?,
            kind,
            components: entry
                .list("components")?
                .iter()
                .map(component)
                .collect::<Result<_>>()?,
            steps: entry.list("steps")?.iter().map(index_id).collect::<Result<_>>()?,
            ready: flag(&entry.value("ready")?)?,
            ordered: flag(&entry.value("ordered")?)?,
        })
    }
}

impl StoredName {
    /// The body of the catalog object.
    pub fn encode(&self) -> Result<Vec<u8>> {
        encode_body(
            SystemClass::Name.layout(),
            &[Value::String(self.name.clone()), self.value.clone()],
        )
    }

    /// The name in the body of a catalog object.
    pub fn decode(body: &[u8]) -> Result<StoredName> {
        let entry = Entry {
            class: SystemClass::Name,
            body,
        };
        Ok(StoredName {
            name: entry.text("name")?,
            value: entry.value("value")?,
        })
    }
}

impl NamedQuery {
    /// The body of the catalog object.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let values = [
            Value::String(self.name.clone()),
            parameters_to_value(&self.parameters),
            Value::String(self.text.clone()),
        ];
        encode_body(SystemClass::Query.layout(), &values)
    }

    /// The named query in the body of the catalog object.
    pub fn decode(object: Oid, body: &[u8]) -> Result<NamedQuery> {
        let entry = Entry {
            class: SystemClass::Query,
            body,
        };
        Ok(NamedQuery {
            name: entry.text("name")?,
            parameters: parameters_from_value(&entry.value("parameters")?)?,
            text: entry.text("text")?,
            object: Some(object),
        })
    }
}

fn parameters_to_value(parameters: &[Parameter]) -> Value {
    let parameter = |parameter: &Parameter| {
        Value::structure([
            ("name", Value::String(parameter.name.clone())),
            ("type", type_to_value(&parameter.r#type)),
        ])
    };
    Value::list(parameters.iter().map(parameter))
}

fn parameters_from_value(value: &Value) -> Result<Vec<Parameter>> {
    let parameter = |value: &Value| -> Result<Parameter> {
        Ok(Parameter {
            name: text(field(value, "name")?)?,
            r#type: type_from_value(field(value, "type")?)?,
        })
    };
    list(value)?.iter().map(parameter).collect()
}

fn method_to_value(method: &Method) -> Value {
    Value::structure([
        ("name", Value::String(method.name.clone())),
        ("parameters", parameters_to_value(&method.parameters)),
        ("result", type_to_value(&method.result)),
        ("text", Value::String(method.text.clone())),
    ])
}

fn method_from_value(value: &Value) -> Result<Method> {
    Ok(Method {
        name: text(field(value, "name")?)?,
        parameters: parameters_from_value(field(value, "parameters")?)?,
        result: type_from_value(field(value, "result")?)?,
        text: text(field(value, "text")?)?,
    })
}

/// The body of a catalog object, read attribute by attribute.
struct Entry<'a> {
    class: SystemClass,
    body: &'a [u8],
}

impl Entry<'_> {
    fn value(&self, name: &str) -> Result<Value> {
        let layout = self.class.layout();
        let slot = layout
            .slot(name)
            .ok_or_else(|| damaged(format!("no attribute {name}")))?;
        read_slot(layout, self.body, slot)?.to_value()
    }

    fn text(&self, name: &str) -> Result<Arc<str>> {
        text(&self.value(name)?)
    }

    fn list(&self, name: &str) -> Result<Arc<[Value]>> {
        list(&self.value(name)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_comes_back_from_its_catalog_object() {
        let slot = |name: &str, r#type: Type| StoredSlot {
            index_backed: false,
            converted_from: None,
            name: name.into(),
            r#type,
            default: Value::Int(7),
            not_null: true,
            dropped: false,
            declared_in: Some(ClassId(70)),
            formerly: vec!["y".into()],
            inverse: Some("z".into()),
            on_delete: OnDelete::Cascade,
            merge: Some(MergeRule::Union),
        };
        let types = [
            Type::Any,
            Type::reference("Book"),
            Type::list(Type::Float),
            Type::set(Type::Uuid),
            Type::map(Type::String, Type::bag(Type::Int)),
            Type::structure([("a", Type::Bool), ("b", Type::Bytes)]),
        ];
        let slots = types.into_iter().map(|r#type| slot("x", r#type)).collect();
        let class = StoredClass {
            name: "Note".into(),
            superclass: Some(ClassId(64)),
            slots,
            methods: vec![Method {
                name: "twice".into(),
                parameters: vec![Parameter {
                    name: "n".into(),
                    r#type: Type::Int,
                }],
                result: Type::list(Type::Int),
                text: "list(n, n)".into(),
            }],
            version: 2,
            history: vec![ClassVersion {
                version: 2,
                change: "it changed".into(),
            }],
            dependent: true,
        };
        assert_eq!(StoredClass::decode(&class.encode().unwrap()).unwrap(), class);
    }

    #[test]
    fn an_index_a_name_and_a_query_come_back_from_their_catalog_objects() {
        let index = StoredIndex {
            name: "by_year".into(),
            class: ClassId(64),
            kind: IndexKind::Unique,
            components: vec![Component {
                path: vec!["a".into(), "b".into()],
                descending: true,
            }],
            steps: vec![IndexId(3)],
            ready: false,
            ordered: true,
        };
        assert_eq!(StoredIndex::decode(&index.encode().unwrap()).unwrap(), index);
        let name = StoredName {
            name: "root".into(),
            value: Value::from("x"),
        };
        assert_eq!(StoredName::decode(&name.encode().unwrap()).unwrap(), name);
        let object = Oid::new(SystemClass::Query.id(), 1).unwrap();
        let query = NamedQuery {
            name: "old".into(),
            parameters: Vec::new(),
            text: "select 1".into(),
            object: Some(object),
        };
        assert_eq!(
            NamedQuery::decode(object, &query.encode().unwrap()).unwrap(),
            query
        );
    }
}
