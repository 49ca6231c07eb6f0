//! What a request saved by being smaller than it would have been, at the prices of its model: less what its provider took for
//! a prefix that its cache did not know any more.

use crate::price::Prices;
use crate::usage::Usage;

/// What the provider says of its cache in its reply to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheUse {
    /// Nothing was read from it or written to it.
    #[default]
    Unused,
    /// It was read; what is written to it costs no more than the prompt.
    Free,
    /// It was written to, at a price of its own.
    Charged,
}

impl CacheUse {
    /// By what it reported.
    #[must_use]
    pub const fn of(usage: &Usage) -> Self {
        match (usage.cache_read, usage.cache_write) {
            (0, 0) => Self::Unused,
            (_, 0) => Self::Free,
            (_, _) => Self::Charged,
        }
    }
}

/// A request beside the one that would have gone out with nothing done, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReducedRequest {
    /// What it would have had, at most the window of its model: no provider takes more.
    pub without: u64,
    /// What it had.
    pub sent: u64,
    /// The context that was rebuilt for it, where one was.
    pub rebuilt: u64,
    /// How its provider's cache took part.
    pub cache: CacheUse,
}

impl ReducedRequest {
    /// What it saved, in dollars; below zero where rebuilding took more. Nothing is known of what has no price, unless nothing
    /// was saved.
    ///
    /// Both sides of the difference go by the same price: whoever uses no cache with us would have used none without.
    #[must_use]
    pub fn dollars_saved(&self, prices: Option<&Prices>) -> Option<f64> {
        let Self { without, sent, rebuilt, cache } = *self;
        let written = if cache == CacheUse::Unused { 0 } else { rebuilt };
        if without == sent && written == 0 {
            return Some(0.0);
        }
        let prices = prices?;
        let read = |prompt| {
            let cache_read = if cache == CacheUse::Unused { 0 } else { prompt };
            prices.cost(&Usage { prompt, cache_read, ..Usage::default() })
        };
        let write = |prompt| {
            let cache_write = if cache == CacheUse::Charged { prompt } else { 0 };
            prices.cost(&Usage { prompt, cache_write, ..Usage::default() })
        };
        Some(read(without) - read(sent) - (write(written) - read(written)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::Rates;

    /// What a request of 20,000 tokens that would have had 120,000 saved, where all of it was rebuilt.
    fn saved(cache: CacheUse) -> f64 {
        let rates =
            Rates { input: 3.0, output: 15.0, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6.0 };
        let request = ReducedRequest { without: 120_000, sent: 20_000, rebuilt: 20_000, cache };
        request.dollars_saved(Some(&Prices { rates, long: None })).expect("there is a price")
    }

    #[test]
    fn what_was_not_sent_is_saved_at_its_price_less_what_rebuilding_takes() {
        // 100,000 tokens at $0.30 a million, less 20,000 at the $3.45 between writing and reading them.
        assert!((saved(CacheUse::Charged) - (0.03 - 0.069)).abs() < 1e-9);
        // Where writing costs nothing of its own, that is $2.70.
        assert!((saved(CacheUse::Free) - (0.03 - 0.054)).abs() < 1e-9);
        // Without a cache nothing is written to one, and every token has the price of the prompt.
        assert!((saved(CacheUse::Unused) - 0.3).abs() < 1e-9);
    }

    #[test]
    fn without_a_price_only_nothing_is_known() {
        let alike = ReducedRequest { without: 10, sent: 10, ..ReducedRequest::default() };
        let less = ReducedRequest { sent: 5, ..alike };
        assert_eq!([alike, less].map(|request| request.dollars_saved(None)), [Some(0.0), None]);
    }
}
