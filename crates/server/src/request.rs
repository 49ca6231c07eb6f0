//! A request of a conversation, read: its protocol, whose it is, and the chain of hashes by which it is found again.

use crate::body::{Body, BodyError};
use crate::headers;
use crate::reading;
use crate::reply::Sender;
use crate::routes::Route;
use crate::server_state::ServerState;
use crate::settings::Upstream;
use crate::walk::PreparedRequest;
use axum::http::HeaderMap;
use epitome_engine::store::{ChainHash, TenantId};
use epitome_wire::Protocol;
use epitome_wire::overflow::Endpoint;
use std::ops::Range;
use std::sync::Arc;

/// How features of Anthropic's API begin that come with another window: what is learned with one says nothing of requests without.
const WINDOW_BETA: &str = "context-1m";

/// A request whose conversation can be told.
pub(crate) struct Request {
    pub(crate) protocol: Protocol,
    /// Where it goes.
    pub(crate) upstream: Upstream,
    pub(crate) body: Body,
    /// How many elements at the start of the list are instructions, or what the provider made of earlier ones.
    pub(crate) opening: usize,
    /// The summary in it that its provider has made and sealed, with what must stay behind that.
    pub(crate) sealed: Option<Range<usize>>,
    pub(crate) tenant: TenantId,
    /// Of each element behind the opening.
    pub(crate) hashes: Vec<ChainHash>,
    pub(crate) credentials: Vec<(String, String)>,
    pub(crate) beta: Option<Arc<str>>,
    pub(crate) agent: Option<String>,
}

impl Request {
    /// The request of a body; none where it says nothing.
    pub(crate) fn new(
        state: &ServerState,
        route: &Route<'_>,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Self, BodyError> {
        let (key, protocol) = (&state.key, route.protocol);
        let upstream = route.upstream_for(&state.settings.upstreams, body.model()).clone();
        let (credentials, beta) = (headers::credentials(headers), headers::beta(headers));
        let agent = headers::agent(headers);
        let sealed = reading::sealed(protocol, &body);
        let opening = reading::count_opening(protocol, &body, sealed.as_ref());
        let tenant = key.tenant(credentials.iter().map(|(_, value)| value.as_bytes()));
        // Two histories behind two sealed summaries are two, though they say the same.
        let seed = sealed.clone().into_iter().flatten();
        let mut hash = seed.fold(key.seed(protocol), |hash, at| key.next(hash, body.element(at)));
        let mut hashes = Vec::with_capacity(body.len() - opening);
        for at in opening..body.len() {
            hash = key.next(hash, body.element(at));
            hashes.push(hash);
        }
        if hashes.is_empty() {
            return Err(BodyError::Silent);
        }
        Ok(Self { protocol, upstream, body, opening, sealed, tenant, hashes, credentials, beta, agent })
    }

    /// Its bytes as they came.
    pub(crate) fn as_it_came(&self, from: Sender) -> PreparedRequest {
        PreparedRequest { body: self.body.bytes().clone(), beta: None, from, session: None }
    }

    /// Where a model of it is, and as what things are learned of it. With a beta for a longer window a model is another: what was
    /// learned of one says nothing of the other.
    pub(crate) fn endpoint(&self, model: &str) -> Endpoint {
        let base_url = self.upstream.to_string();
        let betas = self.beta.as_deref().unwrap_or_default().split(',').map(str::trim);
        let beta = betas.into_iter().find(|beta| beta.starts_with(WINDOW_BETA)).unwrap_or_default();
        Endpoint::new(self.protocol.name(), &base_url, model).with_beta(beta)
    }
}
