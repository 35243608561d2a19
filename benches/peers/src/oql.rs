//! Queries, as a user of the crate runs them.

use anyhow::{Result, bail};
use olivine::{Parameters, Snapshot};

/// The rows of a query of one column of integers.
pub fn numbers(snapshot: &Snapshot, text: &str, parameters: impl Into<Parameters>) -> Result<Vec<i64>> {
    let _rows = snapshot.query(text, parameters)?;
    bail!("queries come next")
}
