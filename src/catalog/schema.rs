//! What a catalog says: classes, indexes and names, decoded and cross-linked.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::definition::OnDelete;
use super::merge::MergeRule;
use super::relationship::DeleteRule;
use super::stored::StoredClass;
pub use crate::index::{IndexId, IndexKind};
use crate::object::{ClassId, CommitNumber, Layout, Oid, Type, Value};

/// The schema and the names of one state of the database.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The commit that last changed a class or an index (names do not count): whoever bound an older one reruns.
    pub version: CommitNumber,
    /// All classes by identifier, user classes and system classes.
    pub classes: FxHashMap<ClassId, Arc<Class>>,
    /// Class identifiers by name.
    pub class_names: FxHashMap<Arc<str>, ClassId>,
    /// All indexes by identifier.
    pub indexes: FxHashMap<IndexId, Arc<Index>>,
    /// Index identifiers by name.
    pub index_names: FxHashMap<Arc<str>, IndexId>,
    /// The same classes by number, for the reads of objects: whoever reads one needs its class.
    pub by_number: Vec<Option<Arc<Class>>>,
    /// Named roots.
    pub names: FxHashMap<Arc<str>, Arc<Name>>,
    /// What a delete does to those that refer to the object, by its class; classes without rules are not in it.
    pub rules: FxHashMap<ClassId, Vec<DeleteRule>>,
    /// Whether objects of any class have values to convert.
    pub converts: bool,
    /// The slots that may hold references to objects of dependent classes, by class; empty where no class is dependent.
    pub holders: FxHashMap<ClassId, Vec<usize>>,
    /// Named queries.
    pub queries: FxHashMap<Arc<str>, Arc<NamedQuery>>,
}

/// A class.
#[derive(Debug, Clone)]
pub struct Class {
    /// Its identifier.
    pub id: ClassId,
    /// Its name.
    pub name: Arc<str>,
    /// The class it extends.
    pub superclass: Option<ClassId>,
    /// All attributes, inherited ones first, in declaration order.
    pub attributes: Vec<Attribute>,
    /// Where they lie in a record.
    pub layout: Arc<Layout>,
    /// This class and all below it, in ascending order: its polymorphic extent.
    pub family: Vec<ClassId>,
    /// Whether an attribute has an inverse that is stored too, so that a write of either side writes the other.
    pub relates: bool,
    /// Whether an attribute is read from an index ([`Attribute::is_derived`]).
    pub derives: bool,
    /// Whether bodies say all there is as they lie: nothing is derived, and nothing to be converted.
    pub plain: bool,
    /// Whether its objects live only while something reaches them: it, or a class above, was declared dependent.
    pub dependent: bool,
    /// The indexes that cover objects of exactly this class (its own and those of its superclasses).
    pub indexes: Vec<IndexId>,
    /// The catalog object that holds this definition; a system class has none.
    pub object: Option<Oid>,
    /// That object, decoded.
    pub stored: Arc<StoredClass>,
}

/// An attribute of a class.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub r#type: Type,
    /// Whether nil is refused.
    pub not_null: bool,
    /// The value where none is given.
    pub default: Value,
    /// The class that declares it (this one or one above).
    pub declared_in: ClassId,
    /// Its slot in records of this class.
    pub slot: usize,
    /// The attribute of the class it refers to that is its inverse.
    pub inverse: Option<Arc<str>>,
    /// What becomes of the object when the one it refers to here is deleted.
    pub on_delete: OnDelete,
    /// Whether it is a side of a relationship that only the reference stores, and an index reads backwards.
    pub index_backed: bool,
    /// How changes that were made at the same time come together.
    pub merge: Option<MergeRule>,
}

/// An index.
#[derive(Debug, Clone)]
pub struct Index {
    /// Its identifier.
    pub id: IndexId,
    /// Its name.
    pub name: Arc<str>,
    /// The class whose objects (subclasses included) it covers.
    pub class: ClassId,
    /// The indexed attributes, most significant first. For an index on a path, the one path.
    pub components: Vec<Component>,
    /// Its kind.
    pub kind: IndexKind,
    /// For an index on a path: the indexes it stands on, from the first reference to the attribute at the end. Such
    /// an index stores nothing itself.
    pub steps: Vec<IndexId>,
    /// Whether it may be used; while it is being built, writers maintain it but readers do not see it.
    pub ready: bool,
    /// Whether ranges can be read in key order (a unique index over long values knows only equality).
    pub ordered: bool,
    /// The catalog object that holds this definition.
    pub object: Oid,
}

/// One attribute of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// The attribute, or a path of references that ends in one.
    pub path: Vec<Arc<str>>,
    /// Whether larger values come first.
    pub descending: bool,
}

/// A named root.
#[derive(Debug, Clone)]
pub struct Name {
    /// The name.
    pub name: Arc<str>,
    /// What it stands for.
    pub value: Value,
    /// The catalog object that holds it.
    pub object: Oid,
}

/// A query kept under a name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedQuery {
    /// The name.
    pub name: Arc<str>,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// The query as canonical text.
    pub text: Arc<str>,
    /// The catalog object that holds it; `None` before it is written.
    pub object: Option<Oid>,
}

/// A method of a class: an expression over the object, kept as text.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// The name.
    pub name: Arc<str>,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// The type of its value.
    pub result: Type,
    /// The expression as canonical text.
    pub text: Arc<str>,
}

impl Method {
    /// Whether calls of one are calls of the other: the parameters are of the same types, and so is the result.
    pub fn is_called_like(&self, other: &Method) -> bool {
        let types = |method: &Method| -> Vec<Type> {
            let parameters = method.parameters.iter();
            parameters.map(|parameter| parameter.r#type.clone()).collect()
        };
        types(self) == types(other) && self.result == other.result
    }
}

/// A parameter of a named query or method.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name.
    pub name: Arc<str>,
    /// The type.
    pub r#type: Type,
}

impl Catalog {
    /// The class called `name`.
    pub fn class(&self, name: &str) -> Option<&Arc<Class>> {
        self.class_names.get(name).and_then(|id| self.classes.get(id))
    }

    /// The index called `name`.
    pub fn index(&self, name: &str) -> Option<&Arc<Index>> {
        self.index_names.get(name).and_then(|id| self.indexes.get(id))
    }

    /// The class with this identifier, if it exists; asked at every read of an object.
    #[inline(always)]
    pub fn live_class(&self, class: ClassId) -> Option<&Arc<Class>> {
        self.by_number.get(class.0 as usize)?.as_ref()
    }

    /// Whether the class exists.
    #[inline]
    pub fn is_live(&self, class: ClassId) -> bool {
        self.live_class(class).is_some()
    }

    /// The method called `name` that objects of `class` have, and the class that declares it: its own, or the nearest
    /// above.
    pub fn method(&self, class: &Class, name: &str) -> Option<(&Arc<Class>, &Method)> {
        let line = self.ancestry(class.id).into_iter();
        line.filter_map(|id| self.classes.get(&id))
            .find_map(|class| Some((class, class.own_method(name)?)))
    }

    /// Whether objects of `class` are also objects of `ancestor`.
    pub fn is_a(&self, class: ClassId, ancestor: ClassId) -> bool {
        self.classes
            .get(&ancestor)
            .is_some_and(|above| above.family.binary_search(&class).is_ok())
    }

    /// An object as text: `Person#42`; the class number where the class is unknown.
    pub fn describe(&self, oid: Oid) -> String {
        match self.classes.get(&oid.class()) {
            Some(class) => format!("{}#{}", class.name, oid.serial()),
            None => format!("{oid:?}"),
        }
    }
}

impl Attribute {
    /// Whether objects store nothing here: the members are those that refer to the object by the inverse, which has an
    /// index.
    pub fn is_derived(&self) -> bool {
        self.index_backed && matches!(self.r#type, Type::Set(_))
    }
}

impl Class {
    /// Whether an attribute is a reference that may not be nil, which is checked when a transaction commits.
    pub fn has_required_reference(&self) -> bool {
        self.attributes
            .iter()
            .any(|attribute| attribute.not_null && matches!(attribute.r#type, Type::Reference(_)))
    }

    /// The method called `name` that this class declares itself.
    pub fn own_method(&self, name: &str) -> Option<&Method> {
        self.stored.methods.iter().find(|method| &*method.name == name)
    }

    /// The attribute that is called `name` now, whatever was called so before.
    pub fn attribute_now(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| &*attribute.name == name)
    }

    /// The attribute that is, or else was, called `name`.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attribute_now(name).or_else(|| {
            let slot = self.layout.former_slot(name)?;
            self.attributes.iter().find(|attribute| attribute.slot == slot)
        })
    }
}
