//! Counting an extent reads no object.

use super::rule::{Context, Rule, bottom_up};
use crate::query::plan::{Aggregate, AggregateFunction, Column, Plan};

pub(super) struct CountExtent;

impl Rule for CountExtent {
    fn apply(&self, plan: Plan, _context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::Group {
                input,
                keys,
                aggregates,
                partition,
            } => {
                if keys.is_empty()
                    && partition.is_none()
                    && let [aggregate] = aggregates.as_slice()
                    && let Some((class, classes)) = counted(extent_below(&input), aggregate)
                {
                    let column = aggregate.column.clone();
                    return Plan::CountExtent {
                        column,
                        class,
                        classes,
                    };
                }
                Plan::Group {
                    input,
                    keys,
                    aggregates,
                    partition,
                }
            }
            other => other,
        })
    }
}

/// The node whose rows are counted: order and projections of whole columns do not matter.
fn extent_below(plan: &Plan) -> (&Plan, Vec<(&Column, &Column)>) {
    match plan {
        Plan::Sort { input, .. } => extent_below(input),
        Plan::Project { input, columns } => {
            let (below, mut passed) = extent_below(input);
            passed.extend(
                columns
                    .iter()
                    .filter_map(|(column, value)| Some((column, value.as_column()?))),
            );
            (below, passed)
        }
        other => (other, Vec::new()),
    }
}

type Extent = (std::sync::Arc<str>, Vec<crate::object::ClassId>);

/// The extent that the aggregate counts: all rows, or its objects, which are neither nil nor twice there.
fn counted((plan, passed): (&Plan, Vec<(&Column, &Column)>), aggregate: &Aggregate) -> Option<Extent> {
    let Plan::Extent {
        column,
        class,
        classes,
        ..
    } = plan
    else {
        return None;
    };
    let objects = || {
        let mut counted = aggregate.argument.as_ref()?.as_column()?;
        for (above, below) in passed.iter().rev() {
            if *above == counted {
                counted = below;
            }
        }
        (counted == column).then_some(())
    };
    match aggregate.function {
        AggregateFunction::CountRows => {}
        AggregateFunction::Count => objects()?,
        _ => return None,
    }
    Some((class.clone(), classes.clone()))
}
