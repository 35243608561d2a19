//! Index choice: a filtered extent is read through the index that yields the fewest objects, through several whose
//! sets of objects meet, or not through any where most objects are wanted anyway.

use super::access::{Choice, Target, choose, filtered_extent, without};
use super::cardinality::extent_size;
use super::conjunction::{filtered, split};
use super::cost::{ENTRY, FOUND, LOOKED_UP, SCANNED, SMALL_EXTENT};
use super::rule::{Context, Rule, bottom_up};
use crate::query::plan::{Expression, ExpressionKind, ObjectSet, Plan};

pub(super) struct IndexChoice;

impl Rule for IndexChoice {
    fn apply(&self, plan: Plan, context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::Filter { .. } => through_index(plan, context),
            other => estimated(other, context),
        })
    }
}

fn through_index(plan: Plan, context: &Context<'_>) -> Plan {
    let Some((target, conditions)) = filtered_extent(&plan) else {
        return plan;
    };
    let scanned = extent_size(&target.classes, context).max(SMALL_EXTENT) * SCANNED;
    let single = choose(&target, &conditions, context);
    let alone = single
        .as_ref()
        .map_or(f64::MAX, |choice| LOOKED_UP + choice.rows * FOUND);
    if let Some(sets) = several(&target, &conditions, single.as_ref(), context)
        && sets.cost < alone.min(scanned)
    {
        let conditions = without(conditions, &sets.done);
        return filtered(sets.plan(&target), conditions);
    }
    match single {
        Some(choice) if alone < scanned => filtered(choice.plan, without(conditions, &choice.done)),
        _ => plan,
    }
}

/// A set of objects for which some conditions hold.
struct Found {
    set: ObjectSet,
    /// About how many objects.
    rows: f64,
    /// What finding them costs; reading them comes on top.
    finding: f64,
    /// The places of the conditions that hold for exactly these objects.
    done: Vec<usize>,
}

/// Sets that have met.
struct Sets {
    set: ObjectSet,
    rows: f64,
    cost: f64,
    done: Vec<usize>,
}

impl Sets {
    fn plan(self, target: &Target) -> Plan {
        Plan::IndexSet {
            column: target.column.clone(),
            class: target.class.clone(),
            classes: target.classes.clone(),
            set: self.set,
            estimate: Some(self.rows.round() as u64),
        }
    }
}

/// The cheapest meeting of the sets of several conditions, or the set of one `or`.
fn several(
    target: &Target,
    conditions: &[Expression],
    single: Option<&Choice>,
    context: &Context<'_>,
) -> Option<Sets> {
    let mut found: Vec<Found> = Vec::new();
    let mut served: &[usize] = &[];
    if let Some(choice) = single
        && let Some(set) = set_of(&choice.plan)
    {
        served = &choice.served;
        found.push(Found {
            set,
            rows: choice.rows,
            finding: LOOKED_UP + choice.rows * ENTRY,
            done: choice.done.clone(),
        });
    }
    for (place, condition) in conditions.iter().enumerate() {
        if !served.contains(&place)
            && let Some((set, rows, exact)) = set_for(target, condition, context)
        {
            let finding = LOOKED_UP + rows * ENTRY;
            let done = exact.then_some(place).into_iter().collect();
            found.push(Found {
                set,
                rows,
                finding,
                done,
            });
        }
    }
    found.sort_by(|a, b| a.rows.total_cmp(&b.rows));
    meet(found, extent_size(&target.classes, context))
}

/// The smallest set, met with the others while that saves more than it costs.
fn meet(found: Vec<Found>, extent: f64) -> Option<Sets> {
    let mut found = found.into_iter();
    let first = found.next()?;
    let mut met = vec![first.set];
    let (mut rows, mut finding, mut done) = (first.rows, first.finding, first.done);
    for next in found {
        let left = rows * (next.rows / extent.max(1.0)).min(1.0);
        if (rows - left) * FOUND > next.finding {
            rows = left.max(1.0);
            finding += next.finding;
            met.push(next.set);
            done.extend(next.done);
        }
    }
    let set = match met.len() {
        1 => met.pop()?,
        _ => ObjectSet::And(met),
    };
    // What one index serves alone is a scan of that index.
    if matches!(set, ObjectSet::Keys { .. } | ObjectSet::Path { .. }) {
        return None;
    }
    let cost = finding + rows * FOUND;
    Some(Sets {
        set,
        rows,
        cost,
        done,
    })
}

/// The objects for which one condition holds, how many they are, and whether it holds for all of them.
fn set_for(target: &Target, condition: &Expression, context: &Context<'_>) -> Option<(ObjectSet, f64, bool)> {
    if let ExpressionKind::Or(operands) = &condition.kind {
        let mut sets = Vec::with_capacity(operands.len());
        let (mut all_rows, mut all_exact) = (0.0, true);
        for operand in operands {
            let (set, rows, exact) = set_for(target, operand, context)?;
            all_rows += rows;
            all_exact &= exact;
            match set {
                ObjectSet::Or(several) => sets.extend(several),
                one => sets.push(one),
            }
        }
        let all = extent_size(&target.classes, context);
        return Some((ObjectSet::Or(sets), all_rows.min(all), all_exact));
    }
    let conditions = split(condition.clone());
    if conditions.len() > 1 {
        let single = choose(target, &conditions, context);
        if let Some(sets) = several(target, &conditions, single.as_ref(), context) {
            let exact = sets.done.len() == conditions.len();
            return Some((sets.set, sets.rows, exact));
        }
    }
    let choice = choose(target, &conditions, context)?;
    let exact = choice.done.len() == conditions.len();
    Some((set_of(&choice.plan)?, choice.rows, exact))
}

/// What an index gives, as a set.
fn set_of(plan: &Plan) -> Option<ObjectSet> {
    match plan {
        Plan::IndexScan { index, access, .. } => Some(ObjectSet::Keys {
            index: index.clone(),
            access: access.clone(),
        }),
        Plan::IndexPath { steps, access, .. } => Some(ObjectSet::Path {
            steps: steps.clone(),
            access: access.clone(),
        }),
        _ => None,
    }
}

/// An extent with its size, for `explain`.
fn estimated(mut plan: Plan, context: &Context<'_>) -> Plan {
    if let Plan::Extent {
        classes, estimate, ..
    } = &mut plan
    {
        let sizes = classes.iter().map(|class| context.estimates.extent(*class));
        *estimate = Some(sizes.fold(0, u64::saturating_add));
    }
    plan
}
