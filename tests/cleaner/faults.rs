//! Power cuts and full disks at any operation of a workload that is cleaned, checkpointed and indexed all along.

use olivine::Error;
use olivine::testing::Fault;

use super::*;
use crate::random::{Random, seeds};

/// What was acknowledged, and the step that may have reached the disk or not.
#[derive(Debug, Default)]
struct Record {
    things: BTreeMap<Oid, (i64, String)>,
    pending: Option<BTreeMap<Oid, (i64, String)>>,
    closed: bool,
}

impl Record {
    fn expected(&self) -> Things {
        self.things.values().cloned().collect()
    }

    fn assert_holds(&self, found: &Things, place: &str) {
        let pending = self.pending.as_ref();
        let pending: Option<Things> = pending.map(|next| next.values().cloned().collect());
        let sound = *found == self.expected() || pending.as_ref() == Some(found);
        assert!(
            sound,
            "{place}: {} things, not what was acknowledged",
            found.len()
        );
    }
}

const STEPS: u64 = 26;

/// Commits, deletes, compacts, checkpoints; stops at the first failure.
fn workload(database: &Database, seed: u64, record: &mut Record) -> Result<()> {
    let mut random = Random::new(seed);
    if record.things.is_empty() && database.statistics().classes == 0 {
        define(database)?;
    }
    let mut held = database.snapshot();
    let mut seen = record.expected();
    for round in 0..STEPS {
        step(database, &mut random, round, record)?;
        match round % 6 {
            2 => database.checkpoint()?,
            4 => drop(database.compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))?),
            5 => {
                assert_eq!(things(&held), seen, "a snapshot changed");
                held = database.snapshot();
                seen = record.expected();
            }
            _ => {}
        }
    }
    assert_eq!(things(&held), seen, "a snapshot changed");
    Ok(())
}

fn step(database: &Database, random: &mut Random, round: u64, record: &mut Record) -> Result<()> {
    let mut next = record.things.clone();
    let mut tx = database.begin()?;
    for number in 0..12 {
        let key = (round * 100 + number) as i64;
        let len = if random.one_in(6) { 30_000 } else { 2_000 };
        let known = random.below(next.len().max(1) as u64) as usize;
        match (random.below(3), next.keys().nth(known).copied()) {
            (0, Some(oid)) => {
                tx.delete(oid)?;
                next.remove(&oid);
            }
            (1, Some(oid)) => {
                let (key, value) = next.get_mut(&oid).unwrap();
                *value = text(*key, round, len);
                change(&mut tx, oid, value)?;
            }
            _ => {
                let value = text(key, round, len);
                next.insert(tx.insert_object(thing(key, &value))?, (key, value));
            }
        }
    }
    record.pending = Some(next);
    tx.commit()?;
    record.things = record.pending.take().unwrap_or_default();
    Ok(())
}

fn run(database: Database, seed: u64, record: &mut Record) -> Result<()> {
    workload(&database, seed, record)?;
    database.close()?;
    record.closed = true;
    Ok(())
}

fn operations(seed: u64) -> u64 {
    let disk = FaultyDisk::new();
    run(open(&disk).unwrap(), seed, &mut Record::default()).unwrap();
    disk.operations()
}

fn cut_at(operation: u64, seed: u64) {
    let place = format!("power cut at operation {operation}, seed {seed}");
    let disk = FaultyDisk::new();
    disk.set_fault(Fault::PowerCut(operation));
    let mut record = Record::default();
    let outcome = open(&disk).and_then(|database| run(database, seed, &mut record));
    assert!(outcome.is_err() || record.closed, "{place}");
    let image = disk.after_power_cut(seed ^ operation).unwrap();
    let database = open(&image).unwrap_or_else(|error| panic!("{place}: {error}"));
    if database.statistics().classes == 0 {
        assert!(record.things.is_empty(), "{place}");
        return;
    }
    record.assert_holds(&things(&database.snapshot()), &place);
    compact(&database);
    record.assert_holds(&things(&database.snapshot()), &place);
    create(&database, 1_000_000..1_000_010, 100);
    let report = database.check().unwrap();
    assert!(report.is_clean(), "{place}: {report}");
}

#[test]
fn a_power_cut_while_cleaning_loses_nothing_acknowledged() {
    for seed in seeds(1) {
        let operations = operations(seed);
        let mut random = Random::new(seed);
        for _ in 0..40 {
            cut_at(1 + random.below(operations), seed);
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_power_cut_at_every_operation_while_cleaning_loses_nothing_acknowledged() {
    for seed in seeds(4) {
        for operation in 1..=operations(seed) {
            cut_at(operation, seed);
        }
    }
}

/// Runs the workload with a disk that is full at one operation: what fails, fails alone, and all goes on afterwards.
fn full_at(operation: u64, seed: u64) {
    let place = format!("full disk at operation {operation}, seed {seed}");
    let disk = FaultyDisk::new();
    disk.set_fault(Fault::NoSpace(operation));
    let mut record = Record::default();
    let Ok(database) = open(&disk) else { return };
    let outcome = workload(&database, seed, &mut record);
    if database.statistics().classes == 0 {
        return;
    }
    if let Err(error) = outcome {
        let expected = matches!(
            error,
            Error::NoSpace { .. } | Error::ReadOnly(_) | Error::Io { .. }
        );
        assert!(expected, "{place}: {error}");
        assert_eq!(things(&database.snapshot()), record.expected(), "{place}");
    }
    // A write that failed half-way ends all writing until the database is opened again; reading goes on either way.
    let probe = Class::new("Probe").attribute("text", Type::String);
    let probed = database.define_class(probe).and_then(|()| database.checkpoint());
    let database = match probed {
        Ok(()) => database,
        Err(error) => {
            assert!(!matches!(error, Error::Corruption(_)), "{place}: {error}");
            drop(database);
            open(&disk).unwrap_or_else(|error| panic!("{place}: {error}"))
        }
    };
    record.assert_holds(&things(&database.snapshot()), &place);
    compact(&database);
    create(&database, 1_000_000..1_000_010, 100);
    let report = database.check().unwrap();
    assert!(report.is_clean(), "{place}: {report}");
}

#[test]
fn a_full_disk_while_cleaning_loses_nothing_and_all_goes_on() {
    for seed in seeds(1) {
        let operations = operations(seed);
        let mut random = Random::new(seed);
        for _ in 0..30 {
            full_at(1 + random.below(operations), seed);
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_full_disk_at_every_operation_while_cleaning_loses_nothing() {
    for seed in seeds(2) {
        for operation in 1..=operations(seed) {
            full_at(operation, seed);
        }
    }
}

#[test]
fn deletes_and_the_cleaner_work_when_the_disk_is_full() {
    let disk = FaultyDisk::new();
    let database = open(&disk).unwrap();
    define(&database).unwrap();
    let mut oids = create(&database, 0..4000, 1000);
    database.checkpoint().unwrap();
    disk.set_capacity(Some(disk.bytes()));
    let mut key = 10_000;
    // Until nothing fits any more.
    let full = loop {
        let created = database.transact(|tx| tx.insert_object(thing(key, &text(key, 0, 1000))));
        key += 1;
        match created {
            Ok(oid) => oids.push(oid),
            Err(error) => break error,
        }
    };
    assert!(matches!(full, Error::NoSpace { .. }), "{full}");
    for part in oids.chunks(50).take(70) {
        database
            .transact(|tx| part.iter().map(|oid| tx.delete(*oid)).collect::<Result<Vec<_>>>())
            .unwrap();
    }
    let before = things(&database.snapshot());
    let report = compact(&database);
    assert!(report.bytes_freed > 2_000_000, "{report}");
    assert_eq!(things(&database.snapshot()), before);
    create(&database, 20_000..20_100, 1000);
    assert!(database.check().unwrap().is_clean());
}
