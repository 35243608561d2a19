//! Reads by identifier and scans: the quick ways give what the careful ones give.

use std::collections::BTreeSet;

use olivine::{AttributeDefinition, Class, Database, Object, Oid, Ref, Type, Value, params};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Item {
    name: String,
    value: i64,
    next: Option<Ref<Item>>,
    tags: Vec<Ref<Item>>,
}

fn item(number: i64) -> Item {
    Item {
        name: format!("item {number}"),
        value: number,
        next: None,
        tags: Vec::new(),
    }
}

/// Thousand items, of which every third was overwritten after the first snapshot, and every seventh deleted.
fn changed(db: &Database) -> (olivine::Snapshot, Vec<Ref<Item>>) {
    db.define::<Item>().unwrap();
    let items = db
        .transact(|tx| {
            (0..1_000)
                .map(|number| tx.insert(&item(number)))
                .collect::<Result<Vec<_>, _>>()
        })
        .unwrap();
    let before = db.snapshot();
    db.transact(|tx| {
        for (number, reference) in (0..).zip(&items) {
            if number % 7 == 0 {
                tx.delete(*reference)?;
            } else if number % 3 == 0 {
                tx.update(*reference, &item(-number))?;
            }
        }
        Ok(())
    })
    .unwrap();
    (before, items)
}

fn now(number: i64) -> Option<Item> {
    match number {
        deleted if deleted % 7 == 0 => None,
        changed if changed % 3 == 0 => Some(item(-changed)),
        _ => Some(item(number)),
    }
}

fn check(snapshot: &olivine::Snapshot, items: &[Ref<Item>], expected: impl Fn(i64) -> Option<Item>) {
    let expected: Vec<Option<Item>> = (0..).map(expected).take(items.len()).collect();
    assert_eq!(snapshot.get_many(items).unwrap(), expected);
    for (reference, expected) in items.iter().zip(&expected) {
        assert_eq!(&snapshot.get(*reference).unwrap(), expected);
        let stored = snapshot.stored(*reference).unwrap();
        let value = stored.as_ref().map(|stored| stored.get("value").unwrap());
        assert_eq!(value, expected.as_ref().map(|item| Value::Int(item.value)));
        let decoded = stored.as_ref().map(|stored| stored.decode::<Item>().unwrap());
        assert_eq!(&decoded, expected);
    }
    let scanned: Vec<Item> = snapshot.extent().unwrap().map(|item| item.unwrap().1).collect();
    assert_eq!(scanned, expected.iter().flatten().cloned().collect::<Vec<_>>());
}

#[test]
fn each_snapshot_reads_its_own_versions_also_after_checkpoints_and_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("items.olv");
    let db = Database::open(&path).unwrap();
    let (before, items) = changed(&db);
    check(&before, &items, |number| Some(item(number)));
    check(&db.snapshot(), &items, now);
    db.checkpoint().unwrap();
    check(&before, &items, |number| Some(item(number)));
    check(&db.snapshot(), &items, now);
    db.transact(|tx| tx.update(items[1], &item(5_000))).unwrap();
    assert_eq!(db.snapshot().get(items[1]).unwrap(), Some(item(5_000)));
    assert_eq!(before.get(items[1]).unwrap(), Some(item(1)));
    db.transact(|tx| tx.update(items[1], &item(1))).unwrap();
    drop(before);
    db.close().unwrap();
    // Now every block is verified at its first touch.
    check(&Database::open(&path).unwrap().snapshot(), &items, now);
}

#[test]
fn many_at_once_are_what_each_is_by_itself() {
    let db = Database::in_memory().unwrap();
    let (_, items) = changed(&db);
    let snapshot = db.snapshot();
    let never = Ref::from_oid(Oid::from_bits(items[0].oid().to_bits() + 100_000).unwrap());
    let foreign = Ref::from_oid(Oid::from_bits(u64::MAX).unwrap());
    let mixed: Vec<Ref<Item>> = [items[8], never, items[0], foreign, items[8]].into();
    let found = snapshot.get_many(&mixed).unwrap();
    assert_eq!(found, [now(8), None, None, None, now(8)]);
    assert_eq!(snapshot.get_many::<Item>(&[]).unwrap(), []);
    db.transact(|tx| {
        tx.update(items[1], &item(77))?;
        tx.delete(items[2])?;
        let new = tx.insert(&item(78))?;
        let found = tx.get_many(&[items[1], items[2], new, items[4]])?;
        assert_eq!(found, [Some(item(77)), None, Some(item(78)), now(4)]);
        Ok(())
    })
    .unwrap();
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename = "Item")]
struct Other {
    /// Not in the order of the class.
    value: i32,
    #[serde(alias = "label")]
    name: String,
    #[serde(default = "seven")]
    weight: u8,
    note: Option<String>,
    #[serde(default)]
    count: u16,
    #[serde(skip)]
    mine: bool,
}

fn seven() -> u8 {
    7
}

fn other(value: i32) -> Other {
    Other {
        value,
        name: format!("item {value}"),
        weight: 7,
        note: None,
        count: 0,
        mine: false,
    }
}

#[test]
fn another_struct_of_a_class_that_has_grown_reads_old_and_new_objects() {
    let db = Database::in_memory().unwrap();
    db.define::<Item>().unwrap();
    let old = db.transact(|tx| tx.insert(&item(1))).unwrap();
    assert_eq!(db.snapshot().get(old.cast::<Other>()).unwrap(), Some(other(1)));
    let weight = AttributeDefinition {
        default: Value::Int(9),
        ..AttributeDefinition::new("weight", Type::Int)
    };
    let added = [
        weight,
        AttributeDefinition::new("note", Type::String),
        AttributeDefinition::new("count", Type::Int),
    ];
    db.transact(|tx| tx.add_attributes("Item", &added)).unwrap();
    let new = db
        .transact(|tx| {
            let new = Object::new("Item").with("name", "item 2").with("value", 2);
            tx.insert_object(new.with("note", "x").with("tags", Value::list::<Value>([])))
        })
        .unwrap();
    let snapshot = db.snapshot();
    // The default of the class comes before the one of serde; nil where a number is asked for counts as absent.
    let expected = [
        Some(Other {
            weight: 9,
            ..other(1)
        }),
        Some(Other {
            weight: 9,
            note: Some("x".into()),
            ..other(2)
        }),
    ];
    let references = [old.cast(), Ref::from_oid(new)];
    assert_eq!(snapshot.get_many::<Other>(&references).unwrap(), expected);
    assert_eq!(snapshot.get::<Other>(references[0]).unwrap(), expected[0]);
    assert_eq!(snapshot.get::<Item>(old).unwrap(), Some(item(1)));
}

#[derive(Debug, Deserialize)]
#[serde(rename = "Item")]
struct Misfit {
    #[expect(dead_code, reason = "only asked for")]
    value: String,
}

#[test]
fn a_value_that_does_not_fit_its_field_is_named() {
    let db = Database::in_memory().unwrap();
    db.define::<Item>().unwrap();
    let reference = db.transact(|tx| tx.insert(&item(1))).unwrap();
    let error = db.snapshot().get(reference.cast::<Misfit>()).unwrap_err();
    assert!(error.to_string().contains("Item.value"), "{error}");
    let error = db.snapshot().get_many(&[reference.cast::<Misfit>()]).unwrap_err();
    assert!(error.to_string().contains("Item.value"), "{error}");
}

#[test]
fn ranges_of_ints_select_what_the_comparison_says() {
    let db = Database::in_memory().unwrap();
    db.define_class(Class::new("Mark").attribute("value", Type::Int))
        .unwrap();
    let far = [i64::MIN, i64::MAX, 1 << 40, -(1 << 40), 1 << 27, -(1 << 27)];
    let values: Vec<i64> = (-700..700).chain(far).collect();
    db.transact(|tx| {
        for value in &values {
            tx.insert_object(Object::new("Mark").with("value", *value))?;
        }
        tx.insert_object(Object::new("Mark")).map(drop)
    })
    .unwrap();
    // Older than the attribute, which has a default.
    let young = AttributeDefinition {
        default: Value::Int(5),
        ..AttributeDefinition::new("young", Type::Int)
    };
    db.transact(|tx| tx.add_attributes("Mark", std::slice::from_ref(&young)))
        .unwrap();
    let snapshot = db.snapshot();
    let count = |snapshot: &olivine::Snapshot, condition: &str, bound: i64| {
        let text = format!("select count(*) from Mark i where {condition}");
        let mut rows = snapshot.query(&text, params! { bound: bound }).unwrap();
        rows.next().unwrap().unwrap().get(0).and_then(Value::as_int)
    };
    type Holds = fn(i64, i64) -> bool;
    let tests: [(&str, Holds); 8] = [
        ("i.value > $bound", |value, bound| value > bound),
        ("i.value >= $bound", |value, bound| value >= bound),
        ("i.value < $bound", |value, bound| value < bound),
        ("$bound < i.value", |value, bound| bound < value),
        ("i.value <> $bound", |value, bound| value != bound),
        ("i.value between -100 and $bound", |value, bound| {
            (-100..=bound).contains(&value)
        }),
        ("i.value > -50 and i.value <= $bound", |value, bound| {
            value > -50 && value <= bound
        }),
        ("i.value = $bound or i.value = 11", |value, bound| {
            value == bound || value == 11
        }),
    ];
    for (condition, holds) in tests {
        for bound in [i64::MIN, -999, -3, 0, 1, 64, 500, i64::MAX] {
            let expected = values.iter().filter(|value| holds(**value, bound)).count() as i64;
            assert_eq!(
                count(&snapshot, condition, bound),
                Some(expected),
                "{condition} {bound}"
            );
        }
    }
    let all = i64::try_from(values.len()).unwrap() + 1;
    assert_eq!(count(&snapshot, "i.young between 5 and $bound", 5), Some(all));
    assert_eq!(count(&snapshot, "i.young > $bound", 5), Some(0));
}

#[test]
fn many_objects_at_once_are_those_of_single_reads_also_where_values_are_converted_or_derived() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Team {
        name: String,
        #[serde(default)]
        players: BTreeSet<Ref<Player>>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Player {
        number: i64,
        team: Option<Ref<Team>>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename = "Player")]
    struct Retyped {
        number: f64,
        team: Option<Ref<Team>>,
    }
    let database = Database::in_memory().unwrap();
    database.define_all::<(Team, Player)>().unwrap();
    database
        .define::<Player>()
        .unwrap()
        .inverse("team", "players")
        .unwrap();
    let (team, players) = database
        .transact(|tx| {
            let team = tx.insert(&Team {
                name: "red".into(),
                players: BTreeSet::new(),
            })?;
            let player = |number| Player {
                number,
                team: Some(team),
            };
            let players: Vec<_> = (0..200)
                .map(|number| tx.insert(&player(number)))
                .collect::<Result<_, _>>()?;
            Ok((team, players))
        })
        .unwrap();
    let teams = database.snapshot().get_many(&[team]).unwrap();
    assert_eq!(teams[0].as_ref().map(|team| team.players.len()), Some(200));
    let older = database.snapshot();
    let mut session = olivine::Session::new(database.clone());
    session
        .execute("alter class Player retype attribute number to float", ())
        .unwrap();
    session
        .execute("delete Player p where p = $1", (players[7],))
        .unwrap();
    let snapshot = database.snapshot();
    let references: Vec<Ref<Retyped>> = players.iter().map(|player| player.cast()).collect();
    let many = snapshot.get_many(&references).unwrap();
    for (number, (reference, found)) in references.iter().zip(&many).enumerate() {
        assert_eq!(*found, snapshot.get(*reference).unwrap());
        assert_eq!(
            found.as_ref().map(|player| player.number),
            (number != 7).then_some(number as f64)
        );
    }
    let many = older.get_many(&players).unwrap();
    assert!(
        many.iter()
            .zip(0..)
            .all(|(found, number)| found.as_ref().is_some_and(|player| player.number == number))
    );
}
