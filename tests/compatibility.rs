//! Databases written by earlier versions.
//!
//! `tests/fixtures/v1` holds one, and `v1-evolved` one whose classes changed and have relationships: their files with the zeroes at their ends cut off, and their lengths in `LENGTHS`. The
//! indexes are left out, since they are built from the log.

use std::fs;
use std::path::{Path, PathBuf};

use olivine::{Database, Oid, Session, Value};

fn fixture(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder)
}

const FILES: [&str; 3] = ["FORMAT", "heap/00000001.seg", "table/pages"];

/// What was written: every type of value, a subclass, an added attribute, older versions, a deleted object, a name.
const WRITTEN: &str = "
    create class Node { number: int unique, label: string not null default 'none', next: Node };
    create class Leaf extends Node { weight: float };
    create index by_label on Node(label desc, number);
    create index by_next on Node(next.label);
    create class Each { a: bool, b: int, c: float, d: decimal, e: string, f: bytes, g: date, h: time, i: timestamp,
        j: duration, k: uuid, l: any, m: Node, n: list<int>, o: set<string>, p: bag<int>, q: map<string, int>,
        r: struct(x: int, y: list<string>) };
    insert Node(number: 1, label: 'eins');
    insert Node(number: 2, label: 'zwei \u{1F600}', next: Node#1);
    insert Leaf(number: 3, next: Node#2, weight: -0.5);
    insert Node(number: 4, label: 'gone');
    insert Each(a: true, b: -9223372036854775808, c: 1.5e300, d: 12.50d, e: 'text ''quoted''', f: x'00ff',
        g: date '2026-11-30', h: time '23:59:59.999999', i: timestamp '1969-07-20T20:17:40Z', j: duration 'PT1H30M',
        k: uuid '67e55044-10b1-426f-9247-bb680e5fe0c8', l: list(1, 'two', nil), m: Leaf#1, n: list(3, 1, 2),
        o: set('b', 'a'), p: bag(1, 1), q: map('k': 7), r: struct(x: 1, y: list('z')));
    insert Each();
    insert Each(c: nan, l: 9007199254740993, e: '');
    update Node set label = 'one' where number = 1;
    delete Node where number = 4;
    alter class Node add attribute since: int default 1974;
    name root = Node#1;
";

/// What must be read, as one line a row.
const READ: [(&str, &[&str]); 7] = [
    (
        "select n, n.number, n.label, n.next, n.since from Node n order by n.number",
        &[
            "Node#1 1 'one' nil 1974",
            "Node#2 2 'zwei \u{1F600}' Node#1 1974",
            "Leaf#1 3 'none' Node#2 1974",
        ],
    ),
    ("select l.weight from Leaf l", &["-0.5"]),
    (
        "select e.a, e.b, e.c, e.d, e.e, e.f, e.g, e.h, e.i from Each e where e.a",
        &[
            "true -9223372036854775808 1.5e300 12.50d 'text ''quoted''' x'00ff' date '2026-11-30' \
           time '23:59:59.999999' timestamp '1969-07-20T20:17:40Z'",
        ],
    ),
    (
        "select e.j, e.k, e.l, e.m, e.n, e.o, e.p, e.q, e.r from Each e where e.a",
        &[
            "duration 'PT1H30M' uuid '67e55044-10b1-426f-9247-bb680e5fe0c8' list(1, 'two', nil) Leaf#1 list(3, 1, 2) \
           set('a', 'b') bag(1, 1) map('k': 7) struct(x: 1, y: list('z'))",
        ],
    ),
    (
        "select e, e.c, e.e, e.l from Each e where e.a is nil order by e",
        &["Each#2 nil nil nil", "Each#3 nan '' 9007199254740993"],
    ),
    ("select n.number from Node n where n.next.label = 'one'", &["2"]),
    ("root.label", &["'one'"]),
];

fn read(database: &Database, text: &str) -> Vec<String> {
    let snapshot = database.snapshot();
    let name = |oid: Oid| snapshot.describe(oid);
    let show = |value: &Value| value.display_with(&name).to_string();
    let rows = snapshot
        .query(text, ())
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    rows.map(|row| {
        row.unwrap()
            .values()
            .iter()
            .map(show)
            .collect::<Vec<_>>()
            .join(" ")
    })
    .collect()
}

fn check(database: &Database) {
    check_rows(database, &READ);
}

fn check_rows(database: &Database, rows: &[(&str, &[&str])]) {
    for (text, expected) in rows {
        assert_eq!(read(database, text), *expected, "{text}");
    }
}

/// A fixture as a database of its own.
fn unpacked(directory: &Path, folder: &str) -> PathBuf {
    let path = directory.join(folder);
    let lengths = fs::read_to_string(fixture(folder).join("LENGTHS")).unwrap();
    for line in lengths.lines() {
        let (name, length) = line.split_once(' ').unwrap();
        let target = path.join(name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(fixture(folder).join(name), &target).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&target).unwrap();
        file.set_len(length.parse().unwrap()).unwrap();
    }
    path
}

#[test]
fn a_database_of_format_1_is_read_whole_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = unpacked(directory.path(), "v1");
    check(&Database::options(&path).read_only(true).open().unwrap());
    let database = Database::open(&path).unwrap();
    check(&database);
    let mut session = Session::new(database.clone());
    session
        .execute("insert Node(number: 5, label: 'five')", ())
        .unwrap();
    // Node#3 was deleted: no identifier is given twice.
    assert_eq!(
        read(&database, "select n from Node n where n.number = 5"),
        ["Node#4"]
    );
    session.execute("delete Node where number = 5", ()).unwrap();
    drop(session);
    database.close().unwrap();
    check(&Database::open(&path).unwrap());
}

#[test]
fn a_database_of_format_1_is_read_from_its_log_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = unpacked(directory.path(), "v1");
    fs::remove_dir_all(path.join("table")).unwrap();
    check(&Database::open(&path).unwrap());
}

/// Classes that changed under their objects, with every kind of change, and relationships with rules for deletes.
const EVOLVED: &str = "
    create class Dept { name: string, staff: set<Person> inverse dept },
                 Person { name: string, dept: Dept on delete restrict, boss: Person on delete clear };
    create class Book { title: string, year: string, pages: int, rating: int not null default 3 };
    create index book_year on Book(year);
    insert Dept(name: 'Sales');
    insert Person(name: 'Ann', dept: Dept#1);
    insert Person(name: 'Bob', dept: Dept#1, boss: Person#1);
    insert Book(title: 'Solaris', year: '1961', pages: 204);
    alter class Book rename attribute title to name;
    alter class Book retype attribute year to int;
    alter class Book retype attribute rating to float using rating * 1.5;
    alter class Book drop attribute pages;
    alter class Book add attribute isbn: string default 'none';
    insert Book(name: 'Eden', year: 1959);
    create class Thing { weight: float };
    alter class Book extends Thing;
    alter class Book move attribute isbn to Thing;
    alter class Person rename to Human;
";

const READ_EVOLVED: [(&str, &[&str]); 4] = [
    (
        "select b.name, b.title, b.year, b.rating, b.isbn, b.weight from Book b order by b.year",
        &[
            "'Eden' 'Eden' 1959 3.0 'none' nil",
            "'Solaris' 'Solaris' 1961 4.5 'none' nil",
        ],
    ),
    (
        "select t from Thing t where t.isbn = 'none' order by t",
        &["Book#1", "Book#2"],
    ),
    ("select b.name from Book b where b.year = 1961", &["'Solaris'"]),
    (
        "select h.name, h.boss.name from Dept d, h in d.staff order by h.name",
        &["'Ann' nil", "'Bob' 'Ann'"],
    ),
];

#[test]
fn a_database_of_format_1_whose_classes_changed_is_read_whole_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = unpacked(directory.path(), "v1-evolved");
    check_rows(
        &Database::options(&path).read_only(true).open().unwrap(),
        &READ_EVOLVED,
    );
    fs::remove_dir_all(path.join("table")).unwrap();
    let database = Database::open(&path).unwrap();
    check_rows(&database, &READ_EVOLVED);
    assert_eq!(database.class_versions("Book").unwrap().len(), 7);
    let mut session = Session::new(database.clone());
    let refused = session.execute("delete Dept", ()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("on delete restrict"), "{refused}");
    session.execute("delete Human where name = 'Ann'", ()).unwrap();
    assert_eq!(
        read(&database, "select h.name, h.boss from Dept d, h in d.staff"),
        ["'Bob' nil"]
    );
}

/// Makes the fixtures anew. Only for a new format, in folders of their own: what earlier versions wrote stays.
#[test]
#[ignore = "writes into the source tree"]
fn write_the_fixtures() {
    for (folder, written, rows) in [
        ("v1", WRITTEN, &READ[..]),
        ("v1-evolved", EVOLVED, &READ_EVOLVED[..]),
    ] {
        if !fixture(folder).exists() {
            write_fixture(folder, written, rows);
        }
    }
}

fn write_fixture(folder: &str, written: &str, rows: &[(&str, &[&str])]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(folder);
    let database = Database::open(&path).unwrap();
    Session::new(database.clone()).execute(written, ()).unwrap();
    check_rows(&database, rows);
    database.close().unwrap();
    let mut lengths = String::new();
    for name in FILES {
        let bytes = fs::read(path.join(name)).unwrap();
        lengths.push_str(&format!("{name} {}\n", bytes.len()));
        let used = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        let target = fixture(folder).join(name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, &bytes[..used]).unwrap();
    }
    fs::write(fixture(folder).join("LENGTHS"), lengths).unwrap();
}
