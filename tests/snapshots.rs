//! The ledger of open snapshots and transactions.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use olivine::{
    Answer, Class, CompactOptions, Database, Durability, Error, Object, Oid, Outcome, ReaderKind, Session,
    TransactionOptions, Type,
};

fn database() -> (Database, olivine::Oid) {
    let db = Database::in_memory().unwrap();
    db.define_class(Class::new("N").attribute("n", Type::Int))
        .unwrap();
    let oid = db
        .transact(|tx| tx.insert_object(Object::new("N").with("n", 1)))
        .unwrap();
    (db, oid)
}

#[test]
fn every_open_reader_is_listed_until_it_is_gone() {
    let (db, _) = database();
    assert!(db.snapshots().is_empty());
    let report = db.snapshot_labelled("report");
    let copy = report.clone();
    let tx = db
        .begin_with(TransactionOptions {
            label: Some("import".into()),
            ..TransactionOptions::default()
        })
        .unwrap();
    let listed = db.snapshots();
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (listed[0].kind, listed[0].label.as_deref()),
        (ReaderKind::Snapshot, Some("report"))
    );
    assert_eq!(
        (listed[1].kind, listed[1].label.as_deref()),
        (ReaderKind::Transaction, Some("import"))
    );
    assert_eq!(listed[0].commit, report.commit());
    assert!(listed[0].age >= listed[1].age && !listed[0].expired);
    drop((report, tx));
    assert_eq!(db.snapshots().len(), 1);
    let rows = copy.query("select n from N", ()).unwrap();
    drop(copy);
    assert_eq!(db.snapshots().len(), 1, "rows read on");
    drop(rows);
    assert!(db.snapshots().is_empty());
}

#[test]
fn a_snapshot_that_is_too_old_says_so_at_every_read() {
    let directory = tempfile::tempdir().unwrap();
    let options = Database::options(directory.path().join("db")).max_snapshot_age(Duration::from_millis(300));
    let db = options.open().unwrap();
    db.define_class(Class::new("N").attribute("n", Type::Int))
        .unwrap();
    let oid = db
        .transact(|tx| tx.insert_object(Object::new("N").with("n", 1)))
        .unwrap();
    let snapshot = db.snapshot();
    let mut tx = db.begin().unwrap();
    tx.update_object(oid, [("n", 2.into())]).unwrap();
    let rows = snapshot.query("select n from N", ()).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    let expired = |error: Error| assert!(matches!(error, Error::Expired(_)), "{error}");
    expired(snapshot.object(oid).unwrap_err());
    expired(snapshot.exists(oid).unwrap_err());
    expired(rows.last().unwrap().unwrap_err());
    expired(
        snapshot
            .query("select n from N", ())
            .unwrap()
            .next()
            .unwrap()
            .unwrap_err(),
    );
    expired(tx.object(oid).unwrap_err());
    assert!(db.snapshots().iter().all(|open| open.expired));
    expired(tx.commit().unwrap_err());
    assert!(db.snapshot().exists(oid).unwrap());
}

#[test]
fn show_snapshots_lists_the_sessions_own_transaction() {
    let (db, _) = database();
    let mut session = Session::new(db);
    session.execute("begin", ()).unwrap();
    let shown = session.execute("show snapshots", ()).unwrap().pop().unwrap();
    let Outcome::Rows(Answer::Held { labels, mut rows }) = shown else {
        panic!("no rows")
    };
    let labels: Vec<&str> = labels.iter().map(|label| &**label).collect();
    assert_eq!(
        labels,
        [
            "ticket",
            "kind",
            "commit",
            "age",
            "label",
            "pinned bytes",
            "expired"
        ]
    );
    let row = rows.find(|row| row.values()[1] == "transaction".into());
    assert!(row.is_some());
}

/// A database on disk whose objects are overwritten again and again; `rounds` says whether to go on.
fn overwritten(rounds: &mut dyn FnMut(u64) -> bool) {
    const OBJECTS: i64 = 2_000;
    let directory = tempfile::tempdir().unwrap();
    let options = Database::options(directory.path().join("db")).durability(Durability::Buffer);
    let db = options.open().unwrap();
    let class = Class::new("N")
        .attribute("n", Type::Int)
        .attribute("text", Type::String);
    db.define_class(class.index("n")).unwrap();
    let padding = "x".repeat(1_000);
    let object = |n: i64| Object::new("N").with("n", n).with("text", padding.as_str());
    let oids: Vec<Oid> = db
        .transact(|tx| (0..OBJECTS).map(|n| tx.insert_object(object(n))).collect())
        .unwrap();
    let total = |snapshot: &olivine::Snapshot| {
        let rows = snapshot.query("select sum(x.n) from N x", ()).unwrap();
        rows.map(|row| row.unwrap().get(0).cloned()).next().unwrap()
    };
    let held = db.snapshot_labelled("held");
    let before = total(&held);
    // Rows that are read half-way while everything below them is written, checkpointed and moved.
    let mut rows = held.query("select x.n from N x order by x.n + 0", ()).unwrap();
    let first = rows.next().unwrap().unwrap().get(0).cloned();
    let mut round = 0u64;
    let mut pinned = 0;
    let mut pinned_grew = 0;
    while rounds(round) {
        round += 1;
        db.transact(|tx| {
            let bodies = oids.iter().zip(0i64..);
            bodies.into_iter().try_for_each(|(oid, n)| {
                let value = (n + round as i64).into();
                tx.update_object(*oid, [("n", value)])
            })
        })
        .unwrap();
        if round.is_multiple_of(4) {
            db.checkpoint().unwrap();
            db.compact(&CompactOptions::default(), &mut |_| ControlFlow::Continue(()))
                .unwrap();
        }
        let listed = db.snapshots();
        let held = listed.iter().find(|open| open.label.as_deref() == Some("held"));
        let held = held.expect("it is listed as long as it is open");
        pinned_grew += u64::from(held.pinned_bytes > pinned);
        pinned = held.pinned_bytes;
    }
    assert!(pinned_grew > 0 && pinned > 1_000_000, "{pinned} bytes are pinned");
    assert_eq!(total(&held), before, "it reads what it read at first");
    assert_eq!(first, Some(0.into()));
    let rest: Vec<_> = rows.map(|row| row.unwrap().get(0).cloned()).collect();
    assert_eq!(rest, (1..OBJECTS).map(|n| Some(n.into())).collect::<Vec<_>>());
    let before = db.statistics().log_bytes;
    drop(held);
    assert!(db.snapshots().is_empty());
    for _ in 0..2 {
        db.compact(&CompactOptions::default(), &mut |_| ControlFlow::Continue(()))
            .unwrap();
        db.checkpoint().unwrap();
    }
    let after = db.statistics().log_bytes;
    assert!(
        after + pinned / 2 < before,
        "{before} bytes before, {after} after, {pinned} were pinned"
    );
}

#[test]
fn a_snapshot_that_is_held_while_all_is_overwritten_reads_right_and_then_gives_space_back() {
    overwritten(&mut |round| round < 12);
}

#[test]
#[ignore = "takes ten minutes"]
fn a_snapshot_that_is_held_for_ten_minutes_of_writes_reads_right_and_then_gives_space_back() {
    let begun = Instant::now();
    overwritten(&mut |_| begun.elapsed() < Duration::from_secs(600));
}
