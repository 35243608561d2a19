//! Olivine, through what its crate gives to everybody.

use std::path::Path;

use anyhow::{Result, anyhow, bail, ensure};
use olivine::{Database, Durability, Oid, Ref, Transaction, TransactionOptions};
use serde::{Deserialize, Serialize};
use serde_bytes::{ByteBuf, Bytes};

use super::{Change, OLIVINE, Peer, Reads, Session};
use crate::data::{HEAD, Items, digest, next_of, value_of};
use crate::oql;

/// A database with the class `Item`.
#[derive(Debug)]
pub struct Olivine {
    database: Database,
    keys: Keys,
    way: Way,
}

/// How one attribute of an object is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `Snapshot::get` with a struct that has only this attribute.
    Struct,
    /// `Snapshot::stored`, then the attribute by its name, as a value.
    Stored,
}

/// The class, and an object of it in full.
#[derive(Debug, Serialize, Deserialize)]
struct Item {
    next: Ref<Item>,
    value: i64,
    payload: ByteBuf,
}

/// An object to be written, without a copy.
#[derive(Debug, Serialize)]
#[serde(rename = "Item")]
struct NewItem<'a> {
    next: Ref<Item>,
    value: i64,
    payload: &'a Bytes,
}

/// One attribute of an object.
#[derive(Debug, Deserialize)]
#[serde(rename = "Item")]
struct Value {
    value: i64,
}

/// The other attribute of an object.
#[derive(Debug, Deserialize)]
#[serde(rename = "Item")]
struct Next {
    next: Ref<Item>,
}

/// Keys and references, one from the other: the objects are made in key order, and nothing else of their class is.
#[derive(Debug, Clone, Copy)]
struct Keys {
    first: u64,
}

impl Keys {
    #[inline]
    fn reference<T>(self, key: u64) -> Result<Ref<T>> {
        let oid = Oid::from_bits(self.first + key).ok_or_else(|| anyhow!("no object for the key {key}"))?;
        Ok(Ref::from_oid(oid))
    }

    #[inline]
    fn key(self, reference: Ref<Item>) -> u64 {
        reference.oid().to_bits() - self.first
    }
}

/// Opens a database in the new directory `path`.
pub fn open(path: &Path) -> Result<Database> {
    Ok(Database::open(path)?)
}

/// Begins a transaction whose commit does not wait for the disk.
pub fn begin_buffered(database: &Database) -> Result<Transaction> {
    let options = TransactionOptions {
        durability: Some(Durability::Buffer),
        ..TransactionOptions::default()
    };
    Ok(database.begin_with(options)?)
}

/// Objects a transaction while loading.
const LOAD_BATCH: usize = 10_000;

impl Olivine {
    /// Opens a database in the new directory `path`, with the empty class.
    pub fn create(path: &Path) -> Result<Olivine> {
        let database = open(path)?;
        database.define::<Item>()?;
        let mut probe = database.begin()?;
        let oid = Oid::from_bits(1).ok_or_else(|| anyhow!("no object 1"))?;
        let payload = Bytes::new(&[]);
        let probe_item = NewItem {
            next: Ref::from_oid(oid),
            value: 0,
            payload,
        };
        let first = probe.insert(&probe_item)?.oid().to_bits() + 1;
        probe.rollback();
        Ok(Olivine {
            database,
            keys: Keys { first },
            way: Way::Struct,
        })
    }

    /// Holds all items, inserted in key order.
    pub fn load(path: &Path, items: &Items) -> Result<Olivine> {
        let olivine = Olivine::create(path)?;
        let keys: Vec<u64> = items.keys().collect();
        for keys in keys.chunks(LOAD_BATCH) {
            let mut transaction = begin_buffered(&olivine.database)?;
            for key in keys {
                let reference = olivine.insert(&mut transaction, &items.body(*key, items.value(*key)))?;
                ensure!(
                    olivine.keys.key(reference) == *key,
                    "an object has another number than the next"
                );
            }
            transaction.commit()?;
        }
        olivine.database.checkpoint()?;
        Ok(olivine)
    }

    fn insert(&self, transaction: &mut Transaction, body: &[u8]) -> Result<Ref<Item>> {
        Ok(transaction.insert(&self.new_item(body)?)?.cast())
    }

    fn new_item<'a>(&self, body: &'a [u8]) -> Result<NewItem<'a>> {
        Ok(NewItem {
            next: self.keys.reference(next_of(body))?,
            value: value_of(body),
            payload: Bytes::new(&body[HEAD..]),
        })
    }

    /// How many items it holds.
    pub fn count(&self) -> Result<u64> {
        let items = self.database.snapshot().extent::<Item>()?;
        items.map(|item| Ok(item.map(|_| 1)?)).sum()
    }

    /// Commits one item and waits for the disk.
    pub fn put(&self, body: &[u8]) -> Result<()> {
        let mut transaction = self.database.begin()?;
        self.insert(&mut transaction, body)?;
        transaction.commit()?;
        Ok(())
    }
}

struct Reading {
    snapshot: olivine::Snapshot,
    keys: Keys,
}

impl Session for Reading {
    fn value(&mut self, key: u64) -> Result<i64> {
        match self.snapshot.get::<Value>(self.keys.reference(key)?)? {
            Some(item) => Ok(item.value),
            None => bail!("no item {key}"),
        }
    }

    fn next(&mut self, key: u64) -> Result<u64> {
        match self.snapshot.get::<Next>(self.keys.reference(key)?)? {
            Some(item) => Ok(self.keys.key(item.next)),
            None => bail!("no item {key}"),
        }
    }
}

/// The same, attribute by attribute.
struct StoredReading(Reading);

impl StoredReading {
    fn attribute(&self, key: u64, name: &str) -> Result<olivine::Value> {
        let reference: Ref<Item> = self.0.keys.reference(key)?;
        match self.0.snapshot.stored(reference)? {
            Some(item) => Ok(item.get(name)?),
            None => bail!("no item {key}"),
        }
    }
}

impl Session for StoredReading {
    fn value(&mut self, key: u64) -> Result<i64> {
        let value = self.attribute(key, "value")?.as_int();
        value.ok_or_else(|| anyhow!("the value of item {key} is no number"))
    }

    fn next(&mut self, key: u64) -> Result<u64> {
        let next = self.attribute(key, "next")?.as_reference();
        let next = next.ok_or_else(|| anyhow!("the next of item {key} is no reference"))?;
        Ok(self.0.keys.key(Ref::from_oid(next)))
    }
}

impl Peer for Olivine {
    fn name(&self) -> &'static str {
        match self.way {
            Way::Struct => OLIVINE,
            Way::Stored => "Olivine, stored.get",
        }
    }

    fn other_ways(&self) -> Vec<Box<dyn Peer>> {
        vec![Box::new(Olivine {
            database: self.database.clone(),
            keys: self.keys,
            way: Way::Stored,
        })]
    }

    fn share(&self) -> usize {
        1
    }

    fn read(&self, reads: &Reads) -> Result<u64> {
        let reading = Reading {
            snapshot: self.database.snapshot(),
            keys: self.keys,
        };
        match self.way {
            Way::Struct => reads.run(&mut { reading }),
            Way::Stored => reads.run(&mut StoredReading(reading)),
        }
    }

    fn count_above(&self, bound: i64) -> Result<u64> {
        let text = "select count(*) from Item where value > $1";
        match oql::numbers(&self.database.snapshot(), text, (bound,))?.as_slice() {
            [count] => Ok(count.unsigned_abs()),
            other => bail!("a count gave {} rows", other.len()),
        }
    }

    fn overwrite(&mut self, changes: &[Change], batch: usize) -> Result<()> {
        for changes in changes.chunks(batch) {
            let mut transaction = begin_buffered(&self.database)?;
            for change in changes {
                let reference: Ref<NewItem<'_>> = self.keys.reference(change.key)?;
                transaction.update(reference, &self.new_item(&change.body)?)?;
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn digest(&self) -> Result<u64> {
        let mut sum = 0u64;
        for item in self.database.snapshot().extent::<Item>()? {
            let (reference, item) = item?;
            let (key, next) = (self.keys.key(reference.cast()), self.keys.key(item.next));
            sum = sum.wrapping_add(digest(key, next, item.value, &item.payload));
        }
        Ok(sum)
    }
}
