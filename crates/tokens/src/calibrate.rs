//! Correcting counts by what providers report.
//!
//! One [`Calibration`] belongs to one model at one address. It is a ratio of two fading sums: what prompts grew by as
//! the provider reported it, and what the same growth takes by our own count. Growth is compared, and not whole prompts,
//! since what stands before a history is often not known. A ratio of sums weighs each call by what it says (one that grew
//! by forty tokens says next to nothing), and three bounds make it robust: a call's own ratio is held within half and
//! double, no call weighs more than [`WEIGHT_MAX`], and [`PRIOR_TOKENS`] of growth that agrees with us stand beside all
//! of it. Keeping it between runs is left to whoever stores things.

use serde::{Deserialize, Serialize};

/// What is left of a call's weight after each later one: half of it after 34. Sessions change slowly, from talk to code and back.
const FADING: f64 = 0.98;
/// The least and the most one call may say, and the factor may become. Beyond that a report is of something else: it left out
/// the cache, or summed up several calls.
const RATIO: (f64, f64) = (0.5, 2.0);
/// The most a call weighs, in tokens: one that brings a whole file says no more than a few that do not.
const WEIGHT_MAX: f64 = 20_000.0;
/// So much growth is taken to have been counted right before anything is known.
const PRIOR_TOKENS: f64 = 8_000.0;

/// What one model at one address has taught us about our counts.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Calibration {
    reported: f64,
    counted: f64,
    calls: u32,
}

/// What a prompt grew by from one call to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptGrowth {
    /// The prompt of the call before, as the provider counted it; nothing where the whole prompt is compared.
    pub before: u64,
    /// This call's, as the provider counted it.
    pub prompt: u64,
    /// What came between, by our count.
    pub counted: u64,
}

impl Calibration {
    /// What the provider counts where we count one.
    #[must_use]
    pub fn factor(&self) -> f64 {
        ((self.reported + PRIOR_TOKENS) / (self.counted + PRIOR_TOKENS)).clamp(RATIO.0, RATIO.1)
    }

    /// How many calls it was learned from.
    #[must_use]
    pub const fn calls(&self) -> u32 {
        self.calls
    }

    /// Learns from one call; whether there was something to learn.
    pub fn learn(&mut self, growth: PromptGrowth) -> bool {
        if growth.prompt == 0 || growth.counted == 0 {
            return false;
        }
        let ratio = (growth.prompt as f64 - growth.before as f64) / growth.counted as f64;
        // A whole prompt that is far off had something else before its history than we believe.
        if growth.before == 0 && !(RATIO.0..=RATIO.1).contains(&ratio) {
            return false;
        }
        let ratio = ratio.clamp(RATIO.0, RATIO.1);
        let weight = (growth.counted as f64).min(WEIGHT_MAX);
        self.reported = self.reported * FADING + ratio * weight;
        self.counted = self.counted * FADING + weight;
        self.calls = self.calls.saturating_add(1);
        true
    }

    /// Learns from a refusal that says what the whole request takes; whether it is believed. It is of the very request
    /// that must be made to fit by it, so it stands for all that was learned before.
    pub fn learn_refusal(&mut self, requested: u64, counted: u64) -> bool {
        let ratio = requested as f64 / counted as f64;
        let is_believed = (RATIO.0..=RATIO.1).contains(&ratio);
        if is_believed {
            // The sums that make the factor this very ratio, the prior beside them.
            self.counted = WEIGHT_MAX;
            self.reported = ratio * (WEIGHT_MAX + PRIOR_TOKENS) - PRIOR_TOKENS;
            self.calls = self.calls.saturating_add(1);
        }
        is_believed
    }
}
