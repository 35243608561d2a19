//! Bare fjall, with the settings that measured best: items as bytes under 8-byte keys.

use std::path::Path;

use anyhow::{Result, anyhow};
use fjall::config::{
    BlockSizePolicy, BloomConstructionPolicy, FilterPolicy, FilterPolicyEntry, HashRatioPolicy,
    PartitioningPolicy, PinningPolicy, RestartIntervalPolicy,
};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot, UserValue};

use super::{Change, Peer, Reads, Session};
use crate::data::{Items, digest_of, next_of, value_of};

/// One keyspace.
pub struct Lsm {
    database: Database,
    keyspace: Keyspace,
}

/// Large enough for all blocks of the data.
const CACHE: u64 = 2 << 30;
const MEMTABLE: u64 = 16 << 20;

impl Lsm {
    /// Opens a database in the new directory `path`.
    pub fn create(path: &Path) -> Result<Lsm> {
        let database = Database::builder(path)
            .cache_size(CACHE)
            .worker_threads(1)
            .open()?;
        let keyspace = database.keyspace("items", settings)?;
        Ok(Lsm { database, keyspace })
    }

    /// Holds all items, ingested in key order.
    pub fn load(path: &Path, items: &Items) -> Result<Lsm> {
        let lsm = Lsm::create(path)?;
        let mut ingestion = lsm.keyspace.start_ingestion()?;
        for key in items.keys() {
            ingestion.write(key.to_be_bytes(), items.body(key, items.value(key)))?;
        }
        ingestion.finish()?;
        Ok(lsm)
    }

    /// Commits one item and waits for the disk.
    pub fn put(&self, key: u64, body: &[u8]) -> Result<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        batch.insert(&self.keyspace, key.to_be_bytes(), body);
        Ok(batch.commit()?)
    }
}

fn settings() -> KeyspaceCreateOptions {
    let filter = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
    KeyspaceCreateOptions::default()
        .max_memtable_size(MEMTABLE)
        .data_block_size_policy(BlockSizePolicy::all(4096))
        .data_block_restart_interval_policy(RestartIntervalPolicy::all(4))
        .data_block_hash_ratio_policy(HashRatioPolicy::all(0.75))
        .filter_policy(FilterPolicy::all(filter))
        .filter_block_pinning_policy(PinningPolicy::all(true))
        .index_block_pinning_policy(PinningPolicy::all(true))
        .filter_block_partitioning_policy(PartitioningPolicy::all(false))
        .index_block_partitioning_policy(PartitioningPolicy::all(false))
}

struct Reading<'a> {
    keyspace: &'a Keyspace,
    snapshot: Snapshot,
}

impl Reading<'_> {
    fn body(&self, key: u64) -> Result<UserValue> {
        let body = self.snapshot.get(self.keyspace, key.to_be_bytes())?;
        body.ok_or_else(|| anyhow!("no item {key}"))
    }
}

impl Session for Reading<'_> {
    fn value(&mut self, key: u64) -> Result<i64> {
        Ok(value_of(&self.body(key)?))
    }

    fn next(&mut self, key: u64) -> Result<u64> {
        Ok(next_of(&self.body(key)?))
    }
}

impl Peer for Lsm {
    fn name(&self) -> &'static str {
        "fjall"
    }

    fn share(&self) -> usize {
        8
    }

    fn read(&self, reads: &Reads) -> Result<u64> {
        let snapshot = self.database.snapshot();
        reads.run(&mut Reading {
            keyspace: &self.keyspace,
            snapshot,
        })
    }

    fn count_above(&self, bound: i64) -> Result<u64> {
        let mut count = 0;
        for item in self.database.snapshot().iter(&self.keyspace) {
            count += u64::from(value_of(&item.value()?) > bound);
        }
        Ok(count)
    }

    fn overwrite(&mut self, changes: &[Change], batch: usize) -> Result<()> {
        for changes in changes.chunks(batch) {
            let mut sorted: Vec<&Change> = changes.iter().collect();
            sorted.sort_by_key(|change| change.key);
            let mut batch = self.database.batch().durability(Some(PersistMode::Buffer));
            for change in sorted {
                batch.insert(&self.keyspace, change.key.to_be_bytes(), change.body.as_slice());
            }
            batch.commit()?;
        }
        Ok(())
    }

    fn digest(&self) -> Result<u64> {
        let mut sum = 0u64;
        for item in self.database.snapshot().iter(&self.keyspace) {
            let (key, body) = item.into_inner()?;
            let key = u64::from_be_bytes(key.as_ref().try_into()?);
            sum = sum.wrapping_add(digest_of(key, &body));
        }
        Ok(sum)
    }
}
