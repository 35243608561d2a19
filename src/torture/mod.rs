//! The long soak behind `olivine torture`: everything at once, under kills, with a record outside the database.
//!
//! The parent starts a *worker*, a process of its own, that works on one database with several threads: transactions,
//! savepoints, snapshots, queries through indexes and scans, indexes that come and go, a class that is altered, checkpoints,
//! compaction with and without clustering, backups. The worker says what it tries to commit and what was acknowledged;
//! the parent keeps the *record*, kills the worker at a random moment (or lets it end), opens the database itself (now and
//! then read-only first), and compares. Now and then it restores a backup, whole and up to an earlier commit, salvages
//! the database, and checks everything. Nothing of this runs in the same process as what it is compared with.

mod evolve;
mod parent;
mod random;
mod record;
mod work;
mod worker;

pub use parent::{Torture, torture};
pub use worker::{Worker, worker};
