//! The time of `--at`: a time of day, a date with a time, or a time before the end.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit, Zoned};
use model::units::parse_duration_ns;

/// A time at which a recording is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// So many ns before the end of the recording.
    BeforeEnd(u64),
    /// The last such time of day of the recording, in the local time zone.
    TimeOfDay(Time),
    /// A local date and time.
    Local(DateTime),
    /// In ns since 1970 UTC.
    Unix(i128),
}

/// Reads `14:32`, `2026-11-27 14:32:05`, the same with `T` and `Z` or an offset, or `-10m`.
pub(super) fn at(text: &str) -> Result<At, String> {
    let form =
        || format!("{text:?} is not a time: 14:32, \"2026-11-27 14:32\", or -10m before the end");
    if let Some(before) = text.strip_prefix('-') {
        return parse_duration_ns(before).map(At::BeforeEnd).map_err(|_| form());
    }
    if let Ok(exact) = text.parse::<Timestamp>() {
        return Ok(At::Unix(exact.as_nanosecond()));
    }
    // A date has a hyphen; of a time alone the date would be today.
    match text.contains('-') {
        true => text.parse().map(At::Local).map_err(|_| form()),
        false => text.parse().map(At::TimeOfDay).map_err(|_| form()),
    }
}

impl At {
    /// The time in ns since 1970 UTC, for a recording that ends at `end_unix_ns`. Fails for a time
    /// that does not exist.
    pub(super) fn unix_ns(self, end_unix_ns: u64, zone: &TimeZone) -> Result<u64, String> {
        let unix_ns = match self {
            Self::BeforeEnd(before_ns) => return Ok(end_unix_ns.saturating_sub(before_ns)),
            Self::Unix(unix_ns) => unix_ns,
            Self::Local(local) => of_zone(local.to_zoned(zone.clone()))?,
            Self::TimeOfDay(time) => {
                let end = shown_in(end_unix_ns, zone)?;
                let today = of_zone(end.date().to_datetime(time).to_zoned(zone.clone()))?;
                match today > i128::from(end_unix_ns) {
                    false => today,
                    true => {
                        let yesterday = end.date().yesterday().map_err(|it| it.to_string())?;
                        of_zone(yesterday.to_datetime(time).to_zoned(zone.clone()))?
                    }
                }
            }
        };
        u64::try_from(unix_ns).map_err(|_| "the time is before 1970".to_owned())
    }
}

fn of_zone(zoned: Result<Zoned, jiff::Error>) -> Result<i128, String> {
    zoned.map(|zoned| zoned.timestamp().as_nanosecond()).map_err(|error| error.to_string())
}

fn shown_in(unix_ns: u64, zone: &TimeZone) -> Result<Zoned, String> {
    let timestamp = Timestamp::from_nanosecond(i128::from(unix_ns));
    timestamp.map(|it| it.to_zoned(zone.clone())).map_err(|error| error.to_string())
}

/// A time for messages, in a time zone.
pub(super) fn shown(unix_ns: u64, zone: &TimeZone) -> String {
    let rounded = shown_in(unix_ns, zone).map(|it| it.round(Unit::Second).unwrap_or(it));
    rounded.map_or_else(|error| error, |it| it.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-27 12:00:00 UTC.
    const NOON_NS: u64 = 1_795_780_800_000_000_000;

    fn shown_at(text: &str) -> Result<String, String> {
        let zone = TimeZone::UTC;
        Ok(shown(at(text)?.unix_ns(NOON_NS, &zone)?, &zone))
    }

    #[test]
    fn each_form_is_a_time_of_the_recording() {
        for (text, expected) in [
            ("11:59", "2026-11-27 11:59:00"),
            ("12:00", "2026-11-27 12:00:00"),
            ("12:01", "2026-11-26 12:01:00"),
            ("23:00:07", "2026-11-26 23:00:07"),
            ("2026-11-20 14:32", "2026-11-20 14:32:00"),
            ("2026-11-20T14:32:01", "2026-11-20 14:32:01"),
            ("2026-11-20T14:32:01+02:00", "2026-11-20 12:32:01"),
            ("-10m", "2026-11-27 11:50:00"),
        ] {
            assert_eq!(shown_at(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_time_is_refused_with_the_forms() {
        for text in ["", "noon", "25:00", "-", "-1x", "2026-13-01 10:00"] {
            let refused = shown_at(text).unwrap_err();
            assert!(refused.contains("is not a time"), "{text}: {refused}");
        }
        assert!(shown_at("1960-01-01T00:00:00Z").is_err());
    }
}
