//! What is known of providers' endpoints beyond the catalog, in one place: the limits they told, how they count, whether they bind
//! thinking. As a list for people, and what of it is to be forgotten.

use crate::learned_bindings::LearnedBindings;
use epitome_core::Tokens;
use epitome_engine::CalibrationTable;
use epitome_wire::overflow::{Endpoint, LearnedLimit, LearnedWindows};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Everything that was learned of endpoints.
#[derive(Debug, Default)]
pub(crate) struct LearnedFacts {
    pub(crate) windows: LearnedWindows,
    /// How providers count.
    pub(crate) calibrations: CalibrationTable,
    pub(crate) bindings: LearnedBindings,
}

/// What was learned of one model at one address.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EndpointFacts {
    /// The address.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// The feature that was asked for and comes with another window; empty where none was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub beta: String,
    /// All it holds, as it told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<ToldLimit>,
    /// The longest prompt, where that is another limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_max: Option<ToldLimit>,
    /// The longest prompt that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<Tokens>,
    /// What it counts where we count a thousand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<u64>,
    /// Whether it binds thinking to the words before it.
    pub binds_thinking: bool,
}

/// A limit that a provider told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToldLimit {
    /// The limit.
    pub tokens: Tokens,
    /// When, in milliseconds since 1970.
    pub told_ms: u64,
}

impl From<LearnedLimit> for ToldLimit {
    fn from(limit: LearnedLimit) -> Self {
        Self { tokens: limit.tokens, told_ms: limit.told_at.as_millis() as u64 }
    }
}

/// Which endpoints are meant; all of them where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointFilter {
    /// Those at this address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Those of the model of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl EndpointFilter {
    fn means(&self, base_url: &str, model: &str) -> bool {
        let is = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
        is(&self.base_url, base_url) && is(&self.model, model)
    }
}

/// How calibrations name an endpoint: betas count alike.
pub(crate) fn calibration_name(base_url: &str, model: &str) -> String {
    format!("{base_url} {model}")
}

/// An endpoint by address, model and beta.
type EndpointKey = (String, String, String);

fn key(endpoint: &Endpoint) -> EndpointKey {
    (endpoint.base_url.to_string(), endpoint.model.to_string(), endpoint.beta.to_string())
}

impl LearnedFacts {
    /// What is believed at a time, by address and model.
    pub(crate) fn listed(&self, now: Duration) -> Vec<EndpointFacts> {
        let limits = self.windows.endpoints().map(|endpoint| (key(endpoint), self.windows.of(endpoint, now)));
        let limits: BTreeMap<EndpointKey, _> = limits.collect();
        let bound: BTreeSet<EndpointKey> =
            self.bindings.endpoints().filter(|endpoint| self.bindings.has(endpoint, now)).map(key).collect();
        let scales = self.calibrations.rows();
        let scaled = scales.iter().filter(|(_, calibration)| calibration.calls() > 0);
        let scales: BTreeMap<&str, f64> =
            scaled.map(|(name, calibration)| (name.as_str(), calibration.factor())).collect();
        let counted = scales.keys().filter_map(|name| {
            let (base_url, model) = name.split_once(' ')?;
            Some((base_url.to_owned(), model.to_owned(), String::new()))
        });
        let all: BTreeSet<EndpointKey> = limits.keys().chain(&bound).cloned().chain(counted).collect();
        let facts = all.into_iter().map(|of| {
            let known = limits.get(&of).copied().unwrap_or_default();
            let scale = scales.get(calibration_name(&of.0, &of.1).as_str());
            EndpointFacts {
                window: known.window.map(ToldLimit::from),
                input_max: known.input_max.map(ToldLimit::from),
                largest: Some(known.largest).filter(|largest| !largest.is_zero()),
                scale: scale.map(|factor| (factor * 1_000.0).round() as u64),
                binds_thinking: bound.contains(&of),
                base_url: of.0,
                model: of.1,
                beta: of.2,
            }
        });
        facts.collect()
    }

    /// Forgets what is meant; of how many endpoints.
    pub(crate) fn forget(&mut self, filter: &EndpointFilter) -> usize {
        let before = self.listed(Duration::ZERO).len();
        self.windows.forget(|endpoint| filter.means(&endpoint.base_url, &endpoint.model));
        self.bindings.forget(|endpoint| filter.means(&endpoint.base_url, &endpoint.model));
        self.calibrations.forget(|name| {
            name.split_once(' ').is_some_and(|(base_url, model)| filter.means(base_url, model))
        });
        before - self.listed(Duration::ZERO).len()
    }
}

#[cfg(test)]
mod tests {
    use super::{EndpointFilter, LearnedFacts};
    use epitome_core::Tokens;
    use epitome_wire::overflow::Endpoint;
    use serde_json::json;
    use std::time::Duration;

    #[test]
    fn what_was_learned_is_listed_and_forgotten_by_model() {
        let mut facts = LearnedFacts::default();
        let [plain, long, other] = [("m", ""), ("m", "context-1m-2025-08-07"), ("n", "")]
            .map(|(model, beta)| Endpoint::new("p", "http://x", model).with_beta(beta));
        let now = Duration::from_millis(7);
        facts.windows.limit(&plain, Tokens(200_000), now);
        facts.windows.limit(&long, Tokens(900_000), now);
        facts.bindings.learn(&other, now);
        let limit = |tokens: u64| json!({"tokens": tokens, "told_ms": 7});
        let expected = json!([
            {"base_url": "http://x", "model": "m", "window": limit(200_000), "binds_thinking": false},
            {"base_url": "http://x", "model": "m", "beta": "context-1m-2025-08-07", "window": limit(900_000), "binds_thinking": false},
            {"base_url": "http://x", "model": "n", "binds_thinking": true},
        ]);
        assert_eq!(json!(facts.listed(now)), expected);
        let of = EndpointFilter { model: Some("m".into()), ..EndpointFilter::default() };
        assert_eq!((facts.forget(&of), facts.listed(now).len()), (2, 1));
        assert_eq!((facts.forget(&EndpointFilter::default()), facts.listed(now).len()), (1, 0));
    }
}
