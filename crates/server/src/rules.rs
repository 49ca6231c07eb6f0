//! How sessions compact, asked at every request: settings may change while a server runs. Who writes summaries is part
//! of it; how models are called is left to whoever makes the rules.

use crate::settings::Upstream;
use bytes::Bytes;
use epitome_core::Policy;
use epitome_engine::{Model, Ports, WindowFacts};
use epitome_wire::Protocol;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Where the rules come from.
pub trait Rules: Send + Sync {
    /// What counts now for this request.
    fn of(&self, caller: &Caller<'_>) -> SessionRule;

    /// What counts for one act that says some of it otherwise, by the names of settings; stored settings stay as they are.
    ///
    /// # Errors
    /// Why that cannot be used, and what to do.
    fn of_act(&self, _: &Caller<'_>, _: &Map<String, Value>) -> Result<SessionRule, String> {
        Err("the rules of this server are the same for every act; leave out `set`".into())
    }
}

/// Whose request it is, as far as rules may look at it.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'r> {
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// The model it asks for.
    pub model: &'r str,
    /// The agent it says it is of, by name.
    pub agent: Option<&'r str>,
    /// The request's own credential headers, name and value; held while the request waits, or for as long as a summary
    /// it began in the background is written, and no longer.
    pub credentials: &'r [(String, String)],
    /// Where the request goes.
    pub upstream: &'r Upstream,
    /// What is known of the window of its model.
    pub known: WindowFacts,
}

/// What counts for a session; as [`Rules`], the same for all and for ever.
#[derive(Clone)]
pub struct SessionRule {
    /// How to compact.
    pub policy: Arc<Policy>,
    /// Who can be asked, by anybody who works on the session.
    pub ports: Ports,
    /// Who can be asked while this request is worked on, or for as long as a summary it began in the background is
    /// written, and no longer.
    pub own_model: OwnModel,
}

/// The model of a request itself, as a writer of summaries: it is asked with the request's own credential.
#[derive(Clone)]
pub enum OwnModel {
    /// The policy has somebody else write.
    Unwanted,
    /// It can be asked.
    Ready(RequestModel),
    /// It cannot, and why.
    Refused(Arc<str>),
}

/// A request's own model that can be asked.
#[derive(Clone)]
pub struct RequestModel {
    /// It.
    pub model: Arc<dyn Model>,
    /// Takes the request as it stands before a compaction, for a summary that goes on from it: its provider has most of
    /// it in its cache.
    pub remember: Arc<dyn Fn(WarmRequest) + Send + Sync>,
}

/// A request that a provider knows the beginning of.
#[derive(Clone, Debug)]
pub struct WarmRequest {
    /// Its body.
    pub body: Bytes,
    /// Its `anthropic-beta` header, where it has one: fields of the body may depend on it.
    pub beta: Option<Arc<str>>,
}

impl SessionRule {
    /// A policy that asks nobody.
    pub fn alone(policy: Policy) -> Self {
        Self { policy: Arc::new(policy), ports: Ports::default(), own_model: OwnModel::Unwanted }
    }
}

impl Rules for SessionRule {
    fn of(&self, _: &Caller<'_>) -> SessionRule {
        self.clone()
    }
}
