//! Circuits with a report of their own: each is one function from its settings to its findings, and one line in
//! [`EXPERIMENTS`].

use std::path::Path;

use serde_json::{Value, json};

use super::machine::Machine;
use super::measure::Progress;
use super::posting;
use super::search;
use super::{aging, ceiling};
use crate::Durability;
use crate::error::{Error, Result};

/// What an experiment may know of what the user asked.
pub struct Settings<'a> {
    /// The scale, if one was given.
    pub scale: Option<&'a str>,
    /// Gigabytes of work, if given; only to an experiment that takes them.
    pub gigabytes: Option<f64>,
    /// The seed of all random choices.
    pub seed: u32,
    /// Of the commits that are measured.
    pub durability: Durability,
    /// An existing directory for its databases.
    pub directory: &'a Path,
    /// Where it says what it does, and learns that the user asked to stop.
    pub progress: &'a Progress,
}

/// What an experiment found.
pub trait Findings {
    /// As a table for people.
    fn table(&self) -> String;
    /// As the fields of an object for programs, to which circuit, version, settings and machine are added.
    fn json(&self) -> Value;
    /// What is not as the model says; empty where all is verified.
    fn differences(&self) -> &[String];
}

/// One experiment.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name as a circuit.
    pub name: &'static str,
    /// Whether it takes gigabytes of work.
    pub takes_gigabytes: bool,
    /// Runs it.
    pub run: fn(&Settings<'_>) -> Result<Box<dyn Findings>>,
}

const EXPERIMENTS: [Experiment; 4] = [
    Experiment {
        name: "posting",
        takes_gigabytes: true,
        run: posting::run,
    },
    Experiment {
        name: "ceiling",
        takes_gigabytes: false,
        run: ceiling::run,
    },
    Experiment {
        name: "aging",
        takes_gigabytes: false,
        run: aging::run,
    },
    Experiment {
        name: "search",
        takes_gigabytes: false,
        run: search::run,
    },
];

impl Experiment {
    /// The experiment of this name.
    pub fn named(name: &str) -> Option<Experiment> {
        EXPERIMENTS.into_iter().find(|one| one.name == name)
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        EXPERIMENTS.iter().map(|one| one.name)
    }

    /// The findings as JSON, with what every report states.
    pub fn json(&self, findings: &dyn Findings, settings: &Settings<'_>) -> Value {
        let mut report = json!({
            "circuit": self.name,
            "olivine": env!("CARGO_PKG_VERSION"),
            "seed": settings.seed,
            "durability": durability_name(settings.durability),
            "machine": Machine::this().json(),
            "verified": findings.differences().is_empty(),
            "differences": findings.differences(),
        });
        if let (Value::Object(report), Value::Object(fields)) = (&mut report, findings.json()) {
            report.extend(fields);
        }
        report
    }
}

/// `sync` or `buffer`.
pub fn durability_name(durability: Durability) -> &'static str {
    match durability {
        Durability::Buffer => "buffer",
        _ => "sync",
    }
}

/// Refuses a scale that `experiment` does not have.
pub fn no_scale(experiment: &str, scale: &str, scales: &str) -> Error {
    Error::Argument(format!("there is no {experiment} scale `{scale}`; {scales}"))
}
