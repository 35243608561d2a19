//! Collecting garbage: the collector, and the transactions it deletes in.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::handle::{Database, MAX_RUNS};
use crate::commit::Isolation;
use crate::error::Result;
use crate::maintain::{CollectOptions, CollectReport, Collection, Deletion, Progress, Until, Watch};
use crate::object::{CommitNumber, Oid};
use crate::read::Reader;
use crate::transaction::TransactionOptions;

/// A search for garbage that can be left and taken up again, as [`Database::collector`] begins it. It holds no snapshot
/// and pins nothing between two runs, however long the pause; dropping it forgets what was found.
#[derive(Debug)]
pub struct Collector {
    database: Database,
    collection: Collection,
}

impl Database {
    /// Deletes the objects of dependent classes that nothing reaches: no chain of references that begins in a named root,
    /// an object of a class that is not dependent, or the default of an attribute. Rings of dependent objects go as well.
    /// Readers and committers go on meanwhile. Nothing is ever deleted that a committed state reaches, or comes to reach;
    /// snapshots go on seeing what they saw.
    ///
    /// An object that was committed before anything referred to it is garbage until something does: insert it and link it
    /// in one transaction.
    ///
    /// ```
    /// # use olivine::{Class, CollectOptions, Database, Object, Type};
    /// let db = Database::in_memory()?;
    /// db.define_class(Class::new("Page").dependent())?;
    /// let page = db.transact(|tx| {
    ///     let page = tx.insert_object(Object::new("Page"))?;
    ///     tx.set_name("start", page)?;
    ///     Ok(page)
    /// })?;
    /// db.transact(|tx| tx.insert_object(Object::new("Page")))?;
    /// let found = db.collect(&CollectOptions::new().dry_run(true))?;
    /// assert_eq!((found.garbage, found.deleted), (1, 0));
    /// assert_eq!(db.collect(&CollectOptions::new())?.deleted, 1);
    /// assert!(db.snapshot().exists(page)?);
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ReadOnly`](crate::Error::ReadOnly), [`Error::Corruption`](crate::Error::Corruption) where an object cannot be
    /// read, and what a commit may end in. What was deleted until then was garbage, and stays deleted.
    pub fn collect(&self, options: &CollectOptions) -> Result<CollectReport> {
        self.collect_watched(options, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`Database::collect`], and tells `watch` how far it has come; where that ends it, the report says so.
    ///
    /// # Errors
    /// As [`Database::collect`].
    pub fn collect_watched(&self, options: &CollectOptions, watch: Watch<'_>) -> Result<CollectReport> {
        let mut collector = self.collector(options)?;
        loop {
            let finished = collector.run_for(SLICE)?;
            let (stage, done, total) = collector.collection.progress();
            let flow = watch(Progress { stage, done, total });
            if finished || flow.is_break() {
                let mut report = collector.report().clone();
                report.interrupted = !finished;
                return Ok(report);
            }
        }
    }

    /// Begins a search for garbage that goes on only while [`Collector::run_for`] runs.
    ///
    /// # Errors
    /// [`Error::ReadOnly`](crate::Error::ReadOnly), but for a dry run.
    pub fn collector(&self, options: &CollectOptions) -> Result<Collector> {
        if !options.is_dry_run() {
            self.instance().check_writable()?;
        }
        Ok(Collector {
            database: self.clone(),
            collection: Collection::new(self.instance(), options.clone()),
        })
    }

    /// Deletes garbage in a transaction of its own.
    fn delete_garbage(&self, objects: &[Oid], since: CommitNumber, schema: CommitNumber) -> Result<Deletion> {
        for _ in 0..MAX_RUNS {
            let mut transaction = self.begin_with(TransactionOptions {
                isolation: Isolation::Snapshot,
                label: Some("collect garbage".into()),
                ..TransactionOptions::default()
            })?;
            if transaction.overlay().view().catalog().version != schema {
                return Ok(Deletion::Again);
            }
            let written = transaction.delete_unreachable(objects, since)?;
            if !written.is_empty() {
                return Ok(Deletion::Written(written));
            }
            match transaction.commit() {
                Ok(_) => return Ok(Deletion::Done),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Deletion::Again)
    }
}

/// How long a collection runs before it looks whether it is to stop.
const SLICE: Duration = Duration::from_millis(20);

impl Collector {
    /// Goes on for about this long, pauses for the budget included; whether all is done.
    ///
    /// # Errors
    /// As [`Database::collect`]. It can be gone on with after an error.
    pub fn run_for(&mut self, time: Duration) -> Result<bool> {
        let begun = Instant::now();
        loop {
            let database = &self.database;
            let mut delete = |objects: &[Oid], since, schema| database.delete_garbage(objects, since, schema);
            match self.collection.step(database.instance(), &mut delete)? {
                Until::End => return Ok(true),
                Until::Later(pause) => {
                    let left = time.saturating_sub(begun.elapsed());
                    std::thread::sleep(pause.min(left));
                    if begun.elapsed() >= time {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// What was found and done so far.
    pub fn report(&self) -> &CollectReport {
        self.collection.report()
    }
}
