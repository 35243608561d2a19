//! Tests of the store as its callers use it, against ordered sets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::shared::Limits;
use super::*;
use crate::error::{Error, Result};
use crate::heap::LogPosition;
use crate::object::{CommitNumber, Oid};

const ORDERED: IndexId = IndexId(1);
const UNIQUE: IndexId = IndexId(2);
const IDLE: IndexId = IndexId(3);

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

type Entries = BTreeSet<(Vec<u8>, Oid)>;
type Model = BTreeMap<IndexId, Entries>;

fn oid(number: u64) -> Oid {
    Oid::from_bits(number).unwrap()
}

/// Prefix-free: the length comes first.
fn key(number: u64) -> Vec<u8> {
    let text = number.to_string().repeat(1 + (number % 7 == 0) as usize * 12);
    [&[text.len() as u8], text.as_bytes()].concat()
}

fn change(index: IndexId, key: &[u8], oid: Oid, added: bool) -> IndexChange {
    IndexChange {
        index,
        key: IndexKey::from_slice(key),
        oid,
        added,
    }
}

fn position(commit: u64) -> LogPosition {
    LogPosition {
        segment: 1,
        offset: commit as u32 * 8,
    }
}

fn open(storage: &IndexStorage, entries: usize, synced: &Arc<AtomicU64>) -> Result<IndexStore> {
    let synced = Arc::clone(synced);
    let sync = move |position: LogPosition| {
        synced.fetch_max(u64::from(position.offset), Ordering::SeqCst);
        Ok(())
    };
    let limits = Limits {
        entries,
        bytes: 1 << 30,
    };
    IndexStore::open_with(storage.clone(), 4 << 20, limits, Arc::new(sync))
}

fn read_range(
    snapshot: &IndexSnapshot,
    id: IndexId,
    bounds: (&[u8], Option<&[u8]>),
    descending: bool,
    at: CommitNumber,
    limit: usize,
) -> Vec<(Vec<u8>, Oid)> {
    let mut cursor = snapshot.range(id, bounds.0, bounds.1, descending, at).unwrap();
    let mut all = Vec::new();
    loop {
        let mut part = Vec::new();
        cursor.next_entries(limit, &mut part).unwrap();
        assert!(part.len() <= limit);
        if part.is_empty() {
            return all;
        }
        all.extend(part.into_iter().map(|(key, oid)| (key.to_vec(), oid)));
    }
}

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
        let store = open(&storage, 150, &synced).unwrap();
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
        self.store = Some(open(&self.storage, 150, &self.synced).unwrap());
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
    for seed in 101..=103 {
        let directory = tempfile::tempdir().unwrap();
        run_model(IndexStorage::Directory(directory.path().join("index")), seed, 350);
    }
}

fn storages(directory: &Path) -> [IndexStorage; 2] {
    [
        IndexStorage::Memory,
        IndexStorage::Directory(directory.join("index")),
    ]
}

fn hub_key() -> Vec<u8> {
    key(5)
}

fn read_all(store: &IndexStore, id: IndexId, at: u64) -> Vec<(Vec<u8>, Oid)> {
    let snapshot = store.capture(CommitNumber(at));
    read_range(&snapshot, id, (&[], None), false, CommitNumber(at), 1000)
}

#[test]
fn a_hub_takes_additions_and_removals_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    for storage in storages(directory.path()) {
        let store = open(&storage, 1 << 20, &Arc::default()).unwrap();
        let hub = hub_key();
        let entries: Vec<_> = (1..=100_000u64)
            .map(|n| (IndexKey::from_slice(&hub), oid((1 << 50) + n * 1000)))
            .collect();
        let mut expected: BTreeSet<Oid> = entries.iter().map(|entry| entry.1).collect();
        let mut all = entries.into_iter().map(Ok);
        store
            .build(
                ORDERED,
                IndexKind::Ordered,
                &mut all,
                &mut |_, _| Ok(()),
                position(1),
                CommitNumber(1),
            )
            .unwrap();
        let mut rounds: Vec<Vec<(u64, bool)>> = vec![
            (20_000..70_000).map(|n| ((1 << 50) + n * 1000, false)).collect(),
            (0..300).map(|n| (1 + n, true)).collect(),
            (0..3000).map(|n| ((1 << 50) + n * 77_777, true)).collect(),
            (100_001..101_000).map(|n| ((1 << 50) + n * 1000, true)).collect(),
            vec![
                ((1 << 50) + 55_555, true),
                (1, false),
                ((1 << 50) + 100_000_000, false),
            ],
        ];
        let mut commit = 1;
        let apply = |commit: u64, operations: &[(u64, bool)], expected: &mut BTreeSet<Oid>| {
            let changes: Vec<_> = operations
                .iter()
                .map(|&(n, added)| change(ORDERED, &hub, oid(n), added))
                .collect();
            for &(n, added) in operations {
                if added {
                    expected.insert(oid(n))
                } else {
                    expected.remove(&oid(n))
                };
            }
            store
                .apply(CommitNumber(commit), position(commit), &changes)
                .unwrap();
        };
        let verify = |commit: u64, expected: &BTreeSet<Oid>| {
            let snapshot = store.capture(CommitNumber(commit));
            let expected: Vec<Oid> = expected.iter().copied().collect();
            assert!(
                snapshot
                    .get(ORDERED, &hub, CommitNumber(commit))
                    .unwrap()
                    .as_slice()
                    == expected
            );
            assert_eq!(
                snapshot.count(ORDERED, &hub, None, CommitNumber(commit)).unwrap(),
                expected.len() as u64
            );
            let found = read_range(&snapshot, ORDERED, (&[], None), true, CommitNumber(commit), 999);
            assert!(
                found
                    .iter()
                    .map(|entry| entry.1)
                    .eq(expected.iter().rev().copied())
            );
        };
        rounds.push(
            expected
                .iter()
                .skip(40)
                .map(|oid| (oid.to_bits(), false))
                .collect(),
        );
        for round in &rounds {
            commit += 1;
            apply(commit, round, &mut expected);
            verify(commit, &expected);
            store.flush().unwrap();
            verify(commit, &expected);
        }
        let rest: Vec<_> = expected.iter().map(|oid| (oid.to_bits(), false)).collect();
        apply(commit + 1, &rest, &mut expected);
        store.flush().unwrap();
        verify(commit + 1, &expected);
        assert_eq!(store.statistics(ORDERED).unwrap().keys, 0);
    }
}

#[test]
fn no_stored_value_reaches_four_kilobytes() {
    let store = super::store::Store::open(IndexStorage::Memory, 0).unwrap();
    let space = store.space("any", super::store::Access::Range).unwrap();
    let mut posting = super::merge::PostingWriter::default();
    for number in 1..=1_000_000u64 {
        posting.push(oid(number * 1_000_003));
    }
    space.ingest(|write| posting.finish(b"hub", write)).unwrap();
    let values = space.base().range(&[0], &[2]).map(|item| item.unwrap().1.len());
    let (count, largest) = values.fold((0, 0), |(count, largest), length| {
        (count + 1, largest.max(length))
    });
    assert!(
        count > 2000 && largest <= 1024,
        "{count} values of at most {largest} bytes"
    );
}

#[test]
fn readers_see_their_commit_while_others_apply_and_flush() {
    let directory = tempfile::tempdir().unwrap();
    for storage in storages(directory.path()) {
        let store = open(&storage, 500, &Arc::default()).unwrap();
        store.create(ORDERED, IndexKind::Ordered, position(0)).unwrap();
        // Commit n moves every object to key n: each reader must find all of them under one key.
        let objects = 40;
        let published = AtomicU64::new(0);
        let done = AtomicBool::new(false);
        let gate = parking_lot::Mutex::new(());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Ordering::SeqCst) {
                        let (snapshot, at) = {
                            let _gate = gate.lock();
                            let at = published.load(Ordering::SeqCst);
                            (store.capture(CommitNumber(at)), at)
                        };
                        let expected = if at == 0 { 0 } else { objects };
                        for _ in 0..3 {
                            let all =
                                read_range(&snapshot, ORDERED, (&[], None), at % 2 == 0, CommitNumber(at), 7);
                            assert_eq!(all.len() as u64, expected, "at {at}");
                            assert!(all.iter().all(|entry| entry.0 == key(at)));
                            assert_eq!(
                                snapshot.get(ORDERED, &key(at), CommitNumber(at)).unwrap().len() as u64,
                                expected
                            );
                            if at > 0 {
                                let before = snapshot.get(ORDERED, &key(at - 1), CommitNumber(at)).unwrap();
                                assert!(before.is_empty());
                            }
                        }
                    }
                });
            }
            for commit in 1..=300u64 {
                let added = (1..=objects).map(|n| change(ORDERED, &key(commit), oid(n), true));
                let removed = (1..=objects)
                    .filter(|_| commit > 1)
                    .map(|n| change(ORDERED, &key(commit - 1), oid(n), false));
                let changes: Vec<_> = removed.chain(added).collect();
                store
                    .apply(CommitNumber(commit), position(commit), &changes)
                    .unwrap();
                let _gate = gate.lock();
                published.store(commit, Ordering::SeqCst);
            }
            store.flush().unwrap();
            done.store(true, Ordering::SeqCst);
        });
    }
}

#[test]
fn an_index_dropped_is_read_by_who_had_it_and_can_be_made_again() {
    let directory = tempfile::tempdir().unwrap();
    for storage in storages(directory.path()) {
        let store = open(&storage, 1000, &Arc::default()).unwrap();
        store.create(ORDERED, IndexKind::Ordered, position(0)).unwrap();
        store
            .apply(
                CommitNumber(1),
                position(1),
                &[change(ORDERED, &key(1), oid(1), true)],
            )
            .unwrap();
        store.flush().unwrap();
        let before = store.capture(CommitNumber(1));
        assert_eq!(
            before.get(ORDERED, &key(1), CommitNumber(1)).unwrap().as_slice(),
            [oid(1)]
        );
        store.drop(ORDERED).unwrap();
        assert_eq!(store.applied(ORDERED), None);
        assert!(
            store
                .capture(CommitNumber(1))
                .get(ORDERED, &key(1), CommitNumber(1))
                .is_err()
        );
        store.create(ORDERED, IndexKind::Unique, position(1)).unwrap();
        store
            .apply(
                CommitNumber(2),
                position(2),
                &[change(ORDERED, &key(1), oid(7), true)],
            )
            .unwrap();
        store.flush().unwrap();
        assert_eq!(read_all(&store, ORDERED, 2), [(key(1), oid(7))]);
        for _ in 0..2 {
            let again = store
                .capture(CommitNumber(2))
                .get(ORDERED, &key(1), CommitNumber(2))
                .unwrap();
            assert_eq!(again.as_slice(), [oid(7)]);
            assert_eq!(
                before.get(ORDERED, &key(1), CommitNumber(1)).unwrap().as_slice(),
                [oid(1)]
            );
        }
        assert_eq!(store.kind(ORDERED), Some(IndexKind::Unique));
    }
}

#[test]
fn changes_made_during_a_build_are_not_lost() {
    let directory = tempfile::tempdir().unwrap();
    for storage in storages(directory.path()) {
        let store = open(&storage, 1000, &Arc::default()).unwrap();
        store.prepare(ORDERED);
        store
            .apply(
                CommitNumber(1),
                position(1),
                &[change(ORDERED, &key(1), oid(1), true)],
            )
            .unwrap();
        let mut entries = [(key(1), oid(1)), (key(2), oid(2))]
            .into_iter()
            .map(|(key, oid)| {
                // Commits 2 and 3 come while the entries of commit 1 are read, and are flushed before the build ends.
                if oid.to_bits() == 2 {
                    let changes = [
                        change(ORDERED, &key, oid, false),
                        change(ORDERED, &key, self::oid(3), true),
                    ];
                    store.apply(CommitNumber(2), position(2), &changes).unwrap();
                    store.flush().unwrap();
                    store
                        .apply(
                            CommitNumber(3),
                            position(3),
                            &[change(ORDERED, &self::key(4), self::oid(4), true)],
                        )
                        .unwrap();
                }
                Ok((IndexKey::from_slice(&key), oid))
            });
        let build = store.build(
            ORDERED,
            IndexKind::Ordered,
            &mut entries,
            &mut |_, _| Ok(()),
            position(1),
            CommitNumber(1),
        );
        build.unwrap();
        assert_eq!(
            store.applied(ORDERED),
            Some(position(1)),
            "the log is needed from the build's commit on"
        );
        let expected = [(key(1), oid(1)), (key(2), oid(3)), (key(4), oid(4))];
        assert_eq!(read_all(&store, ORDERED, 3), expected);
        store.flush().unwrap();
        assert_eq!(store.applied(ORDERED), Some(position(3)));
        assert_eq!(read_all(&store, ORDERED, 3), expected);
    }
}

#[test]
fn a_build_that_missed_changes_is_refused() {
    let store = open(&IndexStorage::Memory, 1000, &Arc::default()).unwrap();
    store
        .apply(
            CommitNumber(5),
            position(5),
            &[change(ORDERED, &key(1), oid(1), true)],
        )
        .unwrap();
    store.flush().unwrap();
    let build = |commit: u64| {
        let mut entries = std::iter::empty();
        store.build(
            ORDERED,
            IndexKind::Ordered,
            &mut entries,
            &mut |_, _| Ok(()),
            position(commit),
            CommitNumber(commit),
        )
    };
    assert!(matches!(build(4), Err(Error::Limit(_))));
    assert_eq!(store.applied(ORDERED), None);
    build(5).unwrap();
}

#[test]
fn a_unique_build_shows_each_key_with_several_objects() {
    let directory = tempfile::tempdir().unwrap();
    for storage in storages(directory.path()) {
        let store = open(&storage, 1000, &Arc::default()).unwrap();
        let pairs = [(3, 9), (1, 1), (2, 4), (3, 8), (2, 4), (4, 2)];
        let entries = || {
            pairs
                .into_iter()
                .map(|(k, o)| Ok((IndexKey::from_slice(&key(k)), oid(o))))
        };
        let mut seen = Vec::new();
        let mut several = |key: &[u8], objects: &[Oid]| {
            seen.push((key.to_vec(), objects.to_vec()));
            Ok(())
        };
        store
            .build(
                UNIQUE,
                IndexKind::Unique,
                &mut entries(),
                &mut several,
                position(1),
                CommitNumber(1),
            )
            .unwrap();
        assert_eq!(seen, [(key(3), vec![oid(8), oid(9)])]);
        assert_eq!(store.statistics(UNIQUE).unwrap().entries, 5);
        let mut refuse = |_: &[u8], _: &[Oid]| Err(Error::Argument("twice".into()));
        let refused = store.build(
            IDLE,
            IndexKind::Unique,
            &mut entries(),
            &mut refuse,
            position(1),
            CommitNumber(1),
        );
        assert!(matches!(refused, Err(Error::Argument(_))));
        assert_eq!(store.applied(IDLE), None);
        assert_eq!(store.known(), [UNIQUE]);
    }
}

#[test]
fn a_directory_that_does_not_open_is_reported_and_can_be_reset() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("index");
    let storage = IndexStorage::Directory(path.clone());
    let make = || {
        let store = open(&storage, 1000, &Arc::default()).unwrap();
        store.create(ORDERED, IndexKind::Ordered, position(0)).unwrap();
        store
            .apply(
                CommitNumber(1),
                position(1),
                &[change(ORDERED, &key(1), oid(1), true)],
            )
            .unwrap();
        store.close().unwrap();
    };
    make();
    assert_eq!(
        open(&storage, 1000, &Arc::default()).unwrap().applied(ORDERED),
        Some(position(1))
    );
    let mut reported = 0;
    for damage in 0..3u8 {
        for file in files(&path) {
            IndexStore::reset(&path).unwrap();
            make();
            let bytes = std::fs::read(&file).unwrap_or_default();
            match damage {
                0 => std::fs::remove_file(&file).unwrap_or_default(),
                1 => std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap(),
                _ => std::fs::write(&file, bytes.iter().map(|byte| byte ^ 0x55).collect::<Vec<_>>()).unwrap(),
            }
            let reopened = open(&storage, 1000, &Arc::default());
            match reopened {
                Err(error) => {
                    assert!(
                        matches!(error, Error::Corruption(_)),
                        "{file:?}, damage {damage}: {error}"
                    );
                    reported += 1;
                }
                // Files that do not matter, or an index that must be rebuilt; never a wrong answer.
                Ok(store) if store.applied(ORDERED) == Some(position(1)) => {
                    let found = store
                        .capture(CommitNumber(1))
                        .get(ORDERED, &key(1), CommitNumber(1));
                    assert!(
                        found.is_err() || found.unwrap().as_slice() == [oid(1)],
                        "{file:?}, damage {damage}"
                    );
                }
                Ok(store) => assert!(
                    store
                        .applied(ORDERED)
                        .is_none_or(|applied| applied == position(0))
                ),
            }
        }
    }
    assert!(reported > 0);
    IndexStore::reset(&path).unwrap();
    IndexStore::reset(&path).unwrap();
    assert_eq!(open(&storage, 1000, &Arc::default()).unwrap().known(), []);
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path
            .file_name()
            .is_some_and(|name| name != "lock" && name != "0.jnl")
        {
            all.push(path);
        }
    }
    all.sort();
    all
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => copy(&entry.path(), &target),
            // A file may go while others are copied.
            _ => drop(std::fs::copy(entry.path(), target)),
        }
    }
}

#[test]
fn an_ingestion_that_is_not_finished_leaves_the_index_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("index");
    let storage = IndexStorage::Directory(path.clone());
    let store = super::store::Store::open(storage.clone(), 1 << 20).unwrap();
    let space = store.space("ordered-1", super::store::Access::Range).unwrap();
    space.ingest(|write| write(b"a", Some(b"1"))).unwrap();
    let half = space.ingest(|write| {
        for number in 0..50_000u32 {
            write(
                &[b"a".as_slice(), &number.to_be_bytes()].concat(),
                Some(&[7; 100]),
            )?;
        }
        copy(&path, &directory.path().join("killed"));
        Err(Error::Argument("stop".into()))
    });
    assert!(half.is_err());
    assert_eq!(space.base().range(b"a", b"b").count(), 1);
    drop((space, store));
    for path in [path, directory.path().join("killed")] {
        let store = super::store::Store::open(IndexStorage::Directory(path), 1 << 20).unwrap();
        let space = store.space("ordered-1", super::store::Access::Range).unwrap();
        assert_eq!(space.base().range(b"a", b"b").count(), 1);
    }
}

/// The directory is copied at the moments the store itself can name: when it asks for the log to be synced (before any
/// ingestion of a flush), and in between by a second thread that copies all the time. A copy of files one after another
/// is no power cut, but the engine's files are written once and never changed, so a copy that opens must be whole.
#[test]
fn copies_of_the_directory_at_any_moment_open_to_what_they_say_is_applied() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("index");
    let at_sync: Arc<parking_lot::Mutex<Vec<std::path::PathBuf>>> = Arc::default();
    let sync = {
        let (path, at_sync, root) = (path.clone(), Arc::clone(&at_sync), directory.path().to_path_buf());
        move |position: LogPosition| {
            let to = root.join(format!("sync-{}", position.offset));
            copy(&path, &to);
            at_sync.lock().push(to);
            Ok(())
        }
    };
    let limits = Limits {
        entries: 200,
        bytes: 1 << 30,
    };
    let store = IndexStore::open_with(
        IndexStorage::Directory(path.clone()),
        4 << 20,
        limits,
        Arc::new(sync),
    )
    .unwrap();
    store.create(ORDERED, IndexKind::Ordered, position(0)).unwrap();
    store.create(UNIQUE, IndexKind::Unique, position(0)).unwrap();
    let done = AtomicBool::new(false);
    let commits = 60;
    let random_copies = std::thread::scope(|scope| {
        let copier = scope.spawn(|| {
            let mut copies = Vec::new();
            while !done.load(Ordering::SeqCst) && copies.len() < 20 {
                let to = directory.path().join(format!("random-{}", copies.len()));
                copy(&path, &to);
                copies.push(to);
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            copies
        });
        for commit in 1..=commits {
            store
                .apply(CommitNumber(commit), position(commit), &copy_changes(commit))
                .unwrap();
        }
        store.close().unwrap();
        done.store(true, Ordering::SeqCst);
        copier.join().unwrap()
    });
    let at_sync = std::mem::take(&mut *at_sync.lock());
    assert!(at_sync.len() > 5);
    for copy in &at_sync {
        assert!(check_copy(copy), "{} does not open", copy.display());
    }
    let opened = random_copies.iter().filter(|copy| check_copy(copy)).count();
    println!("{opened} of {} random copies opened", random_copies.len());
}

fn copy_changes(commit: u64) -> Vec<IndexChange> {
    let add = |n: u64| change(ORDERED, &key(n % 20), oid(commit * 100 + n), true);
    let mut changes: Vec<_> = (0..20).map(add).collect();
    changes.push(change(UNIQUE, &key(commit), oid(commit), true));
    if commit > 3 {
        changes.push(change(UNIQUE, &key(commit - 3), oid(commit - 3), false));
    }
    changes
}

/// Whether the copy opens; if so, each index must hold exactly the commits through its `applied`.
fn check_copy(path: &Path) -> bool {
    let store = match open(&IndexStorage::Directory(path.into()), 1000, &Arc::default()) {
        Ok(store) => store,
        Err(Error::Corruption(_)) => return false,
        Err(error) => panic!("{error}"),
    };
    for id in store.known() {
        let applied = u64::from(store.applied(id).unwrap().offset) / 8;
        let mut expected = Entries::new();
        for change in (1..=applied)
            .flat_map(copy_changes)
            .filter(|change| change.index == id)
        {
            let entry = (change.key.to_vec(), change.oid);
            if change.added {
                expected.insert(entry)
            } else {
                expected.remove(&entry)
            };
        }
        let found = read_all(&store, id, applied);
        assert!(
            found.into_iter().eq(expected),
            "{}, {id:?} at {applied}",
            path.display()
        );
    }
    true
}

#[test]
fn a_failing_flush_keeps_all_readable_and_is_tried_again() {
    let failing = Arc::new(AtomicBool::new(true));
    let sync = {
        let failing = Arc::clone(&failing);
        move |_| match failing.load(Ordering::SeqCst) {
            true => Err(Error::io(
                "syncing",
                std::io::Error::from(std::io::ErrorKind::StorageFull),
            )),
            false => Ok(()),
        }
    };
    let limits = Limits {
        entries: 10,
        bytes: 1 << 30,
    };
    let store = IndexStore::open_with(IndexStorage::Memory, 4 << 20, limits, Arc::new(sync)).unwrap();
    store.create(ORDERED, IndexKind::Ordered, position(0)).unwrap();
    for commit in 1..=100u64 {
        let changes = [change(ORDERED, &key(commit), oid(commit), true)];
        store
            .apply(CommitNumber(commit), position(commit), &changes)
            .unwrap();
    }
    assert!(matches!(store.room(), Err(Error::NoSpace { .. })));
    assert!(store.flush().is_err());
    assert_eq!(read_all(&store, ORDERED, 100).len(), 100);
    failing.store(false, Ordering::SeqCst);
    store.flush().unwrap();
    store.room().unwrap();
    assert_eq!(read_all(&store, ORDERED, 100).len(), 100);
    assert_eq!(store.applied(ORDERED), Some(position(100)));
    store.close().unwrap();
    assert!(matches!(
        store.apply(CommitNumber(101), position(101), &[]),
        Err(Error::Closed(_))
    ));
}
