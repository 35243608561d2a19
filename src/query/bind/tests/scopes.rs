//! What names mean: variables, bare attributes, labels, outer queries.

use crate::object::Type;
use crate::query::bind::fixture::{bind, classes};
use crate::query::plan::{Change, Query, ResultKind};

fn query(text: &str) -> Query {
    match bind(text, &classes())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .change
    {
        Change::Query(query) => query,
        other => panic!("{text}: {other:?}"),
    }
}

/// The first line of the plan.
fn projection(text: &str) -> String {
    query(text)
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_string()
}

#[test]
fn a_bare_attribute_is_of_the_innermost_query_with_one_range() {
    assert_eq!(
        projection("select name from Person where age > 3"),
        "Project Person.name"
    );
    let plan = query("select d.name from Dept d where exists (select p from Person p where name = d.name)");
    assert!(plan.to_string().contains("p.name = d.name"), "{plan}");
}

#[test]
fn a_variable_goes_before_an_attribute_and_an_inner_one_before_an_outer() {
    let plan = query("select 1 from Person age where exists (select 1 from Person x where age = x.boss)");
    assert!(plan.to_string().contains("age = x.boss"), "{plan}");
    let plan = query("select p.name from Person p where exists p in p.friends: p.age > 3");
    assert_eq!(plan.outputs[0].column.r#type, Type::String);
}

#[test]
fn labels_come_from_alias_last_attribute_or_position() {
    let labels = |text: &str| -> Vec<String> {
        query(text)
            .outputs
            .iter()
            .map(|output| output.label.to_string())
            .collect()
    };
    assert_eq!(
        labels("select p.dept.name, p.age as a, b: 1, p.age + 1 from Person p"),
        ["name", "a", "b", "column4"]
    );
    assert_eq!(labels("select * from Dept"), ["name", "site", "budget"]);
    assert!(query("select name from Person").bare);
    assert!(!query("select name as n from Person").bare);
    assert!(!query("select * from Site").bare);
}

#[test]
fn results_are_bags_sets_lists_or_single_values() {
    let kind = |text: &str| query(text).kind;
    assert_eq!(kind("select name from Person"), ResultKind::Bag);
    assert_eq!(kind("select distinct name from Person"), ResultKind::Set);
    assert_eq!(kind("select name from Person order by age"), ResultKind::List);
    assert_eq!(
        kind("select name from Person union select name from Dept"),
        ResultKind::Set
    );
    assert_eq!(
        kind("select name from Person union all select name from Dept"),
        ResultKind::Bag
    );
    assert_eq!(kind("1 + 1"), ResultKind::Single);
    assert_eq!(kind("Person"), ResultKind::Set);
    assert_eq!(kind("Person#1.tags"), ResultKind::List);
}

#[test]
fn an_order_sees_labels_first_then_the_ranges() {
    let plan = query("select age * 2 as age, name from Person order by age, score");
    assert!(
        plan.to_string().contains("Sort Person.age * 2, Person.score"),
        "{plan}"
    );
}

#[test]
fn an_expression_equal_to_a_key_is_the_key_and_labels_name_keys() {
    let plan = query("select p.age / 10, decade, count(*) from Person p group by decade: p.age / 10");
    assert_eq!(
        plan.to_string(),
        "Project column1: decade, decade, column3: count(*)\n  \
         Group by decade: p.age / 10 computing count(*)\n    \
         Extent Person as p (2 classes)\n"
    );
}

#[test]
fn an_aggregate_belongs_to_its_collection_or_to_the_innermost_query() {
    assert_eq!(
        projection("select count(p.friends) from Person p"),
        "Project column1: count(p.friends)"
    );
    let plan = query("select count(p.name) from Person p");
    assert!(
        plan.to_string().contains("Group computing count(p.name)"),
        "{plan}"
    );
    let plan = query("select a, sum(a), count(partition) from Person p group by a: p.age");
    assert!(
        plan.to_string().contains("computing sum(p.age) with partition"),
        "{plan}"
    );
}

#[test]
fn a_named_query_is_bound_where_it_was_named() {
    // Inside the named query `p` is no outer variable.
    let text = "with old as (select p from Person p where p.age > 60) select p.name from old p";
    assert!(query(text).to_string().contains("p.age > 60"));
    let text = "with a as (select name from Dept), b as (select x from a x) select x from b x";
    assert!(bind(text, &classes()).is_ok());
    let text = "with b as (select x from a x), a as (select name from Dept) select x from b x";
    assert!(bind(text, &classes()).is_err());
}

#[test]
fn parameters_get_the_types_their_places_expect() {
    let text = "select p from Person p where p.age > $a and $b in p.tags and p.dept = $c limit $d";
    let bound = bind(text, &classes()).unwrap();
    let types: Vec<String> = bound
        .parameters
        .iter()
        .map(|(name, r#type)| format!("{name} {type}"))
        .collect();
    assert_eq!(types, ["d int", "a int", "b string", "c Dept"]);
}

#[test]
fn a_root_is_its_value() {
    assert_eq!(projection("ceo.name"), "Project Person#1.name");
}

#[test]
fn a_closure_looks_up_its_attribute_in_each_class() {
    let plan = query("Node#1.(twigs){1,}");
    assert_eq!(plan.outputs[0].column.r#type, Type::reference("Node"));
    assert!(bind("Node#1.twigs", &classes()).is_err());
    assert!(bind("Node#1.(branches){1,}", &classes()).is_err());
}

#[test]
fn deep_and_long_statements_bind_or_end_in_an_error() {
    // As the engine does with long statements: a level takes tens of kilobytes in a build without optimization.
    let outcome = crate::query::roomy::with_room(true, || {
        let chain = format!("select {} from Person", vec!["age"; 240].join(" + "));
        assert!(bind(&chain, &classes()).is_ok());
        let nested = format!("{}1{}", "(select ".repeat(20), ")".repeat(20));
        assert!(bind(&format!("select {nested}"), &classes()).is_ok());
        let mut doubling = String::from("with q0 as (select name from Dept)");
        for number in 1..40 {
            let before = number - 1;
            doubling.push_str(&format!(
                ", q{number} as (select a from q{before} a, q{before} b)"
            ));
        }
        assert!(bind(&format!("{doubling} select x from q39 x"), &classes()).is_err());
        let numbers: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
        assert!(
            bind(
                &format!("select p from Person p where p.age in ({})", numbers.join(", ")),
                &classes()
            )
            .is_ok()
        );
    });
    assert!(outcome.is_ok());
}
