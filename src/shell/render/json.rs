//! One line of JSON a statement.
//!
//! A query gives `{"columns":[..],"rows":[[..],..]}`, a change `{"affected":n}` (with `returning` also columns and
//! rows), an error `{"error":{"code":..,"message":..,"line":..,"column":..}}`. Ints are exact numbers; NaN and the
//! infinities are strings, as are decimals, dates, times and objects (`"Person#42"`); bytes are hexadecimal digits;
//! lists, sets and bags are arrays; structs are objects, and so are maps whose keys are all text (other maps are arrays
//! of pairs).

use std::io::{self, Write};

use serde_json::{Map, Number, Value as Json, json};

use super::cell::{Name, bare_literal, hex};
use super::outcome::WriteError;
use crate::error::Error;
use crate::object::Value;
use crate::session::Answer;

/// Answer are held back up to this many bytes, so that an error among them is a line of its own.
const HELD_BACK: usize = 4 << 20;

/// Writes rows as one line. An error after the held-back part ends the line with an `error` beside the rows so far, so
/// that it is JSON all the same.
pub fn write(
    rows: Answer,
    affected: Option<u64>,
    name: Name<'_>,
    output: &mut dyn Write,
) -> Result<(), WriteError> {
    let mut held = Vec::new();
    let mut started = false;
    held.push(b'{');
    if let Some(affected) = affected {
        write!(held, "\"affected\":{affected},")?;
    }
    let columns: Vec<&str> = rows.labels().iter().map(|label| &**label).collect();
    write!(held, "\"columns\":{},\"rows\":[", json!(columns))?;
    let mut first = true;
    for row in rows {
        let row = match row {
            Ok(row) => row,
            Err(error) if started => return end_in_error(&error, &held, output),
            Err(error) => return Err(error.into()),
        };
        if !std::mem::replace(&mut first, false) {
            held.push(b',');
        }
        let cells: Vec<Json> = row
            .values()
            .iter()
            .map(|value| value_to_json(value, name))
            .collect();
        serde_json::to_writer(&mut held, &cells).map_err(io::Error::from)?;
        if held.len() >= HELD_BACK {
            output.write_all(&held)?;
            held.clear();
            started = true;
        }
    }
    held.extend_from_slice(b"]}\n");
    output.write_all(&held)?;
    Ok(())
}

fn end_in_error(error: &Error, held: &[u8], output: &mut dyn Write) -> Result<(), WriteError> {
    output.write_all(held)?;
    writeln!(output, "],\"error\":{}}}", error_to_json(error))?;
    Err(WriteError::Output(io::Error::other(error.to_string())))
}

/// Writes the count of a change.
pub fn affected(count: u64, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "{{\"affected\":{count}}}")
}

/// Writes a value as a line of its own.
pub fn value(value: &Value, name: Name<'_>, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "{}", value_to_json(value, name))
}

/// Writes an error as a line of its own.
pub fn error(error: &Error, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "{}", json!({ "error": error_to_json(error) }))
}

fn error_to_json(error: &Error) -> Json {
    let mut fields = Map::new();
    fields.insert("code".into(), json!(error.code()));
    fields.insert("message".into(), json!(error.to_string()));
    if let Error::Query(error) = error
        && let Some((line, column)) = error.position
    {
        fields.insert("line".into(), json!(line));
        fields.insert("column".into(), json!(column));
    }
    Json::Object(fields)
}

/// A value as JSON.
pub fn value_to_json(value: &Value, name: Name<'_>) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Float(value) => Number::from_f64(*value).map_or_else(|| json!(special(*value)), Json::Number),
        Value::Decimal(value) => json!(value.to_string()),
        Value::String(value) => json!(&**value),
        Value::Bytes(value) => json!(hex(value)),
        Value::Reference(oid) => json!(name(*oid)),
        Value::List(members) | Value::Set(members) | Value::Bag(members) => {
            Json::Array(members.iter().map(|member| value_to_json(member, name)).collect())
        }
        Value::Map(entries) => map_to_json(entries, name),
        Value::Struct(fields) => {
            let field = |(label, value): &(std::sync::Arc<str>, Value)| {
                (label.to_string(), value_to_json(value, name))
            };
            Json::Object(fields.iter().map(field).collect())
        }
        Value::Date(_) | Value::Time(_) | Value::Timestamp(_) | Value::Duration(_) | Value::Uuid(_) => {
            json!(bare_literal(&value.to_string()))
        }
    }
}

fn map_to_json(entries: &[(Value, Value)], name: Name<'_>) -> Json {
    let text_key =
        |(key, value): &(Value, Value)| Some((key.as_str()?.to_string(), value_to_json(value, name)));
    match entries.iter().map(text_key).collect::<Option<Map<_, _>>>() {
        Some(object) => Json::Object(object),
        None => {
            let pair =
                |(key, value): &(Value, Value)| json!([value_to_json(key, name), value_to_json(value, name)]);
            Json::Array(entries.iter().map(pair).collect())
        }
    }
}

fn special(value: f64) -> &'static str {
    if value.is_nan() {
        "nan"
    } else if value > 0.0 {
        "inf"
    } else {
        "-inf"
    }
}
