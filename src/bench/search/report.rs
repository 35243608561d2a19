//! The report of the search circuit.

use serde_json::{Value, json};

use crate::bench::experiment::Findings;

/// One number of threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Step {
    pub threads: usize,
    /// Searches a second, the median of the rounds.
    pub searches: f64,
    /// The best round.
    pub best: f64,
    /// Updates a second beside them.
    pub updates: f64,
}

/// Rates over numbers of threads.
#[derive(Debug)]
pub struct Curve {
    /// Whether a writer ran beside.
    pub writer: bool,
    pub steps: Vec<Step>,
}

impl Curve {
    /// The best step; nothing where there is none.
    pub fn peak(&self) -> Step {
        let better = |best: Step, step: &Step| match step.searches > best.searches {
            true => *step,
            false => best,
        };
        self.steps.iter().fold(Step::default(), better)
    }

    /// The lowest rate at more threads than the peak has, as a part of the peak.
    pub fn lowest_after(&self) -> f64 {
        let peak = self.peak();
        let after = self.steps.iter().filter(|step| step.threads > peak.threads);
        after
            .map(|step| step.searches / peak.searches.max(1e-9))
            .fold(1.0, f64::min)
    }
}

/// Both curves.
#[derive(Debug)]
pub struct SearchReport {
    scale: &'static str,
    entries: u32,
    rounds: usize,
    pub curves: Vec<Curve>,
    differences: Vec<String>,
}

impl SearchReport {
    pub(super) fn new(scale: &'static str, entries: u32, rounds: usize) -> SearchReport {
        SearchReport {
            scale,
            entries,
            rounds,
            curves: Vec::new(),
            differences: Vec::new(),
        }
    }

    pub(super) fn differ(&mut self, difference: String) {
        self.differences.push(difference);
    }
}

impl Findings for SearchReport {
    fn table(&self) -> String {
        let mut lines = vec![format!(
            "search, scale {}: whole objects by an indexed attribute, {} entries, medians of {} rounds",
            self.scale, self.entries, self.rounds
        )];
        for curve in &self.curves {
            lines.push(String::new());
            lines.push(match curve.writer {
                true => "beside one thread that commits updates of the searched attribute".into(),
                false => "without a writer".to_owned(),
            });
            lines.push("  threads   searches/s   best round   of the peak   updates/s".into());
            let peak = curve.peak();
            for step in &curve.steps {
                lines.push(format!(
                    "  {:>7} {:>12.0} {:>12.0} {:>11.0} % {:>11.0}",
                    step.threads,
                    step.searches,
                    step.best,
                    100.0 * step.searches / peak.searches.max(1e-9),
                    step.updates
                ));
            }
            lines.push(format!(
                "  peak at {} threads; afterwards never below {:.0} % of it",
                peak.threads,
                100.0 * curve.lowest_after()
            ));
        }
        lines.push(String::new());
        lines.push(match self.differences.is_empty() {
            true => "verified: every search gave the one whole entry it asked for".into(),
            false => format!("NOT VERIFIED: {}", self.differences.join("; ")),
        });
        lines.push(
            "history (another system and machine): OpenLDAP under SLAMD, 2009: 2.3 peaked at 21,700/s with 72 client \
             threads and stayed within 1 % to 99; 2.4 peaked at 18,200/s with 18 and lost 11 % by 45"
                .into(),
        );
        lines.push(String::new());
        lines.join("\n")
    }

    fn json(&self) -> Value {
        let step = |step: &Step| {
            json!({
                "threads": step.threads,
                "searches_per_second": step.searches,
                "best": step.best,
                "updates_per_second": step.updates,
            })
        };
        let curve = |curve: &Curve| {
            json!({
                "writer": curve.writer,
                "steps": curve.steps.iter().map(step).collect::<Vec<_>>(),
                "peak_threads": curve.peak().threads,
                "lowest_after_peak": curve.lowest_after(),
            })
        };
        json!({
            "scale": self.scale,
            "entries": self.entries,
            "rounds": self.rounds,
            "curves": self.curves.iter().map(curve).collect::<Vec<_>>(),
        })
    }

    fn differences(&self) -> &[String] {
        &self.differences
    }
}
