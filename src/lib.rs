//! Olivine: a persistent, transactional object database.
//!
//! A [`Database`] keeps graphs of objects on disk (or in memory). Classes come from your own structs through serde
//! ([`Database::define`]) or are given by name ([`Database::define_class`]). Objects refer to one another by [`Ref`],
//! which is `Copy`, eight bytes, and never loads anything by itself. A [`Snapshot`] is one committed state; a
//! [`Transaction`] reads one snapshot under its own writes and commits all of them or none. Both answer queries in OQL.
//!
//! ```
//! use olivine::{Database, Ref, params};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Serialize, Deserialize)]
//! struct Author { name: String, born: u16 }
//!
//! #[derive(Debug, Serialize, Deserialize)]
//! struct Book { title: String, year: u16, author: Ref<Author> }
//!
//! let db = Database::in_memory()?;
//! db.define::<Author>()?;
//! db.define::<Book>()?.index("year")?.index("author.name")?;
//! db.transact(|tx| {
//!     let author = tx.insert(&Author { name: "Lem".into(), born: 1921 })?;
//!     tx.insert(&Book { title: "Solaris".into(), year: 1961, author })
//! })?;
//!
//! let snapshot = db.snapshot();
//! let text = "select b from Book b where b.author.name = $name and b.year >= $since";
//! for row in snapshot.query(text, params! { name: "Lem", since: 1960 })?.objects::<Book>() {
//!     let (id, book) = row?;
//!     println!("{}: {}", snapshot.describe(id), book.title);
//! }
//! # Ok::<(), olivine::Error>(())
//! ```
//!
//! # Guarantees, by the moment
//!
//! * When [`Transaction::commit`] returns a number, every snapshot taken from then on shows the commit, and with
//!   [`Durability::Sync`] (the default) it survives a power cut. With [`Durability::Buffer`] it survives the end of the
//!   process; a power cut may take the newest commits, never one from the middle, and none older than about a second.
//! * When it returns an error, nothing of the transaction will ever be seen.
//! * A snapshot sees exactly the commits up to its number, however long it is held.
//! * If a write or sync fails, the database takes no more changes and says so; reading goes on; opening it again recovers
//!   everything that was acknowledged as durable.
//!
//! # Limits
//!
//! One process opens a database at a time (several may open it read-only). Transactions are snapshot isolated: write
//! skew is possible, and asking for serializable is refused. An object's encoded body has at most 256 MiB. 64-bit targets
//! only.

pub mod error;
pub mod object;

#[cfg(feature = "bench")]
pub mod bench;
#[cfg(feature = "shell")]
pub mod shell;
#[cfg(feature = "shell")]
mod torture;

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
mod read_set;
mod session;
mod snapshot;
mod transaction;
mod view;
mod write_set;

/// The query language as text and as trees, for tools: highlighters, formatters, query builders.
pub mod oql {
    pub use crate::query::ast::*;
    pub use crate::query::{
        Explanation, Measures, RESERVED, caret, function_names, needs_more, parse_query, parse_script,
        parse_statement,
    };
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

    /// Backs a database up onto a faulty disk.
    ///
    /// # Errors
    /// As [`Database::backup`](crate::Database::backup).
    pub fn backup_on(database: &crate::Database, disk: &FaultyDisk) -> crate::Result<crate::BackupReport> {
        let heap = &database.instance().heap;
        crate::maintain::backup_on(heap, disk, false, &mut |_| std::ops::ControlFlow::Continue(()))
    }

    /// Restores the newest moment of a backup on one faulty disk onto another, which holds nothing.
    ///
    /// # Errors
    /// As [`Restore::run`](crate::Restore::run).
    pub fn restore_on(from: &FaultyDisk, to: &FaultyDisk) -> crate::Result<crate::RestoreReport> {
        let target = std::sync::Arc::new(to.clone());
        let until = crate::heap::Until::Moment;
        crate::maintain::restore_on(from, target, until, &mut |_| std::ops::ControlFlow::Continue(()))
    }

    /// As [`open_on`], with options; the path they name is not looked at.
    ///
    /// # Errors
    /// As [`Options::open`](crate::Options::open).
    pub fn open_with(disk: &FaultyDisk, options: crate::Options) -> crate::Result<crate::Database> {
        crate::Database::open_with(disk.clone(), options)
    }
}

pub use access::{Decoded, Extent, Fetch, Fetched, Follow, ObjectRecord as Record, Objects, StoredObject};
pub use catalog::{
    Alteration, AttributeDefinition, ClassDefinition as Class, ClassVersion, IndexDefinition, MergeRule,
    Method, OnDelete, Parameter as MethodParameter,
};
pub use commit::{Durability, Isolation};
pub use database::{ClassList, Collector, Database, Definition, MAX_RUNS, Options, Statistics};
pub use error::{Conflict, Constraint, Corruption, Error, QueryError, QueryErrorCode, Result, Span};
pub use heap::Loss;
pub use instance::{BuildProgress, BuildWatch, OpenSnapshot, ReaderKind};
pub use maintain::{
    BackupReport, CheckReport, ClassGarbage, CollectOptions, CollectReport, CompactOptions, CompactProgress,
    CompactReport, Finding, Progress, Restore, RestoreReport, RootReach, SalvageReport, Watch,
};
pub use object::{
    CommitNumber, Date, Decimal, Duration, Object, Oid, Ref, Time, Timestamp, Type, Uuid, Value,
};
pub use query::{CancelHandle, Parameters, Prepared, QueryStatistics, Row, Rows};
pub use session::{Answer, Outcome, Session};
pub use snapshot::Snapshot;
pub use transaction::{AlterationReport, Loader, Transaction, TransactionOptions};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("Olivine maps its segments and needs a 64-bit target");

/// The examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The recipes of the cookbook, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
struct Embedding;

/// The examples of the page on transactions, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/transactions.md")]
struct Transactions;
