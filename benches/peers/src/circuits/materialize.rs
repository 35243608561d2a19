//! Whole objects as owned values of a Rust struct: a string of 12 characters and a list of 4 references. In key order
//! and at random, against a clone out of the standard library's hash map.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use heed::byteorder::BigEndian;
use heed::types::{Bytes, U64};
use olivine::{Database, Oid, Ref};
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::measure::time;
use crate::peers::{OLIVINE, SQLITE, begin_buffered, open_lmdb, open_olivine, open_sqlite};
use crate::random::Random;
use crate::report::{Bound, Clock, Duel, Report, Row, Unit};

const FRIENDS: usize = 4;
const BATCH: usize = 10_000;

/// What every peer gives back: the same struct, with references as they are kept there.
#[derive(Debug, Clone)]
struct Plain {
    name: String,
    friends: Vec<u64>,
}

/// Olivine's class.
#[derive(Debug, Serialize, Deserialize)]
struct Person {
    name: String,
    friends: Vec<Ref<Person>>,
}

/// A store of people by key.
trait People {
    fn name(&self) -> &'static str;
    /// It gets one operation of this many.
    fn share(&self) -> usize;
    /// The sum over the people of these keys, each made whole.
    fn at(&self, keys: &[u64]) -> Result<u64>;
    /// The sum over the first `limit` people in key order, each made whole, and how many there were.
    fn scan(&self, limit: usize) -> Result<(usize, u64)>;
}

/// Runs the circuit.
pub fn run(settings: &Settings, report: &mut Report) -> Result<()> {
    let people = generate(settings.objects.div_ceil(4), settings.seed);
    let directory = settings.directory("materialize")?;
    let peers: Vec<Box<dyn People>> = vec![
        Box::new(InOlivine::load(&directory.join("olivine"), &people)?),
        Box::new(InMap(
            people
                .iter()
                .cloned()
                .zip(0..)
                .map(|(person, key)| (key, person))
                .collect(),
        )),
        Box::new(InLmdb::load(&directory.join("lmdb"), &people)?),
        Box::new(InSqlite::load(&directory.join("sqlite.db"), &people)?),
    ];
    let scanned = scan(&people, &peers, settings.rounds);
    let faster = scanned.ratio("HashMap", OLIVINE);
    report.mark(
        "typed objects, scanning, faster than HashMap clones",
        faster,
        Bound::AtLeast(2.0),
    );
    report.add(scanned);
    let random = at_random(&people, &peers, settings);
    let faster = random.ratio("HashMap", OLIVINE);
    report.mark(
        "typed objects, at random, faster than HashMap clones",
        faster,
        Bound::AtLeast(1.0),
    );
    report.add(random);
    Ok(())
}

fn generate(count: usize, seed: u64) -> Vec<Plain> {
    let mut random = Random::new(seed ^ 0x7065_6f70);
    let person = |_| Plain {
        name: format!("{:012x}", random.next() >> 16),
        friends: (0..FRIENDS).map(|_| random.below(count as u64)).collect(),
    };
    (0..count).map(person).collect()
}

/// What one person adds to a sum.
fn sum_of(name: &str, friends: impl Iterator<Item = u64>) -> u64 {
    let last = name.as_bytes().last().copied().unwrap_or_default();
    friends.fold(u64::from(last) + name.len() as u64, u64::wrapping_add)
}

fn sum_of_plain(person: &Plain) -> u64 {
    sum_of(&person.name, person.friends.iter().copied())
}

fn scan(people: &[Plain], peers: &[Box<dyn People>], rounds: usize) -> Duel {
    let expected = people.iter().map(sum_of_plain).fold(0, u64::wrapping_add);
    let work = "materialize: struct of a string and 4 references, scanning";
    let mut duel = Duel::new(work, Clock::Thread, Unit::NanosecondsAnObject);
    duel.rows = peers.iter().map(|peer| Row::new(peer.name())).collect();
    for _ in 0..rounds {
        for (peer, row) in peers.iter().zip(&mut duel.rows) {
            let (found, taken) = time(|| peer.scan(people.len()));
            let verified = matches!(found, Ok(found) if found == (people.len(), expected));
            row.add(people.len(), taken, verified);
        }
    }
    duel
}

fn at_random(people: &[Plain], peers: &[Box<dyn People>], settings: &Settings) -> Duel {
    let mut random = Random::new(settings.seed ^ 0x7261_6e64);
    let keys: Vec<u64> = (0..people.len() * 2)
        .map(|_| random.below(people.len() as u64))
        .collect();
    let work = "materialize: struct of a string and 4 references, at random";
    let mut duel = Duel::new(work, Clock::Thread, Unit::NanosecondsAnObject);
    duel.rows = peers.iter().map(|peer| Row::new(peer.name())).collect();
    for _ in 0..settings.rounds {
        for (peer, row) in peers.iter().zip(&mut duel.rows) {
            let keys = &keys[..keys.len() / peer.share()];
            let expected = keys.iter().map(|key| sum_of_plain(&people[*key as usize]));
            let expected = expected.fold(0, u64::wrapping_add);
            let (found, taken) = time(|| peer.at(keys));
            row.add(keys.len(), taken, matches!(found, Ok(found) if found == expected));
        }
    }
    duel
}

struct InMap(HashMap<u64, Plain>);

impl InMap {
    fn get(&self, key: u64) -> Result<u64> {
        let person = self
            .0
            .get(&key)
            .ok_or_else(|| anyhow!("no person {key}"))?
            .clone();
        Ok(sum_of_plain(&black_box(person)))
    }
}

impl People for InMap {
    fn name(&self) -> &'static str {
        "HashMap"
    }

    fn share(&self) -> usize {
        1
    }

    fn at(&self, keys: &[u64]) -> Result<u64> {
        keys.iter()
            .try_fold(0u64, |sum, key| Ok(sum.wrapping_add(self.get(*key)?)))
    }

    fn scan(&self, limit: usize) -> Result<(usize, u64)> {
        let sum =
            (0..limit as u64).try_fold(0u64, |sum, key| anyhow::Ok(sum.wrapping_add(self.get(key)?)))?;
        Ok((self.0.len(), sum))
    }
}

struct InOlivine {
    database: Database,
    first: u64,
}

impl InOlivine {
    fn load(path: &Path, people: &[Plain]) -> Result<Self> {
        let database = open_olivine(path)?;
        database.define::<Person>()?;
        let mut probe = database.begin()?;
        let first = probe
            .insert(&Person {
                name: String::new(),
                friends: Vec::new(),
            })?
            .oid()
            .to_bits()
            + 1;
        probe.rollback();
        let olivine = InOlivine { database, first };
        for (people, batch) in people.chunks(BATCH).zip(0u64..) {
            let mut transaction = begin_buffered(&olivine.database)?;
            for (person, at) in people.iter().zip(batch * BATCH as u64..) {
                let friends = person
                    .friends
                    .iter()
                    .map(|key| olivine.reference(*key))
                    .collect::<Result<_>>()?;
                let reference = transaction.insert(&Person {
                    name: person.name.clone(),
                    friends,
                })?;
                ensure!(
                    reference == olivine.reference(at)?,
                    "an object has another number than the next"
                );
            }
            transaction.commit()?;
        }
        olivine.database.checkpoint()?;
        Ok(olivine)
    }

    fn reference(&self, key: u64) -> Result<Ref<Person>> {
        let oid = Oid::from_bits(self.first + key).ok_or_else(|| anyhow!("no object for the key {key}"))?;
        Ok(Ref::from_oid(oid))
    }

    fn sum(&self, person: Person) -> u64 {
        let person = black_box(person);
        sum_of(
            &person.name,
            person
                .friends
                .iter()
                .map(|friend| friend.oid().to_bits() - self.first),
        )
    }
}

impl People for InOlivine {
    fn name(&self) -> &'static str {
        OLIVINE
    }

    fn share(&self) -> usize {
        1
    }

    fn at(&self, keys: &[u64]) -> Result<u64> {
        let snapshot = self.database.snapshot();
        keys.iter().try_fold(0u64, |sum, key| {
            let person = snapshot
                .get(self.reference(*key)?)?
                .ok_or_else(|| anyhow!("no person {key}"))?;
            Ok(sum.wrapping_add(self.sum(person)))
        })
    }

    fn scan(&self, limit: usize) -> Result<(usize, u64)> {
        let (mut count, mut sum) = (0, 0u64);
        for item in self.database.snapshot().extent::<Person>()?.take(limit) {
            sum = sum.wrapping_add(self.sum(item?.1));
            count += 1;
        }
        Ok((count, sum))
    }
}

/// The name, then the keys of the friends, 8 bytes each: decoded by hand.
struct InLmdb {
    environment: heed::Env,
    table: heed::Database<U64<BigEndian>, Bytes>,
}

impl InLmdb {
    fn load(path: &Path, people: &[Plain]) -> Result<Self> {
        let environment = open_lmdb(path)?;
        let mut transaction = environment.write_txn()?;
        let table = environment.create_database(&mut transaction, None)?;
        for (person, key) in people.iter().zip(0..) {
            table.put(&mut transaction, &key, to_bytes(person).as_slice())?;
        }
        transaction.commit()?;
        Ok(InLmdb { environment, table })
    }
}

fn to_bytes(person: &Plain) -> Vec<u8> {
    let mut bytes = vec![person.name.len() as u8];
    bytes.extend_from_slice(person.name.as_bytes());
    bytes.extend_from_slice(&friends_to_bytes(&person.friends));
    bytes
}

fn from_bytes(bytes: &[u8]) -> Result<Plain> {
    let (length, rest) = bytes.split_first().ok_or_else(|| anyhow!("an empty person"))?;
    let (name, friends) = rest.split_at(usize::from(*length));
    Ok(Plain {
        name: std::str::from_utf8(name)?.to_owned(),
        friends: friends_from_bytes(friends),
    })
}

fn friends_to_bytes(friends: &[u64]) -> Vec<u8> {
    friends.iter().flat_map(|friend| friend.to_le_bytes()).collect()
}

fn friends_from_bytes(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

impl People for InLmdb {
    fn name(&self) -> &'static str {
        "LMDB, codec by hand"
    }

    fn share(&self) -> usize {
        2
    }

    fn at(&self, keys: &[u64]) -> Result<u64> {
        let transaction = self.environment.read_txn()?;
        keys.iter().try_fold(0u64, |sum, key| {
            let bytes = self
                .table
                .get(&transaction, key)?
                .ok_or_else(|| anyhow!("no person {key}"))?;
            Ok(sum.wrapping_add(sum_of_plain(&black_box(from_bytes(bytes)?))))
        })
    }

    fn scan(&self, limit: usize) -> Result<(usize, u64)> {
        let transaction = self.environment.read_txn()?;
        let (mut count, mut sum) = (0, 0u64);
        for item in self.table.iter(&transaction)?.take(limit) {
            sum = sum.wrapping_add(sum_of_plain(&black_box(from_bytes(item?.1)?)));
            count += 1;
        }
        Ok((count, sum))
    }
}

/// The name as text, the keys of the friends as a blob.
struct InSqlite(rusqlite::Connection);

impl InSqlite {
    fn load(path: &Path, people: &[Plain]) -> Result<Self> {
        let connection = open_sqlite(path)?;
        connection.execute_batch(
            "create table person(key integer primary key, name text not null, friends blob not null)",
        )?;
        let transaction = connection.unchecked_transaction()?;
        {
            let mut insert = transaction.prepare("insert into person values (?1, ?2, ?3)")?;
            for (person, key) in people.iter().zip(0u64..) {
                insert.execute(rusqlite::params![
                    key,
                    person.name,
                    friends_to_bytes(&person.friends)
                ])?;
            }
        }
        transaction.commit()?;
        Ok(InSqlite(connection))
    }
}

fn sum_of_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<u64> {
    let friends = friends_from_bytes(row.get_ref(1)?.as_blob()?);
    Ok(sum_of_plain(&black_box(Plain {
        name: row.get(0)?,
        friends,
    })))
}

impl People for InSqlite {
    fn name(&self) -> &'static str {
        SQLITE
    }

    fn share(&self) -> usize {
        8
    }

    fn at(&self, keys: &[u64]) -> Result<u64> {
        let transaction = self.0.unchecked_transaction()?;
        let mut select = transaction.prepare("select name, friends from person where key = ?1")?;
        keys.iter().try_fold(0u64, |sum, key| {
            Ok(sum.wrapping_add(select.query_row([key], sum_of_row)?))
        })
    }

    fn scan(&self, limit: usize) -> Result<(usize, u64)> {
        let mut select = self.0.prepare("select name, friends from person limit ?1")?;
        let mut rows = select.query([limit])?;
        let (mut count, mut sum) = (0, 0u64);
        while let Some(row) = rows.next()? {
            sum = sum.wrapping_add(sum_of_row(row)?);
            count += 1;
        }
        Ok((count, sum))
    }
}
