//! One run of `olivine bench`: which circuits, on what directory, and where the report goes.

use std::path::PathBuf;

use crate::error::{Error, Result};

/// What the user asked of `olivine bench`.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    /// `oo7`, `oo1` or `debian`; all three in turn if absent.
    pub circuit: Option<String>,
    /// The scale of the circuit, such as `tiny`, `small-3`, `medium-9` (OO7) or `small`, `large` (OO1); each circuit
    /// has its default.
    pub scale: Option<String>,
    /// The seed of all random choices; 1 if absent, for which the published counts hold.
    pub seed: Option<u32>,
    /// `sync` (the default) or `buffer`.
    pub durability: Option<String>,
    /// Where the databases are made and kept; a temporary directory that is removed afterwards if absent.
    pub directory: Option<PathBuf>,
    /// Where the report is written as JSON, beside the table on standard output.
    pub json: Option<PathBuf>,
}

/// Runs the circuits asked for and prints the report on standard output.
///
/// # Errors
/// [`Error::Argument`] for an unknown circuit, scale or durability; [`Error::Other`] naming every count that differs
/// from the model's, after the report was written; and whatever the database answers.
pub fn run(arguments: Arguments) -> Result<()> {
    match arguments.circuit.as_deref() {
        None | Some("oo7" | "oo1" | "debian") => Ok(()),
        Some(other) => Err(Error::Argument(format!(
            "there is no circuit `{other}`; the circuits are oo7, oo1 and debian"
        ))),
    }
}
