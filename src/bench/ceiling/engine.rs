//! The engine at one budget: real objects with two indexes, committed one by one, read in order and at random.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::circuit::Extent;
use crate::bench::random::Random;
use crate::error::{Error, Result};
use crate::{Database, Durability, Ref, params};

/// What is committed: a unique text, an ordered number, and a little more.
#[derive(Debug, Serialize, Deserialize)]
struct Account {
    code: String,
    balance: i64,
    note: String,
}

impl Account {
    fn new(number: usize) -> Account {
        // Odd multiples of one another's number come in no order.
        let scrambled = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Account {
            code: format!("A{scrambled:020}"),
            balance: balance(number),
            note: format!("account {number}, opened for the benchmark of what a machine can do at most"),
        }
    }
}

fn balance(number: usize) -> i64 {
    (number as i64).wrapping_mul(7919) % BALANCES
}

const BALANCES: i64 = 1_000;

/// What to measure.
#[derive(Debug)]
pub struct Engine {
    /// Where the database is made; removed afterwards.
    pub directory: PathBuf,
    /// Its budget of memory, bytes.
    pub memory: usize,
    /// How it commits.
    pub durability: Durability,
    /// How much is done.
    pub extent: Extent,
    /// The seed of the order of reads.
    pub seed: u32,
}

/// Rates a second.
#[derive(Debug)]
pub struct Done {
    /// Commits of one object.
    pub commits: f64,
    /// Objects read at random, whole.
    pub random: f64,
    /// Objects read in order, whole.
    pub sequential: f64,
    /// Stored bytes of one object.
    pub bytes_each: f64,
    /// What is not as it must be.
    pub difference: Option<String>,
}

/// Commits, reads, and compares what is there with what was committed.
pub fn measure(engine: &Engine) -> Result<Done> {
    let database = Database::options(&engine.directory)
        .memory(engine.memory)
        .durability(engine.durability)
        .open()?;
    database.define::<Account>()?.unique("code")?.index("balance")?;
    let (count, threads) = match engine.durability {
        Durability::Buffer => (engine.extent.buffered, 1),
        Durability::Sync => (engine.extent.durable, engine.extent.threads),
    };
    let start = Instant::now();
    let references = commit_all(&database, count, threads)?;
    let commits = per_second(count, start);
    let (sequential, sum, bytes) = read_in_order(&database)?;
    let random = read_at_random(&database, &references, engine.seed)?;
    let difference = compare(&database, engine, count, sum)?;
    database.close()?;
    std::fs::remove_dir_all(&engine.directory)
        .map_err(|error| Error::io(format!("removing {}", engine.directory.display()), error))?;
    Ok(Done {
        commits,
        random,
        sequential,
        bytes_each: bytes as f64 / count.max(1) as f64,
        difference,
    })
}

fn per_second(count: usize, start: Instant) -> f64 {
    count as f64 / start.elapsed().as_secs_f64().max(1e-9)
}

/// Commits accounts `0..count`, one a transaction, shared out among threads.
fn commit_all(database: &Database, count: usize, threads: usize) -> Result<Vec<Ref<Account>>> {
    let shares: Vec<Result<Vec<Ref<Account>>>> = std::thread::scope(|scope| {
        let share = |first: usize| {
            let commit = move |number| {
                let mut transaction = database.begin()?;
                let reference = transaction.insert(&Account::new(number))?;
                transaction.commit()?;
                Ok(reference)
            };
            scope.spawn(move || (first..count).step_by(threads).map(commit).collect())
        };
        let running: Vec<_> = (0..threads).map(share).collect();
        running
            .into_iter()
            .map(|thread| {
                let ended = thread.join();
                ended.unwrap_or_else(|_| Err(Error::other("a committing thread ended in a panic")))
            })
            .collect()
    });
    let mut references = Vec::with_capacity(count);
    for share in shares {
        references.extend(share?);
    }
    Ok(references)
}

/// Objects a second, the sum of the balances, and the bytes of all bodies.
fn read_in_order(database: &Database) -> Result<(f64, i64, usize)> {
    let snapshot = database.snapshot();
    let (mut count, mut sum, mut references) = (0, 0i64, Vec::new());
    let start = Instant::now();
    for account in snapshot.extent::<Account>()? {
        let (reference, account) = account?;
        sum = sum.wrapping_add(account.balance);
        count += 1;
        references.push(reference);
        black_box(account.note);
    }
    let rate = per_second(count, start);
    let mut bytes = 0;
    for reference in references {
        bytes += snapshot.stored(reference)?.map_or(0, |stored| stored.size());
    }
    Ok((rate, sum, bytes))
}

fn read_at_random(database: &Database, references: &[Ref<Account>], seed: u32) -> Result<f64> {
    let snapshot = database.snapshot();
    let mut random = Random::new(seed);
    let start = Instant::now();
    for _ in references {
        if let Some(reference) = references.get(random.position(references.len())) {
            black_box(snapshot.get(*reference)?);
        }
    }
    Ok(per_second(references.len(), start))
}

/// A sentence where the objects, or what an index finds, are not those committed.
fn compare(database: &Database, engine: &Engine, count: usize, sum: i64) -> Result<Option<String>> {
    let snapshot = database.snapshot();
    let expected: i64 = (0..count).map(balance).sum();
    let counted = |text: &str, value: i64| -> Result<i64> {
        let mut rows = snapshot.query(text, params! { value: value })?;
        let row = rows.next().transpose()?;
        let number = row.and_then(|row| row.get(0)?.as_int());
        number.ok_or_else(|| Error::other(format!("{text} gave no number")))
    };
    let all = counted("select count(*) from Account where balance >= $value", 0)?;
    let some = counted("select count(*) from Account where balance = $value", balance(1))?;
    let twins = (0..count).filter(|number| balance(*number) == balance(1)).count();
    let found = (all, some, sum);
    let wanted = (count as i64, twins as i64, expected);
    Ok((found != wanted).then(|| {
        let name = engine.directory.display();
        format!("{name}: all, those of one balance, and the sum are {found:?}, not {wanted:?}")
    }))
}
