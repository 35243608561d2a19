//! Random histories, against ordered sets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::support::*;
use crate::index::*;
use crate::object::{CommitNumber, Oid};

/// Entries of a full delta in the random histories.
const DELTA: usize = 200;

/// A generator of numbers, repeatable from its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

type Model = BTreeMap<IndexId, Entries>;

/// Compares what a snapshot reads with the entries it must have.
fn check(snapshot: &IndexSnapshot, id: IndexId, at: CommitNumber, entries: &Entries, random: &mut Random) {
    for _ in 0..4 {
        let key = key(random.below(60));
        let expected: Vec<Oid> = entries
            .range((key.clone(), oid(1))..=(key.clone(), oid(u64::MAX)))
            .map(|e| e.1)
            .collect();
        let found = snapshot.get(id, &key, at).unwrap();
        assert_eq!(found.as_slice(), expected, "get {key:?} of {id:?} at {at}");
    }
    for round in 0..3 {
        let (mut start, mut end) = (key(random.below(60)), key(random.below(60)));
        match random.below(4) {
            0 => start.push(0),
            1 => end.push(0),
            2 => start = Vec::new(),
            _ => {}
        }
        let end = (random.below(4) > 0).then_some(end);
        let within = |e: &&(Vec<u8>, Oid)| e.0 >= start && end.as_ref().is_none_or(|end| e.0 < *end);
        let mut expected: Vec<_> = entries.iter().filter(within).cloned().collect();
        let count = snapshot.count(id, &start, end.as_deref(), at).unwrap();
        assert_eq!(
            count,
            expected.len() as u64,
            "count {start:?}..{end:?} of {id:?} at {at}"
        );
        if round == 0 {
            expected.reverse();
        }
        let limit = 1 + random.below(700) as usize;
        let found = read_range(snapshot, id, (&start, end.as_deref()), round == 0, at, limit);
        assert!(
            found == expected,
            "range {start:?}..{end:?} of {id:?} at {at}, round {round}"
        );
    }
}

struct World {
    storage: IndexStorage,
    store: Option<IndexStore>,
    synced: Arc<AtomicU64>,
    log: Vec<(u64, Vec<IndexChange>)>,
    /// After each commit not yet published, and the published one first.
    models: BTreeMap<u64, Model>,
    captures: Vec<(Arc<IndexSnapshot>, u64, Model)>,
    random: Random,
}

impl World {
    fn new(storage: IndexStorage, seed: u64) -> World {
        let synced = Arc::default();
        let store = open(&storage, DELTA, &synced).unwrap();
        for (id, kind) in [
            (ORDERED, IndexKind::Ordered),
            (UNIQUE, IndexKind::Unique),
            (IDLE, IndexKind::Ordered),
        ] {
            store.create(id, kind, position(0)).unwrap();
        }
        let model = [ORDERED, UNIQUE, IDLE].map(|id| (id, Entries::new())).into();
        World {
            storage,
            store: Some(store),
            synced,
            log: Vec::new(),
            models: [(0, model)].into(),
            captures: Vec::new(),
            random: Random(seed),
        }
    }

    fn store(&self) -> &IndexStore {
        self.store.as_ref().unwrap()
    }

    fn last(&self) -> u64 {
        *self.models.last_key_value().unwrap().0
    }

    fn commit(&mut self) {
        let commit = self.last() + 1;
        let mut model = self.models.last_key_value().unwrap().1.clone();
        let mut changes = Vec::new();
        let removals = self.random.below(10);
        for _ in 0..self.random.below(60) {
            let id = if self.random.below(3) == 0 {
                UNIQUE
            } else {
                ORDERED
            };
            // Key 5 is a hub, in chunks most of the time.
            let key = key(if self.random.below(2) == 0 {
                5
            } else {
                self.random.below(60)
            });
            let object = oid(1 + self.random.below(900) * 1_000_003);
            let added = self.random.below(10) >= removals;
            let entries = model.get_mut(&id).unwrap();
            match added {
                true => entries.insert((key.clone(), object)),
                false => entries.remove(&(key.clone(), object)),
            };
            changes.push(change(id, &key, object, added));
        }
        self.store()
            .apply(CommitNumber(commit), position(commit), &changes)
            .unwrap();
        self.log.push((commit, changes));
        self.models.insert(commit, model);
    }

    /// Publishes up to some commit, and captures there.
    fn capture(&mut self) {
        let first = *self.models.first_key_value().unwrap().0;
        let at = first + self.random.below(self.last() - first + 1);
        self.models = self.models.split_off(&at);
        let snapshot = self.store().capture(CommitNumber(at));
        self.captures.push((snapshot, at, self.models[&at].clone()));
        if self.captures.len() > 12 {
            let which = self.random.below(12) as usize;
            self.captures.swap_remove(which);
        }
    }

    fn check_one(&mut self) {
        if self.captures.is_empty() {
            return;
        }
        let which = self.random.below(self.captures.len() as u64) as usize;
        let (snapshot, at, model) = &self.captures[which];
        for (&id, entries) in model {
            check(snapshot, id, CommitNumber(*at), entries, &mut self.random);
        }
    }

    fn reopen(&mut self) {
        if !matches!(self.storage, IndexStorage::Directory(_)) {
            return;
        }
        self.captures.clear();
        if self.random.below(2) == 0 {
            self.store().close().unwrap();
        }
        self.store = None;
        self.store = Some(open(&self.storage, DELTA, &self.synced).unwrap());
        let applied = self
            .store()
            .known()
            .into_iter()
            .map(|id| self.store().applied(id).unwrap())
            .min()
            .unwrap();
        assert!(u64::from(applied.offset) <= self.synced.load(Ordering::SeqCst));
        for (commit, changes) in &self.log {
            if position(*commit) > applied {
                self.store()
                    .apply(CommitNumber(*commit), position(*commit), changes)
                    .unwrap();
            }
        }
        let last = self.last();
        self.models = self.models.split_off(&last);
        self.store().published(CommitNumber(last));
    }

    fn step(&mut self) {
        match self.random.below(40) {
            0..=23 => self.commit(),
            24..=30 => self.capture(),
            31..=37 => self.check_one(),
            38 => self.store().flush().unwrap(),
            _ => self.reopen(),
        }
    }
}

fn run_model(storage: IndexStorage, seed: u64, steps: usize) {
    println!("seed {seed}");
    let mut world = World::new(storage, seed);
    for _ in 0..steps {
        world.step();
    }
    let last = world.last();
    world.models = world.models.split_off(&last);
    world.capture();
    for _ in 0..20 {
        world.check_one();
    }
    world.store().flush().unwrap();
    for id in [ORDERED, UNIQUE, IDLE] {
        assert_eq!(world.store().applied(id), Some(position(last)));
        let entries = &world.models[&last][&id];
        let keys: BTreeSet<_> = entries.iter().map(|entry| &entry.0).collect();
        let statistics = world.store().statistics(id).unwrap();
        assert_eq!(
            (statistics.entries, statistics.keys),
            (entries.len() as u64, keys.len() as u64)
        );
    }
}

#[test]
fn random_histories_in_memory_read_as_the_model_did() {
    for seed in 1..=8 {
        run_model(IndexStorage::Memory, seed, 700);
    }
}

#[test]
fn random_histories_on_disk_read_as_the_model_did() {
    for seed in 101..=102 {
        let directory = tempfile::tempdir().unwrap();
        run_model(IndexStorage::Directory(directory.path().join("index")), seed, 220);
    }
}
