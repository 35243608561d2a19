//! What does not fit in memory goes to temporary files, and comes back as it was.

use std::sync::Arc;

use parking_lot::Mutex;

use super::operators::{age, attribute_of, int};
use super::store::{Store, column, company, people, person, start};
use crate::error::{Error, Result, Span};
use crate::object::{Type, Value};
use crate::query::exec::{Options, Row, Statistics, TemporaryFile, TemporaryFiles};
use crate::query::plan::{
    Aggregate, AggregateFunction, Column, Expression, JoinKind, NullsOrder, Plan, SortKey,
};

/// Files in memory.
#[derive(Debug, Default)]
struct Files;

#[derive(Debug, Default)]
struct InMemory(Mutex<Vec<u8>>);

impl TemporaryFiles for Files {
    fn create(&self) -> Result<Box<dyn TemporaryFile>> {
        Ok(Box::new(InMemory::default()))
    }
}

impl TemporaryFile for InMemory {
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let mut file = self.0.lock();
        let end = offset as usize + bytes.len();
        let length = file.len().max(end);
        file.resize(length, 0);
        file[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let file = self.0.lock();
        buffer.copy_from_slice(&file[offset as usize..offset as usize + buffer.len()]);
        Ok(())
    }
}

/// The rows of a plan that may hold `memory` bytes.
fn within(store: &Arc<Store>, plan: &Plan, memory: usize) -> (Vec<Vec<Value>>, Statistics) {
    let options = Options {
        memory,
        temporary: Some(Arc::new(Files)),
        ..Options::default()
    };
    let mut rows = start(store, plan.clone(), options);
    let values = rows
        .by_ref()
        .map(|row| row.map(Row::into_values))
        .collect::<Result<_>>();
    (values.unwrap(), rows.statistics())
}

/// Compares a plan within a small budget with the same without bounds; in order, or as a set.
fn agrees(store: &Arc<Store>, plan: &Plan, memory: usize, in_order: bool) {
    let (mut expected, free) = within(store, plan, usize::MAX);
    let (mut found, bounded) = within(store, plan, memory);
    assert_eq!(free.spilled, 0);
    assert!(bounded.spilled > 0, "nothing was spilled within {memory} bytes");
    assert!(
        bounded.peak_memory <= memory as u64 * 2,
        "{} bytes were held of {memory}",
        bounded.peak_memory
    );
    if !in_order {
        expected.sort();
        found.sort();
    }
    assert_eq!(found.len(), expected.len());
    assert!(found == expected, "rows differ within {memory} bytes");
}

fn key(expression: Expression, descending: bool) -> SortKey {
    SortKey {
        expression,
        descending,
        nulls: NullsOrder::First,
    }
}

fn name() -> Expression {
    attribute_of(person(), "name", 0, Type::String)
}

#[test]
fn a_sort_in_runs_is_the_sort_in_memory_also_for_equal_keys() {
    let store = Arc::new(company(6_000));
    for keys in [
        vec![key(age(), false)],
        vec![key(age(), true)],
        vec![key(name(), true), key(age(), false)],
    ] {
        let plan = Plan::Sort {
            input: people(&store),
            keys,
        };
        for memory in [300_000, 700_000] {
            agrees(&store, &plan, memory, true);
        }
    }
}

#[test]
fn runs_beyond_those_merged_at_once_are_merged_in_passes() {
    let store = Arc::new(company(60_000));
    let plan = Plan::Sort {
        input: people(&store),
        keys: vec![key(name(), false), key(age(), true)],
    };
    agrees(&store, &plan, 300_000, true);
}

#[test]
fn the_first_of_more_rows_than_fit_are_those_of_the_sort() {
    let store = Arc::new(company(6_000));
    for (limit, offset) in [(5_900, 30), (3_000, 0), (4_000, 1_999)] {
        let plan = Plan::TopK {
            input: people(&store),
            keys: vec![key(name(), true), key(age(), false)],
            limit: int(limit),
            offset: Some(int(offset)),
        };
        agrees(&store, &plan, 150_000, true);
    }
}

#[test]
fn distinct_rows_put_off_come_once_each() {
    let store = Arc::new(company(6_000));
    let plan = Plan::Distinct {
        input: people(&store),
        columns: vec![person()],
    };
    for memory in [30_000, 100_000] {
        agrees(&store, &plan, memory, false);
    }
}

fn grouped(store: &Store, key: Expression, function: AggregateFunction, distinct: bool) -> Plan {
    Plan::Group {
        input: people(store),
        keys: vec![(column(1, "k", key.r#type.clone()), key)],
        aggregates: vec![Aggregate {
            column: column(2, "a", Type::Any),
            function,
            distinct,
            argument: Some(age()),
        }],
        partition: None,
    }
}

#[test]
fn groups_put_off_have_the_same_aggregates() {
    let store = Arc::new(company(6_000));
    let whole = Expression::column(person(), Span::default());
    for key in [whole, attribute_of(person(), "score", 2, Type::Float)] {
        for (function, distinct) in [
            (AggregateFunction::Sum, false),
            (AggregateFunction::Count, true),
            (AggregateFunction::Max, false),
        ] {
            agrees(
                &store,
                &grouped(&store, key.clone(), function, distinct),
                200_000,
                false,
            );
        }
    }
}

#[test]
fn parts_joined_with_parts_give_the_pairs_of_the_whole() {
    let store = Arc::new(company(6_000));
    let other = || column(9, "q", Type::reference("Person"));
    let boss = |of: Column| attribute_of(of, "boss", 7, Type::reference("Person"));
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
        let plan = Plan::HashJoin {
            left: people(&store),
            right: super::store::extent(&store, "Person", other()),
            kind,
            keys: vec![(boss(person()), Expression::column(other(), Span::default()))],
            on: None,
        };
        for memory in [150_000, 500_000] {
            agrees(&store, &plan, memory, false);
        }
    }
}

#[test]
fn rows_of_one_key_must_fit() {
    let store = Arc::new(company(6_000));
    let other = || column(9, "q", Type::reference("Person"));
    let constant = || Expression::constant(Value::Int(1), Type::Int);
    let plan = Plan::HashJoin {
        left: people(&store),
        right: super::store::extent(&store, "Person", other()),
        kind: JoinKind::Semi,
        keys: vec![(constant(), constant())],
        on: None,
    };
    let options = Options {
        memory: 150_000,
        temporary: Some(Arc::new(Files)),
        ..Options::default()
    };
    let error = start(&store, plan, options).find_map(|row| row.err()).unwrap();
    assert!(
        matches!(&error, Error::Limit(text) if text.contains("hash join")),
        "{error}"
    );
}
