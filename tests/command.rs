//! The command, run as a process.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use olivine::{Database, Session};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::directory::{contents, copy};

/// What a run of the command came to.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    output: String,
    error: String,
}

impl Ran {
    /// The lines of output as JSON.
    fn json(&self) -> Vec<Json> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        self.output.lines().map(parse).collect()
    }

    /// Asserts that it failed with `code` and a sentence that has all of `words`; gives itself back.
    fn failed(self, code: i32, words: &[&str]) -> Ran {
        assert_eq!(self.code, Some(code), "{self:?}");
        for word in words {
            assert!(self.error.contains(word), "no {word:?} in {self:?}");
        }
        assert!(!self.error.contains("panicked"), "{self:?}");
        self
    }

    fn succeeded(self) -> Ran {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.error, "", "{self:?}");
        self
    }
}

fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_olivine"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A command that fails early does not read its input.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        code: output.status.code(),
        output: String::from_utf8(output.stdout).unwrap(),
        error: String::from_utf8(output.stderr).unwrap(),
    }
}

fn exec(database: &Path, text: &str, options: &[&str]) -> Ran {
    let mut arguments = vec![
        OsStr::new("exec"),
        database.as_os_str(),
        OsStr::new("-c"),
        OsStr::new(text),
    ];
    arguments.extend(options.iter().map(OsStr::new));
    run(arguments, b"")
}

fn script(database: &Path, input: &[u8], options: &[&str]) -> Ran {
    let mut arguments = vec![OsStr::new("exec"), database.as_os_str()];
    arguments.extend(options.iter().map(OsStr::new));
    run(arguments, input)
}

/// A directory with a closed database `db` of 300 persons, indexed by name.
fn people() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let database = Database::open(&path).unwrap();
    let mut session = Session::new(database.clone());
    let classes = "create class Person { name: string unique, age: int, boss: Person };
        create index Person_age on Person(age); begin";
    session.execute(classes, ()).unwrap();
    for number in 0..300 {
        let insert = "insert Person(name: $1, age: $2)";
        let name = format!("person number {number}");
        session.execute(insert, (name, number % 30)).unwrap();
    }
    session.execute("commit", ()).unwrap();
    drop(session);
    database.close().unwrap();
    (directory, path)
}

/// All 300 persons are there, through the extent and through both indexes.
fn assert_all_there(database: &Path) {
    let counts = "select count(*) from Person p; select count(*) from Person p where p.age >= 0;
        select p.age from Person p where p.name = 'person number 77'";
    let ran = exec(database, counts, &["--format", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rows: Vec<Json> = ran.json().iter().map(|line| line["rows"].clone()).collect();
    assert_eq!(rows, [json!([[300]]), json!([[300]]), json!([[17]])]);
}

fn first_segment(database: &Path) -> PathBuf {
    database.join("heap/00000001.seg")
}

#[test]
fn text_comes_from_an_argument_a_file_or_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let file = directory.path().join("script.oql");
    fs::write(&file, "create class P { n: int };\ninsert P(n: 1);\n").unwrap();
    script(&path, b"", &["-f", file.to_str().unwrap()]).succeeded();
    exec(&path, "insert P(n: 2)", &[]).succeeded();
    script(&path, b"insert P(n: 3); -- the end", &[]).succeeded();
    script(&path, b"insert P(n: 4)", &["-f", "-"]).succeeded();
    let ran = exec(&path, "select p.n from P p order by p.n", &["--format", "csv"]).succeeded();
    assert_eq!(ran.output, "n\n1\n2\n3\n4\n");
    for empty in ["", "  \n", "-- only a comment", "/* a /* nested */ one */", ";;"] {
        let ran = script(&path, empty.as_bytes(), &[]);
        assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
        assert_eq!(ran.output, "");
    }
}

#[test]
fn a_table_aligns_its_columns_and_counts_its_rows() {
    let (_directory, path) = people();
    let ran = exec(
        &path,
        "select p.name, p.age from Person p where p.age = 7 order by p.name limit 2",
        &[],
    );
    let lines = [
        " name              | age",
        "-------------------+-----",
        " person number 127 |   7",
        " person number 157 |   7",
        "(2 rows)",
    ];
    assert_eq!(ran.succeeded().output.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn wide_and_harmful_text_keeps_a_table_straight() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let text = "select struct(a: '日本', b: 1) as x; select '\\u{1b}[31mred' as x; select 'a\tb\nc' as x";
    let ran = exec(&path, text, &[]).succeeded();
    assert!(!ran.output.contains('\u{1b}'), "{ran:?}");
    assert!(ran.output.contains("\\n"), "{ran:?}");
}

#[test]
fn json_is_exact_for_every_type() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let text = "create class Q { n: int, f: Q }; insert Q(n: -9223372036854775808) returning *;
        insert Q(f: Q#1); select q.f from Q q where q.f is not nil;
        select 9223372036854775807 as a, 9007199254740993 as b, nan as c, inf as d, -inf as e, x'00ff' as f, 0.1 as g;
        select 12.50d as a, date '2026-11-30' as b, timestamp '2026-11-30T10:00:00+02:00' as c, [1, nil] as d,
          set(2, 1, 2) as e, map('k': 1) as f, struct(a: 1) as g, true as h, nil as i, map(1: 2) as j;
        update Q set n = 5 where n is nil returning n; delete Q where n = 5; select 'a\"b\\\\c\u{1F600}' as s";
    let ran = exec(&path, text, &["--format", "json"]).succeeded();
    let expected = [
        json!({"affected": 0}),
        json!({"affected": 1, "columns": ["n", "f"], "rows": [[i64::MIN, null]]}),
        json!({"affected": 1}),
        json!({"columns": ["f"], "rows": [["Q#1"]]}),
        json!({"columns": ["a", "b", "c", "d", "e", "f", "g"],
            "rows": [[i64::MAX, 9_007_199_254_740_993_i64, "nan", "inf", "-inf", "00ff", 0.1]]}),
        json!({"columns": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"],
            "rows": [["12.50", "2026-11-30", "2026-11-30T08:00:00Z", [1, null], [1, 2], {"k": 1}, {"a": 1}, true,
                null, [[1, 2]]]]}),
        json!({"affected": 1, "columns": ["n"], "rows": [[5]]}),
        json!({"affected": 1}),
        json!({"columns": ["s"], "rows": [["a\"b\\c\u{1F600}"]]}),
    ];
    assert_eq!(ran.json(), expected);
    for digits in ["-9223372036854775808", "9223372036854775807", "9007199254740993"] {
        assert!(ran.output.contains(digits), "{digits} in {}", ran.output);
    }
}

#[test]
fn csv_quotes_what_needs_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let ran = exec(
        &path,
        "select 'a,b' as `x,y`, 'say \"hi\"' as z, nil as n, 'two\nlines' as t",
        &["--format", "csv"],
    );
    assert_eq!(
        ran.succeeded().output,
        "\"x,y\",z,n,t\n\"a,b\",\"say \"\"hi\"\"\",,\"two\nlines\"\n"
    );
}

#[test]
fn errors_in_json_tell_code_line_and_column_and_the_script_goes_on() {
    let (_directory, path) = people();
    let text = "select count(*) from Person p;\nselect p.nam from Person p;\nselect x from Persn x;\n\
        select 1 / 0;\n  insert Person(name: 'person number 1');\nselect 2";
    let ran =
        exec(&path, text, &["--format", "json", "--keep-going"]).failed(1, &["command:2:", "did you mean"]);
    let lines = ran.json();
    assert_eq!(lines.len(), 6, "{ran:?}");
    let place = |line: &Json| {
        let error = &line["error"];
        (
            error["code"].as_str().unwrap_or_default().to_string(),
            error["line"].as_u64().unwrap_or_default(),
            error["column"].as_u64().unwrap_or_default(),
        )
    };
    assert_eq!(lines[0]["rows"], json!([[300]]));
    assert_eq!(place(&lines[1]), ("42703".into(), 2, 10));
    assert_eq!(place(&lines[2]), ("42P01".into(), 3, 15));
    assert_eq!(place(&lines[3]), ("22012".into(), 4, 8));
    assert_eq!(place(&lines[4]).0, "23505");
    assert_eq!(lines[5]["rows"], json!([[2]]));
    assert!(lines[1]["error"]["message"].as_str().unwrap().contains("nam"));
}

#[test]
fn a_failed_statement_stops_the_script_and_leaves_what_was_done() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let text = "create class P { n: int };\ninsert P(n: 1);\ninsert P(m: 2);\ninsert P(n: 3)";
    exec(&path, text, &[]).failed(1, &["command:3:10", "m"]);
    let ran = exec(&path, "select p.n from P p", &["--format", "csv"]).succeeded();
    assert_eq!(ran.output, "n\n1\n");
    // A syntax error anywhere: nothing runs.
    exec(&path, "insert P(n: 9);\nselect from where", &[]).failed(1, &["command:2:"]);
    let ran = exec(&path, "select p.n from P p", &["--format", "csv"]).succeeded();
    assert_eq!(ran.output, "n\n1\n");
}

#[test]
fn a_script_that_ends_inside_a_transaction_fails_and_is_rolled_back() {
    let (_directory, path) = people();
    exec(&path, "begin; delete Person", &[]).failed(1, &["inside a transaction", "rolled back"]);
    exec(&path, "begin; delete Person; select oops from Person", &[]).failed(1, &["oops"]);
    assert_all_there(&path);
}

#[test]
fn wrong_use_is_told_from_failure_by_the_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let path = path.as_os_str();
    let text = OsStr::new;
    run([text("exec"), path, text("--frobnicate")], b"").failed(2, &["--frobnicate"]);
    run([text("exec"), path, text("--format"), text("xml")], b"").failed(2, &["xml"]);
    run([text("exec")], b"").failed(2, &["DATABASE"]);
    run(
        [
            text("exec"),
            path,
            text("-c"),
            text("select 1"),
            text("-f"),
            text("x"),
        ],
        b"",
    )
    .failed(2, &["--file"]);
    run(Vec::<&str>::new(), b"").failed(2, &["Usage"]);
    assert_eq!(run(["--version"], b"").code, Some(0));
    assert!(
        fs::read_dir(directory.path()).unwrap().next().is_none(),
        "nothing was created"
    );
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let missing = directory.path().join("missing.oql");
    script(&path, b"", &["-f", missing.to_str().unwrap()]).failed(1, &["missing.oql", "No such file"]);
    let latin = directory.path().join("latin.oql");
    fs::write(&latin, b"select 1;\nselect 'caf\xe9'").unwrap();
    script(&path, b"", &["-f", latin.to_str().unwrap()]).failed(1, &["latin.oql:2", "UTF-8"]);
    assert!(
        !path.exists(),
        "no database is made for a script that cannot be read"
    );
}

#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    let (_directory, path) = people();
    let mut child = Command::new(env!("CARGO_BIN_EXE_olivine"))
        .arg("exec")
        .arg(&path)
        .args([
            "--format",
            "csv",
            "-c",
            "select p.name, q.name, r.age from Person p, Person q, Person r",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_all_there(&path);
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        return;
    };
    for argument in ["--help", "--version"] {
        let ended = Command::new(env!("CARGO_BIN_EXE_olivine"))
            .arg(argument)
            .stdout(full.try_clone().unwrap())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(ended.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&ended.stderr).contains("writing the output"));
    }
    run(["--help"], b"").succeeded();
    run(["--no-such"], b"").failed(2, &["--no-such"]);
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        return;
    };
    let (_directory, path) = people();
    let output = Command::new(env!("CARGO_BIN_EXE_olivine"))
        .arg("exec")
        .arg(&path)
        .args(["-c", "select p.name from Person p"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("space"),
        "{output:?}"
    );
}

#[test]
fn places_that_hold_no_database_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("no/such/db");
    exec(&missing, "select 1", &[]).failed(1, &["no/such/db", "parent directory"]);
    let absent = directory.path().join("absent");
    exec(&absent, "select 1", &["--read-only"]).failed(1, &["absent"]);
    assert!(!absent.exists() && !directory.path().join("no").exists());

    let file = directory.path().join("file");
    fs::write(&file, "not a database").unwrap();
    exec(&file, "select 1", &[]).failed(1, &["file"]);
    assert_eq!(fs::read(&file).unwrap(), b"not a database");

    let foreign = directory.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("letter.txt"), "dear").unwrap();
    exec(&foreign, "select 1", &[]).failed(1, &["foreign"]);
    assert_eq!(contents(&foreign).len(), 2, "nothing was added");
}

#[test]
fn a_directory_without_permission_is_refused_and_named() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, path) = people();
    let locked = directory.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&locked).is_ok() {
        return; // Permissions do not bind this user.
    }
    exec(&locked, "select 1", &[]).failed(1, &["locked", "ermission"]);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(path.join("FORMAT"), fs::Permissions::from_mode(0o000)).unwrap();
    exec(&path, "select 1", &[]).failed(1, &["FORMAT", "ermission"]);
    fs::set_permissions(path.join("FORMAT"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_all_there(&path);
}

#[test]
fn a_second_opener_is_told_that_the_database_is_open() {
    let (directory, path) = people();
    let database = Database::open(&path).unwrap();
    exec(&path, "select 1", &[]).failed(1, &["db", "open in another process"]);
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    exec(&link, "select 1", &[]).failed(1, &["link", "open in another process"]);
    exec(&path, "select 1", &["--read-only"]).failed(1, &["open in another process"]);
    database.close().unwrap();
    assert_all_there(&path);
}

#[test]
fn of_processes_that_open_at_once_each_does_its_work_or_is_told_why_not() {
    let directory = tempfile::tempdir().unwrap();
    let mut done = 0;
    // The first round races for the creation, too.
    for round in 0..3 {
        let path = directory.path().join("db");
        let text = "create class if not exists P { n: int unique }; insert P(n: 0) returning 1";
        let start = |number: usize| {
            let text = text.replace("n: 0", &format!("n: {}", round * 10 + number));
            let path = path.clone();
            std::thread::spawn(move || exec(&path, &text, &["--format", "json"]))
        };
        let started: Vec<_> = (0..4).map(start).collect();
        for ran in started.into_iter().map(|process| process.join().unwrap()) {
            match ran.code {
                Some(0) => done += 1,
                _ => drop(ran.failed(1, &["open in another process"])),
            }
        }
        let ran = exec(&path, "select count(*) from P p", &["--format", "csv"]);
        assert_eq!(ran.succeeded().output, format!("column1\n{done}\n"));
    }
    assert!(done >= 1);
}

#[test]
fn a_newer_format_is_refused_by_number_and_left_alone() {
    let (_directory, path) = people();
    let format = path.join("FORMAT");
    let sound = fs::read(&format).unwrap();
    let mut newer = sound.clone();
    for copy in [0, 512] {
        newer[copy + 8..copy + 10].copy_from_slice(&7u16.to_le_bytes());
    }
    fs::write(&format, &newer).unwrap();
    exec(&path, "select 1", &[]).failed(1, &["format 7", "1"]);
    assert_eq!(fs::read(&format).unwrap(), newer);
    fs::write(&format, b"").unwrap();
    exec(&path, "select 1", &[]).failed(1, &["FORMAT"]);
    fs::write(&format, b"hello").unwrap();
    exec(&path, "select 1", &[]).failed(1, &["FORMAT"]);
    fs::write(&format, &sound).unwrap();
    assert_all_there(&path);
}

#[test]
fn one_damaged_copy_of_the_format_is_made_up_for_by_the_other() {
    for copy in [0, 512] {
        let (_directory, path) = people();
        let format = path.join("FORMAT");
        let mut bytes = fs::read(&format).unwrap();
        bytes[copy + 60] ^= 1;
        fs::write(&format, bytes).unwrap();
        assert_all_there(&path);
    }
}

#[test]
fn a_truncated_segment_is_named_and_nothing_is_lost_by_trying() {
    let (_directory, path) = people();
    let sound = contents(&path);
    let segment = first_segment(&path);
    let bytes = fs::read(&segment).unwrap();
    for length in [0, 10, 64, 1_000, 20_000] {
        fs::write(&segment, &bytes[..length]).unwrap();
        exec(&path, "select count(*) from Person p", &[]).failed(1, &["segment"]);
    }
    fs::remove_file(&segment).unwrap();
    exec(&path, "select count(*) from Person p", &[]).failed(1, &["segment"]);
    fs::write(&segment, &bytes).unwrap();
    assert_all_there(&path);
    assert!(sound.contains_key(&segment));
}

#[test]
fn a_flipped_byte_in_a_segment_is_named_wherever_it_is() {
    let (_directory, path) = people();
    let segment = first_segment(&path);
    let bytes = fs::read(&segment).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let saved = tempfile::tempdir().unwrap();
    copy(&path, saved.path());
    for round in 0..12 {
        let place = used * round / 12;
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x10;
        fs::write(&segment, &damaged).unwrap();
        let ran = exec(
            &path,
            "select p.name, p.age from Person p where p.age + 0 >= 0",
            &["--format", "csv"],
        );
        match ran.code {
            // Slack: then the answer is right.
            Some(0) => assert_eq!(ran.output.lines().count(), 301, "byte {place}"),
            _ => drop(ran.failed(1, &["segment"])),
        }
        fs::remove_dir_all(&path).unwrap();
        copy(saved.path(), &path);
    }
    assert_all_there(&path);
}

#[test]
fn a_damaged_table_is_built_anew_from_the_log() {
    let (_directory, path) = people();
    let pages = path.join("table/pages");
    let bytes = fs::read(&pages).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let mut places = vec![0, 20, 4_096, 4_096 * 2 + 8];
    places.extend((0..6).map(|round| used * round / 6));
    for place in places {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x10;
        fs::write(&pages, &damaged).unwrap();
        let ran = exec(
            &path,
            "select count(*) from Person p where p.age + 0 >= 0",
            &["--format", "csv"],
        );
        match ran.code {
            Some(0) => assert_eq!(ran.output, "column1\n300\n", "byte {place}"),
            _ => drop(ran.failed(1, &["table"])),
        }
    }
    fs::remove_dir_all(path.join("table")).unwrap();
    assert_all_there(&path);
}

#[test]
fn indexes_that_are_gone_or_damaged_are_built_anew() {
    let (_directory, path) = people();
    fs::remove_dir_all(path.join("index")).unwrap();
    assert_all_there(&path);
    for (file, bytes) in contents(&path.join("index")) {
        if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
            fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        }
    }
    assert_all_there(&path);
    fs::remove_dir_all(path.join("index")).unwrap();
    fs::write(path.join("index"), "a file").unwrap();
    let ran = exec(&path, "select 1", &[]);
    assert!(ran.code == Some(0) || ran.error.contains("index"), "{ran:?}");
}

#[test]
fn names_that_do_not_exist_are_told_with_the_nearest() {
    let (_directory, path) = people();
    exec(&path, "select p from Persom p", &[])
        .failed(1, &["command:1:15", "Persom", "did you mean Person?", "^^^^^^"]);
    exec(&path, "select p.agee from Person p", &[]).failed(1, &["command:1:10", "agee", "did you mean age?"]);
    exec(&path, "insert Person(nam: 'x')", &[]).failed(1, &["command:1:15", "nam", "did you mean name?"]);
    exec(&path, "select lenght('x')", &[]).failed(1, &["command:1:8", "lenght", "did you mean length?"]);
    assert_all_there(&path);
}

#[test]
fn huge_and_deep_statements_end_in_a_short_sentence() {
    let (_directory, path) = people();
    let long = format!("select '{}' as x", "y".repeat(1_000_000));
    let ran = script(&path, long.as_bytes(), &["--format", "csv"]).succeeded();
    assert_eq!(ran.output.len(), 1_000_000 + 3);
    let list = (0..150_000)
        .map(|number| number.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let many = format!("select count(*) from Person p where p.age in ({list})");
    let ran = script(&path, many.as_bytes(), &["--format", "csv"]).succeeded();
    assert_eq!(ran.output, "column1\n300\n");
    let wrong = format!("select {} from Person p where", "p.age + ".repeat(125_000));
    let ran = script(&path, wrong.as_bytes(), &[]).failed(1, &["standard input:1:"]);
    assert!(ran.error.len() < 2_000, "{} bytes of error", ran.error.len());
    for open in ["(", "[", "not ", "- ", "list(", "abs(", "exists(select 1 where "] {
        let deep = format!("select {}1", open.repeat(100_000));
        let ran = script(&path, deep.as_bytes(), &[]).failed(1, &["standard input:1:", "nest"]);
        assert!(ran.error.len() < 2_000, "{} bytes of error", ran.error.len());
    }
    assert_all_there(&path);
}

#[test]
fn odd_paths_are_opened_exactly() {
    let directory = tempfile::tempdir().unwrap();
    let names: [&[u8]; 8] = [
        b"with space",
        b"with'quote\"s",
        "emoji \u{1F600}".as_bytes(),
        b"not utf-8 \xff\xfe",
        b"per%20cent",
        b"new\nline",
        "caf\u{e9}".as_bytes(),
        "cafe\u{301}".as_bytes(),
    ];
    for name in names {
        let path = directory.path().join(OsStr::from_bytes(name));
        exec(&path, "create class P { n: int unique }; insert P(n: 1)", &[]).succeeded();
        assert!(path.join("FORMAT").is_file());
        let ran = exec(&path, "select p.n from P p where p.n = 1", &["--format", "csv"]).succeeded();
        assert_eq!(ran.output, "n\n1\n");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), names.len());
    let slash = directory.path().join("with slash/");
    exec(&slash, "select 1", &[]).succeeded();
    assert!(directory.path().join("with slash/FORMAT").is_file());
    let long = directory.path().join("x".repeat(300));
    exec(&long, "select 1", &[]).failed(1, &["name too long"]);
}

#[test]
fn reading_only_changes_nothing_on_the_disk() {
    let (directory, path) = people();
    let before = contents(&path);
    let ran = exec(
        &path,
        "select count(*) from Person p where p.age = 3",
        &["--read-only", "--format", "csv"],
    );
    assert_eq!(ran.succeeded().output, "column1\n10\n");
    exec(&path, "delete Person", &["--read-only"]).failed(1, &["read-only"]);
    exec(&path, "create class Q { n: int }", &["--read-only"]).failed(1, &["read-only"]);
    assert!(contents(&path) == before, "reading changed the files");

    // As a kill leaves it: a copy of an open database.
    let database = Database::open(&path).unwrap();
    let mut session = Session::new(database.clone());
    session
        .execute("insert Person(name: 'late', age: 3)", ())
        .unwrap();
    let killed = directory.path().join("killed");
    copy(&path, &killed);
    drop(session);
    database.close().unwrap();
    let before = contents(&killed);
    let ran = exec(
        &killed,
        "select count(*) from Person p where p.age = 3",
        &["--read-only", "--format", "csv"],
    );
    match ran.code {
        Some(0) => assert_eq!(ran.output, "column1\n11\n"),
        _ => drop(ran.failed(1, &["recover"])),
    }
    assert!(contents(&killed) == before, "reading changed the files");
}
