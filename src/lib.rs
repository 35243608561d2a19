//! Olivine: a persistent, transactional object database.

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

/// What the tests of this crate need of it, and nobody else: a disk that fails on purpose.
#[doc(hidden)]
pub mod testing {
    pub use crate::files::{Fault, FaultyDisk};

    /// Opens the database on a faulty disk, or creates it there; its indexes lie in memory.
    ///
    /// # Errors
    /// As [`Options::open`](crate::Options::open).
    pub fn open_on(disk: &FaultyDisk) -> crate::Result<crate::Database> {
        crate::Database::open_on(disk.clone())
    }
}

pub use access::{Extent, Objects, StoredObject};
pub use catalog::{AttributeDefinition, ClassDefinition as Class, IndexDefinition};
pub use commit::{Durability, Isolation};
pub use database::{ClassList, Database, Definition, MAX_RUNS, Options, Statistics};
pub use error::{Conflict, Constraint, Corruption, Error, QueryError, QueryErrorCode, Result, Span};
pub use maintain::{CheckReport, Finding};
pub use object::{
    CommitNumber, Date, Decimal, Duration, Object, Oid, Ref, Time, Timestamp, Type, Uuid, Value,
};
pub use query::{Parameters, QueryStatistics, Row, Rows};
pub use session::{Answer, Outcome, Session};
pub use snapshot::Snapshot;
pub use transaction::{Transaction, TransactionOptions};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("Olivine maps its segments and needs a 64-bit target");
