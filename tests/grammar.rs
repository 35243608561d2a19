//! The grammar of record: its productions, words and examples, and trees that print themselves back.
//!
//! An example file holds, under `[accepted]` and `[rejected]`, texts (`> `), each followed by what becomes of it: its
//! canonical print (`= `), or the error (`! `) and the place drawn (`| `). `RECORD=1` writes what becomes of the texts
//! anew; whether they are accepted is never recorded.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use olivine::oql::{
    HEIGHT_LIMIT, NESTING_LIMIT, RESERVED, Statement, caret, needs_more, parse_query, parse_script,
    parse_statement,
};

mod trees;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The productions of the grammar, each with its text.
fn productions() -> Vec<(String, String)> {
    let grammar = read("grammar/olivine.ebnf");
    let mut productions: Vec<(String, String)> = Vec::new();
    let mut commented = false;
    for line in grammar.lines() {
        commented |= line.starts_with("(*");
        if commented {
            commented = !line.ends_with("*)");
        } else if line.starts_with(|c: char| c.is_ascii_lowercase()) {
            let name = line.split(' ').next().unwrap();
            productions.push((name.to_owned(), line.to_owned()));
        } else if let Some((_, text)) = productions.last_mut().filter(|_| !line.is_empty()) {
            text.push('\n');
            text.push_str(line);
        }
    }
    productions
}

/// The source of the parser, all files.
fn parser_source() -> String {
    let files = fs::read_dir(root().join("src/query/parser")).unwrap();
    files
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect()
}

#[test]
fn every_production_is_a_function_that_quotes_it() {
    let source = parser_source();
    let productions = productions();
    assert!(productions.len() > 100);
    for (name, text) in &productions {
        assert!(
            source.contains(&format!("fn {name}(")) || source.contains(&format!("fn {name}<")),
            "the production `{name}` has no function in the parser"
        );
        let quoted: String = text.lines().map(|line| format!("/// {line}\n")).collect();
        assert!(
            source.contains(&quoted),
            "the function `{name}` does not quote its production:\n{text}"
        );
    }
    let quoted = source.matches("/// ```ebnf").count();
    assert_eq!(
        quoted,
        productions.len(),
        "the parser quotes a production that the grammar has not"
    );
}

#[test]
fn every_production_used_is_there_and_all_are_used() {
    let productions = productions();
    let defined: BTreeSet<&str> = productions.iter().map(|(name, _)| name.as_str()).collect();
    let mut used = BTreeSet::from(["script"]);
    for (_, text) in &productions {
        let right = text.split_once('=').unwrap().1;
        // Every second part stands between quotes: a terminal.
        for part in right.split('"').step_by(2) {
            used.extend(
                part.split(|c: char| !c.is_ascii_lowercase() && c != '_')
                    .filter(|word| word.len() > 1),
            );
        }
    }
    assert_eq!(defined, used);
}

#[test]
fn the_list_of_reserved_words_is_the_one_of_the_lexer() {
    let listed = read("grammar/keywords.txt");
    let listed: Vec<&str> = listed.lines().collect();
    assert!(listed.is_sorted());
    assert_eq!(listed, RESERVED);
}

/// An example: its text, and what the file says becomes of it.
struct Example {
    text: String,
    accepted: bool,
    outcome: Vec<String>,
}

fn examples(file: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut accepted = true;
    let mut reading = false;
    for line in file.lines() {
        if let Some(text) = line.strip_prefix('>') {
            let text = text.strip_prefix(' ').unwrap_or(text);
            match examples.last_mut().filter(|_| reading) {
                Some(example) => {
                    example.text.push('\n');
                    example.text.push_str(text);
                }
                None => examples.push(Example {
                    text: text.to_owned(),
                    accepted,
                    outcome: Vec::new(),
                }),
            }
            reading = true;
            continue;
        }
        reading = false;
        match line {
            "[accepted]" => accepted = true,
            "[rejected]" => accepted = false,
            "" => {}
            outcome => examples
                .last_mut()
                .unwrap()
                .outcome
                .push(outcome.trim_end().to_owned()),
        }
    }
    examples
}

/// What becomes of a text; an error if it is not what should.
fn outcome(example: &Example) -> Result<Vec<String>, String> {
    let text = &example.text;
    match (parse_script(text), example.accepted) {
        (Ok(statements), true) => {
            for statement in &statements {
                fixed_point(statement)?;
            }
            Ok(statements
                .iter()
                .map(|statement| format!("= {statement}"))
                .collect())
        }
        (Err(error), false) => {
            let mut lines = vec![format!("! {error}")];
            lines.extend(
                caret(text, &error)
                    .lines()
                    .map(|line| format!("| {line}").trim_end().to_owned()),
            );
            Ok(lines)
        }
        (Ok(statements), false) => {
            let printed: Vec<String> = statements.iter().map(Statement::to_string).collect();
            Err(format!("accepted: {text}\nas: {}", printed.join("; ")))
        }
        (Err(error), true) => Err(format!("rejected: {text}\n{error}\n{}", caret(text, &error))),
    }
}

fn fixed_point(statement: &Statement) -> Result<(), String> {
    let printed = statement.to_string();
    let quotes = printed.contains(['\'', '`']);
    if !quotes && printed.contains("--") {
        return Err(format!("prints a comment: {printed}"));
    }
    let again = parse_statement(&printed)
        .map_err(|error| format!("does not parse again: {printed}\n{error}\n{statement:?}"))?;
    if again != *statement {
        return Err(format!("another tree: {printed}\n{statement:?}\n{again:?}"));
    }
    match again.to_string() == printed {
        true => Ok(()),
        false => Err(format!("no fixed point: {printed}\n{again}")),
    }
}

fn example_texts() -> Vec<String> {
    let names = productions().into_iter().map(|(name, _)| name);
    let files = names.map(|name| read(format!("grammar/examples/{name}.txt")));
    files
        .flat_map(|file| examples(&file).into_iter().map(|example| example.text))
        .collect()
}

#[test]
fn every_production_has_examples_that_hold() {
    let record = std::env::var_os("RECORD").is_some();
    let mut wrong = String::new();
    let mut files = BTreeSet::new();
    for (name, _) in productions() {
        let path = format!("grammar/examples/{name}.txt");
        let examples = examples(&read(&path));
        for kind in [true, false] {
            assert!(
                examples.iter().any(|example| example.accepted == kind),
                "{name}: accepted {kind}"
            );
        }
        let mut recorded = String::new();
        for example in &examples {
            match outcome(example) {
                Err(error) => writeln!(wrong, "{name}: {error}\n").unwrap(),
                Ok(lines) if lines != example.outcome && !record => {
                    writeln!(wrong, "{name}: {}\n{}\n", example.text, lines.join("\n")).unwrap();
                }
                Ok(lines) => write_example(&mut recorded, example, &lines),
            }
        }
        if record && wrong.is_empty() {
            fs::write(root().join(path), recorded).unwrap();
        }
        files.insert(format!("{name}.txt"));
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    let there = fs::read_dir(root().join("grammar/examples")).unwrap();
    let there = there
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, there);
}

fn write_example(file: &mut String, example: &Example, outcome: &[String]) {
    let heading = if example.accepted {
        "[accepted]"
    } else {
        "[rejected]"
    };
    if !file.contains(heading) {
        writeln!(file, "{}{heading}", if file.is_empty() { "" } else { "\n" }).unwrap();
    } else {
        file.push('\n');
    }
    for line in example.text.split('\n') {
        writeln!(file, "{}", format!("> {line}").trim_end()).unwrap();
    }
    for line in outcome {
        writeln!(file, "{line}").unwrap();
    }
}

#[test]
fn the_shared_cases_print_back() {
    let Ok(cases) = fs::read_to_string(root().join("../shared/cases/queries.jsonl"))
        .or_else(|_| fs::read_to_string(root().join("../../shared/cases/queries.jsonl")))
    else {
        return;
    };
    let mut queries = 0;
    for line in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        queries += usize::from(case["query"].is_string());
        let setup = case["setup"].as_array().into_iter().flatten();
        for text in setup.chain(case.get("query")).filter_map(|text| text.as_str()) {
            for statement in parse_script(text).unwrap_or_else(|error| panic!("{text}: {error}")) {
                fixed_point(&statement).unwrap();
            }
        }
    }
    assert_eq!(queries, 338);
}

#[test]
fn words_are_attributes_after_a_dot_and_names_in_backquotes() {
    let also = [
        "name", "check", "date", "list", "it", "commit", "end", "then", "by", "desc", "mod", "method", "if",
    ];
    for word in RESERVED.iter().chain(&also) {
        let upper = word.to_uppercase();
        for text in [
            format!("x.{word}"),
            format!("x.{upper}"),
            format!(
                "select `{word}`, x.{word} as `{word}` from `{word}` as `{word}` where `{word}`(`{word}`) = `{word}`"
            ),
            format!("select x from {word} x order by x.{word}"),
            format!("create class `{word}` extends `{word}` {{ `{word}`: `{word}` inverse `{word}` }}"),
            format!("update `{word}` as `{word}` set `{word}` = `{word}` returning `{word}`"),
            format!("insert into {word} (`{word}`) values (`{word}`)"),
            format!("create index `{word}` on `{word}`(`{word}`, x.{word})"),
            format!("for all `{word}` in `{word}`: `{word}` is `{word}`"),
            format!("`{word}`"),
            format!("{word}_x + is{word} + _{word}"),
        ] {
            let statement = parse_statement(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            fixed_point(&statement).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn random_trees_print_and_parse_back() {
    for seed in trees::seeds(300) {
        let statement = trees::statement(seed);
        fixed_point(&statement).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

/// Damaged text ends in a tree or an error that points into the text, never in a panic.
#[test]
fn damaged_text_is_an_error_and_never_a_panic() {
    let texts = example_texts();
    for seed in trees::seeds(3_000) {
        let text = trees::damaged(&texts, seed);
        match parse_script(&text) {
            Ok(statements) => statements.iter().for_each(|statement| {
                fixed_point(statement).unwrap_or_else(|error| panic!("seed {seed}: {text}\n{error}"));
            }),
            Err(error) => {
                assert!(
                    error.span.start <= error.span.end && error.span.end <= text.len(),
                    "seed {seed}: {text}"
                );
                assert!(text.is_char_boundary(error.span.start) && text.is_char_boundary(error.span.end));
                assert!(!caret(&text, &error).is_empty() && error.position.is_some());
            }
        }
        needs_more(&text);
    }
}

/// Runs on the small stack of a worker thread.
fn on_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(run)
        .unwrap();
    thread.join().unwrap()
}

/// The ways text can nest: before, innermost, after.
const NESTINGS: [(&str, &str, &str); 17] = [
    ("(", "a", ")"),
    ("not ", "a", ""),
    ("- ", "a", ""),
    ("[", "1", "]"),
    ("f(", "a", ")"),
    ("(select ", "a", ")"),
    ("(select x from ", "a", " x)"),
    ("a.b[", "1", "]"),
    ("a[where ", "b", "]"),
    ("case when ", "a", " then b end"),
    ("exists x in c: ", "a", ""),
    ("exists(select 1 from A where ", "a", ")"),
    ("a in (1, ", "b", ")"),
    ("cast(", "a", " as int)"),
    ("1 + (a = 2 * (", "a", "))"),
    ("f(b ?? c union d intersect 1 + 2 * -", "a", ")"),
    ("x.(", "a", "){1}"),
];

fn nested(depth: usize, (before, inside, after): (&str, &str, &str)) -> String {
    format!("select {}{inside}{}", before.repeat(depth), after.repeat(depth))
}

#[test]
fn the_deepest_text_parses_prints_and_is_freed_on_a_small_stack() {
    for nesting in NESTINGS {
        on_small_stack(move || {
            let accepted = (1..=NESTING_LIMIT)
                .rev()
                .find_map(|depth| parse_statement(&nested(depth, nesting)).ok());
            let statement = accepted.unwrap_or_else(|| panic!("{nesting:?}"));
            fixed_point(&statement).unwrap_or_else(|error| panic!("{error}"));
        });
    }
    let brackets = nested(NESTING_LIMIT - 1, ("(", "a", ")"));
    assert_eq!(parse_statement(&brackets).unwrap().to_string(), "select a");
}

#[test]
fn deeper_text_is_an_error_that_names_the_limit() {
    for depth in [NESTING_LIMIT + 1, 2_000, 100_000] {
        for nesting in NESTINGS {
            let error = on_small_stack(move || parse_statement(&nested(depth, nesting)).unwrap_err());
            assert_eq!(error.code.sqlstate(), "54001", "{nesting:?}: {error}");
            assert!(
                error.message.contains(&NESTING_LIMIT.to_string())
                    || error.message.contains(&HEIGHT_LIMIT.to_string()),
                "{error}"
            );
        }
    }
    assert!(parse_statement(&"(".repeat(100_000)).is_err());
    let types = format!("cast(a as {}int{})", "list<".repeat(20_000), ">".repeat(20_000));
    assert_eq!(parse_statement(&types).unwrap_err().code.sqlstate(), "54001");
}

#[test]
fn chains_are_as_high_as_the_limit_and_conditions_as_long_as_the_text() {
    let chain = |operator: &str, length: usize| vec!["a"; length].join(operator);
    for operator in [" + ", " || ", " * ", " ?? ", " union ", ".b."] {
        let text = chain(operator, HEIGHT_LIMIT / 3);
        on_small_stack(move || fixed_point(&parse_statement(&text).unwrap()).unwrap());
        let error = parse_statement(&chain(operator, 100_000)).unwrap_err();
        assert_eq!(error.code.sqlstate(), "54001", "{operator}");
    }
    let text = chain(" = b or a = c and not ", 50_000);
    assert!(text.len() > 1_000_000);
    on_small_stack(move || fixed_point(&parse_statement(&text).unwrap()).unwrap());
}

#[test]
fn long_lists_of_literals_are_values_not_trees() {
    let numbers: Vec<String> = (0..1_000_000)
        .map(|number| (number - 500_000).to_string())
        .collect();
    let text = format!("select a from A where b in ({})", numbers.join(", "));
    let query = parse_query(&text).unwrap();
    assert_eq!(query.to_string(), text);
    let rows = vec!["(1, 'x', -2.5, nil)"; 50_000].join(", ");
    let text = format!("insert into C (a, b, c, d) values {rows}");
    assert_eq!(parse_statement(&text).unwrap().to_string(), text);
}

#[test]
fn too_long_a_text_is_refused_before_it_is_read() {
    let text = " ".repeat(16 * 1024 * 1024 + 1);
    assert_eq!(parse_script(&text).unwrap_err().code.sqlstate(), "54001");
}

#[test]
fn one_statement_or_query_is_what_is_asked_for() {
    assert!(parse_statement("").is_err() && parse_statement(";").is_err());
    assert!(parse_statement("select 1; select 2").is_err());
    assert!(parse_query("commit").is_err());
    assert!(parse_query("select 1;").is_ok());
    let statements = parse_script("select 1;\n  commit ;").unwrap();
    assert_eq!((statements[1].span.start, statements[1].span.end), (12, 18));
}
