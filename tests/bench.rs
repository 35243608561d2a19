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
        data: None,
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
fn aging_at_its_smallest_reads_what_was_written_last() {
    let report = report("aging", "tiny", 1);
    assert_eq!(report["verified"], true, "{report:#}");
    assert_eq!(report["states"].as_array().unwrap().len(), 3);
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

/// A dictionary of a few words in WordNet's format: what lies under an entity, with an instance, an animal of two forms,
/// a verb that is derived from it, and an adjective with its mark.
const DICTIONARY: [(&str, &str); 8] = [
    (
        "data.noun",
        "  1 a licence  \n\
         00000010 03 n 01 entity 0 002 ~ 00000020 n 0000 ~ 00000050 n 0000 | that which is  \n\
         00000020 05 n 01 animal 0 003 @ 00000010 n 0000 ~ 00000030 n 0000 ~ 00000040 n 0000 | what lives  \n\
         00000030 05 n 02 dog 0 Domestic_dog 0 003 @ 00000020 n 0000 ~i 00000040 n 0000 + 00000070 v 0101 | it barks  \n\
         00000040 05 n 01 Laika 0 002 @i 00000030 n 0000 @ 00000020 n 0000 | she flew  \n\
         00000050 06 n 01 thing 0 001 @ 00000010 n 0000 | the other  \n",
    ),
    (
        "index.noun",
        "  1 a licence  \n\
         animal n 1 2 @ ~ 1 0 00000020  \ndog n 1 3 @ ~ + 1 1 00000030  \ndomestic_dog n 1 1 @ 1 0 00000030  \n\
         entity n 1 1 ~ 1 0 00000010  \nlaika n 1 1 @ 1 0 00000040  \nthing n 1 1 @ 1 0 00000050  \n",
    ),
    (
        "data.verb",
        "00000070 38 v 01 dog 0 001 + 00000030 n 0101 01 + 08 00 | go after  \n",
    ),
    ("index.verb", "dog v 1 1 + 1 0 00000070  \n"),
    (
        "data.adj",
        "00000080 00 s 01 canine(a) 0 001 \\ 00000030 n 0101 | like a dog  \n",
    ),
    ("index.adj", "canine a 1 1 \\ 1 0 00000080  \n"),
    ("data.adv", "00000090 02 r 01 doggedly 0 000 | with will  \n"),
    ("index.adv", "doggedly r 1 0 1 0 00000090  \n"),
];

#[test]
fn wordnet_on_a_small_dictionary_agrees_with_the_plain_graph() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = || Arguments {
        circuit: Some("wordnet".into()),
        directory: Some(folder.path().join("databases")),
        json: Some(folder.path().join("report.json")),
        data: Some(folder.path().into()),
        ..Arguments::default()
    };
    let missing = run(arguments()).unwrap_err().to_string();
    assert!(
        missing.contains("data.noun") && missing.contains("wordnet-base"),
        "{missing}"
    );
    for (name, text) in DICTIONARY {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    run(arguments()).unwrap();
    let text = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    let counts = counts(&serde_json::from_str(&text).unwrap());
    for (operation, count) in [
        ("records by oid", 8 + 9 + 9),
        ("whole synsets", 8 + 9),
        ("hyponyms", 4),
        ("hyponyms, reverse", 4),
        ("animals", 3),
        ("animals within", 2),
    ] {
        assert!(
            counts.contains(&(operation.into(), count)),
            "{operation}: {counts:?}"
        );
    }

    std::fs::write(folder.path().join("data.adv"), "00000090 02 r 01 doggedly\n").unwrap();
    let malformed = run(arguments()).unwrap_err().to_string();
    assert!(malformed.contains("line 1 of data.adv"), "{malformed}");
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
