//! How sessions compact, asked at every check: settings may change while a server runs.

use epitome_core::Policy;
use epitome_engine::Asks;
use std::sync::Arc;

/// Where the rules come from.
pub trait Rules: Send + Sync {
    /// What counts now for sessions with this model.
    fn of(&self, model: &str) -> SessionRule;
}

/// What counts for a session; as [`Rules`], the same for all and for ever.
#[derive(Clone)]
pub struct SessionRule {
    /// How to compact.
    pub policy: Arc<Policy>,
    /// Who can be asked.
    pub asks: Asks,
}

impl SessionRule {
    /// A policy that asks nobody.
    pub fn alone(policy: Policy) -> Self {
        Self { policy: Arc::new(policy), asks: Asks::default() }
    }
}

impl Rules for SessionRule {
    fn of(&self, _: &str) -> SessionRule {
        self.clone()
    }
}
