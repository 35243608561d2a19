//! The report: a table for people, JSON for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use super::machine::{self, Machine};
use super::measure::{Kind, Measurement};

/// Figures of other systems and other days, shown as history. They are no measure of ours: other machines, other
/// data.
const HISTORY: [(&str, &str, &str); 3] = [
    (
        "read",
        "Chandler repository notes, 2004",
        "Berkeley DB alone: 18,000 random reads/s; the repository over it: 50 to 70 items/s",
    ),
    (
        "query",
        "OpenLDAP 2.3 under SLAMD, 2009",
        "21,700 searches/s by an indexed attribute, from 72 client threads",
    ),
    (
        "materialize",
        "Magma, 2010",
        "4,000 objects/s and 282 KB/s at the client in the beginning; 2,300 objects/s and 750 KB/s at 6 GB",
    ),
];

/// What the figures of one circuit are.
#[derive(Debug)]
pub struct CircuitReport {
    /// The circuit.
    pub name: &'static str,
    /// Its scale.
    pub scale: String,
    /// Objects loaded.
    pub objects: u64,
    /// Seconds to load them, index by index, to the end of the last commit.
    pub load: f64,
    /// Bytes of the database directory after loading and closing.
    pub disk: u64,
    /// The operations.
    pub measurements: Vec<Measurement>,
    /// Differences from the model.
    pub differences: Vec<String>,
    /// The highest anonymous memory seen between runs, bytes.
    pub anonymous: u64,
}

/// A whole run.
#[derive(Debug)]
pub struct Report {
    /// The seed.
    pub seed: u32,
    /// `sync` or `buffer`.
    pub durability: &'static str,
    /// The circuits, in the order they ran.
    pub circuits: Vec<CircuitReport>,
}

/// A rate of things and of bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Throughput {
    things: f64,
    others: f64,
}

impl Measurement {
    /// Objects/s and MB/s, or for queries queries/s and rows/s, when hot; for writes objects changed/s.
    fn throughput(&self) -> Throughput {
        let (things, others) = match self.kind {
            Kind::Query => (float(self.work.queries), float(self.work.rows)),
            _ => (float(self.work.objects), float(self.work.bytes) / 1e6),
        };
        let seconds = self.hot.max(1e-9);
        Throughput {
            things: things / seconds,
            others: others / seconds,
        }
    }
}

impl CircuitReport {
    /// The throughput over all operations of a kind: their work divided by their time.
    fn overall(&self, kind: Kind) -> Throughput {
        let mut sum = Throughput::default();
        let mut seconds = 0.0;
        for measurement in self.measurements.iter().filter(|one| one.kind == kind) {
            let rate = measurement.throughput();
            sum.things += rate.things * measurement.hot;
            sum.others += rate.others * measurement.hot;
            seconds += measurement.hot;
        }
        Throughput {
            things: sum.things / f64::max(seconds, 1e-9),
            others: sum.others / f64::max(seconds, 1e-9),
        }
    }

    fn verified(&self) -> bool {
        self.differences.is_empty() && self.measurements.iter().all(|one| one.verified)
    }
}

impl Report {
    /// Every difference from the models.
    pub fn differences(&self) -> impl Iterator<Item = &str> {
        self.circuits
            .iter()
            .flat_map(|circuit| &circuit.differences)
            .map(String::as_str)
    }

    /// The report as a table.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for line in self.head() {
            text.push_str(&line);
            text.push('\n');
        }
        for circuit in &self.circuits {
            text.push('\n');
            circuit.table(&mut text);
        }
        text.push_str("\nhistory (other systems, machines and data; no measure of the figures above)\n");
        for (kind, source, figures) in HISTORY {
            push(&mut text, format_args!("  {kind:<12} {source}: {figures}\n"));
        }
        text
    }

    /// The report as JSON.
    pub fn json(&self) -> Value {
        let machine = Machine::this();
        let memory = machine::memory();
        json!({
            "olivine": env!("CARGO_PKG_VERSION"),
            "seed": self.seed,
            "durability": self.durability,
            "machine": machine.json(),
            "cold": COLD,
            "hot": HOT,
            "peak_resident_bytes": memory.peak_resident,
            "circuits": self.circuits.iter().map(CircuitReport::json).collect::<Vec<_>>(),
            "history": HISTORY
                .iter()
                .map(|(kind, source, figures)| json!({"kind": kind, "source": source, "figures": figures}))
                .collect::<Vec<_>>(),
        })
    }

    fn head(&self) -> [String; 4] {
        let machine = Machine::this();
        let memory = machine::memory();
        [
            format!(
                "olivine {} bench, seed {}, durability {}",
                env!("CARGO_PKG_VERSION"),
                self.seed,
                self.durability
            ),
            format!(
                "on {}, {} cores, {}, {}",
                machine.processor,
                machine.cores,
                bytes(machine.memory),
                machine.system
            ),
            format!("cold: {COLD}; hot: {HOT}"),
            format!(
                "peak resident memory {} (mapped files included)",
                bytes(memory.peak_resident)
            ),
        ]
    }
}

/// What cold means in a report.
const COLD: &str = "first run after the database was opened, the system's file cache warm";
/// What hot means in a report.
const HOT: &str = "mean of the runs in the middle, the first and the last left out";

impl CircuitReport {
    fn table(&self, text: &mut String) {
        push(
            text,
            format_args!(
                "{} {}: {} objects loaded in {} ({} objects/s), {} on disk, anonymous memory at most {}\n",
                self.name,
                self.scale,
                grouped(self.objects),
                seconds(self.load),
                rate(float(self.objects) / self.load.max(1e-9)),
                bytes(self.disk),
                bytes(self.anonymous),
            ),
        );
        push(
            text,
            format_args!(
                "  {:<12} {:<16} {:>10} {:>9} {:>8} {:>10} {:>10} {:>12} {:>12}\n",
                "kind", "operation", "count", "distinct", "verified", "cold", "hot", "per second", "and"
            ),
        );
        for one in &self.measurements {
            let throughput = one.throughput();
            push(
                text,
                format_args!(
                    "  {:<12} {:<16} {:>10} {:>9} {:>8} {:>10} {:>10} {:>12} {:>12}\n",
                    one.kind.name(),
                    one.name,
                    grouped(one.work.count),
                    one.work.distinct.map(grouped).unwrap_or_default(),
                    if one.verified { "yes" } else { "NO" },
                    seconds(one.cold),
                    seconds(one.hot),
                    first_unit(one.kind, throughput.things),
                    second_unit(one.kind, throughput.others),
                ),
            );
        }
        for kind in [Kind::Read, Kind::Query, Kind::Materialize] {
            let overall = self.overall(kind);
            push(
                text,
                format_args!(
                    "  {:<12} throughput {:>14}  {:>14}\n",
                    kind.name(),
                    first_unit(kind, overall.things),
                    second_unit(kind, overall.others)
                ),
            );
        }
        for difference in &self.differences {
            push(text, format_args!("  DIFFERS: {difference}\n"));
        }
    }

    fn json(&self) -> Value {
        let mut value = json!({
            "name": self.name,
            "scale": self.scale,
            "verified": self.verified(),
            "objects": self.objects,
            "load_seconds": self.load,
            "disk_bytes": self.disk,
            "anonymous_bytes": self.anonymous,
            "operations": self.measurements.iter().map(Measurement::json).collect::<Vec<_>>(),
            "differences": self.differences,
        });
        for kind in [Kind::Read, Kind::Query, Kind::Materialize] {
            if let Some(object) = value.as_object_mut() {
                object.insert(kind.name().to_owned(), throughput_json(kind, self.overall(kind)));
            }
        }
        value
    }
}

impl Measurement {
    fn json(&self) -> Value {
        let of = |kind| {
            if kind == self.kind {
                throughput_json(kind, self.throughput())
            } else {
                Value::Null
            }
        };
        json!({
            "name": self.name,
            "kind": self.kind.name(),
            "count": self.work.count,
            "distinct": self.work.distinct,
            "verified": self.verified,
            "runs": self.runs,
            "cold_seconds": self.cold,
            "hot_seconds": self.hot,
            "objects": self.work.objects,
            "bytes": self.work.bytes,
            "queries": self.work.queries,
            "rows": self.work.rows,
            "read": of(Kind::Read),
            "query": of(Kind::Query),
            "materialize": of(Kind::Materialize),
            "write": of(Kind::Write),
        })
    }
}

fn throughput_json(kind: Kind, throughput: Throughput) -> Value {
    match kind {
        Kind::Query => json!({"queries_per_second": throughput.things, "rows_per_second": throughput.others}),
        Kind::Write => json!({"objects_per_second": throughput.things}),
        _ => json!({"objects_per_second": throughput.things, "megabytes_per_second": throughput.others}),
    }
}

fn first_unit(kind: Kind, things: f64) -> String {
    let unit = if kind == Kind::Query { "queries" } else { "obj" };
    format!("{} {unit}", rate(things))
}

fn second_unit(kind: Kind, others: f64) -> String {
    match kind {
        Kind::Query => format!("{} rows", rate(others)),
        Kind::Write => String::new(),
        _ => format!("{others:.1} MB"),
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(arguments);
}

/// A number of objects as a float, for rates; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "rates are shown with three digits")]
fn float(number: u64) -> f64 {
    number as f64
}

/// Three significant digits with k, M or G.
fn rate(number: f64) -> String {
    let (scaled, suffix) = match number {
        number if number >= 1e9 => (number / 1e9, "G"),
        number if number >= 1e6 => (number / 1e6, "M"),
        number if number >= 1e3 => (number / 1e3, "k"),
        number => (number, ""),
    };
    let digits = if scaled >= 100.0 {
        0
    } else if scaled >= 10.0 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$}{suffix}")
}

/// A length of time in the unit that shows it best.
fn seconds(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 1.0 => format!("{seconds:.2} s"),
        seconds if seconds >= 1e-3 => format!("{:.2} ms", seconds * 1e3),
        seconds => format!("{:.1} us", seconds * 1e6),
    }
}

fn bytes(number: u64) -> String {
    format!("{}B", rate(float(number)))
}

/// A count with its thousands set apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measure::Work;

    fn report() -> Report {
        let measurement = Measurement {
            name: "T1".into(),
            kind: Kind::Materialize,
            work: Work {
                count: 43_740,
                distinct: Some(9_900),
                objects: 50_000,
                bytes: 5_000_000,
                ..Work::default()
            },
            verified: true,
            cold: 0.5,
            hot: 0.1,
            runs: 5,
        };
        Report {
            seed: 1,
            durability: "sync",
            circuits: vec![CircuitReport {
                name: "oo7",
                scale: "small-3".into(),
                objects: 42_095,
                load: 0.25,
                disk: 10_000_000,
                measurements: vec![measurement],
                differences: Vec::new(),
                anonymous: 1,
            }],
        }
    }

    #[test]
    fn json_holds_counts_times_and_the_throughputs_apart() {
        let value = report().json();
        let operation = &value["circuits"][0]["operations"][0];
        assert_eq!(operation["count"], 43_740);
        assert_eq!(operation["verified"], true);
        assert_eq!(operation["materialize"]["objects_per_second"], 500_000.0);
        assert_eq!(operation["materialize"]["megabytes_per_second"], 50.0);
        assert_eq!(operation["read"], Value::Null);
        assert_eq!(value["circuits"][0]["query"]["queries_per_second"], 0.0);
    }

    #[test]
    fn the_table_shows_what_the_json_holds() {
        let table = report().table();
        for part in [
            "seed 1",
            "durability sync",
            "43,740",
            "9,900",
            "yes",
            "500k obj",
            "50.0 MB",
            "history",
        ] {
            assert!(table.contains(part), "{part} in\n{table}");
        }
    }

    #[test]
    fn figures_are_shown_short() {
        assert_eq!(
            (rate(1_234.0), rate(12_345_678.0), rate(9.5)),
            ("1.23k".into(), "12.3M".into(), "9.50".into())
        );
        assert_eq!(
            (grouped(0), grouped(1_000), grouped(1_234_567)),
            ("0".into(), "1,000".into(), "1,234,567".into())
        );
        assert_eq!(
            (seconds(0.0000015), seconds(0.25)),
            ("1.5 us".into(), "250.00 ms".into())
        );
    }
}
