//! Limits learned from providers' own words, for each model at each address.
//!
//! A value to keep and to hand around; storing it, and saying what time it is, is left to others.

use super::class::{OverflowClass, OverflowVerdict};
use epitome_core::{Tokens, is_window};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Names of models move from one model to the next, so what was learned under a name wears out.
pub const LEARNED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Endpoints kept; whoever uses more of them loses what was learned longest ago.
const ENDPOINTS_MAX: usize = 1_024;

/// A model at an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// Who serves it.
    pub provider: Arc<str>,
    /// Where.
    pub base_url: Arc<str>,
    /// The model's name there.
    pub model: Arc<str>,
    /// The feature of its API that was asked for and comes with another window; empty where none was.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub beta: Arc<str>,
}

impl Endpoint {
    /// A model at an address, with no features beyond the usual.
    pub fn new(provider: &str, base_url: &str, model: &str) -> Self {
        Self { provider: provider.into(), base_url: base_url.into(), model: model.into(), beta: "".into() }
    }

    /// The same with a feature.
    #[must_use]
    pub fn with_beta(self, beta: &str) -> Self {
        Self { beta: beta.into(), ..self }
    }
}

/// What was learned of one endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedLimits {
    /// Prompt and output together.
    pub window: Option<LearnedLimit>,
    /// The prompt alone, where it has a limit of its own.
    pub input_max: Option<LearnedLimit>,
    /// The largest prompt that succeeded.
    pub largest: Tokens,
}

/// A limit, and when it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedLimit {
    /// The limit.
    pub tokens: Tokens,
    /// When, since the epoch.
    pub told_at: Duration,
}

/// What was learned of all endpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LearnedWindows(Vec<(Endpoint, LearnedLimits)>);

impl LearnedWindows {
    /// What is still believed of an endpoint at this time.
    pub fn of(&self, endpoint: &Endpoint, now: Duration) -> LearnedLimits {
        let learned = self.0.iter().find(|(of, _)| of == endpoint).map(|(_, learned)| *learned);
        let learned = learned.unwrap_or_default();
        let fresh =
            |limit: Option<LearnedLimit>| limit.filter(|it| now.saturating_sub(it.told_at) < LEARNED_FOR);
        LearnedLimits { window: fresh(learned.window), input_max: fresh(learned.input_max), ..learned }
    }

    /// Takes in what an error told; says whether anything was learned. A rate is no window, and neither is
    /// a number of bytes.
    pub fn learn(&mut self, endpoint: &Endpoint, verdict: &OverflowVerdict, now: Duration) -> bool {
        let tells = match verdict.class {
            OverflowClass::TokenOverflow
            | OverflowClass::OutputReserve
            | OverflowClass::SoftStop
            | OverflowClass::SilentTruncation => true,
            OverflowClass::PayloadBytes
            | OverflowClass::Media
            | OverflowClass::SizeRate
            | OverflowClass::Throttle
            | OverflowClass::Pairing
            | OverflowClass::ThinkingBinding
            | OverflowClass::Undecryptable
            | OverflowClass::Suspect
            | OverflowClass::Other => false,
        };
        let largest = self.of(endpoint, now).largest;
        let is_sound = |tokens: &Tokens| is_window(*tokens) && *tokens >= largest;
        let limit = |tokens: Option<Tokens>| {
            tokens.filter(is_sound).filter(|_| tells).map(|tokens| LearnedLimit { tokens, told_at: now })
        };
        let (window, input_max) = (limit(verdict.numbers.window), limit(verdict.numbers.input_max));
        if window.is_none() && input_max.is_none() {
            return false;
        }
        let learned = self.entry(endpoint);
        learned.window = window.or(learned.window);
        learned.input_max = input_max.or(learned.input_max);
        true
    }

    /// Takes in a window that was worked out from an error that names none.
    pub fn limit(&mut self, endpoint: &Endpoint, window: Tokens, now: Duration) {
        if is_window(window) && window >= self.of(endpoint, now).largest {
            self.entry(endpoint).window = Some(LearnedLimit { tokens: window, told_at: now });
        }
    }

    /// The endpoints of which something was learned.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.0.iter().map(|(of, _)| of)
    }

    /// Lets go of those that are meant.
    pub fn forget(&mut self, is_meant: impl Fn(&Endpoint) -> bool) {
        self.0.retain(|(of, _)| !is_meant(of));
    }

    /// Notes a prompt that succeeded. Limits below it were wrong, or are no longer true.
    pub fn succeeded(&mut self, endpoint: &Endpoint, prompt: Tokens) {
        let learned = self.entry(endpoint);
        learned.largest = learned.largest.max(prompt);
        let holds = |limit: Option<LearnedLimit>| limit.filter(|limit| limit.tokens >= prompt);
        (learned.window, learned.input_max) = (holds(learned.window), holds(learned.input_max));
    }

    /// The endpoint's row, put at the end: the rows are in the order they were last written.
    fn entry(&mut self, endpoint: &Endpoint) -> &mut LearnedLimits {
        let at = self.0.iter().position(|(of, _)| of == endpoint);
        let row = at.map_or_else(|| (endpoint.clone(), LearnedLimits::default()), |at| self.0.remove(at));
        if self.0.len() >= ENDPOINTS_MAX {
            self.0.remove(0);
        }
        self.0.push(row);
        &mut self.0.last_mut().expect("a row was put there just now").1
    }
}
