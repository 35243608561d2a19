//! Isolation anomalies, one script each, at both isolation levels.
//!
//! A script in `tests/isolation/NAME.txt` says in comments which anomaly it shows, and at which levels somebody conflicts.
//! Then come statements, each of one of several sessions; `begin` gets the level. Below `---- LEVEL` stands what each comes
//! to. `RECORD=1 cargo test isolation` writes that anew; review the diff.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use olivine::{Database, Isolation, Outcome, Parameters, Session, TransactionOptions};

const LEVELS: [&str; 2] = ["serializable", "snapshot"];

/// What a run of a script came to, and whether somebody conflicted.
fn run(steps: &[(&str, &str)], level: &str) -> (String, bool) {
    let db = Database::in_memory().unwrap();
    let mut sessions: BTreeMap<&str, Session> = BTreeMap::new();
    let (mut shown, mut conflicted) = (String::new(), false);
    for (who, text) in steps {
        let session = sessions.entry(who).or_insert_with(|| Session::new(db.clone()));
        let text = text.replace("begin;", &format!("begin isolation {level};"));
        let outcome = session.execute(&text, Parameters::new());
        if *who == "setup" {
            outcome.unwrap();
            continue;
        }
        let what = match outcome {
            Ok(outcomes) => outcomes.into_iter().map(show).collect::<Vec<_>>().join(", "),
            Err(error) => {
                conflicted |= error.is_conflict();
                without_time(&error.to_string())
            }
        };
        writeln!(shown, "{who}: {what}").unwrap();
    }
    (shown, conflicted)
}

fn show(outcome: Outcome) -> String {
    match outcome {
        Outcome::Rows(rows) => {
            let row = |row: olivine::Row| {
                let values: Vec<String> = row.values().iter().map(ToString::to_string).collect();
                format!("({})", values.join(", "))
            };
            let rows: Vec<String> = rows.map(|item| row(item.unwrap())).collect();
            if rows.is_empty() {
                "nothing".into()
            } else {
                rows.join(" ")
            }
        }
        Outcome::Changed { verb, affected, .. } => format!("{affected} {verb}"),
        Outcome::Plan(plan) => plan.to_string(),
        Outcome::Done(sentence) => sentence,
    }
}

/// A message without the time of a commit.
fn without_time(message: &str) -> String {
    match (message.find(" of 2"), message.find(" UTC")) {
        (Some(start), Some(end)) if start < end => format!("{}{}", &message[..start], &message[end + 4..]),
        _ => message.into(),
    }
}

fn check(path: &PathBuf) -> Result<(), String> {
    let text = fs::read_to_string(path).unwrap();
    let script = text.split("---- ").next().unwrap();
    let conflicts = script.lines().find_map(|line| line.strip_prefix("# conflicts: "));
    let conflicts = conflicts.ok_or("the script does not say who conflicts")?;
    let steps: Vec<(&str, &str)> = script
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .collect();
    let mut now = format!("{}\n", script.trim_end());
    for level in LEVELS {
        let (shown, conflicted) = run(&steps, level);
        if conflicted != conflicts.contains(level) {
            return Err(format!("conflict at {level}: {conflicted}\n{shown}"));
        }
        write!(now, "\n---- {level}\n{shown}").unwrap();
    }
    if std::env::var_os("RECORD").is_some() {
        fs::write(path, now).unwrap();
    } else if now != text {
        return Err(format!("expected\n{text}\nbut now\n{now}"));
    }
    Ok(())
}

#[test]
fn each_level_allows_the_anomalies_it_says_it_allows() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/isolation");
    let mut scripts: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    scripts.sort();
    assert!(scripts.len() >= 12);
    for path in scripts {
        if let Err(problem) = check(&path) {
            panic!("{}: {problem}", path.display());
        }
    }
}

fn options(isolation: Isolation) -> TransactionOptions {
    TransactionOptions {
        isolation,
        ..TransactionOptions::default()
    }
}

fn numbers(count: i64) -> (Database, Vec<olivine::Oid>) {
    let db = Database::in_memory().unwrap();
    let class = olivine::Class::new("Number")
        .attribute("n", olivine::Type::Int)
        .index("n");
    db.define_class(class).unwrap();
    let oids = db
        .transact(|tx| {
            let insert = |n| tx.insert_object(olivine::Object::new("Number").with("n", n));
            (0..count).map(insert).collect()
        })
        .unwrap();
    (db, oids)
}

#[test]
fn a_read_set_stays_small_whatever_is_read() {
    let (db, oids) = numbers(50_000);
    let one_by_one = db.begin().unwrap();
    for oid in &oids {
        one_by_one.object(*oid).unwrap();
    }
    assert!(
        one_by_one.read_set_bytes() < 40_000,
        "{}",
        one_by_one.read_set_bytes()
    );
    let by_scan = db.begin().unwrap();
    by_scan
        .query("select x.n + 1 from Number x", ())
        .unwrap()
        .for_each(drop);
    assert!(by_scan.read_set_bytes() < 500, "{}", by_scan.read_set_bytes());
    let by_index = db.begin().unwrap();
    for n in 0..20_000 {
        by_index
            .query("select x from Number x where x.n = $1", (n,))
            .unwrap()
            .for_each(drop);
    }
    assert!(
        by_index.read_set_bytes() < 2_000_000,
        "{}",
        by_index.read_set_bytes()
    );
    let plain = db.begin_with(options(Isolation::Snapshot)).unwrap();
    plain
        .query("select x.n + 1 from Number x", ())
        .unwrap()
        .for_each(drop);
    assert_eq!(plain.read_set_bytes(), 0);
}

#[test]
fn a_transaction_that_only_reads_never_conflicts_and_sees_one_state() {
    let (db, oids) = numbers(10);
    let reader = db.begin().unwrap();
    assert_eq!(reader.object(oids[0]).unwrap().unwrap().get("n"), Some(&0.into()));
    db.transact(|tx| {
        tx.update_object(oids[0], [("n", 100.into())])?;
        tx.update_object(oids[9], [("n", 900.into())])
    })
    .unwrap();
    assert_eq!(reader.object(oids[9]).unwrap().unwrap().get("n"), Some(&9.into()));
    let rows = reader
        .query("select count(*) from Number x where x.n >= 100", ())
        .unwrap();
    assert_eq!(
        rows.map(|row| row.unwrap().get(0).cloned()).next().unwrap(),
        Some(0.into())
    );
    reader.commit().unwrap();
}

#[test]
fn an_object_that_was_not_there_and_then_is_conflicts() {
    let (db, oids) = numbers(2);
    db.transact(|tx| tx.delete(oids[0])).unwrap();
    let mut tx = db.begin().unwrap();
    assert!(!tx.exists(oids[0]).unwrap());
    tx.update_object(oids[1], [("n", 5.into())]).unwrap();
    tx.commit().unwrap();
    let mut tx = db.begin().unwrap();
    assert!(tx.exists(oids[1]).unwrap());
    db.transact(|tx| tx.delete(oids[1])).unwrap();
    tx.insert_object(olivine::Object::new("Number").with("n", 7))
        .unwrap();
    assert!(tx.commit().unwrap_err().is_conflict());
}

#[test]
fn a_conflict_names_what_the_other_commit_was_and_did() {
    let (db, oids) = numbers(3);
    let mut tx = db.begin().unwrap();
    tx.object(oids[1]).unwrap();
    let mut other = options(Isolation::Serializable);
    other.label = Some("nightly import".into());
    let mut faster = db.begin_with(other).unwrap();
    faster.update_object(oids[1], [("n", 77.into())]).unwrap();
    let number = faster.commit().unwrap();
    for n in 0..10 {
        db.transact(|tx| tx.insert_object(olivine::Object::new("Number").with("n", 100 + n)))
            .unwrap();
    }
    tx.update_object(oids[2], [("n", 5.into())]).unwrap();
    let error = tx.commit().unwrap_err();
    assert!(error.is_conflict());
    let olivine::Error::Conflict(conflict) = &error else {
        panic!("{error}")
    };
    assert_eq!(conflict.objects, [db.snapshot().describe(oids[1])]);
    assert_eq!(conflict.classes, ["Number"]);
    assert_eq!(conflict.attributes, ["Number.n"]);
    assert_eq!(conflict.commit, number.0);
    assert_eq!(conflict.label.as_deref(), Some("nightly import"));
    assert!(conflict.time > 1_600_000_000_000_000);
    assert!(error.to_string().contains("(nightly import)"), "{error}");
}

#[test]
fn a_transaction_older_than_what_is_remembered_of_changes_misses_none() {
    let directory = tempfile::tempdir().unwrap();
    let options = Database::options(directory.path().join("db")).memory(8 << 20);
    let db = options.durability(olivine::Durability::Buffer).open().unwrap();
    let class = |name: &str| {
        olivine::Class::new(name)
            .attribute("n", olivine::Type::Int)
            .index("n")
    };
    db.define_class(class("Busy")).unwrap();
    db.define_class(class("Quiet")).unwrap();
    let insert = |class: &str, count: i64| -> Vec<olivine::Oid> {
        let object = |n| olivine::Object::new(class).with("n", n);
        db.transact(|tx| (0..count).map(|n| tx.insert_object(object(n))).collect())
            .unwrap()
    };
    let (busy, quiet) = (insert("Busy", 2_000), insert("Quiet", 10));
    let begin = |text: &str| {
        let mut tx = db.begin().unwrap();
        tx.query(text, ()).unwrap().for_each(drop);
        tx.update_object(quiet[0], [("n", 0.into())]).unwrap();
        tx
    };
    let untouched_object = db.begin().unwrap();
    untouched_object.object(busy[1]).unwrap();
    let changed_object = db.begin().unwrap();
    changed_object.object(busy[0]).unwrap();
    let scan_of_changed = begin("select b.n + 1 from Busy b");
    let range_of_changed = begin("select b from Busy b where b.n = -5");
    let scan_of_quiet = begin("select count(*) from Quiet q where q.n + 0 > 3");
    for round in 1..=20i64 {
        db.transact(|tx| {
            let every_other = busy.iter().step_by(2);
            every_other
                .zip(0i64..)
                .try_for_each(|(oid, n)| tx.update_object(*oid, [("n", (round * 10_000 + n).into())]))
        })
        .unwrap();
    }
    let outcome = |mut tx: olivine::Transaction| {
        tx.insert_object(olivine::Object::new("Quiet").with("n", 1))
            .unwrap();
        tx.commit().map(drop)
    };
    assert!(outcome(changed_object).unwrap_err().is_conflict());
    assert!(outcome(scan_of_changed).unwrap_err().is_conflict());
    // Nothing in its range changed, but that is not remembered any more.
    assert!(outcome(range_of_changed).unwrap_err().is_conflict());
    outcome(scan_of_quiet).unwrap();
    outcome(untouched_object).unwrap();
}
