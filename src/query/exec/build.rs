//! Plans to operators.

use super::batch::Batch;
use super::compile::{Compiler, Typed};
use super::context::Shared;
use super::operator::Boxed;
use super::profiler::Measured;
use super::{
    apply, distinct, extent, fetch, filter, group, hash_join, index_count, index_scan, iterate, join, limit,
    object_set, objects, project, set_operation, sort, top_k, values, walk,
};
use crate::error::{QueryErrorCode, Result};
use crate::object::{ClassId, Type};
use crate::query::function::arithmetic::failure;
use crate::query::plan::{
    Aggregate, Column, ColumnId, Expression, JoinKind, NodeId, Partition, Plan, SortKey,
};
use crate::read::Direction;

/// The operators of a whole query: what is only given out as an object, and comes from an index, is not read.
pub fn build_root<'a>(plan: &'a Plan, shared: &'a Shared) -> Result<Boxed<'a>> {
    let Plan::Project { input, columns } = plan else {
        return build(plan, shared);
    };
    let below = match &**input {
        Plan::Limit { input, .. } => input,
        _ => input,
    };
    let from_index = matches!(
        **below,
        Plan::IndexScan { .. } | Plan::IndexPath { .. } | Plan::IndexSet { .. }
    );
    if !from_index || !columns.iter().all(|(_, value)| value.as_column().is_some()) {
        return build(plan, shared);
    }
    let objects = measured(below, leaf(below, true), shared);
    let rows: Boxed<'a> = match &**input {
        Plan::Limit { limit, offset, .. } => measured(
            input,
            Box::new(limit::Limit {
                input: objects,
                limit: limit.as_ref(),
                offset: offset.as_ref(),
                left: None,
            }),
            shared,
        ),
        _ => objects,
    };
    Ok(measured(plan, project(rows, input, columns, shared), shared))
}

/// The operators of a plan.
pub fn build<'a>(plan: &'a Plan, shared: &'a Shared) -> Result<Boxed<'a>> {
    Ok(measured(plan, operator(plan, shared)?, shared))
}

/// An operator, with what it does told to the profile if one is wanted.
fn measured<'a>(plan: &'a Plan, operator: Boxed<'a>, shared: &'a Shared) -> Boxed<'a> {
    if !shared.profiled {
        return operator;
    }
    let node = NodeId::of(plan);
    Box::new(Measured { node, operator })
}

fn operator<'a>(plan: &'a Plan, shared: &'a Shared) -> Result<Boxed<'a>> {
    match plan {
        Plan::Unit
        | Plan::Values { .. }
        | Plan::Extent { .. }
        | Plan::CountExtent { .. }
        | Plan::IndexScan { .. }
        | Plan::IndexPath { .. }
        | Plan::IndexSet { .. }
        | Plan::IndexCount { .. }
        | Plan::Objects { .. } => Ok(leaf(plan, false)),
        Plan::Join { .. } | Plan::HashJoin { .. } | Plan::Apply { .. } => join(plan, shared),
        Plan::Group { .. } | Plan::Sort { .. } | Plan::TopK { .. } | Plan::Distinct { .. } => {
            holding(plan, shared)
        }
        _ => passing(plan, shared),
    }
}

fn ids(columns: &[Column]) -> Vec<ColumnId> {
    columns.iter().map(|column| column.id).collect()
}

/// Where columns lie in the rows of a plan.
fn positions(plan: &Plan, columns: &[Column]) -> Result<Vec<usize>> {
    let all = plan.columns();
    let position = |column: &Column| {
        all.iter()
            .position(|candidate| candidate == column)
            .ok_or_else(|| {
                failure(
                    QueryErrorCode::UnknownName,
                    format!("the column {} is out of reach in this plan", column.name),
                )
            })
    };
    columns.iter().map(position).collect()
}

/// What has nothing below it. With `identity`, what comes from indexes is not read.
fn leaf<'a>(plan: &'a Plan, identity: bool) -> Boxed<'a> {
    match plan {
        Plan::Values { columns, rows } => Box::new(values::Values {
            columns: ids(columns),
            rows,
            next: 0,
        }),
        Plan::Extent { column, classes, .. } => Box::new(extent::Extent::new(column.id, classes)),
        Plan::CountExtent { column, classes, .. } => Box::new(extent::CountExtent {
            extent: extent::Extent::new(column.id, classes),
            done: false,
        }),
        Plan::IndexScan {
            column,
            classes,
            index,
            access,
            direction,
            ..
        } => Box::new(index_scan::IndexScan {
            column: column.id,
            classes,
            entries: index_scan::Entries::new(index.id, access, *direction, index.multiple),
            gather: fetch::Gather::default(),
            growth: index_scan::Growth::default(),
            identity,
        }),
        Plan::IndexPath {
            column,
            classes,
            steps,
            access,
            ..
        } => objects_of_set(column, classes, object_set::Finder::path(steps, access), identity),
        Plan::IndexSet {
            column, classes, set, ..
        } => objects_of_set(column, classes, object_set::Finder::new(set), identity),
        Plan::IndexCount { column, of } => index_count(column, of),
        Plan::Objects {
            column,
            classes,
            references,
            ..
        } => Box::new(objects::Objects {
            column: column.id,
            classes,
            references,
            gather: fetch::Gather::default(),
            left: None,
        }),
        _ => Box::new(values::Unit::default()),
    }
}

/// A walk over the rows below.
fn walked<'a>(plan: &'a Plan, shared: &'a Shared) -> Result<Boxed<'a>> {
    let Plan::Walk {
        input,
        column,
        depth,
        path,
        closure,
        outer,
        on,
    } = plan
    else {
        return passing(plan, shared);
    };
    let needs_path = |on: &Expression| on.uses(&|used| path.as_ref().is_some_and(|path| path.id == used));
    Ok(Box::new(walk::Walk {
        input: build(input, shared)?,
        closure,
        column: column.id,
        depth: depth.as_ref().map(|depth| depth.id),
        path: path.as_ref().map(|path| path.id),
        outer: *outer,
        on: on
            .as_ref()
            .map(|on| (Compiler::new(shared, &[plan]).predicate(on), needs_path(on))),
        state: walk::State::default(),
    }))
}

fn objects_of_set<'a>(
    column: &Column,
    classes: &'a [ClassId],
    finder: object_set::Finder<'a>,
    identity: bool,
) -> Boxed<'a> {
    Box::new(object_set::IndexSet {
        column: column.id,
        classes,
        finder,
        gather: fetch::Gather::default(),
        growth: index_scan::Growth::default(),
        identity,
        found: None,
    })
}

/// The count of the objects that `of` would yield.
fn index_count<'a>(column: &Column, of: &'a Plan) -> Boxed<'a> {
    use index_count::Source;
    let (classes, source) = match of {
        Plan::IndexScan {
            classes,
            index,
            access,
            ..
        } if !index.multiple || (access.equal.len() == index.components.len()) => {
            (classes, Source::Keys(index, access))
        }
        Plan::IndexScan {
            classes,
            index,
            access,
            ..
        } => {
            let entries = index_scan::Entries::new(index.id, access, Direction::Ascending, false);
            (classes, Source::Set(object_set::Finder::Keys(entries)))
        }
        Plan::IndexPath {
            classes,
            steps,
            access,
            ..
        } => {
            let source = match steps.split_first() {
                Some((first, rest)) if !first.multiple && !rest.is_empty() => {
                    Source::Sources(first, object_set::Finder::path(rest, access))
                }
                _ => Source::Set(object_set::Finder::path(steps, access)),
            };
            (classes, source)
        }
        Plan::IndexSet { classes, set, .. } => (classes, Source::Set(object_set::Finder::new(set))),
        _ => return Box::new(values::Unit { done: true }),
    };
    Box::new(index_count::IndexCount {
        column: column.id,
        classes,
        source,
        done: false,
    })
}

fn project<'a>(
    rows: Boxed<'a>,
    input: &Plan,
    columns: &'a [(Column, Expression)],
    shared: &'a Shared,
) -> Boxed<'a> {
    let object = project::only_object(input);
    let mut compiler = None;
    let mut source = |value| {
        project::Source::simple(value, object).unwrap_or_else(|| {
            let compiler = compiler.get_or_insert_with(|| Compiler::new(shared, &[input]));
            project::Source::Computed(compiler.general(value))
        })
    };
    let columns = columns.iter().map(|(column, value)| (column.id, source(value)));
    Box::new(project::Project {
        columns: columns.collect(),
        input: rows,
        rows: Batch::default(),
    })
}

/// What passes rows on as they come.
fn passing<'a>(plan: &'a Plan, shared: &'a Shared) -> Result<Boxed<'a>> {
    Ok(match plan {
        Plan::Iterate {
            input,
            column,
            collection,
            outer,
            on,
        } => Box::new(iterate::Iterate {
            collection: Compiler::new(shared, &[input]).general(collection),
            on: on.as_ref().map(|on| Compiler::new(shared, &[plan]).predicate(on)),
            input: build(input, shared)?,
            column: column.id,
            outer: *outer,
            rows: iterate::Rows::default(),
        }),
        Plan::Walk { .. } => walked(plan, shared)?,
        Plan::Fetch {
            input,
            column,
            reference,
        } => Box::new(fetch::Fetch {
            reference: Compiler::new(shared, &[input]).reference(reference),
            input: build(input, shared)?,
            column: column.id,
            gather: fetch::Gather::default(),
        }),
        Plan::Filter { input, predicate } => Box::new(filter::Filter {
            test: Compiler::new(shared, &[input]).selection(predicate),
            input: build(input, shared)?,
        }),
        Plan::Limit { input, limit, offset } => Box::new(limit::Limit {
            input: build(input, shared)?,
            limit: limit.as_ref(),
            offset: offset.as_ref(),
            left: None,
        }),
        Plan::Project { input, columns } => project(build(input, shared)?, input, columns, shared),
        Plan::SetOperation {
            operator,
            all,
            left,
            right,
            columns,
        } => Box::new(set_operation::SetOperation {
            operator: *operator,
            all: *all,
            columns: ids(columns),
            left: (build(&left.0, shared)?, positions(&left.0, &left.1)?),
            right: (build(&right.0, shared)?, positions(&right.0, &right.1)?),
            rows: Batch::default(),
            seen: distinct::Seen::default(),
            counts: None,
            on_right: false,
        }),
        _ => leaf(plan, false),
    })
}

/// What pairs the rows of two plans.
fn join<'a>(plan: &'a Plan, shared: &'a Shared) -> Result<Boxed<'a>> {
    let (Plan::Join {
        left,
        right,
        kind,
        on,
    }
    | Plan::Apply {
        left,
        right,
        kind,
        on,
    }
    | Plan::HashJoin {
        left,
        right,
        kind,
        on,
        ..
    }) = plan
    else {
        return passing(plan, shared);
    };
    let pairs = pairs(left, right, *kind, on.as_ref(), shared);
    let (left_rows, right_rows) = (build(left, shared)?, build(right, shared)?);
    Ok(match plan {
        Plan::HashJoin { keys, .. } => {
            let left_keys = Compiler::new(shared, &[left]);
            let right_keys = Compiler::new(shared, &[right]);
            Box::new(hash_join::HashJoin {
                left: left_rows,
                right: right_rows,
                left_keys: keys.iter().map(|(key, _)| left_keys.general(key)).collect(),
                right_keys: keys.iter().map(|(_, key)| right_keys.general(key)).collect(),
                pairs,
                table: None,
                rows: Batch::default(),
                at: None,
                overflow: hash_join::Overflow::default(),
            })
        }
        Plan::Apply { .. } => Box::new(apply::Apply {
            left: left_rows,
            right: right_rows,
            pairs,
            rows: Batch::default(),
            right_rows: Batch::default(),
            at: None,
        }),
        _ => Box::new(join::Join {
            left: left_rows,
            right: right_rows,
            pairs,
            held: None,
            rows: Batch::default(),
            at: join::Position::default(),
        }),
    })
}

fn pairs<'a>(
    left: &'a Plan,
    right: &'a Plan,
    kind: JoinKind,
    on: Option<&'a Expression>,
    shared: &'a Shared,
) -> join::Pairs<'a> {
    let test = on.map(|on| Compiler::new(shared, &[left, right]).predicate(on));
    join::Pairs::new(kind, test, ids(&left.columns()), ids(&right.columns()))
}

/// What holds rows before it gives any.
fn holding<'a>(plan: &'a Plan, shared: &'a Shared) -> Result<Boxed<'a>> {
    Ok(match plan {
        Plan::Group {
            input,
            keys,
            aggregates,
            partition,
        } => {
            let compiler = Compiler::new(shared, &[input]);
            Box::new(group::Group {
                columns: ids(&plan.columns()),
                keys: group_keys(&compiler, keys),
                aggregates: aggregates.iter().map(|each| measure(&compiler, each)).collect(),
                partition: partition.as_ref().map(|partition| fields(&compiler, partition)),
                input: build(input, shared)?,
                groups: None,
                waiting: Vec::new(),
            })
        }
        Plan::Sort { input, keys } => Box::new(sort::Sort {
            keys: sort_keys(&Compiler::new(shared, &[input]), keys),
            input: build(input, shared)?,
            sorted: None,
        }),
        Plan::TopK {
            input,
            keys,
            limit,
            offset,
        } => Box::new(top_k::TopK {
            keys: sort_keys(&Compiler::new(shared, &[input]), keys),
            input: build(input, shared)?,
            limit,
            offset: offset.as_ref(),
            result: None,
        }),
        Plan::Distinct { input, columns } => Box::new(distinct::Distinct {
            columns: ids(columns),
            positions: positions(input, columns)?,
            input: build(input, shared)?,
            seen: distinct::Seen::default(),
            rows: Batch::default(),
            overflow: distinct::Overflow::default(),
        }),
        _ => leaf(plan, false),
    })
}

fn group_keys<'a>(compiler: &Compiler<'a>, keys: &'a [(Column, Expression)]) -> group::Keys<'a> {
    match keys {
        [] => group::Keys::None,
        [(_, key)] if key.r#type == Type::Int => group::Keys::Int(compiler.int(key)),
        [(_, key)] if key.r#type == Type::String => group::Keys::Text(compiler.general(key)),
        keys => group::Keys::General(keys.iter().map(|(_, key)| compiler.general(key)).collect()),
    }
}

fn measure<'a>(compiler: &Compiler<'a>, aggregate: &'a Aggregate) -> group::Measure<'a> {
    group::Measure {
        function: aggregate.function,
        distinct: aggregate.distinct,
        argument: match &aggregate.argument {
            None => group::Argument::Rows,
            Some(argument) => match compiler.typed(argument) {
                Typed::Int(int) => group::Argument::Int(int),
                Typed::Float(float) => group::Argument::Float(float),
                Typed::General(general) => group::Argument::General(general),
            },
        },
    }
}

fn fields<'a>(
    compiler: &Compiler<'a>,
    partition: &'a Partition,
) -> Vec<(std::sync::Arc<str>, super::compile::General<'a>)> {
    let fields = partition.fields.iter();
    fields
        .map(|(name, value)| (std::sync::Arc::clone(name), compiler.general(value)))
        .collect()
}

fn sort_keys<'a>(compiler: &Compiler<'a>, keys: &'a [SortKey]) -> sort::Keys<'a> {
    let order = |key: &SortKey| sort::Order {
        descending: key.descending,
        nulls: key.nulls,
    };
    if let [only] = keys
        && matches!(only.expression.r#type, Type::Int | Type::Float)
    {
        return sort::Keys::Number(compiler.typed(&only.expression), order(only));
    }
    let general = |key: &'a SortKey| (compiler.general(&key.expression), order(key));
    sort::Keys::General(keys.iter().map(general).collect())
}
