//! The subcommands that care for a database, as processes: output, exit codes, JSON.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

struct Ran {
    code: Option<i32>,
    output: String,
    error: String,
}

fn run(arguments: &[&str]) -> Ran {
    let ended = Command::new(env!("CARGO_BIN_EXE_olivine"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        code: ended.status.code(),
        output: text(&ended.stdout),
        error: text(&ended.stderr),
    }
}

impl Ran {
    fn succeeded(self) -> String {
        assert_eq!((self.code, self.error.as_str()), (Some(0), ""), "{}", self.output);
        self.output
    }

    fn failed(self, code: i32, words: &[&str]) -> String {
        assert_eq!(self.code, Some(code), "{} {}", self.output, self.error);
        for word in words {
            let said = self.error.contains(word) || self.output.contains(word);
            assert!(said, "no {word:?} in {} {}", self.output, self.error);
        }
        self.output
    }
}

fn exec(database: &str, text: &str) -> String {
    run(&["exec", database, "-c", text, "--format", "json"]).succeeded()
}

fn count(database: &str) -> i64 {
    let answer = exec(database, "select count(*) from Note n");
    let answer: Json = serde_json::from_str(answer.trim()).unwrap();
    answer["rows"][0][0].as_i64().unwrap()
}

#[test]
fn every_command_of_the_operations_document_does_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let (db, backup) = (at("library.olv"), at("library.backup"));
    exec(
        &db,
        "create class Note { text: string, about: Note }; create index note_text on Note(text); \
               insert Note(text: 'one')",
    );
    run(&["check", &db]).succeeded();
    let first = run(&["backup", &db, &backup]).succeeded();
    assert!(first.contains("backed up through commit"), "{first}");
    let commit: u64 = first.split_whitespace().nth(4).unwrap().parse().unwrap();
    exec(&db, "insert Note(text: 'two')");
    run(&["backup", &db, &backup]).succeeded();
    run(&["restore", &backup, &at("newest")]).succeeded();
    run(&[
        "restore",
        &backup,
        &at("older"),
        "--until-commit",
        &commit.to_string(),
    ])
    .succeeded();
    assert_eq!((count(&at("newest")), count(&at("older"))), (2, 1));
    run(&["restore", &backup, &at("newest")]).failed(2, &["not empty"]);
    run(&[
        "restore",
        &backup,
        &at("newest"),
        "--replace",
        "--until-time",
        "9999-01-01T00:00:00Z",
    ])
    .succeeded();
    assert_eq!(count(&at("newest")), 2);
    run(&["restore", &backup, &at("x"), "--until-time", "yesterday"]).failed(2, &["timestamp"]);
    run(&["backup", &db, &backup, "--prune"]).succeeded();
    run(&["exec", &db, "-c", "select n.text from Note n", "--read-only"]).succeeded();
    let report = run(&["check", &db, "--format", "json"]).succeeded();
    let report: Json = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (&report["clean"], &report["objects"]),
        (&Json::from(true), &Json::from(4))
    );
    exec(
        &db,
        "update Note n set about = n; delete from Note n where n.text = 'one'",
    );
    exec(
        &db,
        "insert Note(text: 'three', about: Note#2); delete from Note n where n.text = 'two'",
    );
    let report = run(&["check", &db]).succeeded();
    assert!(report.contains("Note#3.about: Note#2 is gone"), "{report}");
    run(&["check", &db, "--dangling"]).failed(1, &["Note#2 is gone"]);
    let segment = Path::new(&db).join("heap/00000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[end / 2] ^= 8;
    fs::write(&segment, bytes).unwrap();
    run(&["check", &db]).failed(1, &["segment 1"]);
    let report = run(&["salvage", &db, &at("saved"), "--format", "json"]).succeeded();
    let report: Json = serde_json::from_str(&report).unwrap();
    assert!(!report["losses"].as_array().unwrap().is_empty(), "{report}");
    run(&["salvage", &db, &at("saved")]).failed(2, &["not empty"]);
    run(&["check", &at("saved")]).succeeded();
    let report = run(&["salvage", &at("newest"), &at("whole")]).succeeded();
    assert!(
        report.contains("2 objects of 1 classes and 1 indexes saved; no losses"),
        "{report}"
    );
}

#[test]
fn a_short_torture_has_no_finding() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db").display().to_string();
    let report = run(&["torture", &database, "--minutes", "0.2"]).succeeded();
    assert!(
        report.contains("seed") && report.contains("all clean"),
        "{report}"
    );
    run(&["torture", &database, "--minutes", "0.1"]).failed(2, &["not empty"]);
}
