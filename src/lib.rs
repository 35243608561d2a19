//! Olivine: a persistent, transactional object database.
#![allow(dead_code, unused_imports)]

pub mod error;
pub mod object;

#[cfg(feature = "bench")]
pub mod bench;
#[cfg(feature = "shell")]
pub mod shell;

mod access;
mod catalog;
mod commit;
mod database;
mod files;
mod heap;
mod index;
mod instance;
mod maintain;
mod query;
mod read;
mod session;
mod snapshot;
mod transaction;
mod view;
mod write_set;

/// The query language as text and as trees, for tools: highlighters, formatters, query builders.
pub mod oql {
    pub use crate::query::ast::*;
    pub use crate::query::{RESERVED, caret, needs_more, parse_query, parse_script, parse_statement};
}

pub use access::{Extent, Objects, StoredObject};
pub use catalog::{AttributeDefinition, ClassDefinition as Class, IndexDefinition};
pub use commit::{Durability, Isolation};
pub use database::{ClassList, Database, Definition, MAX_RUNS, Options, Statistics};
pub use error::{Conflict, Constraint, Corruption, Error, QueryError, QueryErrorCode, Result, Span};
pub use object::{
    CommitNumber, Date, Decimal, Duration, Object, Oid, Ref, Time, Timestamp, Type, Uuid, Value,
};
pub use query::{Parameters, QueryStatistics, Row, Rows};
pub use session::{Answer, Outcome, Session};
pub use snapshot::Snapshot;
pub use transaction::{Transaction, TransactionOptions};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("Olivine maps its segments and needs a 64-bit target");
