//! Counting an extent reads no object.

use super::rule::{Context, Rule, bottom_up};
use crate::query::plan::{Aggregate, AggregateFunction, Column, Expression, Plan};

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
                    && let Some((class, classes)) = counted(source_below(&input), aggregate)
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

/// A column, and the column below that it passes on.
type Passed<'p> = Vec<(&'p Column, &'p Column)>;

/// The node whose rows are counted: order and projections of whole columns do not matter.
pub(super) fn source_below(plan: &Plan) -> (&Plan, Passed<'_>) {
    match plan {
        Plan::Sort { input, .. } => source_below(input),
        Plan::Project { input, columns } => {
            let (below, mut passed) = source_below(input);
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

/// The extent that the aggregate counts.
fn counted((plan, passed): (&Plan, Passed<'_>), aggregate: &Aggregate) -> Option<Extent> {
    let Plan::Extent {
        column,
        class,
        classes,
        ..
    } = plan
    else {
        return None;
    };
    counts_rows(column, &passed, aggregate).then(|| (class.clone(), classes.clone()))
}

/// Whether an aggregate counts all rows, or their objects (of `column`), which are neither nil nor twice there.
pub(super) fn counts_rows(column: &Column, passed: &Passed<'_>, aggregate: &Aggregate) -> bool {
    match aggregate.function {
        AggregateFunction::CountRows => true,
        AggregateFunction::Count => {
            let Some(mut counted) = aggregate.argument.as_ref().and_then(Expression::as_column) else {
                return false;
            };
            for (above, below) in passed.iter().rev() {
                if *above == counted {
                    counted = below;
                }
            }
            counted == column
        }
        _ => false,
    }
}
