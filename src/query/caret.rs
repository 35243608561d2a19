//! The place of an error, drawn under the line it is in.

use crate::error::{QueryError, Span};

/// The most columns that are shown of a line.
const WIDTH: usize = 100;

/// How many columns are kept to the left of the place in a line that is cut.
const LEFT: usize = 40;

/// The line of `text` that `error` is about, and below it carets under the place.
///
/// A long line is cut around the place; tabs and control characters are shown as blanks, and wide characters are
/// taken for two columns, so that the carets stand where they should in a terminal. Ends without a line break.
pub fn caret(text: &str, error: &QueryError) -> String {
    let span = clamp(text, error.span);
    let before = text.get(..span.start).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text
        .get(line_start..)
        .and_then(|rest| rest.lines().next())
        .unwrap_or_default();
    let (start, end) = (span.start - line_start, (span.end - line_start).min(line.len()));
    draw(line, start.min(line.len()), end)
}

fn clamp(text: &str, span: Span) -> Span {
    let boundary = |at: usize| {
        (0..=at.min(text.len()))
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0)
    };
    let start = boundary(span.start);
    Span::new(start, boundary(span.end).max(start))
}

fn draw(line: &str, start: usize, end: usize) -> String {
    let (mut shown, mut padding, mut marks) = (String::new(), 0, 0);
    let left = columns(line.get(..start).unwrap_or_default());
    let first = if left + columns(line.get(start..end).unwrap_or_default()) > WIDTH {
        left.saturating_sub(LEFT)
    } else {
        0
    };
    if first > 0 {
        shown.push_str("..");
        padding += 2;
    }
    let mut column = 0;
    for (at, character) in line.char_indices() {
        let width = width(character);
        column += width;
        if column <= first {
            continue;
        }
        if column > first + WIDTH {
            shown.push_str("..");
            break;
        }
        shown.push(if character.is_control() { ' ' } else { character });
        if at < start {
            padding += width;
        } else if at < end {
            marks += width;
        }
    }
    format!(
        "{}\n{}{}",
        shown.trim_end(),
        " ".repeat(padding),
        "^".repeat(marks.max(1))
    )
}

fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// How many columns a terminal gives a character.
fn width(character: char) -> usize {
    const NONE: [(u32, u32); 6] = [
        (0x0300, 0x036f),
        (0x1ab0, 0x1aff),
        (0x200b, 0x200f),
        (0x20d0, 0x20ff),
        (0xfe00, 0xfe0f),
        (0xfe20, 0xfe2f),
    ];
    const WIDE: [(u32, u32); 9] = [
        (0x1100, 0x115f),
        (0x2e80, 0x303e),
        (0x3041, 0xa4cf),
        (0xac00, 0xd7a3),
        (0xf900, 0xfaff),
        (0xfe30, 0xfe6f),
        (0xff00, 0xff60),
        (0x1f300, 0x1faff),
        (0x20000, 0x3fffd),
    ];
    let code = u32::from(character);
    let within = |ranges: &[(u32, u32)]| ranges.iter().any(|(low, high)| (*low..=*high).contains(&code));
    if within(&NONE) {
        0
    } else if within(&WIDE) {
        2
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::QueryErrorCode;

    fn drawn(text: &str, start: usize, end: usize) -> String {
        caret(
            text,
            &QueryError::new(QueryErrorCode::Syntax, Span::new(start, end), "x"),
        )
    }

    #[test]
    fn stands_under_the_word_of_its_line() {
        assert_eq!(drawn("select 1\nfrom x;\nselect 2", 14, 15), "from x;\n     ^");
        assert_eq!(drawn("abc", 3, 3), "abc\n   ^");
        assert_eq!(drawn("", 0, 0), "\n^");
        assert_eq!(drawn("ab\r\ncd", 4, 6), "cd\n^^");
    }

    #[test]
    fn counts_columns_of_tabs_wide_and_combining_characters() {
        assert_eq!(drawn("\tab", 1, 3), " ab\n ^^");
        assert_eq!(drawn("'日本' x", 9, 10), "'日本' x\n       ^");
        assert_eq!(drawn("e\u{301} x", 4, 5), "e\u{301} x\n  ^");
    }

    #[test]
    fn cuts_long_lines_around_the_place_and_stays_in_the_text() {
        let long = format!("{}here{}", "a".repeat(500), "b".repeat(500));
        let text = drawn(&long, 500, 504);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].len() <= WIDTH + 4 && lines[0].contains("here"));
        assert_eq!(lines[0].find("here"), lines[1].find('^'));
        assert_eq!(drawn("日", 1, 9_999), "日\n^^");
    }
}
