//! The ledger of open snapshots and transactions.

use std::time::Duration;

use olivine::{
    Answer, Class, Database, Error, Object, Outcome, ReaderKind, Session, TransactionOptions, Type,
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
