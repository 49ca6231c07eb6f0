//! Correcting estimates by what providers report.
//!
//! One [`Calibration`] belongs to one model at one address. It holds a factor on estimates, moved a
//! little by each reply, and how far off the estimates were lately, which becomes the margin of
//! every figure. Keeping it between runs is left to whoever stores things.

use crate::tokenizer::Method;
use crate::usage::{Anchor, Epoch, Usage};
use serde::{Deserialize, Serialize};

/// How much of the difference one reply corrects.
const GAIN: f64 = 0.2;
/// The most one reply moves the factor.
const STEP_MAX: f64 = 0.15;
/// The least and the most one reply may say, and the factor may become.
const RATIO: (f64, f64) = (0.5, 2.0);
/// The margin before anything is known.
const MARGIN_START: f64 = 0.15;
/// The margin never falls below this: replies differ.
const MARGIN_MIN: f64 = 0.02;
/// A new part smaller than this says little about the factor.
const NEW_TOKENS_MIN: u64 = 500;
/// Contradictions in a row after which usage is no longer believed.
const STRIKES_MAX: u8 = 2;

/// What one model at one address has taught us about our estimates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    factor: f64,
    error: f64,
    replies: u32,
    strikes: u8,
}

/// One reply: what we expected of its prompt, and what the provider reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The epoch of the request.
    pub epoch: Epoch,
    /// What was reported.
    pub usage: Usage,
    /// Whether the report is of this one request, and the reply came to its end.
    pub kind: SampleKind,
    /// The measured prefix the request began with, if there was one.
    pub anchor: Option<Anchor>,
    /// Tokens known by rule: images, tool prompts, framing. Beyond the anchor, if there is one.
    pub fixed: u64,
    /// The estimate of everything else, without any factor. Beyond the anchor, if there is one.
    pub estimated: u64,
}

/// What a report is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleKind {
    /// One request, answered to its end.
    Single,
    /// Several requests summed up.
    Aggregate,
    /// A reply that failed or was stopped.
    Broken,
}

/// What came of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleResult {
    /// The factor moved towards this ratio of reported to expected.
    Learned {
        /// Reported over expected, within bounds.
        ratio: f64,
    },
    /// The sample was passed over.
    Rejected(Rejection),
}

/// Why a sample was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rejection {
    /// Every figure was zero.
    Zero,
    /// Several requests summed up.
    Aggregate,
    /// A reply that failed or was stopped.
    Broken,
    /// Measured before the last compaction, edit or switch.
    OldEpoch,
    /// Next to nothing was estimated, so there is nothing to compare.
    TooSmall,
    /// More than twice or less than half of what we expected.
    Contradiction,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { factor: 1.0, error: MARGIN_START / 2.0, replies: 0, strikes: 0 }
    }
}

impl Calibration {
    /// A calibration that has learned nothing yet. Exact counts start with the smallest margin.
    #[must_use]
    pub fn for_method(method: Method) -> Self {
        let margin = if method.is_exact() { MARGIN_MIN } else { MARGIN_START };
        Self { error: margin / 2.0, ..Self::default() }
    }

    /// The factor on estimates.
    #[must_use]
    pub const fn factor(&self) -> f64 {
        self.factor
    }

    /// How many replies it was learned from.
    #[must_use]
    pub const fn replies(&self) -> u32 {
        self.replies
    }

    /// The part of an estimate to allow for error: twice what estimates were off by lately.
    #[must_use]
    pub fn margin(&self) -> f64 {
        (2.0 * self.error).max(MARGIN_MIN)
    }

    /// Whether this provider's usage is believed. Two contradictions in a row end that, one report
    /// that agrees restores it.
    #[must_use]
    pub const fn is_usage_trusted(&self) -> bool {
        self.strikes < STRIKES_MAX
    }

    /// An estimate, corrected.
    #[must_use]
    pub fn correct(&self, estimated: u64) -> u64 {
        (estimated as f64 * self.factor).round() as u64
    }

    /// An amount of estimated tokens that comes to `tokens` once corrected: for budgets of text.
    #[must_use]
    pub fn uncorrect(&self, tokens: u64) -> u64 {
        (tokens as f64 / self.factor) as u64
    }

    /// Learns from one reply; `now` is the session's epoch.
    pub fn learn(&mut self, sample: &Sample, now: Epoch) -> SampleResult {
        if let Some(rejection) = self.reject(sample, now) {
            self.strikes = self.strikes_after(rejection);
            return SampleResult::Rejected(rejection);
        }
        let ratio = (sample.measured() / self.expected(sample)).clamp(RATIO.0, RATIO.1);
        self.error += GAIN * ((ratio - 1.0).abs() - self.error);
        let step = (GAIN * (ratio - 1.0)).clamp(-STEP_MAX, STEP_MAX);
        self.factor = (self.factor * (1.0 + step)).clamp(RATIO.0, RATIO.1);
        self.replies = self.replies.saturating_add(1);
        self.strikes = 0;
        SampleResult::Learned { ratio }
    }

    fn reject(&self, sample: &Sample, now: Epoch) -> Option<Rejection> {
        match sample.kind {
            SampleKind::Aggregate => return Some(Rejection::Aggregate),
            SampleKind::Broken => return Some(Rejection::Broken),
            SampleKind::Single if sample.usage.is_zero() => return Some(Rejection::Zero),
            SampleKind::Single => {}
        }
        if sample.epoch != now || sample.anchor.is_some_and(|anchor| anchor.epoch != now) {
            return Some(Rejection::OldEpoch);
        }
        let whole = sample.usage.prompt as f64 / (sample.known() as f64 + self.expected(sample));
        if !(RATIO.0..=RATIO.1).contains(&whole) {
            return Some(Rejection::Contradiction);
        }
        (sample.estimated < NEW_TOKENS_MIN).then_some(Rejection::TooSmall)
    }

    const fn strikes_after(&self, rejection: Rejection) -> u8 {
        match rejection {
            Rejection::Contradiction => self.strikes.saturating_add(1),
            Rejection::TooSmall => 0,
            Rejection::Zero | Rejection::Aggregate | Rejection::Broken | Rejection::OldEpoch => self.strikes,
        }
    }

    /// What we expected of the estimated part.
    fn expected(&self, sample: &Sample) -> f64 {
        sample.estimated as f64 * self.factor
    }
}

impl Sample {
    /// What was known before the request was sent: the anchor and the parts counted by rule.
    fn known(&self) -> u64 {
        self.fixed.saturating_add(self.anchor.map_or(0, |anchor| anchor.known()))
    }

    /// What the provider counted for the estimated part.
    fn measured(&self) -> f64 {
        self.usage.prompt.saturating_sub(self.known()) as f64
    }
}
