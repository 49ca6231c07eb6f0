//! A request of a conversation, read: its protocol, whose it is, and the chain of hashes by which it is found again.

use crate::body::{Body, BodyError};
use crate::chain::ChainKey;
use crate::ended_call::CallKey;
use crate::headers;
use crate::reply::Sender;
use crate::request_reader;
use crate::routes::Route;
use crate::seen_lists::ElementLink;
use crate::server_state::ServerState;
use crate::settings::Upstream;
use crate::surroundings::Surroundings;
use crate::walk::PreparedRequest;
use axum::http::HeaderMap;
use epitome_core::EntryId;
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
    /// The model of its body at its upstream: what is learned of windows and of counting is kept under this.
    pub(crate) endpoint: Endpoint,
    pub(crate) body: Body,
    /// How many elements at the start of the list are instructions, or what the provider made of earlier ones.
    pub(crate) opening: usize,
    /// The summary in it that its provider has made and sealed, with what must stay behind that.
    pub(crate) sealed: Option<Range<usize>>,
    /// What stands around its messages.
    pub(crate) around: Arc<Surroundings>,
    pub(crate) tenant: TenantId,
    /// Of each element behind the opening.
    pub(crate) hashes: Vec<ChainHash>,
    pub(crate) credentials: Vec<(String, String)>,
    pub(crate) beta: Option<Arc<str>>,
    pub(crate) agent: Option<String>,
}

/// Whose a request is.
pub(crate) struct RequestOwner {
    pub(crate) tenant: TenantId,
    credentials: Vec<(String, String)>,
}

impl RequestOwner {
    /// Whoever has the credentials in these headers.
    pub(crate) fn of(key: &ChainKey, headers: &HeaderMap) -> Self {
        let credentials = headers::credentials(headers);
        let tenant = key.tenant(credentials.iter().map(|(_, value)| value.as_bytes()));
        Self { tenant, credentials }
    }
}

/// What a body says of itself, whoever sends it.
pub(crate) struct ReadBody {
    pub(crate) body: Body,
    pub(crate) opening: usize,
    sealed: Option<Range<usize>>,
    around: Arc<Surroundings>,
    pub(crate) hashes: Vec<ChainHash>,
}

impl ReadBody {
    /// What a body says; nothing where it says nothing. Its list is remembered.
    pub(crate) fn new(state: &ServerState, protocol: Protocol, mut body: Body) -> Result<Self, BodyError> {
        let sealed = request_reader::sealed(protocol, &body);
        let opening = request_reader::count_opening(protocol, &body, sealed.as_ref());
        let hashes = chain(&state.key, protocol, &body, opening, sealed.clone());
        if hashes.is_empty() {
            return Err(BodyError::Silent);
        }
        if sealed.is_none() {
            let opening = std::iter::repeat_n(ElementLink::Opening, opening);
            body.remember_list(&state.lists, opening.chain(hashes.iter().copied().map(ElementLink::Hash)));
        }
        let around = state.surroundings.of(&state.key, protocol, &body, opening);
        Ok(Self { body, opening, sealed, around, hashes })
    }
}

impl Request {
    /// The request of a body.
    pub(crate) fn new(
        state: &ServerState,
        route: &Route<'_>,
        headers: &HeaderMap,
        owner: RequestOwner,
        read: ReadBody,
    ) -> Self {
        let RequestOwner { tenant, credentials } = owner;
        let ReadBody { body, opening, sealed, around, hashes } = read;
        let upstream = route.upstream_for(&state.settings.upstreams, body.model()).clone();
        let (agent, protocol, beta) = (headers::agent(headers), route.protocol, headers::beta(headers));
        let endpoint = Endpoint::new(protocol.name(), &upstream.to_string(), body.model());
        let endpoint = endpoint.with_beta(window_beta(beta.as_deref().unwrap_or_default()));
        Self {
            protocol,
            upstream,
            endpoint,
            body,
            opening,
            sealed,
            around,
            tenant,
            hashes,
            credentials,
            beta,
            agent,
        }
    }

    /// Its bytes as they came.
    pub(crate) fn as_it_came(&self, from: Sender) -> PreparedRequest {
        PreparedRequest { body: self.body.bytes().clone(), beta: None, from, session: None }
    }

    /// What its call is known by, where its list ends with `leaf`.
    pub(crate) fn call_key(&self, leaf: EntryId) -> CallKey {
        CallKey { leaf, model: self.endpoint.model.clone(), agent: self.around.prefix.agent }
    }

    /// The endpoint of another model at the same upstream, with the same beta.
    pub(crate) fn endpoint_of(&self, model: &str) -> Endpoint {
        let endpoint = self.endpoint.clone();
        if *endpoint.model == *model { endpoint } else { Endpoint { model: model.into(), ..endpoint } }
    }
}

/// The feature among these that comes with another window. With it a model is another: what was learned of one says nothing of the other.
fn window_beta(betas: &str) -> &str {
    betas.split(',').map(str::trim).find(|beta| beta.starts_with(WINDOW_BETA)).unwrap_or_default()
}

/// The hash of each element behind the opening; those that are known are not hashed again.
fn chain(
    key: &ChainKey,
    protocol: Protocol,
    body: &Body,
    opening: usize,
    sealed: Option<Range<usize>>,
) -> Vec<ChainHash> {
    let is_plain = sealed.is_none();
    // Two histories behind two sealed summaries are two, though they say the same.
    let seed = sealed.into_iter().flatten();
    let mut hash = seed.fold(key.seed(protocol), |hash, at| key.next(hash, body.element(at)));
    let next = |at: usize| {
        hash = match body.link(at) {
            ElementLink::Hash(known) if is_plain => known,
            ElementLink::Hash(_) | ElementLink::Opening | ElementLink::Unread => {
                key.next(hash, body.element(at))
            }
        };
        hash
    };
    (opening..body.len()).map(next).collect()
}
