//! What the circuit found, as text and as JSON.

use serde_json::{Value, json};

use super::limits::Limits;
use crate::bench::experiment::Findings;

/// The limits of the machine, and the engine's rates beside them.
#[derive(Debug)]
pub struct Ceiling {
    scale: &'static str,
    limits: Vec<Limit>,
    /// The engine's rates.
    pub rates: Vec<Rate>,
    /// What is not as it must be.
    pub differences: Vec<String>,
}

#[derive(Debug)]
struct Limit {
    name: String,
    rate: f64,
    unit: &'static str,
}

/// One rate of the engine.
#[derive(Debug)]
pub struct Rate {
    /// The budget of memory, MiB.
    pub budget: usize,
    /// `buffer` or `sync`.
    pub durability: &'static str,
    /// What was done.
    pub work: &'static str,
    /// Times a second.
    pub rate: f64,
    /// Times a second that the bare machine does the like.
    pub limit: f64,
}

impl Rate {
    fn percent(&self) -> f64 {
        100.0 * self.rate / self.limit.max(1e-9)
    }
}

impl Ceiling {
    /// The limits, and no rates yet.
    pub fn new(scale: &'static str, limits: &Limits) -> Ceiling {
        let limit = |name: &str, rate: f64, unit| Limit {
            name: name.into(),
            rate,
            unit,
        };
        let mut all = vec![
            limit("append, 256 KiB pieces", limits.append / 1e6, "MB/s"),
            limit("append of one commit's bytes", limits.appends, "/s"),
        ];
        let synced = limits.synced.iter();
        all.extend(
            synced.map(|(threads, rate)| limit(&format!("append and sync, {threads} threads"), *rate, "/s")),
        );
        all.extend([
            limit("random 4 KiB read, hot", limits.random, "/s"),
            limit("sequential read, hot", limits.sequential / 1e6, "MB/s"),
            limit("memory copy", limits.copy / 1e6, "MB/s"),
            limit("vector look-up", limits.vector, "/s"),
        ]);
        Ceiling {
            scale,
            limits: all,
            rates: Vec::new(),
            differences: Vec::new(),
        }
    }
}

impl Findings for Ceiling {
    fn table(&self) -> String {
        let mut lines = vec![
            format!("ceiling, scale {}: limits of this machine", self.scale),
            String::new(),
        ];
        for limit in &self.limits {
            lines.push(format!(
                "  {:<34} {:>14.0} {}",
                limit.name, limit.rate, limit.unit
            ));
        }
        lines.push(String::new());
        lines.push("  budget  commits  work                    a second      limit   percent".into());
        for rate in &self.rates {
            lines.push(format!(
                "  {:>3} MiB  {:<7}  {:<18} {:>13.0} {:>10.0}  {:>7.1}%",
                rate.budget,
                rate.durability,
                rate.work,
                rate.rate,
                rate.limit,
                rate.percent()
            ));
        }
        lines.push(match self.differences.is_empty() {
            true => "  verified: all objects, both indexes and the sums are those committed".into(),
            false => format!("  NOT VERIFIED: {}", self.differences.join("; ")),
        });
        lines.push(String::new());
        lines.join("\n")
    }

    fn json(&self) -> Value {
        let limits = self
            .limits
            .iter()
            .map(|limit| json!({"name": limit.name, "rate": limit.rate, "unit": limit.unit}));
        let rates = self.rates.iter().map(|rate| {
            json!({
                "budget_mib": rate.budget,
                "durability": rate.durability,
                "work": rate.work,
                "rate": rate.rate,
                "limit": rate.limit,
                "percent": rate.percent(),
            })
        });
        json!({
            "scale": self.scale,
            "limits": limits.collect::<Vec<_>>(),
            "rates": rates.collect::<Vec<_>>(),
        })
    }

    fn differences(&self) -> &[String] {
        &self.differences
    }
}
