//! Queries that are parsed once and run many times.

use std::sync::Arc;

use parking_lot::Mutex;

use super::ast;
use super::engine::Engine;
use super::parameters::Parameters;
use super::plan::Statement;
use super::plan_cache::Kept;
use crate::error::Result;
use crate::object::Type;
use crate::read::Reader;

/// A query that was parsed and checked once, made by `prepare` and run by `run` on any snapshot or transaction of its
/// database. Cheap to clone, and usable from many threads.
///
/// Its plan is kept for the types of the parameters it was last run with, and made anew when they are others, when the
/// schema has changed since, or when what it reads has grown or shrunk a lot.
#[derive(Debug, Clone)]
pub struct Prepared(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    text: Arc<str>,
    statement: ast::Statement,
    parameters: Vec<(Arc<str>, Type)>,
    plan: Mutex<Option<Kept>>,
}

impl Prepared {
    pub(super) fn new(text: &str, statement: ast::Statement, parameters: Vec<(Arc<str>, Type)>) -> Prepared {
        Prepared(Arc::new(Shared {
            text: text.into(),
            statement,
            parameters,
            plan: Mutex::default(),
        }))
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Its parameters in the order of their first use: names without `$` (`1` for `$1`), and the types that their places
    /// expect, `any` where the text does not tell.
    pub fn parameters(&self) -> &[(Arc<str>, Type)] {
        &self.0.parameters
    }

    /// The plan for a run over this state with these parameters.
    pub(super) fn plan(
        &self,
        engine: &Engine,
        reader: &dyn Reader,
        parameters: &Parameters,
    ) -> Result<Arc<Statement>> {
        let known = |kept: &mut Option<Kept>| kept.as_mut()?.serve(reader, parameters);
        if let Some(plan) = known(&mut self.0.plan.lock()) {
            return Ok(plan);
        }
        let kept = engine.plan(&self.0.statement, &self.0.text, reader, parameters)?;
        let plan = kept.statement().clone();
        *self.0.plan.lock() = Some(kept);
        Ok(plan)
    }
}
