//! One run: the machine's limits first, then the engine at each budget, buffered and durable.

use super::engine::{Engine, measure};
use super::limits::{Limits, bare_limits};
use super::report::{Ceiling, Rate};
use crate::Durability;
use crate::bench::experiment::{Findings, Settings, no_scale};
use crate::error::Result;

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Its name as a scale.
    pub name: &'static str,
    /// Budgets of memory, MiB.
    pub budgets: &'static [usize],
    /// Commits of one object at each budget, buffered; as many objects are read afterwards.
    pub buffered: usize,
    /// The same, durable.
    pub durable: usize,
    /// Threads that commit durably.
    pub threads: usize,
    /// Bytes of the bare file.
    pub bytes: usize,
    /// Groups that the bare file syncs at each number of threads.
    pub syncs: usize,
}

impl Extent {
    /// The extent of a scale.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for an unknown one.
    pub fn parse(scale: Option<&str>) -> Result<Extent> {
        match scale.unwrap_or(FULL.name) {
            "full" => Ok(FULL),
            "tiny" => Ok(TINY),
            other => Err(no_scale("ceiling", other, "the scales are tiny and full")),
        }
    }
}

const FULL: Extent = Extent {
    name: "full",
    budgets: &[2, 4, 8, 16, 32, 64, 128],
    buffered: 40_000,
    durable: 12_800,
    threads: 64,
    bytes: 256 << 20,
    syncs: 200,
};

const TINY: Extent = Extent {
    name: "tiny",
    budgets: &[2, 8],
    buffered: 300,
    durable: 40,
    threads: 4,
    bytes: 1 << 20,
    syncs: 4,
};

/// Runs the circuit.
pub fn run(settings: &Settings<'_>) -> Result<Box<dyn Findings>> {
    let extent = Extent::parse(settings.scale)?;
    let (directory, seed, progress) = (settings.directory, settings.seed, settings.progress);
    progress.now("ceiling: limits of this machine")?;
    let limits = bare_limits(directory, extent, seed)?;
    let mut ceiling = Ceiling::new(extent.name, &limits);
    for budget in extent.budgets {
        for (name, durability) in [("buffer", Durability::Buffer), ("sync", Durability::Sync)] {
            progress.now(format!("ceiling: {budget} MiB, {name}"))?;
            let engine = Engine {
                directory: directory.join(format!("ceiling-{budget}-{name}.olv")),
                memory: budget << 20,
                durability,
                extent,
                seed,
            };
            let done = measure(&engine)?;
            ceiling.differences.extend(done.difference);
            let commit_limit = commit_limit(&limits, durability);
            let mut add = |work, rate, limit| {
                ceiling.rates.push(Rate {
                    budget: *budget,
                    durability: name,
                    work,
                    rate,
                    limit,
                });
            };
            add("commit", done.commits, commit_limit);
            add("random read", done.random, limits.random);
            add(
                "sequential read",
                done.sequential,
                limits.sequential / done.bytes_each,
            );
        }
    }
    Ok(Box::new(ceiling))
}

/// What a bare file does of the same: appends of one commit's bytes, or groups of them with a sync.
fn commit_limit(limits: &Limits, durability: Durability) -> f64 {
    match durability {
        Durability::Buffer => limits.appends,
        Durability::Sync => limits.synced.last().map_or(0.0, |(_, rate)| *rate),
    }
}
