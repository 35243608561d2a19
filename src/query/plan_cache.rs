//! Plans of statements met before.
//!
//! A plan holds for one catalog (schema and named roots) and one list of parameter types. The cache keeps a bounded
//! number of texts; when it is full, the half that was used longest ago goes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::engine::ParameterTypes;
use super::plan::Statement;
use crate::catalog::Catalog;

/// The most texts kept.
const CAPACITY: usize = 256;
/// Longer texts are not kept.
const LONGEST_TEXT: usize = 16 << 10;

/// Plans by text.
#[derive(Debug, Default)]
pub struct PlanCache {
    plans: FxHashMap<Arc<str>, Kept>,
    clock: u64,
}

#[derive(Debug)]
struct Kept {
    catalog: Arc<Catalog>,
    types: ParameterTypes,
    statement: Arc<Statement>,
    used: u64,
}

impl PlanCache {
    /// The plan of `text`, if it was made for this catalog and these parameter types.
    pub fn get(
        &mut self,
        text: &str,
        catalog: &Arc<Catalog>,
        types: &ParameterTypes,
    ) -> Option<Arc<Statement>> {
        self.clock = self.clock.saturating_add(1);
        let kept = self.plans.get_mut(text)?;
        if !Arc::ptr_eq(&kept.catalog, catalog) || kept.types != *types {
            return None;
        }
        kept.used = self.clock;
        Some(kept.statement.clone())
    }

    /// Keeps a plan.
    pub fn insert(
        &mut self,
        text: Arc<str>,
        catalog: Arc<Catalog>,
        types: ParameterTypes,
        statement: Arc<Statement>,
    ) {
        if text.len() > LONGEST_TEXT {
            return;
        }
        if self.plans.len() >= CAPACITY {
            self.evict();
        }
        self.plans.insert(
            text,
            Kept {
                catalog,
                types,
                statement,
                used: self.clock,
            },
        );
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.plans.clear();
    }

    fn evict(&mut self) {
        let mut uses: Vec<u64> = self.plans.values().map(|kept| kept.used).collect();
        uses.sort_unstable();
        let middle = uses.get(uses.len() / 2).copied().unwrap_or(0);
        self.plans.retain(|_, kept| kept.used > middle);
    }
}
