//! The engine: from the text of a query to its rows.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::parameters::Parameters;
use crate::error::{Error, Result};
use crate::read::Reader;

/// Rows.
#[derive(Debug)]
pub struct Rows;

/// Parses, binds, optimizes and runs queries; keeps plans.
#[derive(Debug)]
pub struct Engine {
    memory: usize,
}

impl Engine {
    /// An engine whose queries may use `memory` bytes each.
    pub fn new(memory: usize) -> Self {
        Engine { memory }
    }

    /// Runs a query.
    pub fn query(
        &self,
        text: &str,
        parameters: &Parameters,
        reader: Arc<dyn Reader>,
        ended: Option<Arc<AtomicBool>>,
    ) -> Result<Rows> {
        let _ = (text, parameters, reader, ended);
        Err(Error::Argument("queries come next".into()))
    }
}
