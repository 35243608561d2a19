//! Bad bytes, cut and missing files: found, named, and never a wrong value.

use super::*;

const OBJECTS: u64 = 300;

fn body(serial: u64) -> Vec<u8> {
    match serial % 50 {
        0 => vec![serial as u8; 20_000],
        _ => noise(serial, 4_000),
    }
}

/// A closed database with sealed segments, an open one, and a checkpoint.
fn closed_database() -> FaultyDisk {
    let disk = FaultyDisk::new();
    let (heap, _) = open(&disk).unwrap();
    for number in 1..=OBJECTS / 10 {
        let first = (number - 1) * 10 + 1;
        let change = (first..first + 10).fold(Change::new(number), |change, serial| {
            change.create(serial, &body(serial))
        });
        commit(&heap, &[change]).unwrap();
        if number == 12 {
            heap.checkpoint().unwrap();
        }
    }
    assert_eq!(damages(&heap), []);
    heap.close().unwrap();
    disk
}

fn length(disk: &FaultyDisk, path: &Path) -> u64 {
    disk.open(path).unwrap().len().unwrap()
}

fn flip(disk: &FaultyDisk, path: &Path, at: u64) {
    let file = disk.open(path).unwrap();
    let mut byte = [0];
    file.read_at(&mut byte, at).unwrap();
    file.write_at(&[byte[0] ^ 0x20], at).unwrap();
}

/// Reads every object, alone and by scan: each is right or an error. How many are errors.
fn read_all(heap: &Heap, what: &str) -> usize {
    let at = CommitNumber(OBJECTS / 10);
    let view = heap.view();
    let mut failed = 0;
    for serial in 1..=OBJECTS {
        match view.get(oid(serial), at) {
            Ok(Some(record)) => assert!(*record.body == body(serial), "{what}: a wrong value of {serial}"),
            Ok(None) => panic!("{what}: object {serial} is gone"),
            Err(Error::Corruption(damage)) => {
                failed += 1;
                assert!(!damage.place.is_empty() && !damage.what.is_empty());
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
    let mut found = Vec::new();
    let scanned = view.scan(CLASS, &mut 0, at, usize::MAX, &mut found);
    assert_eq!(scanned.is_err(), failed > 0, "{what}");
    assert!(
        found
            .iter()
            .all(|record| *record.body == body(record.oid.serial())),
        "{what}: scan"
    );
    failed
}

#[test]
fn a_flipped_byte_anywhere_is_found_and_named_and_gives_no_wrong_value() {
    let intact = closed_database();
    let (mut refused, mut reported, mut healed) = (0, 0, 0);
    for path in intact.paths() {
        let len = length(&intact, &path);
        let grid = (0..len).step_by(30_011).chain((0..len.min(130)).step_by(3));
        for at in grid.chain((len.saturating_sub(700)..len).step_by(11)) {
            let what = format!("byte {at} of {} flipped", path.display());
            let disk = intact.copy().unwrap();
            flip(&disk, &path, at);
            match open(&disk) {
                Err(Error::Corruption(_) | Error::Format(_)) => refused += 1,
                Err(error) => panic!("{what}: {error}"),
                Ok((heap, recovered)) => {
                    let failed = read_all(&heap, &what);
                    let found = damages(&heap);
                    assert!(
                        failed == 0 || !found.is_empty(),
                        "{what}: reading failed, checking did not"
                    );
                    let in_table = path.starts_with("table");
                    if recovered.cut.is_some() {
                        healed += 1;
                    } else if in_table && found.is_empty() {
                        assert_eq!(failed, 0);
                    } else {
                        assert!(!found.is_empty(), "{what}: not found");
                        reported += 1;
                    }
                }
            }
        }
    }
    assert!(
        refused > 20 && reported > 40 && healed > 20,
        "{refused} {reported} {healed}"
    );
}

#[test]
fn a_damaged_block_fails_its_objects_alone_and_is_named_with_segment_offset_and_object() {
    let disk = closed_database();
    flip(&disk, Path::new("heap/00000001.seg"), 500_000);
    let (heap, recovered) = open(&disk).unwrap();
    assert!(recovered.clean);
    let failed = read_all(&heap, "one block");
    assert!((1..=3).contains(&failed), "{failed} objects failed");
    let error = (1..=OBJECTS).find_map(|serial| heap.view().get(oid(serial), CommitNumber(99)).err());
    let text = error.unwrap().to_string();
    assert!(
        text.contains("segment 1 offset 499712") && text.contains("object 64#"),
        "{text}"
    );
    let found = damages(&heap);
    assert!(
        found
            .iter()
            .any(|damage| damage.place == "segment 1 offset 499712"),
        "{found:?}"
    );
}

#[test]
fn cut_and_missing_files_are_named_when_opening() {
    let intact = closed_database();
    let segments: Vec<_> = intact
        .paths()
        .into_iter()
        .filter(|path| path.starts_with("heap"))
        .collect();
    assert!(segments.len() >= 2);
    for path in &segments {
        let name = path.file_name().unwrap().to_str().unwrap();
        let number = name.trim_start_matches('0').trim_end_matches(".seg");
        let len = length(&intact, path);
        for keep in [0, 30, 64, 4_096, len / 20] {
            let disk = intact.copy().unwrap();
            disk.open(path).unwrap().set_len(keep).unwrap();
            let error = open(&disk).unwrap_err().to_string();
            assert!(
                error.contains(name) || error.contains(&format!("segment {number}")),
                "{error}"
            );
        }
        let disk = intact.copy().unwrap();
        disk.remove(path).unwrap();
        let error = open(&disk).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("missing"), "{error}");
    }
    let disk = intact.copy().unwrap();
    disk.remove(Path::new("FORMAT")).unwrap();
    let error = open(&disk).unwrap_err();
    assert!(
        matches!(error, Error::Format(_)) && error.to_string().contains("FORMAT file is missing"),
        "{error}"
    );
    assert_eq!(disk.paths().len(), intact.paths().len() - 1);
}

#[test]
fn a_bad_frame_is_damage_if_a_later_one_says_it_was_durable_and_the_tail_if_not() {
    let disk = FaultyDisk::new();
    let (heap, _) = open(&disk).unwrap();
    let mut ends = vec![0];
    for number in 1..=5 {
        commit(&heap, &[Change::new(number).create(number, &noise(number, 1000))]).unwrap();
        ends.push(heap.end().offset);
    }
    drop(heap);
    let segment = Path::new("heap/00000001.seg");
    for (number, end) in ends.iter().enumerate().skip(1) {
        let disk = disk.copy().unwrap();
        flip(&disk, segment, u64::from(end - 100));
        match open(&disk) {
            Err(error) => {
                let text = error.to_string();
                assert!(number < 5 && matches!(error, Error::Corruption(_)), "{text}");
                assert!(
                    text.contains("segment 1 offset") && text.contains("durable through"),
                    "{text}"
                );
            }
            Ok((heap, recovered)) => {
                assert_eq!((number, recovered.last_commit), (5, CommitNumber(4)));
                assert!(recovered.cut.unwrap().contains("cut off"));
                assert_eq!(heap.timeline(), 2);
                assert_eq!(contents(&heap, 4).unwrap().len(), 4);
            }
        }
    }
}

#[test]
fn a_segment_of_another_database_is_refused() {
    let (one, other) = (closed_database(), closed_database());
    let path = Path::new("heap/00000001.seg");
    let foreign = other.open(path).unwrap();
    let mut bytes = vec![0; usize::try_from(foreign.len().unwrap()).unwrap()];
    foreign.read_at(&mut bytes, 0).unwrap();
    one.open(path).unwrap().write_at(&bytes, 0).unwrap();
    let error = open(&one).unwrap_err().to_string();
    assert!(error.contains("another database"), "{error}");
}
