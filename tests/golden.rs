//! Golden scripts, on memory and disk.
//!
//! A script in `tests/scripts/TOPIC/NAME.txt` begins with comments that say what it shows, then has blocks: statements, a
//! line `----`, and what they come to, up to the next blank line. `RECORD=1 cargo test golden` writes what they come to
//! now; review the diff. Each script runs on a database in memory, on one on disk, on one on disk that is reopened after
//! every block, and with the optimizer switched off (where only the plans shown by `explain` may differ).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use olivine::oql::caret;
use olivine::{Answer, Database, Error, Outcome, Session};

/// One block of a script.
struct Block {
    /// Comments and blank lines before it.
    before: String,
    text: String,
    expected: String,
}

fn read(script: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut before = String::new();
    let mut lines = script.lines().peekable();
    while let Some(line) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            before.push_str(line);
            before.push('\n');
            continue;
        }
        let mut text = format!("{line}\n");
        for line in lines.by_ref().take_while(|line| *line != "----") {
            text.push_str(line);
            text.push('\n');
        }
        let mut expected = String::new();
        while let Some(line) = lines.next_if(|line| !line.is_empty()) {
            expected.push_str(line);
            expected.push('\n');
        }
        blocks.push(Block {
            before: std::mem::take(&mut before),
            text,
            expected,
        });
    }
    blocks
}

/// The examples of a document: blocks fenced as `oql`, in which a line `----` parts what runs from what it comes to.
fn read_document(text: &str) -> (Vec<Block>, String) {
    let mut blocks = Vec::new();
    let mut before = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        before.push_str(line);
        before.push('\n');
        if line != "```oql" {
            continue;
        }
        let lines_of = |lines: Vec<&str>| lines.iter().map(|line| format!("{line}\n")).collect();
        let ran: Vec<&str> = lines.by_ref().take_while(|line| *line != "----").collect();
        let gave: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(Block {
            before: std::mem::take(&mut before),
            text: lines_of(ran),
            expected: lines_of(gave),
        });
        before.push_str("```\n");
    }
    (blocks, before)
}

fn show(session: &mut Session, text: &str, variables: &olivine::Parameters) -> String {
    let mut shown = String::new();
    let statements = match Session::parse(text) {
        Ok(statements) => statements,
        Err(error) => return show_error(error.into(), text),
    };
    for statement in &statements {
        let outcome = session.run(statement, text, variables);
        match outcome.and_then(|outcome| show_outcome(session, outcome)) {
            Ok(outcome) => shown.push_str(&outcome),
            Err(error) => {
                shown.push_str(&show_error(error, text));
                break;
            }
        }
    }
    shown
}

fn show_error(error: Error, text: &str) -> String {
    let error = error.locate(text);
    let mut shown = format!("error {}: {error}\n", error.code());
    if let Error::Query(error) = &error {
        writeln!(shown, "{}", caret(text, error)).unwrap();
    }
    shown
}

fn show_outcome(session: &Session, outcome: Outcome) -> Result<String, Error> {
    match outcome {
        Outcome::Rows(answer) => show_rows(session, answer),
        Outcome::Changed {
            verb,
            affected,
            returning,
        } => {
            let rows = returning.map(|answer| show_rows(session, answer)).transpose()?;
            Ok(format!("{affected} {verb}\n{}", rows.unwrap_or_default()))
        }
        Outcome::Plan(plan) => show_rows(session, Answer::of_plan(&plan)),
        Outcome::Done(sentence) => Ok(format!("{sentence}\n")),
    }
}

fn show_rows(session: &Session, answer: Answer) -> Result<String, Error> {
    let mut shown = answer.labels().join(" | ");
    shown.push('\n');
    let is_plan = &*shown == "plan\n";
    for row in answer {
        let row = row?;
        let name = |oid| session.describe(oid);
        let cells: Vec<String> = row
            .values()
            .iter()
            .map(|value| match value.as_str() {
                Some(line) if is_plan => line.to_string(),
                _ => value.display_with(&name).to_string(),
            })
            .collect();
        writeln!(shown, "  {}", cells.join(" | ")).unwrap();
    }
    Ok(shown)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Memory,
    Disk,
    Reopening,
    Unoptimized,
}

/// What each block comes to.
fn run(blocks: &[Block], way: Way) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let open = || match way {
        Way::Memory | Way::Unoptimized => Database::in_memory().unwrap(),
        Way::Disk | Way::Reopening => Database::open(directory.path().join("golden.olv")).unwrap(),
    };
    let mut database = open();
    database.set_optimizer(way != Way::Unoptimized);
    let mut session = Session::new(database.clone());
    let mut shown = Vec::new();
    let mut variables = olivine::Parameters::new();
    for block in blocks {
        shown.push(show(&mut session, &block.text, &variables));
        if way == Way::Reopening && !session.in_transaction() {
            for (name, value) in session.variables().iter() {
                variables.set(name, value.clone());
            }
            drop(session);
            database.close().unwrap();
            database = open();
            session = Session::new(database.clone());
        }
    }
    shown
}

fn scripts() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                found.push(path)
            }
        }
    }
    found.sort();
    found
}

fn record(path: &Path, script: &str, blocks: &[Block], shown: &[String]) {
    let mut text = String::new();
    for (block, shown) in blocks.iter().zip(shown) {
        write!(text, "{}{}----\n{shown}", block.before, block.text).unwrap();
    }
    text.push_str(if script.ends_with('\n') { "" } else { "\n" });
    fs::write(path, text).unwrap();
}

/// Whether two outcomes are the same, whatever the numbers of commits: background work of the engine commits too.
fn is_alike(found: &str, expected: &str) -> bool {
    let commit = |line: &str| {
        let number = line.strip_prefix("committed as ");
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let same = |(found, expected): (&str, &str)| found == expected || (commit(found) && commit(expected));
    found.lines().count() == expected.lines().count() && found.lines().zip(expected.lines()).all(same)
}

#[test]
fn every_script_gives_what_it_says_however_it_is_run() {
    let recording = std::env::var_os("RECORD").is_some();
    let mut problems = Vec::new();
    let scripts = scripts();
    assert!(!scripts.is_empty());
    for path in scripts {
        let script = fs::read_to_string(&path).unwrap();
        let blocks = read(&script);
        let shown = run(&blocks, Way::Memory);
        if recording {
            record(&path, &script, &blocks, &shown);
        }
        for way in [Way::Memory, Way::Disk, Way::Reopening, Way::Unoptimized] {
            let found = if way == Way::Memory {
                shown.clone()
            } else {
                run(&blocks, way)
            };
            for ((block, found), shown) in blocks.iter().zip(&found).zip(&shown) {
                let expected = if recording { shown } else { &block.expected };
                let is_plan = way == Way::Unoptimized && block.text.contains("explain");
                if !is_alike(found, expected) && !is_plan {
                    problems.push(format!(
                        "{} ({way:?}):\n{}---- expected\n{expected}---- found\n{found}",
                        path.display(),
                        block.text
                    ));
                }
            }
        }
    }
    assert!(
        problems.is_empty(),
        "{} differences:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn the_reference_of_the_language_says_what_happens() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/query-language.md");
    let (blocks, after) = read_document(&fs::read_to_string(&path).unwrap());
    let shown = run(&blocks, Way::Memory);
    if std::env::var_os("RECORD").is_some() {
        let mut text = String::new();
        for (block, shown) in blocks.iter().zip(&shown) {
            write!(text, "{}{}----\n{shown}", block.before, block.text).unwrap();
        }
        fs::write(&path, text + &after).unwrap();
        return;
    }
    for way in [Way::Memory, Way::Disk, Way::Reopening, Way::Unoptimized] {
        for (block, found) in blocks.iter().zip(run(&blocks, way)) {
            let is_plan = way == Way::Unoptimized && block.text.contains("explain");
            assert!(
                is_alike(&found, &block.expected) || is_plan,
                "{way:?}:\n{}---- expected\n{}---- found\n{found}",
                block.text,
                block.expected
            );
        }
    }
}

#[test]
fn the_reference_of_the_language_leaves_nothing_out() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/query-language.md");
    let (blocks, _) = read_document(&fs::read_to_string(&path).unwrap());
    let ran: String = blocks.iter().map(|block| block.text.to_lowercase()).collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: std::collections::HashSet<&str> = ran.split(|c| !is_word(c)).collect();
    let mut missing: Vec<&str> = olivine::oql::function_names()
        .filter(|name| !ran.contains(&format!("{name}(")))
        .collect();
    missing.extend(
        olivine::oql::RESERVED
            .iter()
            .filter(|word| !words.contains(*word)),
    );
    assert!(missing.is_empty(), "no example has {}", missing.join(", "));
}
