//! Random workloads against a plain map.

use std::path::PathBuf;

use olivine::CommitNumber;

use super::*;
use crate::random::{Random, seeds};

/// A database, what it should hold, and some of what it held.
struct Model {
    disk: FaultyDisk,
    database: Option<Database>,
    things: BTreeMap<Oid, (i64, String)>,
    held: Vec<(Snapshot, Things)>,
    past: Vec<(CommitNumber, Things)>,
    next_key: i64,
    round: u64,
}

impl Model {
    fn database(&self) -> &Database {
        self.database.as_ref().unwrap()
    }

    fn expected(&self) -> Things {
        self.things.values().cloned().collect()
    }

    fn change(&mut self, random: &mut Random) {
        let database = self.database().clone();
        let mut next = self.things.clone();
        let (mut key, round) = (self.next_key, self.round);
        let count = 1 + random.below(60);
        let mut tx = database.begin().unwrap();
        for _ in 0..count {
            let len = if random.one_in(30) {
                20_000
            } else {
                random.below(1500) as usize
            };
            let known = random.below(next.len().max(1) as u64) as usize;
            let known = next.keys().nth(known).copied();
            match (random.below(10), known) {
                (0..3, Some(oid)) => {
                    tx.delete(oid).unwrap();
                    next.remove(&oid);
                }
                (3..7, Some(oid)) => {
                    let (key, value) = next.get_mut(&oid).unwrap();
                    *value = text(*key, round, len);
                    change(&mut tx, oid, value).unwrap();
                }
                _ => {
                    let value = text(key, round, len);
                    let oid = tx.insert_object(thing(key, &value)).unwrap();
                    next.insert(oid, (key, value));
                    key += 1;
                }
            }
        }
        tx.commit().unwrap();
        (self.things, self.next_key) = (next, key);
    }

    fn compact(&self, random: &mut Random) {
        let mut left = random.below(40);
        let mut options = CompactOptions::new();
        if random.one_in(4) {
            options = options.cluster_by("Thing.next");
        }
        let report = self.database().compact(&options, &mut |_| {
            left = left.saturating_sub(1);
            match left {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        report.unwrap();
    }

    fn check(&self) {
        assert_eq!(things(&self.database().snapshot()), self.expected());
        for (snapshot, expected) in &self.held {
            assert_eq!(&things(snapshot), expected, "as of {}", snapshot.commit());
        }
        let floor = self.database().oldest_commit();
        for (commit, expected) in self.past.iter().filter(|(commit, _)| *commit >= floor) {
            let snapshot = self.database().snapshot_at(*commit).unwrap();
            assert_eq!(&things(&snapshot), expected, "as of {commit}");
        }
    }

    fn reopen(&mut self, random: &mut Random) {
        self.held.clear();
        let database = self.database.take().unwrap();
        if random.one_in(2) {
            database.close().unwrap();
        } else {
            // As a kill would leave it.
            self.disk = self.disk.copy().unwrap();
            drop(database);
        }
        if random.one_in(3) {
            let table: Vec<PathBuf> = self.disk.paths();
            for path in table.iter().filter(|path| path.starts_with("table")) {
                self.disk.remove_file(path);
            }
        }
        self.database = Some(open(&self.disk).unwrap());
    }
}

fn run(seed: u64, steps: u64) {
    let mut random = Random::new(seed);
    let disk = FaultyDisk::new();
    let database = open(&disk).unwrap();
    define(&database).unwrap();
    let mut model = Model {
        disk,
        database: Some(database),
        things: BTreeMap::new(),
        held: Vec::new(),
        past: Vec::new(),
        next_key: 0,
        round: 0,
    };
    for _ in 0..steps {
        model.round += 1;
        match random.below(20) {
            0 => model.compact(&mut random),
            1 => model.database().checkpoint().unwrap(),
            2 => {
                let snapshot = model.database().snapshot();
                model.past.push((snapshot.commit(), model.expected()));
                if random.one_in(2) {
                    model.held.push((snapshot, model.expected()));
                }
            }
            3 if !model.held.is_empty() => {
                let at = random.below(model.held.len() as u64) as usize;
                drop(model.held.swap_remove(at));
            }
            4 if random.one_in(3) => model.reopen(&mut random),
            5 if random.one_in(3) => model.check(),
            _ => model.change(&mut random),
        }
    }
    model.check();
    model.held.clear();
    compact(model.database());
    model.check();
    let report = model.database().check().unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn nothing_changes_but_the_space_whatever_is_cleaned_when() {
    for seed in seeds(2) {
        run(seed, 250);
    }
}

#[test]
#[ignore = "takes half an hour"]
fn nothing_changes_but_the_space_in_long_random_runs() {
    for seed in seeds(60) {
        run(seed, 3000);
    }
}
