//! Each circuit at its smallest scale, through the entry point of `olivine bench`: every count and every state must
//! agree with the models. No time is looked at.

use olivine::bench::{Arguments, run};
use serde_json::Value;

/// Runs a circuit in memory of the disk's cache and gives back its report.
fn report(circuit: &str, scale: &str, seed: u32) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    run(Arguments {
        circuit: Some(circuit.into()),
        scale: Some(scale.into()),
        seed: Some(seed),
        durability: Some("buffer".into()),
        directory: Some(directory.path().join("databases")),
        json: Some(json.clone()),
        gigabytes: None,
    })
    .unwrap_or_else(|error| panic!("{circuit} {scale}, seed {seed}: {error}"));
    serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap()
}

/// The count of each operation of a report's only circuit, all of which must be verified.
fn counts(report: &Value) -> Vec<(String, u64)> {
    let circuit = &report["circuits"][0];
    assert_eq!(circuit["verified"], true);
    for kind in ["read", "query", "materialize"] {
        let rates = circuit[kind].as_object().unwrap();
        assert!(
            rates.values().all(|rate| rate.as_f64().unwrap() > 0.0),
            "{kind}: {rates:?}"
        );
    }
    let operations = circuit["operations"].as_array().unwrap();
    assert!(
        operations
            .iter()
            .all(|one| one["verified"] == true && one["cold_seconds"].as_f64().unwrap() > 0.0)
    );
    let count = |one: &Value| {
        (
            one["name"].as_str().unwrap().to_owned(),
            one["count"].as_u64().unwrap(),
        )
    };
    operations.iter().map(count).collect()
}

#[test]
fn oo7_at_its_smallest_agrees_with_the_model_for_any_seed() {
    for seed in [1, 7] {
        let counts = counts(&report("oo7", "test-3", seed));
        assert!(counts.contains(&("T1".into(), 9 * 3 * 20)), "{counts:?}");
        assert!(
            counts.contains(&("S1".into(), 820)) && counts.contains(&("S2".into(), 820)),
            "{counts:?}"
        );
    }
}

#[test]
fn oo1_at_its_smallest_agrees_with_the_model() {
    let counts = counts(&report("oo1", "tiny", 3));
    assert!(counts.contains(&("traversal".into(), 3_280)), "{counts:?}");
}

#[test]
fn debian_at_its_smallest_agrees_with_the_plain_graph() {
    let counts = counts(&report("debian", "tiny", 1));
    assert!(counts.contains(&("by section".into(), 2_000)), "{counts:?}");
}

#[test]
fn posting_at_its_smallest_is_what_was_posted() {
    let report = report("posting", "tiny", 1);
    assert_eq!(report["verified"], true);
    assert_eq!(report["tenths"].as_array().unwrap().len(), 10);
    assert!(report["entries"].as_u64().unwrap() > 5_000, "{report}");
    assert!(report["live_bytes"].as_u64().unwrap() > 1_000_000, "{report}");
}

#[test]
fn ceiling_at_its_smallest_states_limits_and_verified_rates() {
    let ceiling = report("ceiling", "tiny", 1);
    assert_eq!(ceiling["verified"], true, "{ceiling:#}");
    let limits = ceiling["limits"].as_array().unwrap();
    assert!(limits.len() >= 9 && limits.iter().all(|limit| limit["rate"].as_f64().unwrap() > 0.0));
    let rates = ceiling["rates"].as_array().unwrap();
    assert_eq!(
        rates.len(),
        2 * 2 * 3,
        "two budgets, two durabilities, three kinds of work"
    );
    assert!(rates.iter().all(|rate| rate["percent"].as_f64().unwrap() > 0.0));
}

#[test]
fn search_at_its_smallest_walks_both_curves_and_verifies_every_answer() {
    let report = report("search", "tiny", 1);
    assert_eq!(report["verified"], true, "{report:#}");
    let curves = report["curves"].as_array().unwrap();
    let writers: Vec<_> = curves
        .iter()
        .map(|curve| curve["writer"].as_bool().unwrap())
        .collect();
    assert_eq!(writers, [false, true]);
    for curve in curves {
        let steps = curve["steps"].as_array().unwrap();
        let threads: Vec<_> = steps
            .iter()
            .map(|step| step["threads"].as_u64().unwrap())
            .collect();
        assert!(
            threads.len() >= 1 + 3 + 2 && threads.ends_with(&[20, 40]),
            "{threads:?}"
        );
    }
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    let refused = |circuit: Option<&str>, scale: Option<&str>, durability: Option<&str>| {
        let arguments = Arguments {
            circuit: circuit.map(Into::into),
            scale: scale.map(Into::into),
            durability: durability.map(Into::into),
            ..Arguments::default()
        };
        run(arguments).unwrap_err().to_string()
    };
    assert!(refused(Some("oo8"), None, None).contains("oo7, oo1 and debian"));
    assert!(refused(Some("oo7"), Some("huge"), None).contains("small-3"));
    assert!(refused(Some("debian"), Some("small-3"), None).contains("full"));
    assert!(refused(None, Some("tiny"), None).contains("circuit"));
    assert!(refused(Some("oo1"), None, Some("maybe")).contains("sync or buffer"));
}
