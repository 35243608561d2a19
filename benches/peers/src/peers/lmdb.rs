//! LMDB, through heed: items as bytes under 8-byte keys.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use heed::byteorder::BigEndian;
use heed::types::{Bytes, U64};
use heed::{Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, WithTls};

use super::{Change, Peer, Reads, Session};
use crate::data::{Items, digest_of, next_of, value_of};

type Table = heed::Database<U64<BigEndian>, Bytes>;

/// One environment with one table.
#[derive(Debug)]
pub struct Lmdb {
    environment: Env,
    table: Table,
}

/// The map's size: address space, not memory.
const MAP_SIZE: usize = 64 << 30;

/// Whether a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// As LMDB comes.
    Always,
    /// `MDB_NOSYNC`.
    Never,
}

impl Lmdb {
    /// Opens an environment in the new directory `path`.
    pub fn create(path: &Path, sync: Sync) -> Result<Lmdb> {
        std::fs::create_dir_all(path)?;
        let flags = match sync {
            Sync::Always => EnvFlags::empty(),
            Sync::Never => EnvFlags::NO_SYNC,
        };
        let environment = open(path, flags).with_context(|| format!("opening LMDB in {}", path.display()))?;
        let mut transaction = environment.write_txn()?;
        let table = environment.create_database(&mut transaction, None)?;
        transaction.commit()?;
        Ok(Lmdb { environment, table })
    }

    /// Holds all items, appended in key order.
    pub fn load(path: &Path, items: &Items) -> Result<Lmdb> {
        let lmdb = Lmdb::create(path, Sync::Never)?;
        let mut transaction = lmdb.environment.write_txn()?;
        for key in items.keys() {
            let body = items.body(key, items.value(key));
            lmdb.table
                .put_with_flags(&mut transaction, PutFlags::APPEND, &key, &body)?;
        }
        transaction.commit()?;
        Ok(lmdb)
    }

    /// Commits one item.
    pub fn put(&self, key: u64, body: &[u8]) -> Result<()> {
        let mut transaction = self.environment.write_txn()?;
        self.table.put(&mut transaction, &key, body)?;
        Ok(transaction.commit()?)
    }
}

/// An environment in the new directory `path` that never waits for the disk.
pub fn open_new(path: &Path) -> Result<Env> {
    Ok(Lmdb::create(path, Sync::Never)?.environment)
}

/// LMDB's map is only as safe as its file: nobody else may change it while it is open.
#[expect(unsafe_code, reason = "the directory is new and this process's own")]
fn open(path: &Path, flags: EnvFlags) -> heed::Result<Env> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_SIZE).max_readers(128);
    unsafe {
        options.flags(flags);
        options.open(path)
    }
}

struct Reading<'a> {
    table: Table,
    transaction: RoTxn<'a, WithTls>,
}

impl Reading<'_> {
    #[inline]
    fn body(&self, key: u64) -> Result<&[u8]> {
        let body = self.table.get(&self.transaction, &key)?;
        body.ok_or_else(|| anyhow!("no item {key}"))
    }
}

impl Session for Reading<'_> {
    fn value(&mut self, key: u64) -> Result<i64> {
        Ok(value_of(self.body(key)?))
    }

    fn next(&mut self, key: u64) -> Result<u64> {
        Ok(next_of(self.body(key)?))
    }
}

impl Peer for Lmdb {
    fn name(&self) -> &'static str {
        "LMDB"
    }

    fn share(&self) -> usize {
        4
    }

    fn read(&self, reads: &Reads) -> Result<u64> {
        let transaction = self.environment.read_txn()?;
        reads.run(&mut Reading {
            table: self.table,
            transaction,
        })
    }

    fn count_above(&self, bound: i64) -> Result<u64> {
        let transaction = self.environment.read_txn()?;
        let mut count = 0;
        for item in self.table.iter(&transaction)? {
            count += u64::from(value_of(item?.1) > bound);
        }
        Ok(count)
    }

    fn overwrite(&mut self, changes: &[Change], batch: usize) -> Result<()> {
        for changes in changes.chunks(batch) {
            let mut transaction = self.environment.write_txn()?;
            for change in changes {
                self.table.put(&mut transaction, &change.key, &change.body)?;
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn digest(&self) -> Result<u64> {
        let transaction = self.environment.read_txn()?;
        let mut sum = 0u64;
        for item in self.table.iter(&transaction)? {
            let (key, body) = item?;
            sum = sum.wrapping_add(digest_of(key, body));
        }
        Ok(sum)
    }
}
