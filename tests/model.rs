//! Random operations against an ordered map.

use std::collections::BTreeMap;

use olivine::{Class, Database, Error, IndexDefinition, Ref, Rows, Snapshot, Transaction, Type};
use serde::{Deserialize, Serialize};

use crate::random::{Random, seeds};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Owner {
    pub name: String,
    pub city: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub key: i64,
    pub rank: Option<i64>,
    pub score: Option<f64>,
    pub text: String,
    pub tags: Vec<String>,
    pub owner: Option<Ref<Owner>>,
}

/// A subclass, whose objects are in the extent and the indexes of [`Item`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Special {
    pub key: i64,
    pub rank: Option<i64>,
    pub score: Option<f64>,
    pub text: String,
    pub tags: Vec<String>,
    pub owner: Option<Ref<Owner>>,
    pub extra: Option<i64>,
}

/// What the database should hold.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    items: BTreeMap<Ref<Item>, Item>,
    owners: BTreeMap<Ref<Owner>, Owner>,
}

impl Model {
    fn city(&self, item: &Item) -> Option<&str> {
        self.owners.get(&item.owner?)?.city.as_deref()
    }

    fn has_duplicates(&self) -> bool {
        let mut keys: Vec<i64> = self.items.values().map(|item| item.key).collect();
        keys.sort_unstable();
        keys.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn keys(&self, wanted: impl Fn(&Item) -> bool) -> Vec<i64> {
        let wanted = self.items.values().filter(|item| wanted(item));
        let mut keys: Vec<i64> = wanted.map(|item| item.key).collect();
        keys.sort_unstable();
        keys
    }
}

pub fn define(database: &Database) {
    database.define::<Owner>().unwrap();
    database.define::<Item>().unwrap();
    let special = Class::new("Special").extends("Item");
    database
        .define_class(special.attribute("extra", Type::Int))
        .unwrap();
}

/// The indexes that come and go.
pub fn index_definitions() -> Vec<(&'static str, IndexDefinition)> {
    let unique = IndexDefinition {
        unique: true,
        ..IndexDefinition::on("key")
    };
    let mut mixed = IndexDefinition::on_all(["rank", "text"]);
    mixed.components[1].1 = true;
    vec![
        ("Item_key", unique),
        ("Item_rank", IndexDefinition::on("rank")),
        ("Item_text", IndexDefinition::on("text")),
        ("Item_score", IndexDefinition::on("score")),
        ("Item_tags", IndexDefinition::on("tags")),
        ("Item_owner_city", IndexDefinition::on("owner.city")),
        ("Item_rank_text", mixed),
    ]
}

fn text(random: &mut Random) -> String {
    let text = format!("t{}", random.below(9));
    match random.below(20) {
        0 => text + &"'x".repeat(1_000),
        1 => text + "é\u{1F600}\0",
        _ => text,
    }
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''").replace('\0', "\\u{0}"))
}

pub fn random_owner(random: &mut Random) -> Owner {
    Owner {
        name: format!("o{}", random.below(100)),
        city: (!random.one_in(4)).then(|| format!("c{}", random.below(5))),
    }
}

pub fn random_item(random: &mut Random, owners: &[Ref<Owner>], key: i64) -> Item {
    let scores = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, -2.0, 3.0];
    Item {
        key,
        rank: (!random.one_in(5)).then(|| random.below(12) as i64 - 3),
        score: (!random.one_in(5))
            .then(|| *random.pick(&scores))
            .filter(|score| !score.is_nan()),
        text: text(random),
        tags: (0..random.below(4))
            .map(|_| format!("g{}", random.below(6)))
            .collect(),
        owner: (!owners.is_empty() && !random.one_in(5)).then(|| *random.pick(owners)),
    }
}

pub fn special(item: Item) -> Special {
    Special {
        key: item.key,
        rank: item.rank,
        score: item.score,
        text: item.text,
        tags: item.tags,
        owner: item.owner,
        extra: None,
    }
}

/// A state to run queries in.
pub trait Queried {
    fn rows(&self, text: &str) -> Rows;
}

impl Queried for Snapshot {
    fn rows(&self, text: &str) -> Rows {
        self.query(text, ())
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }
}

impl Queried for Transaction {
    fn rows(&self, text: &str) -> Rows {
        self.query(text, ())
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }
}

fn first_column(queried: &impl Queried, text: &str) -> Vec<i64> {
    let rows = queried.rows(text);
    rows.map(|row| {
        row.unwrap_or_else(|error| panic!("{text}: {error}"))
            .get(0)
            .unwrap()
            .as_int()
            .unwrap()
    })
    .collect()
}

/// Compares conditions that an index may serve with what the model says.
fn check_conditions(queried: &impl Queried, model: &Model, random: &mut Random) {
    let check = |condition: String, wanted: &dyn Fn(&Item) -> bool| {
        let query = format!("select i.key from Item i where {condition}");
        let mut found = first_column(queried, &query);
        found.sort_unstable();
        assert_eq!(found, model.keys(wanted), "{query}");
    };
    let (a, b) = (random.below(12) as i64 - 3, random.below(12) as i64 - 3);
    let (t, g, c) = (
        text(random),
        format!("g{}", random.below(6)),
        format!("c{}", random.below(5)),
    );
    let key = random.below(100) as i64;
    let rank = |item: &Item, wanted: &dyn Fn(i64) -> bool| item.rank.is_some_and(wanted);
    check(format!("i.rank = {a}"), &|item| item.rank == Some(a));
    check(format!("i.rank <> {a}"), &|item| rank(item, &|rank| rank != a));
    check(format!("not (i.rank = {a})"), &|item| {
        rank(item, &|rank| rank != a)
    });
    check(format!("i.rank between {a} and {b}"), &|item| {
        rank(item, &|rank| a <= rank && rank <= b)
    });
    check(format!("i.rank > {a} and i.rank <= {b}"), &|item| {
        rank(item, &|rank| a < rank && rank <= b)
    });
    check(format!("i.rank in ({a}, {b}, {a})"), &|item| {
        rank(item, &|rank| rank == a || rank == b)
    });
    check("i.rank is nil".into(), &|item| item.rank.is_none());
    check(format!("i.key = {key}"), &|item| item.key == key);
    check(format!("i.text = {}", literal(&t)), &|item| item.text == t);
    check(format!("i.text < {}", literal(&t)), &|item| item.text < t);
    check(format!("i.score >= {a}"), &|item| {
        item.score.is_some_and(|score| score >= a as f64)
    });
    check("i.score = 0".into(), &|item| {
        item.score.is_some_and(|score| score == 0.0)
    });
    check(format!("'{g}' in i.tags"), &|item| item.tags.contains(&g));
    check(format!("i.owner.city = '{c}'"), &|item| {
        model.city(item) == Some(&c)
    });
    check("i.owner.city is nil".into(), &|item| model.city(item).is_none());
    check(format!("i.rank = {a} and i.text >= {}", literal(&t)), &|item| {
        item.rank == Some(a) && item.text >= t
    });
    check(format!("i.rank = {a} or i.text = {}", literal(&t)), &|item| {
        item.rank == Some(a) || item.text == t
    });
    let (limit, offset) = (random.below(8), random.below(4));
    for descending in [false, true] {
        let direction = if descending { "desc" } else { "asc" };
        let query = format!(
            "select i.key from Item i order by i.rank {direction}, i.key limit {limit} offset {offset}"
        );
        let mut all: Vec<(Option<i64>, i64)> =
            model.items.values().map(|item| (item.rank, item.key)).collect();
        all.sort_by(|x, y| {
            if descending {
                y.0.cmp(&x.0).then(x.1.cmp(&y.1))
            } else {
                x.cmp(y)
            }
        });
        let page = all.iter().skip(offset as usize).take(limit as usize);
        let expected: Vec<i64> = page.map(|(_, key)| *key).collect();
        assert_eq!(first_column(queried, &query), expected, "{query}");
    }
    let counted = first_column(queried, "select count(*) from Item i");
    assert_eq!(counted, [model.items.len() as i64]);
}

fn check_snapshot(snapshot: &Snapshot, model: &Model, random: &mut Random) {
    let items = snapshot.extent::<Item>().unwrap().map(Result::unwrap).collect();
    let owners = snapshot.extent::<Owner>().unwrap().map(Result::unwrap).collect();
    assert_eq!(Model { items, owners }, *model);
    for (reference, item) in model.items.iter().take(5) {
        assert_eq!(snapshot.get(*reference).unwrap().as_ref(), Some(item));
    }
    check_conditions(snapshot, model, random);
}

/// A database with its model and what was kept along the way.
struct Run {
    database: Database,
    path: Option<std::path::PathBuf>,
    random: Random,
    model: Model,
    kept: Vec<(Snapshot, Model)>,
    indexes: Vec<&'static str>,
    deleted: Vec<Ref<Item>>,
}

impl Run {
    fn step(&mut self) {
        match self.random.below(16) {
            0 => self.toggle_index(),
            1 => self.kept.push((self.database.snapshot(), self.model.clone())),
            2 => {
                let forgotten = self.random.below(4) as usize;
                self.kept.truncate(forgotten);
            }
            3 => self.database.checkpoint().unwrap(),
            4 => self.reopen(),
            _ => self.transaction(),
        }
    }

    fn transaction(&mut self) {
        let mut model = self.model.clone();
        let mut deleted = Vec::new();
        let mut tx = self.database.begin().unwrap();
        for _ in 0..1 + self.random.below(12) {
            self.operation(&mut tx, &mut model, &mut deleted);
        }
        if self.random.one_in(3) {
            check_conditions(&tx, &model, &mut self.random);
        }
        if self.random.one_in(5) {
            tx.rollback();
            return;
        }
        let refused = self.indexes.contains(&"Item_key") && model.has_duplicates();
        match tx.commit() {
            Ok(_) => {
                assert!(!refused, "a key was taken twice");
                self.model = model;
                self.deleted.extend(deleted);
            }
            Err(Error::Constraint(_)) if refused => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn operation(&mut self, tx: &mut Transaction, model: &mut Model, deleted: &mut Vec<Ref<Item>>) {
        let random = &mut self.random;
        let owners: Vec<Ref<Owner>> = model.owners.keys().copied().collect();
        let items: Vec<Ref<Item>> = model.items.keys().copied().collect();
        match random.below(10) {
            0 => {
                let owner = random_owner(random);
                model.owners.insert(tx.insert(&owner).unwrap(), owner);
            }
            1 if !owners.is_empty() => {
                let (reference, owner) = (*random.pick(&owners), random_owner(random));
                tx.update(reference, &owner).unwrap();
                model.owners.insert(reference, owner);
            }
            2 if !owners.is_empty() && random.one_in(3) => {
                let reference = *random.pick(&owners);
                tx.delete(reference).unwrap();
                model.owners.remove(&reference);
            }
            3 | 4 if !items.is_empty() => {
                let reference = *random.pick(&items);
                tx.delete(reference).unwrap();
                model.items.remove(&reference);
                deleted.push(reference);
            }
            5..=7 if !items.is_empty() => {
                let reference = *random.pick(&items);
                let key = model.items[&reference].key;
                let item = random_item(random, &owners, key);
                tx.update(reference, &item).unwrap();
                model.items.insert(reference, item);
            }
            _ => {
                let fresh = 1_000 + random.below(1 << 40) as i64;
                let key = if random.one_in(8) {
                    random.below(100) as i64
                } else {
                    fresh
                };
                let item = random_item(random, &owners, key);
                let reference = if random.one_in(4) {
                    tx.insert(&special(item.clone())).unwrap().cast()
                } else {
                    tx.insert(&item).unwrap()
                };
                let before = model.items.insert(reference, item);
                assert!(
                    before.is_none() && !self.deleted.contains(&reference),
                    "an identifier was given twice"
                );
            }
        }
    }

    fn toggle_index(&mut self) {
        let definitions = index_definitions();
        let (name, definition) = self.random.pick(&definitions);
        if self.indexes.contains(name) {
            self.database.transact(|tx| tx.drop_index(name)).unwrap();
            self.indexes.retain(|known| known != name);
            return;
        }
        match self.database.create_index("Item", definition) {
            Ok(()) => {
                assert!(!definition.unique || !self.model.has_duplicates());
                self.indexes.push(name);
            }
            Err(Error::Constraint(_)) if definition.unique => assert!(self.model.has_duplicates()),
            Err(error) => panic!("{name}: {error}"),
        }
    }

    fn reopen(&mut self) {
        let Some(path) = self.path.clone() else { return };
        self.check();
        self.kept.clear();
        let nothing = Database::in_memory().unwrap();
        let database = std::mem::replace(&mut self.database, nothing);
        if self.random.one_in(2) {
            database.close().unwrap();
        } else {
            drop(database);
        }
        self.database = Database::open(path).unwrap();
        self.check();
    }

    fn check(&mut self) {
        check_snapshot(&self.database.snapshot(), &self.model, &mut self.random);
        for (snapshot, model) in &self.kept {
            check_snapshot(snapshot, model, &mut self.random);
        }
    }
}

fn run(seed: u64, path: Option<std::path::PathBuf>, steps: u64) {
    let database = match &path {
        Some(path) => Database::open(path).unwrap(),
        None => Database::in_memory().unwrap(),
    };
    define(&database);
    let mut run = Run {
        database,
        path,
        random: Random::new(seed),
        model: Model::default(),
        kept: Vec::new(),
        indexes: Vec::new(),
        deleted: Vec::new(),
    };
    for step in 0..steps {
        run.step();
        if step % 10 == 9 {
            run.check();
        }
    }
    run.check();
}

#[test]
fn a_database_in_memory_behaves_as_an_ordered_map() {
    for seed in seeds(4) {
        run(seed, None, 80);
    }
}

#[test]
fn a_database_on_disk_behaves_as_an_ordered_map_also_when_reopened() {
    for seed in seeds(3) {
        let directory = tempfile::tempdir().unwrap();
        run(seed, Some(directory.path().join("db")), 60);
    }
}

#[test]
#[ignore = "takes minutes"]
fn databases_behave_as_ordered_maps_for_many_seeds() {
    for seed in seeds(100) {
        run(seed, None, 300);
        let directory = tempfile::tempdir().unwrap();
        run(seed, Some(directory.path().join("db")), 300);
    }
}
