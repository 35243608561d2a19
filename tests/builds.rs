//! Indexes that are built while writers go on.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use olivine::{
    BuildProgress, BuildWatch, Class, Database, Error, IndexDefinition, Object, Oid, Session, Type, Value,
};

use crate::directory::copy;
use crate::random::{Random, seeds};

fn items(database: &Database, count: i64) {
    let class = Class::new("Item")
        .attribute("number", Type::Int)
        .attribute("kind", Type::String)
        .attribute("tags", Type::set(Type::Int));
    database.define_class(class).unwrap();
    for batch in 0..count / 1000 {
        database
            .transact(|tx| {
                for number in batch * 1000..(batch + 1) * 1000 {
                    tx.insert_object(item(number))?;
                }
                Ok(())
            })
            .unwrap();
    }
}

fn item(number: i64) -> Object {
    let tags: Vec<Value> = [number % 5, number % 7].map(Value::Int).into();
    let kind = (number % 11 != 0).then(|| format!("kind {}", number % 11));
    Object::new("Item")
        .with("number", number)
        .with("kind", kind.map_or(Value::Nil, Value::from))
        .with("tags", Value::set(tags))
}

fn rows(database: &Database, query: &str) -> Vec<Vec<Value>> {
    let snapshot = database.snapshot();
    let rows = snapshot.query(query, ()).unwrap();
    rows.map(|row| row.unwrap().into_values()).collect()
}

/// Everything the indexes say of the items is what their extent says.
fn assert_agrees(database: &Database) {
    let report = database.check().unwrap();
    assert!(report.is_clean(), "{report}");
    let mut session = Session::new(database.clone());
    let queries = [
        "select i.number from Item i where i.kind = 'kind 3' order by i.number",
        "select count(*) from Item i where i.kind is nil",
        "select count(*) from Item i where 4 in i.tags",
        "select i.number from Item i where i.number between 100 and 140 order by i.number",
    ];
    // Both in one state, whatever others write.
    session.execute("begin read only", ()).unwrap();
    for query in queries {
        let answers = ["on", "off"].map(|setting| {
            session.execute(&format!("set indexes = {setting}"), ()).unwrap();
            answer(&mut session, query)
        });
        assert_eq!(answers[0], answers[1], "{query}");
    }
}

fn answer(session: &mut Session, query: &str) -> Vec<Vec<Value>> {
    let outcomes = session.execute(query, ()).unwrap();
    let Some(olivine::Outcome::Rows(answer)) = outcomes.into_iter().next() else {
        panic!("no rows")
    };
    answer.map(|row| row.unwrap().into_values()).collect()
}

/// Ends the writers also when an assertion fails.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Creates an index, and calls `told` whenever its build says how far it is.
fn create(
    database: &Database,
    definition: &IndexDefinition,
    told: impl Fn(&BuildProgress) -> ControlFlow<()> + Send + Sync + 'static,
) -> Result<(), Error> {
    let mut tx = database.begin()?;
    tx.watch_builds(BuildWatch::new(told));
    tx.create_index("Item", definition)?;
    tx.commit().map(drop)
}

fn unique(path: &str) -> IndexDefinition {
    IndexDefinition {
        unique: true,
        ..IndexDefinition::on(path)
    }
}

fn has_index(database: &Database, name: &str) -> bool {
    let mut session = Session::new(database.clone());
    let outcomes = session.execute("show indexes", ()).unwrap();
    let Some(olivine::Outcome::Rows(answer)) = outcomes.into_iter().next() else {
        panic!("no rows")
    };
    answer
        .map(Result::unwrap)
        .any(|row| row.get(0).and_then(|value| value.as_str()) == Some(name))
}

/// One random change: an item comes, goes or changes.
fn change(database: &Database, random: &mut Random, next: &AtomicI64, own: &mut Vec<Oid>) {
    let number = next.fetch_add(1, Ordering::Relaxed);
    let pick = random.below(own.len().max(1) as u64) as usize;
    let changed = database.transact(|tx| match own.get(pick) {
        Some(&oid) if number % 3 == 0 => tx.delete(oid).map(|()| None),
        Some(&oid) if number % 3 == 1 => {
            let kind = Value::from(format!("kind {}", number % 13));
            tx.update_object(oid, [("kind", kind), ("number", Value::Int(number))])
                .map(|()| None)
        }
        _ => tx.insert_object(item(number)).map(Some),
    });
    match changed.unwrap() {
        Some(oid) => own.push(oid),
        None if number % 3 == 0 => drop(own.swap_remove(pick)),
        None => {}
    }
}

fn under_writers(database: &Database, seed: u64) {
    items(database, 6_000);
    let (done, next) = (AtomicBool::new(false), AtomicI64::new(1_000_000));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (done, next) = (&done, &next);
            scope.spawn(move || {
                let mut random = Random::new(seed ^ thread);
                let mut own = Vec::new();
                while !done.load(Ordering::Relaxed) {
                    change(database, &mut random, next, &mut own);
                }
            });
        }
        let _ended = Ended(&done);
        for _ in 0..2 {
            for definition in [
                IndexDefinition::on("kind"),
                unique("number"),
                IndexDefinition::on("tags"),
            ] {
                create(database, &definition, |_| ControlFlow::Continue(())).unwrap();
            }
            assert_agrees(database);
            database
                .transact(|tx| {
                    tx.drop_index("Item_kind")?;
                    tx.drop_index("Item_number")?;
                    tx.drop_index("Item_tags")
                })
                .unwrap();
        }
        create(database, &IndexDefinition::on("kind"), |_| {
            ControlFlow::Continue(())
        })
        .unwrap();
    });
    assert_agrees(database);
}

#[test]
fn indexes_built_under_writers_say_what_the_extent_says() {
    for seed in seeds(1) {
        under_writers(&Database::in_memory().unwrap(), seed);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let database = Database::open(&path).unwrap();
        under_writers(&database, seed);
        database.close().unwrap();
        assert_agrees(&Database::open(&path).unwrap());
    }
}

/// Writes during the build, from inside it: what a build that kept commits waiting could not return from.
#[test]
fn a_commit_in_the_middle_of_a_build_does_not_wait_for_it() {
    let database = Database::in_memory().unwrap();
    items(&database, 5_000);
    let (writer, seen) = (database.clone(), Arc::new(Mutex::new(Vec::new())));
    let notes = seen.clone();
    let told = move |progress: &BuildProgress| {
        let number = 50_000 + i64::try_from(notes.lock().unwrap().len()).unwrap();
        writer.transact(|tx| tx.insert_object(item(number))).unwrap();
        assert!(
            rows(&writer, "select i from Item i where i.kind = 'kind 1'").len() > 400,
            "queries go on without it"
        );
        let plan = format!("{:?}", rows(&writer, "select count(*) from Item i"));
        notes.lock().unwrap().push((progress.clone(), plan));
        ControlFlow::Continue(())
    };
    create(&database, &IndexDefinition::on("kind"), told).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= 5, "{seen:?}");
    assert!(seen.windows(2).all(|two| two[0].0.done <= two[1].0.done));
    assert_agrees(&database);
}

#[test]
fn a_racing_duplicate_ends_the_build_and_leaves_no_index() {
    for on_disk in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let database = match on_disk {
            true => Database::open(directory.path().join("db")).unwrap(),
            false => Database::in_memory().unwrap(),
        };
        items(&database, 3_000);
        let (writer, once) = (database.clone(), AtomicBool::new(true));
        let told = move |_: &BuildProgress| {
            if once.swap(false, Ordering::Relaxed) {
                writer.transact(|tx| tx.insert_object(item(1_234))).unwrap();
            }
            ControlFlow::Continue(())
        };
        let error = create(&database, &unique("number"), told).unwrap_err();
        let sentence = error.to_string();
        assert!(matches!(error, Error::Constraint(_)), "{sentence}");
        assert!(
            sentence.contains("Item#1235") && sentence.contains("Item#3001"),
            "{sentence}"
        );
        assert!(!has_index(&database, "Item_number"));
        // Nothing is left of it: the duplicate stands, and once it is gone the index can be built.
        Session::new(database.clone())
            .execute("delete Item where number = 1234", ())
            .unwrap();
        create(&database, &unique("number"), |_| ControlFlow::Continue(())).unwrap();
        assert_agrees(&database);
    }
}

#[test]
fn an_interrupted_build_leaves_no_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let database = Database::open(&path).unwrap();
    items(&database, 10_000);
    for at in 0..6 {
        let calls = AtomicI64::new(0);
        let told = move |_: &BuildProgress| match calls.fetch_add(1, Ordering::Relaxed) >= at * 2 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let error = create(&database, &IndexDefinition::on("kind"), told).unwrap_err();
        assert!(matches!(error, Error::Cancelled(_)), "{error}");
        assert!(!has_index(&database, "Item_kind"));
        database.transact(|tx| tx.insert_object(item(at))).unwrap();
    }
    let mut session = Session::new(database.clone());
    session.set_cancel(Arc::new(AtomicBool::new(true)));
    assert!(session.execute("create index by_kind on Item(kind)", ()).is_err());
    assert!(!has_index(&database, "by_kind"));
    create(&database, &IndexDefinition::on("kind"), |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_agrees(&database);
}

#[test]
fn a_build_whose_index_or_class_is_dropped_ends() {
    for statement in ["drop index Item_kind", "drop class Item"] {
        let database = Database::in_memory().unwrap();
        items(&database, 3_000);
        let (other, once) = (database.clone(), AtomicBool::new(true));
        let told = move |_: &BuildProgress| {
            if once.swap(false, Ordering::Relaxed) {
                Session::new(other.clone()).execute(statement, ()).unwrap();
            }
            ControlFlow::Continue(())
        };
        let error = create(&database, &IndexDefinition::on("kind"), told).unwrap_err();
        assert!(matches!(error, Error::Schema(_)), "{error}");
        assert!(!has_index(&database, "Item_kind"));
        assert!(database.check().unwrap().is_clean());
    }
}

/// As a kill leaves it: a copy of the directory at every moment that the build tells of, with writes before and after.
#[test]
fn a_kill_in_the_middle_of_a_build_leaves_a_whole_index_or_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let database = Database::open(&path).unwrap();
    items(&database, 12_000);
    let (writer, from, root) = (database.clone(), path.clone(), directory.path().to_path_buf());
    let copies = Arc::new(AtomicI64::new(0));
    let count = copies.clone();
    let told = move |_: &BuildProgress| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        writer
            .transact(|tx| tx.insert_object(item(70_000 + number)))
            .unwrap();
        if number % 3 == 0 {
            copy(&from, &root.join(format!("killed-{number}")));
        }
        ControlFlow::Continue(())
    };
    create(&database, &unique("number"), told).unwrap();
    copy(&path, &directory.path().join("killed-0-done"));
    let mut opened = 0;
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with("killed") {
            assert_whole(&entry.path());
            opened += 1;
        }
    }
    assert!(opened > 4 && copies.load(Ordering::Relaxed) > 10);
}

fn assert_whole(path: &Path) {
    let database = Database::open(path).unwrap();
    assert_agrees(&database);
    assert!(has_index(&database, "Item_number"));
    let twice = database.transact(|tx| tx.insert_object(item(17)));
    assert!(matches!(twice, Err(Error::Constraint(_))), "{path:?}");
}
