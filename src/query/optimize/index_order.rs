//! Sorting what an index already has in order is left out.

use super::access::{Target, filtered_extent, index_key, is_path, usable, without_nil};
use super::cardinality::{extent_size, rows, selectivity};
use super::conjunction::filtered;
use super::rule::{Context, Rule, bottom_up};
use crate::catalog::{Component, Index, IndexKind};
use crate::object::Value;
use crate::query::plan::{Access, ColumnId, Expression, IndexKey, NullsOrder, Plan, SortKey};
use crate::read::Direction;

pub(super) struct IndexOrder;

impl Rule for IndexOrder {
    fn apply(&self, plan: Plan, context: &mut Context<'_>) -> Plan {
        bottom_up(plan, &mut |plan| match plan {
            Plan::Sort { input, keys } => match scan_in_order(&input, &keys, context) {
                Some(ordered) => ordered,
                None => Plan::Sort { input, keys },
            },
            Plan::TopK {
                input,
                keys,
                limit,
                offset,
            } => {
                let ordered = scan_in_order(&input, &keys, context)
                    .or_else(|| extent_in_order(&input, &keys, &limit, offset.as_ref(), context));
                match ordered {
                    Some(ordered) => Plan::Limit {
                        input: Box::new(ordered),
                        limit: Some(limit),
                        offset,
                    },
                    None => Plan::TopK {
                        input,
                        keys,
                        limit,
                        offset,
                    },
                }
            }
            other => other,
        })
    }
}

/// The plan as an index scan in the order of the keys, if it is an index scan that has that order in a direction.
pub(super) fn scan_in_order(plan: &Plan, keys: &[SortKey], context: &Context<'_>) -> Option<Plan> {
    match plan {
        Plan::Filter { input, predicate } => Some(Plan::Filter {
            input: Box::new(scan_in_order(input, keys, context)?),
            predicate: predicate.clone(),
        }),
        Plan::IndexScan {
            column,
            index: key,
            access,
            ..
        } if !key.multiple => {
            let index = context.catalog.indexes.get(&key.id)?;
            let equal = access.equal.len();
            let (key, wanted) = match order(keys, index.components.get(equal..)?, column.id) {
                Some(wanted) => (key.clone(), wanted),
                None => longer_index(plan, index, keys, context)?,
            };
            let mut ordered = plan.clone();
            if let Plan::IndexScan { direction, index, .. } = &mut ordered {
                *direction = wanted;
                *index = key;
            }
            Some(ordered)
        }
        _ => None,
    }
}

/// Another index that begins with the components that a scan has equal, and goes on in the order of the keys.
fn longer_index(
    scan: &Plan,
    scanned: &Index,
    keys: &[SortKey],
    context: &Context<'_>,
) -> Option<(IndexKey, Direction)> {
    let Plan::IndexScan {
        column,
        class,
        classes,
        access,
        ..
    } = scan
    else {
        return None;
    };
    if access.among.is_some() || access.lower.is_some() || access.upper.is_some() {
        return None;
    }
    let target = Target {
        column: column.clone(),
        class: class.clone(),
        classes: classes.clone(),
    };
    let equal = scanned.components.get(..access.equal.len())?;
    let begins = |index: &&Index| {
        let first = index.components.get(..equal.len());
        first.is_some_and(|first| first.iter().zip(equal).all(|(a, b)| a.path == b.path))
    };
    sorted_indexes(context)
        .into_iter()
        .filter(begins)
        .find_map(|index| {
            let key = complete_index(index, &target, context)?;
            let direction = order(keys, index.components.get(equal.len()..)?, column.id)?;
            Some((key, direction))
        })
}

pub(super) fn sorted_indexes<'c>(context: &Context<'c>) -> Vec<&'c Index> {
    let mut indexes: Vec<&Index> = context.catalog.indexes.values().map(|index| &**index).collect();
    indexes.sort_by_key(|index| index.id);
    indexes
}

/// The index, if it can be read in order, has every object of the target exactly once, and not many others.
fn complete_index(index: &Index, target: &Target, context: &Context<'_>) -> Option<IndexKey> {
    let complete = index.kind != IndexKind::Unique || without_nil(index, context);
    let family = context.catalog.classes.get(&index.class)?;
    let (wanted, all) = (
        extent_size(&target.classes, context),
        extent_size(&family.family, context),
    );
    if wanted * 4.0 < all
        || !usable(index, target, context)
        || !index.ordered
        || !index.steps.is_empty()
        || !complete
    {
        return None;
    }
    index_key(index, context).filter(|key| !key.multiple)
}

/// The direction in which these components of an index have the order of the keys.
fn order(keys: &[SortKey], components: &[Component], object: ColumnId) -> Option<Direction> {
    let mut direction = None;
    for (place, key) in keys.iter().enumerate() {
        let component = components.get(place)?;
        let path: Vec<&str> = component.path.iter().map(|name| &**name).collect();
        let usual = if key.descending {
            NullsOrder::Last
        } else {
            NullsOrder::First
        };
        if path.len() != 1 || !is_path(&key.expression, object, &path) || key.nulls != usual {
            return None;
        }
        let wanted = if key.descending == component.descending {
            Direction::Ascending
        } else {
            Direction::Descending
        };
        if direction.is_some_and(|direction| direction != wanted) {
            return None;
        }
        direction = Some(wanted);
    }
    direction
}

/// A filtered extent read through an index in the order of the keys, if a limit stops that early.
fn extent_in_order(
    plan: &Plan,
    keys: &[SortKey],
    limit: &Expression,
    offset: Option<&Expression>,
    context: &Context<'_>,
) -> Option<Plan> {
    let (target, conditions) = filtered_extent(plan)?;
    let count = |expression: &Expression| expression.as_constant().and_then(Value::as_int);
    let wanted = match offset {
        None => count(limit)?,
        Some(offset) => count(limit)?.checked_add(count(offset)?)?,
    };
    let share: f64 = conditions.iter().map(selectivity).product();
    let all = Plan::Extent {
        column: target.column.clone(),
        class: target.class.clone(),
        classes: target.classes.clone(),
        estimate: None,
    };
    // An object found by an index costs several times one that a scan passes.
    if wanted as f64 / share.max(1e-9) > rows(&all, context) / 8.0 {
        return None;
    }
    let scan = sorted_indexes(context)
        .into_iter()
        .find_map(|index| whole_index(index, keys, &target, context))?;
    Some(filtered(scan, conditions))
}

/// A scan of all keys of an index in the order of the keys.
pub(super) fn whole_index(
    index: &Index,
    keys: &[SortKey],
    target: &Target,
    context: &Context<'_>,
) -> Option<Plan> {
    let key = complete_index(index, target, context)?;
    let direction = order(keys, &index.components, target.column.id)?;
    Some(Plan::IndexScan {
        column: target.column.clone(),
        class: target.class.clone(),
        classes: target.classes.clone(),
        index: key,
        access: Access::all(),
        direction,
        estimate: None,
    })
}
