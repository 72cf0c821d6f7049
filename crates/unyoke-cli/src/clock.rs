//! Times as people type and read them, in the time zone of the machine. The only file that names `jiff`.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::{Timestamp, Zoned, tz::TimeZone};
use std::time::Duration;
use unyoke_run::now;
use unyoke_view::PausedView;

/// A time in the future, in seconds since the beginning of 1970: a date, on which it is its beginning,
/// `2026-11-23 14:00`, a day of the week, or a length of time such as `3d`.
pub(crate) fn parse_until(text: &str) -> Result<u64, String> {
    let seconds = seconds_of(text.trim())?;
    match u64::try_from(seconds).ok().filter(|until| *until > now()) {
        Some(until) => Ok(until),
        None => Err(format!("{text} is in the past")),
    }
}

fn seconds_of(text: &str) -> Result<i64, String> {
    let here = Zoned::now();
    let in_zone =
        |at: DateTime| at.to_zoned(TimeZone::system()).map(|at| at.timestamp().as_second());
    let found = if let Ok(length) = humantime::parse_duration(text) {
        let length = i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
        Ok(here.timestamp().as_second().saturating_add(length))
    } else if let Some(day) = weekday(text) {
        here.date().nth_weekday(1, day).and_then(|date| in_zone(date.into()))
    } else if let Ok(at) = text.parse::<Timestamp>() {
        Ok(at.as_second())
    } else if text.contains(':') {
        text.parse::<DateTime>().and_then(in_zone)
    } else {
        text.parse::<Date>().and_then(|date| in_zone(date.into()))
    };
    found.map_err(|_| {
        format!("{text:?} is no time: write 2026-11-23, \"2026-11-23 14:00\", monday, or 3d")
    })
}

fn weekday(text: &str) -> Option<Weekday> {
    use Weekday::{Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};
    let days = [
        ("monday", Monday),
        ("tuesday", Tuesday),
        ("wednesday", Wednesday),
        ("thursday", Thursday),
        ("friday", Friday),
        ("saturday", Saturday),
        ("sunday", Sunday),
    ];
    let text = text.to_lowercase();
    days.into_iter().find(|(name, _)| *name == text).map(|(_, day)| day)
}

/// A time as people read it: `Mon 2026-11-23`, with the hour unless it is the beginning of a day.
pub(crate) fn time_of(seconds: u64) -> String {
    let at = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let Some(at) = at.map(|at| at.to_zoned(TimeZone::system())) else { return seconds.to_string() };
    let day = at.strftime("%a %Y-%m-%d").to_string();
    match (at.hour(), at.minute()) {
        (0, 0) => day,
        _ => format!("{day} {}", at.strftime("%H:%M")),
    }
}

/// How long ago something was.
pub(crate) fn since(seconds: u64) -> String {
    crate::words::time(Duration::from_secs(now().saturating_sub(seconds)))
}

/// A pause in words: `fem is paused until Mon 2026-11-23 (the machine is down)`.
pub(crate) fn pause_in_words(paused: &PausedView) -> String {
    let PausedView { measurement, until, reason } = paused;
    let until = until.map_or_else(String::new, |until| format!(" until {}", time_of(until)));
    let reason = reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
    format!("{measurement} is paused{until}{reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_typed_in_many_ways() {
        let year = Zoned::now().year() + 2;
        let day = format!("{year}-11-23");
        let midnight = parse_until(&day).unwrap();
        assert!(time_of(midnight).ends_with(&day), "{}", time_of(midnight));
        for text in [format!("{day} 14:00"), format!("{day}T14:00:00")] {
            assert_eq!(parse_until(&text).unwrap(), midnight + 14 * 3600, "{text}");
            assert!(time_of(midnight + 14 * 3600).ends_with("14:00"));
        }
        assert!(parse_until(&format!("{day}T00:00:00Z")).is_ok());
        let soon = parse_until("3h").unwrap();
        assert!((now() + 3 * 3600 - 5..=now() + 3 * 3600 + 5).contains(&soon));
        let monday = parse_until("Monday").unwrap();
        assert!(time_of(monday).starts_with("Mon ") && monday <= now() + 8 * 24 * 3600);
        assert!(parse_until("2001-01-01").unwrap_err().contains("in the past"));
        for wrong in ["", "soon", "23.11.2026", "2026-13-01", "25:00"] {
            assert!(parse_until(wrong).unwrap_err().contains("is no time"), "{wrong}");
        }
    }
}
