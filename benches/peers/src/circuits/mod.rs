//! The circuits: each builds its stores, runs its work in interleaved rounds and checks every answer.

pub mod commit;
pub mod load;
pub mod materialize;
pub mod overwrite;
pub mod query;
pub mod read;
pub mod scan;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::data::{Items, digest};
use crate::measure::time;
use crate::peers::Peer;
use crate::report::{Duel, Row};

/// What every circuit is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Objects in each store.
    pub objects: usize,
    /// Rounds of each piece of work.
    pub rounds: usize,
    /// The seed of data and order.
    pub seed: u64,
    /// The peers to measure, by name; all if empty.
    pub only: Vec<String>,
    /// Where the stores lie.
    pub directory: PathBuf,
}

impl Settings {
    /// A new, empty directory for one circuit.
    pub fn directory(&self, circuit: &str) -> Result<PathBuf> {
        let directory = self.directory.join(circuit);
        clear(&directory)?;
        std::fs::create_dir_all(&directory).with_context(|| format!("creating {}", directory.display()))?;
        Ok(directory)
    }
}

/// Removes a directory with all in it, if it exists.
pub fn clear(directory: &Path) -> Result<()> {
    if directory.exists() {
        std::fs::remove_dir_all(directory).with_context(|| format!("removing {}", directory.display()))?;
    }
    Ok(())
}

/// What a peer did in one round.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// Operations.
    pub operations: usize,
    /// The answer.
    pub found: u64,
    /// What it should be.
    pub expected: u64,
}

/// Lets all peers do one piece of work in turn, round by round; a peer that fails is told of and gets no figure.
pub fn duel(
    mut duel: Duel,
    rounds: usize,
    peers: &mut [Box<dyn Peer>],
    mut work: impl FnMut(&mut dyn Peer, usize) -> Result<Done>,
) -> Duel {
    duel.rows = peers.iter().map(|peer| Row::new(peer.name())).collect();
    for round in 0..rounds {
        for (peer, row) in peers.iter_mut().zip(&mut duel.rows) {
            if !row.verified {
                continue;
            }
            match time(|| work(peer.as_mut(), round)) {
                (Ok(done), taken) => row.add(done.operations, taken, done.found == done.expected),
                (Err(error), _) => {
                    eprintln!("  {}: {}: {error:#}", duel.work, row.peer);
                    row.verified = false;
                }
            }
        }
    }
    duel
}

/// The digest of all items when each has the number in `values`.
pub fn digest_of_items(items: &Items, values: &[i64]) -> u64 {
    let part = |(key, value): (u64, &i64)| digest(key, items.next(key), *value, &items.payload(key, *value));
    items.keys().zip(values).map(part).fold(0, u64::wrapping_add)
}

/// Whether a peer holds exactly the items with the numbers in `values`; says so where it does not.
pub fn holds(peer: &dyn Peer, items: &Items, values: &[i64]) -> bool {
    match peer.digest() {
        Ok(found) if found == digest_of_items(items, values) => true,
        Ok(_) => {
            eprintln!("  {} does not hold what was written", peer.name());
            false
        }
        Err(error) => {
            eprintln!("  {}: {error:#}", peer.name());
            false
        }
    }
}
