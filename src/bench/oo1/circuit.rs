//! The operations of OO1, on the database and on the model.
//!
//! The three of the published benchmark (look-up, traversal, insert), the reverse traversal, and the three its
//! authors dropped as redundant: range, scan and update.

use std::hint::black_box;

use super::classes::{self, Backward, Forward, Link, Part};
use super::model::{self, COORDINATES, HOPS, INSERTED, LOOKUPS, Library, State, draws, id};
use crate::bench::measure::{Circuit, Expected, Kind, Progress, Work};
use crate::bench::random::Random;
use crate::bench::store::{self, Counting, Source, Store, ask};
use crate::error::{Error, Result};
use crate::object::{Oid, Value};
use crate::{Parameters, Ref, Transaction, params};

/// Parts that one transaction of the loader stores.
const PARTS_PER_TRANSACTION: usize = 10_000;

/// One operation of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Records by OID in random order.
    Read,
    /// All parts as typed objects, and the parts they connect to.
    Materialize,
    /// A thousand parts by random id.
    LookUp,
    /// Seven hops from a random part.
    Traverse,
    /// Seven hops against the connections.
    TraverseBack,
    /// A hundred parts with their connections.
    Insert,
    /// One hundredth of the parts by id.
    Range,
    /// All parts, one in ten wanted.
    Scan,
    /// A thousand random parts.
    Update,
}

/// The circuit on one database.
#[derive(Debug)]
pub struct Oo1 {
    store: Store,
    library: Library,
    seed: u32,
    /// References to the parts in order of id.
    parts: Vec<Ref<Part>>,
    shuffled: Vec<Oid>,
}

impl Oo1 {
    /// Generates the parts, and stores them.
    pub fn load(mut store: Store, parts: usize, seed: u32, progress: &Progress) -> Result<Oo1> {
        let library = Library::generate(parts, seed);
        classes::define(store.database()?)?;
        let database = store.database()?;
        let mut stored = Vec::with_capacity(parts);
        for run in library.parts.chunks(PARTS_PER_TRANSACTION) {
            progress.now(format!("oo1 loading part {}", stored.len()))?;
            stored.extend(database.transact(|tx| create(tx, stored.len(), run))?);
        }
        for first in (0..parts).step_by(PARTS_PER_TRANSACTION) {
            progress.now(format!("oo1 connecting part {first}"))?;
            let last = (first + PARTS_PER_TRANSACTION).min(parts);
            database
                .transact(|tx| (first..last).try_for_each(|part| connect(tx, &library, &stored, part)))?;
        }
        store.reopen()?;
        let shuffled = store::shuffled(&store.database()?.snapshot(), &["Part"], seed)?;
        Ok(Oo1 {
            store,
            library,
            seed,
            parts: stored,
            shuffled,
        })
    }

    /// All objects loaded.
    pub fn objects(&self) -> u64 {
        u64::try_from(self.library.parts.len()).unwrap_or(u64::MAX)
    }

    /// Bytes on the disk.
    pub fn disk(&self) -> u64 {
        self.store.disk()
    }

    fn draws(&self, operation: Operation, repetition: u32) -> Random {
        draws(self.seed, operation.number(), repetition)
    }

    fn read<S: Source>(&self, source: &S, operation: Operation, random: &mut Random) -> Result<Work> {
        match operation {
            Operation::Read => source.records(&self.shuffled),
            Operation::Materialize => materialize(source, &self.parts),
            Operation::LookUp => self.look_up(source, random),
            Operation::Traverse => self.walk(random, |part, next| {
                let part: Forward = source.present(part.cast())?;
                next.extend(part.to.iter().map(|link| link.part));
                Ok(black_box((part.x, part.y, part.r#type)).0)
            }),
            Operation::TraverseBack => self.walk(random, |part, next| {
                let part: Backward = source.present(part.cast())?;
                next.extend(&part.from);
                Ok(black_box((part.x, part.y, part.r#type)).0)
            }),
            Operation::Range => {
                let (first, last) = self.library.random_range(random);
                let text = "select p.x as x, p.y as y, p.type as type from Part p where p.id between $first and $last";
                query(source, text, params! { first: first, last: last })
            }
            _ => {
                let text = "select p.x as x, p.y as y, p.type as type from Part p where p.y < $bound";
                query(source, text, params! { bound: scan_bound() })
            }
        }
    }

    fn look_up<S: Source>(&self, source: &S, random: &mut Random) -> Result<Work> {
        let mut work = Work::default();
        let mut sum = 0;
        for _ in 0..LOOKUPS {
            let id = id(random.position(self.parts.len()));
            let text = "select p.x as x, p.y as y, p.type as type from Part p where p.id = $id";
            work.rows += ask(source, text, params! { id: id }, |row| sum += first_integer(row))?;
            work.queries += 1;
        }
        work.count = work.rows;
        work.check = Some(sum.cast_unsigned());
        Ok(work)
    }

    /// Visits what is within seven hops of a random part, depth first, again on each way. `visit` decodes a part,
    /// adds those to go on to, and answers its x.
    fn walk(
        &self,
        random: &mut Random,
        visit: impl Fn(Ref<Part>, &mut Vec<Ref<Part>>) -> Result<i64>,
    ) -> Result<Work> {
        let mut work = Work::default();
        let mut sum = 0_i64;
        let mut next = Vec::new();
        let mut waiting = vec![(self.part(random.position(self.parts.len()))?, 0)];
        while let Some((part, hops)) = waiting.pop() {
            sum += visit(part, &mut next)?;
            work.count += 1;
            if hops < HOPS {
                waiting.extend(next.iter().map(|part| (*part, hops + 1)));
            }
            next.clear();
        }
        work.objects = work.count;
        work.check = Some(sum.cast_unsigned());
        Ok(work)
    }

    /// Stores the parts that the model has added.
    fn insert(&mut self) -> Result<Work> {
        let first = self.parts.len();
        let new = self.library.parts.get(first..).unwrap_or_default();
        let parts = self.store.database()?.transact(|tx| {
            let mut parts = self.parts.clone();
            parts.extend(create(tx, first, new)?);
            (first..parts.len()).try_for_each(|part| connect(tx, &self.library, &parts, part))?;
            enter(tx, &self.library, &parts, first)?;
            Ok(parts)
        })?;
        self.parts = parts;
        Ok(Work {
            count: length(new.len()),
            objects: length(new.len()),
            ..Work::default()
        })
    }

    fn update(&self, random: &mut Random) -> Result<Work> {
        let drawn: Vec<usize> = (0..LOOKUPS).map(|_| random.position(self.parts.len())).collect();
        let sum = self.store.database()?.transact(|tx| {
            let mut sum = 0_i64;
            for position in &drawn {
                let reference = self.part(*position)?;
                let mut part = tx.present(reference)?;
                std::mem::swap(&mut part.x, &mut part.y);
                sum += part.x;
                tx.update(reference, &part)?;
            }
            Ok(sum)
        })?;
        Ok(Work {
            count: length(LOOKUPS),
            objects: length(LOOKUPS),
            check: Some(sum.cast_unsigned()),
            ..Work::default()
        })
    }

    fn part(&self, position: usize) -> Result<Ref<Part>> {
        at(&self.parts, position)
    }

    fn state(&self) -> Result<State> {
        let snapshot = self.store.database()?.snapshot();
        let mut state = State::default();
        for part in snapshot.extent::<Part>()? {
            let (_, part) = part?;
            state.add(part.id, part.x, part.y, part.to.len(), part.from.len());
        }
        Ok(state)
    }
}

impl Operation {
    /// Apart for each operation, so that each draws its own random parts.
    fn number(self) -> u32 {
        match self {
            Operation::Read => 0,
            Operation::Materialize => 1,
            Operation::LookUp => 2,
            Operation::Traverse => 3,
            Operation::TraverseBack => 4,
            Operation::Insert => 5,
            Operation::Range => 6,
            Operation::Scan => 7,
            Operation::Update => 8,
        }
    }
}

impl Circuit for Oo1 {
    type Operation = Operation;

    fn groups(&self) -> Vec<Vec<Operation>> {
        use Operation::*;
        let all = [
            Read,
            Materialize,
            LookUp,
            Traverse,
            TraverseBack,
            Range,
            Scan,
            Update,
            Insert,
        ];
        all.into_iter().map(|one| vec![one]).collect()
    }

    fn name(&self, operation: Operation) -> &'static str {
        match operation {
            Operation::Read => "records by oid",
            Operation::Materialize => "parts and targets",
            Operation::LookUp => "lookup",
            Operation::Traverse => "traversal",
            Operation::TraverseBack => "reverse",
            Operation::Insert => "insert",
            Operation::Range => "range",
            Operation::Scan => "scan",
            Operation::Update => "update",
        }
    }

    fn kind(&self, operation: Operation) -> Kind {
        match operation {
            Operation::Read | Operation::Traverse | Operation::TraverseBack => Kind::Read,
            Operation::Materialize => Kind::Materialize,
            Operation::LookUp | Operation::Range | Operation::Scan => Kind::Query,
            Operation::Insert | Operation::Update => Kind::Write,
        }
    }

    fn reopen(&mut self) -> Result<()> {
        self.store.reopen()
    }

    fn prepare(&mut self, operation: Operation, repetition: u32) {
        if operation == Operation::Insert {
            self.library.insert(&mut self.draws(operation, repetition));
        }
    }

    fn run(&mut self, operation: Operation, repetition: u32) -> Result<Work> {
        let mut random = self.draws(operation, repetition);
        match operation {
            Operation::Insert => self.insert(),
            Operation::Update => self.update(&mut random),
            _ => self.read(&self.store.database()?.snapshot(), operation, &mut random),
        }
    }

    fn expect(&mut self, operation: Operation, repetition: u32) -> Expected {
        let mut random = self.draws(operation, repetition);
        let outcome = match operation {
            Operation::Read => return counted(length(self.shuffled.len())),
            Operation::Materialize => {
                let links: usize = self.library.parts.iter().map(|part| part.to.len()).sum();
                return counted(length(self.library.parts.len() + links));
            }
            Operation::LookUp => self.library.look_up(&mut random),
            Operation::Traverse => self.library.traverse(&mut random),
            Operation::TraverseBack => self.library.traverse_back(&mut random),
            Operation::Insert => return counted(length(INSERTED)),
            Operation::Range => self.library.range(self.library.random_range(&mut random)),
            Operation::Scan => self.library.scan(scan_bound()),
            Operation::Update => self.library.update(&mut random),
        };
        Expected {
            check: Some(outcome.sum.cast_unsigned()),
            ..counted(outcome.count)
        }
    }

    fn compare_state(&mut self) -> Result<Option<String>> {
        let (found, wanted) = (self.state()?, self.library.state());
        Ok((found != wanted).then(|| format!("the database holds {found:?}, the model {wanted:?}")))
    }

    fn count_bytes(&mut self, operation: Operation, repetition: u32) -> Result<u64> {
        let counting = Counting::new(self.store.database()?.snapshot());
        self.read(&counting, operation, &mut self.draws(operation, repetition))?;
        Ok(counting.bytes())
    }
}

/// Decodes every part, and for each of its connections the part it reaches.
fn materialize<S: Source>(source: &S, parts: &[Ref<Part>]) -> Result<Work> {
    let mut work = Work::default();
    for part in parts {
        let part = black_box(source.present(*part)?);
        for link in &part.to {
            black_box(source.present(link.part)?);
        }
        work.count += 1 + length(part.to.len());
    }
    work.objects = work.count;
    Ok(work)
}

/// Runs a query whose first column is x.
fn query<S: Source>(source: &S, text: &str, parameters: Parameters) -> Result<Work> {
    let mut sum = 0_i64;
    let rows = ask(source, text, parameters, |row| sum += first_integer(row))?;
    Ok(Work {
        count: rows,
        check: Some(sum.cast_unsigned()),
        queries: 1,
        rows,
        ..Work::default()
    })
}

fn first_integer(row: &[Value]) -> i64 {
    match row.first() {
        Some(Value::Int(number)) => *number,
        _ => 0,
    }
}

/// Stores parts without their connections; the first is at position `first`.
fn create(tx: &mut Transaction, first: usize, parts: &[model::Part]) -> Result<Vec<Ref<Part>>> {
    let parts = parts.iter().enumerate();
    parts
        .map(|(at, model)| tx.insert(&part(first + at, model, &[])?))
        .collect()
}

/// Gives the part at `position` its connections, in both directions as the model has them.
fn connect(tx: &mut Transaction, library: &Library, parts: &[Ref<Part>], position: usize) -> Result<()> {
    let Some(model) = library.parts.get(position) else {
        return Ok(());
    };
    tx.update(at(parts, position)?, &part(position, model, parts)?)
}

/// Enters the connections of the parts from position `first` on in the older parts that they reach.
fn enter(tx: &mut Transaction, library: &Library, parts: &[Ref<Part>], first: usize) -> Result<()> {
    for (model, from) in library.parts.iter().zip(parts).skip(first) {
        for link in model.to.iter().filter(|link| link.to < first) {
            let reference = at(parts, link.to)?;
            let mut reached = tx.present(reference)?;
            reached.from.push(*from);
            tx.update(reference, &reached)?;
        }
    }
    Ok(())
}

/// A part as it is stored; without connections if there are no `parts` to refer to.
fn part(position: usize, model: &model::Part, parts: &[Ref<Part>]) -> Result<Part> {
    let mut stored = Part {
        id: id(position),
        r#type: type_name(model.kind),
        x: model.x,
        y: model.y,
        build: model.date,
        to: Vec::new(),
        from: Vec::new(),
    };
    if !parts.is_empty() {
        let link = |link: &model::Link| {
            Ok(Link {
                part: at(parts, link.to)?,
                r#type: type_name(link.kind),
                length: link.length,
            })
        };
        stored.to = model.to.iter().map(link).collect::<Result<_>>()?;
        stored.from = model
            .from
            .iter()
            .map(|from| at(parts, *from))
            .collect::<Result<_>>()?;
    }
    Ok(stored)
}

fn type_name(kind: u32) -> String {
    format!("part-type{kind}")
}

/// One part in ten has a y below this.
fn scan_bound() -> i64 {
    i64::from(COORDINATES / 10)
}

fn at(parts: &[Ref<Part>], position: usize) -> Result<Ref<Part>> {
    let part = parts.get(position).copied();
    part.ok_or_else(|| Error::NotFound(format!("nothing was stored for part {position} of the model")))
}

fn counted(count: u64) -> Expected {
    Expected {
        count,
        ..Expected::default()
    }
}

fn length(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
