//! The house rules, as tests: layers, lengths, banned words, dead links.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Top-level modules from the bottom up. A module may name only modules below its own row; modules of one row may not
/// name one another.
const LAYERS: &[&[&str]] = &[
    &["error"],
    &["files"],
    &["object"],
    &["heap"],
    &["index"],
    &["catalog"],
    &["read", "read_set", "write_set"],
    &["view", "query"],
    &["commit", "access"],
    &["instance"],
    &["maintain", "snapshot"],
    &["transaction"],
    &["database"],
    &["session"],
    &["transfer"],
    &["bench", "server", "torture"],
    &["shell"],
];

/// Words and the only places that may say them in code.
const RESERVED_WORDS: &[(&str, &[&str])] = &[
    ("fjall", &["src/index/store.rs"]),
    ("memmap2", &["src/files/"]),
    ("unsafe", &["src/files/map.rs", "src/lib.rs"]),
    ("nom", &["src/query/parser/"]),
    ("postcard", &["src/object/codec/"]),
    (
        "std::fs",
        &[
            "src/files/",
            "src/index/",
            "src/shell/",
            "src/bench/",
            "src/transfer/",
            "src/main.rs",
        ],
    ),
    ("println!", &["src/shell/", "src/bench/", "src/main.rs"]),
    ("eprintln!", &["src/shell/", "src/bench/", "src/main.rs"]),
    ("dbg!", &[]),
    ("todo!", &[]),
    ("unimplemented!", &[]),
    (
        "SystemTime",
        &["src/commit/", "src/query/", "src/bench/", "src/files/"],
    ),
];

/// What a query may see of the store.
const QUERY_MAY_NAME: &[&str] = &["read", "catalog", "object", "error", "query", "params"];

const BANNED_NAMES: &[&str] = &[
    "utils", "util", "common", "manager", "helpers", "helper", "inner", "misc",
];

const LONGEST_FUNCTION: usize = 70;
const LONGEST_FILE: usize = 700;
const LONGEST_LINE: usize = 140;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files_below(folder: &str, ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                let name = path
                    .strip_prefix(root())
                    .unwrap()
                    .to_string_lossy()
                    .replace('\\', "/");
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The code of a line: without comments and without what stands in string literals.
fn code(line: &str) -> String {
    let mut code = String::new();
    let mut in_string = false;
    let mut previous = ' ';
    for character in line.chars() {
        if character == '"' && previous != '\\' && previous != '\'' {
            in_string = !in_string;
        } else if !in_string {
            if character == '/' && previous == '/' {
                code.pop();
                break;
            }
            code.push(character);
        }
        previous = character;
    }
    code
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

fn module_of(path: &str) -> Option<&str> {
    let below = path.strip_prefix("src/")?;
    let first = below.split('/').next()?;
    Some(first.strip_suffix(".rs").unwrap_or(first))
}

/// The top-level modules a file names as `crate::x`, with the line.
fn named_modules(text: &str) -> Vec<(usize, String)> {
    let mut named = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = code(line);
        for (at, _) in line.match_indices("crate::") {
            let word: String = line[at + "crate::".len()..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            named.push((number + 1, word));
        }
    }
    named
}

fn report(problems: Vec<String>) {
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn every_module_names_only_modules_below_it() {
    let mut problems = Vec::new();
    for (path, text) in files_below("src", "rs") {
        let module = module_of(&path).unwrap();
        if matches!(module, "lib" | "main") {
            continue;
        }
        let Some(layer) = layer_of(module) else {
            problems.push(format!("{path}: the module {module} is in no layer"));
            continue;
        };
        for (line, named) in named_modules(&text) {
            let Some(other) = layer_of(&named) else { continue };
            if named != module && other >= layer {
                problems.push(format!(
                    "{path}:{line}: {module} names {named}, which is not below it"
                ));
            }
        }
    }
    report(problems);
}

#[test]
fn queries_see_the_store_through_the_reader_only() {
    let mut problems = Vec::new();
    for (path, text) in files_below("src/query", "rs") {
        for (line, named) in named_modules(&text) {
            if layer_of(&named).is_some() && !QUERY_MAY_NAME.contains(&named.as_str()) {
                problems.push(format!("{path}:{line}: query names {named}"));
            }
        }
    }
    report(problems);
}

#[test]
fn reserved_words_stand_only_where_they_belong() {
    let mut problems = Vec::new();
    let is_test = |path: &str| path.ends_with("tests.rs") || path.contains("/tests/");
    for (path, text) in files_below("src", "rs")
        .into_iter()
        .filter(|(path, _)| !is_test(path))
    {
        for (number, line) in text.lines().enumerate() {
            let line = code(line);
            for (word, places) in RESERVED_WORDS {
                let says = line.match_indices(word).any(|(at, _)| {
                    let before = line[..at].chars().next_back().unwrap_or(' ');
                    let after = line[at + word.len()..].chars().next().unwrap_or(' ');
                    let inside = |c: char| c.is_alphanumeric() || c == '_';
                    !inside(before) && (!inside(after) || !word.chars().all(inside))
                });
                if says && !places.iter().any(|place| path.starts_with(place)) {
                    problems.push(format!("{path}:{}: says {word}", number + 1));
                }
            }
        }
    }
    report(problems);
}

/// First line, name and length of every function, by indentation (rustfmt keeps it honest).
fn functions(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let words = line.trim_start();
        let Some(at) = words.find("fn ") else { continue };
        let qualifiers = [
            "",
            "pub ",
            "pub(crate) ",
            "pub(super) ",
            "const ",
            "pub const ",
            "unsafe ",
        ];
        if !qualifiers.contains(&&words[..at]) || words.ends_with(';') {
            continue;
        }
        let name = words[at + 3..]
            .split(['(', '<'])
            .next()
            .unwrap_or_default()
            .to_string();
        let end_line = format!("{}}}", &line[..indent]);
        let end = (start..lines.len())
            .find(|number| lines[*number] == end_line)
            .unwrap_or(start);
        found.push((start + 1, name, end - start + 1));
    }
    found
}

#[test]
fn functions_files_and_lines_are_short() {
    let mut problems = Vec::new();
    for (path, text) in files_below("src", "rs") {
        let length = text.lines().count();
        if length > LONGEST_FILE {
            problems.push(format!("{path}: {length} lines"));
        }
        let library = text.split("#[cfg(test)]\nmod ").next().unwrap_or(&text);
        let checked = if path.ends_with("tests.rs") || path.contains("/tests/") {
            ""
        } else {
            library
        };
        for (line, name, length) in functions(checked) {
            if length > LONGEST_FUNCTION {
                problems.push(format!("{path}:{line}: {name} has {length} lines"));
            }
        }
        for (number, line) in text.lines().enumerate() {
            if line.chars().count() > LONGEST_LINE {
                problems.push(format!(
                    "{path}:{}: {} characters",
                    number + 1,
                    line.chars().count()
                ));
            }
        }
    }
    report(problems);
}

#[test]
fn no_module_has_a_name_that_says_nothing() {
    let named = |(path, _): (String, String)| {
        let banned = path
            .trim_end_matches(".rs")
            .split('/')
            .any(|part| BANNED_NAMES.contains(&part));
        banned.then_some(path)
    };
    report(files_below("src", "rs").into_iter().filter_map(named).collect());
}

#[test]
fn every_file_begins_with_a_sentence() {
    let silent = |(path, text): (String, String)| {
        let begins = text
            .lines()
            .next()
            .is_some_and(|line| line.starts_with("//! ") && line.len() > 8);
        (!begins).then_some(path)
    };
    report(files_below("src", "rs").into_iter().filter_map(silent).collect());
}

#[test]
fn every_source_file_is_part_of_the_tree() {
    let sources: BTreeMap<String, String> = files_below("src", "rs").into_iter().collect();
    let mut problems = Vec::new();
    for path in sources.keys() {
        let file = Path::new(path);
        let stem = file.file_stem().unwrap().to_string_lossy();
        if matches!(&*stem, "lib" | "main") {
            continue;
        }
        let folder = file.parent().unwrap();
        let (name, folder) = match &*stem {
            "mod" => (
                folder.file_name().unwrap().to_string_lossy().into_owned(),
                folder.parent().unwrap(),
            ),
            stem => (stem.to_string(), folder),
        };
        let parents = [
            folder.join("mod.rs"),
            folder.join("lib.rs"),
            folder.with_extension("rs"),
        ];
        let declares = |parent: &PathBuf| {
            let text = sources.get(&parent.to_string_lossy().into_owned());
            text.is_some_and(|text| {
                text.lines()
                    .any(|line| line.trim_end().ends_with(&format!("mod {name};")))
            })
        };
        if !parents.iter().any(declares) {
            problems.push(format!("{path}: declared nowhere"));
        }
    }
    report(problems);
}

/// The relative targets of links in a Markdown text.
fn link_targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for (at, _) in text.match_indices("](") {
        let target: String = text[at + 2..]
            .chars()
            .take_while(|c| *c != ')' && !c.is_whitespace())
            .collect();
        if !target.contains("://") && !target.starts_with('#') && !target.is_empty() {
            targets.push(target.split('#').next().unwrap_or_default().to_string());
        }
    }
    targets
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut problems = Vec::new();
    let mut documents = files_below("docs", "md");
    for name in ["README.md", "CHANGELOG.md"] {
        documents.extend(
            fs::read_to_string(root().join(name))
                .ok()
                .map(|text| (name.to_string(), text)),
        );
    }
    for (path, text) in documents {
        let folder = root().join(&path).parent().unwrap().to_path_buf();
        for target in link_targets(&text) {
            if !folder.join(&target).exists() {
                problems.push(format!("{path}: {target} does not exist"));
            }
        }
        if text.lines().filter(|line| line.starts_with("# ")).count() != 1 {
            problems.push(format!("{path}: a document has exactly one title"));
        }
    }
    report(problems);
}

#[test]
fn the_changelog_speaks_of_this_version() {
    let changelog = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let heading = format!("## {}", env!("CARGO_PKG_VERSION"));
    assert!(
        changelog.lines().any(|line| line.starts_with(&heading)),
        "no heading {heading}"
    );
}
