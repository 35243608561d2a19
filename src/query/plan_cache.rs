//! Plans of statements met before.
//!
//! A plan holds for one catalog (schema and named roots) and one list of parameter types, and was chosen for extents of
//! certain sizes: once one is four times as large, or a quarter, it is planned again. The cache keeps plans by their
//! text, bounded in number and in bytes; when it is full, the half that was used longest ago goes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::bind::type_of;
use super::engine::ParameterTypes;
use super::parameters::Parameters;
use super::plan::{Expression, Plan, Statement};
use crate::catalog::Catalog;
use crate::object::{ClassId, Type, Value};
use crate::read::Reader;

/// The most texts kept.
const CAPACITY: usize = 256;
/// The most bytes of texts and plans kept, about.
const BYTES: usize = 4 << 20;
/// Bytes of a node or an expression of a plan, about.
const NODE_BYTES: usize = 256;
/// Longer texts are not kept.
const LONGEST_TEXT: usize = 16 << 10;
/// Uses of a plan between two looks at the sizes it was chosen for.
const USES: u32 = 16;
/// Extents up to this size do not make a plan worth another look.
const SMALL: u64 = 1024;

/// A plan, and what it was made for.
#[derive(Debug, Clone)]
pub struct Kept {
    catalog: Arc<Catalog>,
    types: ParameterTypes,
    statement: Arc<Statement>,
    /// The classes whose objects it reads, with how many there were.
    sizes: Vec<(ClassId, u64)>,
    bytes: usize,
    uses: u32,
}

impl Kept {
    /// A plan made for a state and for parameters of these types.
    pub fn new(reader: &dyn Reader, types: ParameterTypes, statement: Arc<Statement>) -> Kept {
        let mut kept = Kept {
            catalog: reader.catalog().clone(),
            types,
            sizes: Vec::new(),
            bytes: 0,
            uses: 0,
            statement,
        };
        kept.measure(reader);
        kept
    }

    /// The plan.
    pub fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// The plan, if it serves a run over this state with these parameters.
    pub fn serve(&mut self, reader: &dyn Reader, parameters: &Parameters) -> Option<Arc<Statement>> {
        let serves = Arc::ptr_eq(&self.catalog, reader.catalog()) && self.fits(parameters);
        self.uses = self.uses.wrapping_add(1);
        let timely = !self.uses.is_multiple_of(USES) || self.is_timely(reader);
        (serves && timely).then(|| self.statement.clone())
    }

    fn fits(&self, parameters: &Parameters) -> bool {
        let mut given = parameters.iter();
        let each = self.types.iter().all(|(name, r#type)| {
            let next = given.next();
            next.is_some_and(|(known, value)| known == &**name && is_of(value, r#type, &self.catalog))
        });
        each && given.next().is_none()
    }

    fn is_timely(&self, reader: &dyn Reader) -> bool {
        self.sizes.iter().all(|(class, then)| {
            let now = reader.extent_estimate(*class);
            let (less, more) = (now.min(*then), now.max(*then));
            more <= SMALL || more / 4 <= less
        })
    }

    /// Notes which extents the plan reads, and how large it is.
    fn measure(&mut self, reader: &dyn Reader) {
        let statement = self.statement.clone();
        let mut nodes = 0_usize;
        let mut plans: Vec<&Plan> = statement.plan().into_iter().collect();
        let mut expressions: Vec<&Expression> = Vec::new();
        while let Some(plan) = plans.pop() {
            nodes = nodes.saturating_add(1);
            if let Plan::Extent { classes, .. } | Plan::IndexScan { classes, .. } = plan {
                let size = |class: &ClassId| (*class, reader.extent_estimate(*class));
                self.sizes.extend(classes.iter().map(size));
            }
            expressions.extend(plan.expressions());
            plans.extend(plan.children());
        }
        while let Some(expression) = expressions.pop() {
            nodes = nodes.saturating_add(1);
            expressions.extend(expression.children());
        }
        self.bytes = nodes.saturating_mul(NODE_BYTES);
    }
}

/// Whether `type_of` the value is this type, without making one where that is quick to say.
fn is_of(value: &Value, r#type: &Type, catalog: &Catalog) -> bool {
    match (value, r#type) {
        (Value::Int(_), Type::Int) | (Value::String(_), Type::String) | (Value::Float(_), Type::Float) => {
            true
        }
        _ => type_of(value, catalog) == *r#type,
    }
}

/// Plans by text.
#[derive(Debug, Default)]
pub struct PlanCache {
    plans: FxHashMap<Arc<str>, (Kept, u64)>,
    clock: u64,
    bytes: usize,
}

impl PlanCache {
    /// The plan of `text`, if it serves a run over this state with these parameters.
    pub fn get(
        &mut self,
        text: &str,
        reader: &dyn Reader,
        parameters: &Parameters,
    ) -> Option<Arc<Statement>> {
        self.clock = self.clock.saturating_add(1);
        let (kept, used) = self.plans.get_mut(text)?;
        let statement = kept.serve(reader, parameters)?;
        *used = self.clock;
        Some(statement)
    }

    /// Keeps a plan.
    pub fn insert(&mut self, text: Arc<str>, mut kept: Kept) {
        kept.bytes = kept.bytes.saturating_add(text.len());
        if text.len() > LONGEST_TEXT || kept.bytes > BYTES / 4 {
            return;
        }
        if self.plans.len() >= CAPACITY || self.bytes.saturating_add(kept.bytes) > BYTES {
            self.evict();
        }
        self.bytes = self.bytes.saturating_add(kept.bytes);
        if let Some((before, _)) = self.plans.insert(text, (kept, self.clock)) {
            self.bytes = self.bytes.saturating_sub(before.bytes);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.plans.clear();
        self.bytes = 0;
    }

    fn evict(&mut self) {
        let mut uses: Vec<u64> = self.plans.values().map(|(_, used)| *used).collect();
        uses.sort_unstable();
        let middle = uses.get(uses.len() / 2).copied().unwrap_or(0);
        self.plans.retain(|_, (_, used)| *used > middle);
        self.bytes = self.plans.values().map(|(kept, _)| kept.bytes).sum();
    }
}
