//! What was measured: rows of samples, marks, and how both are shown.

use serde::Serialize;

use crate::measure::{Taken, best, median};
use crate::peers::{OLIVINE, SQLITE};

/// Which reading of the clocks counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Processor time of the one thread that works.
    Thread,
    /// Time by the wall, where work goes on in other threads or on the disk.
    Wall,
}

/// How a time of one operation is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds an object.
    NanosecondsAnObject,
    /// Thousands of objects a second.
    ThousandObjectsASecond,
    /// Commits a second.
    CommitsASecond,
}

/// One piece of work, done by several peers in turn.
#[derive(Debug, Clone, Serialize)]
pub struct Duel {
    /// Circuit and work.
    pub work: String,
    /// What counts.
    pub clock: Clock,
    /// How it is shown.
    pub unit: Unit,
    /// A row a peer.
    pub rows: Vec<Row>,
}

/// What one peer took.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The peer.
    pub peer: String,
    /// Operations a round.
    pub operations: usize,
    /// Whether every answer was the expected one.
    pub verified: bool,
    /// The time of one operation, round by round.
    pub rounds: Vec<Taken>,
}

/// A bound and what was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Mark {
    /// What is asked.
    pub text: String,
    /// What was measured, if it was.
    pub measured: Option<f64>,
    /// The bound.
    pub bound: Bound,
    /// Whether it was reached.
    pub reached: bool,
}

/// A bound of a ratio.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Not above this.
    AtMost(f64),
    /// Not below this.
    AtLeast(f64),
}

/// All that one run measured.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The settings and the machine.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// The work.
    pub duels: Vec<Duel>,
    /// The marks.
    pub marks: Vec<Mark>,
}

impl Row {
    /// A peer that has run no round yet.
    pub fn new(peer: impl Into<String>) -> Row {
        Row {
            peer: peer.into(),
            operations: 0,
            verified: true,
            rounds: Vec::new(),
        }
    }

    /// Adds a round of `operations` that took `taken`.
    pub fn add(&mut self, operations: usize, taken: Taken, verified: bool) {
        self.operations = operations;
        self.verified &= verified;
        self.rounds.push(taken.each(operations));
    }
}

impl Duel {
    /// Work that nobody has done yet.
    pub fn new(work: impl Into<String>, clock: Clock, unit: Unit) -> Duel {
        Duel {
            work: work.into(),
            clock,
            unit,
            rows: Vec::new(),
        }
    }

    fn times(&self, row: &Row) -> Vec<f64> {
        let time = |taken: &Taken| match self.clock {
            Clock::Thread => taken.thread,
            Clock::Wall => taken.wall,
        };
        row.rounds.iter().map(time).collect()
    }

    fn verified(&self, peer: &str) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.peer == peer && row.verified && !row.rounds.is_empty())
    }

    /// How many times longer `slow` takes than `fast`: the median of the ratios of the same round.
    pub fn ratio(&self, slow: &str, fast: &str) -> Option<f64> {
        let (slow, fast) = (self.verified(slow)?, self.verified(fast)?);
        let pairs = self.times(slow).into_iter().zip(self.times(fast));
        Some(median(pairs.map(|(slow, fast)| slow / fast)))
    }

    /// The median time of one operation, in seconds.
    pub fn median(&self, peer: &str) -> Option<f64> {
        self.verified(peer).map(|row| median(self.times(row)))
    }

    /// Prints it as a table.
    pub fn print(&self) {
        let clock = match self.clock {
            Clock::Thread => "processor time of the thread",
            Clock::Wall => "wall time",
        };
        println!("\n{} ({}, {clock})", self.work, self.unit.name());
        println!(
            "  {:<22} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "", "median", "best", "wall", "process", "/Olivine", "SQLite/"
        );
        for row in &self.rows {
            self.print_row(row);
        }
    }

    fn print_row(&self, row: &Row) {
        if !row.verified {
            println!("  {:<22} answers differ: no figure", row.peer);
            return;
        }
        let times = self.times(row);
        let shown = |seconds: f64| self.unit.show(seconds);
        let ratio = |ratio: Option<f64>| ratio.map_or(String::new(), |ratio| format!("{ratio:.2}x"));
        println!(
            "  {:<22} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
            row.peer,
            shown(median(times.iter().copied())),
            shown(best(times.iter().copied())),
            shown(median(row.rounds.iter().map(|taken| taken.wall))),
            shown(median(row.rounds.iter().map(|taken| taken.process))),
            ratio(self.ratio(&row.peer, OLIVINE)),
            ratio(self.ratio(SQLITE, &row.peer)),
        );
    }
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::NanosecondsAnObject => "ns an object",
            Unit::ThousandObjectsASecond => "thousand objects/s",
            Unit::CommitsASecond => "commits/s",
        }
    }

    fn show(self, seconds: f64) -> String {
        match self {
            Unit::NanosecondsAnObject => format!("{:.1}", seconds * 1e9),
            Unit::ThousandObjectsASecond => format!("{:.1}", 1e-3 / seconds),
            Unit::CommitsASecond => format!("{:.0}", 1.0 / seconds),
        }
    }
}

impl Report {
    /// Prints a duel and keeps it.
    pub fn add(&mut self, duel: Duel) {
        duel.print();
        self.duels.push(duel);
    }

    /// Keeps a mark; one that could not be measured is not reached.
    pub fn mark(&mut self, text: impl Into<String>, measured: Option<f64>, bound: Bound) {
        let reached = match (measured, bound) {
            (None, _) => false,
            (Some(measured), Bound::AtMost(most)) => measured <= most,
            (Some(measured), Bound::AtLeast(least)) => measured >= least,
        };
        self.marks.push(Mark {
            text: text.into(),
            measured,
            bound,
            reached,
        });
    }

    /// Prints all marks.
    pub fn print_marks(&self) {
        println!("\nmarks");
        for mark in &self.marks {
            let (word, bound) = match mark.bound {
                Bound::AtMost(bound) => ("at most", bound),
                Bound::AtLeast(bound) => ("at least", bound),
            };
            let measured = mark
                .measured
                .map_or("-".into(), |measured| format!("{measured:.2}"));
            let reached = if mark.reached { "reached" } else { "NOT REACHED" };
            println!(
                "  {:<62} {word:>8} {bound:>6} {measured:>9}  {reached}",
                mark.text
            );
        }
    }
}
