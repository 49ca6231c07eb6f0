//! How sessions compact, asked at every request: settings may change while a server runs.

use epitome_core::Policy;
use epitome_engine::Ports;
use epitome_wire::Protocol;
use std::sync::Arc;

/// Where the rules come from.
pub trait Rules: Send + Sync {
    /// What counts now for this request.
    fn of(&self, caller: &Caller<'_>) -> SessionRule;
}

/// Whose request it is, as far as rules may look at it.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'r> {
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// The model it asks for.
    pub model: &'r str,
    /// The request's own credential headers, name and value; held while the request waits, and no longer.
    pub credentials: &'r [(String, String)],
}

/// What counts for a session; as [`Rules`], the same for all and for ever.
#[derive(Clone)]
pub struct SessionRule {
    /// How to compact.
    pub policy: Arc<Policy>,
    /// Who can be asked.
    pub ports: Ports,
}

impl SessionRule {
    /// A policy that asks nobody.
    pub fn alone(policy: Policy) -> Self {
        Self { policy: Arc::new(policy), ports: Ports::default() }
    }
}

impl Rules for SessionRule {
    fn of(&self, _: &Caller<'_>) -> SessionRule {
        self.clone()
    }
}
