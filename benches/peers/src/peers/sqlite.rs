//! SQLite, through rusqlite with its own library: one table, integer primary key, a column an attribute.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, Statement, params};

use super::{Change, Peer, Reads, SQLITE, Session};
use crate::data::{HEAD, Items, digest, next_of, value_of};

/// One connection to a database in WAL mode.
#[derive(Debug)]
pub struct Sqlite(Connection);

/// Whether a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// `synchronous = full`.
    Full,
    /// `synchronous = off`.
    Off,
}

/// Opens a new database at `path` with a cache as large as the data.
fn connect(path: &Path, sync: Sync) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    let synchronous = match sync {
        Sync::Full => "full",
        Sync::Off => "off",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A new database at `path` that never waits for the disk.
pub fn open_new(path: &Path) -> Result<Connection> {
    connect(path, Sync::Off)
}

const CACHE_KIB: i64 = 2 << 20;

impl Sqlite {
    /// Opens a new database at `path`, with its empty table.
    pub fn create(path: &Path, sync: Sync) -> Result<Sqlite> {
        let connection = connect(path, sync)?;
        connection.execute_batch(
            "create table item(key integer primary key, next integer not null, value integer not null, payload blob not null)",
        )?;
        Ok(Sqlite(connection))
    }

    /// Holds all items, inserted in key order in one transaction.
    pub fn load(path: &Path, items: &Items) -> Result<Sqlite> {
        let sqlite = Sqlite::create(path, Sync::Off)?;
        let transaction = sqlite.0.unchecked_transaction()?;
        {
            let mut insert = transaction.prepare(INSERT)?;
            for key in items.keys() {
                let value = items.value(key);
                insert.execute(params![key, items.next(key), value, items.payload(key, value)])?;
            }
        }
        transaction.commit()?;
        Ok(sqlite)
    }

    /// Commits one item.
    pub fn put(&self, key: u64, body: &[u8]) -> Result<()> {
        let mut insert = self.0.prepare_cached(INSERT)?;
        insert.execute(params![key, next_of(body), value_of(body), &body[HEAD..]])?;
        Ok(())
    }
}

const INSERT: &str = "insert into item(key, next, value, payload) values (?1, ?2, ?3, ?4)";

struct Reading<'a> {
    value: Statement<'a>,
    next: Statement<'a>,
}

impl Session for Reading<'_> {
    fn value(&mut self, key: u64) -> Result<i64> {
        Ok(self.value.query_row([key], |row| row.get(0))?)
    }

    fn next(&mut self, key: u64) -> Result<u64> {
        Ok(self.next.query_row([key], |row| row.get(0))?)
    }
}

impl Peer for Sqlite {
    fn name(&self) -> &'static str {
        SQLITE
    }

    fn share(&self) -> usize {
        8
    }

    fn read(&self, reads: &Reads) -> Result<u64> {
        let value = self.0.prepare("select value from item where key = ?1")?;
        let next = self.0.prepare("select next from item where key = ?1")?;
        let transaction = self.0.unchecked_transaction()?;
        let sum = reads.run(&mut Reading { value, next })?;
        transaction.commit()?;
        Ok(sum)
    }

    fn count_above(&self, bound: i64) -> Result<u64> {
        let mut count = self
            .0
            .prepare_cached("select count(*) from item where value > ?1")?;
        Ok(count.query_row([bound], |row| row.get(0))?)
    }

    fn overwrite(&mut self, changes: &[Change], batch: usize) -> Result<()> {
        for changes in changes.chunks(batch) {
            let transaction = self.0.transaction()?;
            {
                let mut update = transaction
                    .prepare_cached("update item set next = ?2, value = ?3, payload = ?4 where key = ?1")?;
                for Change { key, body } in changes {
                    update.execute(params![key, next_of(body), value_of(body), &body[HEAD..]])?;
                }
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn digest(&self) -> Result<u64> {
        let mut all = self.0.prepare("select key, next, value, payload from item")?;
        let mut rows = all.query([])?;
        let mut sum = 0u64;
        while let Some(row) = rows.next()? {
            let payload = row.get_ref(3)?.as_blob()?;
            sum = sum.wrapping_add(digest(row.get(0)?, row.get(1)?, row.get(2)?, payload));
        }
        Ok(sum)
    }
}
