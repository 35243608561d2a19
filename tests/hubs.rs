//! Relationships whose set is an index read backwards: what they say, what they cost, and who meets whom at a hub.

use std::collections::BTreeSet;

use olivine::{
    Alteration, Class, Database, Object, Oid, OnDelete, Ref, Session, Snapshot, Transaction, Type, Value,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Hub {
    name: String,
    members: BTreeSet<Ref<Member>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Member {
    number: i64,
    hub: Option<Ref<Hub>>,
}

/// The same class as a program sees it that does not care for the members.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename = "Hub")]
struct Named {
    name: String,
}

fn hub(name: &str) -> Hub {
    Hub {
        name: name.into(),
        members: BTreeSet::new(),
    }
}

fn member(number: i64, hub: Option<Ref<Hub>>) -> Member {
    Member { number, hub }
}

fn empty() -> Database {
    let db = Database::in_memory().unwrap();
    db.define_all::<(Hub, Member)>().unwrap();
    db.define::<Member>().unwrap().inverse("hub", "members").unwrap();
    db
}

/// A hub with `size` members.
fn with_members(db: &Database, size: i64) -> (Ref<Hub>, Vec<Ref<Member>>) {
    db.transact(|tx| {
        let hub = tx.insert(&hub("hub"))?;
        let members = (0..size).map(|number| tx.insert(&member(number, Some(hub))));
        Ok((hub, members.collect::<Result<_, _>>()?))
    })
    .unwrap()
}

fn numbers(snapshot: &Snapshot, text: &str, hub: Ref<Hub>) -> Vec<i64> {
    let rows = snapshot.query(text, (hub,)).unwrap().decode();
    let mut numbers: Vec<i64> = rows.map(Result::unwrap).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn members_are_read_in_every_way() {
    let db = empty();
    let (hub, members) = with_members(&db, 5);
    let all: BTreeSet<_> = members.iter().copied().collect();
    let snapshot = db.snapshot();
    assert_eq!(snapshot.get(hub).unwrap().unwrap().members, all);
    assert_eq!(
        snapshot
            .stored(hub)
            .unwrap()
            .unwrap()
            .decode::<Hub>()
            .unwrap()
            .members,
        all
    );
    let value = Value::set(members.iter().map(|member| Value::Reference(member.oid())));
    assert_eq!(
        snapshot.object(hub).unwrap().unwrap().get("members"),
        Some(&value)
    );
    assert_eq!(
        snapshot.stored(hub).unwrap().unwrap().get("members").unwrap(),
        value
    );
    let view = snapshot.view(hub).unwrap().unwrap();
    assert_eq!(view.value("members").unwrap(), value);
    assert_eq!(view.get::<Vec<Ref<Member>>>("members").unwrap(), members);
    assert_eq!(
        (
            view.get::<&str>("name").unwrap(),
            view.decode::<Hub>().unwrap().members
        ),
        ("hub", all.clone())
    );
    assert_eq!(
        snapshot
            .extent::<Hub>()
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .1
            .members,
        all
    );
    assert_eq!(snapshot.fetch(hub).depth(1).read().unwrap().len(), 6);
    assert_eq!(snapshot.fetch(hub).paths(["members"]).read().unwrap().len(), 6);
    assert_eq!(snapshot.related::<Member>("hub", hub).unwrap().count(), 5);
    assert_eq!(snapshot.related::<Hub>("members", members[2]).unwrap().count(), 1);
    for text in [
        "select m.number from m in $1.members",
        "select m.number from Hub h, m in h.members where h = $1",
        "select n from Hub h, n in h.members.number",
        "select m.number from Member m where m in $1.members",
        "select m.number from Member m where m.hub.members is not empty",
    ] {
        assert_eq!(numbers(&snapshot, text, hub), [0, 1, 2, 3, 4], "{text}");
    }
    assert_eq!(numbers(&snapshot, "count($1.members)", hub), [5]);
    assert_eq!(numbers(&snapshot, "select count(h.members) from Hub h", hub), [5]);
    let whole = snapshot
        .query("select h from Hub h", ())
        .unwrap()
        .objects::<Hub>();
    assert_eq!(
        whole.map(|row| row.unwrap().1.members.len()).collect::<Vec<_>>(),
        [5]
    );
    assert!(db.check().unwrap().findings.is_empty());
}

#[test]
fn a_transaction_sees_its_own_members_and_older_snapshots_theirs() {
    let db = empty();
    let (hub, members) = with_members(&db, 3);
    let older = db.snapshot();
    let mut tx = db.begin().unwrap();
    let new = tx.insert(&member(9, Some(hub))).unwrap();
    tx.delete(members[0]).unwrap();
    tx.update_with(members[1], |member| member.hub = None).unwrap();
    let expected: BTreeSet<_> = [members[2], new].into();
    assert_eq!(tx.get(hub).unwrap().unwrap().members, expected);
    assert_eq!(
        tx.view(hub).unwrap().unwrap().decode::<Hub>().unwrap().members,
        expected
    );
    let rows = tx.query("select m.number from m in $1.members", (hub,)).unwrap();
    assert_eq!(rows.count(), 2);
    tx.commit().unwrap();
    assert_eq!(older.get(hub).unwrap().unwrap().members.len(), 3);
    assert_eq!(db.snapshot().get(hub).unwrap().unwrap().members, expected);
}

#[test]
fn writes_of_the_set_move_the_references() {
    let db = empty();
    let (first, members) = with_members(&db, 3);
    let hub_of = |tx: &Transaction, at: usize| tx.get(members[at]).unwrap().unwrap().hub;
    db.transact(|tx| {
        let second = tx.insert(&Hub {
            members: [members[0]].into(),
            ..hub("second")
        })?;
        assert_eq!(hub_of(tx, 0), Some(second));
        assert_eq!(tx.get(first)?.unwrap().members, [members[1], members[2]].into());
        tx.update_with(second, |hub| hub.members.insert(members[1]))?;
        assert_eq!(hub_of(tx, 1), Some(second));
        tx.update_with(second, |hub| hub.members.remove(&members[0]))?;
        assert_eq!(hub_of(tx, 0), None);
        // Who does not name the members leaves them alone.
        tx.update_with(second.cast::<Named>(), |hub| hub.name = "renamed".into())?;
        tx.update_object(second, [("name", Value::from("again"))])?;
        assert_eq!(tx.get(second)?.unwrap().members, [members[1]].into());
        tx.update_object(first, [("members", Value::set([members[0], members[1]]))])?;
        assert_eq!(tx.get(second)?.unwrap().members, [].into());
        tx.update_object(first, [("members", Value::Nil)])?;
        assert_eq!((hub_of(tx, 0), hub_of(tx, 1)), (None, None));
        Ok(())
    })
    .unwrap();
    let mut session = Session::new(db.clone());
    let mut run = |text: &str| session.execute(text, ()).map(drop).unwrap();
    run("update Hub set members = set(Member#1, Member#3) where name = 'hub'");
    assert_eq!(
        db.snapshot().get(first).unwrap().unwrap().members,
        [members[0], members[2]].into()
    );
    run("update Hub set name = 'x' where count(members) = 2");
    run("insert Hub(name: 'third', members: set(Member#1))");
    assert_eq!(
        numbers(&db.snapshot(), "select count(members) from Hub", first),
        [0, 1, 1]
    );
    assert!(db.check().unwrap().findings.is_empty());
}

#[test]
fn a_change_writes_as_much_at_a_large_hub_as_at_a_small_one() {
    let cost = |size: i64| {
        let db = empty();
        let (hub, members) = with_members(&db, size);
        let mut costs = Vec::new();
        let mut measure = |change: &dyn Fn(&mut Transaction) -> olivine::Result<()>| {
            let before = db.statistics();
            db.transact(change).unwrap();
            let after = db.statistics();
            costs.push((after.records - before.records, after.log_bytes - before.log_bytes));
        };
        measure(&|tx| tx.insert(&member(7, Some(hub))).map(drop));
        measure(&|tx| tx.update_with(members[4], |member| member.hub = None));
        measure(&|tx| tx.delete(members[5]));
        measure(&|tx| tx.update_with(hub.cast::<Named>(), |hub| hub.name = "hob".into()));
        measure(&|tx| tx.delete(hub));
        costs
    };
    let (small, large) = (cost(10), cost(20_000));
    for ((records, bytes), (records_of_large, bytes_of_large)) in small.into_iter().zip(large) {
        assert_eq!((records, records_of_large), (1, 1));
        assert!(bytes_of_large <= bytes + 16, "{bytes_of_large} bytes for {bytes}");
    }
}

#[test]
fn the_first_ten_and_the_count_read_no_more_at_a_large_hub() {
    for size in [100, 20_000] {
        let db = empty();
        let (hub, _) = with_members(&db, size);
        for (text, rows, objects, entries) in [
            ("select m.number from m in $1.members limit 10", 10, 40, 1_100),
            (
                "select m.number from Hub h, m in h.members where h = $1 limit 10",
                10,
                1_500,
                1_500,
            ),
            ("count($1.members)", 1, 2, 1),
            ("select count(*) from m in $1.members", 1, 2, 1),
        ] {
            let mut found = db.snapshot().query(text, (hub,)).unwrap();
            assert_eq!(found.by_ref().map(Result::unwrap).count(), rows, "{text}");
            let cost = found.statistics();
            assert!(
                cost.objects <= objects && cost.index_entries <= entries,
                "{text}: {cost:?}"
            );
        }
    }
}

#[test]
fn writers_do_not_meet_at_a_hub_and_readers_of_its_members_do() {
    let db = empty();
    let (hub, members) = with_members(&db, 100);
    let begin = || db.begin().unwrap();
    let (mut a, mut b, mut c, mut d) = (begin(), begin(), begin(), begin());
    a.insert(&member(1, Some(hub))).unwrap();
    b.insert(&member(2, Some(hub))).unwrap();
    c.update_with(members[7], |member| member.hub = None).unwrap();
    d.update_with(hub.cast::<Named>(), |hub| hub.name = "new".into())
        .unwrap();
    for writer in [a, b, c, d] {
        writer.commit().unwrap();
    }
    type Read = fn(&Transaction, Ref<Hub>) -> usize;
    let reads: [Read; 4] = [
        |tx, hub| tx.get(hub).unwrap().unwrap().members.len(),
        |tx, hub| {
            tx.object(hub)
                .unwrap()
                .unwrap()
                .get("members")
                .unwrap()
                .as_members()
                .unwrap()
                .len()
        },
        |tx, hub| {
            tx.view(hub)
                .unwrap()
                .unwrap()
                .value("members")
                .unwrap()
                .as_members()
                .unwrap()
                .len()
        },
        |tx, hub| tx.query("select m from m in $1.members", (hub,)).unwrap().count(),
    ];
    for read in reads {
        let mut reader = begin();
        assert!(read(&reader, hub) > 90);
        reader.insert(&member(0, None)).unwrap();
        db.transact(|tx| tx.insert(&member(3, Some(hub)))).unwrap();
        assert!(reader.commit().unwrap_err().is_conflict());
    }
    let mut other = begin();
    assert_eq!(other.get(hub.cast::<Named>()).unwrap().unwrap().name, "new");
    other.insert(&member(0, None)).unwrap();
    db.transact(|tx| tx.insert(&member(3, Some(hub)))).unwrap();
    other.commit().unwrap();
}

#[test]
fn a_hub_goes_by_each_rule() {
    for rule in [
        OnDelete::Leave,
        OnDelete::Restrict,
        OnDelete::Clear,
        OnDelete::Cascade,
    ] {
        let db = empty();
        db.define::<Member>().unwrap().on_delete("hub", rule).unwrap();
        let (hub, members) = with_members(&db, 50);
        let outcome = db.transact(|tx| tx.delete(hub));
        let snapshot = db.snapshot();
        let left = snapshot.extent::<Member>().unwrap().count();
        let first = snapshot.get(members[0]).unwrap().map(|member| member.hub);
        let dangling = numbers(
            &snapshot,
            "select m.number from Member m where m.hub is dangling",
            hub,
        );
        match rule {
            OnDelete::Leave => assert_eq!((left, first, dangling.len()), (50, Some(Some(hub)), 50)),
            OnDelete::Restrict => assert!(outcome.unwrap_err().to_string().contains("on delete restrict")),
            OnDelete::Clear => assert_eq!((left, first, dangling.len()), (50, Some(None), 0)),
            _ => assert_eq!(left, 0),
        }
        if rule == OnDelete::Leave {
            // What is gone has no attributes; what refers to it is still found.
            assert!(numbers(&snapshot, "select m.number from m in $1.members", hub).is_empty());
            assert_eq!(numbers(&snapshot, "count($1.members)", hub), [0]);
            assert!(
                numbers(
                    &snapshot,
                    "select n.number from Member m, n in m.hub.members",
                    hub
                )
                .is_empty()
            );
            assert_eq!(numbers(&snapshot, "count($1.<Member.hub)", hub), [50]);
        }
    }
}

/// Both sides stored, as relationships were before sets were derived: an index on the set keeps it so.
fn stored_on_both_sides() -> (Database, Ref<Hub>, Vec<Ref<Member>>) {
    let db = Database::in_memory().unwrap();
    db.define_all::<(Hub, Member)>().unwrap();
    db.define::<Hub>().unwrap().index("members").unwrap();
    db.define::<Member>().unwrap().inverse("hub", "members").unwrap();
    let (hub, members) = with_members(&db, 20);
    db.transact(|tx| tx.drop_index("Hub_members")).unwrap();
    (db, hub, members)
}

#[test]
fn a_set_that_was_stored_is_derived_when_the_inverse_is_declared_again() {
    let (db, hub, members) = stored_on_both_sides();
    let all: BTreeSet<_> = members.iter().copied().collect();
    let size = |db: &Database| db.snapshot().stored(hub).unwrap().unwrap().size();
    assert_eq!(db.snapshot().get(hub).unwrap().unwrap().members, all);
    assert!(size(&db) > 150, "{}", size(&db));
    let older = db.snapshot();
    for _ in 0..2 {
        db.define::<Member>().unwrap().inverse("hub", "members").unwrap();
        assert!(size(&db) < 20, "{}", size(&db));
        assert_eq!(db.snapshot().get(hub).unwrap().unwrap().members, all);
    }
    assert_eq!(older.get(hub).unwrap().unwrap().members, all);
    assert!(db.check().unwrap().findings.is_empty());
    let (mut a, mut b) = (db.begin().unwrap(), db.begin().unwrap());
    a.insert(&member(1, Some(hub))).unwrap();
    b.insert(&member(2, Some(hub))).unwrap();
    a.commit().unwrap();
    b.commit().unwrap();
}

#[test]
fn sets_of_objects_that_exist_become_references() {
    let db = Database::in_memory().unwrap();
    db.define_all::<(Hub, Member)>().unwrap();
    let (first, second, members) = db
        .transact(|tx| {
            let members: Vec<Ref<Member>> = (0..3)
                .map(|number| tx.insert(&member(number, None)))
                .collect::<Result<_, _>>()?;
            let given = |at: &[usize]| at.iter().map(|at| members[*at]).collect();
            let first = tx.insert(&Hub {
                members: given(&[0, 1]),
                ..hub("first")
            })?;
            let second = tx.insert(&Hub {
                members: given(&[1, 2]),
                ..hub("second")
            })?;
            tx.update_with(members[2], |member| member.hub = Some(first))?;
            Ok((first, second, members))
        })
        .unwrap();
    db.define::<Member>().unwrap().inverse("hub", "members").unwrap();
    let snapshot = db.snapshot();
    // The reference is right where there is one, else the first set that has the member.
    assert_eq!(
        snapshot.get(first).unwrap().unwrap().members,
        members.iter().copied().collect()
    );
    assert_eq!(snapshot.get(second).unwrap().unwrap().members, [].into());
}

#[test]
fn a_relationship_comes_and_goes_in_statements() {
    let db = Database::in_memory().unwrap();
    let mut session = Session::new(db.clone());
    let mut run = |text: &str| session.execute(text, ()).map(drop);
    run(
        "create class Dept { name: string }, Person { name: string, dept: Dept };
         insert Dept(name: 'Sales'); insert Person(name: 'Ann', dept: Dept#1);
         alter class Dept add attribute staff: set<Person> inverse dept",
    )
    .unwrap();
    let count = |text: &str| -> i64 {
        let mut rows = db.snapshot().query(text, ()).unwrap().decode();
        rows.next().unwrap().unwrap()
    };
    assert_eq!(count("count(Dept#1.staff)"), 1);
    let mut refused = |text: &str, why: &str| {
        let error = run(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    };
    refused(
        "drop index Person_dept",
        "Dept.staff is read from the index on Person.dept",
    );
    refused("create index s on Dept(staff)", "can have none of its own");
    refused("alter class Person drop attribute dept", "drop Dept.staff first");
    run("insert Person(name: 'Bob', dept: Dept#1)").unwrap();
    assert_eq!(count("count(Dept#1.staff)"), 2);
    run("alter class Dept drop attribute staff; drop index Person_dept").unwrap();
    run("insert Person(name: 'Cid', dept: Dept#1)").unwrap();
    run("alter class Dept add attribute staff: set<Person> inverse dept").unwrap();
    assert_eq!(count("count(Dept#1.staff)"), 3);
    run("alter class Dept drop attribute staff; drop index Person_dept; alter class Person drop attribute dept").unwrap();
    let wrong = db
        .define_class(Class::new("A").attribute("n", Type::Int))
        .map(drop);
    wrong.unwrap();
    let rule = Alteration::Drop("n".into());
    db.alter_class("A", &rule).unwrap();
}

#[test]
fn a_tree_has_its_children_by_its_parents() {
    let db = Database::in_memory().unwrap();
    let mut session = Session::new(db.clone());
    session
        .execute(
            "create class Node { name: string, parent: Node on delete cascade, children: set<Node> inverse parent }",
            (),
        )
        .unwrap();
    let node = |name: &str, parent: Option<Oid>| {
        let node = Object::new("Node").with("name", name);
        match parent {
            Some(parent) => node.with("parent", parent),
            None => node,
        }
    };
    let root = db
        .transact(|tx| {
            let root = tx.insert_object(node("root", None))?;
            for name in ["a", "b"] {
                let child = tx.insert_object(node(name, Some(root)))?;
                tx.insert_object(node(&format!("{name}1"), Some(child)))?;
            }
            Ok(root)
        })
        .unwrap();
    let count = |text: &str| {
        db.snapshot()
            .query(text, (root,))
            .unwrap()
            .map(Result::unwrap)
            .count()
    };
    assert_eq!(count("select n from n in $1.children"), 2);
    assert_eq!(count("select n from n in $1.children{1,}"), 4);
    assert_eq!(count("select n from n in $1.children.children"), 2);
    assert_eq!(count("select n from Node n where n.children is empty"), 2);
    db.transact(|tx| tx.delete(root)).unwrap();
    assert_eq!(count("select n from Node n"), 0);
}

#[test]
fn members_are_there_after_reopening_and_in_the_past() {
    let directory = std::env::temp_dir().join(format!("olivine-hubs-{}", std::process::id()));
    let db = Database::open(&directory).unwrap();
    db.define_all::<(Hub, Member)>().unwrap();
    db.define::<Member>().unwrap().inverse("hub", "members").unwrap();
    let (hub, members) = with_members(&db, 300);
    let before = db.snapshot().commit();
    db.transact(|tx| tx.delete(members[0])).unwrap();
    drop(db);
    let db = Database::open(&directory).unwrap();
    assert_eq!(db.snapshot().get(hub).unwrap().unwrap().members.len(), 299);
    if let Ok(past) = db.snapshot_at(before) {
        assert_eq!(past.get(hub).unwrap().unwrap().members.len(), 300);
    }
    assert!(db.check().unwrap().findings.is_empty());
    drop(db);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// `HUB=n` takes n members in place of a million.
fn large() -> i64 {
    std::env::var("HUB")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000)
}

/// Says how long a step took; nothing is asserted of it.
fn timed<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let start = std::time::Instant::now();
    let result = work();
    println!("{what}: {:?}", start.elapsed());
    result
}

#[test]
#[ignore = "a million members; with --release --nocapture it says what each step takes"]
fn a_hub_of_a_million() {
    for rule in [
        OnDelete::Leave,
        OnDelete::Restrict,
        OnDelete::Clear,
        OnDelete::Cascade,
    ] {
        let db = empty();
        db.define::<Member>().unwrap().on_delete("hub", rule).unwrap();
        let hub = db.transact(|tx| tx.insert(&hub("hub"))).unwrap();
        let mut members = Vec::new();
        timed("load", || {
            while (members.len() as i64) < large() {
                let batch = db.transact(|tx| {
                    let batch = (0..10_000).map(|number| tx.insert(&member(number, Some(hub))));
                    batch.collect::<olivine::Result<Vec<_>>>()
                });
                members.extend(batch.unwrap());
            }
        });
        let new = timed("add", || {
            db.transact(|tx| tx.insert(&member(1, Some(hub)))).unwrap()
        });
        timed("remove", || {
            db.transact(|tx| tx.update_with(members[5], |member| member.hub = None))
                .unwrap();
        });
        timed("delete one", || db.transact(|tx| tx.delete(new)).unwrap());
        let query = |text: &str| {
            db.snapshot()
                .query(text, (hub,))
                .unwrap()
                .map(Result::unwrap)
                .count()
        };
        assert_eq!(
            timed("first ten", || query("select m from m in $1.members limit 10")),
            10
        );
        let count = timed("count", || numbers(&db.snapshot(), "count($1.members)", hub));
        assert_eq!(count, [members.len() as i64 - 1]);
        let outcome = timed(&format!("delete the hub, {rule:?}"), || {
            db.transact(|tx| tx.delete(hub))
        });
        assert_eq!(outcome.is_err(), rule == OnDelete::Restrict);
        let left = db.snapshot().query("count(Member)", ()).unwrap().decode::<i64>();
        let left: Vec<i64> = left.map(Result::unwrap).collect();
        assert_eq!(left == [1], rule == OnDelete::Cascade);
    }
}

#[test]
#[ignore = "a ring of 100,000 and a list of a million; with --release --nocapture it says what each step takes"]
fn a_ring_falls_and_a_long_list_is_walked_and_dropped() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Link {
        next: Option<Ref<Link>>,
    }
    let build = |rule: OnDelete, size: i64| {
        let db = Database::in_memory().unwrap();
        db.define::<Link>().unwrap().on_delete("next", rule).unwrap();
        let mut last = None;
        for _ in 0..size / 1_000 {
            last = db
                .transact(|tx| (0..1_000).try_fold(last, |next, _| tx.insert(&Link { next }).map(Some)))
                .unwrap();
        }
        (db, last.unwrap())
    };
    let (db, last) = timed("ring built", || build(OnDelete::Cascade, large() / 10));
    let first = db.snapshot().extent::<Link>().unwrap().next().unwrap().unwrap().0;
    db.transact(|tx| tx.update_with(first, |link| link.next = Some(last)))
        .unwrap();
    timed("ring deleted", || db.transact(|tx| tx.delete(first)).unwrap());
    assert_eq!(db.snapshot().extent::<Link>().unwrap().count(), 0);

    let (db, mut at) = timed("list built", || build(OnDelete::Leave, large()));
    let walked = timed("list walked", || {
        let snapshot = db.snapshot();
        let mut walked = 1;
        while let Some(next) = snapshot.get(at).unwrap().unwrap().next {
            (at, walked) = (next, walked + 1);
        }
        walked
    });
    assert_eq!(walked, large());
    let exported = timed("list read out", || {
        db.snapshot()
            .query("select l, l.next from Link l", ())
            .unwrap()
            .map(Result::unwrap)
            .count()
    });
    assert_eq!(exported as i64, large());
    timed("list dropped", || {
        Session::new(db.clone()).execute("drop class Link", ()).unwrap();
    });
    assert!(db.check().unwrap().findings.is_empty());
}
