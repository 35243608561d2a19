//! What the nodes of a plan did when it ran, for `profile`.

use std::fmt;
use std::ptr;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::node::Plan;
use crate::object::Value;

/// What one node of a plan, or a whole statement, did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measures {
    /// Rows given out.
    pub rows: u64,
    /// Objects read.
    pub objects: u64,
    /// Bytes of the bodies of these objects.
    pub bytes: u64,
    /// Entries read from indexes.
    pub index_entries: u64,
    /// Bytes written to temporary files.
    pub spilled: u64,
    /// The most bytes held at once.
    pub peak_memory: u64,
    /// The time spent in it, without the nodes below.
    pub time: Duration,
}

/// Which node of a plan something was measured of. Plans do not move while they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(usize);

impl NodeId {
    /// What stands for no node: the work around the operators.
    pub const OUTSIDE: NodeId = NodeId(0);

    /// The identity of a node.
    pub fn of(plan: &Plan) -> NodeId {
        NodeId(ptr::from_ref(plan).addr())
    }
}

/// What all nodes of a statement did.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// By node.
    pub nodes: FxHashMap<NodeId, Measures>,
    /// In sum; its time is that of the whole run, its rows those of the result.
    pub total: Measures,
}

impl Measures {
    /// The figures that are not zero, with their names and units.
    fn figures(&self) -> Vec<(&'static str, u64)> {
        let figures = [
            ("objects", self.objects),
            ("bytes", self.bytes),
            ("index_entries", self.index_entries),
            ("spilled", self.spilled),
            ("peak_memory", self.peak_memory),
        ];
        figures.into_iter().filter(|(_, figure)| *figure > 0).collect()
    }

    /// The figures as fields of a struct: numbers, bytes, and microseconds.
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        let int = |figure: u64| Value::Int(i64::try_from(figure).unwrap_or(i64::MAX));
        let mut fields = vec![("rows", int(self.rows))];
        fields.extend(
            self.figures()
                .into_iter()
                .map(|(name, figure)| (name, int(figure))),
        );
        let micros = u64::try_from(self.time.as_micros()).unwrap_or(u64::MAX);
        fields.push(("microseconds", int(micros)));
        fields
    }

    /// The sum of a whole run, as a line.
    pub fn summary(&self) -> String {
        let seconds = self.time.as_secs_f64();
        let mut line = format!(
            "{}; {}",
            counted(self.rows, "row"),
            counted(self.objects, "object")
        );
        line.push_str(" read");
        if self.objects > 0 {
            line.push_str(&format!(" ({})", size(self.bytes)));
            if seconds > 0.0 {
                line.push_str(&format!(", {} objects/s", rate(self.objects as f64 / seconds)));
            }
        }
        if self.index_entries > 0 {
            line.push_str(&format!("; {} index entries read", self.index_entries));
        }
        if self.spilled > 0 {
            line.push_str(&format!("; {} spilled", size(self.spilled)));
        }
        line.push_str(&format!(
            "; peak memory {}; {}",
            size(self.peak_memory),
            took(self.time)
        ));
        line
    }
}

impl fmt::Display for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&counted(self.rows, "row"))?;
        if self.objects > 0 {
            write!(f, ", {} ({})", counted(self.objects, "object"), size(self.bytes))?;
        }
        if self.index_entries > 0 {
            write!(f, ", {} index entries", self.index_entries)?;
        }
        if self.spilled > 0 {
            write!(f, ", {} spilled", size(self.spilled))?;
        }
        if self.peak_memory > 0 {
            write!(f, ", memory {}", size(self.peak_memory))?;
        }
        write!(f, ", {}", took(self.time))
    }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

fn rate(per_second: f64) -> String {
    if per_second >= 1e6 {
        format!("{:.1} M", per_second / 1e6)
    } else {
        format!("{:.1} k", per_second / 1e3)
    }
}

fn took(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
