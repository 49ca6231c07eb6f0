//! When to try again: how long a provider asks us to wait, and how many tries all calls under way have left between them.

use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tries that calls to one provider may make again before one of them is answered. Twice what a call may make alone:
/// several that fail together say that the provider is down, and each trying to the end would keep it so.
const RETRIES_SHARED_MAX: u32 = 6;

/// The tries again that all calls to one provider share. Each takes one, each answer gives one back.
#[derive(Debug)]
pub(crate) struct RetryBudget(Mutex<u32>);

impl Default for RetryBudget {
    fn default() -> Self {
        Self(Mutex::new(RETRIES_SHARED_MAX))
    }
}

impl RetryBudget {
    /// Takes a try; whether there was one left.
    pub(crate) fn take(&self) -> bool {
        let mut left = self.left();
        let has_left = *left > 0;
        *left = left.saturating_sub(1);
        has_left
    }

    /// Gives one back, since the provider answers.
    pub(crate) fn give_back(&self) {
        let mut left = self.left();
        *left = (*left + 1).min(RETRIES_SHARED_MAX);
    }

    fn left(&self) -> MutexGuard<'_, u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a provider asks us to wait: milliseconds, seconds, or a date, which is held against the response's own.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let millis =
        headers.get("retry-after-ms").and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok());
    let after = text(&RETRY_AFTER);
    let seconds = millis.map(|millis| millis / 1_000.0).or_else(|| after?.parse::<f64>().ok());
    match seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => {
            let (until, now) = (unix_seconds(after?)?, unix_seconds(text(&DATE)?)?);
            Some(Duration::from_secs(until.saturating_sub(now)))
        }
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since 1970 of a date such as `Wed, 21 Oct 2026 07:28:00 GMT`, the one form that servers send.
fn unix_seconds(date: &str) -> Option<u64> {
    let words: Vec<&str> = date.split_ascii_whitespace().collect();
    let &[_, day, month, year, time, "GMT"] = &words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as u64;
    let (day, year) =
        (day.parse::<u64>().ok()?, year.parse::<u64>().ok().filter(|year| (1970..10_000).contains(year))?);
    let clock: Vec<u64> = time.split(':').map_while(|part| part.parse().ok()).collect();
    let &[hours, minutes, seconds] = &clock[..] else { return None };
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let days = years + lengths[..month as usize].iter().sum::<u64>() + day.checked_sub(1)?;
    Some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::{RETRIES_SHARED_MAX, RetryBudget, retry_after, unix_seconds};
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
    use std::time::Duration;

    fn asked(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let pairs = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        retry_after(&pairs.collect::<HeaderMap>())
    }

    #[test]
    fn a_wait_is_told_in_milliseconds_seconds_or_by_a_date() {
        let now = ("date", "Sat, 28 Feb 2032 23:59:50 GMT");
        assert_eq!(
            asked(&[("retry-after-ms", "1500"), ("retry-after", "9")]),
            Some(Duration::from_millis(1_500))
        );
        assert_eq!(asked(&[("retry-after", "9")]), Some(Duration::from_secs(9)));
        assert_eq!(
            asked(&[("retry-after", "Sun, 29 Feb 2032 00:00:20 GMT"), now]),
            Some(Duration::from_secs(30))
        );
        // What is over is not waited for; what nobody can read, or hold against a time, says nothing.
        assert_eq!(asked(&[("retry-after", "Sat, 28 Feb 2032 00:00:00 GMT"), now]), Some(Duration::ZERO));
        assert_eq!(asked(&[("retry-after", "Sun, 29 Feb 2032 00:00:20 GMT")]), None);
        assert_eq!(
            [asked(&[("retry-after", "soon"), now]), asked(&[("retry-after", "-1")]), asked(&[])],
            [None; 3]
        );
    }

    #[test]
    fn dates_are_counted_from_1970() {
        assert_eq!(unix_seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(unix_seconds("Wed, 21 Oct 2015 07:28:00 GMT"), Some(1_445_412_480));
        assert_eq!(unix_seconds("Tue, 29 Feb 2000 12:00:00 GMT"), Some(951_825_600));
        assert_eq!(["Wed, 21 Oct 2015", "x", "Wed, 0 Oct 2015 07:28:00 GMT"].map(unix_seconds), [None; 3]);
    }

    #[test]
    fn tries_are_shared_and_an_answer_gives_one_back() {
        let budget = RetryBudget::default();
        assert!((0..RETRIES_SHARED_MAX).all(|_| budget.take()));
        assert!(!budget.take());
        budget.give_back();
        assert_eq!([budget.take(), budget.take()], [true, false]);
        (0..100).for_each(|_| budget.give_back());
        assert!((0..RETRIES_SHARED_MAX).all(|_| budget.take()) && !budget.take());
    }
}
