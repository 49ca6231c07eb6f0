//! How long a call may take and how often it is tried: all of it bounded.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// The bounds of one summary call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until the first byte of an answer. A local server may read a long prompt for minutes first.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub between_bytes: Duration,
    /// For everything, retries and waits included.
    pub whole: Duration,
    /// Tries after the first, for hiccups and throttling together.
    pub retries_max: u32,
    /// The first wait before a try; each later one is twice as long.
    pub wait: Duration,
    /// The longest wait. A provider that asks for more is not waited for.
    pub wait_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(180),
            between_bytes: Duration::from_secs(90),
            // People wait for this; past it the core takes the next strategy.
            whole: Duration::from_secs(600),
            retries_max: 3,
            wait: Duration::from_millis(500),
            wait_max: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// How long to wait before try number `retry`, from 1. `roll` lies in 0 to 1 and keeps callers that
    /// failed together from trying together. None where the provider asks for more than we wait.
    pub(crate) fn wait_before(&self, retry: u32, asked: Option<Duration>, roll: f64) -> Option<Duration> {
        if let Some(asked) = asked {
            return (asked <= self.wait_max).then_some(asked);
        }
        let doubled = self.wait.saturating_mul(2_u32.saturating_pow(retry.saturating_sub(1)));
        let longest = doubled.min(self.wait_max);
        Some(longest.mul_f64(0.5 + roll.clamp(0.0, 1.0) / 2.0))
    }
}

/// Where chance comes from.
pub trait Dice: Send + Sync + fmt::Debug {
    /// A number from 0 to 1.
    fn roll(&self) -> f64;
}

/// Chance from the operating system, by way of the seeds of hash maps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entropy;

impl Dice for Entropy {
    fn roll(&self) -> f64 {
        // The upper 32 bits: exact in a double.
        (RandomState::new().build_hasher().finish() >> 32) as f64 / f64::from(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{Dice, Entropy, Limits};
    use std::time::Duration;

    #[test]
    fn waits_double_up_to_a_limit_and_a_provider_that_asks_too_much_is_not_waited_for() {
        let limits = Limits::default();
        let waits = [1, 2, 3, 9].map(|retry| limits.wait_before(retry, None, 1.0));
        assert_eq!(waits, [500, 1_000, 2_000, 30_000].map(|millis| Some(Duration::from_millis(millis))));
        assert_eq!(limits.wait_before(1, None, 0.0), Some(Duration::from_millis(250)));
        let asked = [7, 3_600].map(|seconds| limits.wait_before(1, Some(Duration::from_secs(seconds)), 0.5));
        assert_eq!(asked, [Some(Duration::from_secs(7)), None]);
        assert!((0.0..=1.0).contains(&Entropy.roll()));
    }
}
