//! Times as people write them: `2026-01-31`, `90d` ago.

pub use epitome_settings::{parse_size, parse_span};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// Since when: a date, a time, or how long ago; in milliseconds since 1970.
///
/// # Errors
/// What to write instead.
pub fn parse_since(text: &str) -> Result<u64, String> {
    let now = Timestamp::now().as_millisecond();
    if let Ok(span) = parse_span(text) {
        return Ok(u64::try_from(now).unwrap_or_default().saturating_sub(span));
    }
    let in_utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let date = || text.parse::<Date>().ok().and_then(|date| in_utc(date.at(0, 0, 0, 0)));
    let time = || text.parse::<DateTime>().ok().and_then(in_utc);
    // A date alone is a time as well to those who read generously, so it is asked for first.
    let found = text.parse::<Timestamp>().ok().or_else(date).or_else(time);
    let found = found.and_then(|time| u64::try_from(time.as_millisecond()).ok());
    found.ok_or_else(|| format!("`{text}` is no time; write 2026-01-31, 2026-01-31T12:00:00Z, 7d or 12h"))
}

#[cfg(test)]
mod tests {
    use super::parse_since;

    #[test]
    fn a_time_is_a_date_or_so_long_ago() {
        assert_eq!(parse_since("1970-01-02T00:00:00Z"), Ok(86_400_000));
        let ago = |text| parse_since(text).expect("it is a time");
        assert!(ago("1d") < ago("1h") && ago("2020-01-01") < ago("2021-01-01"));
        assert!(parse_since("yesterday").is_err());
    }
}
