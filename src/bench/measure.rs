//! How an operation is measured: cold and hot, each run checked against the model.
//!
//! A circuit lists its operations in groups; the steps of a group follow one another (such as insert and delete) and
//! are repeated together. Before each group the database is closed and opened again: the first run is *cold* (the
//! operating system's own cache stays warm). *Hot* is the mean of the runs in the middle: the first and the last are
//! left out, as OO7 and OO1 both do. Every run must give what the model gives, and after a group that writes, so must
//! the state left behind; what differs is kept and fails the whole run, after it was reported.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::machine;
use crate::error::{Error, Result};

/// Fewest runs of an operation: one cold, three hot, the last.
const FEWEST_RUNS: u32 = 5;
/// Most runs of an operation that takes no time.
const MOST_RUNS: u32 = 100;
/// Runs beyond the fewest are made until this much time has gone by.
const ENOUGH: Duration = Duration::from_millis(250);

/// Set once the user asked to stop.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// What an operation is a measure of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Records found by OID; only what the operation needs is decoded.
    Read,
    /// OQL.
    Query,
    /// Typed objects, every attribute decoded and references followed.
    Materialize,
    /// Changes, to the end of their commit.
    Write,
}

impl Kind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Query => "query",
            Kind::Materialize => "materialize",
            Kind::Write => "write",
        }
    }
}

/// What one run of an operation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// What the benchmark counts for the operation: visits, updates, characters or rows.
    pub count: u64,
    /// Different objects among them, if the operation tells.
    pub distinct: Option<u64>,
    /// A check over contents, if the operation gives one.
    pub check: Option<u64>,
    /// Objects read, materialized or changed.
    pub objects: u64,
    /// Bytes of their stored bodies.
    pub bytes: u64,
    /// Statements of OQL run.
    pub queries: u64,
    /// Rows they gave.
    pub rows: u64,
}

impl Work {
    /// Adds what another run did, but for its check.
    pub fn add(&mut self, other: Work) {
        self.count += other.count;
        self.objects += other.objects;
        self.bytes += other.bytes;
        self.queries += other.queries;
        self.rows += other.rows;
    }
}

/// What one run must give, from the model. What is `None` is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expected {
    /// See [`Work::count`].
    pub count: u64,
    /// See [`Work::distinct`].
    pub distinct: Option<u64>,
    /// See [`Work::check`].
    pub check: Option<u64>,
}

/// A circuit: its operations on the database, and the same on its model.
pub trait Circuit {
    /// One operation.
    type Operation: Copy;
    /// The groups of operations, in the order they are measured.
    fn groups(&self) -> Vec<Vec<Self::Operation>>;
    /// The name of an operation in reports.
    fn name(&self, operation: Self::Operation) -> &'static str;
    /// What it measures.
    fn kind(&self, operation: Self::Operation) -> Kind;
    /// Closes the database and opens it again.
    fn reopen(&mut self) -> Result<()>;
    /// Draws what the next run needs, before its time starts.
    fn prepare(&mut self, operation: Self::Operation, repetition: u32);
    /// Runs the operation on the database; this is what is timed.
    fn run(&mut self, operation: Self::Operation, repetition: u32) -> Result<Work>;
    /// Runs it on the model.
    fn expect(&mut self, operation: Self::Operation, repetition: u32) -> Expected;
    /// Compares the state of the database with the model's; what differs, as a sentence.
    fn compare_state(&mut self) -> Result<Option<String>>;
    /// The stored bytes of the objects that a reading or materializing run fetches, counted in a run of its own that
    /// is not timed.
    fn count_bytes(&mut self, operation: Self::Operation, repetition: u32) -> Result<u64>;
}

/// The figures of one operation.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// Its name.
    pub name: String,
    /// What it measures.
    pub kind: Kind,
    /// What the last run did.
    pub work: Work,
    /// Whether every run gave what the model gives.
    pub verified: bool,
    /// Seconds of the first run after the database was opened.
    pub cold: f64,
    /// Mean seconds of the runs in the middle.
    pub hot: f64,
    /// All runs made.
    pub runs: u32,
}

/// What measuring a circuit gave.
#[derive(Debug, Default)]
pub struct Measured {
    /// The figures, in the order of the operations.
    pub measurements: Vec<Measurement>,
    /// Every difference from the model, as a sentence.
    pub differences: Vec<String>,
    /// The highest anonymous memory seen between runs, bytes.
    pub anonymous: u64,
}

/// Shows what is being done, on a terminal only.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Silent unless both standard output and standard error are terminals.
    pub fn new() -> Progress {
        use std::io::IsTerminal;
        let terminal = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        let target = if terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress { bar }
    }

    /// Says what is being done now; an error if the user asked to stop.
    pub fn now(&self, doing: impl Into<String>) -> Result<()> {
        if INTERRUPTED.load(Ordering::Relaxed) {
            return Err(Error::Cancelled("the benchmark was interrupted".into()));
        }
        self.bar.set_message(doing.into());
        Ok(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Measures all operations of a circuit.
pub fn measure<C: Circuit>(circuit: &mut C, title: &str, progress: &Progress) -> Result<Measured> {
    let mut measured = Measured::default();
    for group in circuit.groups() {
        let mut steps: Vec<Step<C::Operation>> =
            group.iter().map(|operation| Step::new(*operation)).collect();
        circuit.reopen()?;
        repeat(circuit, &mut steps, title, progress, &mut measured)?;
        for step in steps {
            measured.measurements.push(step.finish(circuit)?);
        }
    }
    Ok(measured)
}

/// Runs the steps of a group over and over, until there are runs enough.
fn repeat<C: Circuit>(
    circuit: &mut C,
    steps: &mut [Step<C::Operation>],
    title: &str,
    progress: &Progress,
    measured: &mut Measured,
) -> Result<()> {
    let writes = steps
        .iter()
        .any(|step| circuit.kind(step.operation) == Kind::Write);
    let started = Instant::now();
    for repetition in 0..MOST_RUNS {
        if repetition >= FEWEST_RUNS && started.elapsed() >= ENOUGH {
            break;
        }
        if writes && repetition == 1 {
            check_state(circuit, steps, title, measured)?;
        }
        for step in &mut *steps {
            let name = circuit.name(step.operation);
            progress.now(format!("{title} {name}"))?;
            let difference = step.once(circuit, repetition)?;
            measured
                .differences
                .extend(difference.map(|text| format!("{title} {name}: {text}")));
        }
        measured.anonymous = measured.anonymous.max(machine::memory().anonymous);
    }
    if writes {
        check_state(circuit, steps, title, measured)
    } else {
        Ok(())
    }
}

/// Compares the state the steps left behind with the model's. Done after the first repetition and after the last: an
/// even number of them undoes some changes, and would hide that none was made.
fn check_state<C: Circuit>(
    circuit: &mut C,
    steps: &mut [Step<C::Operation>],
    title: &str,
    measured: &mut Measured,
) -> Result<()> {
    let Some(difference) = circuit.compare_state()? else {
        return Ok(());
    };
    let names: Vec<&str> = steps.iter().map(|step| circuit.name(step.operation)).collect();
    measured
        .differences
        .push(format!("{title} after {}: {difference}", names.join(", ")));
    steps.iter_mut().for_each(|step| step.verified = false);
    Ok(())
}

/// One operation while it is being measured.
struct Step<O> {
    operation: O,
    seconds: Vec<f64>,
    work: Work,
    verified: bool,
}

impl<O: Copy> Step<O> {
    fn new(operation: O) -> Self {
        Step {
            operation,
            seconds: Vec::new(),
            work: Work::default(),
            verified: true,
        }
    }

    /// Runs it once; answers what differs from the model the first time that anything does.
    fn once<C: Circuit<Operation = O>>(
        &mut self,
        circuit: &mut C,
        repetition: u32,
    ) -> Result<Option<String>> {
        circuit.prepare(self.operation, repetition);
        let started = Instant::now();
        self.work = circuit.run(self.operation, repetition)?;
        self.seconds.push(started.elapsed().as_secs_f64());
        let expected = circuit.expect(self.operation, repetition);
        let difference = difference(&self.work, &expected).filter(|_| self.verified);
        self.verified &= difference.is_none();
        Ok(difference)
    }

    fn finish<C: Circuit<Operation = O>>(mut self, circuit: &mut C) -> Result<Measurement> {
        let middle = self
            .seconds
            .get(1..self.seconds.len().saturating_sub(1))
            .unwrap_or_default();
        let runs = u32::try_from(self.seconds.len()).unwrap_or(u32::MAX);
        let hot = middle.iter().sum::<f64>() / f64::from(runs.saturating_sub(2).max(1));
        let kind = circuit.kind(self.operation);
        if matches!(kind, Kind::Read | Kind::Materialize) {
            self.work.bytes = circuit.count_bytes(self.operation, runs.saturating_sub(1))?;
        }
        Ok(Measurement {
            name: circuit.name(self.operation).to_owned(),
            kind,
            work: self.work,
            verified: self.verified,
            cold: self.seconds.first().copied().unwrap_or_default(),
            hot,
            runs,
        })
    }
}

/// What differs between a run and the model, as a sentence.
fn difference(work: &Work, expected: &Expected) -> Option<String> {
    if work.count != expected.count {
        return Some(format!(
            "the count is {}, the model gives {}",
            work.count, expected.count
        ));
    }
    if let (Some(found), Some(wanted)) = (work.distinct, expected.distinct)
        && found != wanted
    {
        return Some(format!("{found} different objects, the model gives {wanted}"));
    }
    if let (Some(found), Some(wanted)) = (work.check, expected.check)
        && found != wanted
    {
        return Some(format!(
            "the check over the contents is {found}, the model gives {wanted}"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A circuit whose operation doubles what the model gives from the third repetition on.
    struct Wrong;

    impl Circuit for Wrong {
        type Operation = bool;
        fn groups(&self) -> Vec<Vec<bool>> {
            vec![vec![true, false]]
        }
        fn name(&self, wrong: bool) -> &'static str {
            if wrong { "wrong" } else { "right" }
        }
        fn kind(&self, _: bool) -> Kind {
            Kind::Read
        }
        fn reopen(&mut self) -> Result<()> {
            Ok(())
        }
        fn run(&mut self, wrong: bool, repetition: u32) -> Result<Work> {
            std::thread::sleep(Duration::from_millis(1));
            let count = if wrong && repetition == 2 { 14 } else { 7 };
            Ok(Work {
                count,
                ..Work::default()
            })
        }
        fn expect(&mut self, _: bool, _: u32) -> Expected {
            Expected {
                count: 7,
                ..Expected::default()
            }
        }
        fn compare_state(&mut self) -> Result<Option<String>> {
            Ok(None)
        }
        fn prepare(&mut self, _: bool, _: u32) {}
        fn count_bytes(&mut self, _: bool, _: u32) -> Result<u64> {
            Ok(99)
        }
    }

    #[test]
    fn one_wrong_run_among_many_is_named_and_marks_its_operation() {
        let measured = measure(&mut Wrong, "title", &Progress::new()).unwrap();
        assert_eq!(
            measured.differences,
            ["title wrong: the count is 14, the model gives 7"]
        );
        let verified: Vec<bool> = measured.measurements.iter().map(|one| one.verified).collect();
        assert_eq!(verified, [false, true]);
        assert!(
            measured
                .measurements
                .iter()
                .all(|one| one.runs >= FEWEST_RUNS && one.cold > 0.0)
        );
    }
}
