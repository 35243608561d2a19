//! Tests of the heap as a whole.

mod basic;
mod crash;
mod damage;
mod moves;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::error::{Error, Result};
use crate::files::{Disk, FaultyDisk};
use crate::object::{ClassId, CommitNumber, Oid};

const CLASS: ClassId = ClassId(64);

fn oid(serial: u64) -> Oid {
    Oid::new(CLASS, serial).unwrap()
}

fn open(disk: &FaultyDisk) -> Result<(Heap, Recovered)> {
    Heap::open(Arc::new(disk.clone()), HeapOptions::default())
}

/// A commit as a test thinks of it: bodies, or `None` for a deletion.
#[derive(Debug, Clone, Default)]
struct Change {
    number: u64,
    writes: Vec<(u64, Option<Vec<u8>>, bool)>,
    deltas: Vec<u8>,
}

impl Change {
    fn new(number: u64) -> Change {
        Change {
            number,
            ..Change::default()
        }
    }

    fn create(mut self, serial: u64, body: &[u8]) -> Change {
        self.writes.push((serial, Some(body.to_vec()), true));
        self
    }

    fn update(mut self, serial: u64, body: &[u8]) -> Change {
        self.writes.push((serial, Some(body.to_vec()), false));
        self
    }

    fn delete(mut self, serial: u64) -> Change {
        self.writes.push((serial, None, false));
        self
    }

    fn entries(&self) -> Vec<RecordEntry<'_>> {
        let entry = |(serial, body, fresh): &(u64, Option<Vec<u8>>, bool)| (*serial, body.is_some(), *fresh);
        let entries = self.writes.iter().zip(self.writes.iter().map(entry));
        entries
            .map(|((_, body, _), (serial, _, fresh))| RecordEntry {
                oid: oid(serial),
                body: body.as_deref(),
                fresh,
            })
            .collect()
    }
}

/// Appends the changes as one group.
fn append(heap: &Heap, changes: &[Change]) -> Result<Appended> {
    let entries: Vec<Vec<RecordEntry<'_>>> = changes.iter().map(Change::entries).collect();
    let group: Vec<CommitEntry<'_>> = changes
        .iter()
        .zip(&entries)
        .map(|(change, records)| CommitEntry {
            number: CommitNumber(change.number),
            time: 1000 + i64::try_from(change.number).unwrap(),
            label: Some("test"),
            metadata: b"meta",
            records,
            deltas: &change.deltas,
        })
        .collect();
    heap.append(&group)
}

/// Appends, syncs and applies.
fn commit(heap: &Heap, changes: &[Change]) -> Result<()> {
    let appended = append(heap, changes)?;
    heap.sync(appended.end)?;
    heap.apply(&appended);
    Ok(())
}

/// What a heap should hold.
type Model = BTreeMap<u64, Vec<u8>>;

fn apply(model: &mut Model, change: &Change) {
    for (serial, body, _) in &change.writes {
        match body {
            Some(body) => model.insert(*serial, body.clone()),
            None => model.remove(serial),
        };
    }
}

/// All objects of the class at a commit.
fn contents(heap: &Heap, at: u64) -> Result<Model> {
    let view = heap.view();
    let mut model = Model::new();
    let mut serial = 0;
    loop {
        let mut found = Vec::new();
        view.scan(CLASS, &mut serial, CommitNumber(at), 100, &mut found)?;
        if found.is_empty() {
            return Ok(model);
        }
        for record in found {
            let got = view.get(record.oid, CommitNumber(at))?.unwrap();
            assert_eq!(
                (got.oid, got.commit, &got.body),
                (record.oid, record.commit, &record.body)
            );
            model.insert(record.oid.serial(), record.body.into_owned());
        }
    }
}

/// Bytes that do not compress, the same for the same seed.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    std::iter::repeat_with(byte).take(len).collect()
}

fn damages(heap: &Heap) -> Vec<Damage> {
    let mut found = Vec::new();
    heap.verify(&mut |damage| found.push(damage)).unwrap();
    found
}
