//! Dates, times, instants and lengths of time.
//!
//! All are plain counts: of days for dates, of microseconds for the others. The calendar is the proleptic Gregorian
//! one, with a year 0; a day has 86,400 seconds. No time zone is ever looked up.

use std::fmt;

use jiff::SignedDuration;
use jiff::civil;

/// A calendar date: days since 1970-01-01 (negative before), years -9999 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

/// A time of day: microseconds since midnight, below 86,400,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// An instant: microseconds since 1970-01-01 00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// A length of time in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i64);

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub const DAY: i64 = 86_400 * SECOND;

const EPOCH: civil::Date = civil::Date::constant(1970, 1, 1);

impl Date {
    /// The first date, -9999-01-01.
    pub const MIN: Date = Date(-4_371_587);
    /// The last date, 9999-12-31.
    pub const MAX: Date = Date(2_932_896);

    /// The date of a year (-9999 to 9999), month and day; `None` where the calendar has none.
    pub fn from_calendar(year: i16, month: i8, day: i8) -> Option<Date> {
        civil::Date::new(year, month, day).ok().map(Date::from_civil)
    }

    /// Year, month (1 to 12) and day (1 to 31); `None` outside [`Date::MIN`] to [`Date::MAX`].
    pub fn calendar(self) -> Option<(i16, i8, i8)> {
        let date = self.civil()?;
        Some((date.year(), date.month(), date.day()))
    }

    /// Whether the date lies within [`Date::MIN`] to [`Date::MAX`].
    pub fn is_valid(self) -> bool {
        (Date::MIN..=Date::MAX).contains(&self)
    }

    pub(crate) fn from_civil(date: civil::Date) -> Date {
        let days = EPOCH.duration_until(date).as_secs().div_euclid(86_400);
        // Years are bounded by the calendar, so days fit.
        Date(days as i32)
    }

    pub(crate) fn civil(self) -> Option<civil::Date> {
        if !self.is_valid() {
            return None;
        }
        EPOCH
            .checked_add(SignedDuration::from_secs(i64::from(self.0) * 86_400))
            .ok()
    }
}

impl Time {
    /// The time of day; `None` where an hour (0 to 23), minute, second (0 to 59) or microsecond is out of range.
    pub fn from_clock(hour: i64, minute: i64, second: i64, microsecond: i64) -> Option<Time> {
        let fits = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..SECOND).contains(&microsecond);
        fits.then(|| Time(((hour * 60 + minute) * 60 + second) * SECOND + microsecond))
    }

    /// Hour, minute, second and microsecond.
    pub fn clock(self) -> (i64, i64, i64, i64) {
        let seconds = self.0.div_euclid(SECOND);
        (
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            self.0.rem_euclid(SECOND),
        )
    }

    /// Whether this is a time within one day.
    pub fn is_valid(self) -> bool {
        (0..DAY).contains(&self.0)
    }
}

impl Timestamp {
    /// The first instant, -9999-01-01 00:00 UTC.
    pub const MIN: Timestamp = Timestamp(Date::MIN.0 as i64 * DAY);
    /// The last instant, a microsecond before the year 10000.
    pub const MAX: Timestamp = Timestamp((Date::MAX.0 as i64 + 1) * DAY - 1);

    /// The instant at `time` of `date` in UTC; `None` if either is out of range.
    pub fn from_parts(date: Date, time: Time) -> Option<Timestamp> {
        let valid = date.is_valid() && time.is_valid();
        valid.then(|| Timestamp(i64::from(date.0) * DAY + time.0))
    }

    /// The current time, by the system's clock.
    pub fn now() -> Timestamp {
        Timestamp(jiff::Timestamp::now().as_microsecond())
    }

    /// The date in UTC.
    pub fn date(self) -> Date {
        // A count of microseconds in 64 bits is fewer days than 32 bits hold.
        Date(self.0.div_euclid(DAY) as i32)
    }

    /// The time of day in UTC.
    pub fn time(self) -> Time {
        Time(self.0.rem_euclid(DAY))
    }

    /// Whether the instant lies within [`Timestamp::MIN`] to [`Timestamp::MAX`].
    pub fn is_valid(self) -> bool {
        (Timestamp::MIN..=Timestamp::MAX).contains(&self)
    }
}

/// `2026-11-30`; years below 0 as `-000044-03-15`.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calendar() {
            Some((year @ 0.., month, day)) => write!(f, "{year:04}-{month:02}-{day:02}"),
            Some((year, month, day)) => write!(f, "{year:07}-{month:02}-{day:02}"),
            None => write!(f, "1970-01-01{:+} days", self.0),
        }
    }
}

/// `18:05:30`, with up to six digits of a fraction where there is one.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second, microsecond) = self.clock();
        write!(f, "{hour:02}:{minute:02}:{second:02}")?;
        write_fraction(f, microsecond.unsigned_abs())
    }
}

/// `2026-11-30T18:05:30Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}Z", self.date(), self.time())
    }
}

/// ISO 8601 with hours as the largest unit: `PT36H5M0.5S`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.0.unsigned_abs();
        let (seconds, microseconds) = (total / SECOND.unsigned_abs(), total % SECOND.unsigned_abs());
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        f.write_str(if self.0 < 0 { "-PT" } else { "PT" })?;
        if hours > 0 {
            write!(f, "{hours}H")?;
        }
        if minutes > 0 {
            write!(f, "{minutes}M")?;
        }
        if seconds > 0 || microseconds > 0 || total == 0 {
            write!(f, "{seconds}")?;
            write_fraction(f, microseconds)?;
            f.write_str("S")?;
        }
        Ok(())
    }
}

/// A dot and the digits of a fraction of a second, without trailing zeros; nothing for none.
fn write_fraction(f: &mut fmt::Formatter<'_>, microseconds: u64) -> fmt::Result {
    if microseconds == 0 {
        return Ok(());
    }
    let digits = format!("{microseconds:06}");
    write!(f, ".{}", digits.trim_end_matches('0'))
}
