//! Random overwrites, 1,000 items a transaction, none of which waits for the disk.

use anyhow::Result;

use super::{Done, Settings, duel, holds};
use crate::data::{Items, VALUES};
use crate::peers::{Change, OLIVINE, Peer, SQLITE, load_all};
use crate::random::Random;
use crate::report::{Bound, Clock, Duel, Report, Unit};

const BATCH: usize = 1_000;
/// Transactions of the fastest peers in one round.
const TRANSACTIONS: usize = 160;

/// Runs the circuit.
pub fn run(settings: &Settings, report: &mut Report) -> Result<()> {
    let items = Items::new(settings.objects, settings.seed);
    let mut peers = load_all(&settings.directory("overwrite")?, &items, &settings.only)?;
    let rounds: Vec<Vec<Change>> = (0..settings.rounds)
        .map(|round| changes(&items, settings.seed, round))
        .collect();
    let work = "overwrite: random items, 1,000 a transaction, no sync";
    let started = Duel::new(work, Clock::Wall, Unit::ThousandObjectsASecond);
    let mut measured = duel(started, settings.rounds, &mut peers, |peer, round| {
        let part = part(rounds.get(round), peer.share());
        peer.overwrite(part, BATCH)?;
        Ok(Done {
            operations: part.len(),
            found: 0,
            expected: 0,
        })
    });
    for (peer, row) in peers.iter().zip(&mut measured.rows) {
        row.verified &= holds(
            peer.as_ref(),
            &items,
            &values_after(&items, &rounds, peer.as_ref()),
        );
    }
    let faster = measured.ratio(SQLITE, OLIVINE);
    report.mark(
        "random overwrite, 1,000 a transaction, faster than SQLite",
        faster,
        Bound::AtLeast(10.0),
    );
    report.add(measured);
    Ok(())
}

fn changes(items: &Items, seed: u64, round: usize) -> Vec<Change> {
    let mut random = Random::new(seed ^ (round as u64 + 1) << 32);
    let mut change = || {
        let key = random.below(items.len() as u64);
        Change {
            key,
            body: items.body(key, random.below(VALUES) as i64),
        }
    };
    (0..TRANSACTIONS * BATCH).map(|_| change()).collect()
}

/// What a peer that gets one of `share` operations does of a round: whole transactions.
fn part(round: Option<&Vec<Change>>, share: usize) -> &[Change] {
    let all = round.map_or(&[][..], Vec::as_slice);
    &all[..all.len() / share / BATCH * BATCH]
}

fn values_after(items: &Items, rounds: &[Vec<Change>], peer: &dyn Peer) -> Vec<i64> {
    let mut values: Vec<i64> = items.keys().map(|key| items.value(key)).collect();
    for round in rounds {
        for change in part(Some(round), peer.share()) {
            if let Some(value) = values.get_mut(change.key as usize) {
                *value = crate::data::value_of(&change.body);
            }
        }
    }
    values
}
