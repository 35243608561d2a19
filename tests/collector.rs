//! The collector: what it takes and what it never takes, alone and against commits, snapshots and power cuts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use olivine::testing::{FaultyDisk, open_on};
use olivine::{
    Alteration, Class, CollectOptions, Database, Isolation, Object, Oid, Result, Snapshot, Transaction,
    TransactionOptions, Type, Value,
};

use crate::random::{Random, seeds};

/// Pages are dependent, shelves are not; both refer to pages in every way there is.
fn define(database: &Database) {
    let page = || Type::reference("Page");
    let holder = |class: Class| {
        class
            .attribute("next", page())
            .attribute("others", Type::set(page()))
            .attribute(
                "by_name",
                Type::map(Type::String, Type::structure([("page", page())])),
            )
            .attribute("loose", Type::Any)
    };
    database
        .define_class(holder(Class::new("Page")).dependent())
        .unwrap();
    database
        .define_class(Class::new("Leaflet").extends("Page"))
        .unwrap();
    database.define_class(holder(Class::new("Shelf"))).unwrap();
}

fn references(value: &Value, found: &mut Vec<Oid>) {
    if let Some(oid) = value.as_reference() {
        found.push(oid);
    } else if let Some(members) = value.as_members() {
        members.iter().for_each(|member| references(member, found));
    } else if let Some(entries) = value.as_entries() {
        entries.iter().for_each(|(_, value)| references(value, found));
    } else if let Some(fields) = value.as_fields() {
        fields.iter().for_each(|(_, value)| references(value, found));
    }
}

/// All objects of a class, each with what it refers to.
fn graph(snapshot: &Snapshot, class: &str) -> BTreeMap<Oid, Vec<Oid>> {
    let rows = snapshot.query(&format!("select x from {class} x"), ()).unwrap();
    let mut graph = BTreeMap::new();
    for row in rows {
        let oid = row.unwrap().get(0).unwrap().as_reference().unwrap();
        let mut found = Vec::new();
        let object = snapshot.object(oid).unwrap().unwrap();
        object.iter().for_each(|(_, value)| references(value, &mut found));
        graph.insert(oid, found);
    }
    graph
}

fn names(snapshot: &Snapshot) -> Vec<Oid> {
    let mut found = Vec::new();
    for name in ["first", "second"] {
        if let Ok(rows) = snapshot.query(&format!("select {name}"), ()) {
            rows.for_each(|row| references(row.unwrap().get(0).unwrap(), &mut found));
        }
    }
    found
}

/// What a plain walk reaches; fails where anything refers to a page that is not there.
fn reachable(snapshot: &Snapshot, context: &str) -> BTreeSet<Oid> {
    let pages = graph(snapshot, "Page");
    let shelves = graph(snapshot, "Shelf");
    for (holder, targets) in pages.iter().chain(&shelves) {
        for target in targets {
            let (holder, there) = (snapshot.describe(*holder), pages.contains_key(target));
            assert!(
                there,
                "{context}: {holder} refers to {}, which is gone",
                snapshot.describe(*target)
            );
        }
    }
    let mut left: Vec<Oid> = shelves
        .values()
        .flatten()
        .copied()
        .chain(names(snapshot))
        .collect();
    let mut reached = BTreeSet::new();
    while let Some(oid) = left.pop() {
        if reached.insert(oid) {
            left.extend(
                pages
                    .get(&oid)
                    .unwrap_or_else(|| panic!("{context}: a root lost {oid:?}")),
            );
        }
    }
    reached
}

fn pages(snapshot: &Snapshot) -> Vec<Oid> {
    graph(snapshot, "Page").into_keys().collect()
}

fn page(tx: &mut Transaction, next: Option<Oid>) -> Result<Oid> {
    let page = Object::new("Page").with("next", next.map_or(Value::Nil, Value::Reference));
    tx.insert_object(page)
}

/// A value that holds the page, in the attribute of that number.
fn held(attribute: u64, page: Oid) -> (&'static str, Value) {
    let page = Value::Reference(page);
    match attribute {
        0 => ("next", page),
        1 => ("others", Value::set([page])),
        2 => (
            "by_name",
            Value::map([(Value::from("x"), Value::structure([("page", page)]))]),
        ),
        _ => (
            "loose",
            Value::list([Value::from(1), Value::structure([("deep", Value::bag([page]))])]),
        ),
    }
}

/// A chain of three that nothing reaches, the head first.
fn chain(database: &Database) -> [Oid; 3] {
    database
        .transact(|tx| {
            let last = page(tx, None)?;
            let middle = page(tx, Some(last))?;
            Ok([page(tx, Some(middle))?, middle, last])
        })
        .unwrap()
}

#[test]
fn every_kind_of_reference_and_every_root_keeps_a_page_and_nothing_else_does() {
    let database = Database::in_memory().unwrap();
    define(&database);
    for attribute in 0..4 {
        let kept = database
            .transact(|tx| {
                let leaflet = tx.insert_object(Object::new("Leaflet"))?;
                let through = page(tx, None)?;
                let (name, value) = held(attribute, leaflet);
                tx.update_object(through, [(name, value)])?;
                let (name, value) = held(attribute, through);
                tx.insert_object(Object::new("Shelf").with(name, value))?;
                Ok([leaflet, through])
            })
            .unwrap();
        chain(&database);
        let report = database.collect(&CollectOptions::new()).unwrap();
        assert_eq!(
            (report.garbage, report.deleted, report.spared),
            (3, 3, 0),
            "{report:?}"
        );
        let snapshot = database.snapshot();
        assert!(
            kept.iter().all(|oid| snapshot.exists(*oid).unwrap()),
            "attribute {attribute}"
        );
    }
    let head = chain(&database)[0];
    database
        .transact(|tx| tx.set_name("first", Value::list([Value::Reference(head)])))
        .unwrap();
    let held = chain(&database)[0];
    let add = Alteration::Add(olivine::AttributeDefinition {
        default: Value::Reference(held),
        ..olivine::AttributeDefinition::new("cover", Type::reference("Page"))
    });
    database.alter_class("Shelf", &add).unwrap();
    assert_eq!(database.collect(&CollectOptions::new()).unwrap().deleted, 0);
    database.transact(|tx| tx.remove_name("first")).unwrap();
    database
        .alter_class("Shelf", &Alteration::Drop("cover".into()))
        .unwrap();
    assert_eq!(database.collect(&CollectOptions::new()).unwrap().deleted, 6);
    assert!(database.check().unwrap().findings.is_empty());
}

#[test]
fn a_dry_run_names_classes_and_roots_and_changes_nothing_and_old_snapshots_see_what_they_saw() {
    let database = Database::in_memory().unwrap();
    define(&database);
    let [head, middle, last] = chain(&database);
    let kept = chain(&database);
    database
        .transact(|tx| {
            tx.set_name("first", kept[1])?;
            let shelf = Object::new("Shelf").with("next", kept[0]).with("loose", kept[2]);
            tx.insert_object(shelf)
        })
        .unwrap();
    let before = database.snapshot();
    let report = database.collect(&CollectOptions::new().dry_run(true)).unwrap();
    assert_eq!(
        report.to_string(),
        "3 of 6 objects of dependent classes would be deleted"
    );
    let page = &report.classes[0];
    assert_eq!((&*page.class, page.objects, page.garbage), ("Page", 6, 3));
    assert_eq!(page.samples, [last, middle, head]);
    let roots: Vec<(&str, u64)> = report
        .roots
        .iter()
        .map(|root| (&*root.root, root.reached))
        .collect();
    assert_eq!(roots, [("name first", 2), ("Shelf", 1)]);
    assert_eq!(database.snapshot().commit(), before.commit());
    assert_eq!(database.collect(&CollectOptions::new()).unwrap().deleted, 3);
    assert!(before.exists(head).unwrap() && !database.snapshot().exists(head).unwrap());
    assert_eq!(pages(&before).len(), 6);
    assert_eq!(reachable(&database.snapshot(), "afterwards").len(), 3);
}

#[test]
fn what_a_running_transaction_inserted_or_links_survives_or_the_link_conflicts() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let database = Database::in_memory().unwrap();
        define(&database);
        let begin = || {
            let options = TransactionOptions {
                isolation,
                ..TransactionOptions::default()
            };
            database.begin_with(options).unwrap()
        };
        let [head, ..] = chain(&database);
        let mut inserting = begin();
        let fresh = page(&mut inserting, None).unwrap();
        let mut late = begin();
        late.insert_object(Object::new("Shelf").with("next", head))
            .unwrap();
        assert_eq!(database.collect(&CollectOptions::new()).unwrap().deleted, 3);
        inserting
            .insert_object(Object::new("Shelf").with("next", fresh))
            .unwrap();
        inserting.commit().unwrap();
        assert!(late.commit().unwrap_err().is_conflict());
        assert_eq!(database.collect(&CollectOptions::new()).unwrap().deleted, 0);
        assert_eq!(reachable(&database.snapshot(), "linked").len(), 1);
        // Two that give one page a new holder each.
        let [head, ..] = chain(&database);
        let (mut one, mut two) = (begin(), begin());
        one.insert_object(Object::new("Shelf").with("next", head))
            .unwrap();
        two.insert_object(Object::new("Shelf").with("others", Value::set([Value::Reference(head)])))
            .unwrap();
        one.commit().unwrap();
        // The second may have to run again; it must not pass by a deletion.
        let _ = two.commit();
        assert_eq!(database.collect(&CollectOptions::new()).unwrap().deleted, 0);
    }
}

/// Whatever step the collection is at when garbage is found by its extent and linked: it has all that it refers to.
#[test]
fn garbage_that_is_linked_again_at_any_moment_survives_whole() {
    let mut finished = 0;
    for step in 0..200 {
        let database = Database::in_memory().unwrap();
        define(&database);
        let [head, middle, last] = chain(&database);
        let mut collector = database.collector(&CollectOptions::new()).unwrap();
        for _ in 0..step {
            collector.run_for(Duration::ZERO).unwrap();
        }
        let linked = [head, middle, last][step % 3];
        let found = database.snapshot().exists(linked).unwrap();
        if found {
            let shelf = |tx: &mut Transaction| tx.insert_object(Object::new("Shelf").with("loose", linked));
            database.transact(shelf).unwrap();
        }
        while !collector.run_for(Duration::ZERO).unwrap() {}
        let reached = reachable(&database.snapshot(), &format!("step {step}"));
        assert_eq!(reached.len(), if found { 3 - step % 3 } else { 0 }, "step {step}");
        finished += usize::from(!found);
        while database.collect(&CollectOptions::new()).unwrap().deleted > 0 {}
        assert_eq!(
            pages(&database.snapshot()),
            reached.into_iter().collect::<Vec<_>>()
        );
    }
    assert!(
        (1..200).contains(&finished),
        "{finished} runs were over before the link"
    );
}

#[test]
fn a_class_that_becomes_independent_meanwhile_loses_nothing() {
    for step in 0..12 {
        let database = Database::in_memory().unwrap();
        define(&database);
        let kept = chain(&database);
        let mut collector = database.collector(&CollectOptions::new()).unwrap();
        for _ in 0..step {
            collector.run_for(Duration::ZERO).unwrap();
        }
        let before = pages(&database.snapshot()).len();
        database
            .alter_class("Page", &Alteration::Dependent(false))
            .unwrap();
        while !collector.run_for(Duration::ZERO).unwrap() {}
        assert_eq!(pages(&database.snapshot()).len(), before, "step {step}");
        assert!(before == 0 || before == kept.len(), "step {step}");
    }
}

/// The members of a hub are an index read backwards: nothing but that leads to them.
#[test]
fn members_of_a_set_that_is_not_stored_are_reached_through_it() {
    let database = Database::in_memory().unwrap();
    let mut session = olivine::Session::new(database.clone());
    let mut run = |text: &str| session.execute(text, ()).map(drop).unwrap();
    run(
        "begin; create dependent class Line { parent: Parcel inverse lines, note: Line };
         create class Parcel { lines: set<Line> inverse parent }; commit;
         let $o = insert Parcel(); let $p = insert Parcel();
         let $n = insert Line();
         insert Line(parent: $o, note: $n);
         insert Line(parent: $p)",
    );
    let collect = || database.collect(&CollectOptions::new()).unwrap().deleted;
    assert_eq!(collect(), 0);
    run("delete Parcel p where p = $o");
    assert_eq!(collect(), 2);
    run("alter class Parcel dependent");
    assert_eq!(collect(), 2);
    assert!(database.check().unwrap().findings.is_empty());
}

#[test]
fn long_chains_and_rings_go_in_bounded_steps() {
    let database = Database::in_memory().unwrap();
    define(&database);
    const LENGTH: u64 = 20_000;
    database
        .transact(|tx| {
            let first = page(tx, None)?;
            let mut last = first;
            for _ in 1..LENGTH {
                last = page(tx, Some(last))?;
            }
            tx.update_object(first, [("next", Value::Reference(last))])?;
            let mut last = page(tx, None)?;
            for _ in 1..LENGTH {
                last = page(tx, Some(last))?;
            }
            Ok(())
        })
        .unwrap();
    let begun = Instant::now();
    let report = database.collect(&CollectOptions::new().budget(400_000)).unwrap();
    assert_eq!(report.deleted, 2 * LENGTH);
    assert!(
        begun.elapsed() >= Duration::from_millis(100),
        "the budget was not kept"
    );
    assert!(database.check().unwrap().findings.is_empty());
}

#[test]
fn a_collection_that_is_stopped_says_so_and_the_next_goes_on() {
    let database = Database::in_memory().unwrap();
    define(&database);
    for _ in 0..1000 {
        chain(&database);
    }
    let options = CollectOptions::new().budget(20_000);
    let report = database
        .collect_watched(&options, &mut |progress| match progress.stage {
            "deleting garbage" => std::ops::ControlFlow::Break(()),
            _ => std::ops::ControlFlow::Continue(()),
        })
        .unwrap();
    assert!(report.interrupted && report.deleted < 3000, "{report:?}");
    reachable(&database.snapshot(), "stopped");
    let rest = database.collect(&CollectOptions::new()).unwrap();
    assert_eq!(rest.deleted + report.deleted, 3000);
}

/// One transaction of a busy program: makes shelves and pages, links what it finds (garbage too), and lets go.
fn work(tx: &mut Transaction, random: &mut Random) -> Result<()> {
    let any = |tx: &Transaction, class: &str, random: &mut Random| -> Result<Option<Oid>> {
        let rows = tx.query(&format!("select x from {class} x"), ())?;
        let mut found = Vec::new();
        for row in rows {
            found.extend(row?.get(0).and_then(Value::as_reference));
        }
        Ok((!found.is_empty()).then(|| *random.pick(&found)))
    };
    let (some, other) = (any(tx, "Page", random)?, any(tx, "Page", random)?);
    let shelf = any(tx, "Shelf", random)?;
    match random.below(8) {
        0 | 1 => {
            let next = page(tx, some)?;
            let (name, value) = held(random.below(4), next);
            tx.insert_object(Object::new("Shelf").with(name, value)).map(drop)
        }
        2 => page(tx, some).map(drop),
        3 => match (some, other) {
            (Some(some), Some(other)) => tx.update_object(some, [held(random.below(4), other)]),
            _ => Ok(()),
        },
        4 => match (shelf, some) {
            (Some(shelf), Some(some)) => tx.update_object(shelf, [held(random.below(4), some)]),
            _ => Ok(()),
        },
        5 => match some {
            Some(some) => tx.set_name(["first", "second"][random.below(2) as usize], some),
            None => Ok(()),
        },
        6 => match random.one_in(2) {
            true if tx.name("first").is_some() => tx.remove_name("first"),
            _ => match some.or(shelf) {
                Some(oid) => {
                    let nothing = ["next", "others", "by_name", "loose"];
                    tx.update_object(oid, [(*random.pick(&nothing), Value::Nil)])
                }
                None => Ok(()),
            },
        },
        _ => match shelf {
            Some(shelf) => tx.delete(shelf),
            None => Ok(()),
        },
    }
}

fn write(database: &Database, seed: u64, stop: &AtomicBool) {
    let mut random = Random::new(seed);
    while !stop.load(Ordering::Relaxed) {
        let isolation = match random.one_in(3) {
            true => Isolation::Snapshot,
            false => Isolation::Serializable,
        };
        let mut tx = database
            .begin_with(TransactionOptions {
                isolation,
                ..TransactionOptions::default()
            })
            .unwrap();
        match work(&mut tx, &mut random).and_then(|()| tx.commit().map(drop)) {
            Ok(()) => {}
            Err(error) => assert!(error.is_conflict(), "{error}"),
        }
    }
}

#[test]
fn against_constant_commits_old_snapshots_and_power_cuts_nothing_reachable_is_lost() {
    for seed in seeds(3) {
        let disk = FaultyDisk::new();
        let database = open_on(&disk).unwrap();
        define(&database);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (database, stop) = (&database, &stop);
                scope.spawn(move || write(database, seed ^ (writer + 1), stop));
            }
            scope.spawn(|| {
                let mut random = Random::new(seed ^ 77);
                while !stop.load(Ordering::Relaxed) {
                    let mut collector = database.collector(&CollectOptions::new()).unwrap();
                    // Now and then it is killed before its end.
                    let mut steps = random.below(60);
                    while steps > 0 && !collector.run_for(Duration::ZERO).unwrap() {
                        steps -= 1;
                    }
                }
            });
            watch(&database, &disk, seed, &stop);
        });
        let reached = reachable(&database.snapshot(), "in the end");
        for _ in 0..2 {
            database.collect(&CollectOptions::new()).unwrap();
        }
        assert_eq!(
            pages(&database.snapshot()),
            reached.into_iter().collect::<Vec<_>>()
        );
        assert!(database.check().unwrap().findings.is_empty());
    }
}

/// Looks at states, keeps some of them open, and cuts the power now and then.
fn watch(database: &Database, disk: &FaultyDisk, seed: u64, stop: &AtomicBool) {
    let mut random = Random::new(seed ^ 99);
    let mut kept: Vec<(Snapshot, BTreeSet<Oid>)> = Vec::new();
    let end = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < end {
        let snapshot = database.snapshot();
        let reached = reachable(&snapshot, "a snapshot");
        kept.push((snapshot, reached));
        if kept.len() > 8 {
            let (old, before) = kept.swap_remove(random.below(8) as usize);
            assert_eq!(reachable(&old, "an old snapshot"), before);
        }
        if random.one_in(10) {
            let after = open_on(&disk.after_power_cut(random.next()).unwrap()).unwrap();
            let reached = reachable(&after.snapshot(), "after a power cut");
            after.collect(&CollectOptions::new()).unwrap();
            assert_eq!(pages(&after.snapshot()), reached.into_iter().collect::<Vec<_>>());
        }
    }
    stop.store(true, Ordering::Relaxed);
}
