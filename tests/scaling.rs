//! Plan shapes, and counts of visited objects at n and 10 n: what should not grow does not.

use olivine::{Class, Database, IndexDefinition, Object, Oid, QueryStatistics, Type};

/// `n` persons in 10 towns, some of them with accounts: 1 town a tenth of the persons, unique names, ranks 0 to n - 1.
fn world(n: i64) -> Database {
    let database = Database::in_memory().unwrap();
    let define = |class: Class| database.define_class(class).unwrap();
    define(Class::new("Town").attribute("name", Type::String).index("name"));
    define(
        Class::new("Person")
            .attribute("name", Type::String)
            .attribute("rank", Type::Int)
            .attribute("town", Type::reference("Town"))
            .attribute("tags", Type::list(Type::String))
            .unique("name")
            .index("rank")
            .index("town.name")
            .index("tags"),
    );
    let account = Class::new("Account").attribute("holder", Type::reference("Person"));
    define(account.attribute("code", Type::Int));
    database
        .transact(|tx| {
            let towns: Vec<Oid> = (0..n / 5)
                .map(|town| tx.insert_object(Object::new("Town").with("name", format!("town {town}"))))
                .collect::<Result<_, _>>()?;
            for number in 0..n {
                let person = Object::new("Person")
                    .with("name", format!("person {number}"))
                    .with("rank", number)
                    .with("town", towns[number as usize % towns.len()])
                    .with("tags", vec![format!("tag {}", number / 4)]);
                let person = tx.insert_object(person)?;
                let account = Object::new("Account").with("holder", person).with("code", number);
                if number < 50 {
                    tx.insert_object(account)?;
                }
            }
            Ok(())
        })
        .unwrap();
    database
}

fn plan(database: &Database, text: &str) -> String {
    let rows = database.snapshot().query(&format!("explain {text}"), ()).unwrap();
    let lines = rows.map(|row| row.unwrap().get(0).unwrap().as_str().unwrap().to_string());
    lines.collect::<Vec<_>>().join("\n")
}

fn visited(database: &Database, text: &str) -> (usize, QueryStatistics) {
    let mut rows = database.snapshot().query(text, ()).unwrap();
    let count = rows.by_ref().map(Result::unwrap).count();
    (count, rows.statistics())
}

/// What a query must look like and may cost.
struct Case {
    text: &'static str,
    /// Words of the plan.
    shape: &'static [&'static str],
    /// Words that must not be in the plan.
    without: &'static [&'static str],
    /// The most objects it may read, however large the extent is.
    objects: u64,
    /// The most index entries.
    entries: u64,
}

const SMALL: i64 = 2_000;

fn check(cases: &[Case]) {
    let (small, large) = (world(SMALL), world(SMALL * 10));
    for case in cases {
        for database in [&small, &large] {
            let plan = plan(database, case.text);
            for word in case.shape {
                assert!(
                    plan.contains(word),
                    "no {word} in the plan of {}:\n{plan}",
                    case.text
                );
            }
            for word in case.without {
                assert!(
                    !plan.contains(word),
                    "{word} in the plan of {}:\n{plan}",
                    case.text
                );
            }
        }
        let (few, at_small) = visited(&small, case.text);
        let (many, at_large) = visited(&large, case.text);
        assert_eq!(few, many, "{}", case.text);
        for statistics in [at_small, at_large] {
            assert!(
                statistics.objects <= case.objects,
                "{}: {statistics:?}",
                case.text
            );
            assert!(
                statistics.index_entries <= case.entries,
                "{}: {statistics:?}",
                case.text
            );
        }
    }
}

#[test]
fn look_ups_and_short_ranges_do_not_grow_with_the_extent() {
    check(&[
        Case {
            text: "select p.rank from Person p where p.name = 'person 77'",
            shape: &["IndexScan Person_name"],
            without: &["Extent", "Filter"],
            objects: 1,
            entries: 1,
        },
        Case {
            text: "select p from Person p where p.name in ('person 1', 'person 2', 'person 2', 'nobody')",
            shape: &["IndexScan Person_name"],
            without: &["Extent"],
            objects: 3,
            entries: 4,
        },
        Case {
            text: "select p from Person p where p.rank between 100 and 120",
            shape: &["IndexScan Person_rank"],
            without: &["Extent"],
            objects: 21,
            entries: 21,
        },
        Case {
            text: "select p from Person p where 'tag 9' in p.tags",
            shape: &["IndexScan Person_tags"],
            without: &["Extent"],
            objects: 4,
            entries: 4,
        },
        Case {
            text: "select p.rank from Person p where p = Person#5",
            shape: &["Objects Person"],
            without: &["Extent", "IndexScan"],
            objects: 1,
            entries: 0,
        },
    ]);
}

#[test]
fn a_limit_stops_reading() {
    // A batch is read at once: up to 1,024 objects or entries.
    check(&[
        Case {
            text: "select p.name from Person p where p.rank >= 10 limit 5",
            shape: &["Limit", "Person"],
            without: &[],
            objects: 1_024,
            entries: 1_024,
        },
        Case {
            text: "select p.name from Person p limit 5",
            shape: &["Limit"],
            without: &[],
            objects: 1_024,
            entries: 0,
        },
        Case {
            text: "select p.name from Person p order by p.rank limit 5",
            shape: &["IndexScan Person_rank"],
            without: &["Extent", "Sort", "TopK"],
            objects: 1_024,
            entries: 1_024,
        },
        Case {
            text: "select p.name from Person p where p.rank < 300 order by p.rank desc limit 5",
            shape: &["IndexScan Person_rank", "backwards"],
            without: &["Extent", "Sort", "TopK"],
            objects: 300,
            entries: 300,
        },
        Case {
            text: "select p.name from Person p where exists (select a from Account a where a.holder = p) limit 1000",
            shape: &["Account"],
            without: &[],
            objects: 30_000,
            entries: 30_000,
        },
    ]);
}

#[test]
fn paths_and_joins_start_from_their_selective_end() {
    check(&[
        Case {
            text: "select p.name from Person p where p.town.name = 'town 3'",
            shape: &["IndexPath"],
            without: &["Extent"],
            objects: 10,
            entries: 10,
        },
        Case {
            text: "select p.name, a.code from Account a, Person p where a.holder = p and a.code < 10",
            shape: &["Account"],
            without: &["Extent Person"],
            objects: 70,
            entries: 50,
        },
        Case {
            text: "select p.name, a.code from Account a, Person p where a.code = p.rank",
            shape: &[],
            without: &["Sort"],
            objects: 30_000,
            entries: 30_000,
        },
    ]);
}

#[test]
fn counting_an_extent_and_a_hash_join_read_each_object_at_most_once() {
    for n in [SMALL, SMALL * 10] {
        let database = world(n);
        let (_, statistics) = visited(&database, "select count(*) from Person p");
        assert!(statistics.objects <= n as u64, "{statistics:?}");
        let join = "select p.name from Person p, Town t where t = p.town and t.name like '%1'";
        let (_, statistics) = visited(&database, join);
        assert!(statistics.objects <= (n + n / 5 + n) as u64, "{statistics:?}");
        let exists =
            "select t.name from Town t where exists (select p from Person p where p.town = t and p.rank > 3)";
        let (_, statistics) = visited(&database, exists);
        assert!(statistics.objects <= (n + n / 5) as u64, "{statistics:?}");
        let equal = "select a.rank from Person a, Person b where a.rank + 0 = b.rank + 0";
        assert!(
            plan(&database, equal).contains("HashJoin"),
            "{}",
            plan(&database, equal)
        );
        let (rows, statistics) = visited(&database, equal);
        assert_eq!(rows, n as usize);
        assert!(statistics.objects <= 2 * n as u64, "{statistics:?}");
    }
}

#[test]
fn an_index_over_two_attributes_reads_only_its_range() {
    let database = world(SMALL);
    let two = IndexDefinition {
        name: Some("two".into()),
        ..IndexDefinition::on_all(["town", "rank"])
    };
    database.create_index("Person", &two).unwrap();
    let text = "select p.rank from Person p where p.town = Town#3 and p.rank > 500 order by p.rank";
    let plan = plan(&database, text);
    assert!(plan.contains("IndexScan two") && !plan.contains("Sort"), "{plan}");
    let (rows, statistics) = visited(&database, text);
    assert_eq!(rows, 3);
    assert!(
        statistics.objects <= 3 && statistics.index_entries <= 3,
        "{statistics:?}"
    );
}
