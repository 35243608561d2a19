//! Neighbours are read three times: when the objects are fresh, after a fifth of them were overwritten in random order, and
//! after `compact`. A stretch of reading takes 100 objects with consecutive identifiers from a random place, each decoded
//! whole, and adds up their values; the same places in all three states and in every round, and the best round counts.

use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::report::{AgingReport, State};
use crate::bench::experiment::{Findings, Settings};
use crate::bench::random::Random;
use crate::bench::store::Store;
use crate::error::{Error, Result};
use crate::{CompactOptions, Database, Durability, Ref, TransactionOptions};

/// Objects read at a stretch.
const NEIGHBOURS: usize = 100;
/// Objects overwritten by a transaction.
const BATCH: usize = 1_000;
const ROUNDS: usize = 5;

/// How much is done.
#[derive(Debug, Clone, Copy)]
struct Extent {
    objects: usize,
    stretches: usize,
}

impl Extent {
    fn asked(settings: &Settings<'_>) -> Result<Extent> {
        match settings.scale {
            None | Some("full") => Ok(Extent {
                objects: 5_000_000,
                stretches: 5_000,
            }),
            Some("tiny") => Ok(Extent {
                objects: 20_000,
                stretches: 100,
            }),
            Some(other) => Err(Error::Argument(format!(
                "aging has the scales full and tiny, not {other}"
            ))),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Reading {
    value: i64,
    text: String,
}

impl Reading {
    fn new(value: i64) -> Reading {
        let length = 60 + value.unsigned_abs() as usize % 80;
        Reading {
            value,
            text: format!("{value:>length$}"),
        }
    }
}

/// Loads, reads, overwrites, reads, compacts, reads; every sum is compared with the model.
pub fn run(settings: &Settings<'_>) -> Result<Box<dyn Findings>> {
    let extent = Extent::asked(settings)?;
    let mut store = Store::create(settings.directory.join("aging.olv"), settings.durability)?;
    let database = store.database()?.clone();
    database.define::<Reading>()?;
    settings.progress.now("loading".to_owned())?;
    let mut model: Vec<i64> = (0..extent.objects as i64).collect();
    let readings = load(&database, &model)?;
    database.checkpoint()?;
    let mut random = Random::new(settings.seed);
    let last = extent.objects.saturating_sub(NEIGHBOURS);
    let places: Vec<usize> = (0..extent.stretches).map(|_| random.position(last)).collect();
    let mut report = AgingReport::new(extent.objects, extent.objects / 5, extent.stretches);
    let mut reads = Reads {
        readings: &readings,
        places: &places,
    };
    settings.progress.now("reading what is fresh".to_owned())?;
    reads.measure(&database, &model, "fresh", &mut report)?;
    settings.progress.now("overwriting".to_owned())?;
    report.overwrites = overwrite(&database, &readings, &mut model, &mut random, extent.objects / 5)?;
    database.checkpoint()?;
    settings.progress.now("reading what is overwritten".to_owned())?;
    reads.measure(&database, &model, "overwritten", &mut report)?;
    settings.progress.now("compacting".to_owned())?;
    let started = Instant::now();
    database.compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))?;
    report.compact_seconds = started.elapsed().as_secs_f64();
    settings.progress.now("reading what is compact".to_owned())?;
    reads.measure(&database, &model, "compact", &mut report)?;
    verify(&database, &model, &mut report)?;
    drop(database);
    report.disk = store.disk();
    store.close()?;
    Ok(Box::new(report))
}

fn load(database: &Database, model: &[i64]) -> Result<Vec<Ref<Reading>>> {
    database.load(|loader| {
        model
            .iter()
            .map(|value| loader.insert(&Reading::new(*value)))
            .collect()
    })
}

/// Overwrites `count` random objects; overwrites a second.
fn overwrite(
    database: &Database,
    readings: &[Ref<Reading>],
    model: &mut [i64],
    random: &mut Random,
    count: usize,
) -> Result<f64> {
    let options = TransactionOptions {
        durability: Some(Durability::Buffer),
        ..TransactionOptions::default()
    };
    let started = Instant::now();
    for first in (0..count).step_by(BATCH) {
        let mut tx = database.begin_with(options.clone())?;
        for number in first..(first + BATCH).min(count) {
            let at = random.position(readings.len());
            let value = number as i64 + 1_000_000_000;
            if let (Some(reading), Some(expected)) = (readings.get(at), model.get_mut(at)) {
                tx.update(*reading, &Reading::new(value))?;
                *expected = value;
            }
        }
        tx.commit()?;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64().max(1e-9))
}

struct Reads<'a> {
    readings: &'a [Ref<Reading>],
    places: &'a [usize],
}

impl Reads<'_> {
    fn measure(
        &mut self,
        database: &Database,
        model: &[i64],
        state: &'static str,
        report: &mut AgingReport,
    ) -> Result<()> {
        let stretch = |at: &usize| model.get(*at..at + NEIGHBOURS).unwrap_or_default();
        let expected: i64 = self.places.iter().flat_map(stretch).sum();
        let mut rounds = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let snapshot = database.snapshot();
            let started = Instant::now();
            let mut sum = 0i64;
            for at in self.places {
                for reading in self.readings.get(*at..at + NEIGHBOURS).unwrap_or_default() {
                    sum += snapshot.get(*reading)?.map_or(0, |reading| reading.value);
                }
            }
            let objects = (self.places.len() * NEIGHBOURS).max(1);
            rounds.push(started.elapsed().as_secs_f64() * 1e9 / objects as f64);
            if sum != expected {
                report.differ(format!("{state}: the values add up to {sum}, not to {expected}"));
            }
        }
        report.states.push(State::of(state, rounds));
        Ok(())
    }
}

fn verify(database: &Database, model: &[i64], report: &mut AgingReport) -> Result<()> {
    let mut expected = model.iter();
    for found in database.snapshot().extent::<Reading>()? {
        let (reference, reading) = found?;
        if expected.next() != Some(&reading.value) || reading.text != Reading::new(reading.value).text {
            report.differ(format!("{:?} is not what was written last", reference.oid()));
        }
    }
    let missing = expected.count();
    if missing > 0 {
        report.differ(format!("{missing} objects are missing"));
    }
    Ok(())
}
