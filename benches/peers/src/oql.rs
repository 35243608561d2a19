//! Queries, as a user of the crate runs them.

use anyhow::{Result, bail};
use olivine::{Parameters, Snapshot, Value};

/// The rows of a query of one column of integers.
pub fn numbers(snapshot: &Snapshot, text: &str, parameters: impl Into<Parameters>) -> Result<Vec<i64>> {
    let rows = snapshot.query(text, parameters)?;
    rows.map(|row| match row?.get(0) {
        Some(Value::Int(number)) => Ok(*number),
        other => bail!("an int was asked for, {other:?} came: {text}"),
    })
    .collect()
}
