//! The embedded API as a downstream crate sees it.

use std::collections::BTreeMap;

use olivine::{Class, Database, Durability, Error, Object, Ref, Type, Value, params};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Author {
    name: String,
    born: u16,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Book {
    title: String,
    year: u16,
    author: Ref<Author>,
    #[serde(default)]
    tags: Vec<String>,
}

fn library() -> Database {
    let db = Database::in_memory().unwrap();
    db.define::<Author>().unwrap();
    db.define::<Book>()
        .unwrap()
        .index("year")
        .unwrap()
        .index("author.name")
        .unwrap();
    db
}

fn solaris(db: &Database) -> Ref<Book> {
    db.transact(|tx| {
        let author = tx.insert(&Author {
            name: "Lem".into(),
            born: 1921,
        })?;
        tx.insert(&Book {
            title: "Solaris".into(),
            year: 1961,
            author,
            tags: vec![],
        })
    })
    .unwrap()
}

#[test]
fn typed_objects_come_back_as_they_were_stored() {
    let db = library();
    let id = solaris(&db);
    let snapshot = db.snapshot();
    let book = snapshot.get(id).unwrap().unwrap();
    assert_eq!((book.title.as_str(), book.year), ("Solaris", 1961));
    assert_eq!(snapshot.get(book.author).unwrap().unwrap().name, "Lem");
}

#[test]
fn a_query_finds_objects_through_a_path_index() {
    let db = library();
    let id = solaris(&db);
    let snapshot = db.snapshot();
    let text = "select b from Book b where b.author.name = $name and b.year >= $since order by b.year";
    let found: Vec<_> = snapshot
        .query(text, params! { name: "Lem", since: 1960 })
        .unwrap()
        .objects::<Book>()
        .map(Result::unwrap)
        .collect();
    assert_eq!(found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [id]);
}

#[test]
fn a_snapshot_keeps_its_state_while_others_write() {
    let db = library();
    let id = solaris(&db);
    let before = db.snapshot();
    db.transact(|tx| {
        let mut book = tx.get(id)?.unwrap();
        book.year = 2000;
        tx.update(id, &book)
    })
    .unwrap();
    assert_eq!(before.get(id).unwrap().unwrap().year, 1961);
    assert_eq!(db.snapshot().get(id).unwrap().unwrap().year, 2000);
    let count = |snapshot: &olivine::Snapshot| {
        let rows = snapshot
            .query("select b from Book b where b.year = 2000", ())
            .unwrap();
        rows.map(Result::unwrap).count()
    };
    assert_eq!((count(&before), count(&db.snapshot())), (0, 1));
}

#[test]
fn a_dropped_transaction_leaves_nothing() {
    let db = library();
    let id = solaris(&db);
    let mut tx = db.begin().unwrap();
    tx.delete(id).unwrap();
    assert_eq!(tx.get(id).unwrap(), None);
    drop(tx);
    assert!(db.snapshot().get(id).unwrap().is_some());
}

#[test]
fn a_transaction_sees_its_own_writes_through_scans_and_indexes() {
    let db = library();
    solaris(&db);
    let mut tx = db.begin().unwrap();
    let author = tx
        .insert(&Author {
            name: "Strugatsky".into(),
            born: 1925,
        })
        .unwrap();
    let picnic = Book {
        title: "Roadside Picnic".into(),
        year: 1972,
        author,
        tags: vec!["zone".into()],
    };
    let id = tx.insert(&picnic).unwrap();
    let titles = |tx: &olivine::Transaction, text: &str| -> Vec<String> {
        tx.query(text, ())
            .unwrap()
            .map(|row| row.unwrap().get(0).unwrap().as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(
        titles(&tx, "select b.title from Book b order by b.title"),
        ["Roadside Picnic", "Solaris"]
    );
    assert_eq!(
        titles(&tx, "select b.title from Book b where b.year = 1972"),
        ["Roadside Picnic"]
    );
    assert_eq!(
        titles(
            &tx,
            "select b.title from Book b where b.year > 1900 order by b.year"
        ),
        ["Solaris", "Roadside Picnic"]
    );
    tx.update(id, &Book { year: 1980, ..picnic }).unwrap();
    assert!(titles(&tx, "select b.title from Book b where b.year = 1972").is_empty());
    assert_eq!(
        titles(
            &tx,
            "select b.title from Book b where b.author.name = 'Strugatsky'"
        ),
        ["Roadside Picnic"]
    );
    tx.commit().unwrap();
    assert_eq!(db.snapshot().get(id).unwrap().unwrap().year, 1980);
}

#[test]
fn rows_of_an_ended_transaction_end_in_an_error() {
    let db = library();
    solaris(&db);
    let tx = db.begin().unwrap();
    let mut rows = tx.query("select b from Book b", ()).unwrap();
    drop(tx);
    assert!(matches!(rows.next(), Some(Err(Error::Closed(_)))));
}

#[test]
fn the_second_of_two_writers_of_one_object_conflicts_and_is_told_what_differs() {
    let db = library();
    let id = solaris(&db);
    let mut slow = db.begin().unwrap();
    let mut book = slow.get(id).unwrap().unwrap();
    book.year = 1;
    slow.update(id, &book).unwrap();
    db.transact(|tx| {
        tx.update(
            id,
            &Book {
                year: 2,
                ..tx.get(id)?.unwrap()
            },
        )
    })
    .unwrap();
    let error = slow.commit().unwrap_err();
    assert!(error.is_conflict());
    let Error::Conflict(conflict) = error else {
        panic!()
    };
    assert_eq!(conflict.objects, ["Book#1"]);
    assert_eq!(conflict.attributes, ["Book.year"]);
}

#[test]
fn dynamic_objects_take_defaults_and_refuse_what_does_not_fit() {
    let db = library();
    let note = Class::new("Note")
        .attribute("text", Type::String)
        .attribute_default("stars", Type::Int, 3);
    db.define_class(note.attribute("about", Type::reference("Book")))
        .unwrap();
    let book = solaris(&db);
    let note = db
        .transact(|tx| {
            tx.insert_object(
                Object::new("Note")
                    .with("text", "reread")
                    .with("about", book.oid()),
            )
        })
        .unwrap();
    let stored = db.snapshot().object(note).unwrap().unwrap();
    assert_eq!(stored.get("stars"), Some(&Value::Int(3)));
    let wrong = db.transact(|tx| tx.insert_object(Object::new("Note").with("text", 1)));
    assert!(matches!(wrong, Err(Error::Argument(_))), "{wrong:?}");
    let wrong = db.transact(|tx| tx.insert_object(Object::new("Note").with("about", note)));
    assert!(matches!(wrong, Err(Error::Argument(_))), "{wrong:?}");
    let wrong = db.transact(|tx| tx.insert_object(Object::new("Note").with("txt", "x")));
    assert!(matches!(wrong, Err(Error::Schema(_))), "{wrong:?}");
}

#[test]
fn a_type_without_a_class_is_told_to_be_defined() {
    let db = Database::in_memory().unwrap();
    let error = db
        .transact(|tx| {
            tx.insert(&Author {
                name: "x".into(),
                born: 1,
            })
        })
        .unwrap_err();
    assert!(error.to_string().contains("define::<Author>()"), "{error}");
}

#[test]
fn an_error_of_the_caller_comes_out_of_transact_and_rolls_back() {
    let db = library();
    let id = solaris(&db);
    let error = db
        .transact(|tx| {
            tx.delete(id)?;
            Err::<(), _>(Error::other(std::io::Error::other("my own")))
        })
        .unwrap_err();
    assert_eq!(
        error.downcast_ref::<std::io::Error>().unwrap().to_string(),
        "my own"
    );
    assert!(db.snapshot().get(id).unwrap().is_some());
}

#[test]
fn everything_is_there_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("library.olv");
    let mut expected = BTreeMap::new();
    {
        let db = Database::open(&path).unwrap();
        db.define::<Author>().unwrap();
        db.define::<Book>()
            .unwrap()
            .index("year")
            .unwrap()
            .unique("title")
            .unwrap();
        let author = db
            .transact(|tx| {
                tx.insert(&Author {
                    name: "Lem".into(),
                    born: 1921,
                })
            })
            .unwrap();
        for number in 0..2_000u16 {
            let book = Book {
                title: format!("book {number}"),
                year: number % 50,
                author,
                tags: vec![],
            };
            let id = db.transact(|tx| tx.insert(&book)).unwrap();
            expected.insert(id, book);
        }
        db.close().unwrap();
    }
    for _ in 0..2 {
        let db = Database::options(&path).create(false).open().unwrap();
        let snapshot = db.snapshot();
        let found: BTreeMap<_, _> = snapshot.extent::<Book>().unwrap().map(Result::unwrap).collect();
        assert_eq!(found, expected);
        let rows = snapshot
            .query("select b from Book b where b.year = 7", ())
            .unwrap();
        assert_eq!(rows.map(Result::unwrap).count(), 40);
        let rows = snapshot
            .query("select b.year from Book b where b.title = 'book 77'", ())
            .unwrap();
        assert_eq!(
            rows.map(|row| row.unwrap().get(0).cloned().unwrap())
                .collect::<Vec<_>>(),
            [Value::Int(27)]
        );
    }
}

#[test]
fn an_index_made_over_existing_objects_is_built_and_unique_is_verified() {
    let db = library();
    for _ in 0..3 {
        solaris(&db);
    }
    db.create_index("Book", &olivine::IndexDefinition::on("title"))
        .unwrap();
    let rows = db
        .snapshot()
        .query("select b from Book b where b.title = 'Solaris'", ())
        .unwrap();
    assert_eq!(rows.map(Result::unwrap).count(), 3);
    let unique = olivine::IndexDefinition {
        unique: true,
        name: Some("u".into()),
        ..olivine::IndexDefinition::on("title")
    };
    let error = db.create_index("Book", &unique).unwrap_err();
    assert!(matches!(error, Error::Constraint(_)), "{error}");
    assert!(error.to_string().contains("Book#"), "{error}");
}

#[test]
fn unique_values_are_held_once_also_among_writes_of_one_transaction() {
    let db = Database::in_memory().unwrap();
    db.define::<Author>().unwrap().unique("name").unwrap();
    let author = |name: &str| Author {
        name: name.into(),
        born: 1,
    };
    let (ann, bob) = db
        .transact(|tx| Ok((tx.insert(&author("Ann"))?, tx.insert(&author("Bob"))?)))
        .unwrap();
    let twice = db.transact(|tx| tx.insert(&author("Ann")));
    assert!(matches!(twice, Err(Error::Constraint(_))), "{twice:?}");
    let within = db.transact(|tx| {
        tx.insert(&author("Cid"))?;
        tx.insert(&author("Cid"))
    });
    assert!(matches!(within, Err(Error::Constraint(_))), "{within:?}");
    db.transact(|tx| {
        tx.update(ann, &author("Bob"))?;
        tx.update(bob, &author("Ann"))
    })
    .unwrap();
    assert_eq!(db.snapshot().get(bob).unwrap().unwrap().name, "Ann");
    db.transact(|tx| {
        tx.delete(ann)?;
        tx.insert(&author("Bob"))
    })
    .unwrap();
}

#[test]
fn buffered_commits_are_visible_at_once_and_persist_makes_them_durable() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::options(directory.path().join("b.olv"))
        .durability(Durability::Buffer)
        .open()
        .unwrap();
    db.define::<Author>().unwrap();
    let id = db
        .transact(|tx| {
            tx.insert(&Author {
                name: "x".into(),
                born: 1,
            })
        })
        .unwrap();
    assert!(db.snapshot().get(id).unwrap().is_some());
    db.persist().unwrap();
}

#[test]
fn handles_can_be_sent_and_shared() {
    fn sent<T: Send + 'static>() {}
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Database>();
    shared::<olivine::Snapshot>();
    sent::<olivine::Transaction>();
    sent::<olivine::Rows>();
    shared::<Ref<Book>>();
}

#[test]
fn large_objects_that_many_rows_refer_to_are_read_right() {
    #[derive(Serialize, Deserialize)]
    struct Shelf {
        name: String,
        text: String,
    }
    #[derive(Serialize, Deserialize)]
    struct Item {
        shelf: Option<Ref<Shelf>>,
    }
    let db = Database::in_memory().unwrap();
    db.define_all::<(Shelf, Item)>().unwrap();
    db.transact(|tx| {
        let mut shelves: Vec<Option<Ref<Shelf>>> = vec![None];
        for name in ["a", "b", "c", "gone"] {
            let (name, text) = (name.to_owned(), name.repeat(20_000));
            shelves.push(Some(tx.insert(&Shelf { name, text })?));
        }
        for number in 0..5_000 {
            let shelf = shelves[number % shelves.len()];
            tx.insert(&Item { shelf })?;
        }
        tx.delete(shelves[4].unwrap())
    })
    .unwrap();
    let text = "select i.shelf.name as name, count(*) as items, sum(length(i.shelf.text)) as size from Item i \
                group by i.shelf.name order by i.shelf.name";
    let rows = db.snapshot().query(text, ()).unwrap();
    let found: Vec<Vec<Value>> = rows.map(|row| row.unwrap().into_values()).collect();
    let row = |name: &str| vec![name.into(), Value::Int(1_000), Value::Int(20_000_000)];
    assert_eq!(
        found,
        [
            vec![Value::Nil, Value::Int(2_000), Value::Nil],
            row("a"),
            row("b"),
            row("c")
        ]
    );
}

#[test]
fn the_deepest_statements_run_or_end_in_an_error_on_a_stack_of_two_megabytes() {
    let run = || {
        let mut session = olivine::Session::new(Database::in_memory().unwrap());
        session
            .execute("create class T { a: int }; insert T(a: 1)", ())
            .unwrap();
        let mut outcome = |text: String| {
            let outcomes = session.execute(&text, ());
            outcomes.map(|outcomes| {
                for outcome in outcomes {
                    if let olivine::Outcome::Rows(rows) = outcome {
                        rows.for_each(drop);
                    }
                }
            })
        };
        for depth in [10, 20, 60, 98, 150, 100_000] {
            let nested = |open: &str, core: &str, close: &str| {
                format!("{}{core}{}", open.repeat(depth), close.repeat(depth))
            };
            let texts = [
                format!("select t.a from T t where {}", nested("(", "t.a = 1", ")")),
                format!("select t.a from T t where {}", nested("not (", "t.a = 1", ")")),
                format!("select {}", nested("(select ", "1", ")")),
                format!(
                    "select t.a from T t where {}",
                    nested("exists (select x from T x where ", "t.a = 1", ")")
                ),
                format!("select {} from T t", nested("abs(", "t.a", ")")),
                format!("select {} from T t", nested("list(", "t.a", ")")),
                format!(
                    "select {} from T t",
                    nested("case when true then ", "t.a", " end")
                ),
                format!("select {}t.a from T t", "- ".repeat(depth)),
            ];
            for text in texts {
                let _ = outcome(text);
            }
        }
        for length in [100, 240, 5_000] {
            let _ = outcome(format!("select {} from T t", vec!["t.a"; length].join(" + ")));
            let _ = outcome(format!(
                "select t.a from T t where {}",
                vec!["t.a = 1"; length].join(" or ")
            ));
        }
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_profile_counts_rows_and_objects_where_they_arise() {
    let database = olivine::Database::in_memory().unwrap();
    let mut session = olivine::Session::new(database);
    let setup = "create class N { n: int }; insert into N (n) values (1), (2), (3);";
    session.execute(setup, ()).unwrap();
    let mut profile = |text: &str| match session.execute(text, ()).unwrap().remove(0) {
        olivine::Outcome::Plan(plan) => plan,
        other => panic!("{other:?}"),
    };
    let plan = profile("profile select x.n from N x where x.n > 1 order by x.n");
    let lines = plan.lines();
    assert!(
        lines
            .iter()
            .any(|line| line.contains("Extent N as x") && line.contains("[3 rows, 3 objects"))
    );
    assert!(
        lines
            .iter()
            .any(|line| line.contains("Filter") && line.contains("[2 rows,"))
    );
    assert!(lines.last().unwrap().starts_with("2 rows; 3 objects read ("));
    assert_eq!(
        plan.to_value().field("total").unwrap().field("objects"),
        Some(&3.into())
    );
    let plan = profile("profile update N set n = 0 where n = 2");
    assert!(plan.to_string().contains("Filter N.n = 2  [1 row"));
    assert_eq!(session.execute("count(N)", ()).unwrap().len(), 1);
}
