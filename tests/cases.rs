//! Cases with known answers: files of JSON lines, run in order.
//!
//! `{"store": name}` begins an empty database, `{"setup": [statement, ..]}` runs statements, and `{"id", "query", "rows",
//! "ordered"}` runs a query and compares its rows, as a bag unless `ordered`. Floats compare within 0.001. A query that
//! divides by zero or leaves the range of a number ends in an error here, and counts as right if it does.
//!
//! The files are `tests/cases/*.jsonl`, and the one that the variable `OLIVINE_CASES` names.

use std::fs;
use std::path::{Path, PathBuf};

use olivine::{Answer, Database, Error, Outcome, Parameters, Session, Value};
use serde_json::Value as Json;

/// Codes of errors that stand for an answer: division by zero, out of range.
const RIGHT_ERRORS: [&str; 2] = ["22012", "22003"];

/// The cells of a row as the files write them.
type Cells = Vec<Json>;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.extend(std::env::var_os("OLIVINE_CASES").map(PathBuf::from));
    files.sort();
    files
}

fn rows(session: &mut Session, query: &str) -> Result<Vec<Cells>, Error> {
    let statements = Session::parse(query)?;
    let outcome = session.run(&statements[0], query, &Parameters::new())?;
    let Outcome::Rows(answer) = outcome else {
        return Ok(Vec::new());
    };
    let describe = |session: &Session, value: &Value| cell(session, value);
    let rows: Result<Vec<olivine::Row>, Error> = Answer::into_iter(answer).collect();
    let rows = rows?;
    Ok(rows
        .iter()
        .map(|row| {
            row.values()
                .iter()
                .map(|value| describe(session, value))
                .collect()
        })
        .collect())
}

fn cell(session: &Session, value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => Json::from(*value),
        Value::Int(value) => Json::from(*value),
        Value::Float(value) => Json::from(*value),
        Value::String(text) => Json::from(&**text),
        Value::Reference(oid) => Json::from(session.describe(*oid)),
        other => Json::from(other.to_string()),
    }
}

/// Whether a cell is as expected; true and false stand for 1 and 0 as well.
fn alike(found: &Json, expected: &Json) -> bool {
    let number = |cell: &Json| match cell {
        Json::Bool(truth) => Some(f64::from(u8::from(*truth))),
        cell => cell.as_f64(),
    };
    match (found.as_i64(), expected.as_i64()) {
        (Some(found), Some(expected)) => found == expected,
        _ => match (number(found), number(expected)) {
            (Some(found), Some(expected)) => (found - expected).abs() <= 0.001,
            _ => found == expected,
        },
    }
}

/// A key that sorts rows alike on both sides.
fn order(row: &Cells) -> Vec<(u8, i64, String)> {
    let key = |cell: &Json| match cell {
        Json::Null => (2, 0, String::new()),
        Json::Bool(truth) => (0, i64::from(*truth) * 1000, String::new()),
        cell => match cell.as_f64() {
            Some(number) => (0, (number * 1000.0).round() as i64, String::new()),
            None => (1, 0, cell.to_string()),
        },
    };
    row.iter().map(key).collect()
}

fn is_right(mut found: Vec<Cells>, mut expected: Vec<Cells>, ordered: bool) -> bool {
    if !ordered {
        found.sort_by_key(order);
        expected.sort_by_key(order);
    }
    found.len() == expected.len()
        && found.iter().zip(&expected).all(|(found, expected)| {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| alike(a, b))
        })
}

fn expected_rows(case: &Json) -> Vec<Cells> {
    let rows = case["rows"].as_array().unwrap();
    rows.iter().map(|row| row.as_array().unwrap().clone()).collect()
}

/// Runs a file; what went wrong, and how many queries there were.
fn run(path: &Path) -> (Vec<String>, usize) {
    let mut session = Session::new(Database::in_memory().unwrap());
    let (mut wrong, mut queries) = (Vec::new(), 0);
    for line in fs::read_to_string(path).unwrap().lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        if case.get("store").is_some() {
            session = Session::new(Database::in_memory().unwrap());
        } else if let Some(setup) = case["setup"].as_array() {
            for statement in setup {
                session.execute(statement.as_str().unwrap(), ()).unwrap();
            }
        } else {
            queries += 1;
            let (id, query) = (case["id"].as_str().unwrap(), case["query"].as_str().unwrap());
            match rows(&mut session, query) {
                Ok(found) => {
                    let shown = format!("{found:?}");
                    if !is_right(found, expected_rows(&case), case["ordered"] == true) {
                        wrong.push(format!(
                            "{id}: {query}\n  found {shown}\n  expected {}",
                            case["rows"]
                        ));
                    }
                }
                Err(error) if RIGHT_ERRORS.contains(&error.code()) => {}
                Err(error) => wrong.push(format!("{id}: {query}\n  {error}")),
            }
        }
    }
    (wrong, queries)
}

#[test]
fn every_case_is_answered_right() {
    for path in files() {
        let (wrong, queries) = run(&path);
        let name = path.display();
        assert!(
            wrong.is_empty(),
            "{name}: {} wrong:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        assert!(queries > 0, "{name} has no query");
        println!("{name}: {queries} queries answered right");
    }
}
