//! Faults around an open database: who may open it, what a copy of it is, what is said when the disk refuses.

use std::fs::{self, File};
use std::path::Path;

use olivine::{Class, Database, Error, Object, Ref, Type};
use serde::{Deserialize, Serialize};

use crate::directory::{contents, copy};

#[test]
fn when_the_last_handle_is_dropped_the_lock_is_free() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    for round in 0..30 {
        let database = Database::open(&path).unwrap();
        if round == 0 {
            let class = Class::new("Note").attribute("text", Type::String);
            database.define_class(class).unwrap();
        }
        database
            .transact(|tx| tx.insert_object(Object::new("Note").with("text", "a note")))
            .unwrap();
        // The maintenance thread wakes every 50 ms; the drop must not leave the last handle to it.
        std::thread::sleep(std::time::Duration::from_millis(round * 3));
        let other = database.clone();
        let snapshot = database.snapshot();
        drop(database);
        drop(other);
        drop(snapshot);
        let lock = File::open(path.join("FORMAT")).unwrap();
        lock.try_lock().unwrap();
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Note {
    number: i64,
    text: String,
    about: Option<Ref<Note>>,
}

/// A closed database of notes, each about the one before.
fn notes(path: &Path, count: i64) {
    let database = Database::open(path).unwrap();
    let definition = database.define::<Note>().unwrap();
    definition.unique("number").unwrap().index("text").unwrap();
    let mut about = None;
    for batch in 0..count / 50 {
        let mut tx = database.begin().unwrap();
        for number in batch * 50..(batch + 1) * 50 {
            let text = format!("text {}", number % 7);
            about = Some(tx.insert(&Note { number, text, about }).unwrap());
        }
        tx.commit().unwrap();
    }
    database.close().unwrap();
}

fn insert(database: &Database, number: i64) -> Result<Ref<Note>, Error> {
    database.transact(|tx| {
        tx.insert(&Note {
            number,
            text: "new".into(),
            about: None,
        })
    })
}

#[test]
fn several_readers_open_a_database_and_nothing_on_the_disk_changes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    notes(&path, 1_000);
    let before = contents(&path);
    let open = || Database::options(&path).read_only(true).create(false).open();
    let (one, other) = (open().unwrap(), open().unwrap());
    assert!(matches!(Database::open(&path), Err(Error::Locked { .. })));
    for database in [&one, &other] {
        let rows = database
            .snapshot()
            .query("select n from Note n where n.number >= 900", ())
            .unwrap();
        assert_eq!(rows.count(), 100);
        let error = insert(database, 5_000).unwrap_err();
        assert!(
            matches!(error, Error::ReadOnly(_)) && error.to_string().contains("opened read-only"),
            "{error}"
        );
        assert!(database.checkpoint().is_err());
        assert!(database.check().unwrap().is_clean());
    }
    one.close().unwrap();
    drop(other);
    assert!(contents(&path) == before);
    assert_eq!(Database::open(&path).unwrap().check().unwrap().objects, 1_002 + 1);
}

#[test]
fn a_database_left_by_a_kill_is_read_without_being_mended() {
    let directory = tempfile::tempdir().unwrap();
    let (path, killed) = (directory.path().join("db"), directory.path().join("killed"));
    notes(&path, 200);
    let database = Database::open(&path).unwrap();
    insert(&database, 900).unwrap();
    copy(&path, &killed);
    drop(database);
    let before = contents(&killed);
    let database = Database::options(&killed).read_only(true).open().unwrap();
    let rows = database
        .snapshot()
        .query("select n from Note n where n.number = 900", ())
        .unwrap();
    assert_eq!(rows.count(), 1);
    assert!(database.check().unwrap().is_clean());
    database.close().unwrap();
    assert!(contents(&killed) == before);
}

#[test]
fn a_directory_that_cannot_be_written_is_read_and_a_file_system_that_is_full_too() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    notes(&path, 100);
    let set = |mode: u32| {
        for (path, bytes) in contents(&path) {
            let mode = if bytes.is_some() { mode & 0o666 } else { mode };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    let database = Database::options(&path).read_only(true).open().unwrap();
    assert!(database.check().unwrap().is_clean());
    database.close().unwrap();
    set(0o755);
}

#[test]
fn a_live_directory_that_is_copied_opens_or_is_told_to_be_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    notes(&path, 50);
    let database = Database::open(&path).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1_000.. {
                if stop.load(std::sync::atomic::Ordering::Acquire) {
                    return;
                }
                insert(&database, number).unwrap();
                if number % 40 == 0 {
                    database.checkpoint().unwrap();
                }
            }
        });
        for round in 0..8 {
            let target = directory.path().join(format!("copy {round}"));
            copy(&path, &target);
            match Database::open(&target) {
                Ok(copied) => {
                    let report = copied.check().unwrap();
                    assert!(report.is_clean(), "{report}");
                }
                // A copying tool read the table before and the log after, or the other way round.
                Err(Error::Corruption(_) | Error::Format(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Release);
    });
}

#[test]
fn a_lost_or_foreign_format_file_is_told_and_put_back() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("db"), directory.path().join("other"));
    notes(&path, 50);
    notes(&other, 50);
    let format = fs::read(path.join("FORMAT")).unwrap();
    fs::remove_file(path.join("FORMAT")).unwrap();
    let error = Database::open(&path).unwrap_err();
    assert!(
        matches!(error, Error::Format(_)) && error.to_string().contains("salvage"),
        "{error}"
    );
    fs::copy(other.join("FORMAT"), path.join("FORMAT")).unwrap();
    let error = Database::open(&path).unwrap_err();
    assert!(error.to_string().contains("another database"), "{error}");
    fs::write(path.join("FORMAT"), format).unwrap();
    assert!(Database::open(&path).unwrap().check().unwrap().is_clean());
}

#[test]
fn a_check_finds_wrong_and_missing_index_entries_and_damage_and_lists_dangling_references() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    notes(&at("db"), 300);
    copy(&at("db"), &at("older"));
    let database = Database::open(at("db")).unwrap();
    let report = database.check().unwrap();
    assert!(report.is_clean() && report.dangling_references == 0, "{report}");
    assert_eq!((report.index_entries, report.references), (600, 299));
    let mut session = olivine::Session::new(database.clone());
    session
        .execute("delete from Note n where n.number = 100", ())
        .unwrap();
    let report = database.check().unwrap();
    assert!(report.is_clean(), "{report}");
    let dangling = &report.dangling[0];
    assert_eq!(
        (dangling.place.as_str(), dangling.what.as_str()),
        ("Note#102.about", "Note#101 is gone")
    );
    insert(&database, 7_000).unwrap();
    drop(session);
    database.close().unwrap();
    // The indexes of the younger state under the older log: an entry too many in each, and one missing.
    fs::remove_dir_all(at("older").join("index")).unwrap();
    copy(&at("db").join("index"), &at("older").join("index"));
    let read = |name: &str| {
        let database = Database::options(at(name)).read_only(true).open().unwrap();
        database.check().unwrap()
    };
    // They say how far they have come, so opening sees that they are ahead, and builds them anew.
    assert!(read("older").is_clean());
    assert!(read("db").is_clean());
    // The log of the younger state over older indexes is replayed.
    assert_eq!(read("db").index_entries, 600);
    let segment = at("db").join("heap/00000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[8_000] ^= 4;
    fs::write(&segment, bytes).unwrap();
    match Database::options(at("db")).read_only(true).open() {
        Ok(database) => {
            let report = database.check().unwrap();
            assert!(
                report
                    .findings
                    .iter()
                    .any(|finding| finding.place.starts_with("segment 1")),
                "{report}"
            );
        }
        Err(error) => assert!(matches!(error, Error::Corruption(_)), "{error}"),
    }
}

#[test]
fn a_check_can_be_interrupted_and_tells_how_far_it_is() {
    let directory = tempfile::tempdir().unwrap();
    notes(&directory.path().join("db"), 300);
    let database = Database::open(directory.path().join("db")).unwrap();
    let mut told = 0;
    let report = database.check_watched(&mut |_| {
        told += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert!(report.unwrap().is_clean() && told > 5);
    for last in 1..told {
        let mut left = last;
        let outcome = database.check_watched(&mut |_| {
            left -= 1;
            match left {
                0 => std::ops::ControlFlow::Break(()),
                _ => std::ops::ControlFlow::Continue(()),
            }
        });
        assert!(matches!(outcome, Err(Error::Cancelled(_))));
    }
}
