//! Binding: the names, types and parameters of a statement, resolved against the catalog.

mod binder;
mod call;
mod collection;
mod condition;
mod conflict;
mod definition;
mod expression;
mod group;
mod name;
mod operator;
mod parameter;
mod path;
mod projection;
mod query;
mod range;
mod scope;
mod select;
mod subquery;
mod types;
mod write;

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;

pub use binder::{bind_statement, bind_value};
pub use definition::{check_method, check_query, has_definitions};
pub use parameter::Parameters;
pub use types::type_of;
