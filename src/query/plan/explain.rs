//! Nodes of plans as text.

use std::fmt;

use super::aggregate::Aggregate;
use super::explanation::{Explanation, Node};
use super::expression::{Column, Expression};
use super::node::{Access, Equal, IndexKey, JoinKind, NullsOrder, Plan, SortKey};
use super::object_set::ObjectSet;
use super::show::Joined;
use super::statement::{Change, InsertSource, Query, Statement};
use crate::read::Direction;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Explanation::of_plan(self).fmt(f)
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Explanation::of(self, None).fmt(f)
    }
}

/// What a statement does with the rows of its plan; nothing for a query.
pub(super) fn statement_heads(statement: &Statement) -> Vec<Node> {
    let (text, below) = match &statement.change {
        Change::Query(_) => return Vec::new(),
        Change::Insert(insert) => {
            let below = match &insert.source {
                InsertSource::Rows(rows) => vec![leaf(format!("Rows {}", rows.len()))],
                InsertSource::Query(_) => Vec::new(),
            };
            (format!("Insert {}", insert.class_name), below)
        }
        Change::Update(update) => {
            let assignments: Vec<String> = update
                .assignments
                .iter()
                .map(|assignment| format!("{} = {}", assignment.attribute, assignment.value))
                .collect();
            let name = &update.target.name;
            (
                format!("Update {name} set {}", Joined(&assignments, ", ")),
                Vec::new(),
            )
        }
        Change::Delete(delete) => (format!("Delete {}", delete.target.name), Vec::new()),
    };
    vec![Node { below, ..leaf(text) }]
}

fn leaf(text: String) -> Node {
    Node {
        text,
        measures: None,
        below: Vec::new(),
    }
}

/// A node without what is below it.
pub(super) fn node_text(plan: &Plan) -> String {
    struct Line<'a>(&'a Plan);
    impl fmt::Display for Line<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            line(f, self.0)
        }
    }
    Line(plan).to_string()
}

fn names(columns: &[Column]) -> Vec<&str> {
    columns.iter().map(|column| &*column.name).collect()
}

fn line(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    match plan {
        Plan::Unit => f.write_str("Unit"),
        Plan::Values { columns, rows } => {
            write!(
                f,
                "Values {} rows into {}",
                rows.len(),
                Joined(&names(columns), ", ")
            )
        }
        Plan::Iterate { .. } | Plan::Walk { .. } => dependent(f, plan),
        Plan::Fetch { column, .. } => write!(f, "Fetch {}", column.name),
        Plan::Filter { predicate, .. } => write!(f, "Filter {predicate}"),
        Plan::Join { kind, on, .. } => {
            f.write_str(join_name(*kind, "Join"))?;
            condition(f, on.as_ref())
        }
        Plan::Apply { kind, on, .. } => {
            f.write_str(join_name(*kind, "Apply"))?;
            condition(f, on.as_ref())
        }
        Plan::HashJoin { kind, keys, on, .. } => {
            let keys: Vec<String> = keys
                .iter()
                .map(|(left, right)| format!("{left} = {right}"))
                .collect();
            write!(f, "{} {}", join_name(*kind, "HashJoin"), Joined(&keys, " and "))?;
            condition(f, on.as_ref())
        }
        Plan::Group { .. } => group(f, plan),
        Plan::Sort { keys, .. } => write!(f, "Sort {}", Joined(keys, ", ")),
        Plan::TopK {
            keys, limit, offset, ..
        } => {
            write!(f, "TopK {}", Joined(keys, ", "))?;
            limits(f, Some(limit), offset.as_ref())
        }
        Plan::Limit { limit, offset, .. } => {
            f.write_str("Limit")?;
            limits(f, limit.as_ref(), offset.as_ref())
        }
        Plan::Distinct { columns, .. } => write!(f, "Distinct {}", Joined(&names(columns), ", ")),
        Plan::Project { columns, .. } => {
            let columns: Vec<String> = columns.iter().map(projection).collect();
            write!(f, "Project {}", Joined(&columns, ", "))
        }
        Plan::SetOperation { operator, all, .. } => {
            let name = operator.to_string();
            let mut letters = name.chars();
            let first = letters
                .next()
                .map(|letter| letter.to_ascii_uppercase())
                .unwrap_or_default();
            write!(f, "{first}{}{}", letters.as_str(), if *all { " all" } else { "" })
        }
        _ => source(f, plan),
    }
}

/// The ranges that depend on the rows before.
fn dependent(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    match plan {
        Plan::Iterate {
            column,
            collection,
            outer,
            on,
            ..
        } => {
            let outer = if *outer { " or nil" } else { "" };
            write!(f, "Iterate {} in {collection}{outer}", column.name)?;
            condition(f, on.as_ref())
        }
        Plan::Walk {
            column,
            depth,
            path,
            closure,
            outer,
            on,
            ..
        } => {
            let outer = if *outer { " or nil" } else { "" };
            write!(f, "Walk {} in {closure}{outer}", column.name)?;
            for (what, column) in [("depth", depth), ("path", path)] {
                if let Some(column) = column {
                    write!(f, " with {what} {}", column.name)?;
                }
            }
            condition(f, on.as_ref())
        }
        _ => Ok(()),
    }
}

/// The nodes that read the store.
fn source(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    match plan {
        Plan::Extent {
            column,
            class,
            classes,
            estimate,
        } => {
            write!(f, "Extent {class} as {}", column.name)?;
            if classes.len() > 1 {
                write!(f, " ({} classes)", classes.len())?;
            }
            rows(f, *estimate)
        }
        Plan::CountExtent { column, class, .. } => write!(f, "CountExtent {class} as {}", column.name),
        Plan::IndexScan {
            column,
            class,
            index,
            access,
            direction,
            estimate,
            ..
        } => {
            write!(f, "IndexScan {} on {class} as {}: ", index.name, column.name)?;
            keys_wanted(f, index, access)?;
            if *direction == Direction::Descending {
                f.write_str(" backwards")?;
            }
            rows(f, *estimate)
        }
        Plan::Objects {
            column,
            class,
            references,
            ..
        } => {
            write!(
                f,
                "Objects {class} as {}: {}",
                column.name,
                Joined(references, ", ")
            )
        }
        _ => sets(f, plan),
    }
}

/// The nodes that read sets of objects from indexes.
fn sets(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    match plan {
        Plan::IndexPath {
            column,
            class,
            steps,
            access,
            estimate,
            ..
        } => {
            let indexes: Vec<&str> = steps.iter().map(|step| &*step.name).collect();
            let indexes = Joined(&indexes, " <- ");
            write!(f, "IndexPath {indexes} on {class} as {}: ", column.name)?;
            match steps.last() {
                Some(last) => keys_wanted(f, last, access)?,
                None => f.write_str("nothing")?,
            }
            rows(f, *estimate)
        }
        Plan::IndexSet {
            column,
            class,
            set,
            estimate,
            ..
        } => {
            write!(f, "IndexSet on {class} as {}: ", column.name)?;
            object_set(f, set, false)?;
            rows(f, *estimate)
        }
        Plan::IndexCount { column, .. } => write!(f, "IndexCount as {}", column.name),
        _ => Ok(()),
    }
}

/// A set as the conditions it stands for, each after the name of its index.
fn object_set(f: &mut fmt::Formatter<'_>, set: &ObjectSet, within: bool) -> fmt::Result {
    match set {
        ObjectSet::Keys { index, access } => {
            write!(f, "{} ", index.name)?;
            bracketed(f, index, access)
        }
        ObjectSet::Path { steps, access } => {
            let indexes: Vec<&str> = steps.iter().map(|step| &*step.name).collect();
            write!(f, "{} ", Joined(&indexes, " <- "))?;
            steps.last().map_or(Ok(()), |last| bracketed(f, last, access))
        }
        ObjectSet::And(sets) | ObjectSet::Or(sets) => {
            let word = if matches!(set, ObjectSet::And(_)) {
                " and "
            } else {
                " or "
            };
            let (open, close) = if within { ("(", ")") } else { ("", "") };
            f.write_str(open)?;
            for (position, set) in sets.iter().enumerate() {
                f.write_str(if position == 0 { "" } else { word })?;
                object_set(f, set, true)?;
            }
            f.write_str(close)
        }
    }
}

fn bracketed(f: &mut fmt::Formatter<'_>, index: &IndexKey, access: &Access) -> fmt::Result {
    f.write_str("[")?;
    keys_wanted(f, index, access)?;
    f.write_str("]")
}

fn rows(f: &mut fmt::Formatter<'_>, estimate: Option<u64>) -> fmt::Result {
    match estimate {
        Some(rows) => write!(f, " (~{rows})"),
        None => Ok(()),
    }
}

fn condition(f: &mut fmt::Formatter<'_>, on: Option<&Expression>) -> fmt::Result {
    match on {
        Some(on) => write!(f, " on {on}"),
        None => Ok(()),
    }
}

fn limits(
    f: &mut fmt::Formatter<'_>,
    limit: Option<&Expression>,
    offset: Option<&Expression>,
) -> fmt::Result {
    if let Some(limit) = limit {
        write!(f, " limit {limit}")?;
    }
    if let Some(offset) = offset {
        write!(f, " offset {offset}")?;
    }
    Ok(())
}

fn join_name(kind: JoinKind, name: &'static str) -> &'static str {
    match (kind, name) {
        (JoinKind::Inner, name) => name,
        (JoinKind::Left, "Join") => "LeftJoin",
        (JoinKind::Left, "HashJoin") => "LeftHashJoin",
        (JoinKind::Left, _) => "LeftApply",
        (JoinKind::Semi, "Join") => "SemiJoin",
        (JoinKind::Semi, "HashJoin") => "SemiHashJoin",
        (JoinKind::Semi, _) => "SemiApply",
        (JoinKind::Anti, "Join") => "AntiJoin",
        (JoinKind::Anti, "HashJoin") => "AntiHashJoin",
        (JoinKind::Anti, _) => "AntiApply",
    }
}

/// `name: expression`, or only the expression where it is called that anyway.
fn projection((column, expression): &(Column, Expression)) -> String {
    let text = expression.to_string();
    if *text == *column.name
        || text
            .strip_suffix(&*column.name)
            .is_some_and(|rest| rest.ends_with('.'))
    {
        text
    } else {
        format!("{}: {text}", column.name)
    }
}

fn group(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    let Plan::Group {
        keys,
        aggregates,
        partition,
        ..
    } = plan
    else {
        return Ok(());
    };
    f.write_str("Group")?;
    if !keys.is_empty() {
        let keys: Vec<String> = keys.iter().map(projection).collect();
        write!(f, " by {}", Joined(&keys, ", "))?;
    }
    for (position, aggregate) in aggregates.iter().enumerate() {
        f.write_str(if position == 0 { " computing " } else { ", " })?;
        write!(f, "{aggregate}")?;
    }
    match partition {
        Some(_) => f.write_str(" with partition"),
        None => Ok(()),
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let distinct = if self.distinct { "distinct " } else { "" };
        match &self.argument {
            Some(argument) => write!(f, "{}({distinct}{argument})", self.function),
            None => write!(f, "{}(*)", self.function),
        }
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.expression)?;
        if self.descending {
            f.write_str(" desc")?;
        }
        match (self.nulls, self.descending) {
            (NullsOrder::First, true) => f.write_str(" nulls first"),
            (NullsOrder::Last, false) => f.write_str(" nulls last"),
            _ => Ok(()),
        }
    }
}

fn keys_wanted(f: &mut fmt::Formatter<'_>, index: &IndexKey, access: &Access) -> fmt::Result {
    let mut components = index
        .components
        .iter()
        .map(|component| component.trim_end_matches(" desc"));
    let mut conditions = Vec::new();
    for equal in &access.equal {
        let component = components.next().unwrap_or_default();
        conditions.push(match equal {
            Equal::Value(value) => format!("{component} = {value}"),
            Equal::Nil => format!("{component} is nil"),
        });
    }
    let next = components.next().unwrap_or_default();
    if let Some(among) = &access.among {
        match among.as_slice() {
            [(collection, true)] => conditions.push(format!("{next} in {collection}")),
            several => {
                let values: Vec<&Expression> = several.iter().map(|(value, _)| value).collect();
                conditions.push(format!("{next} in ({})", Joined(&values, ", ")));
            }
        }
    }
    if let Some((lower, inclusive)) = &access.lower {
        conditions.push(format!("{next} {} {lower}", if *inclusive { ">=" } else { ">" }));
    }
    if let Some((upper, inclusive)) = &access.upper {
        conditions.push(format!("{next} {} {upper}", if *inclusive { "<=" } else { "<" }));
    }
    if access.not_nil {
        conditions.push(format!("{next} is not nil"));
    }
    if conditions.is_empty() {
        return f.write_str("all");
    }
    write!(f, "{}", Joined(&conditions, " and "))
}
