//! The database handle.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::class_list::ClassList;
use super::define::Definition;
use super::statistics::Statistics;
use crate::catalog::{Alteration, ClassDefinition, ClassVersion, IndexDefinition};
use crate::error::{Error, Result};
use crate::files::Disk;
use crate::index::IndexStorage;
use crate::instance::{Conversions, Converted, Instance, OpenSnapshot, Options};
use crate::maintain::{
    BackupReport, CheckReport, CompactOptions, CompactProgress, CompactReport, SalvageReport, Watch,
};
use crate::object::{CommitNumber, Timestamp};
use crate::read::Reader;
use crate::snapshot::Snapshot;
use crate::transaction::{AlterationReport, Loader, Transaction, TransactionOptions};

/// An open database. Cheap to clone; all clones are one database, closed when the last of them, of its snapshots and
/// of its transactions is gone.
///
/// ```
/// use olivine::{Database, Ref};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, Serialize, Deserialize)]
/// struct Person { name: String, boss: Option<Ref<Person>> }
///
/// let db = Database::in_memory()?;
/// db.define::<Person>()?;
/// let ann = db.transact(|tx| tx.insert(&Person { name: "Ann".into(), boss: None }))?;
/// let bob = db.transact(|tx| tx.insert(&Person { name: "Bob".into(), boss: Some(ann) }))?;
/// let snapshot = db.snapshot();
/// let boss = snapshot.get(bob)?.and_then(|bob| bob.boss);
/// assert_eq!(boss, Some(ann));
/// # Ok::<(), olivine::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Database {
    instance: Arc<Instance>,
}

impl Options {
    /// Opens the database, recovering what an unclean end left.
    ///
    /// # Errors
    /// [`Error::Locked`] while another process has it open, [`Error::Format`] where the directory is no database of
    /// a format this program reads, [`Error::Corruption`] where stored data is damaged.
    pub fn open(self) -> Result<Database> {
        crate::instance::open(self).map(|instance| Database { instance })
    }
}

impl Database {
    /// Opens the database in the directory `path`, and creates it if there is none (the last component of the path,
    /// never its parents).
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Database::options(path).open()
    }

    /// Options for opening the database in the directory `path`.
    pub fn options(path: impl AsRef<Path>) -> Options {
        Options::new(Some(path.as_ref().to_path_buf()))
    }

    /// A new database in memory, gone with its last handle.
    ///
    /// # Errors
    /// [`Error::Io`] where the operating system gives no memory file.
    pub fn in_memory() -> Result<Database> {
        Options::new(None).open()
    }

    /// Opens the database on a given disk, its indexes in memory.
    pub(crate) fn open_on(disk: impl Disk + 'static) -> Result<Database> {
        Database::open_with(disk, Options::new(None))
    }

    /// Opens the database on a given disk with options, its indexes in memory.
    pub(crate) fn open_with(disk: impl Disk + 'static, options: Options) -> Result<Database> {
        crate::instance::open_on(Arc::new(disk), IndexStorage::Memory, options)
            .map(|instance| Database { instance })
    }

    /// The newest committed state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(&self.instance, self.instance.pipeline().view(), None)
    }

    /// The newest committed state, listed under a label in [`Database::snapshots`].
    pub fn snapshot_labelled(&self, label: impl Into<Arc<str>>) -> Snapshot {
        let view = self.instance.pipeline().view();
        Snapshot::new(&self.instance, view, Some(label.into()))
    }

    /// Every open snapshot and transaction, the oldest first: with its age, its label, and the bytes it keeps from being
    /// freed.
    pub fn snapshots(&self) -> Vec<OpenSnapshot> {
        self.instance.ledger.list(&self.instance.pipeline().view())
    }

    /// The state after an earlier commit, as far as it is kept (see [`Options::history`]). Reads of it use no index.
    ///
    /// # Errors
    /// [`Error::Expired`] where that state is no longer kept, or there is no such commit yet.
    pub fn snapshot_at(&self, commit: CommitNumber) -> Result<Snapshot> {
        let view = self.instance.view_at(commit)?;
        Ok(Snapshot::new(&self.instance, view, None))
    }

    /// The oldest commit whose state [`Database::snapshot_at`] can read now.
    pub fn oldest_commit(&self) -> CommitNumber {
        self.instance.heap.floor()
    }

    /// The state at an earlier time: that after the newest commit made at or before it, as far as it is kept.
    ///
    /// # Errors
    /// [`Error::Expired`] where that state is no longer kept.
    pub fn snapshot_at_time(&self, time: Timestamp) -> Result<Snapshot> {
        self.snapshot_at(self.instance.commit_at(time)?)
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// [`Error::ReadOnly`] where the database was opened read-only.
    pub fn begin(&self) -> Result<Transaction> {
        self.begin_with(TransactionOptions::default())
    }

    /// Begins a transaction with options.
    ///
    /// # Errors
    /// [`Error::ReadOnly`] where the database was opened read-only.
    pub fn begin_with(&self, options: TransactionOptions) -> Result<Transaction> {
        self.instance.check_writable()?;
        Ok(Transaction::new(
            self.instance.clone(),
            self.instance.pipeline().view(),
            options,
        ))
    }

    /// Runs `work` in a transaction and commits it; where another transaction was faster, runs it again on a new
    /// snapshot, up to [`MAX_RUNS`] times with growing, jittered pauses. What `work` returns is returned once the
    /// commit is made. After six conflicts it gets an exclusive turn: others wait a moment before they commit.
    ///
    /// `work` must be fit to run again: it should touch nothing outside the transaction.
    ///
    /// # Errors
    /// The error of `work`, which rolls the transaction back, or that of the last commit.
    pub fn transact<R>(&self, work: impl FnMut(&mut Transaction) -> Result<R>) -> Result<R> {
        self.transact_with(&TransactionOptions::default(), work)
    }

    /// As [`Database::transact`], with options.
    ///
    /// # Errors
    /// As [`Database::transact`].
    pub fn transact_with<R>(
        &self,
        options: &TransactionOptions,
        mut work: impl FnMut(&mut Transaction) -> Result<R>,
    ) -> Result<R> {
        let mut runs = 0u32;
        let mut turn = None;
        loop {
            runs = runs.saturating_add(1);
            if runs > RUNS_BEFORE_TURN && turn.is_none() {
                turn = self.instance.pipeline().exclusive_turn();
            }
            let mut transaction = self.begin_with(options.clone())?;
            let outcome = work(&mut transaction).and_then(|result| transaction.commit().map(|_| result));
            match outcome {
                Err(error) if error.is_conflict() && runs < MAX_RUNS => back_off(runs),
                outcome => return outcome,
            }
        }
    }

    /// Loads many new objects as one commit, several times as fast as transactions do: objects go to the disk as they
    /// come, and their indexes are built at the end. Memory stays within [`Options::memory`], whatever their number.
    ///
    /// All or nothing: until this returns nobody sees any of the objects; when it returns they are on the disk, whatever
    /// the durability of the database, and their indexes are whole. Unique values are verified before anything is kept. If
    /// `work` fails, or a unique value comes twice, or the process or the machine dies, none of them is there; what they
    /// took of the disk is then given back as that of deleted objects is.
    ///
    /// Readers go on meanwhile. Other committers wait until the load has ended; a commit from within `work` is refused. A
    /// transaction that was open when the load ended and wrote to the database conflicts, and is to be run again.
    ///
    /// ```
    /// # use olivine::Database;
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// struct Reading { sensor: u32, value: f64 }
    ///
    /// let db = Database::in_memory()?;
    /// db.define::<Reading>()?.index("sensor")?;
    /// db.load(|loader| {
    ///     for number in 0..10_000 {
    ///         loader.insert(&Reading { sensor: number % 100, value: 0.5 })?;
    ///     }
    ///     Ok(())
    /// })?;
    /// let rows = db.snapshot().query("select count(*) from Reading r where r.sensor = 7", ())?;
    /// # assert_eq!(rows.count(), 1);
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of `work`; [`Error::Constraint`](crate::Error::Constraint) where two objects have one unique value.
    pub fn load<R>(&self, work: impl FnOnce(&mut Loader<'_>) -> Result<R>) -> Result<R> {
        let mut loader = Loader::new(&self.instance, Some("bulk load".into()))?;
        let result = work(&mut loader)?;
        loader.finish().map(|_| result)
    }

    /// Defines the class that the struct `T` describes: name and attributes come from its serde data model.
    ///
    /// Where the class exists, it is compared with `T`, and what is safe is done at once: attributes that are new and
    /// optional (or have a serde default) are added, an int becomes a float or a decimal where the program has one, an
    /// attribute that the program has as an `Option` may be nil. The order of fields means nothing. Attributes that `T`
    /// does not have stay, and keep their values when `T` is written. Everything else is refused, each difference with
    /// the statement that would do away with it.
    ///
    /// # Errors
    /// [`Error::Schema`] where `T` cannot be a class or does not agree with the one that exists.
    pub fn define<'de, T: Deserialize<'de>>(&self) -> Result<Definition> {
        Definition::of::<T>(self.clone())
    }

    /// Defines several classes in one transaction, so that they may refer to one another:
    /// `db.define_all::<(Author, Book)>()`.
    ///
    /// # Errors
    /// As [`Database::define`].
    pub fn define_all<L: ClassList>(&self) -> Result<()> {
        super::define::define_all::<L>(self)
    }

    /// Creates a class that no Rust type describes.
    ///
    /// # Errors
    /// [`Error::Schema`] where it exists already or its definition does not fit.
    pub fn define_class(&self, definition: ClassDefinition) -> Result<()> {
        self.transact(|tx| tx.create_class(&definition))
    }

    /// Changes a class in a transaction of its own, as [`Transaction::alter_class`] does.
    ///
    /// # Errors
    /// As there.
    pub fn alter_class(&self, class: &str, alteration: &Alteration) -> Result<AlterationReport> {
        self.transact(|tx| tx.alter_class(class, alteration))
    }

    /// What a change of a class would do to its objects, without doing it.
    ///
    /// # Errors
    /// As [`Transaction::check_alteration`].
    pub fn check_alteration(&self, class: &str, alteration: &Alteration) -> Result<AlterationReport> {
        self.begin()?.check_alteration(class, alteration)
    }

    /// The versions of a class and what changed with each, oldest first; the first version is not among them.
    ///
    /// # Errors
    /// [`Error::Schema`] where there is no such class.
    pub fn class_versions(&self, class: &str) -> Result<Vec<ClassVersion>> {
        let view = self.instance.pipeline().view();
        Ok(view.catalog().user_class(class)?.stored.history.clone())
    }

    /// Creates an index on a class; over existing objects it is built before this returns.
    ///
    /// # Errors
    /// [`Error::Schema`] where an attribute is unknown, [`Error::Constraint`] where two objects have one value of a
    /// unique index.
    pub fn create_index(&self, class: &str, definition: &IndexDefinition) -> Result<()> {
        self.transact(|tx| tx.create_index(class, definition))
    }

    /// Makes everything committed so far durable, buffered commits included.
    ///
    /// # Errors
    /// [`Error::Io`]; the database then takes no more changes.
    pub fn persist(&self) -> Result<()> {
        self.instance.persist()
    }

    /// Writes all objects anew whose class had an attribute retyped since, and whose values are converted when they are read;
    /// a background thread does the same at leisure. Says how many it wrote. Nothing but speed depends on it.
    ///
    /// ```
    /// # use olivine::{Alteration, Class, Database, Object, Type};
    /// let db = Database::in_memory()?;
    /// db.define_class(Class::new("Book").attribute("year", Type::String))?;
    /// db.transact(|tx| tx.insert_object(Object::new("Book").with("year", "1961")))?;
    /// db.alter_class("Book", &Alteration::Retype { attribute: "year".into(), r#type: Type::Int, using: None })?;
    /// assert!(db.finish_conversions()? <= 1);
    /// # Ok::<(), olivine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::NoSpace`]; what was converted stays so.
    pub fn finish_conversions(&self) -> Result<u64> {
        let mut conversions = Conversions::default();
        let mut written = 0_u64;
        while let Converted::Some(objects) = self.instance.convert_some(&mut conversions)? {
            written = written.saturating_add(objects);
        }
        Ok(written)
    }

    /// Writes a checkpoint of the object table, so that the next open replays only what comes after. Segments in which
    /// nothing lives any more are removed with it.
    ///
    /// # Errors
    /// [`Error::NoSpace`] or [`Error::Io`].
    pub fn checkpoint(&self) -> Result<()> {
        self.instance.check_writable()?;
        self.instance.indexes.flush()?;
        self.instance.checkpoint_and_release()
    }

    /// Reclaims the space of old versions and deleted objects: moves what lives out of segments that hold much else, in
    /// OID order (or as [`CompactOptions::cluster_by`] says), and removes their files. Readers and committers go on
    /// meanwhile. `progress` is called now and then; `Break` ends it early, and what was moved stays moved.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::NoSpace`], [`Error::Io`] or [`Error::Corruption`]; nothing is lost.
    pub fn compact(
        &self,
        options: &CompactOptions,
        progress: &mut dyn FnMut(&CompactProgress) -> ControlFlow<()>,
    ) -> Result<CompactReport> {
        crate::maintain::compact(&self.instance, options, progress)
    }

    /// Closes the database if this is its last handle, and reports what a drop would swallow.
    ///
    /// # Errors
    /// [`Error::Closed`] while other handles, snapshots or transactions are open; [`Error::NoSpace`] or
    /// [`Error::Io`] where the last checkpoint could not be written, which loses nothing.
    pub fn close(self) -> Result<()> {
        match Arc::try_unwrap(self.instance) {
            Ok(instance) => instance.close(),
            Err(_) => {
                let message =
                    "the database stays open: other handles, snapshots or transactions of it are in use";
                Err(Error::Closed(message.into()))
            }
        }
    }

    /// Checks the whole database: every byte of its files, every version, every object, every reference, every index.
    /// Reads only, and may run while others read and write.
    ///
    /// # Errors
    /// Where the check itself cannot go on; what it finds is in the report.
    pub fn check(&self) -> Result<CheckReport> {
        self.check_watched(&mut |_| ControlFlow::Continue(()))
    }

    /// As [`Database::check`], and tells `watch` how far it has come.
    ///
    /// # Errors
    /// As [`Database::check`], and [`Error::Cancelled`] where `watch` ends it.
    pub fn check_watched(&self, watch: Watch<'_>) -> Result<CheckReport> {
        crate::maintain::check(&self.instance, watch)
    }

    /// Backs the database up into `directory`, which is created if it does not exist (its parent must), while readers and
    /// writers go on: one consistent moment, with everything acknowledged before this was called. Into a directory that
    /// has a backup of this database already only what is new is copied, segment by segment; earlier moments stay
    /// restorable, with [`Restore`](crate::Restore). What is copied is compared with its checksums, and read back.
    ///
    /// # Errors
    /// [`Error::Argument`] where the directory holds something else, [`Error::Corruption`] where the database is damaged,
    /// [`Error::NoSpace`] or [`Error::Io`]; the backup that was there before stays whole.
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<BackupReport> {
        self.backup_watched(directory, false, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`Database::backup`]; with `prune`, what only earlier moments need is removed once the new one is complete.
    /// `watch` is told how far it has come, and can end it.
    ///
    /// # Errors
    /// As [`Database::backup`], and [`Error::Cancelled`].
    pub fn backup_watched(
        &self,
        directory: impl AsRef<Path>,
        prune: bool,
        watch: Watch<'_>,
    ) -> Result<BackupReport> {
        crate::maintain::backup(&self.instance, directory.as_ref(), prune, watch)
    }

    /// Writes everything that can be read of the damaged database in the directory `from`, which is not changed, into a
    /// new database at `to`, which must not exist or be an empty directory; and tells what was lost.
    ///
    /// # Errors
    /// [`Error::Locked`] where it is open, [`Error::Format`] where there is nothing to salvage, [`Error::Argument`] where
    /// the place is taken, [`Error::NoSpace`], [`Error::Io`]; then nothing is at `to`.
    pub fn salvage(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<SalvageReport> {
        Database::salvage_watched(from, to, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`Database::salvage`], and tells `watch` how far it has come.
    ///
    /// # Errors
    /// As [`Database::salvage`], and [`Error::Cancelled`] where `watch` ends it.
    pub fn salvage_watched(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        watch: Watch<'_>,
    ) -> Result<SalvageReport> {
        crate::maintain::salvage(from.as_ref(), to.as_ref(), watch)
    }

    /// Switches the optimizer off or on; plans then keep the form they were bound in. Answers are the same, which is what
    /// tests use it for.
    pub fn set_optimizer(&self, on: bool) {
        self.instance.engine().set_optimizer(on);
    }

    /// Figures about the database.
    pub fn statistics(&self) -> Statistics {
        let view = self.instance.pipeline().view();
        let heap = self.instance.heap.statistics();
        let catalog = view.catalog();
        let indexes = self.instance.index_statistics(catalog);
        Statistics {
            commit: view.commit().0,
            classes: catalog.classes.keys().filter(|id| !id.is_system()).count() as u64,
            indexes: catalog.indexes.len() as u64,
            segments: heap.segments,
            log_bytes: heap.bytes,
            records: heap.records,
            table_bytes: heap.dirty_bytes,
            index_bytes: indexes,
            database_id: self.instance.heap.database_id(),
            timeline: self.instance.heap.timeline(),
            recovery: self.instance.recovery.clone(),
        }
    }

    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }
}

/// How often [`Database::transact`] runs its work at most.
pub const MAX_RUNS: u32 = 32;

/// Runs that may be overtaken before the next one gets an exclusive turn.
const RUNS_BEFORE_TURN: u32 = 6;

/// Waits a random time below a bound that doubles with each run, from 100 microseconds to 20 milliseconds.
fn back_off(runs: u32) {
    let bound = 100u64.checked_shl(runs.min(8)).unwrap_or(u64::MAX).min(20_000);
    let mut random = [0u8; 8];
    let jitter = match getrandom::fill(&mut random) {
        Ok(()) => u64::from_le_bytes(random) % bound,
        Err(_) => bound / 2,
    };
    std::thread::sleep(Duration::from_micros(jitter));
}
