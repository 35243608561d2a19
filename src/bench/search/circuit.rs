//! The curve: 1, 2, 3 and more threads until three steps in a row gain nothing, then a hundred and a thousand.
//!
//! Each step is the median of its rounds. The curve is walked for both cases: without a writer, and while one thread commits updates of
//! the searched attribute.

use std::time::Duration;

use super::classes::Entry;
use super::report::{Curve, SearchReport, Step};
use super::step::{Round, Search};
use crate::Ref;
use crate::bench::experiment::{Findings, Settings, no_scale};
use crate::bench::store::Store;
use crate::error::{Error, Result};

/// How much is searched.
#[derive(Debug, Clone, Copy)]
struct Extent {
    name: &'static str,
    entries: u32,
    time: Duration,
    rounds: usize,
    /// Numbers of threads after the peak.
    crowds: [usize; 2],
}

const FULL: Extent = Extent {
    name: "full",
    entries: 100_000,
    time: Duration::from_millis(400),
    rounds: 5,
    crowds: [100, 1_000],
};

const TINY: Extent = Extent {
    name: "tiny",
    entries: 300,
    time: Duration::from_millis(10),
    rounds: 1,
    crowds: [20, 40],
};

/// Steps in a row without gain that end the climb.
const PATIENCE: usize = 3;
/// Steps at most, whatever they gain.
const MOST_STEPS: usize = 256;

/// Loads the directory and walks both curves.
pub fn run(settings: &Settings<'_>) -> Result<Box<dyn Findings>> {
    let extent = match settings.scale.unwrap_or(FULL.name) {
        "full" => FULL,
        "tiny" => TINY,
        other => return Err(no_scale("search", other, "the scales are tiny and full")),
    };
    settings.progress.now("search: loading")?;
    let mut store = Store::create(settings.directory.join("search.olv"), settings.durability)?;
    let entries = load(&store, extent.entries)?;
    let mut report = SearchReport::new(extent.name, extent.entries, extent.rounds);
    for writer in [false, true] {
        let search = Search {
            database: store.database()?,
            entries: &entries,
            time: extent.time,
            seed: settings.seed,
        };
        match walk(&search, extent, writer, settings) {
            Ok(curve) => report.curves.push(curve),
            Err(Error::Other(difference)) => report.differ(difference.to_string()),
            Err(error) => return Err(error),
        }
    }
    store.reopen()?;
    if let Some(difference) = difference(&store, &entries)? {
        report.differ(difference);
    }
    store.close()?;
    Ok(Box::new(report))
}

fn load(store: &Store, count: u32) -> Result<Vec<Ref<Entry>>> {
    let database = store.database()?;
    database.define::<Entry>()?.index("uid")?;
    let numbers: Vec<u32> = (0..count).collect();
    let mut entries = Vec::with_capacity(numbers.len());
    for part in numbers.chunks(1_000) {
        entries.extend(database.transact(|tx| {
            let insert = |number: &u32| tx.insert(&Entry::new(*number));
            part.iter().map(insert).collect::<Result<Vec<_>>>()
        })?);
    }
    Ok(entries)
}

/// Climbs once, then walks the same steps again, round by round: what else the machine does meets all steps alike.
fn walk(search: &Search<'_>, extent: Extent, writer: bool, settings: &Settings<'_>) -> Result<Curve> {
    let measure = |threads: usize| {
        let beside = if writer { " beside a writer" } else { "" };
        settings
            .progress
            .now(format!("search: {threads} threads{beside}"))?;
        search.round(threads, writer)
    };
    let mut steps = climb(&measure)?;
    for threads in extent.crowds {
        steps.push((threads, vec![measure(threads)?]));
    }
    for _ in 1..extent.rounds {
        for (threads, rounds) in &mut steps {
            rounds.push(measure(*threads)?);
        }
    }
    let steps = steps.into_iter().map(|(threads, rounds)| median(threads, rounds));
    Ok(Curve {
        writer,
        steps: steps.collect(),
    })
}

/// One thread more a step, until three steps in a row gain nothing.
fn climb(measure: &impl Fn(usize) -> Result<Round>) -> Result<Vec<(usize, Vec<Round>)>> {
    let mut steps = Vec::new();
    let (mut peak, mut idle) = (0.0, 0);
    for threads in 1..=MOST_STEPS {
        let round = measure(threads)?;
        idle = if round.searches > peak { 0 } else { idle + 1 };
        peak = round.searches.max(peak);
        steps.push((threads, vec![round]));
        if idle == PATIENCE {
            break;
        }
    }
    Ok(steps)
}

fn median(threads: usize, mut rounds: Vec<Round>) -> Step {
    rounds.sort_by(|one, other| one.searches.total_cmp(&other.searches));
    let middle = rounds.get(rounds.len() / 2).copied().unwrap_or_default();
    Step {
        threads,
        searches: middle.searches,
        best: rounds.last().map_or(0.0, |round| round.searches),
        updates: middle.updates,
    }
}

/// Compares every entry with what it must be; the searched values are those that were loaded, in some order.
fn difference(store: &Store, entries: &[Ref<Entry>]) -> Result<Option<String>> {
    let mut values = std::collections::BTreeSet::new();
    for entry in store.database()?.snapshot().extent::<Entry>()? {
        let (reference, entry) = entry?;
        let place = usize::try_from(entry.number).ok();
        if place.and_then(|place| entries.get(place)) != Some(&reference) || !entry.is_whole() {
            return Ok(Some(format!("{reference:?} holds {entry:?}")));
        }
        values.insert(entry.uid);
    }
    let wanted = (0..).map(super::classes::uid).take(entries.len());
    Ok(
        match values
            .iter()
            .eq(&wanted.collect::<std::collections::BTreeSet<_>>())
        {
            true => None,
            false => Some("the values of the searched attribute are not those that were loaded".into()),
        },
    )
}
