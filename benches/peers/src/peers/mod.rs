//! The stores that are compared, each behind the same few operations on the same items.

mod bytes;
mod lmdb;
mod lsm;
pub mod olivine;
pub mod sqlite;

pub use bytes::{Map, Vector};
pub use lmdb::{Lmdb, Sync as LmdbSync, open_new as open_lmdb};
pub use lsm::Lsm;
pub use olivine::{Olivine, begin_buffered, open as open_olivine};
pub use sqlite::{Sqlite, Sync as SqliteSync, open_new as open_sqlite};

use std::path::Path;

use anyhow::Result;

use crate::data::Items;

/// The name every ratio is taken to.
pub const OLIVINE: &str = "Olivine";
/// The name the second ratio is taken to.
pub const SQLITE: &str = "SQLite";

/// One store that holds all items.
pub trait Peer {
    /// Its name in the report.
    fn name(&self) -> &'static str;

    /// It gets one operation of this many: fewer operations for the slow, not fewer checks.
    fn share(&self) -> usize;

    /// Runs reads by key and returns their sum.
    fn read(&self, reads: &Reads) -> Result<u64>;

    /// Counts the items whose number is above `bound`, by reading all.
    fn count_above(&self, bound: i64) -> Result<u64>;

    /// Replaces items, `batch` a transaction, none of which waits for the disk.
    fn overwrite(&mut self, changes: &[Change], batch: usize) -> Result<()>;

    /// The same store read in other ways, as peers of their own.
    fn other_ways(&self) -> Vec<Box<dyn Peer>> {
        Vec::new()
    }

    /// The digest of all it holds.
    fn digest(&self) -> Result<u64>;
}

/// One item's new state.
#[derive(Debug)]
pub struct Change {
    /// The item.
    pub key: u64,
    /// All of it, as bytes.
    pub body: Vec<u8>,
}

/// Reads by key.
#[derive(Debug, Clone)]
pub enum Reads {
    /// The number of each of these.
    Each(Vec<u64>),
    /// As many steps along `next`, from this key.
    Chain(u64, usize),
    /// The numbers of the hundred items from each of these keys on.
    Neighbours(Vec<u64>),
}

/// Items read around one key.
pub const NEIGHBOURS: u64 = 100;

/// What a store reads with: a transaction, a statement, a snapshot, opened once a stretch of reads.
pub trait Session {
    /// The number of an item.
    fn value(&mut self, key: u64) -> Result<i64>;
    /// The key an item refers to.
    fn next(&mut self, key: u64) -> Result<u64>;
}

impl Reads {
    /// The first part of them, one of `share`.
    pub fn part(&self, share: usize) -> Reads {
        match self {
            Reads::Each(keys) => Reads::Each(keys[..keys.len() / share].to_vec()),
            Reads::Chain(start, steps) => Reads::Chain(*start, steps / share),
            Reads::Neighbours(keys) => Reads::Neighbours(keys[..keys.len() / share].to_vec()),
        }
    }

    /// How many items are read.
    pub fn operations(&self) -> usize {
        match self {
            Reads::Each(keys) => keys.len(),
            Reads::Chain(_, steps) => *steps,
            Reads::Neighbours(keys) => keys.len() * NEIGHBOURS as usize,
        }
    }

    /// Runs them; the sum depends on every one.
    pub fn run(&self, session: &mut impl Session) -> Result<u64> {
        let mut sum = 0u64;
        match self {
            Reads::Each(keys) => {
                for key in keys {
                    sum = sum.wrapping_add(session.value(*key)? as u64);
                }
            }
            Reads::Chain(start, steps) => {
                let mut key = *start;
                for _ in 0..*steps {
                    key = session.next(key)?;
                    sum = sum.wrapping_mul(31).wrapping_add(key);
                }
            }
            Reads::Neighbours(starts) => {
                for start in starts {
                    for key in *start..*start + NEIGHBOURS {
                        sum = sum.wrapping_add(session.value(key)? as u64);
                    }
                }
            }
        }
        Ok(sum)
    }
}

/// The items themselves, as what every sum is checked against.
impl Session for &Items {
    fn value(&mut self, key: u64) -> Result<i64> {
        Ok(Items::value(self, key))
    }

    fn next(&mut self, key: u64) -> Result<u64> {
        Ok(Items::next(self, key))
    }
}

/// The peers that keep `items` by key, loaded and told apart by folders below `directory`; all, or those `only` names.
pub fn load_all(directory: &Path, items: &Items, only: &[String]) -> Result<Vec<Box<dyn Peer>>> {
    let wanted = |name: &str| {
        let wanted = only.is_empty() || only.iter().any(|only| only.eq_ignore_ascii_case(name));
        if wanted {
            eprintln!("  loading {} items into {name}", items.len());
        }
        wanted
    };
    let mut peers: Vec<Box<dyn Peer>> = Vec::new();
    if wanted(OLIVINE) {
        peers.push(Box::new(Olivine::load(&directory.join("olivine"), items)?));
    }
    if wanted("Vec") {
        peers.push(Box::new(Vector::load(items)));
    }
    if wanted("HashMap") {
        peers.push(Box::new(Map::load(items)));
    }
    if wanted("LMDB") {
        peers.push(Box::new(Lmdb::load(&directory.join("lmdb"), items)?));
    }
    if wanted("fjall") {
        peers.push(Box::new(Lsm::load(&directory.join("fjall"), items)?));
    }
    if wanted(SQLITE) {
        peers.push(Box::new(Sqlite::load(&directory.join("sqlite.db"), items)?));
    }
    Ok(peers)
}
