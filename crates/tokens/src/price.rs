//! Prices, and what a request costs by them.

use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// A prompt token that no cache knows.
    pub input: f64,
    /// A token of the reply, reasoning included.
    pub output: f64,
    /// A prompt token read from the cache.
    pub cache_read: f64,
    /// A prompt token written to the cache for five minutes, or for as long as the provider likes.
    pub cache_write_5m: f64,
    /// A prompt token written to the cache for an hour.
    pub cache_write_1h: f64,
}

/// The rates of a model, and those of its long prompts where they differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// For prompts of ordinary length.
    pub rates: Rates,
    /// For longer ones: the whole prompt is charged at these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongRates>,
}

/// The rates of prompts beyond a length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongRates {
    /// The longest prompt charged at the ordinary rates.
    pub above_tokens: u64,
    /// The rates beyond it.
    pub rates: Rates,
}

impl Prices {
    /// The rates for a prompt of this size.
    #[must_use]
    pub const fn rates_at(&self, prompt_tokens: u64) -> Rates {
        match self.long {
            Some(long) if prompt_tokens > long.above_tokens => long.rates,
            Some(_) | None => self.rates,
        }
    }

    /// What a request cost, in dollars, with cache writes at the five-minute rate.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> f64 {
        let rates = self.rates_at(usage.prompt);
        let priced = [
            (usage.fresh(), rates.input),
            (usage.cache_read, rates.cache_read),
            (usage.cache_write, rates.cache_write_5m),
            (usage.output, rates.output),
        ];
        priced.iter().map(|&(tokens, rate)| tokens as f64 * rate).sum::<f64>() / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates =
        Rates { input: 5.0, output: 25.0, cache_read: 0.5, cache_write_5m: 6.25, cache_write_1h: 10.0 };

    #[test]
    fn each_part_of_a_request_is_charged_at_its_rate() {
        let prices = Prices { rates: RATES, long: None };
        let usage = Usage {
            prompt: 1_600_000,
            output: 200_000,
            cache_read: 1_000_000,
            cache_write: 400_000,
            reasoning: 0,
        };
        // 0.2 fresh, 1.0 read, 0.4 written and 0.2 replied, in millions.
        assert_eq!(prices.cost(&usage), 1.0 + 0.5 + 2.5 + 5.0);
    }

    #[test]
    fn absurd_usage_has_a_price_all_the_same() {
        let most = u64::MAX;
        let usage = Usage { prompt: 1, output: 0, cache_read: most, cache_write: most, reasoning: 0 };
        let cost = Prices { rates: RATES, long: None }.cost(&usage);
        assert_eq!(cost, most as f64 * 6.75 / 1e6);
    }

    #[test]
    fn a_long_prompt_is_charged_at_the_long_rates_throughout() {
        let long = LongRates { above_tokens: 272_000, rates: Rates { input: 10.0, ..RATES } };
        let prices = Prices { rates: RATES, long: Some(long) };
        assert_eq!([272_000, 272_001].map(|prompt| prices.rates_at(prompt).input), [5.0, 10.0]);
    }
}
