//! Queries as text: what they answer, with and without the optimizer.

use std::sync::Arc;

use super::store::{Store, company};
use crate::error::{Error, Result};
use crate::object::Value;
use crate::query::bind::{Parameters, bind_statement};
use crate::query::exec::{Options, execute};
use crate::query::optimize::{ReaderEstimates, optimize};
use crate::query::parser::parse_statement;
use crate::query::plan::Statement;
use crate::read::Reader;

fn value_of(store: &Arc<Store>, statement: Statement) -> Result<Value> {
    let reader: Arc<dyn Reader> = store.clone();
    execute(Arc::new(statement), reader, Vec::new(), Options::default())?.into_value()
}

/// The answer, which must be the same with and without the optimizer.
fn answer(store: &Arc<Store>, text: &str) -> Result<Value> {
    let parsed = parse_statement(text)?;
    let bound = bind_statement(&parsed, &store.catalog, &Parameters::default())?.unwrap();
    let plain = value_of(store, bound.clone());
    let optimized = value_of(store, optimize(bound, &store.catalog, &ReaderEstimates(&**store)));
    match (&plain, &optimized) {
        (Ok(plain), Ok(optimized)) => assert_eq!(plain, optimized, "{text}"),
        (Err(_), Err(_)) => {}
        _ => panic!("{text}: {plain:?} but optimized {optimized:?}"),
    }
    plain
}

/// Each text and the text of its answer; all that differ are shown.
fn check(store: &Arc<Store>, cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let found = format!("{:?}", answer(store, text));
        let wanted = format!("{:?}", answer(store, expected));
        if found != wanted || !found.starts_with("Ok") {
            wrong.push(format!("{text} gives {found}, not {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn expressions_mean_what_the_language_says() {
    let store = Arc::new(company(0));
    check(
        &store,
        &[
            ("7 / 2", "3"),
            ("-7 % 2", "-1"),
            ("7.0 / 2", "3.5"),
            ("-9223372036854775808 + 0", "-9223372036854775808"),
            ("nil = nil", "nil"),
            ("not (nil = 1)", "nil"),
            ("3 in (1, nil)", "nil"),
            ("1 in (1, nil)", "true"),
            ("3 not in (1, 2)", "true"),
            ("nan = nan", "false"),
            ("nan != 1.0", "false"),
            ("not (nan = 1.0)", "true"),
            ("'a%' like 'a!%' escape '!'", "true"),
            ("'Solaris' ilike 'sol%'", "true"),
            ("substring('abc', 2)", "'bc'"),
            ("substring('abc', 0, 2)", "'a'"),
            ("position('abc', 'c')", "3"),
            ("split('a,b', ',')", "['a', 'b']"),
            ("concat('a', nil, 'b')", "'ab'"),
            ("'a' || nil", "nil"),
            ("lpad('7', 3, '0')", "'007'"),
            ("round(2.5)", "3.0"),
            ("round(-1250, -2)", "-1300"),
            ("abs(-3)", "3"),
            ("avg([1, 2, 2])", "5.0 / 3"),
            ("sum(list())", "nil"),
            ("count([1, nil])", "1"),
            ("greatest(1, 3, 2)", "3"),
            ("coalesce(nil, 2)", "2"),
            ("nil ?? 2", "2"),
            ("case when nil then 1 else 2 end", "2"),
            ("year(date '2026-11-30')", "2026"),
            ("date '2026-11-30' + duration 'P1D'", "date '2026-12-01'"),
            ("date_trunc('month', date '2026-11-30')", "date '2026-11-01'"),
            ("[1, 2, 3][1:3]", "[2, 3]"),
            ("[1, 2, 3][7]", "nil"),
            ("map('a': 1)['a']", "1"),
            ("set(2, 1, 2)", "set(1, 2)"),
            ("exists x in [1, 2]: x > 1", "true"),
            ("for all x in list(): x > 1", "true"),
            ("[1, 2, 3][where it > 1]", "[2, 3]"),
            ("cast('12' as int) + 1", "13"),
            ("flatten([[1], [2, 3]])", "[1, 2, 3]"),
            ("element([4])", "4"),
        ],
    );
    for wrong in [
        "1 / 0",
        "1 % 0",
        "9223372036854775807 + 1",
        "1.0 / 0",
        "element([1, 2])",
        "cast('x' as int)",
        "nil!",
    ] {
        assert!(matches!(answer(&store, wrong), Err(Error::Query(_))), "{wrong}");
    }
}

#[test]
fn queries_agree_with_one_another() {
    let store = Arc::new(company(400));
    check(
        &store,
        &[
            ("count(Person)", "400"),
            (
                "count(select p from Person p where p.age > 50)",
                "count(select p from Person p where not (p.age <= 50))",
            ),
            (
                "select p from Person p where p.dept.site.city = 'city2'",
                "select p from Person p, Dept d where p.dept = d and d.site.city = 'city2'",
            ),
            (
                "count(select p from Person p where exists (select d from Dept d where d = p.dept))",
                "count(select p from Person p where p.dept in (select d from Dept d))",
            ),
            ("select sum(age) from Person", "select sum(p.age) from Person p"),
            (
                "select e.salary from Employee e order by e.salary limit 3",
                "[0, 30, 60]",
            ),
            ("count(select distinct p.age from Person p)", "100"),
            ("element(select p from Person p where p.age = -1)", "nil"),
            (
                "select b from Person p, b in p.boss{1,} where p.age = 7",
                "select b from Person p, b in p.(boss){1,} where p.age = 7",
            ),
            (
                "count(Dept.<Person.dept)",
                "count(select p from Person p where p.dept.name is not nil)",
            ),
        ],
    );
}

#[test]
fn members_that_do_not_compare_are_not_equal() {
    let store = Arc::new(company(60));
    check(
        &store,
        &[
            ("'hello' in (1, 2)", "false"),
            ("'hello' not in (1, 2)", "true"),
            ("'hello' in (1, nil)", "nil"),
            ("'hello' not in (1, 1 + 1)", "true"),
            ("'hello' in (1 + 1, nil)", "nil"),
            ("1 in ['a']", "false"),
            ("1 in set('a', 1)", "true"),
            ("nil in ('a')", "nil"),
            ("'hello' in (select p.age from Person p where p.age > 3)", "false"),
            (
                "'hello' not in (select p.age from Person p where p.age > 3)",
                "true",
            ),
            ("'hello' in (select p.age from Person p)", "nil"),
            ("count(select p from Person p where p.name in (7, 'name7'))", "1"),
            ("count(select p from Person p where p in (1, 'x', p.name))", "0"),
            (
                "count(select p from Person p where p.name in (select q.age from Person q where q = p))",
                "0",
            ),
            ("count(select p from Person p where 1 in p.tags)", "0"),
        ],
    );
}

#[test]
fn a_number_alone_orders_by_that_column() {
    let store = Arc::new(company(60));
    check(
        &store,
        &[
            (
                "select p.age, p.name from Person p order by 2 desc, 1",
                "select p.age, p.name from Person p order by p.name desc, p.age",
            ),
            ("select x from x in [3, 1, 2] order by 1", "[1, 2, 3]"),
            ("select x from x in [3, 1, 2] order by 0 + 1", "[3, 1, 2]"),
            ("select 2 union all select 1 order by 1", "[1, 2]"),
            (
                "select p.age, count(*) from Person p group by p.age order by 2 desc, 1 limit 3",
                "select p.age, count(*) from Person p group by p.age order by count(*) desc, p.age limit 3",
            ),
            (
                "select distinct p.age from Person p order by 1",
                "select distinct p.age from Person p order by p.age",
            ),
        ],
    );
}

#[test]
fn partition_is_a_range_of_subqueries() {
    let store = Arc::new(company(120));
    let plain = "select d, max(p.age) as oldest from Person p group by d: p.dept";
    let partition =
        "select d, max(select m.p.age from partition m) as oldest from Person p group by d: p.dept";
    let few = "having count(select m from partition m where m.p.age > 90) > 0";
    check(
        &store,
        &[
            (partition, plain),
            (
                &format!("{partition} order by 2, 1"),
                &format!("{plain} order by 2, 1"),
            ),
            (
                &format!("{partition} order by max(select m.p.age from partition m), d"),
                &format!("{plain} order by max(p.age), d"),
            ),
            (
                &format!("{partition} {few}"),
                &format!("{plain} having max(p.age) > 90"),
            ),
            (
                "select d, count(select m from partition m where m.p.dept = d) as n from Person p group by d: p.dept",
                "select d, count(p.dept) as n from Person p group by d: p.dept",
            ),
            (
                "select element((select m.p.age from partition m order by 1 desc limit 1)) \
                 from Person p group by p.dept order by p.dept",
                "select max(p.age) from Person p group by p.dept order by p.dept",
            ),
        ],
    );
}
