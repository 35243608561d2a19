//! The pattern of `like`, taken apart once.

use std::fmt;

/// A pattern of `like` or `ilike`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikePattern {
    /// Its parts in order; no two texts and no two `AnyText` are neighbours.
    pub parts: Vec<LikePart>,
}

/// A part of a [`LikePattern`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LikePart {
    /// Exactly this text (never empty).
    Text(String),
    /// `_`: exactly one character.
    AnyCharacter,
    /// `%`: any text, also none.
    AnyText,
}

impl LikePattern {
    /// Takes `pattern` apart. After `escape` a character stands for itself; there is no escape character unless one
    /// is given. `None` if the pattern ends in a lone escape character.
    pub fn parse(pattern: &str, escape: Option<char>) -> Option<LikePattern> {
        let mut parts = Vec::new();
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            if Some(character) == escape {
                push_text(&mut parts, characters.next()?);
            } else if character == '%' {
                if parts.last() != Some(&LikePart::AnyText) {
                    parts.push(LikePart::AnyText);
                }
            } else if character == '_' {
                parts.push(LikePart::AnyCharacter);
            } else {
                push_text(&mut parts, character);
            }
        }
        Some(LikePattern { parts })
    }

    /// The text every match begins with, if the pattern begins with one.
    pub fn prefix(&self) -> Option<&str> {
        match self.parts.first() {
            Some(LikePart::Text(text)) => Some(text),
            _ => None,
        }
    }
}

fn push_text(parts: &mut Vec<LikePart>, character: char) {
    match parts.last_mut() {
        Some(LikePart::Text(text)) => text.push(character),
        _ => parts.push(LikePart::Text(character.to_string())),
    }
}

impl fmt::Display for LikePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("'")?;
        let mut escaped = false;
        for part in &self.parts {
            match part {
                LikePart::AnyText => f.write_str("%")?,
                LikePart::AnyCharacter => f.write_str("_")?,
                LikePart::Text(text) => {
                    for character in text.chars() {
                        match character {
                            '%' | '_' | '!' => {
                                escaped = true;
                                write!(f, "!{character}")?;
                            }
                            '\'' => f.write_str("''")?,
                            other => write!(f, "{other}")?,
                        }
                    }
                }
            }
        }
        f.write_str(if escaped { "' escape '!'" } else { "'" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_taken_apart_and_printed_back() {
        let pattern = LikePattern::parse("ab%%_c", None).unwrap();
        assert_eq!(
            pattern.parts,
            [
                LikePart::Text("ab".into()),
                LikePart::AnyText,
                LikePart::AnyCharacter,
                LikePart::Text("c".into())
            ]
        );
        assert_eq!(pattern.to_string(), "'ab%_c'");
        assert_eq!(pattern.prefix(), Some("ab"));
    }

    #[test]
    fn an_escaped_wildcard_is_text_and_a_lone_escape_is_refused() {
        let pattern = LikePattern::parse("5\\%", Some('\\')).unwrap();
        assert_eq!(pattern.parts, [LikePart::Text("5%".into())]);
        assert_eq!(pattern.to_string(), "'5!%' escape '!'");
        assert_eq!(LikePattern::parse("5\\", Some('\\')), None);
    }
}
