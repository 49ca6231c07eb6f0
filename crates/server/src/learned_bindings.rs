//! Endpoints whose models bind thinking to the words before it, as their refusals have told: whoever compacts for them leaves it out
//! before it is refused.

use epitome_wire::overflow::{Endpoint, LEARNED_FOR};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Names of models come from clients: past so many, what was told longest ago is let go.
const ENDPOINTS_MAX: usize = 1_024;

/// The endpoints, each with when it told, since the epoch; the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct LearnedBindings(Vec<(Endpoint, Duration)>);

impl LearnedBindings {
    /// Whether an endpoint is still believed to bind thinking.
    pub(crate) fn has(&self, endpoint: &Endpoint, now: Duration) -> bool {
        let told = self.0.iter().find(|(of, _)| of == endpoint);
        told.is_some_and(|(_, told_at)| now.saturating_sub(*told_at) < LEARNED_FOR)
    }

    /// Takes in a refusal.
    pub(crate) fn learn(&mut self, endpoint: &Endpoint, now: Duration) {
        self.0.retain(|(of, _)| of != endpoint);
        if self.0.len() >= ENDPOINTS_MAX {
            self.0.remove(0);
        }
        self.0.push((endpoint.clone(), now));
    }

    /// Lets go of those that are meant.
    pub(crate) fn forget(&mut self, is_meant: impl Fn(&Endpoint) -> bool) {
        self.0.retain(|(of, _)| !is_meant(of));
    }

    /// The endpoints.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.0.iter().map(|(of, _)| of)
    }
}

#[cfg(test)]
mod tests {
    use super::{ENDPOINTS_MAX, LEARNED_FOR, LearnedBindings};
    use epitome_wire::overflow::Endpoint;
    use std::time::Duration;

    #[test]
    fn what_was_told_longest_ago_is_let_go_and_wears_out() {
        let of = |model: &str| Endpoint::new("p", "http://x", model);
        let mut learned = LearnedBindings::default();
        learned.learn(&of("first"), Duration::ZERO);
        assert_eq!([Duration::ZERO, LEARNED_FOR].map(|now| learned.has(&of("first"), now)), [true, false]);
        (0..ENDPOINTS_MAX).for_each(|number| learned.learn(&of(&number.to_string()), Duration::ZERO));
        assert_eq!((learned.has(&of("first"), Duration::ZERO), learned.0.len()), (false, ENDPOINTS_MAX));
    }
}
