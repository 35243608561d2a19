//! The cleaner: space comes back, nothing else changes, whatever fails.

mod faults;
mod history;
mod model;
mod online;
mod space;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use olivine::testing::{FaultyDisk, open_with};
use olivine::{
    Class, CompactOptions, CompactReport, Database, IndexDefinition, Object, Oid, Options, Result, Snapshot,
    Transaction, Type, Value,
};

/// Objects by key: what a database of things should hold.
type Things = BTreeMap<i64, String>;

/// Options without the background cleaner, so that a test says when what happens.
fn quiet() -> Options {
    Database::options("").cleaner(false)
}

fn open(disk: &FaultyDisk) -> Result<Database> {
    open_with(disk, quiet())
}

fn define(database: &Database) -> Result<()> {
    let class = Class::new("Thing")
        .attribute("key", Type::Int)
        .attribute("text", Type::String)
        .attribute("next", Type::reference("Thing"));
    database.define_class(class)?;
    database.create_index("Thing", &IndexDefinition::on("key"))
}

fn thing(key: i64, text: &str) -> Object {
    Object::new("Thing").with("key", key).with("text", text)
}

/// Gives a thing another text.
fn change(tx: &mut Transaction, oid: Oid, text: &str) -> Result<()> {
    tx.update_object(oid, [("text", Value::from(text))])
}

/// A text that does not compress, the same for the same numbers.
fn text(key: i64, round: u64, len: usize) -> String {
    let mut random = crate::random::Random::new((key as u64) << 20 ^ round);
    (0..len)
        .map(|_| char::from(b'a' + (random.next() % 26) as u8))
        .collect()
}

fn compact(database: &Database) -> CompactReport {
    compact_with(database, &CompactOptions::new())
}

fn compact_with(database: &Database, options: &CompactOptions) -> CompactReport {
    database
        .compact(options, &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

/// All things of a state, read through the extent; asserts that the index says the same.
fn things(snapshot: &Snapshot) -> Things {
    let mut found = Things::new();
    let rows = snapshot.query("select t.key, t.text from Thing t", ()).unwrap();
    for row in rows {
        let row = row.unwrap();
        let key = row.get(0).unwrap().as_int().unwrap();
        let text = row.get(1).unwrap().as_str().unwrap().to_owned();
        assert!(found.insert(key, text).is_none(), "key {key} is there twice");
    }
    let counted = snapshot
        .query("select count(*) from Thing t where t.key >= -1", ())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(counted.get(0).unwrap().as_int(), Some(found.len() as i64));
    found
}

/// Bytes of all segment files.
fn segment_bytes(disk: &FaultyDisk) -> u64 {
    let segments = disk.paths();
    let segments = segments
        .iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "seg"));
    segments.map(|path| disk.len(path).unwrap()).sum()
}

/// Creates things with these keys and texts of `len` bytes, 100 a transaction.
fn create(database: &Database, keys: std::ops::Range<i64>, len: usize) -> Vec<Oid> {
    let keys: Vec<i64> = keys.collect();
    let mut oids = Vec::new();
    for part in keys.chunks(100) {
        oids.extend(
            database
                .transact(|tx| {
                    part.iter()
                        .map(|key| tx.insert_object(thing(*key, &text(*key, 0, len))))
                        .collect::<Result<Vec<_>>>()
                })
                .unwrap(),
        );
    }
    oids
}
