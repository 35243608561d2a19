//! The report of the aging circuit.

use serde_json::{Value, json};

use crate::bench::experiment::Findings;

/// Reading neighbours in one state.
#[derive(Debug)]
pub struct State {
    name: &'static str,
    /// Nanoseconds an object, the rounds in order.
    rounds: Vec<f64>,
}

impl State {
    pub(super) fn of(name: &'static str, rounds: Vec<f64>) -> State {
        State { name, rounds }
    }

    fn best(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// What a run of the aging circuit gave.
#[derive(Debug)]
pub struct AgingReport {
    objects: usize,
    overwritten: usize,
    stretches: usize,
    pub states: Vec<State>,
    /// A second.
    pub overwrites: f64,
    pub compact_seconds: f64,
    pub disk: u64,
    differences: Vec<String>,
}

/// Differences listed; more are left out.
const MOST_DIFFERENCES: usize = 10;

impl AgingReport {
    pub(super) fn new(objects: usize, overwritten: usize, stretches: usize) -> AgingReport {
        AgingReport {
            objects,
            overwritten,
            stretches,
            states: Vec::new(),
            overwrites: 0.0,
            compact_seconds: 0.0,
            disk: 0,
            differences: Vec::new(),
        }
    }

    pub(super) fn differ(&mut self, difference: String) {
        if self.differences.len() < MOST_DIFFERENCES {
            self.differences.push(difference);
        }
    }

    /// The time of a state by that of the first.
    fn ratio(&self, state: &State) -> f64 {
        let fresh = self.states.first().map_or(0.0, State::best);
        state.best() / fresh.max(1e-9)
    }
}

impl Findings for AgingReport {
    fn table(&self) -> String {
        let mut text = format!(
            "aging: {} objects, {} overwritten at random; {} stretches of 100 neighbours\n\n\
             state          best ns/object   by fresh\n",
            self.objects, self.overwritten, self.stretches
        );
        for state in &self.states {
            let (best, ratio) = (state.best(), self.ratio(state));
            text.push_str(&format!("{:<14} {best:>14.1} {ratio:>10.2}\n", state.name));
        }
        text.push_str(&format!(
            "\n{:.0} overwrites/s, compact {:.1} s, on the disk {:.0} MB; {}\n",
            self.overwrites,
            self.compact_seconds,
            self.disk as f64 / 1e6,
            if self.differences.is_empty() {
                "verified"
            } else {
                "NOT as written"
            }
        ));
        text
    }

    fn json(&self) -> Value {
        let states = self.states.iter().map(|state| {
            json!({ "state": state.name, "rounds": state.rounds, "best": state.best(), "by_fresh": self.ratio(state) })
        });
        json!({
            "objects": self.objects,
            "overwritten": self.overwritten,
            "states": states.collect::<Vec<_>>(),
            "overwrites": self.overwrites,
            "compact_seconds": self.compact_seconds,
            "disk_bytes": self.disk,
        })
    }

    fn differences(&self) -> &[String] {
        &self.differences
    }
}
