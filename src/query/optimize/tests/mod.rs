//! Golden plans (`plans.golden`): what each rule makes of a plan, and what all of them make together.
//!
//! A block is `== rules: statement`, the plan as bound, `->`, and the plan as the rules leave it. Names of rules stand
//! for those rules over a catalog without indexes; `all` for all of them, over one with indexes.

use super::estimates::Estimates;
use super::far_end::FarEnd;
use super::fetch_paths::FetchPaths;
use super::fold::Fold;
use super::join_order::JoinOrder;
use super::pushdown::Pushdown;
use super::reverse_join::ReverseJoin;
use super::rule::{Rule, optimize, optimize_by};
use super::semi_join::SemiJoin;
use super::top_k::TopK;
use crate::object::ClassId;
use crate::query::bind::fixture::{bind, classes, indexed};

/// 10,000 persons (1,000 of them students), 100 departments, 20 of all others.
struct Sizes;

impl Estimates for Sizes {
    fn extent(&self, class: ClassId) -> u64 {
        match class.0 {
            64 => 9_000,
            65 => 1_000,
            66 => 100,
            _ => 20,
        }
    }
}

fn rule(name: &str) -> &'static dyn Rule {
    match name {
        "fold" => &Fold,
        "push" => &Pushdown,
        "join" => &JoinOrder,
        "far" => &FarEnd,
        "reverse" => &ReverseJoin,
        "semi" => &SemiJoin,
        "top" => &TopK,
        "fetch" => &FetchPaths,
        other => panic!("no rule {other}"),
    }
}

/// The block of a statement under these rules.
fn block(rules: &str, text: &str) -> String {
    let catalog = if rules == "all" { indexed() } else { classes() };
    let bound = bind(text, &catalog).unwrap_or_else(|error| panic!("{text}: {error}"));
    let before = bound.to_string();
    let after = if rules == "all" {
        optimize(bound, &catalog, &Sizes)
    } else {
        let rules: Vec<&dyn Rule> = rules.split(' ').map(rule).collect();
        optimize_by(&rules, bound, &catalog, &Sizes)
    };
    format!("== {rules}: {text}\n{before}->\n{after}")
}

#[test]
fn every_golden_plan_is_what_the_rules_make() {
    let golden = include_str!("plans.golden");
    let mut made = Vec::new();
    for header in golden.lines().filter_map(|line| line.strip_prefix("== ")) {
        let (rules, text) = header.split_once(": ").expect("rules and a statement");
        made.push(block(rules, text));
    }
    let made = made.join("\n");
    if let Ok(place) = std::env::var("OLIVINE_GOLDEN") {
        std::fs::write(place, &made).expect("the golden plans are written");
        return;
    }
    for (line, (made, golden)) in made.lines().zip(golden.lines()).enumerate() {
        assert_eq!(made, golden, "line {} of plans.golden", line + 1);
    }
    assert_eq!(made, golden);
}

#[test]
fn optimizing_twice_changes_nothing() {
    let golden = include_str!("plans.golden");
    let headers = golden.lines().filter_map(|line| line.strip_prefix("== "));
    for text in headers.filter_map(|header| header.strip_prefix("all: ")) {
        let catalog = indexed();
        let once = optimize(bind(text, &catalog).expect(text), &catalog, &Sizes);
        let twice = optimize(once.clone(), &catalog, &Sizes);
        assert_eq!(once.to_string(), twice.to_string(), "{text}");
    }
}

#[test]
fn every_column_a_plan_uses_is_defined_in_it() {
    use crate::query::plan::Change;
    let golden = include_str!("plans.golden");
    let headers = golden.lines().filter_map(|line| line.strip_prefix("== "));
    for (_, text) in headers.filter_map(|header| header.split_once(": ")) {
        for catalog in [classes(), indexed()] {
            let optimized = optimize(bind(text, &catalog).expect(text), &catalog, &Sizes);
            let plan = match &optimized.change {
                Change::Query(query) => &query.plan,
                Change::Update(update) => &update.plan,
                Change::Delete(delete) => &delete.plan,
                Change::Insert(_) => continue,
            };
            assert!(plan.free_columns().is_empty(), "{text}\n{plan}");
        }
    }
}
