//! Scalars from text: dates, times, instants, lengths of time, decimals and identifiers.
//!
//! Each function takes the text between the quotes of a literal, and gives a sentence on failure.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::time::{Date, Duration, Time, Timestamp};

/// A date: `2026-11-30`; years -9999 to 9999.
pub fn parse_date(text: &str) -> Result<Date, String> {
    todo!()
}

/// A time of day: `18:05`, `18:05:30`, `18:05:30.25`.
pub fn parse_time(text: &str) -> Result<Time, String> {
    todo!()
}

/// An instant: a date, `T` or a blank, a time, and an offset (`Z`, `+02:00`); without an offset it is UTC.
pub fn parse_timestamp(text: &str) -> Result<Timestamp, String> {
    todo!()
}

/// A length of time: ISO 8601 (`PT1H30M`) or with units (`1h 30m`).
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    todo!()
}

/// A decimal number of up to 28 digits, without the literal's `d`.
pub fn parse_decimal(text: &str) -> Result<Decimal, String> {
    todo!()
}

/// A 128-bit identifier in any of its usual forms.
pub fn parse_uuid(text: &str) -> Result<Uuid, String> {
    todo!()
}
