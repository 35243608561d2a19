//! Reads by key, all data in memory: any item, the item the last one refers to, a small hot set, and neighbours.

use anyhow::Result;

use super::{Done, Settings, duel, holds};
use crate::data::Items;
use crate::peers::{NEIGHBOURS, OLIVINE, Peer, Reads, SQLITE, load_all};
use crate::random::Random;
use crate::report::{Bound, Clock, Duel, Report, Unit};

/// Reads of the fastest peers in one round.
const READS: usize = 1_000_000;
const HOT_SET: u64 = 5_000;

/// Runs the circuit.
pub fn run(settings: &Settings, report: &mut Report) -> Result<()> {
    let items = Items::new(settings.objects, settings.seed);
    let mut peers = load_all(&settings.directory("read")?, &items, &settings.only)?;
    let values: Vec<i64> = items.keys().map(|key| items.value(key)).collect();
    let others: Vec<_> = peers.iter().flat_map(|peer| peer.other_ways()).collect();
    peers.extend(others);
    peers.retain(|peer| holds(peer.as_ref(), &items, &values));
    for (name, reads) in works(&items, settings.seed) {
        let measured = measure(name, &reads, &items, &mut peers, settings.rounds);
        mark(name, &measured, report);
        report.add(measured);
    }
    Ok(())
}

const RANDOM: &str = "random read by OID";
const NEAR: &str = "100 neighbours by OID";

fn works(items: &Items, seed: u64) -> Vec<(&'static str, Reads)> {
    let mut random = Random::new(seed ^ 0x7265_6164);
    let count = items.len() as u64;
    let mut draw = |bound: u64, times: usize| (0..times).map(|_| random.below(bound)).collect::<Vec<u64>>();
    let starts = READS / NEIGHBOURS as usize;
    vec![
        (RANDOM, Reads::Each(draw(count, READS))),
        (
            "random read, hot set of 5,000",
            Reads::Each(draw(HOT_SET.min(count), READS)),
        ),
        (
            "dependent read, next OID from the value",
            Reads::Chain(0, READS / 2),
        ),
        (
            NEAR,
            Reads::Neighbours(draw(count.saturating_sub(NEIGHBOURS).max(1), starts)),
        ),
    ]
}

fn measure(name: &str, reads: &Reads, items: &Items, peers: &mut [Box<dyn Peer>], rounds: usize) -> Duel {
    let parts: Vec<(usize, Reads, u64)> = [1, 2, 4, 8]
        .into_iter()
        .filter_map(|share| {
            let part = reads.part(share);
            let expected = part.run(&mut { items }).ok()?;
            Some((share, part, expected))
        })
        .collect();
    let started = Duel::new(format!("read: {name}"), Clock::Thread, Unit::NanosecondsAnObject);
    duel(started, rounds, peers, |peer, _| {
        let part = parts.iter().find(|(share, ..)| *share == peer.share());
        let (_, part, expected) = part.ok_or_else(|| anyhow::anyhow!("no part of {}", peer.share()))?;
        Ok(Done {
            operations: part.operations(),
            found: peer.read(part)?,
            expected: *expected,
        })
    })
}

fn mark(name: &str, measured: &Duel, report: &mut Report) {
    if name == RANDOM {
        let bound = measured.ratio(OLIVINE, "Vec");
        report.mark(
            "random read by OID, times a Vec look-up",
            bound,
            Bound::AtMost(2.5),
        );
        for (peer, times) in [("LMDB", 2.0), ("fjall", 4.0), (SQLITE, 4.0)] {
            let faster = measured.ratio(peer, OLIVINE);
            report.mark(
                format!("random read by OID, faster than {peer}"),
                faster,
                Bound::AtLeast(times),
            );
        }
    }
    if name == NEAR {
        let bound = measured.ratio(OLIVINE, "Vec");
        report.mark("100 neighbours by OID, times the Vec", bound, Bound::AtMost(1.5));
    }
}
