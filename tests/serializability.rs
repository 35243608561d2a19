//! A model checker for serializable transactions.
//!
//! Several transactions run interleaved and write down all they read. Afterwards those that committed are run again, one
//! after the other in the order of their commit numbers, on a model of a few lines; those that only read run where their
//! snapshot stands. Every answer must be the same: then that order explains the history. A seed makes a history; the seed
//! of one that has no explanation is printed.

use std::collections::BTreeMap;
use std::ops::Range;

use olivine::{
    Class, Database, Durability, Error, Isolation, MergeRule, Object, Oid, Transaction, TransactionOptions,
    Type, Value,
};

/// What is asked or done, all of it small enough that transactions meet.
#[derive(Debug, Clone)]
enum Operation {
    /// Both attributes of an object, if it is there.
    Get(Oid),
    /// Whether it is there.
    Exists(Oid),
    /// All objects by a scan with a condition on an attribute without an index.
    Scan(i64),
    /// The number of all objects of a class.
    Count(&'static str),
    /// The keys of objects with indexed values in a range, through the index.
    Range(Range<i64>),
    /// The same, only how many.
    CountRange(Range<i64>),
    /// The object with a unique key.
    Find(i64),
    /// The first few in index order.
    Least(i64),
    /// A new object; its identifier is known once it was run.
    Insert(&'static str, i64, i64),
    /// A new value, whatever the old one.
    Set(Oid, i64),
    /// A new value that depends on the old one.
    Add(Oid, i64),
    /// An increment of a counter, read by nobody.
    Increment(Oid, i64),
    /// A new value of an attribute that nothing else depends on, whatever the old one.
    Note(Oid, i64),
    /// An update by a condition.
    AddWhere(Range<i64>, i64),
    Delete(Oid),
    Savepoint,
    Rollback,
}

/// What came of an operation: numbers, or the object it made.
type Answer = Vec<i64>;

/// Histories, and operations and commits of each; `SERIALIZABILITY=n` runs n times as many histories.
const HISTORIES: u64 = 100;
const STEPS: u64 = 400;

#[derive(Debug, Default)]
struct History {
    /// The commit it counts as, what was run, and what came of it.
    transactions: Vec<Ran>,
}

#[derive(Debug, Default)]
struct Ran {
    /// Its commit, or that of its snapshot where it wrote nothing.
    commit: u64,
    writes: bool,
    steps: Vec<(Operation, Answer)>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn value(&mut self) -> i64 {
        self.below(30) as i64
    }

    fn range(&mut self) -> Range<i64> {
        let start = self.value();
        start..start + 1 + self.below(6) as i64
    }
}

fn database() -> (Database, Vec<Oid>) {
    let db = Database::in_memory().unwrap();
    let class = Class::new("A")
        .attribute("k", Type::Int)
        .attribute("v", Type::Int)
        .attribute("w", Type::Int)
        .attribute("u", Type::Int)
        .attribute_merge("c", Type::Int, MergeRule::Counter);
    db.define_class(class.unique("k").index("v").index("c")).unwrap();
    db.define_class(Class::new("B").extends("A")).unwrap();
    let oids = db
        .transact(|tx| {
            (0..6)
                .map(|n| tx.insert_object(object(if n < 4 { "A" } else { "B" }, n, n * 5)))
                .collect()
        })
        .unwrap();
    (db, oids)
}

fn object(class: &str, k: i64, v: i64) -> Object {
    Object::new(class)
        .with("k", k)
        .with("v", v)
        .with("w", v)
        .with("u", 0)
}

fn choose(random: &mut Random, known: &[Oid]) -> Operation {
    let oid = known[random.below(known.len() as u64) as usize];
    let class = if random.below(3) == 0 { "B" } else { "A" };
    match random.below(27) {
        0..=2 => Operation::Get(oid),
        3 => Operation::Exists(oid),
        4 => Operation::Scan(random.value()),
        5 => Operation::Count(class),
        6..=7 => Operation::Range(random.range()),
        8 => Operation::CountRange(random.range()),
        9..=10 => Operation::Find(random.below(12) as i64),
        11 => Operation::Least(1 + random.below(3) as i64),
        12..=13 => Operation::Insert(class, random.below(12) as i64, random.value()),
        14..=15 => Operation::Set(oid, random.value()),
        16 => Operation::Add(oid, 1 + random.below(3) as i64),
        17 => Operation::AddWhere(random.range(), 2),
        18 => Operation::Delete(oid),
        19 => Operation::Savepoint,
        20 => Operation::Rollback,
        21..=23 => Operation::Increment(oid, 1 + random.below(5) as i64),
        24..=25 => Operation::Note(oid, random.value()),
        _ => Operation::Get(oid),
    }
}

fn ints(tx: &Transaction, text: &str, parameters: impl Into<olivine::Parameters>) -> Answer {
    let rows = tx.query(text, parameters).unwrap();
    let int = |value: &Value| value.as_int().unwrap();
    rows.flat_map(|row| row.unwrap().values().iter().map(int).collect::<Vec<_>>())
        .collect()
}

fn attribute(object: &Object, name: &str) -> i64 {
    object.get(name).unwrap().as_int().unwrap()
}

/// Runs an operation, and writes down what came of it.
fn run(tx: &mut Transaction, operation: &Operation) -> Answer {
    match operation {
        Operation::Get(oid) => match tx.object(*oid).unwrap() {
            Some(object) => ["k", "v", "c", "u"].map(|name| attribute(&object, name)).to_vec(),
            None => vec![],
        },
        Operation::Exists(oid) => vec![i64::from(tx.exists(*oid).unwrap())],
        Operation::Scan(value) => ints(
            tx,
            "select a.k from A a where a.w + 0 >= $1 order by a.k",
            (*value,),
        ),
        Operation::Count(class) => ints(tx, &format!("select count(*) from {class}"), ()),
        Operation::Range(range) => {
            let text = "select a.k from A a where a.v >= $1 and a.v < $2 order by a.k";
            ints(tx, text, (range.start, range.end))
        }
        Operation::CountRange(range) => ints(
            tx,
            "select count(*) from A a where a.v >= $1 and a.v < $2",
            (range.start, range.end),
        ),
        Operation::Find(k) => ints(tx, "select a.v from A a where a.k = $1", (*k,)),
        Operation::Least(limit) => {
            let rows = ints(
                tx,
                "select a.v from A a where a.v >= 0 order by a.v limit $1",
                (*limit,),
            );
            rows.into_iter().collect()
        }
        Operation::Insert(class, k, v) => {
            vec![tx.insert_object(object(class, *k, *v)).unwrap().to_bits() as i64]
        }
        Operation::Set(oid, v) => changed(tx.update_object(*oid, [("v", (*v).into()), ("w", (*v).into())])),
        Operation::Add(oid, by) => match tx.object(*oid).unwrap() {
            Some(object) => {
                let v = attribute(&object, "v") + by;
                changed(tx.update_object(*oid, [("v", v.into()), ("w", v.into())]))
            }
            None => vec![0],
        },
        Operation::Increment(oid, by) => changed(tx.increment(*oid, "c", *by)),
        Operation::Note(oid, u) => changed(tx.update_object(*oid, [("u", (*u).into())])),
        Operation::AddWhere(range, by) => {
            let rows = tx
                .query(
                    "select a from A a where a.v >= $1 and a.v < $2",
                    (range.start, range.end),
                )
                .unwrap();
            let oids: Vec<Oid> = rows
                .map(|row| match row.unwrap().values() {
                    [Value::Reference(oid)] => *oid,
                    other => panic!("{other:?}"),
                })
                .collect();
            for oid in &oids {
                run(tx, &Operation::Add(*oid, *by));
            }
            vec![oids.len() as i64]
        }
        Operation::Delete(oid) => changed(tx.delete(*oid)),
        Operation::Savepoint => {
            tx.savepoint("s");
            vec![]
        }
        Operation::Rollback => vec![i64::from(tx.rollback_to("s").is_ok())],
    }
}

fn changed(outcome: olivine::Result<()>) -> Answer {
    match outcome {
        Ok(()) => vec![1],
        Err(Error::NotFound(_)) => vec![0],
        Err(other) => panic!("{other}"),
    }
}

/// The model: each object's class, key, value, and counter and note.
type Model = BTreeMap<Oid, (&'static str, i64, i64, [i64; 2])>;

/// The same operation on the model. A new object gets the identifier it got.
fn run_model(
    model: &mut Model,
    savepoints: &mut Vec<Model>,
    operation: &Operation,
    answer: &Answer,
) -> Answer {
    let within = |range: &Range<i64>, model: &Model| -> Vec<Oid> {
        model
            .iter()
            .filter(|(_, (_, _, v, _))| range.contains(v))
            .map(|(oid, _)| *oid)
            .collect()
    };
    let keys = |oids: Vec<Oid>, model: &Model| {
        let mut keys: Vec<i64> = oids.iter().map(|oid| model[oid].1).collect();
        keys.sort_unstable();
        keys
    };
    let change = |oid: &Oid, by: &dyn Fn(i64) -> i64, model: &mut Model| match model.get_mut(oid) {
        Some((_, _, v, _)) => {
            *v = by(*v);
            vec![1]
        }
        None => vec![0],
    };
    let change_other = |oid: &Oid, by: &dyn Fn(&mut [i64; 2]), model: &mut Model| {
        let found = model.get_mut(oid).map(|(_, _, _, other)| by(other));
        vec![i64::from(found.is_some())]
    };
    match operation {
        Operation::Get(oid) => model
            .get(oid)
            .map_or(vec![], |(_, k, v, [c, u])| vec![*k, *v, *c, *u]),
        Operation::Exists(oid) => vec![i64::from(model.contains_key(oid))],
        Operation::Scan(value) => keys(within(&(*value..i64::MAX), model), model),
        Operation::Count(class) => {
            vec![
                model
                    .values()
                    .filter(|(own, ..)| *class == "A" || own == class)
                    .count() as i64,
            ]
        }
        Operation::Range(range) => keys(within(range, model), model),
        Operation::CountRange(range) => vec![within(range, model).len() as i64],
        Operation::Find(wanted) => model
            .values()
            .filter(|(_, k, ..)| k == wanted)
            .map(|(_, _, v, _)| *v)
            .collect(),
        Operation::Least(limit) => {
            let mut values: Vec<i64> = model.values().map(|(_, _, v, _)| *v).collect();
            values.sort_unstable();
            values.truncate(*limit as usize);
            values
        }
        Operation::Insert(class, k, v) => {
            let oid = Oid::from_bits(answer[0] as u64).unwrap();
            model.insert(oid, (class, *k, *v, [0; 2]));
            answer.clone()
        }
        Operation::Set(oid, v) => change(oid, &|_| *v, model),
        Operation::Add(oid, by) => change(oid, &|v| v + by, model),
        Operation::Increment(oid, by) => change_other(oid, &|other| other[0] += by, model),
        Operation::Note(oid, u) => change_other(oid, &|other| other[1] = *u, model),
        Operation::AddWhere(range, by) => {
            let oids = within(range, model);
            for oid in &oids {
                change(oid, &|v| v + by, model);
            }
            vec![oids.len() as i64]
        }
        Operation::Delete(oid) => vec![i64::from(model.remove(oid).is_some())],
        Operation::Savepoint => {
            savepoints.push(model.clone());
            vec![]
        }
        Operation::Rollback => match savepoints.last() {
            Some(savepoint) => {
                model.clone_from(savepoint);
                vec![1]
            }
            None => vec![0],
        },
    }
}

impl History {
    /// Why the order of commits does not explain the answers, if it does not.
    fn problem(mut self, start: Model) -> Option<String> {
        // A reader stands after the commit it read; writers have numbers of their own.
        self.transactions.sort_by_key(|ran| (ran.commit, !ran.writes));
        let mut model = start;
        for (number, ran) in self.transactions.iter().enumerate() {
            let mut own = model.clone();
            let mut savepoints = Vec::new();
            for (operation, answer) in &ran.steps {
                let expected = run_model(&mut own, &mut savepoints, operation, answer);
                if expected != *answer {
                    return Some(format!(
                        "transaction {number} (commit {}): {operation:?} gave {answer:?}, not {expected:?}",
                        ran.commit
                    ));
                }
            }
            if ran.writes {
                model = own;
            }
            let mut unique: Vec<i64> = model.values().map(|(_, k, ..)| *k).collect();
            unique.sort_unstable();
            if unique.windows(2).any(|pair| pair[0] == pair[1]) {
                return Some(format!("transaction {number}: one unique key twice"));
            }
        }
        None
    }
}

fn start(oids: &[Oid]) -> Model {
    let place = |(n, oid): (usize, &Oid)| {
        let class = if n < 4 { "A" } else { "B" };
        (*oid, (class, n as i64, n as i64 * 5, [0; 2]))
    };
    oids.iter().enumerate().map(place).collect()
}

fn begin(db: &Database, isolation: Isolation) -> Transaction {
    let options = TransactionOptions {
        isolation,
        durability: Some(Durability::Buffer),
        label: None,
    };
    db.begin_with(options).unwrap()
}

/// Counts of what became of transactions.
#[derive(Debug, Default)]
struct Outcomes {
    committed: u64,
    conflicts: u64,
    duplicates: u64,
}

fn finish(tx: Transaction, mut ran: Ran, history: &mut History, outcomes: &mut Outcomes) -> bool {
    ran.writes = !tx.is_unchanged();
    match tx.commit() {
        Ok(number) => {
            ran.commit = number.0;
            history.transactions.push(ran);
            outcomes.committed += 1;
            return true;
        }
        Err(Error::Conflict(_)) => outcomes.conflicts += 1,
        Err(Error::Constraint(_)) => outcomes.duplicates += 1,
        Err(other) => panic!("{other}"),
    }
    false
}

/// One history of interleaved transactions; what is wrong with it, if anything.
fn check(seed: u64, isolation: Isolation, outcomes: &mut Outcomes) -> Option<String> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (db, oids) = database();
    let mut known = oids.clone();
    let mut history = History::default();
    let mut open: Vec<(Transaction, Ran)> = Vec::new();
    for _ in 0..STEPS {
        if open.len() < 4 && random.below(4) == 0 {
            open.push((begin(&db, isolation), Ran::default()));
        }
        if open.is_empty() {
            continue;
        }
        let at = random.below(open.len() as u64) as usize;
        if random.below(8) == 0 {
            let (tx, ran) = open.swap_remove(at);
            let made: Vec<Oid> = inserted(&ran);
            if random.below(10) > 0 && finish(tx, ran, &mut history, outcomes) {
                known.extend(made);
                let old = known.len().saturating_sub(12);
                known.drain(..old);
            }
            continue;
        }
        let operation = choose(&mut random, &known);
        let (tx, ran) = &mut open[at];
        let answer = run(tx, &operation);
        ran.steps.push((operation, answer));
    }
    for (tx, ran) in open {
        finish(tx, ran, &mut history, outcomes);
    }
    history.transactions.push(last_look(&db, &known));
    history.problem(start(&oids))
}

/// What objects have come to, counters included, which nothing may have read before.
fn last_look(db: &Database, oids: &[Oid]) -> Ran {
    let mut tx = begin(db, Isolation::Serializable);
    let mut ran = Ran {
        commit: tx.commit_number().0,
        ..Ran::default()
    };
    for oid in oids {
        let operation = Operation::Get(*oid);
        let answer = run(&mut tx, &operation);
        ran.steps.push((operation, answer));
    }
    ran
}

fn inserted(ran: &Ran) -> Vec<Oid> {
    let made = |(operation, answer): &(Operation, Answer)| match operation {
        Operation::Insert(..) => Oid::from_bits(answer[0] as u64),
        _ => None,
    };
    ran.steps.iter().filter_map(made).collect()
}

#[test]
fn a_serial_order_explains_thousands_of_interleavings() {
    let mut outcomes = Outcomes::default();
    let times = std::env::var("SERIALIZABILITY").map_or(1, |times| times.parse().unwrap());
    for seed in 1..=HISTORIES * times {
        if let Some(problem) = check(seed, Isolation::Serializable, &mut outcomes) {
            panic!("seed {seed}: {problem}");
        }
    }
    let Outcomes {
        committed,
        conflicts,
        duplicates,
    } = outcomes;
    assert!(
        committed > 1_500 && conflicts > 500 && duplicates > 50,
        "{outcomes:?}"
    );
}

#[test]
fn the_checker_finds_what_goes_wrong_without_the_comparison_of_reads() {
    let mut outcomes = Outcomes::default();
    let found = (1..=200).find_map(|seed| check(seed, Isolation::Snapshot, &mut outcomes));
    let found = found.expect("snapshot isolation allows histories that no serial order explains");
    assert!(found.contains("gave"), "{found}");
}

#[test]
fn a_serial_order_explains_what_threads_did() {
    for round in 0..4u64 {
        let (db, oids) = database();
        let histories: Vec<Vec<Ran>> = std::thread::scope(|scope| {
            let work = |thread: u64| {
                let (db, oids) = (&db, &oids);
                move || {
                    let mut random =
                        Random((round * 10 + thread + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
                    let (mut history, mut outcomes) = (History::default(), Outcomes::default());
                    for _ in 0..60 {
                        let (mut tx, mut ran) = (begin(db, Isolation::Serializable), Ran::default());
                        for _ in 0..=random.below(8) {
                            let operation = choose(&mut random, oids);
                            let answer = run(&mut tx, &operation);
                            ran.steps.push((operation, answer));
                        }
                        finish(tx, ran, &mut history, &mut outcomes);
                    }
                    history.transactions
                }
            };
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(work(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut history = History {
            transactions: histories.into_iter().flatten().collect(),
        };
        history.transactions.push(last_look(&db, &oids));
        if let Some(problem) = history.problem(start(&oids)) {
            panic!("round {round}: {problem}");
        }
    }
}
