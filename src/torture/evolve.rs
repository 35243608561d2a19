//! The class that changes while all else goes on: attributes come, go, and change name and type; the class is dropped.
//!
//! *Shapes*: objects with a number and its double. Whatever was altered since, the double is twice the number, and an
//! attribute that was added has its default in the objects that were there before.

use crate::catalog::{Alteration, AttributeDefinition, ClassDefinition, IndexDefinition};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::object::{Object, Oid, Type, Value};
use crate::snapshot::Snapshot;

use super::random::Random;
use super::work::finding;

const CLASS: &str = "TortureShape";
/// Numbers of shapes are below it.
pub(super) const SHAPES: u64 = 60;
/// What an added attribute holds in every object that was there before.
const ADDED: i64 = 41;

/// Defines the class, if it is not there.
pub(super) fn define(database: &Database) -> Result<()> {
    let class = ClassDefinition::new(CLASS)
        .attribute("number", Type::Int)
        .attribute("double", Type::Int);
    match database.define_class(class) {
        // It was altered since.
        Err(Error::Schema(_)) => Ok(()),
        outcome => outcome,
    }
}

/// The key under which the record keeps a shape.
pub(super) fn key(number: i64) -> i64 {
    -1 - number
}

/// All shapes by their key in the record; an error where a double is wrong.
pub(super) fn read(snapshot: &Snapshot) -> Result<Vec<(i64, i64)>> {
    let mut found = Vec::new();
    for row in rows(snapshot, "select s.number, s.double from TortureShape s")? {
        let (number, double) = (whole(row.first()), whole(row.get(1)));
        if double != number.map(|number| number * 2) {
            return Err(finding(format!("the shape {number:?} has the double {double:?}")));
        }
        let number = number.unwrap_or(-1);
        found.push((key(number), number * 2));
    }
    found.sort_unstable();
    // The same through whatever index there is.
    let mut indexed = Vec::new();
    for row in rows(
        snapshot,
        "select s.number from TortureShape s where s.double >= 0",
    )? {
        let number = whole(row.first()).unwrap_or(-1);
        indexed.push((key(number), number * 2));
    }
    indexed.sort_unstable();
    match indexed == found {
        true => Ok(found),
        false => Err(finding(format!(
            "{} shapes by a condition, {} by the scan",
            indexed.len(),
            found.len()
        ))),
    }
}

/// Rows of a query on the class; none where it is not defined.
fn rows(snapshot: &Snapshot, text: &str) -> Result<Vec<Vec<Value>>> {
    let rows = match snapshot.query(text, ()) {
        Err(Error::Query(error)) if error.to_string().contains("no class") => return Ok(Vec::new()),
        outcome => outcome?,
    };
    rows.map(|row| {
        let row = row?;
        Ok([row.get(0), row.get(1)].into_iter().flatten().cloned().collect())
    })
    .collect()
}

/// A number that may have become a float.
fn whole(value: Option<&Value>) -> Option<i64> {
    match value? {
        Value::Int(number) => Some(*number),
        Value::Float(number) => format!("{number:.0}").parse().ok(),
        _ => None,
    }
}

/// One change of a shape: created where it is not there, and deleted where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) number: i64,
    present: Option<Oid>,
}

impl Turn {
    /// What the record should hear: the value after it.
    pub(super) fn value(&self) -> Option<i64> {
        self.present.is_none().then_some(self.number * 2)
    }
}

/// Chooses a shape and finds out whether it is there.
pub(super) fn choose(database: &Database, random: &mut Random) -> Result<Turn> {
    let number = random.below(SHAPES) as i64;
    let text = "select s from TortureShape s where s.number = $1";
    let mut found = database.snapshot().query(text, (number,))?;
    let row = found.next().transpose()?;
    let present = row.and_then(|row| row.get(0).and_then(Value::as_reference));
    Ok(Turn { number, present })
}

/// Does it.
pub(super) fn take(database: &Database, turn: Turn) -> Result<()> {
    let Turn { number, present } = turn;
    database.transact(|tx| match present {
        Some(oid) => tx.delete(oid),
        None => {
            let shape = Object::new(CLASS)
                .with("number", number)
                .with("double", number * 2);
            tx.insert_object(shape).map(drop)
        }
    })
}

/// Alters the class in some way, or its index; whether the state of the class allows it is for the engine to say.
pub(super) fn alter(database: &Database, random: &mut Random) -> Result<()> {
    let alteration = match random.below(8) {
        0 | 1 => return add(database, random),
        2 => Alteration::Drop(name(random).into()),
        3 => Alteration::Rename {
            from: name(random).into(),
            to: name(random).into(),
        },
        4 => retype(Type::Float),
        5 => retype(Type::Int),
        6 => return allowed(database.create_index(CLASS, &IndexDefinition::on("double"))),
        _ => return allowed(database.transact(|tx| tx.drop_index("TortureShape_double"))),
    };
    allowed(database.alter_class(CLASS, &alteration))
}

fn retype(to: Type) -> Alteration {
    Alteration::Retype {
        attribute: "double".into(),
        r#type: to,
        using: None,
    }
}

/// Drops the class with everything in it.
pub(super) fn drop_class(database: &Database) -> Result<()> {
    database.transact(|tx| tx.drop_class(CLASS))
}

fn name(random: &mut Random) -> &'static str {
    match random.below(3) {
        0 => "red",
        1 => "green",
        _ => "blue",
    }
}

/// Adds an attribute with a default: every object has it at once.
fn add(database: &Database, random: &mut Random) -> Result<()> {
    let name = name(random);
    let attribute = AttributeDefinition {
        default: Value::Int(ADDED),
        ..AttributeDefinition::new(name, Type::Int)
    };
    match database.alter_class(CLASS, &Alteration::Add(attribute)) {
        Ok(_) => {}
        Err(error) => return allowed::<()>(Err(error)),
    }
    let text = format!("select s.number, s.{name} from TortureShape s where s.{name} <> {ADDED}");
    match rows(&database.snapshot(), &text)?.len() {
        0 => Ok(()),
        wrong => Err(finding(format!(
            "{wrong} shapes do not have the default of the attribute that was added"
        ))),
    }
}

/// What the state of the class does not allow is no finding.
fn allowed<R>(outcome: Result<R>) -> Result<()> {
    match outcome {
        Err(Error::Schema(_)) => Ok(()),
        Err(error) if error.is_conflict() => Ok(()),
        outcome => outcome.map(drop),
    }
}
