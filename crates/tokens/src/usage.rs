//! What a provider reported for one reply, in one form for all of them.
//!
//! Turning a protocol's fields into this form is left to the crate that knows protocols.

use serde::{Deserialize, Serialize};

/// The tokens of one request and its reply. Servers report what they like, so every sum of these figures
/// stops at the largest number there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// The whole prompt: fresh, read from the cache and written to it.
    pub prompt: u64,
    /// The whole reply, reasoning included.
    pub output: u64,
    /// The part of the prompt read from the cache.
    #[serde(default)]
    pub cache_read: u64,
    /// The part of the prompt written to the cache.
    #[serde(default)]
    pub cache_write: u64,
    /// The part of the reply that was reasoning.
    #[serde(default)]
    pub reasoning: u64,
}

impl Usage {
    /// Whether nothing was reported at all: some servers leave every field at zero.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.prompt == 0 && self.output == 0
    }

    /// The prompt and the reply together: what the next prompt begins with.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.prompt.saturating_add(self.output)
    }

    /// The part of the prompt that no cache was asked for.
    #[must_use]
    pub const fn fresh(&self) -> u64 {
        self.prompt.saturating_sub(self.cache_read).saturating_sub(self.cache_write)
    }
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn absurd_figures_stop_at_the_largest_number() {
        let most = u64::MAX;
        let usage =
            Usage { prompt: most, output: most, cache_read: most, cache_write: most, reasoning: most };
        assert_eq!((usage.total(), usage.fresh()), (most, 0));
    }

    #[test]
    fn what_was_cached_is_not_fresh() {
        let usage = Usage { prompt: 100, output: 7, cache_read: 60, cache_write: 30, reasoning: 0 };
        assert_eq!((usage.total(), usage.fresh()), (107, 10));
    }
}
