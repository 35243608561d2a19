//! Each operator against what plain code gives.

use std::sync::Arc;

use super::store::{Store, column, company, extent, people, person, run, start};
use crate::catalog::IndexId;
use crate::error::Span;
use crate::object::{Type, Value};
use crate::query::exec::Options;
use crate::query::plan::{
    Access, Aggregate, AggregateFunction, Column, Comparison, Equal, Expression, ExpressionKind, IndexKey,
    NullsOrder, Partition, Plan, SetOperator, Slots, SortKey,
};
use crate::read::Direction;

pub fn attribute_of(column: Column, name: &str, slot: usize, r#type: Type) -> Expression {
    Expression::new(
        ExpressionKind::Attribute {
            base: Box::new(Expression::column(column, Span::default())),
            name: name.into(),
            slots: Slots::Same(slot),
        },
        r#type,
        Span::default(),
    )
}

pub fn age() -> Expression {
    attribute_of(person(), "age", 1, Type::Int)
}

pub fn name() -> Expression {
    attribute_of(person(), "name", 0, Type::String)
}

pub fn int(number: i64) -> Expression {
    Expression::constant(Value::Int(number), Type::Int)
}

pub fn compare(operator: Comparison, left: Expression, right: Expression) -> Expression {
    Expression::new(
        ExpressionKind::Compare {
            operator,
            left: Box::new(left),
            right: Box::new(right),
        },
        Type::Bool,
        Span::default(),
    )
}

pub fn project(input: Box<Plan>, columns: Vec<(Column, Expression)>) -> Plan {
    Plan::Project { input, columns }
}

pub fn ages(input: Box<Plan>) -> Plan {
    project(input, vec![(column(1, "age", Type::Int), age())])
}

/// The ages of all people, in the order of the extent.
pub fn all_ages(store: &Arc<Store>) -> Vec<Value> {
    run(store, ages(people(store)))
        .into_iter()
        .map(|mut row| row.remove(0))
        .collect()
}

fn sort_key(descending: bool, nulls: NullsOrder) -> SortKey {
    SortKey {
        expression: age(),
        descending,
        nulls,
    }
}

#[test]
fn an_extent_gives_each_class_in_order_and_counts_what_it_read() {
    let store = Arc::new(company(3_000));
    let mut rows = start(&store, *people(&store), Options::default());
    let oids: Vec<_> = rows
        .by_ref()
        .map(|row| row.unwrap().get(0).unwrap().as_reference().unwrap())
        .collect();
    assert_eq!(oids.len(), 3_000);
    assert!(oids.is_sorted());
    assert_eq!(rows.statistics().objects, 3_000);
    assert_eq!(rows.statistics().rows, 3_000);
    assert!(rows.statistics().bytes > 3_000);
    let count = Plan::CountExtent {
        column: column(1, "count", Type::Int),
        class: "Person".into(),
        classes: store.catalog.class("Person").unwrap().family.clone(),
    };
    assert_eq!(run(&store, count), [[Value::Int(3_000)]]);
}

#[test]
fn a_filter_drops_rows_for_which_the_predicate_is_unknown() {
    let store = Arc::new(company(2_000));
    let over = |operator| Plan::Filter {
        input: people(&store),
        predicate: compare(operator, age(), int(50)),
    };
    let above = run(&store, over(Comparison::Greater)).len();
    let not_above = run(&store, over(Comparison::LessOrEqual)).len();
    let nil = all_ages(&store).iter().filter(|age| age.is_nil()).count();
    assert!(nil > 0);
    assert_eq!(above + not_above + nil, 2_000);
}

#[test]
fn a_fetch_keeps_rows_without_an_object() {
    let store = Arc::new(company(1_500));
    let dept = column(2, "d", Type::reference("Dept"));
    let fetch = Plan::Fetch {
        input: people(&store),
        column: dept.clone(),
        reference: attribute_of(person(), "dept", 3, dept.r#type.clone()),
    };
    let plan = project(
        Box::new(fetch),
        vec![
            (
                column(3, "d", dept.r#type.clone()),
                Expression::column(dept.clone(), Span::default()),
            ),
            (
                column(4, "name", Type::String),
                attribute_of(dept, "name", 0, Type::String),
            ),
        ],
    );
    let rows = run(&store, plan);
    assert_eq!(rows.len(), 1_500);
    let dangling = rows
        .iter()
        .filter(|row| !row[0].is_nil() && row[1].is_nil())
        .count();
    let nil = rows.iter().filter(|row| row[0].is_nil()).count();
    assert!(dangling > 0 && nil > 0);
    assert!(rows.iter().any(|row| row[1] == Value::from("dept3")));
}

#[test]
fn iterating_a_collection_skips_nil_and_empty_ones_unless_outer() {
    let store = Arc::new(company(1_000));
    let iterate = |outer| Plan::Iterate {
        input: people(&store),
        column: column(2, "t", Type::String),
        collection: attribute_of(person(), "tags", 4, Type::list(Type::String)),
        outer,
        on: None,
    };
    let expected: usize = (0..1_000).filter(|n| n % 5 != 0).map(|n| n % 4).sum();
    assert_eq!(run(&store, iterate(false)).len(), expected);
    let without = (0..1_000).filter(|n| n % 5 == 0 || n % 4 == 0).count();
    let outer = run(&store, iterate(true));
    assert_eq!(outer.len(), expected + without);
    assert_eq!(outer.iter().filter(|row| row[1].is_nil()).count(), without);
}

#[test]
fn sorting_puts_nil_where_it_is_asked_to_be_and_is_stable() {
    let store = Arc::new(company(2_500));
    let mut expected = all_ages(&store);
    expected.sort();
    for (descending, nulls) in [
        (false, NullsOrder::First),
        (false, NullsOrder::Last),
        (true, NullsOrder::First),
        (true, NullsOrder::Last),
    ] {
        let sort = Plan::Sort {
            input: people(&store),
            keys: vec![sort_key(descending, nulls)],
        };
        let sorted = run(&store, ages(Box::new(sort.clone())));
        let mut wanted: Vec<Value> = expected.iter().filter(|age| !age.is_nil()).cloned().collect();
        if descending {
            wanted.reverse();
        }
        let nils = vec![Value::Nil; expected.len() - wanted.len()];
        match nulls {
            NullsOrder::First => wanted.splice(0..0, nils),
            NullsOrder::Last => wanted.splice(wanted.len().., nils),
        };
        let found: Vec<Value> = sorted.into_iter().map(|mut row| row.remove(0)).collect();
        assert_eq!(found, wanted);
        let top = Plan::TopK {
            input: people(&store),
            keys: vec![sort_key(descending, nulls)],
            limit: int(25),
            offset: Some(int(190)),
        };
        let limit = Plan::Limit {
            input: Box::new(sort),
            limit: Some(int(25)),
            offset: Some(int(190)),
        };
        assert_eq!(
            run(&store, top),
            run(&store, limit),
            "the first few of a sort, ties included"
        );
    }
}

#[test]
fn several_keys_sort_from_the_first_to_the_last() {
    let store = Arc::new(company(1_000));
    let keys = vec![
        SortKey {
            expression: name(),
            descending: true,
            nulls: NullsOrder::Last,
        },
        sort_key(false, NullsOrder::First),
    ];
    let sort = Plan::Sort {
        input: people(&store),
        keys,
    };
    let columns = vec![
        (column(1, "name", Type::String), name()),
        (column(2, "age", Type::Int), age()),
    ];
    let rows = run(&store, project(Box::new(sort), columns.clone()));
    let mut expected = run(&store, project(people(&store), columns));
    expected.sort_by(|a, b| match (a[0].is_nil(), b[0].is_nil()) {
        (false, false) => b[0].cmp(&a[0]).then(a[1].cmp(&b[1])),
        (a_nil, b_nil) => a_nil.cmp(&b_nil).then(a[1].cmp(&b[1])),
    });
    assert_eq!(rows, expected);
}

fn aggregate(
    id: u32,
    function: AggregateFunction,
    argument: Option<Expression>,
    distinct: bool,
) -> Aggregate {
    Aggregate {
        column: column(id, "aggregate", Type::Any),
        function,
        distinct,
        argument,
    }
}

#[test]
fn grouping_by_int_string_and_any_gives_the_same_sums() {
    let store = Arc::new(company(3_000));
    let group = |key: Expression| Plan::Group {
        input: people(&store),
        keys: vec![(column(1, "key", key.r#type.clone()), key)],
        aggregates: vec![
            aggregate(2, AggregateFunction::CountRows, None, false),
            aggregate(3, AggregateFunction::Sum, Some(age()), false),
            aggregate(4, AggregateFunction::Count, Some(name()), true),
            aggregate(5, AggregateFunction::Max, Some(name()), false),
        ],
        partition: None,
    };
    let total: Value = Value::Int(all_ages(&store).iter().filter_map(Value::as_int).sum());
    let generic = attribute_of(person(), "extra", 6, Type::Any);
    for key in [age(), name(), generic] {
        let rows = run(&store, group(key.clone()));
        let keys: std::collections::HashSet<&Value> = rows.iter().map(|row| &row[0]).collect();
        assert_eq!(keys.len(), rows.len());
        assert!(keys.contains(&Value::Nil));
        let counted: i64 = rows.iter().filter_map(|row| row[1].as_int()).sum();
        let summed: i64 = rows.iter().filter_map(|row| row[2].as_int()).sum();
        assert_eq!((counted, Value::Int(summed)), (3_000, total.clone()));
    }
    let by_name = run(&store, group(name()));
    assert!(
        by_name
            .iter()
            .all(|row| row[4] == row[0] && row[3].as_int() <= Some(1))
    );
}

#[test]
fn a_group_without_keys_has_one_row_even_over_nothing() {
    let store = Arc::new(company(0));
    let group = Plan::Group {
        input: people(&store),
        keys: Vec::new(),
        aggregates: vec![
            aggregate(1, AggregateFunction::CountRows, None, false),
            aggregate(2, AggregateFunction::Avg, Some(age()), false),
        ],
        partition: None,
    };
    assert_eq!(run(&store, group), [[Value::Int(0), Value::Nil]]);
}

#[test]
fn a_partition_is_the_bag_of_the_groups_rows() {
    let store = Arc::new(company(200));
    let group = Plan::Group {
        input: people(&store),
        keys: vec![(column(1, "age", Type::Int), age())],
        aggregates: vec![aggregate(2, AggregateFunction::CountRows, None, false)],
        partition: Some(Partition {
            column: column(3, "partition", Type::Any),
            fields: vec![("p".into(), Expression::column(person(), Span::default()))],
        }),
    };
    for row in run(&store, group) {
        let members = row[2].as_members().unwrap();
        assert_eq!(Value::Int(members.len() as i64), row[1]);
        assert!(
            members
                .iter()
                .all(|member| member.field("p").unwrap().as_reference().is_some())
        );
    }
}

#[test]
fn distinct_and_set_operations_compare_whole_rows() {
    let store = Arc::new(company(2_000));
    let side = |id: u32, limit: i64| {
        let input = Box::new(Plan::Limit {
            input: people(&store),
            limit: Some(int(limit)),
            offset: None,
        });
        let age_column = column(id, "age", Type::Int);
        let plan = project(input, vec![(age_column.clone(), age())]);
        (Box::new(plan), vec![age_column])
    };
    let values = |plan| -> Vec<Value> {
        let mut values: Vec<Value> = run(&store, plan)
            .into_iter()
            .map(|mut row| row.remove(0))
            .collect();
        values.sort();
        values
    };
    let distinct = |(input, columns): (Box<Plan>, Vec<Column>)| Plan::Distinct { input, columns };
    let unique = values(distinct(side(1, 2_000)));
    let mut expected = all_ages(&store);
    expected.sort();
    expected.dedup();
    assert_eq!(unique, expected);
    for operator in [SetOperator::Union, SetOperator::Intersect, SetOperator::Except] {
        for all in [false, true] {
            let (left, right) = (side(1, 150), side(2, 40));
            let members = |side: &(Box<Plan>, Vec<Column>)| values(Plan::clone(&side.0));
            let mut wanted = crate::query::eval::collection::set_operation(
                operator,
                all,
                &members(&left),
                &members(&right),
            );
            wanted.sort();
            let plan = Plan::SetOperation {
                operator,
                all,
                left,
                right,
                columns: vec![column(9, "age", Type::Int)],
            };
            assert_eq!(values(plan), wanted, "{operator} {all}");
        }
    }
}

fn index_scan(store: &Store, index: IndexId, access: Access, direction: Direction) -> Plan {
    Plan::IndexScan {
        column: person(),
        class: "Person".into(),
        classes: store.catalog.class("Person").unwrap().family.clone(),
        index: IndexKey {
            id: index,
            name: "i".into(),
            components: Vec::new(),
            multiple: true,
        },
        access,
        direction,
        estimate: None,
    }
}

fn nothing() -> Access {
    Access {
        equal: Vec::new(),
        among: None,
        lower: None,
        upper: None,
        not_nil: false,
    }
}

/// How many rows a scan of an index of people gives.
fn found(store: &Arc<Store>, index: IndexId, access: Access) -> usize {
    run(store, index_scan(store, index, access, Direction::Ascending)).len()
}

#[test]
fn an_index_scan_gives_what_the_filter_gives_without_nil_and_nan() {
    let mut store = company(1_200);
    let ages = store.index("Person", "age");
    let scores = store.index("Person", "score");
    let store = Arc::new(store);
    let filtered = |predicate| {
        let input = people(&store);
        run(&store, Plan::Filter { input, predicate }).len()
    };
    let score = || attribute_of(person(), "score", 2, Type::Float);
    let bound = Some((int(40), false));
    for (index, attribute) in [(ages, age()), (scores, score())] {
        let above = Access {
            lower: bound.clone(),
            ..nothing()
        };
        let below = Access {
            upper: bound.clone(),
            ..nothing()
        };
        let greater = compare(Comparison::Greater, attribute.clone(), int(40));
        let less = compare(Comparison::Less, attribute, int(40));
        assert_eq!(found(&store, index, above), filtered(greater));
        assert_eq!(found(&store, index, below), filtered(less));
    }
}

#[test]
fn an_index_scan_has_nil_where_it_is_asked_for_and_each_object_once() {
    let mut store = company(1_200);
    let ages = store.index("Person", "age");
    let tags = store.index("Person", "tags");
    let store = Arc::new(store);
    let all = found(&store, ages, nothing());
    assert_eq!(all, 1_200, "without bounds nil is there too");
    let equal = |equal| Access {
        equal: vec![equal],
        ..nothing()
    };
    let nils = all_ages(&store).iter().filter(|age| age.is_nil()).count();
    assert_eq!(found(&store, ages, equal(Equal::Nil)), nils);
    let nil = Expression::constant(Value::Nil, Type::Int);
    assert_eq!(found(&store, ages, equal(Equal::Value(nil))), 0);
    let wanted = Expression::constant(Value::list(["tag0", "tag1"]), Type::list(Type::String));
    let tagged = Access {
        among: Some(vec![(wanted, true)]),
        ..nothing()
    };
    let expected = (0..1_200).filter(|n| n % 5 != 0 && n % 4 > 0).count();
    let count = found(&store, tags, tagged);
    assert_eq!(count, expected, "an object under two keys comes once");
}

#[test]
fn among_reads_the_keys_in_the_direction_asked_for() {
    let mut store = company(900);
    let index = store.index("Person", "age");
    let store = Arc::new(store);
    let access = Access {
        among: Some(vec![
            (int(30), false),
            (int(10), false),
            (int(30), false),
            (int(20), false),
        ]),
        ..nothing()
    };
    let read = |direction| -> Vec<Value> {
        let scan = index_scan(&store, index, access.clone(), direction);
        run(&store, ages(Box::new(scan)))
            .into_iter()
            .map(|mut row| row.remove(0))
            .collect()
    };
    let up = read(Direction::Ascending);
    let mut down = read(Direction::Descending);
    assert!(up.is_sorted() && up.first() == Some(&Value::Int(10)) && up.last() == Some(&Value::Int(30)));
    down.reverse();
    assert_eq!(up, down);
}

#[test]
fn an_index_path_walks_backwards_from_the_end() {
    let mut store = company(1_000);
    let person_dept = store.index("Person", "dept");
    let dept_site = store.index("Dept", "site");
    let site_city = store.index("Site", "city");
    let store = Arc::new(store);
    let key = |id| IndexKey {
        id,
        name: "i".into(),
        components: Vec::new(),
        multiple: false,
    };
    let plan = Plan::IndexPath {
        column: person(),
        class: "Person".into(),
        classes: store.catalog.class("Person").unwrap().family.clone(),
        steps: vec![key(person_dept), key(dept_site), key(site_city)],
        access: Access {
            equal: vec![Equal::Value(Expression::constant(
                Value::from("city2"),
                Type::String,
            ))],
            ..nothing()
        },
        estimate: None,
    };
    let expected = (0..1_000)
        .filter(|n| n % 7 != 0 && n % 23 != 0 && n % 20 % 5 == 2)
        .count();
    let rows = run(&store, plan);
    assert_eq!(rows.len(), expected);
    assert!(rows.is_sorted());
}

#[test]
fn objects_are_given_once_and_only_if_they_exist_in_the_class() {
    let store = Arc::new(company(20));
    let some: Vec<Value> = run(&store, *people(&store))
        .into_iter()
        .map(|mut row| row.remove(0))
        .collect();
    let site = run(
        &store,
        *extent(&store, "Site", column(5, "s", Type::reference("Site"))),
    );
    let gone = crate::object::Oid::new(store.catalog.class("Person").unwrap().id, 4_000).unwrap();
    let wanted = [
        some[3].clone(),
        site[0][0].clone(),
        Value::Reference(gone),
        some[1].clone(),
        some[3].clone(),
    ];
    let plan = Plan::Objects {
        column: person(),
        class: "Person".into(),
        classes: store.catalog.class("Person").unwrap().family.clone(),
        references: vec![
            Expression::constant(Value::list(wanted.to_vec()), Type::list(Type::Any)),
            Expression::constant(Value::Nil, Type::Any),
        ],
    };
    assert_eq!(run(&store, plan), [[some[3].clone()], [some[1].clone()]]);
}
