//! Scalars from text: dates, times, instants, lengths of time, decimals and identifiers.
//!
//! Each function takes the text between the quotes of a literal, and gives a sentence on failure. Fractions of a
//! second may have nine digits and are rounded to the microsecond. A leap second (`23:59:60`) is refused.

use jiff::fmt::temporal::Pieces;
use jiff::{SignedDuration, Span, civil};
use rust_decimal::Decimal;
use uuid::Uuid;

use super::time::{DAY, Date, Duration, SECOND, Time, Timestamp};

/// A date: `2026-11-30`; years -9999 to 9999, negative ones and year 0 as `-000044`.
pub fn parse_date(text: &str) -> Result<Date, String> {
    let text = text.trim();
    if text.chars().skip(1).any(|c| !c.is_ascii_digit() && c != '-') {
        return Err(refusal(text, "date", "as 2026-11-30", ""));
    }
    text.parse::<civil::Date>()
        .map(Date::from_civil)
        .map_err(|reason| refusal(text, "date", "as 2026-11-30", reason))
}

/// A time of day: `18:05`, `18:05:30`, `18:05:30.25`.
pub fn parse_time(text: &str) -> Result<Time, String> {
    let text = text.trim();
    let example = "as 18:05 or 18:05:30.25";
    if text.chars().any(|c| !c.is_ascii_digit() && c != ':' && c != '.') {
        return Err(refusal(text, "time", example, ""));
    }
    refuse_leap_second(text).map_err(|reason| refusal(text, "time", example, reason))?;
    let time: civil::Time = text
        .parse()
        .map_err(|reason| refusal(text, "time", example, reason))?;
    let microseconds = microseconds_of(time);
    Some(Time(microseconds))
        .filter(|time| time.is_valid())
        .ok_or_else(|| refusal(text, "time", example, "it rounds to midnight of the next day"))
}

/// Seconds are counted without leap seconds, so the sixtieth of a minute is none that can be kept.
fn refuse_leap_second(time: &str) -> Result<(), &'static str> {
    match time.split(':').nth(2) {
        Some(seconds) if seconds.starts_with("60") => Err("a leap second cannot be kept: write it as :59"),
        _ => Ok(()),
    }
}

/// An instant: a date, `T` or a blank, a time, and an offset (`Z`, `+02:00`, `-12:00:30`); without an offset it is
/// UTC, without a time midnight.
pub fn parse_timestamp(text: &str) -> Result<Timestamp, String> {
    let text = text.trim();
    let example = "as 2026-11-30T18:05:30Z or 2026-11-30 18:05+02:00";
    let time = text.split(['T', 't', ' ']).nth(1).unwrap_or_default();
    refuse_leap_second(time).map_err(|reason| refusal(text, "timestamp", example, reason))?;
    let pieces = Pieces::parse(text).map_err(|reason| refusal(text, "timestamp", example, reason))?;
    if pieces.time_zone_annotation().is_some() {
        let reason = "names of time zones are not known, only offsets";
        return Err(refusal(text, "timestamp", example, reason));
    }
    let time = pieces.time().map_or(0, microseconds_of);
    let offset = pieces
        .to_numeric_offset()
        .map_or(0, |offset| i64::from(offset.seconds()));
    let instant = i64::from(Date::from_civil(pieces.date()).0) * DAY + time - offset * SECOND;
    Some(Timestamp(instant))
        .filter(|instant| instant.is_valid())
        .ok_or_else(|| {
            refusal(
                text,
                "timestamp",
                example,
                "in UTC it lies outside the years -9999 to 9999",
            )
        })
}

/// A length of time: ISO 8601 (`PT1H30M`, `P2DT12H`) or with units (`1h 30m`, `2 days`). A day is 24 hours; months
/// and years have no fixed length and are refused.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let example = "as PT1H30M or 1h 30m";
    let nanoseconds = match text.parse::<SignedDuration>() {
        Ok(duration) => duration.as_nanos(),
        Err(_) => {
            let span: Span = text
                .parse()
                .map_err(|reason| refusal(text, "duration", example, reason))?;
            if span.get_years() != 0 || span.get_months() != 0 {
                let reason = "months and years have no fixed length";
                return Err(refusal(text, "duration", example, reason));
            }
            span_nanoseconds(&span)
        }
    };
    i64::try_from(round_to_microseconds(nanoseconds))
        .map(Duration)
        .map_err(|_| refusal(text, "duration", example, "it is longer than 292,000 years"))
}

/// Nanoseconds of a span without months and years.
fn span_nanoseconds(span: &Span) -> i128 {
    let seconds = (i128::from(span.get_weeks()) * 7 + i128::from(span.get_days())) * 86_400
        + i128::from(span.get_hours()) * 3600
        + i128::from(span.get_minutes()) * 60
        + i128::from(span.get_seconds());
    let milliseconds = seconds * 1000 + i128::from(span.get_milliseconds());
    let microseconds = milliseconds * 1000 + i128::from(span.get_microseconds());
    microseconds * 1000 + i128::from(span.get_nanoseconds())
}

fn round_to_microseconds(nanoseconds: i128) -> i128 {
    (nanoseconds + 500).div_euclid(1000)
}

/// Microseconds since midnight, rounded.
fn microseconds_of(time: civil::Time) -> i64 {
    let seconds = (i64::from(time.hour()) * 60 + i64::from(time.minute())) * 60 + i64::from(time.second());
    seconds * SECOND + (i64::from(time.subsec_nanosecond()) + 500) / 1000
}

/// A decimal number of up to 28 digits, without the literal's `d`; also with an exponent (`1.5e3`).
pub fn parse_decimal(text: &str) -> Result<Decimal, String> {
    let text = text.trim();
    let parsed = if text.contains(['e', 'E']) {
        Decimal::from_scientific(text)
    } else {
        Decimal::from_str_exact(text)
    };
    parsed.map_err(|_| refusal(text, "decimal", "as 12.50", "it has up to 28 digits"))
}

/// A 128-bit identifier, with or without hyphens.
pub fn parse_uuid(text: &str) -> Result<Uuid, String> {
    let text = text.trim();
    Uuid::try_parse(text).map_err(|reason| {
        let example = "as 67e55044-10b1-426f-9247-bb680e5fe0c8";
        refusal(text, "uuid", example, reason)
    })
}

/// What was found, what was expected, and why it is not that.
fn refusal(text: &str, what: &str, example: &str, reason: impl ToString) -> String {
    let reason = reason.to_string();
    let shown: String = text.chars().take(60).collect();
    if reason.is_empty() {
        format!("'{shown}' is no {what} (expected {example})")
    } else {
        format!("'{shown}' is no {what} (expected {example}): {reason}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(text: &str) -> String {
        parse_timestamp(text).map_or_else(|reason| format!("! {reason}"), |instant| instant.to_string())
    }

    #[test]
    fn instants_honour_any_offset() {
        for (text, expected) in [
            ("2026-11-30T18:05:30Z", "2026-11-30T18:05:30Z"),
            ("2026-11-30 18:05+02:00", "2026-11-30T16:05:00Z"),
            ("2026-11-30T18:05:30.1234567-12:00", "2026-12-01T06:05:30.123457Z"),
            ("2026-11-30T18:05:30+14:00", "2026-11-30T04:05:30Z"),
            ("1890-01-01T00:00:00-00:44:30", "1890-01-01T00:44:30Z"),
            ("2026-11-30T18:05", "2026-11-30T18:05:00Z"),
            ("2026-11-30", "2026-11-30T00:00:00Z"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
            ("-009999-01-01T00:00:00Z", "-009999-01-01T00:00:00Z"),
            ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00Z"),
        ] {
            assert_eq!(timestamp(text), expected, "{text}");
        }
        for text in [
            "2026-11-30T18:05:30+00:60",
            "9999-12-31T23:59:59.9999999Z",
            "9999-12-31T23:59:59-01:00",
            "10000-01-01T00:00:00Z",
            "2026-11-30T24:00:00Z",
            "2026-11-30T18:05:30.1234567891Z",
            "2023-02-29T00:00:00Z",
            "2026-11-30T18:05:30[Europe/Berlin]",
            "yesterday",
            "",
        ] {
            assert!(timestamp(text).starts_with('!'), "{text}: {}", timestamp(text));
        }
    }

    #[test]
    fn dates_follow_the_calendar() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("2000-02-29", 11_016),
            ("9999-12-31", Date::MAX.0),
            ("-009999-01-01", Date::MIN.0),
        ] {
            let date = parse_date(text).unwrap();
            assert_eq!((date.0, date.to_string().as_str()), (days, text));
        }
        for text in [
            "1900-02-29",
            "2023-02-29",
            "10000-01-01",
            "2026-13-01",
            "2026-11-30T10:00",
            "x",
            "",
        ] {
            assert!(parse_date(text).is_err(), "{text}");
        }
        assert!(
            parse_date("2023-02-29")
                .unwrap_err()
                .starts_with("'2023-02-29' is no date")
        );
        assert_eq!(Date(i32::MAX).calendar(), None);
        assert_eq!(Date::from_calendar(2000, 2, 29), Some(Date(11_016)));
    }

    #[test]
    fn times_and_durations_read_back_as_written() {
        for (text, expected) in [("18:05", "18:05:00"), ("18:05:30.25", "18:05:30.25")] {
            assert_eq!(parse_time(text).unwrap().to_string(), expected);
        }
        for text in ["24:00", "23:59:59.9999999", "noon", "10:00Z"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
        for (text, expected) in [
            ("PT1H", "PT1H"),
            ("1h 30m", "PT1H30M"),
            ("P1DT2H", "PT26H"),
            ("2 weeks", "PT336H"),
            ("-PT0.5S", "-PT0.5S"),
            ("PT0S", "PT0S"),
            ("90s", "PT1M30S"),
        ] {
            let duration = parse_duration(text).unwrap();
            assert_eq!(duration.to_string(), expected);
            assert_eq!(parse_duration(expected), Ok(duration));
        }
        for longest in [i64::MAX, i64::MIN] {
            let text = Duration(longest).to_string();
            assert_eq!(parse_duration(&text), Ok(Duration(longest)), "{text}");
        }
        for text in ["P1M", "P1Y", "1 month", "soon", "PT3000000000H"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn decimals_and_uuids() {
        assert_eq!(parse_decimal("12.50").unwrap().to_string(), "12.50");
        assert_eq!(parse_decimal("1.5e3").unwrap(), Decimal::from(1500));
        for text in [
            "",
            "1.2.3",
            "99999999999999999999999999999999",
            "0.00000000000000000000000000001",
            "nan",
        ] {
            assert!(parse_decimal(text).is_err(), "{text}");
        }
        let text = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        assert_eq!(parse_uuid(text).unwrap().to_string(), text);
        assert!(parse_uuid("67e55044").is_err());
    }
}
