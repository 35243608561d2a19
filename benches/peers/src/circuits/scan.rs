//! A scan of all items with one predicate: freshly loaded, and after half of them were overwritten at random.

use anyhow::Result;

use super::{Done, Settings, duel, holds};
use crate::data::{Items, VALUES};
use crate::peers::{Change, OLIVINE, Peer, SQLITE, load_all};
use crate::random::Random;
use crate::report::{Bound, Clock, Duel, Report, Unit};

/// A tenth of the items has a number above this.
const ABOVE: i64 = VALUES as i64 * 9 / 10 - 1;
const BATCH: usize = 1_000;

/// Runs the circuit.
pub fn run(settings: &Settings, report: &mut Report) -> Result<()> {
    let items = Items::new(settings.objects, settings.seed);
    let mut peers = load_all(&settings.directory("scan")?, &items, &settings.only)?;
    let mut values: Vec<i64> = items.keys().map(|key| items.value(key)).collect();
    peers.retain(|peer| holds(peer.as_ref(), &items, &values));
    let fresh = measure("freshly loaded", &values, &mut peers, settings.rounds);
    let faster = fresh.ratio(SQLITE, OLIVINE);
    report.mark(
        "extent scan with a predicate, faster than SQLite",
        faster,
        Bound::AtLeast(2.0),
    );
    report.add(fresh);

    let changes = half(&items, &mut values, settings.seed);
    for peer in &mut peers {
        eprintln!("  overwriting half of {}", peer.name());
        peer.overwrite(&changes, BATCH)?;
    }
    drop(changes);
    peers.retain(|peer| holds(peer.as_ref(), &items, &values));
    let overwritten = measure("half overwritten at random", &values, &mut peers, settings.rounds);
    let faster = overwritten.ratio(SQLITE, OLIVINE);
    let text = "the same after half was overwritten, faster than SQLite";
    report.mark(text, faster, Bound::AtLeast(1.5));
    report.add(overwritten);
    Ok(())
}

fn measure(state: &str, values: &[i64], peers: &mut [Box<dyn Peer>], rounds: usize) -> Duel {
    let expected = values.iter().filter(|value| **value > ABOVE).count() as u64;
    let work = format!("scan: count of value > {ABOVE}, {state}");
    let started = Duel::new(work, Clock::Thread, Unit::NanosecondsAnObject);
    duel(started, rounds, peers, |peer, _| {
        Ok(Done {
            operations: values.len(),
            found: peer.count_above(ABOVE)?,
            expected,
        })
    })
}

/// New states of half of the items, in random order; `values` become what they then are.
fn half(items: &Items, values: &mut [i64], seed: u64) -> Vec<Change> {
    let mut random = Random::new(seed ^ 0x6861_6c66);
    let mut keys: Vec<u64> = items.keys().collect();
    for last in (1..keys.len()).rev() {
        keys.swap(last, random.below(last as u64 + 1) as usize);
    }
    keys.truncate(keys.len() / 2);
    let mut change = |key: u64| {
        let value = random.below(VALUES) as i64;
        if let Some(place) = values.get_mut(key as usize) {
            *place = value;
        }
        Change {
            key,
            body: items.body(key, value),
        }
    };
    keys.into_iter().map(&mut change).collect()
}
