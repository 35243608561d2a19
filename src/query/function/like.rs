//! `like` and `ilike`: `%` stands for any text, `_` for one character.
//!
//! There is no escape character unless the query gives one. A pattern is compiled once; the common forms
//! (`abc`, `abc%`, `%abc`, `%abc%`) become one comparison of bytes, the rest is matched in time linear in the text
//! for each `%`, without recursion.

use crate::error::{QueryErrorCode, Result};
use crate::query::plan::{LikePart, LikePattern};

use super::arithmetic::failure;

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    form: Form,
    ignore_case: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Exact(Vec<u8>),
    Prefix(Vec<u8>),
    Suffix(Vec<u8>),
    Contains(Vec<u8>),
    General(Vec<Part>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Character(char),
    One,
    Any,
}

impl Pattern {
    /// Compiles `pattern`.
    pub fn new(pattern: &LikePattern, ignore_case: bool) -> Pattern {
        let mut parts = Vec::new();
        for part in &pattern.parts {
            match part {
                LikePart::Text(text) if ignore_case => {
                    parts.extend(text.to_lowercase().chars().map(Part::Character));
                }
                LikePart::Text(text) => parts.extend(text.chars().map(Part::Character)),
                LikePart::AnyCharacter => parts.push(Part::One),
                LikePart::AnyText => parts.push(Part::Any),
            }
        }
        Pattern {
            form: form(parts),
            ignore_case,
        }
    }

    /// Compiles a pattern computed by an expression.
    pub fn parse(pattern: &str, escape: Option<char>, ignore_case: bool) -> Result<Pattern> {
        match LikePattern::parse(pattern, escape) {
            Some(pattern) => Ok(Pattern::new(&pattern, ignore_case)),
            None => Err(failure(
                QueryErrorCode::InvalidValue,
                "the pattern of like ends with its escape character",
            )),
        }
    }

    /// Whether `text` (UTF-8) matches as a whole.
    pub fn matches(&self, text: &[u8]) -> bool {
        if self.ignore_case {
            let lower = String::from_utf8_lossy(text).to_lowercase();
            return self.form.matches(lower.as_bytes());
        }
        self.form.matches(text)
    }
}

fn form(parts: Vec<Part>) -> Form {
    let text = |parts: &[Part]| -> Option<Vec<u8>> {
        let text: Option<String> = parts
            .iter()
            .map(|part| match part {
                Part::Character(c) => Some(*c),
                Part::One | Part::Any => None,
            })
            .collect();
        text.map(String::into_bytes)
    };
    let simple = match parts.as_slice() {
        [Part::Any] => Some(Form::Prefix(Vec::new())),
        [Part::Any, middle @ .., Part::Any] => text(middle).map(Form::Contains),
        [Part::Any, end @ ..] => text(end).map(Form::Suffix),
        [start @ .., Part::Any] => text(start).map(Form::Prefix),
        all => text(all).map(Form::Exact),
    };
    simple.unwrap_or(Form::General(parts))
}

impl Form {
    fn matches(&self, text: &[u8]) -> bool {
        match self {
            Form::Exact(exact) => text == exact.as_slice(),
            Form::Prefix(prefix) => text.starts_with(prefix),
            Form::Suffix(suffix) => text.ends_with(suffix),
            Form::Contains(part) => contains(text, part),
            Form::General(parts) => general(parts, &String::from_utf8_lossy(text)),
        }
    }
}

/// Whether `part` occurs in `text`.
pub fn contains(text: &[u8], part: &[u8]) -> bool {
    let Some((first, _)) = part.split_first() else {
        return true;
    };
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        let candidate = rest.get(at..).unwrap_or_default();
        if candidate.starts_with(part) {
            return true;
        }
        rest = candidate.get(1..).unwrap_or_default();
    }
    false
}

/// Greedy matching that goes back to the last `%` only: what an earlier one took never needs to change.
fn general(parts: &[Part], text: &str) -> bool {
    let mut rest = text.chars();
    let mut at = 0;
    let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let before = rest.clone();
        match (parts.get(at), rest.next()) {
            (Some(Part::Any), _) => {
                rest = before;
                at = at.saturating_add(1);
                retry = Some((at, rest.clone()));
            }
            (Some(Part::One), Some(_)) => at = at.saturating_add(1),
            (Some(Part::Character(c)), Some(found)) if *c == found => at = at.saturating_add(1),
            (None, None) => return true,
            _ => {
                let Some((after, mut from)) = retry.take() else {
                    return false;
                };
                if from.next().is_none() {
                    return false;
                }
                at = after;
                rest = from.clone();
                retry = Some((after, from));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        Pattern::parse(pattern, None, false)
            .unwrap()
            .matches(text.as_bytes())
    }

    #[test]
    fn wildcards_match_text_and_single_characters() {
        for (text, pattern, expected) in [
            ("abc", "abc", true),
            ("abc", "ab", false),
            ("abc", "ab%", true),
            ("abc", "%bc", true),
            ("abc", "%b%", true),
            ("abc", "%", true),
            ("", "%", true),
            ("", "_", false),
            ("", "", true),
            ("abc", "a_c", true),
            ("äbc", "_bc", true),
            ("aXbXc", "a%b%c", true),
            ("aab", "%ab", true),
            ("mississippi", "m%iss%p_", true),
            ("mississippi", "m%iss%x", false),
            ("a\\b", "a\\b", true),
            ("a%", "a\\%", false),
            ("abab", "%a_", true),
        ] {
            assert_eq!(like(text, pattern), expected, "{text:?} like {pattern:?}");
        }
    }

    #[test]
    fn an_escape_character_counts_only_when_given() {
        let pattern = Pattern::parse("100!%", Some('!'), false).unwrap();
        assert!(pattern.matches(b"100%"));
        assert!(!pattern.matches(b"1000"));
        assert!(Pattern::parse("abc!", Some('!'), false).is_err());
    }

    #[test]
    fn case_is_ignored_beyond_ascii() {
        let pattern = Pattern::parse("ÄB%", None, true).unwrap();
        assert!(pattern.matches("äbc".as_bytes()));
    }

    #[test]
    fn many_wildcards_do_not_take_exponential_time() {
        let text = "a".repeat(5_000);
        let pattern = format!("{}b", "%a".repeat(30));
        assert!(!like(&text, &pattern));
    }
}
