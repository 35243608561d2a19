//! Failures, damage, and copies of the directory taken at bad moments.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::support::*;
use crate::error::Error;
use crate::heap::LogPosition;
use crate::index::shared::Limits;
use crate::index::*;
use crate::object::CommitNumber;

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
    let whole = directory.path().join("whole");
    copy(&path, &whole);
    assert_eq!(
        open(&storage, 1000, &Arc::default()).unwrap().applied(ORDERED),
        Some(position(1))
    );
    let mut reported = 0;
    for damage in 0..3u8 {
        for file in files(&whole) {
            IndexStore::reset(&path).unwrap();
            copy(&whole, &path);
            let file = path.join(file.strip_prefix(&whole).unwrap());
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

#[test]
fn an_ingestion_that_is_not_finished_leaves_the_index_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("index");
    let storage = IndexStorage::Directory(path.clone());
    let store = crate::index::store::Store::open(storage.clone(), 1 << 20).unwrap();
    let space = store
        .space("ordered-1", crate::index::store::Access::Range)
        .unwrap();
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
        let store = crate::index::store::Store::open(IndexStorage::Directory(path), 1 << 20).unwrap();
        let space = store
            .space("ordered-1", crate::index::store::Access::Range)
            .unwrap();
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
        store.apply::<IndexChange>(CommitNumber(101), position(101), &[]),
        Err(Error::Closed(_))
    ));
}
