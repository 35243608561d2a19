//! Typed objects: what a Rust type may be, and the calls that read and write it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use olivine::{Database, Error, Ref, Value, params};
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
    second: Option<Ref<Author>>,
    #[serde(default)]
    readers: Vec<Ref<Author>>,
}

fn author(name: &str) -> Author {
    Author {
        name: name.into(),
        born: 1921,
    }
}

fn book(title: &str, author: Ref<Author>) -> Book {
    Book {
        title: title.into(),
        year: 1961,
        author,
        second: None,
        readers: vec![],
    }
}

fn library() -> (Database, Ref<Author>, Ref<Book>) {
    let db = Database::in_memory().unwrap();
    db.define_all::<(Author, Book)>().unwrap();
    db.define::<Author>().unwrap().unique("name").unwrap();
    let (lem, solaris) = db
        .transact(|tx| {
            let lem = tx.insert(&author("Lem"))?;
            Ok((lem, tx.insert(&book("Solaris", lem))?))
        })
        .unwrap();
    (db, lem, solaris)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shade {
    Plain,
    Number(i32),
    Pair(i32, String),
    Named { name: String, of: Option<i32> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    One { a: i64 },
    Two { b: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Place {
    x: f64,
    label: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Everything {
    shade: Shade,
    shades: Vec<Shade>,
    tagged: Tagged,
    place: Place,
    places: Vec<Option<Place>>,
    words: BTreeSet<String>,
    numbers: HashSet<i64>,
    counts: BTreeMap<String, Vec<i64>>,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
    text: Cow<'static, str>,
    day: jiff::civil::Date,
    at: jiff::civil::Time,
    instant: jiff::Timestamp,
    length: jiff::SignedDuration,
    price: olivine::Decimal,
    id: olivine::Uuid,
    #[serde(rename = "named")]
    original: i32,
    #[serde(default, alias = "formerly")]
    latterly: i32,
    #[serde(skip)]
    skipped: i32,
}

fn everything() -> Everything {
    let named = Shade::Named {
        name: "n".into(),
        of: Some(3),
    };
    Everything {
        shade: named.clone(),
        shades: vec![Shade::Plain, Shade::Number(1), Shade::Pair(2, "b".into()), named],
        tagged: Tagged::Two { b: "x".into() },
        place: Place { x: 1.5, label: None },
        places: vec![
            None,
            Some(Place {
                x: 2.0,
                label: Some("l".into()),
            }),
        ],
        words: ["b".to_string(), "a".to_string()].into(),
        numbers: [3, 1, 2].into(),
        counts: [("one".to_string(), vec![1])].into(),
        bytes: vec![0, 255],
        text: "text".into(),
        day: jiff::civil::date(2026, 11, 30),
        at: jiff::civil::time(18, 5, 30, 250_000_000),
        instant: "2026-11-30T18:05:30.5Z".parse().unwrap(),
        length: jiff::SignedDuration::from_secs(90),
        price: "12.50".parse().unwrap(),
        id: olivine::Uuid::from_u128(7),
        original: 8,
        latterly: 9,
        skipped: 0,
    }
}

#[test]
fn every_kind_of_field_comes_back_and_has_its_type_in_queries() {
    let db = Database::in_memory().unwrap();
    db.define::<Everything>().unwrap();
    let id = db.transact(|tx| tx.insert(&everything())).unwrap();
    assert_eq!(db.snapshot().get(id).unwrap().unwrap(), everything());
    let holds = |condition: &str| {
        let text = format!("select count(*) from Everything e where {condition}");
        let counts: Vec<i64> = db
            .snapshot()
            .query(&text, ())
            .unwrap_or_else(|error| panic!("{condition}: {error}"))
            .decode()
            .map(Result::unwrap)
            .collect();
        assert_eq!(counts, [1], "{condition}");
    };
    holds("e.day = date '2026-11-30'");
    holds("e.at < time '19:00' and e.instant > timestamp '2026-11-30T18:05:30Z'");
    holds("e.length = duration '1m 30s'");
    holds("e.words = set('b', 'a') and 2 in e.numbers");
    holds("e.place.x = 1.5 and e.price = 12.5d and e.bytes = x'00ff'");
    holds("e.named = 8 and e.counts['one'] = list(1)");
    db.transact(|tx| tx.update_with(id, |value| value.length = jiff::SignedDuration::from_hours(-3)))
        .unwrap();
    let length = db.snapshot().get(id).unwrap().unwrap().length;
    assert_eq!(length, jiff::SignedDuration::from_hours(-3));
}

#[test]
fn what_cannot_be_a_class_is_refused_at_define_with_the_reason() {
    #[derive(Deserialize)]
    struct Empty {}
    #[derive(Deserialize)]
    struct Unit;
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its type matters")]
    struct Twice {
        value: Option<Option<i32>>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its type matters")]
    struct Flat {
        a: i32,
        #[serde(flatten)]
        rest: BTreeMap<String, i32>,
    }
    #[derive(Deserialize)]
    #[serde(transparent)]
    #[expect(dead_code, reason = "only its type matters")]
    struct Thin(i32);
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its type matters")]
    struct Generic<T> {
        value: T,
    }
    let db = Database::in_memory().unwrap();
    let refused = |error: Error, part: &str| {
        let text = error.to_string();
        assert!(matches!(error, Error::Schema(_)) && text.contains(part), "{text}");
    };
    refused(db.define::<Empty>().unwrap_err(), "no fields");
    refused(db.define::<Unit>().unwrap_err(), "a unit");
    refused(db.define::<Twice>().unwrap_err(), "Option within an Option");
    refused(db.define::<Flat>().unwrap_err(), "flattened");
    refused(db.define::<Thin>().unwrap_err(), "not a struct");
    refused(db.define::<Shade>().unwrap_err(), "not a struct");
    db.define::<Generic<i32>>().unwrap();
    refused(
        db.define::<Generic<String>>().unwrap_err(),
        "value is int in the database",
    );
    refused(db.define::<Book>().unwrap_err(), "define it first");
}

#[test]
fn references_are_followed_and_viewed_and_found_backwards() {
    let (db, lem, solaris) = library();
    let snapshot = db.snapshot();
    let found = snapshot.get(solaris).unwrap().unwrap();
    assert_eq!(snapshot.follow(&found.author).unwrap().unwrap().name, "Lem");
    assert!(snapshot.follow(&found.second).unwrap().is_none());
    let record = snapshot.view(solaris).unwrap().unwrap();
    drop(snapshot);
    assert_eq!(record.get::<&str>("title").unwrap(), "Solaris");
    assert_eq!(record.get::<u16>("year").unwrap(), 1961);
    assert_eq!(record.get::<Option<Ref<Author>>>("second").unwrap(), None);
    assert_eq!(record.get::<Ref<Author>>("author").unwrap(), lem);
    assert_eq!(record.value("year").unwrap(), Value::Int(1961));
    assert_eq!((record.class(), record.reference()), ("Book", solaris));
    let nil = record.get::<Ref<Author>>("second").unwrap_err();
    assert_eq!(
        nil.to_string(),
        "attribute Book.second: it is nil here; ask for an Option"
    );
    assert!(
        record
            .get::<i32>("pages")
            .unwrap_err()
            .to_string()
            .contains("no attribute pages")
    );
    db.transact(|tx| {
        let eden = tx.insert(&book("Eden", lem))?;
        tx.update_with(eden, |eden| eden.readers.push(lem))?;
        let titles = |found: olivine::Objects<Book>| {
            found
                .map(|row| row.map(|(_, book)| book.title))
                .collect::<Result<Vec<_>, _>>()
        };
        assert_eq!(titles(tx.related("author", lem)?)?, ["Solaris", "Eden"]);
        assert_eq!(titles(tx.related("readers", lem)?)?, ["Eden"]);
        assert!(
            tx.related::<Book>("title", lem)
                .unwrap_err()
                .to_string()
                .contains("no reference")
        );
        let own = tx.view(eden)?.unwrap();
        tx.delete(eden)?;
        assert_eq!(own.get::<String>("title")?, "Eden");
        assert!(tx.view(eden)?.is_none());
        Ok(())
    })
    .unwrap();
}

#[test]
fn borrowed_structs_view_the_class_without_copies() {
    #[derive(Deserialize)]
    #[serde(rename = "Author")]
    struct Borrowed<'a> {
        name: &'a str,
    }
    #[derive(Deserialize)]
    #[serde(rename = "Author")]
    struct Lazy<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    let (db, lem, _) = library();
    db.define::<Borrowed<'_>>().unwrap();
    let record = db.snapshot().view(lem).unwrap().unwrap();
    assert_eq!(record.decode::<Borrowed<'_>>().unwrap().name, "Lem");
    let lazy: Lazy<'_> = record.decode().unwrap();
    assert!(matches!(lazy.name, Cow::Borrowed("Lem")));
}

#[test]
fn circles_are_made_of_reserved_references() {
    #[derive(Serialize, Deserialize)]
    struct Person {
        name: String,
        spouse: Ref<Person>,
    }
    let (db, lem, _) = library();
    db.define::<Person>().unwrap();
    let person = |name: &str, spouse| Person {
        name: name.into(),
        spouse,
    };
    let ann = db
        .transact(|tx| {
            let ann = tx.reserve::<Person>()?;
            assert!(tx.get(ann)?.is_none());
            let bob = tx.insert(&person("Bob", ann))?;
            tx.insert_at(ann, &person("Ann", bob))?;
            let twice = tx.insert_at(ann, &person("Ann", bob)).unwrap_err();
            assert!(twice.to_string().contains("has its object already"), "{twice}");
            let other = tx.insert_at(lem, &author("x")).unwrap_err();
            assert!(other.to_string().contains("was not reserved"), "{other}");
            Ok(ann)
        })
        .unwrap();
    let snapshot = db.snapshot();
    let bob = snapshot.get(ann).unwrap().unwrap().spouse;
    assert_eq!(snapshot.get(bob).unwrap().unwrap().spouse, ann);
}

#[test]
fn upsert_updates_whoever_holds_the_unique_value() {
    let (db, lem, _) = library();
    let young = Author {
        born: 1922,
        ..author("Lem")
    };
    let (found, created) = db.transact(|tx| tx.upsert("name", &young)).unwrap();
    assert_eq!((found, created), (lem, false));
    assert_eq!(db.snapshot().get(lem).unwrap().unwrap().born, 1922);
    let (first, second) = db
        .transact(|tx| {
            Ok((
                tx.upsert("name", &author("Dick"))?,
                tx.upsert("name", &author("Dick"))?,
            ))
        })
        .unwrap();
    assert_eq!((first.0, first.1, second.1), (second.0, true, false));
    let error = db.transact(|tx| tx.upsert("born", &author("x"))).unwrap_err();
    assert!(error.to_string().contains("no unique index"), "{error}");
}

#[test]
fn rows_become_structs_tuples_and_scalars() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Line {
        title: String,
        writer: String,
        second: Option<String>,
    }
    let (db, _, _) = library();
    let snapshot = db.snapshot();
    let rows = |text: &str| snapshot.query(text, params! {}).unwrap();
    let lines: Vec<Line> =
        rows("select b.title, b.author.name as writer, b.second.name as second from Book b")
            .decode()
            .map(Result::unwrap)
            .collect();
    let line = Line {
        title: "Solaris".into(),
        writer: "Lem".into(),
        second: None,
    };
    assert_eq!(lines, [line]);
    let pairs: Vec<(String, i64)> = rows("select title, year from Book")
        .decode()
        .map(Result::unwrap)
        .collect();
    assert_eq!(pairs, [("Solaris".to_string(), 1961)]);
    let years: Vec<u16> = rows("select year from Book")
        .decode()
        .map(Result::unwrap)
        .collect();
    assert_eq!(years, [1961]);
    let none: Vec<Option<String>> = rows("select b.second.name from Book b")
        .decode()
        .map(Result::unwrap)
        .collect();
    assert_eq!(none, [None]);
    let lists: Vec<Vec<i64>> = rows("select list(1, 2)").decode().map(Result::unwrap).collect();
    assert_eq!(lists, [[1, 2]]);
    let books: Vec<Book> = rows("select b from Book b")
        .decode()
        .map(Result::unwrap)
        .collect();
    assert_eq!(books[0].title, "Solaris");
    let refs: Vec<Ref<Book>> = rows("select b from Book b")
        .decode()
        .map(Result::unwrap)
        .collect();
    assert_eq!(snapshot.get(refs[0]).unwrap().unwrap(), books[0]);
    let wrong = rows("select title, year from Book")
        .decode::<i64>()
        .next()
        .unwrap()
        .unwrap_err();
    assert!(wrong.to_string().contains("2 columns (title, year)"), "{wrong}");
    let wrong = rows("select title from Book")
        .decode::<Line>()
        .next()
        .unwrap()
        .unwrap_err();
    assert!(wrong.to_string().contains("no value for writer"), "{wrong}");
    let wrong = rows("select title, year from Book")
        .decode::<(i64, i64)>()
        .next()
        .unwrap();
    assert!(matches!(wrong, Err(Error::Argument(_))), "{wrong:?}");
}

#[test]
fn wrong_uses_end_in_sentences() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Unknown {
        a: i32,
    }
    let (db, lem, solaris) = library();
    let snapshot = db.snapshot();
    let wrong = snapshot.get(lem.cast::<Book>()).unwrap_err();
    assert!(
        wrong
            .to_string()
            .starts_with("Author#1 is no Book and cannot be read as one"),
        "{wrong}"
    );
    let wrong = snapshot.extent::<Unknown>().unwrap_err();
    assert!(wrong.to_string().contains("define::<Unknown>()"), "{wrong}");
    let wrong = snapshot.related::<Unknown>("a", lem).unwrap_err();
    assert!(wrong.to_string().contains("define::<Unknown>()"), "{wrong}");
    let wrong = db.transact(|tx| tx.reserve::<Unknown>()).unwrap_err();
    assert!(wrong.to_string().contains("define::<Unknown>()"), "{wrong}");
    let wrong = db
        .transact(|tx| tx.update(solaris.cast(), &author("x")))
        .unwrap_err();
    assert!(
        wrong
            .to_string()
            .contains("Book#1 cannot be updated with a Author"),
        "{wrong}"
    );
    db.transact(|tx| tx.delete(solaris)).unwrap();
    assert!(db.snapshot().get(solaris).unwrap().is_none());
    assert!(snapshot.get(solaris).unwrap().is_some());
    let gone = db
        .transact(|tx| tx.update_with(solaris, |book| book.year = 1))
        .unwrap_err();
    assert!(
        matches!(gone, Error::NotFound(_)) && gone.to_string().contains("Book#1"),
        "{gone}"
    );
}

#[test]
fn a_fetch_plan_reads_a_closure_and_changes_no_answer() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Node {
        name: String,
        next: Option<Ref<Node>>,
        others: BTreeMap<String, Ref<Node>>,
    }
    let db = Database::in_memory().unwrap();
    db.define::<Node>().unwrap();
    let node = |name: &str, next: Option<Ref<Node>>| Node {
        name: name.into(),
        next,
        others: BTreeMap::new(),
    };
    let first = db
        .transact(|tx| {
            let last = tx.insert(&node("last", None))?;
            let third = tx.insert(&node("third", Some(last)))?;
            let gone = tx.insert(&node("gone", None))?;
            let second = tx.insert(&node("second", Some(third)))?;
            let mut own = node("first", Some(second));
            own.others.insert("gone".into(), gone);
            let first = tx.insert(&own)?;
            tx.update_with(last, |last| last.next = Some(first))?;
            tx.delete(gone)?;
            Ok(first)
        })
        .unwrap();
    let snapshot = db.snapshot();
    let walk = |fetched: &olivine::Fetched<Node>| {
        let mut names = Vec::new();
        let mut at = fetched.root().unwrap();
        while let Some(node) = at.filter(|_| names.len() < 6) {
            at = fetched.follow(&node.next).unwrap();
            names.push(node.name);
        }
        names
    };
    for depth in 0..6 {
        let fetched = snapshot.fetch(first).depth(depth).read().unwrap();
        assert_eq!(fetched.len(), 1 + depth.min(3), "{depth}");
        assert_eq!(
            walk(&fetched),
            ["first", "second", "third", "last", "first", "second"]
        );
    }
    let fetched = snapshot
        .fetch(first)
        .paths(["next.next", "others"])
        .read()
        .unwrap();
    assert_eq!((fetched.len(), walk(&fetched).len()), (3, 6));
    let gone = fetched.root().unwrap().unwrap().others["gone"];
    assert!(fetched.get(gone).unwrap().is_none());
    let wrong = snapshot.fetch(first).paths(["nxt"]).read().unwrap_err();
    assert!(wrong.to_string().contains("has an attribute nxt"), "{wrong}");
    db.transact(|tx| {
        let own = tx.insert(&node("own", Some(first)))?;
        assert_eq!(tx.fetch(own).depth(1).read()?.len(), 2);
        tx.delete(own)?;
        assert!(tx.fetch(own).read()?.is_empty());
        Ok(())
    })
    .unwrap();
}

#[test]
fn find_goes_by_a_unique_attribute_and_counts_as_read() {
    let (db, lem, _) = library();
    let snapshot = db.snapshot();
    let (found, author_found) = snapshot.find::<Author>("name", "Lem").unwrap().unwrap();
    assert_eq!((found, author_found.name.as_str()), (lem, "Lem"));
    let (oid, object) = snapshot.find_object("Author", "name", "Lem").unwrap().unwrap();
    assert_eq!((oid, object.get("name")), (lem.oid(), Some(&"Lem".into())));
    assert!(snapshot.find::<Author>("name", "Dick").unwrap().is_none());
    assert!(snapshot.find::<Author>("name", Value::Nil).unwrap().is_none());
    for (attribute, value, sentence) in [
        ("born", Value::from(1921), "no unique index"),
        ("nome", Value::from("Lem"), "no attribute nome"),
        ("name", Value::from(7), "Author.name"),
    ] {
        let error = snapshot.find::<Author>(attribute, value).unwrap_err();
        assert!(error.to_string().contains(sentence), "{error}");
    }

    // A transaction finds what it wrote, and no more what it deleted.
    let mut first = db.begin().unwrap();
    assert!(first.find::<Author>("name", "Dick").unwrap().is_none());
    let dick = first.insert(&author("Dick")).unwrap();
    assert_eq!(first.find::<Author>("name", "Dick").unwrap().unwrap().0, dick);
    first.rollback();

    // That nobody had the name was read: whoever takes it first is a conflict.
    let mut second = db.begin().unwrap();
    assert!(second.find_object("Author", "name", "Dick").unwrap().is_none());
    second.insert(&author("Nobody")).unwrap();
    db.transact(|tx| tx.insert(&author("Dick"))).unwrap();
    assert!(second.commit().unwrap_err().is_conflict());

    // A state of the past has no indexes, and gives the same.
    let older = db.snapshot_at(snapshot.commit()).unwrap();
    assert_eq!(older.find::<Author>("name", "Lem").unwrap().unwrap().0, lem);
    assert!(older.find::<Author>("name", "Dick").unwrap().is_none());
}

#[test]
fn a_prepared_query_serves_other_types_states_and_schemas() {
    let (db, lem, _) = library();
    let snapshot = db.snapshot();
    let born = snapshot
        .prepare("select a.name from Author a where a.born = $year")
        .unwrap();
    assert_eq!(born.parameters().first().map(|(name, _)| &**name), Some("year"));
    let names = |rows: olivine::Rows| rows.decode::<String>().collect::<Result<Vec<_>, _>>();
    let run = |year: Value| names(snapshot.run(&born, params! { year: year }).unwrap());
    for year in [Value::from(1921), Value::from(1921.0), Value::from(1921)] {
        assert_eq!(run(year).unwrap(), ["Lem"]);
    }
    assert!(run(Value::Nil).unwrap().is_empty());
    let error = snapshot.run(&born, params! { years: 1921 }).unwrap_err();
    assert!(error.to_string().contains("$year"), "{error}");
    let error = snapshot.run(&born, params! { year: "x" }).unwrap_err();
    assert!(matches!(error, Error::Query(_)), "{error}");

    // A step from a parameter is planned for what the parameter is.
    let named = snapshot.prepare("$1.name").unwrap();
    assert_eq!(names(snapshot.run(&named, (lem,)).unwrap()).unwrap(), ["Lem"]);

    // The same statement in a transaction sees its writes; after a change of the schema it is planned anew.
    let mut transaction = db.begin().unwrap();
    transaction.insert(&author("Dick")).unwrap();
    let mut both = names(transaction.run(&born, params! { year: 1921 }).unwrap()).unwrap();
    both.sort();
    assert_eq!(both, ["Dick", "Lem"]);
    transaction.rollback();
    db.define::<Author>().unwrap().index("born").unwrap();
    let rows = db.snapshot().run(&born, params! { year: 1921 }).unwrap();
    assert_eq!(names(rows).unwrap(), ["Lem"]);

    for (text, sentence) in [
        ("select a.nome from Author a", "nome"),
        ("delete from Author", "no query"),
        ("select", "select"),
    ] {
        let error = snapshot.prepare(text).unwrap_err();
        assert!(error.to_string().contains(sentence), "{error}");
    }
}

#[test]
fn a_plan_chosen_for_few_objects_is_not_kept_for_many() {
    let db = Database::in_memory().unwrap();
    db.define::<Author>().unwrap().index("born").unwrap();
    let text = "select a.name from Author a where a.born = 7";
    let read = |objects: u64| {
        let mut rows = db.snapshot().query(text, ()).unwrap();
        let mut found = 0;
        for row in rows.by_ref() {
            row.unwrap();
            found += 1;
        }
        assert_eq!(found, objects);
        rows.statistics().objects
    };
    let add = |many: u16| {
        db.transact(|tx| {
            for born in 0..many {
                let name = born.to_string();
                tx.insert(&Author { name, born })?;
            }
            Ok(())
        })
        .unwrap();
    };
    add(8);
    read(1);
    add(5_000);
    let mut last = 0;
    for _ in 0..40 {
        last = read(2);
    }
    assert_eq!(last, 2);
}

#[test]
fn a_column_given_out_twice_is_there_twice() {
    let (db, _, _) = library();
    let text =
        "select a.name as one, a.name as two, a.born + 1 as next, a from Author a order by a.name limit 1";
    let mut rows = db.snapshot().query(text, ()).unwrap();
    let row = rows.next().unwrap().unwrap();
    let (one, two, next, _): (String, String, u16, Ref<Author>) = row.decode().unwrap();
    assert_eq!((one.as_str(), two.as_str(), next), ("Lem", "Lem", 1922));
}
