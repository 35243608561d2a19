//! One value as the text of a table cell or a CSV field.

use crate::object::{Oid, Value};

/// Makes text of an object: `Person#42`.
pub type Name<'a> = &'a dyn Fn(Oid) -> String;

/// A value as people read it: text bare at the top, everything else as OQL writes it, nil as nothing.
pub fn text(value: &Value, name: Name<'_>) -> String {
    match value {
        Value::Nil => String::new(),
        Value::String(text) => text.to_string(),
        Value::Date(_) | Value::Time(_) | Value::Timestamp(_) | Value::Duration(_) | Value::Uuid(_) => {
            bare_literal(&value.to_string())
        }
        Value::Bytes(bytes) => hex(bytes),
        other => other.display_with(name).to_string(),
    }
}

/// `2026-11-30` of `date '2026-11-30'`.
pub fn bare_literal(literal: &str) -> String {
    let quoted = literal
        .split_once('\'')
        .and_then(|(_, rest)| rest.strip_suffix('\''));
    quoted.unwrap_or(literal).to_string()
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text that cannot move the cursor or colour the terminal: control characters are shown as escapes.
pub fn harmless(text: &str) -> String {
    if !text.chars().any(is_harmful) {
        return text.to_string();
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            harmful if is_harmful(harmful) => shown.extend(harmful.escape_unicode()),
            other => shown.push(other),
        }
    }
    shown
}

/// Control characters, and the marks that turn the direction of text.
fn is_harmful(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_escapes() {
        assert_eq!(harmless("a\x1b[31mb\n\u{202e}c"), "a\\u{1b}[31mb\\n\\u{202e}c");
    }

    #[test]
    fn literals_lose_their_type_word_and_quotes() {
        assert_eq!(bare_literal("date '2026-11-30'"), "2026-11-30");
    }
}
