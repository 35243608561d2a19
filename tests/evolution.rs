//! Classes that change: programs with the older and the newer struct on one database, in turn and together.

use olivine::{
    Alteration, AttributeDefinition, Class, Database, Error, IndexDefinition, Object, Ref, Type, Value,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

mod old {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Book {
        pub title: String,
        pub year: i32,
        pub pages: Option<i32>,
        pub rating: i32,
    }
}

fn old_book(title: &str) -> old::Book {
    old::Book {
        title: title.into(),
        year: 1961,
        pages: Some(204),
        rating: 5,
    }
}

/// A database that the older program made, with an index on each attribute.
fn made_by_the_older_program() -> (Database, Ref<old::Book>) {
    let db = Database::in_memory().unwrap();
    let mut definition = db.define::<old::Book>().unwrap();
    for attribute in ["title", "year", "pages", "rating"] {
        definition = definition.index(attribute).unwrap();
    }
    let book = db
        .transact(|tx| {
            for number in 0..20 {
                tx.insert(&old::Book {
                    year: 1900 + number,
                    ..old_book("other")
                })?;
            }
            tx.insert(&old_book("Solaris"))
        })
        .unwrap();
    (db, book)
}

fn count(db: &Database, condition: &str) -> i64 {
    let text = format!("select count(*) from Book b where {condition}");
    let mut rows = db.snapshot().query(&text, ()).unwrap().decode::<i64>();
    rows.next().unwrap().unwrap()
}

/// What each version of the program must be able to do in turn: define, read its own, write its own, keep what it does
/// not know.
fn works<T>(db: &Database, book: Ref<old::Book>, change: impl Fn(&mut T))
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    db.define::<T>().unwrap();
    let book: Ref<T> = book.cast();
    let before = db.snapshot().object(book).unwrap().unwrap();
    db.transact(|tx| tx.update_with(book, |book| change(book)))
        .unwrap();
    let after = db.snapshot().object(book).unwrap().unwrap();
    assert_ne!(before, after);
    let value = db.snapshot().get(book).unwrap().unwrap();
    let copy = db.transact(|tx| tx.insert(&value)).unwrap();
    assert_eq!(db.snapshot().get(copy).unwrap().unwrap(), value);
    assert_eq!(
        db.snapshot()
            .extent::<T>()
            .unwrap()
            .filter(Result::is_err)
            .count(),
        0
    );
    assert!(db.check().unwrap().findings.is_empty());
}

fn old_works(db: &Database, book: Ref<old::Book>) {
    works::<old::Book>(db, book, |book| book.year += 1);
}

#[test]
fn an_added_optional_attribute() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Book {
        title: String,
        isbn: Option<String>,
        year: i32,
        #[serde(default)]
        tags: Vec<String>,
        pages: Option<i32>,
        rating: i32,
    }
    let (db, book) = made_by_the_older_program();
    old_works(&db, book);
    for round in 0..3 {
        works::<Book>(&db, book, |book| {
            book.isbn = Some(format!("{round}"));
            book.tags.push("x".into());
        });
        old_works(&db, book);
    }
    let now = db.snapshot().get(book.cast::<Book>()).unwrap().unwrap();
    assert_eq!(
        (now.isbn.as_deref(), now.tags.len(), now.year),
        (Some("2"), 3, 1965)
    );
    assert_eq!(db.class_versions("Book").unwrap().len(), 1);
}

#[test]
fn removed_and_reordered_fields() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Book {
        rating: i32,
        title: String,
    }
    let (db, book) = made_by_the_older_program();
    db.define::<Book>().unwrap();
    let book: Ref<Book> = book.cast();
    db.transact(|tx| tx.update_with(book, |book| book.rating = 1))
        .unwrap();
    let kept = db.snapshot().get(book.cast::<old::Book>()).unwrap().unwrap();
    assert_eq!(
        kept,
        old::Book {
            rating: 1,
            ..old_book("Solaris")
        }
    );
    // What the newer program creates has no year; the older one says so, and reads on.
    let short = db
        .transact(|tx| {
            tx.insert(&Book {
                rating: 2,
                title: "Eden".into(),
            })
        })
        .unwrap();
    let error = db.snapshot().get(short.cast::<old::Book>()).unwrap_err();
    assert!(
        error.to_string().contains("Book.year has no value here"),
        "{error}"
    );
}

#[test]
fn a_widened_number() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Book {
        title: String,
        year: i64,
        pages: Option<f64>,
        rating: f64,
    }
    let (db, book) = made_by_the_older_program();
    for _ in 0..2 {
        works::<Book>(&db, book, |book| book.rating += 1.0);
        old_works(&db, book);
    }
    assert_eq!(count(&db, "b.rating = 7"), 3);
    db.transact(|tx| tx.update_with(book.cast::<Book>(), |book| book.rating = 4.5))
        .unwrap();
    assert_eq!(count(&db, "b.rating = 4.5 and b.pages = 204"), 1);
    let error = db.snapshot().get(book).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("attribute Book.rating: invalid type"),
        "{error}"
    );
}

#[test]
fn a_relaxed_not_null() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Note {
        text: Option<String>,
    }
    let db = Database::in_memory().unwrap();
    db.define_class(Class::new("Note").required("text", Type::String))
        .unwrap();
    let refused = db.transact(|tx| tx.insert_object(Object::new("Note")));
    assert!(matches!(refused, Err(Error::Constraint(_))));
    db.define::<Note>().unwrap();
    db.transact(|tx| tx.insert(&Note { text: None })).unwrap();
}

#[test]
fn what_is_not_safe_is_refused_with_the_difference_and_the_statement() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Book {
        name: String,
        year: String,
        rating: i32,
        language: bool,
    }
    let (db, _) = made_by_the_older_program();
    let error = db.define::<Book>().unwrap_err().to_string();
    for part in [
        "year is int in the database and string in the program (alter class Book retype attribute year to string)",
        "alter class Book rename attribute title to name",
        "language is new and neither optional nor with a serde default",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(db.class_versions("Book").unwrap().is_empty());
}

#[test]
fn a_renamed_attribute_answers_to_both_names() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Book {
        name: String,
        year: i32,
        pages: Option<i32>,
        rating: i32,
    }
    let (db, book) = made_by_the_older_program();
    let rename = |from: &str, to: &str| Alteration::Rename {
        from: from.into(),
        to: to.into(),
    };
    db.alter_class("Book", &rename("title", "name")).unwrap();
    for _ in 0..2 {
        works::<Book>(&db, book, |book| book.rating += 1);
        old_works(&db, book);
    }
    assert_eq!(count(&db, "b.name = 'Solaris'"), 5);
    assert_eq!(count(&db, "b.title = 'Solaris'"), 5);
    // A new attribute may take the old name; from then on it is meant.
    db.alter_class(
        "Book",
        &Alteration::Add(AttributeDefinition::new("title", Type::String)),
    )
    .unwrap();
    assert_eq!(count(&db, "b.title = 'Solaris'"), 0);
    let taken = db.alter_class("Book", &rename("year", "name")).unwrap_err();
    assert!(
        taken.to_string().contains("has an attribute name already"),
        "{taken}"
    );
}

#[test]
fn two_names_are_swapped_and_then_retyped() {
    let (db, book) = made_by_the_older_program();
    for (from, to) in [("year", "other"), ("rating", "year"), ("other", "rating")] {
        let rename = Alteration::Rename {
            from: from.into(),
            to: to.into(),
        };
        db.alter_class("Book", &rename).unwrap();
    }
    let retype = Alteration::Retype {
        attribute: "rating".into(),
        r#type: Type::String,
        using: None,
    };
    assert_eq!(db.check_alteration("Book", &retype).unwrap().objects, 21);
    db.alter_class("Book", &retype).unwrap();
    let now = db.snapshot().object(book).unwrap().unwrap();
    assert_eq!(
        (now.get("rating"), now.get("year")),
        (Some(&Value::from("1961")), Some(&Value::Int(5)))
    );
    assert_eq!(count(&db, "b.rating = '1961' and b.year = 5"), 1);
    assert!(db.check().unwrap().findings.is_empty());
}

#[test]
fn a_retype_converts_everything_or_nothing_and_can_be_tried() {
    let db = Database::in_memory().unwrap();
    db.define_class(
        Class::new("Event")
            .attribute("day", Type::String)
            .attribute("size", Type::Int)
            .index("day"),
    )
    .unwrap();
    let event = |day: &str, size: i64| Object::new("Event").with("day", day).with("size", size);
    let bad = db
        .transact(|tx| {
            tx.insert_object(event("2001-02-03", 1))?;
            tx.insert_object(Object::new("Event").with("size", 7))?;
            tx.insert_object(event("soon", 0))
        })
        .unwrap();
    let before = db.snapshot();
    let to_date = Alteration::Retype {
        attribute: "day".into(),
        r#type: Type::Date,
        using: None,
    };
    let tried = db.check_alteration("Event", &to_date).unwrap();
    assert_eq!((tried.objects, tried.failures), (2, 1));
    assert!(
        tried.samples[0].starts_with("Event#3: 'soon' is no date"),
        "{tried}"
    );
    let refused = db.alter_class("Event", &to_date).unwrap_err();
    assert!(
        refused.to_string().contains("1 of the objects of Event"),
        "{refused}"
    );
    let computed = |text: &str| Alteration::Retype {
        attribute: "size".into(),
        r#type: Type::Float,
        using: Some(text.into()),
    };
    let failing = db.check_alteration("Event", &computed("10 / size")).unwrap();
    assert_eq!((failing.objects, failing.failures), (2, 1), "{failing}");
    assert!(
        failing.samples[0].starts_with("Event#3: division by zero"),
        "{failing}"
    );
    db.alter_class("Event", &computed("size * 1.5")).unwrap();
    db.transact(|tx| tx.delete(bad)).unwrap();
    db.alter_class("Event", &to_date).unwrap();
    let count = |text: &str| {
        let mut rows = db.snapshot().query(text, ()).unwrap().decode::<i64>();
        rows.next().unwrap().unwrap()
    };
    assert_eq!(
        count("select count(*) from Event where day = date '2001-02-03' and size = 1.5"),
        1
    );
    assert_eq!(
        count("select count(*) from Event where day is nil and size = 10.5"),
        1
    );
    // An older snapshot reads what it always read.
    assert_eq!(
        before.object(bad).unwrap().unwrap().get("day"),
        Some(&Value::from("soon"))
    );
    let changes: Vec<String> = db
        .class_versions("Event")
        .unwrap()
        .iter()
        .map(|version| format!("{}: {}", version.version, version.change))
        .collect();
    assert_eq!(
        changes,
        [
            "2: attribute Event.size retyped from int to float",
            "3: attribute Event.day retyped from string to date"
        ]
    );
    assert!(db.check().unwrap().findings.is_empty());
}

#[test]
fn a_dropped_attribute_is_gone_and_its_name_is_free() {
    let (db, book) = made_by_the_older_program();
    let drop = Alteration::Drop("pages".into());
    let refused = db.alter_class("Book", &drop).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("the index Book_pages is on Book.pages; drop it first"),
        "{refused}"
    );
    db.transact(|tx| tx.drop_index("Book_pages")).unwrap();
    db.alter_class("Book", &drop).unwrap();
    assert_eq!(db.snapshot().object(book).unwrap().unwrap().get("pages"), None);
    // To the older program it is new and optional, so it comes back, without the values it had.
    old_works(&db, book);
    assert_eq!(db.snapshot().get(book).unwrap().unwrap().pages, None);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Person {
    name: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Employee {
    name: String,
    salary: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Guest {
    name: String,
    room: Option<i64>,
}

fn hotel() -> (Database, Ref<Employee>, Ref<Guest>) {
    let db = Database::in_memory().unwrap();
    db.define::<Person>().unwrap().index("name").unwrap();
    db.define::<Employee>().unwrap().index("salary").unwrap();
    db.define::<Guest>().unwrap();
    let (employee, guest) = db
        .transact(|tx| {
            tx.insert(&Person { name: "Pat".into() })?;
            let employee = tx.insert(&Employee {
                name: "Ann".into(),
                salary: 100,
            })?;
            Ok((
                employee,
                tx.insert(&Guest {
                    name: "Bob".into(),
                    room: Some(7),
                })?,
            ))
        })
        .unwrap();
    (db, employee, guest)
}

fn names(db: &Database, text: &str) -> Vec<String> {
    let rows = db.snapshot().query(text, ()).unwrap().decode::<String>();
    let mut names: Vec<String> = rows.map(Result::unwrap).collect();
    names.sort();
    names
}

#[test]
fn a_class_with_objects_moves_below_another_and_out_again() {
    let (db, employee, _) = hotel();
    for _ in 0..2 {
        db.define::<Employee>().unwrap().extends::<Person>().unwrap();
        assert_eq!(
            names(&db, "select name from Person where name >= 'A'"),
            ["Ann", "Pat"]
        );
        assert_eq!(db.snapshot().extent::<Person>().unwrap().count(), 2);
        // Through the superclass only its attributes change.
        let person: Ref<Person> = employee.cast();
        db.transact(|tx| tx.update_with(person, |person| person.name = "Ann".into()))
            .unwrap();
        assert_eq!(db.snapshot().get(employee).unwrap().unwrap().salary, 100);
    }
    db.alter_class("Employee", &Alteration::Extends(None)).unwrap();
    assert_eq!(names(&db, "select name from Person where name >= 'A'"), ["Pat"]);
    assert_eq!(db.snapshot().get(employee).unwrap().unwrap().name, "Ann");
    assert!(db.check().unwrap().findings.is_empty());
    let circle = db.alter_class("Person", &Alteration::Extends(Some("Person".into())));
    assert!(circle.unwrap_err().to_string().contains("cannot extend it"));
    #[derive(Serialize, Deserialize)]
    struct Odd {
        name: i64,
    }
    let odd = db.define::<Odd>().unwrap().extends::<Person>().unwrap_err();
    assert!(odd.to_string().contains("Odd.name is int"), "{odd}");
}

#[test]
fn attributes_move_up_and_down() {
    let (db, employee, guest) = hotel();
    db.define::<Employee>().unwrap().extends::<Person>().unwrap();
    db.define::<Guest>().unwrap().extends::<Person>().unwrap();
    let moved = |attribute: &str, to: &str| Alteration::Move {
        attribute: attribute.into(),
        to: to.into(),
    };
    db.alter_class("Employee", &moved("salary", "Person")).unwrap();
    assert_eq!(names(&db, "select name from Person where salary = 100"), ["Ann"]);
    let inherited = db
        .alter_class("Employee", &Alteration::Drop("salary".into()))
        .unwrap_err();
    assert!(
        inherited
            .to_string()
            .contains("is declared in Person; alter that class"),
        "{inherited}"
    );
    db.transact(|tx| tx.update_object(guest, [("salary", Value::Int(1))]))
        .unwrap();
    let refused = db
        .alter_class("Person", &moved("salary", "Employee"))
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("Guest#1 has a value, which would be lost"),
        "{refused}"
    );
    db.transact(|tx| tx.update_object(guest, [("salary", Value::Nil)]))
        .unwrap();
    db.alter_class("Person", &moved("salary", "Employee")).unwrap();
    assert_eq!(db.snapshot().get(employee).unwrap().unwrap().salary, 100);
    assert_eq!(db.snapshot().object(guest).unwrap().unwrap().get("salary"), None);
    assert_eq!(
        names(&db, "select name from Employee where salary = 100"),
        ["Ann"]
    );
    assert!(db.check().unwrap().findings.is_empty());
}

#[test]
fn a_renamed_class_keeps_its_objects_and_those_that_refer_to_it() {
    #[derive(Serialize, Deserialize)]
    struct Badge {
        owner: Ref<Employee>,
    }
    let (db, employee, _) = hotel();
    db.define::<Badge>().unwrap();
    db.transact(|tx| tx.insert(&Badge { owner: employee })).unwrap();
    db.alter_class("Employee", &Alteration::RenameClass("Worker".into()))
        .unwrap();
    assert_eq!(
        names(&db, "select b.owner.name from Badge b where b.owner.salary = 100"),
        ["Ann"]
    );
    assert_eq!(db.snapshot().describe(employee), "Worker#1");
    let taken = db
        .alter_class("Guest", &Alteration::RenameClass("Worker".into()))
        .unwrap_err();
    assert!(
        taken.to_string().contains("a class Worker exists already"),
        "{taken}"
    );
}

#[test]
fn both_programs_write_at_once_while_the_class_changes() {
    let (db, book) = made_by_the_older_program();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..20 {
                    db.transact(|tx| tx.update_with(book, |book| book.year += 1))
                        .unwrap();
                }
            });
        }
        for name in ["a", "b", "c"] {
            let add = Alteration::Add(AttributeDefinition::new(name, Type::Int));
            db.alter_class("Book", &add).unwrap();
        }
        let rename = Alteration::Rename {
            from: "year".into(),
            to: "published".into(),
        };
        db.alter_class("Book", &rename).unwrap();
    });
    assert_eq!(db.snapshot().get(book).unwrap().unwrap().year, 2001);
    assert_eq!(count(&db, "b.published = 2001"), 1);
}

#[test]
fn changes_of_a_class_survive_a_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("books.olv");
    let book = {
        let db = Database::open(&path).unwrap();
        db.define::<old::Book>().unwrap();
        let book = db.transact(|tx| tx.insert(&old_book("Solaris"))).unwrap();
        let rename = Alteration::Rename {
            from: "title".into(),
            to: "name".into(),
        };
        db.alter_class("Book", &rename).unwrap();
        db.create_index("Book", &IndexDefinition::on("name")).unwrap();
        db.close().unwrap();
        book
    };
    let db = Database::open(&path).unwrap();
    old_works(&db, book);
    assert_eq!(count(&db, "b.name = 'Solaris'"), 2);
    assert_eq!(db.class_versions("Book").unwrap().len(), 1);
}

mod retyped {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Book {
        pub title: String,
        pub year: String,
        pub pages: Option<i32>,
        pub rating: i32,
    }
}

fn retype(attribute: &str, r#type: Type) -> Alteration {
    Alteration::Retype {
        attribute: attribute.into(),
        r#type,
        using: None,
    }
}

/// `size` old books without indexes, with the years from 1000 on.
fn old_books(size: i32) -> (Database, Vec<Ref<old::Book>>) {
    let db = Database::in_memory().unwrap();
    db.define::<old::Book>().unwrap();
    let book = |number: i32| old::Book {
        year: 1000 + number,
        ..old_book("old")
    };
    let books = db.transact(|tx| (0..size).map(|number| tx.insert(&book(number))).collect());
    (db, books.unwrap())
}

#[test]
fn a_retype_writes_the_class_alone_and_every_read_sees_the_new_type() {
    // The background may convert at once; then it is tried again.
    let written_by_the_change_alone = || {
        let (db, books) = old_books(3_000);
        let (before, first) = (db.snapshot(), db.statistics());
        db.alter_class("Book", &retype("year", Type::String)).unwrap();
        let second = db.statistics();
        let records = second.records - first.records;
        let read = |book: Ref<old::Book>| db.snapshot().get(book.cast::<retyped::Book>()).unwrap().unwrap();
        assert_eq!(
            (read(books[7]).year.as_str(), read(books[7]).pages),
            ("1007", Some(204))
        );
        assert_eq!(count(&db, "b.year >= '3000' and b.year < '3500'"), 500);
        assert_eq!(before.get(books[7]).unwrap().unwrap().year, 1007);
        let many = db.snapshot().extent::<retyped::Book>().unwrap();
        assert_eq!(
            many.filter(|book| book.as_ref().is_ok_and(|(_, book)| book.year.len() == 4))
                .count(),
            3_000
        );
        (second.commit == first.commit + 1).then_some(records)
    };
    let records = (0..50).find_map(|_| written_by_the_change_alone());
    assert!(records.is_none_or(|records| records <= 2), "{records:?}");
}

#[test]
fn what_is_converted_when_read_is_written_indexed_retyped_again_and_finished() {
    let (db, book) = made_by_the_older_program();
    let older = db.snapshot();
    let mut tx = db.begin().unwrap();
    let own = tx.insert(&old_book("own")).unwrap();
    tx.alter_class("Book", &retype("year", Type::String)).unwrap();
    tx.alter_class("Book", &retype("rating", Type::Float)).unwrap();
    assert_eq!(
        tx.object(own).unwrap().unwrap().get("year"),
        Some(&Value::from("1961"))
    );
    assert_eq!(
        tx.object(book).unwrap().unwrap().get("rating"),
        Some(&Value::Float(5.0))
    );
    tx.update_object(book, [("pages", Value::Int(7))]).unwrap();
    tx.commit().unwrap();
    let unread = |db: &Database| {
        assert_eq!(count(db, "b.year = '1961' and b.rating = 5.0"), 2);
        assert_eq!(count(db, "b.rating > 4.5"), 22);
        assert!(db.check().unwrap().findings.is_empty());
    };
    unread(&db);
    db.transact(|tx| tx.update_object(book, [("rating", Value::Float(4.5))]))
        .unwrap();
    assert_eq!(
        count(&db, "b.year = '1961' and b.rating = 4.5 and b.pages = 7"),
        1
    );
    // An attribute may be retyped again before all of it was written.
    db.alter_class("Book", &retype("year", Type::list(Type::String)))
        .unwrap();
    assert_eq!(count(&db, "'1961' in b.year"), 2);
    db.finish_conversions().unwrap();
    assert_eq!(db.finish_conversions().unwrap(), 0);
    assert_eq!(count(&db, "'1961' in b.year"), 2);
    assert!(db.check().unwrap().findings.is_empty());
    assert_eq!(older.get(book).unwrap().unwrap(), old_book("Solaris"));
    // The class is the version it was: who finishes changes nothing for anybody.
    assert_eq!(db.class_versions("Book").unwrap().len(), 3);
}

#[test]
fn writers_go_on_while_conversions_are_finished() {
    let (db, books) = old_books(5_000);
    db.alter_class("Book", &retype("year", Type::String)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for book in books.iter().step_by(7) {
                db.transact(|tx| tx.update_with(book.cast::<retyped::Book>(), |book| book.rating = 9))
                    .unwrap();
            }
        });
        db.finish_conversions().unwrap();
    });
    db.finish_conversions().unwrap();
    assert_eq!(count(&db, "b.rating = 9"), 715);
    assert_eq!(count(&db, "b.year >= '1000' and b.year <= '5999'"), 5_000);
}

#[test]
fn a_power_cut_leaves_all_values_of_the_old_type_or_all_of_the_new() {
    use olivine::testing::{Fault, FaultyDisk, open_on};
    let work = |db: Database| -> olivine::Result<()> {
        db.define::<old::Book>()?;
        db.transact(|tx| (0..40).try_for_each(|_| tx.insert(&old_book("old")).map(drop)))?;
        db.alter_class("Book", &retype("year", Type::String))?;
        db.finish_conversions().map(drop)
    };
    let disk = FaultyDisk::new();
    work(open_on(&disk).unwrap()).unwrap();
    let operations = disk.operations();
    for operation in 1..=operations {
        let disk = FaultyDisk::new();
        disk.set_fault(Fault::PowerCut(operation));
        drop(open_on(&disk).and_then(work));
        let db = open_on(&disk.after_power_cut(operation).unwrap()).unwrap();
        if db.class_versions("Book").is_err() {
            continue;
        }
        let (of_old, of_new) = (
            db.snapshot()
                .extent::<old::Book>()
                .unwrap()
                .filter(Result::is_ok)
                .count(),
            db.snapshot()
                .extent::<retyped::Book>()
                .unwrap()
                .filter(Result::is_ok)
                .count(),
        );
        let sound = matches!((of_old, of_new), (0, 0) | (40, 0) | (0, 40));
        assert!(
            sound,
            "power cut at {operation} of {operations}: {of_old} old, {of_new} new"
        );
        assert!(db.check().unwrap().findings.is_empty());
    }
}
