//! One run of `olivine bench`: which circuits, in what directory, and where the report goes.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::debian::{self, Debian, Graph};
use super::experiment::{Experiment, Settings, durability_name};
use super::measure::{Circuit, INTERRUPTED, Measured, Progress, measure};
use super::oo1::{self, Oo1};
use super::oo7::{Oo7, Scale};
use super::report::{CircuitReport, Report};
use super::store::Store;
use super::wordnet::{self, WordNet};
use serde_json::Value;

use crate::Durability;
use crate::error::{Error, Result};

/// What the user asked of `olivine bench`.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    /// `oo7`, `oo1`, `debian` or `ceiling`; the first three in turn if absent.
    pub circuit: Option<String>,
    /// The scale of the circuit, such as `tiny`, `small-3`, `medium-9` (oo7) or `tiny`, `small`, `large` (oo1),
    /// `tiny`, `full` (debian, ceiling); each circuit has its default. Not without a circuit.
    pub scale: Option<String>,
    /// The seed of all random choices; 1 if absent, for which the published counts hold.
    pub seed: Option<u32>,
    /// `sync` (the default) or `buffer`.
    pub durability: Option<String>,
    /// Where the databases are made and kept; a temporary directory that is removed afterwards if absent.
    pub directory: Option<PathBuf>,
    /// Where the report is written as JSON, beside the table on standard output.
    pub json: Option<PathBuf>,
    /// The folder of WordNet's files, for `wordnet` alone; where Debian puts them if absent.
    pub data: Option<PathBuf>,
    /// Gigabytes of work, for `posting` alone; 4 if absent.
    pub gigabytes: Option<f64>,
}

/// Runs the circuits asked for and prints the report on standard output.
///
/// # Errors
/// [`Error::Argument`] for an unknown circuit, scale or durability; [`Error::Other`] naming what differs from the
/// models, after the report was written; [`Error::Cancelled`] if interrupted; and whatever the database answers.
pub fn run(arguments: Arguments) -> Result<()> {
    let experiment = arguments.circuit.as_deref().and_then(Experiment::named);
    if arguments.gigabytes.is_some() && !experiment.is_some_and(|one| one.takes_gigabytes) {
        return Err(refused("gigabytes of work belong to the circuit posting"));
    }
    if arguments.data.is_some() && arguments.circuit.as_deref() != Some("wordnet") {
        return Err(refused("a folder of data belongs to the circuit wordnet"));
    }
    // Fails only where something else took the signal first; then that decides what an interrupt does.
    let _ = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
    let printed = match experiment {
        Some(experiment) => run_experiment(&experiment, &arguments)?,
        None => run_suite(&Plan::of(&arguments)?, &arguments)?,
    };
    print!("{}", printed.table);
    if let Some(file) = &arguments.json {
        let written = std::fs::write(file, format!("{:#}\n", printed.json));
        written.map_err(|error| Error::io(format!("writing {}", file.display()), error))?;
    }
    match printed.differences.as_slice() {
        [] => Ok(()),
        differences => Err(Error::other(format!(
            "the benchmark's data is wrong: {}",
            differences.join("; ")
        ))),
    }
}

/// A report, as it goes out.
struct Printed {
    table: String,
    json: Value,
    differences: Vec<String>,
}

fn run_experiment(experiment: &Experiment, arguments: &Arguments) -> Result<Printed> {
    let durability = durability_of(arguments)?;
    let directory = Directory::of(arguments.directory.as_deref())?;
    let settings = Settings {
        scale: arguments.scale.as_deref(),
        gigabytes: arguments.gigabytes,
        seed: arguments.seed.unwrap_or(1),
        durability,
        directory: &directory.path,
        progress: &Progress::new(),
    };
    let findings = (experiment.run)(&settings)?;
    Ok(Printed {
        table: findings.table(),
        json: experiment.json(&*findings, &settings),
        differences: findings.differences().to_vec(),
    })
}

fn run_suite(plan: &Plan, arguments: &Arguments) -> Result<Printed> {
    let directory = Directory::of(arguments.directory.as_deref())?;
    let report = plan.run(&directory.path, &Progress::new())?;
    Ok(Printed {
        table: report.table(),
        json: report.json(),
        differences: report.differences().map(str::to_owned).collect(),
    })
}

fn durability_of(arguments: &Arguments) -> Result<Durability> {
    match arguments.durability.as_deref() {
        None | Some("sync") => Ok(Durability::Sync),
        Some("buffer") => Ok(Durability::Buffer),
        Some(other) => Err(Error::Argument(format!(
            "durability is sync or buffer, not `{other}`"
        ))),
    }
}

/// The arguments, checked.
struct Plan {
    circuits: Vec<Planned>,
    seed: u32,
    durability: Durability,
}

/// One circuit at one scale.
enum Planned {
    Oo7(String, Scale),
    Oo1(String, usize),
    Debian(String, usize),
    /// With the folder of its files.
    WordNet(PathBuf),
}

impl Plan {
    fn of(arguments: &Arguments) -> Result<Plan> {
        let scale = arguments.scale.as_deref();
        let circuits = match (arguments.circuit.as_deref(), scale) {
            (None, None) => vec![Planned::oo7(None)?, Planned::oo1(None)?, Planned::debian(None)?],
            (Some("oo7"), scale) => vec![Planned::oo7(scale)?],
            (Some("oo1"), scale) => vec![Planned::oo1(scale)?],
            (Some("debian"), scale) => vec![Planned::debian(scale)?],
            (Some("wordnet"), None) => vec![Planned::wordnet(arguments.data.as_deref())],
            (Some("wordnet"), Some(_)) => {
                return Err(refused("wordnet has no scales: it is as large as its files"));
            }
            (None, Some(_)) => return Err(refused("a scale belongs to a circuit: name one (oo7 or oo1)")),
            (Some(other), _) => {
                let experiments: Vec<&str> = Experiment::names().collect();
                let text = format!(
                    "there is no circuit `{other}`; the circuits are oo7, oo1 and debian, wordnet, {}",
                    experiments.join(", ")
                );
                return Err(Error::Argument(text));
            }
        };
        let durability = durability_of(arguments)?;
        Ok(Plan {
            circuits,
            seed: arguments.seed.unwrap_or(1),
            durability,
        })
    }

    fn run(&self, directory: &Path, progress: &Progress) -> Result<Report> {
        let mut circuits = Vec::with_capacity(self.circuits.len());
        for circuit in &self.circuits {
            circuits.push(self.one(circuit, directory, progress)?);
        }
        Ok(Report {
            seed: self.seed,
            durability: durability_name(self.durability),
            circuits,
        })
    }

    fn one(&self, circuit: &Planned, directory: &Path, progress: &Progress) -> Result<CircuitReport> {
        let store = |name: String| Store::create(directory.join(name), self.durability);
        match circuit {
            Planned::Oo7(name, scale) => {
                let store = store(format!("oo7-{name}.olv"))?;
                let started = Instant::now();
                let mut circuit = Oo7::load(store, *scale, self.seed, progress)?;
                let loaded = Loaded::new("oo7", name, circuit.objects(), started, circuit.disk());
                loaded.measure(&mut circuit, progress)
            }
            Planned::Oo1(name, parts) => {
                let store = store(format!("oo1-{name}.olv"))?;
                let started = Instant::now();
                let mut circuit = Oo1::load(store, *parts, self.seed, progress)?;
                let loaded = Loaded::new("oo1", name, circuit.objects(), started, circuit.disk());
                loaded.measure(&mut circuit, progress)
            }
            Planned::Debian(name, packages) => {
                progress.now("debian unpacking")?;
                let text = debian::text()?;
                let mut graph = Graph::parse(&text)?;
                graph.truncate(*packages);
                let store = store(format!("debian-{name}.olv"))?;
                let started = Instant::now();
                let mut circuit = Debian::load(store, &graph, self.seed, progress)?;
                let scale = format!("{name} ({})", graph.release);
                let loaded = Loaded::new("debian", &scale, circuit.objects(), started, circuit.disk());
                loaded.measure(&mut circuit, progress)
            }
            Planned::WordNet(folder) => {
                progress.now("wordnet reading its files")?;
                let graph = wordnet::read(folder)?;
                let store = store("wordnet.olv".into())?;
                let started = Instant::now();
                let mut circuit = WordNet::load(store, &graph, self.seed, progress)?;
                let loaded = Loaded::new("wordnet", "full", circuit.objects(), started, circuit.disk());
                loaded.measure(&mut circuit, progress)
            }
        }
    }
}

impl Planned {
    fn wordnet(folder: Option<&Path>) -> Planned {
        Planned::WordNet(folder.unwrap_or(Path::new(wordnet::DEFAULT_FOLDER)).to_owned())
    }

    fn oo7(scale: Option<&str>) -> Result<Planned> {
        let name = scale.unwrap_or("small-3");
        Ok(Planned::Oo7(name.to_owned(), Scale::parse(name)?))
    }

    fn oo1(scale: Option<&str>) -> Result<Planned> {
        let name = scale.unwrap_or("small");
        Ok(Planned::Oo1(name.to_owned(), oo1::parts_at(name)?))
    }

    fn debian(scale: Option<&str>) -> Result<Planned> {
        match scale.unwrap_or("full") {
            "full" => Ok(Planned::Debian("full".to_owned(), usize::MAX)),
            "tiny" => Ok(Planned::Debian("tiny".to_owned(), TINY_DEBIAN)),
            other => Err(Error::Argument(format!(
                "there is no debian scale `{other}`; the scales are tiny and full"
            ))),
        }
    }
}

/// Packages of the small debian graph.
const TINY_DEBIAN: usize = 2_000;

/// A circuit that was loaded, for its report.
struct Loaded {
    name: &'static str,
    scale: String,
    objects: u64,
    seconds: f64,
    disk: u64,
}

impl Loaded {
    fn new(name: &'static str, scale: &str, objects: u64, started: Instant, disk: u64) -> Loaded {
        Loaded {
            name,
            scale: scale.to_owned(),
            objects,
            seconds: started.elapsed().as_secs_f64(),
            disk,
        }
    }

    fn measure<C: Circuit>(self, circuit: &mut C, progress: &Progress) -> Result<CircuitReport> {
        let Measured {
            measurements,
            differences,
            anonymous,
        } = measure(circuit, self.name, progress)?;
        Ok(CircuitReport {
            name: self.name,
            scale: self.scale,
            objects: self.objects,
            load: self.seconds,
            disk: self.disk,
            measurements,
            differences,
            anonymous,
        })
    }
}

/// Where the databases are made; removed when dropped if the user named none.
struct Directory {
    path: PathBuf,
    temporary: bool,
}

impl Directory {
    fn of(named: Option<&Path>) -> Result<Directory> {
        let temporary = named.is_none();
        let path = match named {
            Some(path) => path.to_owned(),
            None => std::env::temp_dir().join(format!("olivine-bench-{}", std::process::id())),
        };
        if temporary || !path.is_dir() {
            let made = std::fs::create_dir(&path);
            made.map_err(|error| Error::io(format!("making the directory {}", path.display()), error))?;
        }
        Ok(Directory { path, temporary })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.temporary {
            // Nothing is lost if it stays: it is in the directory for temporary files.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

fn refused(why: &str) -> Error {
    Error::Argument(why.to_owned())
}
