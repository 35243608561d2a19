//! States of the past.

use std::time::Duration;

use olivine::{CommitNumber, Error, Timestamp};

use super::*;

#[test]
fn every_state_can_be_read_until_its_space_is_reclaimed() {
    let disk = FaultyDisk::new();
    let database = open(&disk).unwrap();
    define(&database).unwrap();
    let oids = create(&database, 0..500, 1500);
    let mut states: Vec<(CommitNumber, Things)> = Vec::new();
    for round in 1..8u64 {
        for (at, oid) in oids
            .iter()
            .enumerate()
            .filter(|(at, _)| at % 7 == round as usize % 7)
        {
            database
                .transact(|tx| change(tx, *oid, &text(at as i64, round, 1500)))
                .unwrap();
        }
        let snapshot = database.snapshot();
        states.push((snapshot.commit(), things(&snapshot)));
    }
    for (commit, expected) in &states {
        let snapshot = database.snapshot_at(*commit).unwrap();
        assert_eq!((snapshot.commit(), &things(&snapshot)), (*commit, expected));
    }
    let before_all = database.snapshot_at(CommitNumber(0)).unwrap();
    assert!(before_all.query("select t from Thing t", ()).is_err());
    let future = database.snapshot_at(CommitNumber(1 << 40));
    assert!(matches!(future, Err(Error::Expired(_))), "{future:?}");
    let old = database.snapshot_at(states[0].0).unwrap();
    let compacted = compact(&database);
    assert!(compacted.segments_pinned > 0, "{compacted}");
    // One that is open goes on reading; a new one is refused, and says from where on states are kept.
    assert_eq!(things(&old), states[0].1);
    let gone = database.snapshot_at(states[0].0).unwrap_err();
    assert!(matches!(gone, Error::Expired(_)), "{gone}");
    assert!(
        gone.to_string().contains(&database.oldest_commit().to_string()),
        "{gone}"
    );
    let newest = states.last().unwrap();
    assert_eq!(things(&database.snapshot_at(newest.0).unwrap()), newest.1);
    drop((old, before_all));
    database.close().unwrap();
    let database = open(&disk).unwrap();
    assert!(database.snapshot_at(states[0].0).is_err());
    assert_eq!(things(&database.snapshot_at(newest.0).unwrap()), newest.1);
}

#[test]
fn history_keeps_what_it_promises_through_cleaning_and_reopening() {
    let disk = FaultyDisk::new();
    let options = quiet().history(Duration::from_secs(3600));
    let database = open_with(&disk, options.clone()).unwrap();
    define(&database).unwrap();
    let oids = create(&database, 0..500, 1500);
    let before = (database.snapshot().commit(), things(&database.snapshot()));
    for oid in &oids[..400] {
        database.transact(|tx| tx.delete(*oid)).unwrap();
    }
    let report = compact(&database);
    assert_eq!((report.segments_freed, report.records_moved), (0, 0), "{report}");
    assert_eq!(things(&database.snapshot_at(before.0).unwrap()), before.1);
    database.close().unwrap();
    let database = open_with(&disk, options).unwrap();
    compact(&database);
    assert_eq!(things(&database.snapshot_at(before.0).unwrap()), before.1);
    database.close().unwrap();
    // Without the option, the space is free to be reclaimed.
    let database = open(&disk).unwrap();
    assert!(compact(&database).segments_freed > 0);
    assert!(database.snapshot_at(before.0).is_err());
}

#[test]
fn a_state_is_found_by_its_time() {
    let disk = FaultyDisk::new();
    let database = open(&disk).unwrap();
    define(&database).unwrap();
    create(&database, 0..1, 10);
    let first = database.snapshot().commit();
    std::thread::sleep(Duration::from_millis(20));
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let between = Timestamp(now.as_micros() as i64);
    std::thread::sleep(Duration::from_millis(20));
    create(&database, 1..2, 10);
    assert_eq!(database.snapshot_at_time(between).unwrap().commit(), first);
    let later = Timestamp(between.0 + 3_600_000_000);
    assert_eq!(
        database.snapshot_at_time(later).unwrap().commit(),
        database.snapshot().commit()
    );
    assert!(matches!(
        database.snapshot_at_time(Timestamp(0)),
        Err(Error::Expired(_))
    ));
}
