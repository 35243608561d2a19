//! Which index serves which conditions.
//!
//! An index serves conditions on its first components by equality, and on the next one by a list of values or a range.
//! A condition that an index serves exactly is done with; a `like` is still checked.

use super::conjunction::split;
use super::rule::Context;
use crate::catalog::{Class, Component, Index, IndexKind};
use crate::object::{ClassId, Type, Value};
use crate::query::plan::{
    Access, Column, ColumnId, Comparison, Equal, Expression, ExpressionKind, IndexKey, Plan, SubqueryForm,
};
use crate::read::Direction;

/// A range over a class whose objects are wanted.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The object column.
    pub column: Column,
    /// The class named in the query.
    pub class: std::sync::Arc<str>,
    /// The classes wanted.
    pub classes: Vec<ClassId>,
}

/// A way to read the objects through an index.
#[derive(Debug)]
pub(super) struct Choice {
    /// The node.
    pub plan: Plan,
    /// The places of the conditions that it makes superfluous.
    pub done: Vec<usize>,
    /// The places of the conditions that it serves.
    pub served: Vec<usize>,
    /// About how many rows it yields.
    pub rows: f64,
    unique: bool,
}

/// The best index for conditions that all must hold, if any serves one.
pub(super) fn choose(target: &Target, conditions: &[Expression], context: &Context<'_>) -> Option<Choice> {
    let mut indexes: Vec<&Index> = context.catalog.indexes.values().map(|index| &**index).collect();
    indexes.sort_by_key(|index| index.id);
    let choices = indexes.into_iter().filter(|index| usable(index, target, context));
    let mut choices: Vec<Choice> = choices
        .filter_map(|index| serve(index, target, conditions, context))
        .collect();
    choices.sort_by(|a, b| {
        let by_rows = a.rows.total_cmp(&b.rows).then(b.unique.cmp(&a.unique));
        by_rows.then(b.served.len().cmp(&a.served.len()))
    });
    choices.into_iter().next()
}

/// Whether an index may be read, and has all objects of the target.
pub(super) fn usable(index: &Index, target: &Target, context: &Context<'_>) -> bool {
    index.ready
        && target
            .classes
            .iter()
            .all(|class| context.catalog.is_a(*class, index.class))
}

fn serve(index: &Index, target: &Target, conditions: &[Expression], context: &Context<'_>) -> Option<Choice> {
    let key = index_key(index, context)?;
    let mut matched = Matched::default();
    let mut components = index.components.iter();
    let mut next = None;
    for component in components.by_ref() {
        let path: Vec<&str> = component.path.iter().map(|name| &**name).collect();
        let equal = conditions.iter().enumerate().find_map(|(place, condition)| {
            Some((
                place,
                equality(condition, target.column.id, &path, index, key.multiple)?,
            ))
        });
        match equal {
            Some((place, equal)) => matched.equal(place, equal),
            None => {
                next = Some(path);
                break;
            }
        }
    }
    let whole = next.is_none();
    let last = components.next().is_none();
    if let Some(path) = next {
        matched.next_component(conditions, target.column.id, &path, index, last);
    }
    if matched.served.is_empty() || !readable(index, &matched, whole, last, context) {
        return None;
    }
    let rows = matched.rows(index, whole, target, context);
    let plan = node(index, key, target, &matched, rows, context)?;
    let Matched { done, served, .. } = matched;
    Some(Choice {
        plan,
        done,
        served,
        rows,
        unique: index.kind == IndexKind::Unique && whole,
    })
}

/// An index that knows only whole keys, or leaves objects with nil out, serves fewer conditions.
fn readable(index: &Index, matched: &Matched, whole: bool, last: bool, context: &Context<'_>) -> bool {
    let every_component = whole || (last && matched.access.among.is_some());
    if !index.ordered && !every_component {
        return false;
    }
    let serves_last = whole || (last && (matched.access.among.is_some() || matched.bounded()));
    index.kind != IndexKind::Unique || serves_last || without_nil(index, context)
}

/// Whether no object can have nil in a component.
pub(super) fn without_nil(index: &Index, context: &Context<'_>) -> bool {
    let Some(class) = context.catalog.classes.get(&index.class) else {
        return false;
    };
    index
        .components
        .iter()
        .all(|component| match component.path.as_slice() {
            [only] => class.attribute(only).is_some_and(|attribute| attribute.not_null),
            _ => false,
        })
}

/// What conditions ask of an index.
struct Matched {
    access: Access,
    done: Vec<usize>,
    served: Vec<usize>,
}

impl Default for Matched {
    fn default() -> Matched {
        Matched {
            access: Access::all(),
            done: Vec::new(),
            served: Vec::new(),
        }
    }
}

impl Matched {
    fn equal(&mut self, place: usize, equal: Equal) {
        self.access.equal.push(equal);
        self.done.push(place);
        self.served.push(place);
    }

    fn bounded(&self) -> bool {
        self.access.lower.is_some() || self.access.upper.is_some()
    }

    /// The conditions on the component after the equal ones: a list of values, else bounds.
    fn next_component(
        &mut self,
        conditions: &[Expression],
        object: ColumnId,
        path: &[&str],
        index: &Index,
        last: bool,
    ) {
        let among = conditions
            .iter()
            .enumerate()
            .find_map(|(place, condition)| Some((place, list(condition, object, path)?)));
        if let Some((place, among)) = among
            && (index.ordered || last)
        {
            self.access.among = Some(among);
            self.done.push(place);
            self.served.push(place);
            return;
        }
        for (place, condition) in conditions.iter().enumerate() {
            self.bounds(place, condition, object, path);
        }
    }

    fn bounds(&mut self, place: usize, condition: &Expression, object: ColumnId, path: &[&str]) {
        let Some(Bounds { lower, upper, exact }) = bounds(condition, object, path) else {
            return;
        };
        let free = lower.is_none() || self.access.lower.is_none();
        if !free || (upper.is_some() && self.access.upper.is_some()) {
            return;
        }
        self.access.lower = lower.or(self.access.lower.take());
        self.access.upper = upper.or(self.access.upper.take());
        self.served.push(place);
        if exact {
            self.done.push(place);
        }
    }

    fn rows(&self, index: &Index, whole: bool, target: &Target, context: &Context<'_>) -> f64 {
        let all: f64 = target
            .classes
            .iter()
            .map(|class| context.estimates.extent(*class) as f64)
            .sum();
        let equal = self.access.equal.len();
        if whole && index.kind == IndexKind::Unique {
            return 1.0;
        }
        let known = |components| matches(index, components, context);
        let guess = |components: usize| {
            let shares = index.components.iter().take(components);
            all * shares
                .map(|component| share(index, component, context))
                .product::<f64>()
        };
        let before = match equal {
            0 => all,
            _ => known(equal).unwrap_or_else(|| guess(equal)),
        };
        let rows = match (&self.access.among, &self.access.lower, &self.access.upper) {
            (Some(values), ..) => {
                let each = known(equal.saturating_add(1)).unwrap_or_else(|| guess(equal.saturating_add(1)));
                let each = if index.kind == IndexKind::Unique {
                    each.min(1.0)
                } else {
                    each
                };
                (each * how_many(values)).min(before)
            }
            (None, Some(_), Some(_)) => before * 0.05,
            (None, None, None) => before,
            (None, ..) => before * 0.2,
        };
        rows.max(1.0)
    }
}

/// About how many objects an index has for one value of its first `components` components, if that is known: of fewer
/// than all, from an index on just these, or else the values of all of them are taken to be even. Along a path the
/// sources multiply.
fn matches(index: &Index, components: usize, context: &Context<'_>) -> Option<f64> {
    if index.steps.is_empty() {
        let wanted = index.components.get(..components)?;
        let same = |other: &&std::sync::Arc<Index>| {
            other.class == index.class
                && other.steps.is_empty()
                && other.components.len() == components
                && other.components.iter().zip(wanted).all(|(a, b)| a.path == b.path)
        };
        let known = context.catalog.indexes.values().find(same);
        let size = context
            .estimates
            .index_size(known.map_or(index.id, |known| known.id))?;
        let (entries, keys) = (size.entries as f64, (size.keys as f64).max(1.0));
        let share = match known {
            Some(_) => 1.0,
            None => components as f64 / index.components.len().max(1) as f64,
        };
        return Some(entries / keys.powf(share));
    }
    let steps = index.steps.iter();
    steps
        .map(|step| matches(context.catalog.indexes.get(step)?, 1, context))
        .product()
}

/// The share of objects with one value of a component, where nothing is known: of references, one in as many as there
/// are objects to refer to.
fn share(index: &Index, component: &Component, context: &Context<'_>) -> f64 {
    const UNKNOWN: f64 = 0.05;
    let [attribute] = component.path.as_slice() else {
        return UNKNOWN;
    };
    let class = context.catalog.classes.get(&index.class);
    let attribute = class.and_then(|class| class.attribute(attribute));
    let Some(Type::Reference(target)) = attribute.map(|attribute| &attribute.r#type) else {
        return UNKNOWN;
    };
    let Some(target) = context.catalog.class(target) else {
        return UNKNOWN;
    };
    let targets: f64 = target
        .family
        .iter()
        .map(|class| context.estimates.extent(*class) as f64)
        .sum();
    1.0 / targets.max(1.0)
}

fn how_many(values: &[(Expression, bool)]) -> f64 {
    let each = values
        .iter()
        .map(|(value, several)| match (value.as_constant(), several) {
            (Some(constant), true) => constant.as_members().map_or(4, <[Value]>::len) as f64,
            (None, true) => 4.0,
            (_, false) => 1.0,
        });
    each.sum()
}

/// The node that reads the index.
fn node(
    index: &Index,
    key: IndexKey,
    target: &Target,
    matched: &Matched,
    rows: f64,
    context: &Context<'_>,
) -> Option<Plan> {
    let estimate = Some(rows.round() as u64);
    let (column, class, classes) = (
        target.column.clone(),
        target.class.clone(),
        target.classes.clone(),
    );
    let access = matched.access.clone();
    if index.steps.is_empty() {
        return Some(Plan::IndexScan {
            column,
            class,
            classes,
            index: key,
            access,
            direction: Direction::Ascending,
            estimate,
        });
    }
    let mut steps = Vec::with_capacity(index.steps.len());
    for step in &index.steps {
        let step = context.catalog.indexes.get(step).filter(|step| step.ready)?;
        steps.push(index_key(step, context)?);
    }
    // The end of a path that knows only whole keys serves no range.
    let end = context.catalog.indexes.get(index.steps.last()?)?;
    if !end.ordered && matched.bounded() {
        return None;
    }
    Some(Plan::IndexPath {
        column,
        class,
        classes,
        steps,
        access,
        estimate,
    })
}

/// An index as a plan names it.
pub(super) fn index_key(index: &Index, context: &Context<'_>) -> Option<IndexKey> {
    let class = context.catalog.classes.get(&index.class)?;
    let mut components = Vec::with_capacity(index.components.len());
    let mut multiple = false;
    for component in &index.components {
        multiple = multiple || holds_several(class, &component.path, context);
        let path: Vec<&str> = component.path.iter().map(|name| &**name).collect();
        let descending = if component.descending { " desc" } else { "" };
        components.push(format!("{}{descending}", path.join(".")).into());
    }
    Some(IndexKey {
        id: index.id,
        name: index.name.clone(),
        components,
        multiple,
    })
}

/// Whether an object can have several values at the end of a path.
fn holds_several(class: &Class, path: &[std::sync::Arc<str>], context: &Context<'_>) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return false;
    };
    match class.attribute(first).map(|attribute| &attribute.r#type) {
        Some(Type::Reference(next)) => context
            .catalog
            .class(next)
            .is_some_and(|next| holds_several(next, rest, context)),
        Some(r#type) => r#type.member().is_some(),
        None => true,
    }
}

/// Whether an expression is this path of attributes of the object.
pub(super) fn is_path(expression: &Expression, object: ColumnId, path: &[&str]) -> bool {
    match (path.split_last(), &expression.kind) {
        (None, ExpressionKind::Column(column)) => column.id == object,
        (Some((last, before)), ExpressionKind::Attribute { base, name, .. }) => {
            **name == **last && is_path(base, object, before)
        }
        _ => false,
    }
}

fn free(expression: &Expression, object: ColumnId) -> bool {
    !expression.uses(&|column| column == object)
}

/// What a condition says the path equals.
fn equality(
    condition: &Expression,
    object: ColumnId,
    path: &[&str],
    index: &Index,
    multiple: bool,
) -> Option<Equal> {
    match &condition.kind {
        ExpressionKind::Compare {
            operator: Comparison::Equal,
            left,
            right,
        } if !multiple => {
            if is_path(left, object, path) && free(right, object) {
                return Some(Equal::Value((**right).clone()));
            }
            let other_way = is_path(right, object, path) && free(left, object);
            other_way.then(|| Equal::Value((**left).clone()))
        }
        ExpressionKind::IsNil(value) if !multiple && path.len() == 1 => {
            let nil = index.kind != IndexKind::Unique && is_path(value, object, path);
            nil.then_some(Equal::Nil)
        }
        ExpressionKind::InCollection { value, collection } if multiple => {
            let member = is_path(collection, object, path) && free(value, object);
            member.then(|| Equal::Value((**value).clone()))
        }
        _ => None,
    }
}

/// The values that a condition says the path is one of.
fn list(condition: &Expression, object: ColumnId, path: &[&str]) -> Option<Vec<(Expression, bool)>> {
    match &condition.kind {
        ExpressionKind::InSet { value, members, .. } if is_single(value, object, path) => {
            let set = Type::set(value.r#type.clone());
            let constant = ExpressionKind::Constant(Value::Set(members.clone()));
            Some(vec![(Expression::new(constant, set, condition.span), true)])
        }
        ExpressionKind::InList { value, members } if is_single(value, object, path) => {
            let independent = members.iter().all(|member| free(member, object));
            independent.then(|| members.iter().map(|member| (member.clone(), false)).collect())
        }
        ExpressionKind::InCollection { value, collection } if is_single(value, object, path) => {
            let wanted = free(collection, object) && collection.r#type.member().is_some();
            wanted.then(|| vec![((**collection).clone(), true)])
        }
        ExpressionKind::Subquery(subquery) => match &subquery.form {
            SubqueryForm::In(value) if is_single(value, object, path) && subquery.outer.is_empty() => {
                let mut rows = subquery.clone();
                rows.form = SubqueryForm::Collection;
                let bag = Type::bag(value.r#type.clone());
                Some(vec![(
                    Expression::new(ExpressionKind::Subquery(rows), bag, condition.span),
                    true,
                )])
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression is the path and no collection: an index has the members of a collection, not the whole.
fn is_single(value: &Expression, object: ColumnId, path: &[&str]) -> bool {
    value.r#type.member().is_none() && is_path(value, object, path)
}

/// What a condition says of the path's place in the order.
struct Bounds {
    lower: Option<(Expression, bool)>,
    upper: Option<(Expression, bool)>,
    /// Whether the bounds say all that the condition says.
    exact: bool,
}

fn bounds(condition: &Expression, object: ColumnId, path: &[&str]) -> Option<Bounds> {
    match &condition.kind {
        ExpressionKind::Compare {
            operator,
            left,
            right,
        } => {
            let (operator, attribute, value) = if is_path(left, object, path) {
                (*operator, left, right)
            } else if is_path(right, object, path) {
                (operator.swapped(), right, left)
            } else {
                return None;
            };
            if !free(value, object) || !ordered_alike(attribute, value) {
                return None;
            }
            let bound = |inclusive| Some(((**value).clone(), inclusive));
            let (lower, upper) = match operator {
                Comparison::Greater => (bound(false), None),
                Comparison::GreaterOrEqual => (bound(true), None),
                Comparison::Less => (None, bound(false)),
                Comparison::LessOrEqual => (None, bound(true)),
                Comparison::Equal | Comparison::NotEqual => return None,
            };
            Some(Bounds {
                lower,
                upper,
                exact: true,
            })
        }
        ExpressionKind::Between { value, low, high } if is_path(value, object, path) => {
            let usable = |bound: &Expression| free(bound, object) && ordered_alike(value, bound);
            (usable(low) && usable(high)).then(|| Bounds {
                lower: Some(((**low).clone(), true)),
                upper: Some(((**high).clone(), true)),
                exact: true,
            })
        }
        ExpressionKind::Like {
            value,
            pattern,
            ignore_case: false,
        } if is_path(value, object, path) => {
            let prefix = pattern.prefix()?;
            let text =
                |text: &str| Expression::constant(Value::String(std::sync::Arc::from(text)), Type::String);
            Some(Bounds {
                lower: Some((text(prefix), true)),
                upper: after(prefix).map(|after| (text(&after), false)),
                exact: false,
            })
        }
        _ => None,
    }
}

/// Whether two values compare whatever they are, so that the order of the index is that of the comparison.
fn ordered_alike(a: &Expression, b: &Expression) -> bool {
    let (a, b) = (&a.r#type, &b.r#type);
    let scalar = !matches!(
        a,
        Type::Any | Type::List(_) | Type::Set(_) | Type::Bag(_) | Type::Map(..) | Type::Struct(_)
    );
    scalar && (a == b || (a.is_number() && b.is_number()))
}

/// The smallest text after all that begin with `prefix`; `None` if there is none.
fn after(prefix: &str) -> Option<String> {
    let mut text: Vec<char> = prefix.chars().collect();
    while let Some(last) = text.pop() {
        // The code points between are surrogates, which no text holds.
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            char::MAX => None,
            other => char::from_u32(u32::from(other).saturating_add(1)),
        };
        if let Some(next) = next {
            text.push(next);
            return Some(text.into_iter().collect());
        }
    }
    None
}

/// The extent and conditions of a plan that is an extent, filtered or not.
pub(super) fn filtered_extent(plan: &Plan) -> Option<(Target, Vec<Expression>)> {
    match plan {
        Plan::Extent {
            column,
            class,
            classes,
            ..
        } => {
            let target = Target {
                column: column.clone(),
                class: class.clone(),
                classes: classes.clone(),
            };
            Some((target, Vec::new()))
        }
        Plan::Filter { input, predicate } => {
            let (target, mut conditions) = filtered_extent(input)?;
            conditions.extend(split(predicate.clone()));
            Some((target, conditions))
        }
        _ => None,
    }
}

/// The conditions but those at these places.
pub(super) fn without(conditions: Vec<Expression>, places: &[usize]) -> Vec<Expression> {
    let kept = conditions
        .into_iter()
        .enumerate()
        .filter(|(place, _)| !places.contains(place));
    kept.map(|(_, condition)| condition).collect()
}
