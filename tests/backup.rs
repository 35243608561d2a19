//! Backups and restores: one consistent moment whatever goes on, only what is new is copied, a backup that is cut short
//! leaves the one before, a restore is whole or not there, and history can be taken up to any commit.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use olivine::testing::{Fault, FaultyDisk, backup_on, open_on, restore_on};
use olivine::{CommitNumber, Database, Error, Ref, Restore, Session, Timestamp};
use serde::{Deserialize, Serialize};

use crate::directory::{contents, copy};
use crate::random::Random;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Item {
    key: i64,
    name: String,
    text: String,
    next: Option<Ref<Item>>,
}

type Items = BTreeMap<Ref<Item>, Item>;

fn define(database: &Database) {
    let definition = database.define::<Item>().unwrap();
    definition.unique("key").unwrap().index("name").unwrap();
}

fn item(key: i64, bytes: usize) -> Item {
    // Text that does not compress.
    let mut random = Random::new(key as u64);
    let text = (0..bytes).map(|_| char::from(33 + random.below(90) as u8));
    Item {
        key,
        name: format!("name {}", key % 10),
        text: text.collect(),
        next: None,
    }
}

fn insert(database: &Database, key: i64, bytes: usize) -> CommitNumber {
    let mut tx = database.begin().unwrap();
    tx.insert(&item(key, bytes)).unwrap();
    tx.commit().unwrap()
}

fn items(database: &Database) -> Items {
    let snapshot = database.snapshot();
    let found: Items = snapshot.extent::<Item>().unwrap().map(Result::unwrap).collect();
    for (reference, item) in &found {
        let rows = snapshot
            .query("select i from Item i where i.key = $1", (item.key,))
            .unwrap();
        let holders: Vec<_> = rows.objects::<Item>().map(|row| row.unwrap().0).collect();
        assert_eq!(holders, [*reference]);
    }
    found
}

/// Opens a database, checks all of it, and gives what is in it.
fn sound(path: &Path) -> Items {
    let database = Database::open(path).unwrap();
    let report = database.check().unwrap();
    assert!(report.is_clean(), "{report}");
    items(&database)
}

#[test]
fn a_backup_comes_back_as_it_was_and_only_what_is_new_is_copied() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let database = Database::open(at("db")).unwrap();
    define(&database);
    for key in 0..40 {
        insert(&database, key, 100_000);
    }
    let first = database.backup(at("backup")).unwrap();
    assert!(first.copied > 1 && first.copied == first.segments, "{first}");
    let before = items(&database);
    let same = database.backup(at("backup")).unwrap();
    assert_eq!((same.copied, same.commit), (0, first.commit));
    for reference in before.keys().step_by(3) {
        database.transact(|tx| tx.delete(*reference)).unwrap();
    }
    for key in 100..110 {
        insert(&database, key, 100_000);
    }
    let second = database.backup(at("backup")).unwrap();
    assert!(second.copied < second.segments, "{second}");
    let after = items(&database);
    let report = Restore::new(at("backup"), at("restored")).run().unwrap();
    assert_eq!((report.commit, report.timeline), (second.commit, 2));
    assert_eq!(sound(&at("restored")), after);
    Restore::new(at("backup"), at("earlier"))
        .until_commit(first.commit)
        .run()
        .unwrap();
    assert_eq!(sound(&at("earlier")), before);
    // What is restored goes on as a database of its own, with identifiers never given away before.
    let restored = Database::open(at("restored")).unwrap();
    insert(&restored, 500, 10);
    let new = items(&restored)
        .into_iter()
        .find(|(_, item)| item.key == 500)
        .unwrap();
    assert!(!before.contains_key(&new.0) && !after.contains_key(&new.0));
    assert!(restored.statistics().timeline > database.statistics().timeline);
}

#[test]
fn the_statement_backs_up_and_says_where_it_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("live.olv")).unwrap();
    define(&database);
    insert(&database, 1, 100);
    let copy = folder.path().join("copy");
    let copy_path = copy.to_str().unwrap();
    let mut session = Session::new(database.clone());
    session
        .execute("backup to $path", olivine::params! { path: copy_path })
        .unwrap();
    insert(&database, 2, 100);
    Restore::new(&copy, folder.path().join("back.olv")).run().unwrap();
    assert_eq!(sound(&folder.path().join("back.olv")).len(), 1);

    let refused = |session: &mut Session, text: &str| session.execute(text, ()).unwrap_err().to_string();
    let message = refused(&mut session, "backup to 7");
    assert!(message.contains("a string"), "{message}");
    let message = refused(&mut session, "begin; backup to 'x'");
    assert!(message.contains("end it first"), "{message}");
    session.execute("rollback", ()).unwrap();
    session.cancel_handle().cancel();
    let text = format!("backup to '{}'", folder.path().join("other").display());
    assert!(matches!(session.execute(&text, ()), Err(Error::Cancelled(_))));
}

#[test]
fn every_commit_since_the_first_backup_can_be_restored() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let database = Database::open(at("db")).unwrap();
    define(&database);
    let mut states = BTreeMap::new();
    for round in 0..4 {
        for key in 0..7 {
            let commit = match key {
                3 => {
                    let reference = *items(&database).keys().next().unwrap();
                    let mut tx = database.begin().unwrap();
                    tx.update(reference, &item(1000 + round, 90_000)).unwrap();
                    tx.commit().unwrap()
                }
                _ => insert(&database, round * 100 + key, 90_000),
            };
            states.insert(commit, items(&database));
        }
        database.backup(at("backup")).unwrap();
    }
    for (number, (commit, state)) in states.iter().enumerate() {
        let path = at(&format!("to {}", commit.0));
        let report = Restore::new(at("backup"), &path)
            .until_commit(*commit)
            .run()
            .unwrap();
        assert_eq!(report.commit, *commit);
        assert_eq!(&sound(&path), state, "commit {} ({number})", commit.0);
        fs::remove_dir_all(path).unwrap();
    }
    let newest = *states.keys().last().unwrap();
    let error = Restore::new(at("backup"), at("beyond"))
        .until_commit(CommitNumber(newest.0 + 1))
        .run()
        .unwrap_err();
    assert!(
        matches!(error, Error::Argument(_)) && error.to_string().contains("reaches commit"),
        "{error}"
    );
    assert!(!at("beyond").exists());
}

#[test]
fn commits_of_one_group_are_told_apart_and_a_time_stands_for_the_last_commit_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let database = Database::open(at("db")).unwrap();
    define(&database);
    // Many committers at once, so that one frame holds several commits.
    let commits: Vec<(CommitNumber, i64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8i64)
            .map(|thread| {
                let database = &database;
                scope.spawn(move || {
                    let keys = (0..10).map(|key| thread * 100 + key);
                    keys.map(|key| (insert(database, key, 30), key))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    database.backup(at("backup")).unwrap();
    let all = database.snapshot().commit();
    for (commit, key) in commits.iter().step_by(9) {
        let path = at(&format!("to {}", commit.0));
        Restore::new(at("backup"), &path)
            .until_commit(*commit)
            .run()
            .unwrap();
        let found = sound(&path);
        let expected = commits.iter().filter(|(other, _)| other <= commit).count();
        assert_eq!(found.len(), expected);
        assert!(found.values().any(|item| item.key == *key));
    }
    let report = Restore::new(at("backup"), at("long ago"))
        .until_time(Timestamp(0))
        .run();
    assert!(report.is_err() || report.unwrap().commit == CommitNumber(0));
    let report = Restore::new(at("backup"), at("today"))
        .until_time(Timestamp(i64::MAX))
        .run()
        .unwrap();
    assert_eq!(report.commit, all);
}

#[test]
fn a_backup_taken_while_writers_run_is_one_moment_with_everything_acknowledged_before() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let database = Database::open(at("db")).unwrap();
    define(&database);
    let (stop, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for pair in 0.. {
                if stop.load(Ordering::Acquire) {
                    return;
                }
                // Two objects that belong together.
                let mut tx = database.begin().unwrap();
                let first = tx.insert(&item(pair * 2, 3_000)).unwrap();
                let second = Item {
                    next: Some(first),
                    ..item(pair * 2 + 1, 3_000)
                };
                tx.insert(&second).unwrap();
                acknowledged.store(tx.commit().unwrap().0, Ordering::Release);
            }
        });
        for round in 0..6 {
            std::thread::sleep(std::time::Duration::from_millis(60));
            let before = acknowledged.load(Ordering::Acquire);
            let report = database.backup(at("backup")).unwrap();
            assert!(report.commit.0 >= before);
            let path = at(&format!("restored {round}"));
            Restore::new(at("backup"), &path).run().unwrap();
            let found = sound(&path);
            assert!(found.len().is_multiple_of(2), "half of a commit");
            for item in found.values().filter(|item| item.key % 2 == 1) {
                assert_eq!(found[&item.next.unwrap()].key, item.key - 1);
            }
        }
        stop.store(true, Ordering::Release);
    });
}

/// A workload with three backups on a disk that may fail; how many were finished, and what each holds.
fn back_up_thrice(disk: &FaultyDisk) -> Vec<Items> {
    let database = Database::in_memory().unwrap();
    define(&database);
    let mut finished = Vec::new();
    for round in 0..3 {
        for key in 0..5 {
            insert(&database, round * 10 + key, 80_000);
        }
        let state = items(&database);
        if backup_on(&database, disk).is_ok() {
            finished.push(state);
        }
    }
    finished
}

#[test]
fn a_backup_cut_short_at_any_operation_leaves_the_one_before() {
    let disk = FaultyDisk::new();
    disk.set_fault(Fault::None);
    assert_eq!(back_up_thrice(&disk).len(), 3);
    let operations = disk.operations();
    for operation in 1..=operations {
        let mut faults = vec![Fault::PowerCut(operation)];
        match operation % 4 {
            0 => faults.push(Fault::NoSpace(operation)),
            2 => faults.push(Fault::Io(operation)),
            _ => {}
        }
        for fault in faults {
            let disk = FaultyDisk::new();
            disk.set_fault(fault);
            let finished = back_up_thrice(&disk);
            disk.set_fault(Fault::None);
            let image = match fault {
                Fault::PowerCut(_) => disk.after_power_cut(operation).unwrap(),
                _ => disk,
            };
            let target = FaultyDisk::new();
            match restore_on(&image, &target) {
                Ok(_) => {
                    let found = items(&open_on(&target).unwrap());
                    // One that failed at its very end may count.
                    let newest = finished.last().is_none_or(|newest| newest.len() <= found.len());
                    assert!(
                        newest && found.len().is_multiple_of(5),
                        "{fault:?}: {} objects",
                        found.len()
                    );
                }
                Err(error) => assert!(finished.is_empty(), "{fault:?}: {error}"),
            }
        }
    }
    println!("{operations} operations");
}

#[test]
fn damage_is_not_backed_up_and_a_damaged_backup_is_not_restored() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let database = Database::open(at("db")).unwrap();
    define(&database);
    for key in 0..30 {
        insert(&database, key, 100_000);
    }
    database.backup(at("backup")).unwrap();
    database.close().unwrap();
    for (path, bytes) in contents(&at("backup").join("segments")) {
        let Some(mut bytes) = bytes else { continue };
        let sound = bytes.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let error = Restore::new(at("backup"), at("restored")).run().unwrap_err();
        assert!(matches!(error, Error::Corruption(_)), "{error}");
        assert!(!at("restored").exists() && !at("restored.restoring").exists());
        fs::write(&path, sound).unwrap();
    }
    let segment = at("db").join("heap/00000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[300_000] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let database = Database::open(at("db")).unwrap();
    let error = database.backup(at("other")).unwrap_err();
    assert!(error.to_string().contains("segment 1 offset"), "{error}");
    drop(database);
    Restore::new(at("backup"), at("db")).replace(true).run().unwrap();
    assert_eq!(sound(&at("db")).len(), 30);
}

#[test]
fn a_restore_never_overwrites_what_it_was_not_told_to() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let database = Database::open(at("db")).unwrap();
    define(&database);
    insert(&database, 1, 10);
    database.backup(at("backup")).unwrap();
    insert(&database, 2, 10);
    let refused = |path: &str, replace: bool| {
        let before = contents(&at(path));
        let error = Restore::new(at("backup"), at(path))
            .replace(replace)
            .run()
            .unwrap_err();
        assert!(contents(&at(path)) == before);
        error
    };
    assert!(refused("db", false).to_string().contains("not empty"));
    assert!(matches!(refused("db", true), Error::Locked { .. }));
    fs::create_dir(at("letters")).unwrap();
    fs::write(at("letters").join("letter"), "text").unwrap();
    assert!(
        refused("letters", true)
            .to_string()
            .contains("no Olivine database")
    );
    assert!(matches!(database.backup(at("letters")), Err(Error::Argument(_))));
    assert!(database.backup(at("db").join("backup")).is_err());
    let error = Restore::new(at("letters"), at("new")).run().unwrap_err();
    assert!(error.to_string().contains("no finished backup"), "{error}");
    database.close().unwrap();
    Restore::new(at("backup"), at("db")).replace(true).run().unwrap();
    assert_eq!(sound(&at("db")).len(), 1);
    fs::create_dir(at("empty")).unwrap();
    Restore::new(at("backup"), at("empty")).run().unwrap();
    assert_eq!(sound(&at("empty")).len(), 1);
    // Another database does not get into this backup.
    let other = Database::open(at("other")).unwrap();
    assert!(
        other
            .backup(at("backup"))
            .unwrap_err()
            .to_string()
            .contains("another database")
    );
    // The restored one does, as a new timeline; what was backed up before stays.
    let database = Database::open(at("db")).unwrap();
    let commit = insert(&database, 3, 10);
    database.backup(at("backup")).unwrap();
    Restore::new(at("backup"), at("newest")).run().unwrap();
    assert_eq!(sound(&at("newest")).len(), 2);
    let before = CommitNumber(commit.0 - 1);
    Restore::new(at("backup"), at("before"))
        .until_commit(before)
        .run()
        .unwrap();
    assert_eq!(sound(&at("before")).len(), 1);
}

#[test]
fn a_backup_directory_copied_elsewhere_is_a_backup() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let database = Database::open(at("db")).unwrap();
    define(&database);
    insert(&database, 1, 10);
    database.backup(at("backup")).unwrap();
    copy(&at("backup"), &at("copy"));
    fs::remove_file(at("copy").join("LOCK")).unwrap();
    Restore::new(at("copy"), at("restored")).run().unwrap();
    assert_eq!(sound(&at("restored")), items(&database));
}
