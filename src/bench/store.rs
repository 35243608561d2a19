//! The database a circuit runs on, through the public API alone.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::bench::measure::Work;
use crate::bench::random::Random;
use crate::error::{Error, Result};
use crate::object::{Oid, Value};
use crate::{Database, Durability, Parameters, Ref, Rows, Snapshot, Transaction};

/// A database in a directory, opened and closed again as the circuit wants.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    durability: Durability,
    database: Option<Database>,
}

impl Store {
    /// Makes a new database at `path`, which must not exist.
    pub fn create(path: PathBuf, durability: Durability) -> Result<Store> {
        if path.exists() {
            return Err(Error::Argument(format!(
                "{} exists; the benchmark makes its databases anew, so remove it or name another directory",
                path.display()
            )));
        }
        let mut store = Store {
            path,
            durability,
            database: None,
        };
        store.open()?;
        Ok(store)
    }

    /// Closes the database and opens it again.
    pub fn reopen(&mut self) -> Result<()> {
        self.close()?;
        self.open()
    }

    /// Closes the database.
    pub fn close(&mut self) -> Result<()> {
        self.database.take().map_or(Ok(()), Database::close)
    }

    /// The open database.
    pub fn database(&self) -> Result<&Database> {
        self.database
            .as_ref()
            .ok_or_else(|| Error::Closed("the benchmark's database is closed".into()))
    }

    /// Bytes of all files of the database.
    pub fn disk(&self) -> u64 {
        disk(&self.path)
    }

    fn open(&mut self) -> Result<()> {
        self.database = Some(Database::options(&self.path).durability(self.durability).open()?);
        Ok(())
    }
}

/// Bytes of all files under a directory, as far as they can be read; preallocated bytes count where they take room.
fn disk(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk(&entry.path()),
        Ok(metadata) => occupied(&metadata),
        Err(_) => 0,
    });
    sizes.sum()
}

#[cfg(unix)]
fn occupied(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512)
}

#[cfg(not(unix))]
fn occupied(metadata: &std::fs::Metadata) -> u64 {
    metadata.len()
}

/// What an operation reads from: a snapshot, or a transaction that changes what it visits.
pub trait Source {
    /// The object behind a reference, which must exist.
    fn present<T: DeserializeOwned>(&self, reference: Ref<T>) -> Result<T>;
    /// The rows of a query.
    fn rows(&self, text: &str, parameters: Parameters) -> Result<Rows>;
    /// Finds each record by its OID, and nothing else: no attribute is decoded.
    fn records(&self, oids: &[Oid]) -> Result<Work>;
}

impl Source for Snapshot {
    fn present<T: DeserializeOwned>(&self, reference: Ref<T>) -> Result<T> {
        self.get(reference)?.ok_or_else(|| dangling(reference))
    }

    fn rows(&self, text: &str, parameters: Parameters) -> Result<Rows> {
        self.query(text, parameters)
    }

    fn records(&self, oids: &[Oid]) -> Result<Work> {
        let mut work = Work::default();
        for oid in oids {
            if let Some(record) = self.stored(*oid)? {
                work.count += 1;
                work.bytes += length(record.size());
            }
        }
        work.objects = work.count;
        Ok(work)
    }
}

impl Source for Transaction {
    fn present<T: DeserializeOwned>(&self, reference: Ref<T>) -> Result<T> {
        self.get(reference)?.ok_or_else(|| dangling(reference))
    }

    fn rows(&self, text: &str, parameters: Parameters) -> Result<Rows> {
        self.query(text, parameters)
    }

    fn records(&self, oids: &[Oid]) -> Result<Work> {
        let mut work = Work::default();
        for oid in oids {
            work.count += u64::from(self.exists(*oid)?);
        }
        work.objects = work.count;
        Ok(work)
    }
}

/// A snapshot that counts the stored bytes of what is fetched from it.
#[derive(Debug)]
pub struct Counting {
    snapshot: Snapshot,
    bytes: Cell<u64>,
}

impl Counting {
    /// Counts what is fetched from `snapshot`.
    pub fn new(snapshot: Snapshot) -> Counting {
        Counting {
            snapshot,
            bytes: Cell::new(0),
        }
    }

    /// The bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}

impl Source for Counting {
    fn present<T: DeserializeOwned>(&self, reference: Ref<T>) -> Result<T> {
        let record = self.snapshot.stored(reference.oid())?;
        self.bytes
            .set(self.bytes.get() + record.map_or(0, |record| length(record.size())));
        self.snapshot.present(reference)
    }

    fn rows(&self, text: &str, parameters: Parameters) -> Result<Rows> {
        self.snapshot.query(text, parameters)
    }

    fn records(&self, oids: &[Oid]) -> Result<Work> {
        let work = self.snapshot.records(oids)?;
        self.bytes.set(self.bytes.get() + work.bytes);
        Ok(work)
    }
}

#[cold]
fn dangling<T>(reference: Ref<T>) -> Error {
    Error::NotFound(format!(
        "the object {reference} is gone, though the benchmark's data refers to it"
    ))
}

/// Runs a query and hands each row's values to `each`; the number of rows.
pub fn ask<S: Source>(
    source: &S,
    text: &str,
    parameters: impl Into<Parameters>,
    mut each: impl FnMut(&[Value]),
) -> Result<u64> {
    let mut count = 0;
    for row in source.rows(text, parameters.into())? {
        each(row?.values());
        count += 1;
    }
    Ok(count)
}

/// The references in the first column of a query.
pub fn references<T>(
    source: &impl Source,
    text: &str,
    parameters: impl Into<Parameters>,
) -> Result<Vec<Ref<T>>> {
    let mut found = Vec::new();
    ask(source, text, parameters, |row| {
        if let Some(Value::Reference(oid)) = row.first() {
            found.push(Ref::from_oid(*oid));
        }
    })?;
    Ok(found)
}

/// The number of objects of a class.
pub fn count_of(source: &impl Source, class: &str) -> Result<u64> {
    let mut count = 0;
    ask(source, &format!("count({class})"), (), |row| {
        if let Some(Value::Int(number)) = row.first() {
            count = number.cast_unsigned();
        }
    })?;
    Ok(count)
}

/// All objects of these classes, in an order made random by `seed`.
pub fn shuffled(source: &impl Source, classes: &[&str], seed: u32) -> Result<Vec<Oid>> {
    let mut oids = Vec::new();
    for class in classes {
        let found = references::<()>(source, &format!("select o from {class} o"), ())?;
        oids.extend(found.into_iter().map(Ref::oid));
    }
    let mut random = Random::new(seed);
    for last in (1..oids.len()).rev() {
        oids.swap(last, random.position(last + 1));
    }
    Ok(oids)
}

fn length(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
