//! One run of `olivine bench`: which circuits, in what directory, and where the report goes.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::ceiling::{self, Extent};
use super::debian::{self, Debian, Graph};
use super::measure::{Circuit, INTERRUPTED, Measured, Progress, measure};
use super::oo1::{self, Oo1};
use super::oo7::{Oo7, Scale};
use super::posting::{self, Posting};
use super::report::{CircuitReport, Report};
use super::store::Store;
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
    /// Gigabytes of work, for `posting` alone; 4 if absent.
    pub gigabytes: Option<f64>,
}

/// Runs the circuits asked for and prints the report on standard output.
///
/// # Errors
/// [`Error::Argument`] for an unknown circuit, scale or durability; [`Error::Other`] naming what differs from the
/// models, after the report was written; [`Error::Cancelled`] if interrupted; and whatever the database answers.
pub fn run(arguments: Arguments) -> Result<()> {
    if arguments.circuit.as_deref() == Some("posting") {
        return post(&arguments);
    }
    if arguments.gigabytes.is_some() {
        return Err(refused("gigabytes of work belong to the circuit posting"));
    }
    let plan = Plan::of(&arguments)?;
    // Fails only where something else took the signal first; then that decides what an interrupt does.
    let _ = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
    let report = {
        let directory = Directory::of(arguments.directory.as_deref())?;
        let progress = Progress::new();
        plan.run(&directory.path, &progress)?
    };
    print!("{}", report.table());
    if let Some(file) = &arguments.json {
        report.write_json(file)?;
    }
    let differences: Vec<&str> = report.differences().collect();
    if differences.is_empty() {
        Ok(())
    } else {
        Err(Error::other(format!(
            "the benchmark's data is wrong: {}",
            differences.join("; ")
        )))
    }
}

/// Runs the posting circuit, which has a report of its own.
fn post(arguments: &Arguments) -> Result<()> {
    let posting = match (arguments.scale.as_deref(), arguments.gigabytes) {
        (Some("tiny"), None) => Posting::tiny(),
        (Some(_), _) => {
            return Err(refused(
                "posting has the scale tiny; otherwise give the gigabytes of work",
            ));
        }
        (None, gigabytes) => {
            let gigabytes = gigabytes.unwrap_or(4.0);
            if !(0.01..=100_000.0).contains(&gigabytes) {
                return Err(refused("posting takes 0.01 to 100000 gigabytes of work"));
            }
            Posting::gigabytes(gigabytes)
        }
    };
    let durability = durability_of(arguments)?;
    let seed = arguments.seed.unwrap_or(1);
    // As for the other circuits.
    let _ = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
    let report = {
        let directory = Directory::of(arguments.directory.as_deref())?;
        posting::run(posting, seed, durability, &directory.path, &Progress::new())?
    };
    print!("{}", report.table());
    if let Some(file) = &arguments.json {
        let name = if durability == Durability::Buffer {
            "buffer"
        } else {
            "sync"
        };
        let text = format!("{:#}\n", report.json(seed, name));
        let written = std::fs::write(file, text);
        written.map_err(|error| Error::io(format!("writing {}", file.display()), error))?;
    }
    match report.differences() {
        [] => Ok(()),
        differences => Err(Error::other(format!(
            "the benchmark's data is wrong: {}",
            differences.join("; ")
        ))),
    }
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
    /// The ceiling, which measures both durabilities.
    ceiling: Option<Extent>,
    seed: u32,
    durability: Durability,
}

/// One circuit at one scale.
enum Planned {
    Oo7(String, Scale),
    Oo1(String, usize),
    Debian(String, usize),
}

impl Plan {
    fn of(arguments: &Arguments) -> Result<Plan> {
        let scale = arguments.scale.as_deref();
        let circuits = match (arguments.circuit.as_deref(), scale) {
            (None, None) => vec![Planned::oo7(None)?, Planned::oo1(None)?, Planned::debian(None)?],
            (Some("oo7"), scale) => vec![Planned::oo7(scale)?],
            (Some("oo1"), scale) => vec![Planned::oo1(scale)?],
            (Some("debian"), scale) => vec![Planned::debian(scale)?],
            (Some("ceiling"), _) => Vec::new(),
            (None, Some(_)) => return Err(refused("a scale belongs to a circuit: name one (oo7 or oo1)")),
            (Some(other), _) => {
                let text = format!(
                    "there is no circuit `{other}`; the circuits are oo7, oo1 and debian, posting and ceiling"
                );
                return Err(Error::Argument(text));
            }
        };
        let durability = durability_of(arguments)?;
        let ceiling = match arguments.circuit.as_deref() {
            Some("ceiling") => Some(Extent::parse(scale)?),
            _ => None,
        };
        Ok(Plan {
            circuits,
            ceiling,
            seed: arguments.seed.unwrap_or(1),
            durability,
        })
    }

    fn run(&self, directory: &Path, progress: &Progress) -> Result<Report> {
        let mut circuits = Vec::with_capacity(self.circuits.len());
        for circuit in &self.circuits {
            circuits.push(self.one(circuit, directory, progress)?);
        }
        let ceiling = match self.ceiling {
            Some(extent) => Some(ceiling::run(directory, extent, self.seed, progress)?),
            None => None,
        };
        Ok(Report {
            ceiling,
            seed: self.seed,
            durability: match self.durability {
                Durability::Buffer => "buffer",
                _ => "sync",
            },
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
        }
    }
}

impl Planned {
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
