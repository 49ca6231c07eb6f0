//! Times as transcripts write them: RFC 3339 in UTC, `2026-01-31T09:30:00.000Z`.

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Milliseconds since 1970 of a time as tools write it; none where it is written otherwise, or has another zone.
pub(crate) fn unix_ms(text: &str) -> Option<u64> {
    let (date, time) = text.split_once('T')?;
    let time = time.strip_suffix('Z').or_else(|| time.strip_suffix("+00:00")).unwrap_or(time);
    let [year, month, day] = numbers(date, '-')?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(clock, ':')?;
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day) && (1970..10_000).contains(&year);
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    if !is_date || !is_time {
        return None;
    }
    let ms = ((hour * 60 + minute) * 60 + second) * 1_000 + thousandths(fraction)?;
    u64::try_from(days_since_1970(year, month, day) * DAY_MS + ms).ok()
}

fn numbers(text: &str, apart: char) -> Option<[i64; 3]> {
    let mut parts = text.splitn(3, apart).map(|part| part.parse::<i64>().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

fn thousandths(fraction: &str) -> Option<i64> {
    let digits =
        fraction.get(..3.min(fraction.len())).filter(|_| fraction.bytes().all(|b| b.is_ascii_digit()))?;
    Some(digits.parse::<i64>().ok()? * 10_i64.pow(3 - digits.len() as u32))
}

/// Days since 1970 in the calendar of today, by Howard Hinnant's `days_from_civil`: years begin in March, so that the day
/// that some years have more is their last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, in_era) = (year / 400, year % 400);
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::unix_ms;

    #[test]
    fn times_are_read_as_tools_write_them() {
        let read = [
            "1970-01-01T00:00:00Z",
            "2024-02-29T12:00:00.5Z",
            "2026-01-31T09:30:00.123Z",
            "2025-05-12T08:15:30.123456",
            "2026-11-15T23:59:59.999+00:00",
        ];
        let told = [0, 1_709_208_000_500, 1_769_851_800_123, 1_747_037_730_123, 1_794_787_199_999];
        assert_eq!(read.map(unix_ms), told.map(Some));
    }

    #[test]
    fn what_is_no_time_is_none() {
        let odd = [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "2026-01-01",
            "2026-01-31T09:30:00.123+02:00",
            "T.Z",
            "9223372036854775807-01-31T09:30:00Z",
        ];
        assert_eq!(odd.map(unix_ms), [None; 7]);
    }
}
