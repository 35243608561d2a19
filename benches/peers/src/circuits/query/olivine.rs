//! The olivine side: statements as a user of the crate runs them.

use std::path::Path;

use anyhow::{Result, anyhow};
use olivine::{Database, IndexDefinition, Parameters, Ref, Snapshot, Value};
use serde::{Deserialize, Serialize};

use super::data::{self, DEPARTMENTS, Graph, SITES};
use crate::peers::olivine::begin_buffered;

/// A place.
#[derive(Debug, Serialize, Deserialize)]
struct Site {
    city: String,
}

/// A department.
#[derive(Debug, Serialize, Deserialize)]
struct Department {
    name: String,
    site: Ref<Site>,
}

/// A person.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Person {
    /// Unique.
    pub code: String,
    age: i64,
    score: f64,
    balance: i64,
    department: Ref<Department>,
    note: String,
}

/// A node of the graph.
#[derive(Debug, Serialize, Deserialize)]
struct Node {
    targets: Vec<Ref<Node>>,
}

/// The database and its people.
#[derive(Debug)]
pub struct Olivine {
    /// The database.
    pub database: Database,
    /// All people, by number.
    pub people: Vec<Ref<Person>>,
    start: Ref<Node>,
}

const BATCH: usize = 10_000;

impl Olivine {
    /// Holds `count` people and the graph.
    pub fn load(path: &Path, count: usize, graph: &Graph) -> Result<Olivine> {
        let database = Database::open(path)?;
        database.define_all::<(Site, Department)>()?;
        database.define::<Person>()?.unique("code")?.index("balance")?;
        database.define::<Node>()?;
        let departments = load_departments(&database)?;
        let mut people = Vec::with_capacity(count);
        for first in (0..count).step_by(BATCH) {
            let mut transaction = begin_buffered(&database)?;
            for number in first..count.min(first + BATCH) {
                let person = data::person(number as u64);
                people.push(transaction.insert(&Person {
                    code: person.code,
                    age: person.age,
                    score: person.score,
                    balance: person.balance,
                    department: departments[person.department as usize],
                    note: person.note,
                })?);
            }
            transaction.commit()?;
        }
        let start = load_graph(&database, graph)?;
        database.checkpoint()?;
        Ok(Olivine {
            database,
            people,
            start,
        })
    }

    /// An index on the first reference, and with it on the path.
    pub fn index_path(&self) -> Result<()> {
        let path = IndexDefinition::on("department.site.city");
        self.database.create_index("Person", &path)?;
        self.database.checkpoint()?;
        Ok(())
    }

    /// A statement that gives one row of numbers: their sum, floats rounded down.
    pub fn answer(snapshot: &Snapshot, text: &str, parameters: impl Into<Parameters>) -> Result<u64> {
        let mut sum = 0_u64;
        for row in snapshot.query(text, parameters)? {
            for value in row?.values() {
                sum = sum.wrapping_add(number(value)?);
            }
        }
        Ok(sum)
    }

    /// The rows of a statement.
    pub fn rows(snapshot: &Snapshot, text: &str, parameters: impl Into<Parameters>) -> Result<u64> {
        let mut rows = 0;
        for row in snapshot.query(text, parameters)? {
            row?;
            rows += 1;
        }
        Ok(rows)
    }

    /// The person with this code, all attributes read; the age.
    pub fn look_up(snapshot: &Snapshot, code: &str) -> Result<u64> {
        let text =
            "select p.code, p.age, p.score, p.balance, p.department, p.note from Person p where p.code = $1";
        let mut rows = snapshot.query(text, (code,))?;
        let row = rows
            .next()
            .ok_or_else(|| anyhow!("nobody has the code {code}"))??;
        let age = row.get(1).ok_or_else(|| anyhow!("a row without an age"))?;
        number(age)
    }

    /// Gives person `number` another balance, without waiting for the disk.
    pub fn change(&self, number: usize, balance: i64) -> Result<()> {
        let mut transaction = begin_buffered(&self.database)?;
        let reference = self.people[number];
        if let Some(mut person) = transaction.get(reference)? {
            person.balance = balance;
            transaction.update(reference, &person)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// How many nodes are reached from node 0, itself included.
    pub fn reached(&self, snapshot: &Snapshot) -> Result<u64> {
        let start = Value::Reference(self.start.oid());
        Olivine::answer(
            snapshot,
            "count($start.targets{0,})",
            olivine::params! { start: start },
        )
    }
}

fn number(value: &Value) -> Result<u64> {
    match value {
        Value::Int(number) => Ok(*number as u64),
        Value::Float(number) => Ok(number.floor() as u64),
        other => Err(anyhow!("a number was asked for, {other:?} came")),
    }
}

fn load_departments(database: &Database) -> Result<Vec<Ref<Department>>> {
    let mut transaction = begin_buffered(database)?;
    let mut sites = Vec::new();
    for number in 0..SITES {
        let city = format!("city {number}");
        sites.push(transaction.insert(&Site { city })?);
    }
    let mut departments = Vec::new();
    for number in 0..DEPARTMENTS {
        departments.push(transaction.insert(&Department {
            name: format!("department {number}"),
            site: sites[data::site(number) as usize],
        })?);
    }
    transaction.commit()?;
    Ok(departments)
}

fn load_graph(database: &Database, graph: &Graph) -> Result<Ref<Node>> {
    let mut nodes: Vec<Ref<Node>> = Vec::with_capacity(graph.targets.len());
    for part in graph.targets.chunks(BATCH) {
        let mut transaction = begin_buffered(database)?;
        for _ in part {
            nodes.push(transaction.insert(&Node { targets: Vec::new() })?);
        }
        transaction.commit()?;
    }
    let pairs: Vec<_> = nodes.iter().zip(&graph.targets).collect();
    for part in pairs.chunks(BATCH) {
        let mut transaction = begin_buffered(database)?;
        for (node, targets) in part {
            let targets = targets.iter().map(|target| nodes[*target as usize]).collect();
            transaction.update(**node, &Node { targets })?;
        }
        transaction.commit()?;
    }
    nodes
        .first()
        .copied()
        .ok_or_else(|| anyhow!("a graph without nodes"))
}
