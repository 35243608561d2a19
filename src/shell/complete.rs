//! Help while typing: completion of words the database knows, and when a statement goes on in the next line.

use std::sync::{Arc, Mutex, PoisonError};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use crate::query::{RESERVED, needs_more};

/// Words the shell offers: keywords, and the names of the schema, renewed after each statement.
#[derive(Debug, Clone, Default)]
pub struct Words {
    words: Arc<Mutex<Vec<String>>>,
}

impl Words {
    /// Replaces the names of the schema.
    pub fn set(&self, names: impl IntoIterator<Item = String>) {
        let mut words: Vec<String> = RESERVED
            .iter()
            .chain(STATEMENT_WORDS)
            .map(ToString::to_string)
            .collect();
        words.extend(names);
        words.sort_unstable();
        words.dedup();
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    fn starting_with(&self, prefix: &str) -> Vec<String> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words
            .iter()
            .filter(|word| word.starts_with(prefix) && *word != prefix)
            .cloned()
            .collect()
    }
}

/// Words that open statements, which are not reserved.
const STATEMENT_WORDS: &[&str] = &[
    "alter", "begin", "commit", "create", "class", "delete", "describe", "drop", "explain", "index",
    "insert", "into", "limit", "name", "offset", "rollback", "set", "show", "unique", "unname", "update",
    "values",
];

/// What rustyline asks while a line is typed.
#[derive(Debug, Default)]
pub struct Assistant {
    /// The words to offer.
    pub words: Words,
}

impl Helper for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let is_command = text.trim_start().starts_with('\\') || text.trim().is_empty();
        if is_command || !needs_more(text) {
            Ok(ValidationResult::Valid(None))
        } else {
            Ok(ValidationResult::Incomplete)
        }
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> Result<(usize, Vec<String>), ReadlineError> {
        let before = line.get(..position).unwrap_or(line);
        let start = word_start(before);
        let prefix = before.get(start..).unwrap_or_default();
        if prefix.is_empty() {
            return Ok((position, Vec::new()));
        }
        Ok((start, self.words.starting_with(prefix)))
    }
}

/// Where the word begins that ends at the end of `before`.
fn word_start(before: &str) -> usize {
    let part_of_word = |character: char| character.is_alphanumeric() || character == '_';
    before
        .char_indices()
        .rev()
        .find(|(_, character)| !part_of_word(*character))
        .map_or(0, |(at, other)| at.saturating_add(other.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_after_any_letter_that_is_not_theirs() {
        assert_eq!(word_start("select é"), 7);
        assert_eq!(word_start("p.na"), 2);
        assert_eq!(word_start(""), 0);
    }

    #[test]
    fn names_and_keywords_are_offered() {
        let words = Words::default();
        words.set(["Person".to_string()]);
        assert_eq!(words.starting_with("Per"), ["Person"]);
        assert!(words.starting_with("sel").contains(&"select".to_string()));
    }
}
