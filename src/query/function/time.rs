//! Functions on dates, times, timestamps and durations. Everything is UTC; every `now()` of a statement is the same.

use crate::error::{QueryErrorCode, Result};
use crate::object::{Date, Duration, Timestamp, Type, Value};
use crate::query::plan::Arithmetic;

use super::arithmetic::{self, DAY, failure, out_of_range};
use super::table::{Call, Function, argument, mismatch, takes};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        ..pure(
            "now",
            "now()",
            |types| types.is_empty().then_some(Type::Timestamp),
            now,
        )
    },
    Function {
        ..pure(
            "today",
            "today()",
            |types| types.is_empty().then_some(Type::Date),
            today,
        )
    },
    pure("year", "year(date | timestamp)", of_date, |_, arguments| {
        part(arguments, Unit::Year)
    }),
    pure("month", "month(date | timestamp)", of_date, |_, arguments| {
        part(arguments, Unit::Month)
    }),
    pure("day", "day(date | timestamp)", of_date, |_, arguments| {
        part(arguments, Unit::Day)
    }),
    pure("hour", "hour(time | timestamp)", of_time, |_, arguments| {
        part(arguments, Unit::Hour)
    }),
    pure("minute", "minute(time | timestamp)", of_time, |_, arguments| {
        part(arguments, Unit::Minute)
    }),
    pure("second", "second(time | timestamp)", of_time, |_, arguments| {
        part(arguments, Unit::Second)
    }),
    pure(
        "date_trunc",
        "date_trunc(unit string, date | timestamp)",
        truncate_type,
        truncate,
    ),
    pure(
        "extract",
        "extract(unit string, date | time | timestamp | duration)",
        extract_type,
        extract,
    ),
    Function {
        ..pure(
            "age",
            "age(date | timestamp [, since date | timestamp])",
            age_type,
            age,
        )
    },
];

const fn pure(
    name: &'static str,
    usage: &'static str,
    result: fn(&[Type]) -> Option<Type>,
    run: fn(&Call<'_>, &[Value]) -> Result<Value>,
) -> Function {
    Function {
        name,
        usage,
        strict: true,
        result,
        run,
    }
}

/// A part of a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    DayOfWeek,
    DayOfYear,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Epoch,
}

impl Unit {
    const NAMES: [(&'static str, Unit); 13] = [
        ("year", Unit::Year),
        ("quarter", Unit::Quarter),
        ("month", Unit::Month),
        ("week", Unit::Week),
        ("day", Unit::Day),
        ("dow", Unit::DayOfWeek),
        ("doy", Unit::DayOfYear),
        ("hour", Unit::Hour),
        ("minute", Unit::Minute),
        ("second", Unit::Second),
        ("millisecond", Unit::Millisecond),
        ("microsecond", Unit::Microsecond),
        ("epoch", Unit::Epoch),
    ];

    fn from_name(name: &str) -> Result<Unit> {
        let found = Unit::NAMES
            .iter()
            .find(|(unit, _)| unit.eq_ignore_ascii_case(name));
        found.map(|(_, unit)| *unit).ok_or_else(|| {
            let names: Vec<&str> = Unit::NAMES.iter().map(|(name, _)| *name).collect();
            failure(
                QueryErrorCode::InvalidValue,
                format!("there is no time unit {name:?}; there are {}", names.join(", ")),
            )
        })
    }
}

/// Year, month (1 to 12) and day (1 to 31) of a day counted from 1970-01-01, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years that begin in March have their leap day at the end; 400 of them are 146,097 days.
    let shifted = days.saturating_add(719_468);
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era.saturating_mul(400) + i64::from(month <= 2);
    (year, month, day)
}

/// The inverse of [`civil`].
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + days_of_era - 719_468
}

/// The days since 1970-01-01 and the microseconds since midnight; a date is its midnight, a time has day zero.
fn split(function: &str, value: &Value) -> Result<(i64, i64)> {
    match value {
        Value::Date(date) => Ok((i64::from(date.0), 0)),
        Value::Time(time) => Ok((0, time.0)),
        Value::Timestamp(time) => Ok((time.0.div_euclid(DAY), time.0.rem_euclid(DAY))),
        other => Err(mismatch(function, "a date, time or timestamp", other)),
    }
}

fn is_dated(t: &Type) -> bool {
    matches!(t, Type::Date | Type::Timestamp | Type::Any)
}

fn of_date(types: &[Type]) -> Option<Type> {
    matches!(types, [t] if is_dated(t)).then_some(Type::Int)
}

fn of_time(types: &[Type]) -> Option<Type> {
    matches!(types, [Type::Time | Type::Timestamp | Type::Any]).then_some(Type::Int)
}

fn now(call: &Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Timestamp(call.now))
}

fn today(call: &Call<'_>, _: &[Value]) -> Result<Value> {
    date_of(call.now).map(Value::Date)
}

fn date_of(time: Timestamp) -> Result<Date> {
    i32::try_from(time.0.div_euclid(DAY))
        .map(Date)
        .map_err(|_| out_of_range("date"))
}

fn part(arguments: &[Value], unit: Unit) -> Result<Value> {
    let value = argument(arguments, 0);
    let (day, micros) = split("a function on times", value)?;
    let wants_date = matches!(unit, Unit::Year | Unit::Month | Unit::Day);
    if (wants_date && matches!(value, Value::Time(_))) || (!wants_date && matches!(value, Value::Date(_))) {
        let wanted = if wants_date {
            "a date or timestamp"
        } else {
            "a time or timestamp"
        };
        return Err(mismatch("this function on times", wanted, value));
    }
    Ok(Value::Int(component(unit, day, micros)))
}

fn component(unit: Unit, day: i64, micros: i64) -> i64 {
    let (year, month, of_month) = civil(day);
    match unit {
        Unit::Year => year,
        Unit::Quarter => (month + 2) / 3,
        Unit::Month => month,
        Unit::Week => iso_week(day),
        Unit::Day => of_month,
        Unit::DayOfWeek => day.saturating_add(4).rem_euclid(7),
        Unit::DayOfYear => day - days(year, 1, 1) + 1,
        Unit::Hour => micros / HOUR,
        Unit::Minute => micros / MINUTE % 60,
        Unit::Second => micros / SECOND % 60,
        Unit::Millisecond => micros / 1_000 % 60_000,
        Unit::Microsecond => micros % MINUTE,
        Unit::Epoch => day.saturating_mul(DAY / SECOND).saturating_add(micros / SECOND),
    }
}

/// The number of the week, Monday to Sunday, counted in the year its Thursday is in.
fn iso_week(day: i64) -> i64 {
    let thursday = day - (day.saturating_add(3)).rem_euclid(7) + 3;
    let (year, ..) = civil(thursday);
    (thursday - days(year, 1, 1)) / 7 + 1
}

fn truncate_type(types: &[Type]) -> Option<Type> {
    match types {
        [Type::String | Type::Any, t] if is_dated(t) => Some(t.clone()),
        _ => None,
    }
}

fn unit(function: &str, arguments: &[Value]) -> Result<Unit> {
    match argument(arguments, 0) {
        Value::String(name) => Unit::from_name(name),
        other => Err(mismatch(function, "the name of a unit", other)),
    }
}

/// The beginning of the year, month, week (Monday) .. second that the time lies in.
fn truncate(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let value = argument(arguments, 1);
    let (day, micros) = split("date_trunc", value)?;
    let (year, month, _) = civil(day);
    let (day, micros) = match unit("date_trunc", arguments)? {
        Unit::Year => (days(year, 1, 1), 0),
        Unit::Quarter => (days(year, month - (month - 1) % 3, 1), 0),
        Unit::Month => (days(year, month, 1), 0),
        Unit::Week => (day - day.saturating_add(3).rem_euclid(7), 0),
        Unit::Day => (day, 0),
        Unit::Hour => (day, micros - micros % HOUR),
        Unit::Minute => (day, micros - micros % MINUTE),
        Unit::Second => (day, micros - micros % SECOND),
        Unit::Millisecond => (day, micros - micros % 1_000),
        Unit::Microsecond => (day, micros),
        Unit::DayOfWeek | Unit::DayOfYear | Unit::Epoch => {
            return Err(failure(
                QueryErrorCode::InvalidValue,
                "date_trunc cannot cut to dow, doy or epoch",
            ));
        }
    };
    match value {
        Value::Date(_) => i32::try_from(day)
            .map(|day| Value::Date(Date(day)))
            .map_err(|_| out_of_range("date")),
        Value::Timestamp(_) => day
            .checked_mul(DAY)
            .and_then(|day| day.checked_add(micros))
            .map(|micros| Value::Timestamp(Timestamp(micros)))
            .ok_or_else(|| out_of_range("timestamp")),
        other => Err(mismatch("date_trunc", "a date or timestamp", other)),
    }
}

fn extract_type(types: &[Type]) -> Option<Type> {
    match types {
        [
            Type::String | Type::Any,
            Type::Date | Type::Time | Type::Timestamp | Type::Duration | Type::Any,
        ] => Some(Type::Int),
        _ => None,
    }
}

fn extract(_: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let unit = unit("extract", arguments)?;
    let value = argument(arguments, 1);
    if let Value::Duration(duration) = value {
        return of_duration(unit, *duration).map(Value::Int);
    }
    let (day, micros) = split("extract", value)?;
    let dated = matches!(
        unit,
        Unit::Year | Unit::Quarter | Unit::Month | Unit::Week | Unit::Day | Unit::DayOfWeek | Unit::DayOfYear
    );
    if dated && matches!(value, Value::Time(_)) {
        return Err(failure(
            QueryErrorCode::InvalidValue,
            "a time of day has no date to extract from",
        ));
    }
    Ok(Value::Int(component(unit, day, micros)))
}

/// A duration has days, and within the day hours, minutes and seconds; months and years it has not.
fn of_duration(unit: Unit, duration: Duration) -> Result<i64> {
    let micros = duration.0;
    Ok(match unit {
        Unit::Day => micros / DAY,
        Unit::Hour => micros / HOUR % 24,
        Unit::Minute => micros / MINUTE % 60,
        Unit::Second => micros / SECOND % 60,
        Unit::Millisecond => micros / 1_000 % 60_000,
        Unit::Microsecond => micros % MINUTE,
        Unit::Epoch => micros / SECOND,
        _ => {
            return Err(failure(
                QueryErrorCode::InvalidValue,
                "a duration has days, hours, minutes, seconds and their parts only",
            ));
        }
    })
}

fn age_type(types: &[Type]) -> Option<Type> {
    let same = match types {
        [t] => is_dated(t),
        [Type::Date, Type::Timestamp] | [Type::Timestamp, Type::Date] => false,
        _ => takes(types, &[Type::Any, Type::Any], 1) && types.iter().all(is_dated),
    };
    same.then_some(Type::Duration)
}

/// How much later the first argument's present is: `age(a)` is now (or today) minus a, `age(a, b)` is a minus b.
fn age(call: &Call<'_>, arguments: &[Value]) -> Result<Value> {
    let first = argument(arguments, 0);
    if let Some(since) = arguments.get(1) {
        return arithmetic::binary(Arithmetic::Subtract, first, since);
    }
    match first {
        Value::Date(_) => arithmetic::binary(Arithmetic::Subtract, &Value::Date(date_of(call.now)?), first),
        Value::Timestamp(_) => arithmetic::binary(Arithmetic::Subtract, &Value::Timestamp(call.now), first),
        other => Err(mismatch("age", "a date or timestamp", other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_goes_both_ways() {
        for day in (-4_000_000..3_000_000).step_by(97) {
            let (year, month, of_month) = civil(day);
            assert!((1..=12).contains(&month) && (1..=31).contains(&of_month));
            assert_eq!(days(year, month, of_month), day);
        }
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(days(1900, 3, 1) - days(1900, 2, 28), 1);
        assert_eq!(days(2000, 3, 1) - days(2000, 2, 28), 2);
    }

    #[test]
    fn weeks_and_weekdays_follow_iso_and_sql() {
        let monday = days(2024, 12, 30);
        assert_eq!(component(Unit::Week, monday, 0), 1);
        assert_eq!(component(Unit::DayOfWeek, monday, 0), 1);
        assert_eq!(component(Unit::Week, days(2021, 1, 3), 0), 53);
        assert_eq!(component(Unit::DayOfYear, days(2024, 12, 31), 0), 366);
    }

    #[test]
    fn times_before_1970_are_split_downward() {
        let before = Value::Timestamp(Timestamp(-1));
        assert_eq!(
            part(std::slice::from_ref(&before), Unit::Year).unwrap(),
            Value::Int(1969)
        );
        assert_eq!(part(&[before], Unit::Second).unwrap(), Value::Int(59));
    }
}
