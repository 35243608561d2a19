//! Copies that a cleaner made.

use super::super::cut::survey_sound;
use super::super::frame::{FRAME_HEADER, FrameHeader, MOVE, records, sections};
use super::super::record::encode_record;
use super::super::scan::LogReader;
use super::super::segment::{Found, Segment};
use super::*;

/// Appends a frame that says: these objects were copied, from there, with this body.
fn append_moves(disk: &FaultyDisk, database: [u8; 16], copies: &[(u64, Location, &[u8])]) {
    let Found::Open(segment) = Segment::open(disk, 1, database).unwrap() else {
        panic!("segment 1 is not open");
    };
    let found = survey_sound(&segment, segment.end()).unwrap();
    let mut frame = vec![0; FRAME_HEADER];
    for (serial, origin, body) in copies {
        frame.extend_from_slice(&origin.0.get().to_le_bytes());
        encode_record(&mut frame, oid(*serial), CommitNumber(1), None, Some(body));
    }
    FrameHeader::seal(&mut frame, MOVE, found.chain, 1, LogPosition::default());
    segment.file.write_at(&frame, u64::from(found.end)).unwrap();
}

/// The locations of all records in segment 1, in order.
fn locations(disk: &FaultyDisk, database: [u8; 16]) -> Vec<Location> {
    let Found::Open(segment) = Segment::open(disk, 1, database).unwrap() else {
        panic!("segment 1 is not open");
    };
    let mut reader = LogReader::new(vec![Arc::new(segment)], LogPosition::default(), None);
    let mut found = Vec::new();
    while reader.advance().unwrap() {
        let frame = reader.frame().unwrap().unwrap();
        for section in sections(frame.payload, frame.payload_start) {
            found.extend(records(section.records, 1, section.records_start).map(|(location, _)| location));
        }
    }
    found
}

#[test]
fn a_moved_copy_counts_only_if_the_table_still_points_where_it_came_from() {
    let disk = FaultyDisk::new();
    let (heap, _) = open(&disk).unwrap();
    commit(
        &heap,
        &[Change::new(1)
            .create(1, b"one")
            .create(2, b"two")
            .create(3, b"three")],
    )
    .unwrap();
    heap.checkpoint().unwrap();
    commit(&heap, &[Change::new(2).update(2, b"newer")]).unwrap();
    let database = *heap.database_id().as_bytes();
    drop(heap);
    let from = locations(&disk, database);
    append_moves(
        &disk,
        database,
        &[
            (1, from[0], b"copy"),
            (2, from[1], b"copy"),
            (3, from[0], b"copy"),
        ],
    );
    let expected = |first: &[u8]| {
        Model::from([
            (1, first.to_vec()),
            (2, b"newer".to_vec()),
            (3, b"three".to_vec()),
        ])
    };
    let (heap, recovered) = open(&disk).unwrap();
    assert_eq!((recovered.last_commit, recovered.cut), (CommitNumber(2), None));
    assert_eq!(contents(&heap, 2).unwrap(), expected(b"copy"));
    drop(heap);
    for path in disk.paths().iter().filter(|path| path.starts_with("table")) {
        disk.remove(path).unwrap();
    }
    // Rebuilt from the whole log: of equal commits the later place counts, and a copy never hides a newer commit.
    let (heap, _) = open(&disk).unwrap();
    let rebuilt = contents(&heap, 2).unwrap();
    assert_eq!(
        (&rebuilt[&1][..], &rebuilt[&2][..]),
        (&b"copy"[..], &b"newer"[..])
    );
}

#[test]
fn what_a_move_that_waits_has_copied_is_not_forgotten_and_counted_out_twice() {
    let disk = FaultyDisk::new();
    let (heap, _) = open(&disk).unwrap();
    let mut change = Change::new(1);
    for serial in 1..=6 {
        change = change.create(serial, b"body");
    }
    commit(&heap, &[change]).unwrap();
    heap.roll().unwrap();
    let live: Vec<(Oid, Location)> = heap
        .live_records(1)
        .unwrap()
        .iter()
        .map(|record| (record.oid, record.location))
        .collect();
    assert_eq!(live.len(), 6);
    // A commit is written and waits for its sync; a move behind it waits with it.
    let appended = append(&heap, &[Change::new(2).create(7, b"new")]).unwrap();
    assert_eq!(heap.move_records(&live[..3]).unwrap().records, 3);
    assert_eq!(heap.forget(&live[..3]).unwrap(), 0);
    heap.sync(appended.end).unwrap();
    heap.apply(&appended);
    let uses = heap.segment_uses().unwrap();
    let first = uses.iter().find(|found| found.number == 1).unwrap();
    assert_eq!(first.live, 3, "three of six were moved");
    assert_eq!(heap.live_records(1).unwrap().len(), 3);
    assert_eq!(heap.forget(&live[3..]).unwrap(), 3);
    assert_eq!(contents(&heap, 2).unwrap().len(), 4);
}
