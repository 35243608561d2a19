//! The catalog: classes, attributes, indexes and names, which are objects themselves.
//!
//! A catalog entry is an object of a system class ([`stored`]): it is written, numbered, logged and recovered like
//! any other. A [`Catalog`] is what the entries visible at one commit amount to, decoded, cross-linked and shared;
//! a commit that writes an entry publishes a new one ([`assemble`]).

mod alter;
mod assemble;
mod define;
mod definition;
mod hierarchy;
mod index_keys;
mod lifetime;
mod merge;
mod numbering;
mod relationship;
mod schema;
mod stored;
mod stored_value;

pub use alter::Alteration;
pub use define::{SchemaChange, visit_references};
pub use definition::{AttributeDefinition, ClassDefinition, IndexDefinition, OnDelete};
pub use hierarchy::Direction;
pub use index_keys::{duplicate_value, index_differences, index_keys};
pub use merge::MergeRule;
pub use numbering::object_of_class;
pub use relationship::DeleteRule;
pub use schema::{
    Attribute, Catalog, Class, Component, Index, IndexId, IndexKind, Method, Name, NamedQuery, Parameter,
};
#[cfg(test)]
pub use stored::StoredClass;
pub use stored::{ClassVersion, StoredSlot, SystemClass};
