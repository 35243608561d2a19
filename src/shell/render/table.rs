//! Aligned columns for people.
//!
//! Widths come from the first rows; later rows stream, and what is wider than its column pushes the rest of its row to
//! the right rather than being cut.

use std::io::Write;

use unicode_width::UnicodeWidthStr;

use super::cell::{Name, harmless, text};
use super::outcome::WriteError;
use crate::object::Value;
use crate::query::Row;
use crate::session::Answer;

/// Answer that widths are taken from.
const SAMPLE: usize = 1_000;

/// Writes rows under their labels, and how many there were.
pub fn write(mut rows: Answer, name: Name<'_>, output: &mut dyn Write) -> Result<(), WriteError> {
    let labels: Vec<String> = rows.labels().iter().map(|label| harmless(label)).collect();
    let mut sample: Vec<Vec<Cell>> = Vec::new();
    let mut failure = None;
    for row in rows.by_ref().take(SAMPLE) {
        match row {
            Ok(row) => sample.push(cells(&row, name)),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    if let Some(error) = failure {
        return Err(error.into());
    }
    let widths = widths(&labels, &sample);
    write_heading(&labels, &widths, output)?;
    for row in &sample {
        write_row(row, &widths, output)?;
    }
    let mut count = sample.len() as u64;
    for row in rows {
        write_row(&cells(&row?, name), &widths, output)?;
        count = count.saturating_add(1);
    }
    writeln!(output, "({count} {})", if count == 1 { "row" } else { "rows" })?;
    Ok(())
}

struct Cell {
    text: String,
    is_number: bool,
}

fn cells(row: &Row, name: Name<'_>) -> Vec<Cell> {
    let cell = |value: &Value| {
        let is_number = matches!(value, Value::Int(_) | Value::Float(_) | Value::Decimal(_));
        Cell {
            text: harmless(&text(value, name)),
            is_number,
        }
    };
    row.values().iter().map(cell).collect()
}

fn widths(labels: &[String], rows: &[Vec<Cell>]) -> Vec<usize> {
    let mut widths: Vec<usize> = labels.iter().map(|label| label.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.width());
        }
    }
    widths
}

fn write_heading(labels: &[String], widths: &[usize], output: &mut dyn Write) -> Result<(), WriteError> {
    let cells: Vec<Cell> = labels
        .iter()
        .map(|label| Cell {
            text: label.clone(),
            is_number: false,
        })
        .collect();
    write_row(&cells, widths, output)?;
    let rules: Vec<String> = widths
        .iter()
        .map(|width| "-".repeat(width.saturating_add(2)))
        .collect();
    writeln!(output, "{}", rules.join("+"))?;
    Ok(())
}

fn write_row(cells: &[Cell], widths: &[usize], output: &mut dyn Write) -> Result<(), WriteError> {
    let mut line = String::new();
    for (position, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if position > 0 {
            line.push('|');
        }
        let gap = " ".repeat(width.saturating_sub(cell.text.width()));
        let (left, right) = if cell.is_number {
            (gap.as_str(), "")
        } else {
            ("", gap.as_str())
        };
        line.push(' ');
        line.push_str(left);
        line.push_str(&cell.text);
        line.push_str(right);
        line.push(' ');
    }
    writeln!(output, "{}", line.trim_end())?;
    Ok(())
}
