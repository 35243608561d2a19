//! Changes of one object that were made at the same time: merge rules, and updates of different attributes.

use std::ops::ControlFlow;

use olivine::{
    Alteration, Class, CompactOptions, Database, Error, Isolation, MergeRule, Object, Oid, Outcome, Session,
    Transaction, TransactionOptions, Type, Value,
};

const LEVELS: [Isolation; 2] = [Isolation::Serializable, Isolation::Snapshot];

fn database() -> (Database, Oid) {
    let db = Database::in_memory().unwrap();
    let class = Class::new("Page")
        .attribute("url", Type::String)
        .attribute("title", Type::String)
        .attribute("size", Type::Int)
        .attribute_merge("hits", Type::Int, MergeRule::Counter)
        .attribute_merge("paid", Type::Decimal, MergeRule::Counter)
        .attribute_merge("tags", Type::set(Type::String), MergeRule::Union);
    db.define_class(class.unique("url").index("hits").index("tags"))
        .unwrap();
    let page = db
        .transact(|tx| tx.insert_object(Object::new("Page").with("url", "/").with("size", 1)))
        .unwrap();
    (db, page)
}

fn begin(db: &Database, isolation: Isolation) -> Transaction {
    let options = TransactionOptions {
        isolation,
        ..TransactionOptions::default()
    };
    db.begin_with(options).unwrap()
}

fn value(db: &Database, page: Oid, attribute: &str) -> Value {
    let object = db.snapshot().object(page).unwrap().unwrap();
    object.get(attribute).unwrap().clone()
}

fn rows(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    match session.execute(text, ()).unwrap().pop().unwrap() {
        Outcome::Rows(rows) => rows.map(|row| row.unwrap().values().to_vec()).collect(),
        other => panic!("{other:?}"),
    }
}

/// Two transactions of one snapshot, the first of which commits; what came of the second.
fn race(
    isolation: Isolation,
    first: impl Fn(&mut Transaction, Oid) -> olivine::Result<()>,
    second: impl Fn(&mut Transaction, Oid) -> olivine::Result<()>,
) -> (Database, Oid, olivine::Result<()>) {
    let (db, page) = database();
    let (mut one, mut two) = (begin(&db, isolation), begin(&db, isolation));
    first(&mut one, page).unwrap();
    second(&mut two, page).unwrap();
    one.commit().unwrap();
    let outcome = two.commit().map(drop);
    let report = db.check().unwrap();
    assert!(report.findings.is_empty(), "{report:?}");
    (db, page, outcome)
}

#[test]
fn increments_add_up_and_their_index_follows() {
    for isolation in LEVELS {
        let (db, page, outcome) = race(
            isolation,
            |tx, page| tx.increment(page, "hits", 2),
            |tx, page| {
                tx.increment(page, "hits", 5)?;
                tx.increment(page, "paid", 1)
            },
        );
        outcome.unwrap();
        assert_eq!(value(&db, page, "hits"), 7.into());
        let mut session = Session::new(db);
        assert_eq!(
            rows(&mut session, "select p.url from Page p where p.hits = 7").len(),
            1
        );
        for gone in [0, 2, 5] {
            let text = format!("select p.url from Page p where p.hits = {gone}");
            assert!(rows(&mut session, &text).is_empty(), "{gone}");
        }
    }
}

#[test]
fn members_that_are_added_come_together_and_a_removal_conflicts() {
    let tags = |tags: &[&str]| Value::set(tags.iter().map(|tag| Value::from(*tag)));
    for isolation in LEVELS {
        let (db, page, outcome) = race(
            isolation,
            |tx, page| tx.add_members(page, "tags", ["a".into(), "b".into()]),
            |tx, page| tx.add_members(page, "tags", ["b".into(), "c".into()]),
        );
        outcome.unwrap();
        assert_eq!(value(&db, page, "tags"), tags(&["a", "b", "c"]));
        let mut removing = begin(&db, isolation);
        removing
            .update_object(page, [("tags", tags(&["a", "b"]))])
            .unwrap();
        let mut adding = begin(&db, isolation);
        adding.add_members(page, "tags", ["c".into()]).unwrap();
        let mut late = begin(&db, isolation);
        late.update_object(page, [("tags", tags(&["a"]))]).unwrap();
        removing.commit().unwrap();
        assert!(
            adding.commit().unwrap_err().is_conflict(),
            "c was there, and is gone"
        );
        assert!(late.commit().unwrap_err().is_conflict());
    }
}

#[test]
fn blind_updates_of_different_attributes_both_commit() {
    for isolation in LEVELS {
        let (db, page, outcome) = race(
            isolation,
            |tx, page| tx.update_object(page, [("title", "Home".into())]),
            |tx, page| tx.update_object(page, [("size", 9.into())]),
        );
        outcome.unwrap();
        assert_eq!(value(&db, page, "title"), "Home".into());
        assert_eq!(value(&db, page, "size"), 9.into());
    }
}

#[test]
fn an_assignment_of_the_value_there_was_is_an_assignment() {
    for isolation in LEVELS {
        let (_, _, outcome) = race(
            isolation,
            |tx, page| tx.update_object(page, [("size", 9.into())]),
            |tx, page| tx.update_object(page, [("size", 1.into())]),
        );
        assert!(outcome.unwrap_err().is_conflict());
    }
}

#[test]
fn a_read_of_a_counter_conflicts_where_reads_count() {
    for (isolation, conflicts) in [(Isolation::Serializable, true), (Isolation::Snapshot, false)] {
        let (_, _, outcome) = race(
            isolation,
            |tx, page| tx.increment(page, "hits", 1),
            |tx, page| {
                tx.object(page)?;
                tx.increment(page, "hits", 1)
            },
        );
        assert_eq!(outcome.is_err(), conflicts);
    }
}

#[test]
fn deletes_and_increments_conflict_either_way() {
    for isolation in LEVELS {
        let increment = |tx: &mut Transaction, page| tx.increment(page, "hits", 1);
        let delete = |tx: &mut Transaction, page: Oid| tx.delete(page);
        assert!(race(isolation, increment, delete).2.unwrap_err().is_conflict());
        assert!(race(isolation, delete, increment).2.unwrap_err().is_conflict());
    }
}

#[test]
fn a_sum_that_does_not_fit_conflicts_and_then_fails() {
    let (_, page, outcome) = race(
        Isolation::Serializable,
        |tx, page| tx.increment(page, "hits", i64::MAX),
        |tx, page| tx.increment(page, "hits", 1),
    );
    assert!(outcome.unwrap_err().is_conflict());
    let _ = page;
    let (db, page) = database();
    db.transact(|tx| tx.increment(page, "hits", i64::MAX)).unwrap();
    let again = db.transact(|tx| tx.increment(page, "hits", 1));
    assert!(matches!(again, Err(Error::Argument(_))));
}

#[test]
fn what_was_rolled_back_to_a_savepoint_is_not_added() {
    let (db, page, outcome) = race(
        Isolation::Serializable,
        |tx, page| tx.increment(page, "hits", 1),
        |tx, page| {
            tx.increment(page, "hits", 10)?;
            tx.savepoint("s");
            tx.increment(page, "hits", 100)?;
            tx.update_object(page, [("size", 5.into())])?;
            tx.rollback_to("s")
        },
    );
    outcome.unwrap();
    assert_eq!(value(&db, page, "hits"), 11.into());
    assert_eq!(value(&db, page, "size"), 1.into());
}

#[test]
fn updates_in_oql_read_what_their_condition_reads() {
    for (first, second, conflicts) in [
        (
            "set title = 'a' where url = '/'",
            "set size = 2 where url = '/'",
            false,
        ),
        (
            "set title = 'a' where url = '/'",
            "set size = size + 1 where url = '/'",
            false,
        ),
        (
            "set hits += 1 where url = '/'",
            "set hits = hits + 2 where url = '/'",
            false,
        ),
        (
            "set hits += 1 where url = '/'",
            "set hits -= 2, title = 'b' where size = 1",
            false,
        ),
        (
            "set hits += 1 where url = '/'",
            "set size = hits where url = '/'",
            true,
        ),
        (
            "set hits += 1 where url = '/'",
            "set hits = hits * 2 where url = '/'",
            true,
        ),
        ("set hits += 1", "set size = 5 where hits = 0", true),
        ("set size = 5", "set title = 'b' where size = 1", true),
        ("set tags += 'a'", "set tags += 'b'", false),
        ("set tags += 'a'", "set title = 'b' where not ('a' in tags)", true),
        ("set url = '/x'", "set size = 2 where url = '/'", true),
    ] {
        let (db, _) = database();
        let (mut one, mut two) = (Session::new(db.clone()), Session::new(db.clone()));
        for (session, text) in [(&mut one, first), (&mut two, second)] {
            session.execute("begin", ()).unwrap();
            session.execute(&format!("update Page {text}"), ()).unwrap();
        }
        one.execute("commit", ()).unwrap();
        let outcome = two.execute("commit", ());
        assert_eq!(outcome.is_err(), conflicts, "{first} and {second}: {outcome:?}");
        let report = db.check().unwrap();
        assert!(report.findings.is_empty(), "{report:?}");
    }
}

#[test]
fn eight_threads_lose_no_increment_and_never_conflict() {
    let (db, page) = database();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let db = &db;
            scope.spawn(move || {
                for round in 0..50 {
                    let mut tx = db.begin().unwrap();
                    tx.increment(page, "hits", 1).unwrap();
                    let tag = format!("{thread}-{round}");
                    tx.add_members(page, "tags", [tag.as_str().into()]).unwrap();
                    tx.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(value(&db, page, "hits"), 400.into());
    assert_eq!(value(&db, page, "tags").as_members().unwrap().len(), 400);
    assert!(db.check().unwrap().findings.is_empty());
}

#[test]
fn a_rule_is_declared_shown_changed_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let mut session = Session::new(Database::open(&path).unwrap());
    let text =
        "create class P { n: int counter, tags: set<string> union, m: int, k: int unique }; insert P(m: 4)";
    session.execute(text, ()).unwrap();
    assert_eq!(rows(&mut session, "select p.n from P p"), [[Value::from(0)]]);
    let types = |session: &mut Session| -> Vec<String> {
        let described = rows(session, "describe P");
        described.iter().map(|row| row[1].to_string()).collect()
    };
    assert_eq!(
        types(&mut session),
        ["'int counter'", "'set<string> union'", "'int'", "'int'"]
    );
    session
        .execute(
            "alter class P merge attribute m by counter; alter class P merge attribute n by none",
            (),
        )
        .unwrap();
    drop(session);
    let db = Database::open(&path).unwrap();
    let mut session = Session::new(db.clone());
    assert_eq!(
        types(&mut session),
        ["'int'", "'set<string> union'", "'int counter'", "'int'"]
    );
    for refused in [
        "alter class P merge attribute tags by counter",
        "alter class P merge attribute m by union",
        "alter class P merge attribute k by counter",
        "alter class P retype attribute m to string",
        "create unique index i on P(m)",
        "create class Q { f: float counter }",
        "create class Q { n: int counter unique }",
    ] {
        let error = session.execute(refused, ()).unwrap_err();
        assert!(
            matches!(error, Error::Query(_) | Error::Schema(_)),
            "{refused}: {error}"
        );
    }
    let rule = Alteration::Merge {
        attribute: "n".into(),
        rule: Some(MergeRule::Counter),
    };
    db.transact(|tx| tx.alter_class("P", &rule).map(drop)).unwrap();
    assert_eq!(
        types(&mut session),
        ["'int counter'", "'set<string> union'", "'int counter'", "'int'"]
    );
}

#[test]
fn an_update_of_an_object_that_was_deleted_and_forgotten_conflicts() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db")).unwrap();
    db.define_class(Class::new("N").attribute("n", Type::Int))
        .unwrap();
    let object = |n: i64| Object::new("N").with("n", n);
    let oids: Vec<Oid> = db
        .transact(|tx| (0..100).map(|n| tx.insert_object(object(n))).collect())
        .unwrap();
    for isolation in LEVELS {
        let victim = oids[usize::from(isolation == Isolation::Snapshot)];
        let mut blind = begin(&db, isolation);
        blind.update_object(victim, [("n", 5.into())]).unwrap();
        let mut absent = begin(&db, Isolation::Serializable);
        absent.object(victim).unwrap();
        absent.insert_object(object(1)).unwrap();
        db.transact(|tx| tx.delete(victim)).unwrap();
        for _ in 0..3 {
            db.compact(&CompactOptions::default(), &mut |_| ControlFlow::Continue(()))
                .unwrap();
            db.checkpoint().unwrap();
        }
        assert!(blind.commit().unwrap_err().is_conflict());
        assert!(absent.commit().unwrap_err().is_conflict());
    }
}
