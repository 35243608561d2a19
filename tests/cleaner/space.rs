//! How much space there is before and after.

use super::*;

#[test]
fn the_space_of_deleted_objects_comes_back_and_compacting_again_does_nothing() {
    let disk = FaultyDisk::new();
    let database = open(&disk).unwrap();
    define(&database).unwrap();
    let oids = create(&database, 0..6000, 1000);
    database.checkpoint().unwrap();
    let full = segment_bytes(&disk);
    for part in oids.chunks(100) {
        database
            .transact(|tx| {
                let doomed = part.iter().enumerate().filter(|(at, _)| at % 20 != 0);
                doomed.map(|(_, oid)| tx.delete(*oid)).collect::<Result<Vec<_>>>()
            })
            .unwrap();
    }
    let before = things(&database.snapshot());
    assert_eq!(before.len(), 300);
    let planned = compact_with(&database, &CompactOptions::new().dry_run(true));
    assert!(planned.dry_run && planned.bytes_freed > full / 2, "{planned}");
    assert_eq!(segment_bytes(&disk), segment_bytes(&disk));
    let report = compact(&database);
    assert!(
        report.bytes_freed > full / 2 && report.segments_freed > 2,
        "{report}"
    );
    assert!(
        report.records_moved <= planned.records_moved,
        "{report}\n{planned}"
    );
    let statistics = database.statistics();
    assert!(statistics.log_bytes < full / 5, "{statistics}");
    assert_eq!(things(&database.snapshot()), before);
    let again = compact(&database);
    assert_eq!((again.records_moved, again.segments_freed), (0, 0), "{again}");
    assert!(database.check().unwrap().is_clean());
    database.close().unwrap();
    let database = open(&disk).unwrap();
    assert_eq!(things(&database.snapshot()), before);
    assert!(database.check().unwrap().is_clean());
}

#[test]
fn an_open_snapshot_reads_right_and_its_space_comes_back_after_its_end() {
    let disk = FaultyDisk::new();
    let database = open(&disk).unwrap();
    define(&database).unwrap();
    let oids = create(&database, 0..3000, 1000);
    database.checkpoint().unwrap();
    let snapshot = database.snapshot();
    let before = things(&snapshot);
    for oid in &oids[..2900] {
        database.transact(|tx| tx.delete(*oid)).unwrap();
    }
    let report = compact(&database);
    assert!(report.segments_pinned > 0, "{report}");
    let held = segment_bytes(&disk);
    assert_eq!(things(&snapshot), before);
    create(&database, 5000..5100, 100);
    assert_eq!(compact(&database).segments_freed, 0);
    assert_eq!(things(&snapshot), before);
    drop(snapshot);
    let report = compact(&database);
    assert_eq!(report.segments_pinned, 0, "{report}");
    assert!(segment_bytes(&disk) + report.bytes_freed <= held + (2 << 20));
    assert!(report.bytes_freed > 2_000_000, "{report}");
    assert_eq!(things(&database.snapshot()).len(), 200);
}

#[test]
fn what_a_checkpoint_finds_dead_is_given_up_without_moving() {
    let disk = FaultyDisk::new();
    let database = open(&disk).unwrap();
    define(&database).unwrap();
    let oids = create(&database, 0..2000, 1000);
    for round in 1..4 {
        for part in oids.chunks(100) {
            database
                .transact(|tx| {
                    for (at, oid) in part.iter().enumerate() {
                        change(tx, *oid, &text(at as i64, round, 1000))?;
                    }
                    Ok(())
                })
                .unwrap();
        }
    }
    let before = database.statistics();
    database.checkpoint().unwrap();
    let after = database.statistics();
    assert!(
        after.log_bytes + 1_900_000 < before.log_bytes,
        "{before}\n{after}"
    );
}

#[test]
fn tombstones_and_dropped_classes_end_when_nothing_older_is_left() {
    let disk = FaultyDisk::new();
    let database = open(&disk).unwrap();
    define(&database).unwrap();
    let other = Class::new("Other").attribute("text", Type::String);
    database.define_class(other).unwrap();
    let oids = create(&database, 0..3000, 300);
    for part in 0..30 {
        database
            .transact(|tx| {
                for at in 0..100 {
                    tx.insert_object(Object::new("Other").with("text", text(at, part, 300)))?;
                }
                Ok(())
            })
            .unwrap();
    }
    for part in oids.chunks(100) {
        database
            .transact(|tx| part.iter().map(|oid| tx.delete(*oid)).collect::<Result<Vec<_>>>())
            .unwrap();
    }
    database.transact(|tx| tx.drop_class("Other")).unwrap();
    compact(&database);
    let statistics = database.statistics();
    assert!(statistics.records < 100, "{statistics}");
    assert!(statistics.log_bytes < 50_000, "{statistics}");
    database.close().unwrap();
    // A table built anew from the log does not bring them back.
    for path in disk.paths().iter().filter(|path| path.starts_with("table")) {
        disk.remove_file(path);
    }
    let database = open(&disk).unwrap();
    assert_eq!(things(&database.snapshot()).len(), 0);
    let oid = create(&database, 1..2, 10)[0];
    assert!(!oids.contains(&oid), "a serial number was handed out twice");
}

#[test]
fn objects_that_refer_to_one_another_are_laid_side_by_side() {
    let disk = FaultyDisk::new();
    let database = open(&disk).unwrap();
    define(&database).unwrap();
    let oids = create(&database, 0..2000, 400);
    for at in 0..1000usize {
        database
            .transact(|tx| {
                let next = oids[1999 - (at * 7) % 1000];
                tx.update_object(oids[at], [("next", Value::Reference(next))])
            })
            .unwrap();
    }
    let before = things(&database.snapshot());
    let report = compact_with(&database, &CompactOptions::new().cluster_by("Thing.next"));
    assert!(report.records_moved >= 2000, "{report}");
    assert_eq!(things(&database.snapshot()), before);
    let wrong = database.compact(&CompactOptions::new().cluster_by("Thing.nothing"), &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(wrong.unwrap_err().to_string().contains("no attribute nothing"));
    assert!(database.check().unwrap().is_clean());
}

#[test]
fn an_interrupted_compaction_keeps_what_it_moved_and_goes_on_later() {
    let disk = FaultyDisk::new();
    let database = open(&disk).unwrap();
    define(&database).unwrap();
    let oids = create(&database, 0..9000, 300);
    for oid in oids.iter().step_by(3) {
        database.transact(|tx| tx.delete(*oid)).unwrap();
    }
    let before = things(&database.snapshot());
    let first = database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Break(()))
        .unwrap();
    assert!(first.interrupted && first.records_moved > 0, "{first}");
    assert_eq!(things(&database.snapshot()), before);
    let second = compact(&database);
    assert!(!second.interrupted && second.segments_freed > 0, "{second}");
    assert_eq!(things(&database.snapshot()), before);
}

#[test]
fn the_statement_compacts_outside_transactions_and_the_command_reports_in_json() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let database = Database::options(&path).cleaner(false).open().unwrap();
    define(&database).unwrap();
    let oids = create(&database, 0..2000, 1000);
    for oid in &oids[..1500] {
        database.transact(|tx| tx.delete(*oid)).unwrap();
    }
    let mut session = olivine::Session::new(database.clone());
    session.execute("begin", ()).unwrap();
    let refused = session.execute("compact", ()).err().unwrap();
    assert!(refused.to_string().contains("inside a transaction"), "{refused}");
    session
        .execute("rollback; compact cluster by Thing.next; compact", ())
        .unwrap();
    drop(session);
    assert!(database.statistics().log_bytes < 800_000);
    let command = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_olivine"));
        command.arg("compact").arg(&path).args(["--format", "json"]);
        command.output().unwrap()
    };
    let locked = command();
    assert_eq!(locked.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&locked.stderr).contains("open in another process"));
    database.close().unwrap();
    let done = command();
    assert!(done.status.success());
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["records_moved"], 0);
}
