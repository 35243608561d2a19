//! The bounds: items as bytes in a vector, and in the standard library's hash map.

use std::collections::HashMap;

use anyhow::{Result, anyhow};

use super::{Change, Peer, Reads, Session};
use crate::data::{Items, digest_of, next_of, value_of};

/// `Vec<Box<[u8]>>`: no store can be faster.
#[derive(Debug)]
pub struct Vector(Vec<Box<[u8]>>);

/// `HashMap<u64, Box<[u8]>>`.
#[derive(Debug)]
pub struct Map(HashMap<u64, Box<[u8]>>);

impl Vector {
    /// Holds all items.
    pub fn load(items: &Items) -> Vector {
        let body = |key| items.body(key, items.value(key)).into_boxed_slice();
        Vector(items.keys().map(body).collect())
    }

    #[inline]
    fn body(&self, key: u64) -> Result<&[u8]> {
        let body = self.0.get(key as usize);
        body.map(|body| &**body).ok_or_else(|| anyhow!("no item {key}"))
    }
}

impl Map {
    /// Holds all items.
    pub fn load(items: &Items) -> Map {
        let body = |key| (key, items.body(key, items.value(key)).into_boxed_slice());
        Map(items.keys().map(body).collect())
    }

    #[inline]
    fn body(&self, key: u64) -> Result<&[u8]> {
        let body = self.0.get(&key);
        body.map(|body| &**body).ok_or_else(|| anyhow!("no item {key}"))
    }
}

impl Session for &Vector {
    fn value(&mut self, key: u64) -> Result<i64> {
        Ok(value_of(self.body(key)?))
    }

    fn next(&mut self, key: u64) -> Result<u64> {
        Ok(next_of(self.body(key)?))
    }
}

impl Session for &Map {
    fn value(&mut self, key: u64) -> Result<i64> {
        Ok(value_of(self.body(key)?))
    }

    fn next(&mut self, key: u64) -> Result<u64> {
        Ok(next_of(self.body(key)?))
    }
}

impl Peer for Vector {
    fn name(&self) -> &'static str {
        "Vec"
    }

    fn share(&self) -> usize {
        1
    }

    fn read(&self, reads: &Reads) -> Result<u64> {
        reads.run(&mut { self })
    }

    fn count_above(&self, bound: i64) -> Result<u64> {
        Ok(self.0.iter().filter(|body| value_of(body) > bound).count() as u64)
    }

    fn overwrite(&mut self, changes: &[Change], _: usize) -> Result<()> {
        for change in changes {
            self.0[change.key as usize] = change.body.as_slice().into();
        }
        Ok(())
    }

    fn digest(&self) -> Result<u64> {
        let parts = self.0.iter().zip(0u64..).map(|(body, key)| digest_of(key, body));
        Ok(parts.fold(0, u64::wrapping_add))
    }
}

impl Peer for Map {
    fn name(&self) -> &'static str {
        "HashMap"
    }

    fn share(&self) -> usize {
        1
    }

    fn read(&self, reads: &Reads) -> Result<u64> {
        reads.run(&mut { self })
    }

    fn count_above(&self, bound: i64) -> Result<u64> {
        Ok(self.0.values().filter(|body| value_of(body) > bound).count() as u64)
    }

    fn overwrite(&mut self, changes: &[Change], _: usize) -> Result<()> {
        for change in changes {
            self.0.insert(change.key, change.body.as_slice().into());
        }
        Ok(())
    }

    fn digest(&self) -> Result<u64> {
        let parts = self.0.iter().map(|(key, body)| digest_of(*key, body));
        Ok(parts.fold(0, u64::wrapping_add))
    }
}
