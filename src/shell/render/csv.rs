//! Comma-separated values: a header line, then a line a row; nil is an empty field.

use std::io::Write;

use super::cell::{Name, text};
use super::outcome::WriteError;
use crate::session::Answer;

/// Writes rows under a header.
pub fn write(rows: Answer, name: Name<'_>, output: &mut dyn Write) -> Result<(), WriteError> {
    let mut writer = csv::Writer::from_writer(output);
    writer
        .write_record(rows.labels().iter().map(|label| label.as_bytes()))
        .map_err(output_error)?;
    for row in rows {
        let row = row?;
        let fields = row.values().iter().map(|value| text(value, name));
        writer.write_record(fields).map_err(output_error)?;
    }
    writer.flush()?;
    Ok(())
}

fn output_error(error: csv::Error) -> WriteError {
    WriteError::Output(match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    })
}
