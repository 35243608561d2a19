//! `set` and `show settings`.

use std::time::Duration;

use super::answer::{Answer, Outcome};
use super::runner::Session;
use crate::error::{QueryError, QueryErrorCode, Result};
use crate::object::Value;
use crate::query::ast::{Expr, ExprKind, Name};
use crate::query::{Parameters, nearest};

/// The settings, with what each is for.
const SETTINGS: [(&str, &str); 4] = [
    (
        "optimizer",
        "on or off: whether plans are optimized; answers are the same",
    ),
    (
        "indexes",
        "on or off: whether plans may use indexes; answers are the same",
    ),
    ("timeout", "a duration or a number of milliseconds; nil for none"),
    (
        "memory",
        "bytes a query may hold, at least 65536; nil for the database's limit",
    ),
];

/// The least memory that can be set.
const LEAST_MEMORY: i64 = 64 << 10;

impl Session {
    /// Runs `set`.
    pub(super) fn set(&mut self, option: &Name, value: &Expr, parameters: &Parameters) -> Result<Outcome> {
        let Some((name, meaning)) = SETTINGS
            .iter()
            .find(|(name, _)| option.text.eq_ignore_ascii_case(name))
        else {
            return Err(unknown(option).into());
        };
        let given = match &value.kind {
            ExprKind::Name(word) => Value::String(word.text.clone()),
            _ => self.constant(value, parameters)?,
        };
        let refused = || {
            let message = format!("{name} is {meaning}, not {given}");
            QueryError::new(QueryErrorCode::InvalidValue, value.span, message)
        };
        match *name {
            "optimizer" => self.settings.optimizer = on_or_off(&given).ok_or_else(refused)?,
            "indexes" => self.settings.indexes = on_or_off(&given).ok_or_else(refused)?,
            "timeout" => self.settings.timeout = timeout(&given).ok_or_else(refused)?,
            _ => self.settings.memory = memory(&given).ok_or_else(refused)?,
        }
        Ok(Outcome::Done(match given {
            Value::String(word) => format!("{name} set to {word}"),
            other => format!("{name} set to {other}"),
        }))
    }

    /// The value of an expression that no row gives a meaning to.
    pub(super) fn constant(&self, value: &Expr, parameters: &Parameters) -> Result<Value> {
        let engine = self.database.instance().engine().clone();
        engine.value(value, self.reader(), parameters, &self.run_options())
    }

    /// The settings, with what each is for.
    pub(super) fn show_settings(&self) -> Answer {
        let on = |on: bool| Value::from(if on { "on" } else { "off" });
        let settings = &self.settings;
        let value = |name: &str| match name {
            "optimizer" => on(settings.optimizer),
            "indexes" => on(settings.indexes),
            "timeout" => settings.timeout.map_or(Value::Nil, |timeout| {
                Value::Int(i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX))
            }),
            _ => settings.memory.map_or(Value::Nil, |bytes| {
                Value::Int(i64::try_from(bytes).unwrap_or(i64::MAX))
            }),
        };
        let row =
            |(name, meaning): &(&str, &str)| vec![Value::from(*name), value(name), Value::from(*meaning)];
        Answer::held(
            ["setting", "value", "meaning"].map(Into::into),
            SETTINGS.iter().map(row).collect(),
        )
    }
}

fn unknown(option: &Name) -> QueryError {
    let message = format!("there is no setting {}", option.text);
    let error = QueryError::new(QueryErrorCode::UnknownName, option.span, message);
    let names = SETTINGS.map(|(name, _)| name);
    match nearest(&option.text, names) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint(format!("there are {}", names.join(", "))),
    }
}

fn on_or_off(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(on) => Some(*on),
        Value::String(word) if word.eq_ignore_ascii_case("on") => Some(true),
        Value::String(word) if word.eq_ignore_ascii_case("off") => Some(false),
        _ => None,
    }
}

/// A time limit; an inner `None` is none.
fn timeout(value: &Value) -> Option<Option<Duration>> {
    match value {
        Value::Nil => Some(None),
        Value::Int(milliseconds) => {
            let milliseconds = u64::try_from(*milliseconds).ok()?;
            Some(Some(Duration::from_millis(milliseconds)))
        }
        Value::Duration(duration) => {
            let micros = u64::try_from(duration.0).ok()?;
            Some(Some(Duration::from_micros(micros)))
        }
        _ => None,
    }
}

/// A memory limit; an inner `None` is the database's.
fn memory(value: &Value) -> Option<Option<usize>> {
    match value {
        Value::Nil => Some(None),
        Value::Int(bytes) if *bytes >= LEAST_MEMORY => usize::try_from(*bytes).ok().map(Some),
        _ => None,
    }
}
