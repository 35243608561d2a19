//! Joins of every kind give the same pairs, however they find them.

use std::sync::Arc;

use super::operators::{age, attribute_of, compare, int};
use super::store::{Store, column, company, extent, people, person, run};
use crate::error::Span;
use crate::object::{Type, Value};
use crate::query::plan::{Column, Comparison, Expression, ExpressionKind, JoinKind, Plan};

fn dept() -> Column {
    column(1, "d", Type::reference("Dept"))
}

fn reference() -> Expression {
    attribute_of(person(), "dept", 3, Type::reference("Dept"))
}

fn depts(store: &Store) -> Box<Plan> {
    extent(store, "Dept", dept())
}

fn same_dept() -> Expression {
    compare(
        Comparison::Equal,
        reference(),
        Expression::column(dept(), Span::default()),
    )
}

fn old() -> Expression {
    compare(Comparison::Greater, age(), int(30))
}

fn both(left: Expression, right: Expression) -> Expression {
    Expression::new(
        ExpressionKind::And(vec![left, right]),
        Type::Bool,
        Span::default(),
    )
}

fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows.sort();
    rows
}

#[test]
fn nested_loop_hash_join_and_apply_agree_for_every_kind() {
    let store = Arc::new(company(1_300));
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
        let nested = Plan::Join {
            left: people(&store),
            right: depts(&store),
            kind,
            on: Some(both(same_dept(), old())),
        };
        let hashed = Plan::HashJoin {
            left: people(&store),
            right: depts(&store),
            kind,
            keys: vec![(reference(), Expression::column(dept(), Span::default()))],
            on: Some(old()),
        };
        let applied = Plan::Apply {
            left: people(&store),
            right: Box::new(Plan::Filter {
                input: depts(&store),
                predicate: same_dept(),
            }),
            kind,
            on: Some(old()),
        };
        let expected = sorted(run(&store, nested));
        assert!(!expected.is_empty());
        assert_eq!(sorted(run(&store, hashed)), expected, "hash join, {kind:?}");
        assert_eq!(sorted(run(&store, applied)), expected, "apply, {kind:?}");
        if matches!(kind, JoinKind::Left) {
            assert!(expected.len() >= 1_300);
        }
    }
}

#[test]
fn without_a_condition_all_pairs_come_and_a_semi_join_asks_for_any_row() {
    let store = Arc::new(company(700));
    let join = |kind| Plan::Join {
        left: people(&store),
        right: depts(&store),
        kind,
        on: None,
    };
    assert_eq!(run(&store, join(JoinKind::Inner)).len(), 700 * 20);
    assert_eq!(run(&store, join(JoinKind::Left)).len(), 700 * 20);
    assert_eq!(run(&store, join(JoinKind::Semi)).len(), 700);
    assert_eq!(run(&store, join(JoinKind::Anti)).len(), 0);
    let apply = Plan::Apply {
        left: people(&store),
        right: depts(&store),
        kind: JoinKind::Semi,
        on: None,
    };
    assert_eq!(run(&store, apply).len(), 700);
}

#[test]
fn keys_equal_across_number_types_and_nil_and_nan_equal_nothing() {
    let store = Arc::new(company(0));
    let side = |id: u32, values: Vec<Value>| {
        Box::new(Plan::Values {
            columns: vec![column(id, "v", Type::Any)],
            rows: values
                .into_iter()
                .map(|value| vec![Expression::constant(value, Type::Any)])
                .collect(),
        })
    };
    let key = |id| Expression::column(column(id, "v", Type::Any), Span::default());
    let nan = Value::Float(f64::NAN);
    let plan = Plan::HashJoin {
        left: side(1, vec![Value::Int(1), Value::Nil, nan.clone(), Value::Int(2)]),
        right: side(2, vec![Value::Float(1.0), Value::Nil, nan, Value::Int(1)]),
        kind: JoinKind::Inner,
        keys: vec![(key(1), key(2))],
        on: None,
    };
    assert_eq!(
        run(&store, plan),
        [[Value::Int(1), Value::Float(1.0)], [Value::Int(1), Value::Int(1)]]
    );
}
