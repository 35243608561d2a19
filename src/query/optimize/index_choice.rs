//! Index choice: a filtered extent is read through the index that yields the fewest objects.

use super::access::{choose, filtered_extent, without};
use super::conjunction::filtered;
use super::rule::{Context, Rule, bottom_up};
use crate::query::plan::Plan;

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
    match choose(&target, &conditions, context) {
        Some(choice) => filtered(choice.plan, without(conditions, &choice.done)),
        None => plan,
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
