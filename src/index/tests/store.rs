//! The store as its callers use it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::support::*;
use crate::error::Error;
use crate::index::*;
use crate::object::{CommitNumber, Oid};

fn storages(directory: &Path) -> [IndexStorage; 2] {
    [
        IndexStorage::Memory,
        IndexStorage::Directory(directory.join("index")),
    ]
}

fn hub_key() -> Vec<u8> {
    key(5)
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
                IndexPlan {
                    id: ORDERED,
                    kind: IndexKind::Ordered,
                    applied: position(1),
                    commit: CommitNumber(1),
                },
                &mut all,
                &mut |_, _| Ok(()),
                &mut |_| Ok(()),
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
    let store = crate::index::store::Store::open(IndexStorage::Memory, 0).unwrap();
    let space = store.space("any", crate::index::store::Access::Range).unwrap();
    let mut posting = crate::index::merge::PostingWriter::default();
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
                        change(ORDERED, &key, super::support::oid(3), true),
                    ];
                    store.apply(CommitNumber(2), position(2), &changes).unwrap();
                    store.flush().unwrap();
                    store
                        .apply(
                            CommitNumber(3),
                            position(3),
                            &[change(
                                ORDERED,
                                &super::support::key(4),
                                super::support::oid(4),
                                true,
                            )],
                        )
                        .unwrap();
                }
                Ok((IndexKey::from_slice(&key), oid))
            });
        let build = store.build(
            IndexPlan {
                id: ORDERED,
                kind: IndexKind::Ordered,
                applied: position(1),
                commit: CommitNumber(1),
            },
            &mut entries,
            &mut |_, _| Ok(()),
            &mut |_| Ok(()),
        );
        build.unwrap();
        assert_eq!(
            store.applied(ORDERED),
            Some(position(3)),
            "what came meanwhile is merged"
        );
        let expected = [(key(1), oid(1)), (key(2), oid(3)), (key(4), oid(4))];
        assert_eq!(read_all(&store, ORDERED, 3), expected);
        store.flush().unwrap();
        assert_eq!(store.applied(ORDERED), Some(position(3)));
        assert_eq!(read_all(&store, ORDERED, 3), expected);
    }
}

/// More comes during the build than deltas hold, so that it is set aside in the store, and over again.
#[test]
fn a_build_catches_up_with_more_changes_than_memory_takes() {
    let directory = tempfile::tempdir().unwrap();
    for storage in storages(directory.path()) {
        let store = open(&storage, 100, &Arc::default()).unwrap();
        store.prepare(ORDERED);
        let mut expected = std::collections::BTreeSet::new();
        let mut entries = (0..40u64).map(|round| {
            expected.insert((key(round % 9), oid(round + 1)));
            let mut changes = Vec::new();
            for number in 0..60 {
                let (key, oid) = (key(number % 13), oid(1 + (round * 7 + number * 31) % 200));
                let added = (round + number) % 3 > 0;
                changes.push(change(ORDERED, &key, oid, added));
                match added {
                    true => expected.insert((key, oid)),
                    false => expected.remove(&(key, oid)),
                };
            }
            let commit = round + 2;
            store
                .apply(CommitNumber(commit), position(commit), &changes)
                .unwrap();
            store.flush().unwrap();
            Ok((IndexKey::from_slice(&key(round % 9)), oid(round + 1)))
        });
        let plan = IndexPlan {
            id: ORDERED,
            kind: IndexKind::Ordered,
            applied: position(1),
            commit: CommitNumber(1),
        };
        let mut ticks = 0;
        let mut tick = |_| {
            ticks += 1;
            Ok(())
        };
        store
            .build(plan, &mut entries, &mut |_, _| Ok(()), &mut tick)
            .unwrap();
        drop(entries);
        assert!(ticks > 0);
        // An entry of the first commit that a later one took away or gave again is as the later one says.
        let found: std::collections::BTreeSet<_> = read_all(&store, ORDERED, 41).into_iter().collect();
        let changed: std::collections::BTreeSet<_> =
            (0..40u64).map(|round| (key(round % 9), oid(round + 1))).collect();
        assert_eq!(
            found.difference(&changed).collect::<Vec<_>>(),
            expected.difference(&changed).collect::<Vec<_>>()
        );
        assert_eq!(store.statistics(ORDERED).unwrap().entries, found.len() as u64);
        drop(store);
        let reopened = open(&storage, 100, &Arc::default());
        if let (IndexStorage::Directory(_), Ok(store)) = (&storage, reopened) {
            let again: std::collections::BTreeSet<_> = read_all(&store, ORDERED, 41).into_iter().collect();
            assert_eq!(again, found);
        }
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
            IndexPlan {
                id: ORDERED,
                kind: IndexKind::Ordered,
                applied: position(commit),
                commit: CommitNumber(commit),
            },
            &mut entries,
            &mut |_, _| Ok(()),
            &mut |_| Ok(()),
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
                IndexPlan {
                    id: UNIQUE,
                    kind: IndexKind::Unique,
                    applied: position(1),
                    commit: CommitNumber(1),
                },
                &mut entries(),
                &mut several,
                &mut |_| Ok(()),
            )
            .unwrap();
        assert_eq!(seen, [(key(3), vec![oid(8), oid(9)])]);
        assert_eq!(store.statistics(UNIQUE).unwrap().entries, 5);
        let mut refuse = |_: &[u8], _: &[Oid]| Err(Error::Argument("twice".into()));
        let refused = store.build(
            IndexPlan {
                id: IDLE,
                kind: IndexKind::Unique,
                applied: position(1),
                commit: CommitNumber(1),
            },
            &mut entries(),
            &mut refuse,
            &mut |_| Ok(()),
        );
        assert!(matches!(refused, Err(Error::Argument(_))));
        assert_eq!(store.applied(IDLE), None);
        assert_eq!(store.known(), [UNIQUE]);
    }
}
