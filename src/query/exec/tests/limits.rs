//! Cancelling, deadlines, budgets, and rows that outlive their transaction.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::operators::{age, compare, int};
use super::store::{column, company, people, start};
use crate::error::Error;
use crate::object::{Type, Value};
use crate::query::exec::{Options, Rows};
use crate::query::plan::{Comparison, JoinKind, NullsOrder, Plan, SortKey};

fn small() -> Options {
    Options {
        memory: 20_000,
        ..Options::default()
    }
}

fn failure(mut rows: Rows) -> Error {
    let error = rows.find_map(|row| row.err()).unwrap();
    assert!(rows.next().is_none(), "nothing comes after an error");
    error
}

#[test]
fn what_holds_too_much_is_named_and_stops() {
    let store = Arc::new(company(5_000));
    let keys = vec![SortKey {
        expression: age(),
        descending: false,
        nulls: NullsOrder::First,
    }];
    let sort = Plan::Sort {
        input: people(&store),
        keys: keys.clone(),
    };
    let distinct = Plan::Distinct {
        input: people(&store),
        columns: vec![super::store::person()],
    };
    let group = Plan::Group {
        input: people(&store),
        keys: vec![(
            column(1, "p", Type::reference("Person")),
            crate::query::plan::Expression::column(super::store::person(), crate::error::Span::default()),
        )],
        aggregates: Vec::new(),
        partition: None,
    };
    let join = Plan::Join {
        left: Box::new(Plan::Unit),
        right: people(&store),
        kind: JoinKind::Inner,
        on: None,
    };
    for (plan, name) in [
        (sort, "sort"),
        (distinct, "distinct"),
        (group, "group by"),
        (join, "join"),
    ] {
        let error = failure(start(&store, plan, small()));
        assert!(
            matches!(&error, Error::Limit(text) if text.contains(name)),
            "{error}"
        );
    }
    let top = Plan::TopK {
        input: people(&store),
        keys,
        limit: int(5),
        offset: None,
    };
    let options = Options {
        memory: 200_000,
        ..Options::default()
    };
    let mut rows = start(&store, top, options);
    assert_eq!(rows.by_ref().count(), 5);
    assert!(rows.statistics().peak_memory > 0);
}

#[test]
fn a_query_can_be_cancelled_and_has_a_deadline() {
    let store = Arc::new(company(5_000));
    let endless = || Plan::Filter {
        input: Box::new(Plan::Join {
            left: people(&store),
            right: people(&store),
            kind: JoinKind::Inner,
            on: None,
        }),
        predicate: compare(Comparison::Less, age(), int(-1)),
    };
    let options = Options::default();
    let cancel = Arc::clone(&options.cancel);
    let rows = start(&store, endless(), options);
    let waiting = std::thread::spawn(move || failure(rows));
    cancel.store(true, Ordering::Relaxed);
    assert!(matches!(waiting.join().unwrap(), Error::Cancelled(_)));
    let late = Options {
        deadline: Some(Instant::now()),
        ..Options::default()
    };
    assert!(matches!(
        failure(start(&store, endless(), late)),
        Error::Cancelled(_)
    ));
}

#[test]
fn rows_end_in_an_error_when_their_transaction_has_ended() {
    let store = Arc::new(company(10));
    let options = Options::default();
    let ended = Arc::clone(&options.ended);
    let mut rows = start(&store, *people(&store), options);
    assert!(rows.next().unwrap().is_ok());
    ended.store(true, Ordering::Release);
    assert!(matches!(rows.next(), Some(Err(Error::Closed(_)))));
    assert!(rows.next().is_none());
}

#[test]
fn a_negative_limit_is_an_error_and_nil_is_none() {
    let store = Arc::new(company(10));
    let limit = |value| Plan::Limit {
        input: people(&store),
        limit: Some(crate::query::plan::Expression::constant(value, Type::Int)),
        offset: None,
    };
    assert!(matches!(
        failure(start(&store, limit(Value::Int(-1)), Options::default())),
        Error::Query(_)
    ));
    assert_eq!(start(&store, limit(Value::Nil), Options::default()).count(), 10);
    assert_eq!(start(&store, limit(Value::Int(0)), Options::default()).count(), 0);
}

#[test]
fn rows_can_be_sent_to_another_thread() {
    fn is_send<T: Send + 'static>() {}
    is_send::<Rows>();
}
