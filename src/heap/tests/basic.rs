//! What a heap does when nothing goes wrong.

use super::*;
use crate::files::{MemoryDisk, RealDisk};

#[test]
fn versions_are_read_as_of_their_commit_by_old_and_new_views() {
    let disk = FaultyDisk::new();
    let (heap, recovered) = open(&disk).unwrap();
    assert!(recovered.created && recovered.clean && recovered.last_commit == CommitNumber(0));
    commit(&heap, &[Change::new(1).create(1, b"one").create(2, b"two")]).unwrap();
    let old = heap.view();
    commit(
        &heap,
        &[
            Change::new(2).update(1, b"uno").delete(2),
            Change::new(3).update(1, b"eins"),
        ],
    )
    .unwrap();
    commit(&heap, &[Change::new(4).create(3, b"three")]).unwrap();
    for view in [old, heap.view()] {
        let body = |serial, at| {
            view.get(oid(serial), CommitNumber(at))
                .unwrap()
                .map(|found| found.body.into_owned())
        };
        assert_eq!(body(1, 0), None);
        assert_eq!(body(1, 1).unwrap(), b"one");
        assert_eq!(body(1, 2).unwrap(), b"uno");
        assert_eq!(body(1, 3).unwrap(), b"eins");
        assert_eq!((body(2, 1).unwrap(), body(2, 2)), (b"two".to_vec(), None));
        assert_eq!(body(3, 3), None);
    }
    let mut gathered = Vec::new();
    let view = heap.view();
    view.gather(&[oid(3), oid(9), oid(2), oid(1)], CommitNumber(4), &mut gathered)
        .unwrap();
    let bodies: Vec<Option<&[u8]>> = gathered
        .iter()
        .map(|found| found.as_ref().map(|found| &*found.body))
        .collect();
    assert_eq!(bodies, [Some(&b"three"[..]), None, None, Some(b"eins")]);
    assert_eq!(
        heap.head(oid(2)).unwrap().unwrap(),
        Head {
            commit: CommitNumber(2),
            deleted: true
        }
    );
    assert_eq!(heap.head(oid(9)).unwrap(), None);
    assert_eq!(damages(&heap), []);
}

#[test]
fn a_group_that_is_not_applied_yet_is_the_previous_version_of_the_next() {
    let (heap, _) = open(&FaultyDisk::new()).unwrap();
    let first = append(&heap, &[Change::new(1).create(1, b"a")]).unwrap();
    let second = append(
        &heap,
        &[Change::new(2).update(1, b"b"), Change::new(3).update(1, b"c")],
    )
    .unwrap();
    let third = append(&heap, &[Change::new(4).update(1, b"d")]).unwrap();
    heap.sync(third.end).unwrap();
    for appended in [&first, &second, &third] {
        heap.apply(appended);
    }
    for (at, body) in [(1, b"a"), (2, b"b"), (3, b"c"), (4, b"d")] {
        assert_eq!(contents(&heap, at).unwrap(), Model::from([(1, body.to_vec())]));
    }
}

#[test]
fn everything_is_there_after_closing_and_opening_many_times() {
    let disk = FaultyDisk::new();
    let mut model = Model::new();
    for round in 0..12u64 {
        let (heap, recovered) = open(&disk).unwrap();
        assert_eq!(recovered.last_commit, CommitNumber(round * 2));
        assert_eq!(
            (recovered.clean, recovered.cut.clone()),
            (true, None),
            "round {round}"
        );
        assert_eq!(contents(&heap, round * 2).unwrap(), model);
        let first = Change::new(round * 2 + 1).create(round + 1, &noise(round, 150_000));
        let second = Change::new(round * 2 + 2).update(round / 2 + 1, &noise(round + 99, 3_000));
        commit(&heap, std::slice::from_ref(&first)).unwrap();
        if round % 3 == 0 {
            heap.checkpoint().unwrap();
        }
        commit(&heap, std::slice::from_ref(&second)).unwrap();
        apply(&mut model, &first);
        apply(&mut model, &second);
        assert_eq!(damages(&heap), []);
        heap.close().unwrap();
        heap.close().unwrap();
        assert!(matches!(
            commit(&heap, &[Change::new(99)]),
            Err(Error::ReadOnly(_))
        ));
        let before = disk.operations();
        drop(heap);
        let (heap, _) = open(&disk).unwrap();
        heap.close().unwrap();
        let synced = disk.operations() - before;
        assert!(
            synced <= 3,
            "an open and close without a change did {synced} operations"
        );
    }
}

#[test]
fn a_commit_larger_than_a_segment_spans_frames_and_segments() {
    let disk = FaultyDisk::new();
    let (heap, _) = open(&disk).unwrap();
    let mut large = Change::new(1);
    for serial in 1..=700 {
        large = large.create(serial, &noise(serial, 4_000));
    }
    large = large
        .create(701, &noise(1, 3 << 20))
        .create(702, &vec![7; 9 << 20]);
    large.deltas = noise(5, 700_000);
    commit(&heap, std::slice::from_ref(&large)).unwrap();
    commit(&heap, &[Change::new(2).delete(5)]).unwrap();
    let mut model = Model::new();
    apply(&mut model, &large);
    assert_eq!(contents(&heap, 1).unwrap(), model);
    drop(heap);
    let (heap, recovered) = open(&disk).unwrap();
    assert!(!recovered.clean && recovered.cut.is_none());
    assert_eq!(contents(&heap, 1).unwrap(), model);
    model.remove(&5);
    assert_eq!(contents(&heap, 2).unwrap(), model);
    assert!(heap.statistics().segments >= 3);
    assert_eq!(heap.statistics().records, 703);
    let mut seen = Vec::new();
    heap.replay(LogPosition::default(), &mut |commit| {
        seen.push((
            commit.number.0,
            commit.records.len(),
            commit.deltas.to_vec(),
            commit.end,
        ));
        assert_eq!((commit.label, commit.metadata), (Some("test"), &b"meta"[..]));
        Ok(())
    })
    .unwrap();
    assert_eq!((seen[0].0, seen[0].1, seen[1].1), (1, 702, 1));
    assert_eq!(seen[0].2, large.deltas);
    let mut later = Vec::new();
    heap.replay(seen[0].3, &mut |commit| {
        later.push((commit.number.0, commit.records.to_vec()));
        Ok(())
    })
    .unwrap();
    assert_eq!(later, [(2, vec![(oid(5), true)])]);
    heap.replay(heap.end(), &mut |_| panic!("nothing is left"))
        .unwrap();
    assert_eq!(damages(&heap), []);
}

#[test]
fn replay_begins_within_a_frame_where_a_commit_ends() {
    let (heap, _) = open(&FaultyDisk::new()).unwrap();
    let changes: Vec<Change> = (1..=5)
        .map(|number| Change::new(number).create(number, b"x"))
        .collect();
    commit(&heap, &changes).unwrap();
    let mut ends = Vec::new();
    heap.replay(LogPosition::default(), &mut |commit| {
        ends.push(commit.end);
        Ok(())
    })
    .unwrap();
    assert_eq!((ends.len(), ends[4]), (5, heap.end()));
    for (index, end) in ends.iter().enumerate() {
        let mut numbers = Vec::new();
        heap.replay(*end, &mut |commit| {
            numbers.push(commit.number.0);
            Ok(())
        })
        .unwrap();
        assert_eq!(numbers, Vec::from_iter(index as u64 + 2..=5));
    }
}

#[test]
fn serials_are_never_handed_out_twice_and_none_is_lost_by_a_clean_close() {
    let disk = FaultyDisk::new();
    let (heap, _) = open(&disk).unwrap();
    assert_eq!(heap.reserve(CLASS, 1).unwrap(), 1..2);
    assert_eq!(heap.reserve(CLASS, 10).unwrap(), 2..12);
    assert_eq!(heap.reserve(ClassId(70), 1).unwrap(), 1..2);
    heap.close().unwrap();
    drop(heap);
    let (heap, _) = open(&disk).unwrap();
    assert_eq!(heap.reserve(CLASS, 1).unwrap(), 12..13);
    commit(&heap, &[Change::new(1).create(500, b"given by the caller")]).unwrap();
    drop(heap);
    let (heap, _) = open(&disk).unwrap();
    assert!(heap.reserve(CLASS, 1).unwrap().start >= 501);
    assert_eq!(heap.reserve(ClassId(70), 1).unwrap(), 2..3);
}

#[test]
fn a_lost_table_is_rebuilt_from_the_log() {
    let disk = FaultyDisk::new();
    let (heap, _) = open(&disk).unwrap();
    let change = Change::new(1).create(1, b"a").create(2, b"b");
    commit(
        &heap,
        &[change, Change::new(2).update(1, b"c"), Change::new(3).delete(2)],
    )
    .unwrap();
    assert_eq!(heap.reserve(CLASS, 100).unwrap(), 1..101);
    heap.close().unwrap();
    drop(heap);
    for path in disk.paths().iter().filter(|path| path.starts_with("table")) {
        disk.remove(path).unwrap();
    }
    let (heap, recovered) = open(&disk).unwrap();
    assert!(!recovered.clean);
    assert_eq!(contents(&heap, 3).unwrap(), Model::from([(1, b"c".to_vec())]));
    assert_eq!(contents(&heap, 1).unwrap().len(), 2);
    assert!(heap.reserve(CLASS, 1).unwrap().start >= 101);
}

#[test]
fn a_copy_of_a_live_directory_opens() {
    let disk = FaultyDisk::new();
    let (heap, _) = open(&disk).unwrap();
    commit(&heap, &[Change::new(1).create(1, b"a")]).unwrap();
    heap.checkpoint().unwrap();
    commit(&heap, &[Change::new(2).update(1, b"b")]).unwrap();
    let (copy, recovered) = open(&disk.copy().unwrap()).unwrap();
    assert_eq!(
        (recovered.last_commit, recovered.last_time),
        (CommitNumber(2), 1002)
    );
    assert_eq!(contents(&copy, 2).unwrap(), Model::from([(1, b"b".to_vec())]));
    assert!(matches!(open(&disk), Err(Error::Locked { .. })));
}

#[test]
fn a_read_only_open_changes_nothing_and_reads_what_a_kill_left() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("db");
    let writing: Arc<dyn Disk> = Arc::new(RealDisk::create(&root).unwrap());
    let reading = || Arc::new(RealDisk::open(&root, true).unwrap());
    let options = HeapOptions {
        read_only: true,
        ..HeapOptions::default()
    };
    assert!(matches!(
        Heap::open(reading(), options.clone()),
        Err(Error::Format(_) | Error::Io { .. })
    ));
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
    let (heap, _) = Heap::open(writing.clone(), HeapOptions::default()).unwrap();
    commit(&heap, &[Change::new(1).create(1, b"a")]).unwrap();
    heap.checkpoint().unwrap();
    commit(&heap, &[Change::new(2).create(2, &noise(3, 10_000))]).unwrap();
    assert!(matches!(
        Heap::open(reading(), options.clone()),
        Err(Error::Locked { .. })
    ));
    drop(heap);
    let before = listing(&root);
    for _ in 0..2 {
        let (heap, recovered) = Heap::open(reading(), options.clone()).unwrap();
        assert_eq!((recovered.last_commit, recovered.clean), (CommitNumber(2), false));
        assert_eq!(contents(&heap, 2).unwrap().len(), 2);
        assert!(matches!(heap.reserve(CLASS, 1), Err(Error::ReadOnly(_))));
        assert!(matches!(
            commit(&heap, &[Change::new(3)]),
            Err(Error::ReadOnly(_))
        ));
        assert!(matches!(heap.checkpoint(), Err(Error::ReadOnly(_))));
        heap.close().unwrap();
    }
    assert_eq!(listing(&root), before);
}

fn listing(root: &Path) -> Vec<(std::path::PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut files = Vec::new();
    for directory in [root.to_path_buf(), root.join("heap"), root.join("table")] {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let bytes = if metadata.is_file() {
                std::fs::read(entry.path()).unwrap()
            } else {
                Vec::new()
            };
            files.push((entry.path(), bytes, metadata.modified().unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn commits_and_reads_go_on_at_once() {
    let (heap, _) = Heap::open(Arc::new(MemoryDisk::new()), HeapOptions::default()).unwrap();
    let newest = std::sync::atomic::AtomicU64::new(0);
    let ordering = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=2000u64 {
                let mut change = Change::new(number);
                for serial in 1..=4 {
                    change
                        .writes
                        .push((serial, Some(number.to_le_bytes().to_vec()), number == 1));
                }
                commit(&heap, &[change]).unwrap();
                if number % 500 == 0 {
                    heap.checkpoint().unwrap();
                }
                newest.store(number, ordering);
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while newest.load(ordering) < 2000 {
                    let at = newest.load(ordering);
                    let found = contents(&heap, at).unwrap();
                    let expected = at.to_le_bytes().to_vec();
                    assert!(found.values().all(|body| *body == expected), "at {at}");
                    assert_eq!(found.len(), if at == 0 { 0 } else { 4 });
                }
            });
        }
    });
    assert_eq!(damages(&heap), []);
}

#[test]
fn a_segment_made_ahead_is_written_next_or_removed_at_the_end() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let (heap, _) = Heap::open(disk.clone(), HeapOptions::default()).unwrap();
    let files = || disk.list(Path::new("heap")).unwrap().len();
    let body = vec![7; 4000];
    let mut number = 0;
    let mut write = || {
        number += 1;
        let change = (1..=100).fold(Change::new(number), |change, serial| change.update(serial, &body));
        commit(&heap, &[change]).unwrap();
        number
    };
    while heap.statistics().segments < 4 {
        write();
    }
    heap.prepare();
    assert_eq!(files(), 4, "the segment has just been begun");
    while heap.statistics().segments < 5 {
        write();
    }
    let number = (0..20).map(|_| write()).last().unwrap();
    heap.prepare();
    heap.prepare();
    assert_eq!((files(), heap.statistics().segments), (6, 5));
    let view = heap.view();
    let found = view.get(oid(100), CommitNumber(number)).unwrap().unwrap();
    assert_eq!(&*found.body, &body);
    heap.close().unwrap();
    assert_eq!(files(), 5);
}
