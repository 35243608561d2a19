//! Bulk loads: all or nothing, whatever ends them, and their indexes say what the objects say.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use olivine::testing::{Fault, FaultyDisk, open_on, open_with};
use olivine::{CompactOptions, Database, Error, Options, Ref, Result};
use serde::{Deserialize, Serialize};

use crate::directory::copy;
use crate::random::{Random, seeds};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Item {
    code: Option<String>,
    number: i64,
    tags: Vec<i64>,
    next: Option<Ref<Item>>,
}

fn define(database: &Database) -> Result<()> {
    database
        .define::<Item>()?
        .unique("code")?
        .index("number")?
        .index("tags")
        .map(drop)
}

fn item(at: u64) -> Item {
    let scrambled = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Item {
        // Some of the codes are so long that the index keeps hashes of them, some are nil.
        code: (at % 7 != 3).then(|| format!("{scrambled:016x}{}", "x".repeat((at % 3) as usize * 9))),
        number: (scrambled >> 33) as i64 % 50,
        tags: vec![at as i64 % 11, at as i64 % 5],
        next: None,
    }
}

fn count(database: &Database, text: &str, value: i64) -> i64 {
    let mut rows = database.snapshot().query(text, (value,)).unwrap();
    let row = rows.next().unwrap().unwrap();
    row.get(0).unwrap().as_int().unwrap()
}

/// Compares the extent and every index with the items of `of`.
fn assert_has(database: &Database, of: &[u64]) {
    let snapshot = database.snapshot();
    let mut found: Vec<Item> = snapshot
        .extent::<Item>()
        .unwrap()
        .map(|item| item.unwrap().1)
        .collect();
    let mut expected: Vec<Item> = of.iter().map(|at| item(*at)).collect();
    let key = |item: &Item| (item.code.clone(), item.number, item.tags.clone());
    found.iter_mut().for_each(|item| item.next = None);
    found.sort_by_key(key);
    expected.sort_by_key(key);
    assert!(
        found == expected,
        "{} items are there, {} should be",
        found.len(),
        expected.len()
    );
    for value in 0..50 {
        let by_number = count(database, "select count(*) from Item i where i.number = $1", value);
        let expected = of.iter().filter(|at| item(**at).number == value).count();
        assert_eq!(by_number, expected as i64, "number {value}");
    }
    for value in 0..11 {
        let by_tag = count(database, "select count(*) from Item i where $1 in i.tags", value);
        let expected = of.iter().filter(|at| item(**at).tags.contains(&value)).count();
        assert_eq!(by_tag, expected as i64, "tag {value}");
    }
    for at in of.iter().step_by(of.len() / 50 + 1) {
        if let Some(code) = item(*at).code {
            let text = "select i.number from Item i where i.code = $1";
            let rows = snapshot.query(text, (code,)).unwrap();
            let found: Vec<_> = rows
                .map(|row| row.unwrap().get(0).unwrap().as_int().unwrap())
                .collect();
            assert_eq!(found, [item(*at).number]);
        }
    }
    let report = database.check().unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

fn load(database: &Database, of: impl Iterator<Item = u64>) -> Result<()> {
    database.load(|loader| {
        for at in of {
            loader.insert(&item(at))?;
        }
        Ok(())
    })
}

fn insert(database: &Database, of: impl Iterator<Item = u64> + Clone) -> Result<()> {
    database.transact(|tx| {
        for at in of.clone() {
            tx.insert(&item(at))?;
        }
        Ok(())
    })
}

fn scratch(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("olivine-load-{name}-{}", std::process::id()));
    std::fs::remove_dir_all(&path).ok();
    path
}

#[test]
fn what_is_loaded_joins_what_is_there_and_stays_after_reopening() {
    let path = scratch("joins");
    // So little memory that the sort goes through runs on the disk.
    let options = || Database::options(&path).memory(2 << 20);
    let database = options().open().unwrap();
    define(&database).unwrap();
    load(&database, 0..5_000).unwrap();
    insert(&database, 5_000..5_500).unwrap();
    let before = database.snapshot();
    load(&database, 5_500..30_000).unwrap();
    assert_eq!(before.extent::<Item>().unwrap().count(), 5_500);
    let mut rows = before
        .query("select count(*) from Item i where i.number = 7", ())
        .unwrap();
    let seen = rows.next().unwrap().unwrap().get(0).unwrap().as_int().unwrap();
    assert_eq!(seen, (0..5_500).filter(|at| item(*at).number == 7).count() as i64);
    drop((rows, before));
    insert(&database, 30_000..30_100).unwrap();
    let all: Vec<u64> = (0..30_100).collect();
    assert_has(&database, &all);
    database.close().unwrap();
    let database = options().open().unwrap();
    assert_has(&database, &all);
    drop(database);
    std::fs::remove_dir_all(path).unwrap();
}

#[test]
fn a_unique_value_that_comes_twice_leaves_nothing_of_the_load() {
    let database = Database::in_memory().unwrap();
    define(&database).unwrap();
    insert(&database, 0..100).unwrap();
    for (from, twice) in [(100, 50), (100, 53), (20_000, 20_001), (20_000, 21_000)] {
        let refused = load(&database, (from..from + 3_000).chain([twice]));
        assert!(matches!(refused, Err(Error::Constraint(_))), "{refused:?}");
        assert_has(&database, &(0..100).collect::<Vec<_>>());
    }
    // Nil is held by any number.
    load(&database, (100..3_000).chain([3, 10, 17])).unwrap();
    let all: Vec<u64> = (0..3_000).chain([3, 10, 17]).collect();
    assert_has(&database, &all);
}

#[test]
fn a_load_that_fails_or_is_killed_leaves_nothing() {
    let path = scratch("fails");
    let copied = scratch("fails-copy");
    let database = Database::open(&path).unwrap();
    define(&database).unwrap();
    insert(&database, 0..100).unwrap();
    let refused: Result<()> = database.load(|loader| {
        for at in 100..20_000 {
            loader.insert(&item(at))?;
        }
        // As a kill would leave it: most of the parts are in the log.
        copy(&path, &copied);
        Err(Error::Argument("enough".into()))
    });
    assert!(matches!(refused, Err(Error::Argument(_))));
    insert(&database, 100..200).unwrap();
    load(&database, 200..1_000).unwrap();
    assert_has(&database, &(0..1_000).collect::<Vec<_>>());
    drop(database);
    assert_has(&Database::open(&path).unwrap(), &(0..1_000).collect::<Vec<_>>());
    let killed = Database::open(&copied).unwrap();
    assert_has(&killed, &(0..100).collect::<Vec<_>>());
    load(&killed, 100..200).unwrap();
    assert_has(&killed, &(0..200).collect::<Vec<_>>());
    drop(killed);
    std::fs::remove_dir_all(path).unwrap();
    std::fs::remove_dir_all(copied).unwrap();
}

#[test]
fn nobody_sees_a_load_before_its_end_and_its_own_thread_cannot_commit_in_it() {
    let database = Database::in_memory().unwrap();
    define(&database).unwrap();
    let before = database.snapshot();
    let open = {
        let mut tx = database.begin().unwrap();
        assert_eq!(tx.extent::<Item>().unwrap().count(), 0);
        tx.insert(&item(1_000_000)).unwrap();
        tx
    };
    let waiting = database
        .load(|loader| {
            for at in 0..20_000 {
                loader.insert(&item(at))?;
            }
            let first = loader.reserve::<Item>()?;
            let second = loader.insert(&Item {
                next: Some(first),
                ..item(20_000)
            })?;
            loader.insert_at(
                first,
                &Item {
                    next: Some(second),
                    ..item(20_001)
                },
            )?;
            assert!(loader.insert_at(first, &item(5)).is_err());
            assert_eq!(database.snapshot().extent::<Item>()?.count(), 0);
            assert!(insert(&database, 7..8).is_err(), "it would wait for itself");
            let compacted = database.compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()));
            assert!(compacted.is_err(), "so would this");
            assert!(load(&database, 7..8).is_err());
            let other = database.clone();
            Ok(std::thread::spawn(move || insert(&other, 30_000..30_001)))
        })
        .unwrap();
    waiting.join().unwrap().unwrap();
    assert_eq!(before.extent::<Item>().unwrap().count(), 0);
    assert!(
        open.commit().unwrap_err().is_conflict(),
        "it read an extent that has grown"
    );
    let all: Vec<u64> = (0..20_002).chain([30_000]).collect();
    assert_has(&database, &all);
}

/// A workload with two loads, one of which fails; stops at the first error. How far it came.
fn workload(database: &Database, done: &AtomicU64) -> Result<()> {
    define(database)?;
    insert(database, 0..50)?;
    done.store(1, Ordering::Relaxed);
    load(database, 50..6_000)?;
    done.store(2, Ordering::Relaxed);
    insert(database, 6_000..6_050)?;
    done.store(3, Ordering::Relaxed);
    match load(database, (6_050..9_000).chain([60])) {
        Err(Error::Constraint(_)) => {}
        other => return other,
    }
    load(database, 6_050..6_100)?;
    done.store(4, Ordering::Relaxed);
    database.checkpoint()
}

/// What is there after so many steps.
const AFTER: [u64; 5] = [0, 50, 6_000, 6_050, 6_100];

fn assert_prefix(database: &Database, done: u64, place: &str) {
    let found = match database.snapshot().extent::<Item>() {
        Ok(items) => items.count() as u64,
        // Its class was not defined yet.
        Err(_) => 0,
    };
    let done = done as usize;
    let allowed = &AFTER[done..(done + 2).min(AFTER.len())];
    assert!(
        allowed.contains(&found),
        "{place}: {found} items, not one of {allowed:?}"
    );
    if found > 0 {
        assert_has(database, &(0..found).collect::<Vec<_>>());
    }
}

#[test]
fn a_power_cut_at_any_moment_leaves_all_of_a_load_or_nothing() {
    let whole = FaultyDisk::new();
    let database = open_on(&whole).unwrap();
    workload(&database, &AtomicU64::new(0)).unwrap();
    drop(database);
    let operations = whole.operations();
    for seed in seeds(4) {
        let mut random = Random::new(seed);
        for fault in [Fault::PowerCut, Fault::Io, Fault::NoSpace] {
            let at = random.below(operations);
            let disk = FaultyDisk::new();
            disk.set_fault(fault(at));
            let done = Arc::new(AtomicU64::new(0));
            if let Ok(database) = open_with(&disk, Options::new(None)) {
                // It fails somewhere, or the fault comes when it closes.
                let _ = workload(&database, &done);
            }
            let after = disk.after_power_cut(seed).unwrap();
            let place = format!("seed {seed}, operation {at} of {operations}");
            let database = open_on(&after).unwrap();
            assert_prefix(&database, done.load(Ordering::Relaxed), &place);
        }
    }
}
