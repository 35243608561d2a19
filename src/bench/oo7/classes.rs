//! The classes of OO7 as Rust types.
//!
//! Every reference has its counterpart in the other object, kept by the loader and by S1 and S2. Bags keep
//! duplicates, so they are lists here. Beside the full types there are narrow ones that view the same classes: what
//! a traversal decodes that needs no more.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::{Class, Database, Ref, Type};

/// A module: an assembly tree and a manual.
#[derive(Debug, Serialize, Deserialize)]
pub struct Module {
    /// The benchmark's own number, counted in its class.
    pub id: i64,
    /// One of ten names.
    pub r#type: String,
    /// The build date.
    pub build_date: i64,
    /// Its manual.
    pub manual: Option<Ref<Manual>>,
    /// All its assemblies.
    pub assemblies: Vec<Ref<Assembly>>,
    /// The root of the tree.
    pub design_root: Option<Ref<ComplexAssembly>>,
}

/// The manual of a module.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manual {
    /// Its title.
    pub title: String,
    /// The id of its module.
    pub id: i64,
    /// Its text.
    pub text: String,
    /// The length of the text in bytes.
    pub text_length: i64,
    /// Its module.
    pub module: Ref<Module>,
}

/// A node of an assembly tree.
#[derive(Debug, Serialize, Deserialize)]
pub struct Assembly {
    /// The benchmark's own number, counted in its class.
    pub id: i64,
    /// One of ten names.
    pub r#type: String,
    /// The build date.
    pub build_date: i64,
    /// The node above; the root has none.
    pub super_assembly: Option<Ref<ComplexAssembly>>,
    /// Its module.
    pub module: Ref<Module>,
}

/// An inner node.
#[derive(Debug, Serialize, Deserialize)]
pub struct ComplexAssembly {
    /// The benchmark's own number, counted in its class.
    pub id: i64,
    /// One of ten names.
    pub r#type: String,
    /// The build date.
    pub build_date: i64,
    /// See [`Assembly`].
    pub super_assembly: Option<Ref<ComplexAssembly>>,
    /// See [`Assembly`].
    pub module: Ref<Module>,
    /// The nodes below: complex assemblies, or base assemblies on the last level but one.
    pub sub_assemblies: Vec<Ref<Assembly>>,
}

/// A leaf.
#[derive(Debug, Serialize, Deserialize)]
pub struct BaseAssembly {
    /// The benchmark's own number, counted in its class.
    pub id: i64,
    /// One of ten names.
    pub r#type: String,
    /// The build date.
    pub build_date: i64,
    /// See [`Assembly`].
    pub super_assembly: Option<Ref<ComplexAssembly>>,
    /// See [`Assembly`].
    pub module: Ref<Module>,
    /// Private composite parts, as often as each is used.
    pub components_private: Vec<Ref<CompositePart>>,
    /// Shared composite parts, as often as each is used.
    pub components_shared: Vec<Ref<CompositePart>>,
}

/// A part of the design library.
#[derive(Debug, Serialize, Deserialize)]
pub struct CompositePart {
    /// The benchmark's own number, counted in its class.
    pub id: i64,
    /// One of ten names.
    pub r#type: String,
    /// The build date.
    pub build_date: i64,
    /// Its document.
    pub documentation: Option<Ref<Document>>,
    /// Base assemblies that use it as a private part, once a use.
    pub used_in_private: Vec<Ref<BaseAssembly>>,
    /// Base assemblies that use it as a shared part, once a use.
    pub used_in_shared: Vec<Ref<BaseAssembly>>,
    /// Its atomic parts.
    pub parts: Vec<Ref<AtomicPart>>,
    /// The atomic part a traversal starts from.
    pub root_part: Option<Ref<AtomicPart>>,
}

/// The document of a composite part.
#[derive(Debug, Serialize, Deserialize)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// The id of its composite part.
    pub id: i64,
    /// Its text.
    pub text: String,
    /// Its composite part.
    pub part: Ref<CompositePart>,
}

/// A node of a composite part's graph.
#[derive(Debug, Serialize, Deserialize)]
pub struct AtomicPart {
    /// The benchmark's own number, counted in its class.
    pub id: i64,
    /// One of ten names.
    pub r#type: String,
    /// The build date.
    pub build_date: i64,
    /// Horizontal coordinate.
    pub x: i64,
    /// Vertical coordinate.
    pub y: i64,
    /// The id of a random document.
    pub document_id: i64,
    /// Connections that leave it.
    pub to: Vec<Ref<Connection>>,
    /// Connections that reach it.
    pub from: Vec<Ref<Connection>>,
    /// Its composite part.
    pub part_of: Ref<CompositePart>,
}

/// An edge of a composite part's graph, an object of its own.
#[derive(Debug, Serialize, Deserialize)]
pub struct Connection {
    /// One of ten names.
    pub r#type: String,
    /// Its length.
    pub length: i64,
    /// The part it leaves.
    pub from: Ref<AtomicPart>,
    /// The part it reaches.
    pub to: Ref<AtomicPart>,
}

/// What a traversal needs of a complex assembly.
#[derive(Debug, Deserialize)]
#[serde(rename = "ComplexAssembly")]
pub struct Below {
    /// See [`ComplexAssembly::sub_assemblies`].
    pub sub_assemblies: Vec<Ref<Assembly>>,
}

/// What a traversal needs of a base assembly.
#[derive(Debug, Deserialize)]
#[serde(rename = "BaseAssembly")]
pub struct Components {
    /// See [`BaseAssembly::components_private`].
    pub components_private: Vec<Ref<CompositePart>>,
}

/// What a traversal needs of a composite part.
#[derive(Debug, Deserialize)]
#[serde(rename = "CompositePart")]
pub struct Root {
    /// See [`CompositePart::root_part`].
    pub root_part: Option<Ref<AtomicPart>>,
}

/// What a traversal needs of an atomic part.
#[derive(Debug, Deserialize)]
#[serde(rename = "AtomicPart")]
pub struct Node {
    /// See [`AtomicPart::x`].
    pub x: i64,
    /// See [`AtomicPart::y`].
    pub y: i64,
    /// See [`AtomicPart::to`].
    pub to: Vec<Ref<Connection>>,
}

/// What a traversal needs of a connection.
#[derive(Debug, Deserialize)]
#[serde(rename = "Connection")]
pub struct Edge {
    /// See [`Connection::to`].
    pub to: Ref<AtomicPart>,
}

/// What T4 needs of a composite part.
#[derive(Debug, Deserialize)]
#[serde(rename = "CompositePart")]
pub struct Documented {
    /// See [`CompositePart::documentation`].
    pub documentation: Option<Ref<Document>>,
}

/// What T4 and T5 need of a document.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename = "Document")]
pub struct Text {
    /// See [`Document::text`].
    pub text: String,
}

/// What T7 needs of an atomic part.
#[derive(Debug, Deserialize)]
#[serde(rename = "AtomicPart")]
pub struct Owned {
    /// See [`AtomicPart::part_of`].
    pub part_of: Ref<CompositePart>,
}

/// What T7 needs of a composite part.
#[derive(Debug, Deserialize)]
#[serde(rename = "CompositePart")]
pub struct Used {
    /// See [`CompositePart::used_in_private`].
    pub used_in_private: Vec<Ref<BaseAssembly>>,
}

/// What T7 needs of an assembly.
#[derive(Debug, Deserialize)]
#[serde(rename = "Assembly")]
pub struct Above {
    /// See [`Assembly::super_assembly`].
    pub super_assembly: Option<Ref<ComplexAssembly>>,
}

/// What the state is compared by.
#[derive(Debug, Deserialize)]
#[serde(rename = "AtomicPart")]
pub struct Placed {
    /// See [`AtomicPart::id`].
    pub id: i64,
    /// See [`AtomicPart::x`].
    pub x: i64,
    /// See [`AtomicPart::y`].
    pub y: i64,
    /// See [`AtomicPart::build_date`].
    pub build_date: i64,
}

/// Defines the classes and their indexes: in one transaction, for the classes refer to one another.
pub fn define(database: &Database) -> Result<()> {
    database.transact(|tx| {
        designs()
            .iter()
            .chain(&others())
            .try_for_each(|class| tx.create_class(class))
    })?;
    database.define_all::<(Module, Manual, Assembly, ComplexAssembly, BaseAssembly)>()?;
    database.define_all::<(CompositePart, Document, AtomicPart, Connection)>()
}

/// The design objects, superclasses before what extends them.
fn designs() -> [Class; 7] {
    let composites = || Type::list(Type::reference("CompositePart"));
    let bases = || Type::list(Type::reference("BaseAssembly"));
    let connections = || Type::list(Type::reference("Connection"));
    let design = |name| Class::new(name).extends("DesignObject");
    [
        Class::new("DesignObject")
            .attribute("id", Type::Int)
            .attribute("type", Type::String)
            .attribute("build_date", Type::Int),
        design("Module")
            .attribute("manual", Type::reference("Manual"))
            .attribute("assemblies", Type::list(Type::reference("Assembly")))
            .attribute("design_root", Type::reference("ComplexAssembly"))
            .unique("id"),
        design("Assembly")
            .attribute("super_assembly", Type::reference("ComplexAssembly"))
            .attribute("module", Type::reference("Module")),
        Class::new("ComplexAssembly")
            .extends("Assembly")
            .attribute("sub_assemblies", Type::list(Type::reference("Assembly"))),
        Class::new("BaseAssembly")
            .extends("Assembly")
            .attribute("components_private", composites())
            .attribute("components_shared", composites())
            .unique("id"),
        design("CompositePart")
            .attribute("documentation", Type::reference("Document"))
            .attribute("used_in_private", bases())
            .attribute("used_in_shared", bases())
            .attribute("parts", Type::list(Type::reference("AtomicPart")))
            .attribute("root_part", Type::reference("AtomicPart"))
            .unique("id"),
        design("AtomicPart")
            .attribute("x", Type::Int)
            .attribute("y", Type::Int)
            .attribute("document_id", Type::Int)
            .attribute("to", connections())
            .attribute("from", connections())
            .attribute("part_of", Type::reference("CompositePart"))
            .unique("id")
            .index("build_date"),
    ]
}

/// What is no design object.
fn others() -> [Class; 3] {
    [
        Class::new("Manual")
            .attribute("title", Type::String)
            .attribute("id", Type::Int)
            .attribute("text", Type::String)
            .attribute("text_length", Type::Int)
            .attribute("module", Type::reference("Module")),
        Class::new("Document")
            .attribute("title", Type::String)
            .attribute("id", Type::Int)
            .attribute("text", Type::String)
            .attribute("part", Type::reference("CompositePart"))
            .unique("title")
            .unique("id"),
        Class::new("Connection")
            .attribute("type", Type::String)
            .attribute("length", Type::Int)
            .attribute("from", Type::reference("AtomicPart"))
            .attribute("to", Type::reference("AtomicPart")),
    ]
}
