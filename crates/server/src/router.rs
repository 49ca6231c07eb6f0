//! What is done at each path. Handlers decode, make one call, and encode; which path of a provider goes where is `routes`'.

use crate::background_store::Storing;
use crate::body::{Body as RequestBody, BodyError, BodyText};
use crate::early_stream::{LongWait, respond};
use crate::fault::Fault;
use crate::notice::NoticeKind;
use crate::outward::{PassedBody, Path};
use crate::reply::{FirstLook, open};
use crate::request::{ReadBody, Request, RequestOwner};
use crate::routes::{self, Route, Treatment};
use crate::server_state::ServerState;
use crate::walk::{PreparedRequest, mend, prepare};
use crate::{
    api, api_token, blocking, credentials, endpoints_api, guard, headers, metrics, responses, token_count,
};
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router, middleware};
use bytes::Bytes;
use epitome_engine::store::TenantId;
use epitome_wire::Protocol;
use futures_util::StreamExt as _;
use futures_util::future::{FutureExt, join};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// Twice what the most generous provider takes.
const BODY_BYTES_MAX: usize = 64 << 20;
/// A body that only passes is held up to this: it can be sent again, and its model be looked at.
const HELD_BYTES_MAX: usize = 1 << 20;

type Incoming = axum::extract::Request;

/// All paths of the server.
pub(crate) fn router(state: Arc<ServerState>) -> Router {
    // Anthropic has nothing to get there: it is somebody who tries the address in a browser.
    let anthropic = post(converse).get(not_posted).fallback(dispatch);
    let of_operators = Router::new()
        .route("/metrics", get(show_metrics))
        .merge(api::router())
        .merge(endpoints_api::router())
        .route("/api/v1", any(unknown))
        .route("/api/v1/{*rest}", any(unknown))
        .layer(middleware::from_fn_with_state(state.clone(), api_token::check));
    Router::new()
        .route("/", get(greet))
        .route("/healthz", get(health))
        .route("/readyz", get(ready))
        .merge(of_operators)
        .route("/anthropic/v1/messages", anthropic.clone())
        .route("/v1/messages", anthropic)
        // Every other path is a row of the table of routes.
        .fallback(dispatch)
        .layer(middleware::from_fn(guard::refuse_upgrade))
        .layer(middleware::from_fn(guard::check))
        .with_state(state)
}

/// What whoever opens the address in a browser has found.
async fn greet(State(state): State<Arc<ServerState>>) -> String {
    let key =
        state.settings.api_token.as_ref().map_or("", |_| "They ask for `Authorization: Bearer TOKEN`.\n");
    format!(
        "epitome {}: agents point their base URL here.\n/api/v1/stats     what it has saved\n/api/v1/sessions  the conversations\n/metrics          for Prometheus\n{key}",
        env!("CARGO_PKG_VERSION")
    )
}

async fn health() -> impl IntoResponse {
    Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}))
}

/// Whether a request would get through. A provider that did not answer last is tried again first: whoever sends no requests
/// to a server that is not ready would else never learn that it is.
async fn ready(State(state): State<Arc<ServerState>>) -> impl IntoResponse {
    let mut unreachable = Vec::new();
    for upstream in state.outages() {
        let reached = state.outward.reach(&upstream).await;
        state.note_reach(&upstream, reached.as_ref().err());
        unreachable.extend(reached.is_err().then(|| upstream.to_string()));
    }
    let (status, word) = if unreachable.is_empty() {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "unreachable")
    };
    (status, Json(json!({"status": word, "unreachable": unreachable})))
}

/// The totals as monitoring systems read them.
async fn show_metrics(State(state): State<Arc<ServerState>>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], metrics::text(&state.counter.totals()))
}

async fn not_posted() -> Response {
    Fault::NotPosted.response(Protocol::Anthropic)
}

async fn unknown() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, Json(json!({"error": "there is no such path; see docs/reference/proxy.md"})))
}

/// A request of a conversation.
async fn converse(State(state): State<Arc<ServerState>>, request: Incoming) -> Response {
    let (parts, body) = request.into_parts();
    match admit(&state, &parts) {
        Ok(route) => converse_by(&state, &route, &parts, body).await,
        Err((protocol, fault)) => refuse(&state, &parts, protocol, &fault),
    }
}

async fn converse_by(state: &Arc<ServerState>, route: &Route<'_>, parts: &Parts, body: Body) -> Response {
    let protocol = route.protocol;
    // What one of us asks for a summary is made to fit by whoever asks: compacted here too, it would never end.
    if headers::is_summary_call(&parts.headers) {
        return pass_by(state, route, parts, body).await;
    }
    if let Some(why) = headers::why_not_ours(&parts.headers) {
        state.tell_passed_on(tenant(state, &parts.headers), why.to_owned());
        return pass_by(state, route, parts, body).await;
    }
    let bytes = match collect(body, headers::length(&parts.headers)).await {
        Ok(bytes) => bytes,
        Err(fault) => return fault.response(protocol),
    };
    let request = match read(state, route, &parts.headers, bytes).await {
        Ok(request) => Arc::new(request),
        Err(Unread { bytes, why }) => {
            state.tell_passed_on(tenant(state, &parts.headers), why.to_string());
            return pass_by(state, route, parts, bytes.into()).await;
        }
    };
    if let Err(fault) = credentials::check(&parts.headers, &request.upstream) {
        return refuse(state, parts, protocol, &fault);
    }
    let is_streamed = request.body.field("stream") == Some("true");
    let (state, call) = (state.clone(), ForwardedCall::new(route, parts));
    respond(protocol, is_streamed, |wait| {
        let answered = async move { answer(&state, &call, &request, wait).await };
        answered.map(move |answer| answer.unwrap_or_else(|fault| fault.response(protocol))).boxed()
    })
    .await
}

/// Where a request goes, unless it goes nowhere: by its path, or because it has been here; then the protocol in which that is said.
fn admit<'r>(state: &'r ServerState, parts: &'r Parts) -> Result<Route<'r>, (Protocol, Fault)> {
    let is_anthropic = parts.headers.contains_key("anthropic-version");
    let told_in = if is_anthropic { Protocol::Anthropic } else { Protocol::OpenaiChat };
    let route = routes::find(&state.settings.upstreams, parts).map_err(|fault| (told_in, fault))?;
    let looped = state.outward.check_loop(&parts.headers, route.upstream);
    looped.map_err(|fault| (route.protocol, fault))?;
    if let Some(fault) = route.mended {
        let asked = format!("{} {}", parts.method, parts.uri.path());
        let served = route.path.to_string();
        state.tell_once(tenant(state, &parts.headers), NoticeKind::BaseUrl { asked, fault, served });
    }
    Ok(route)
}

/// Answers a request that is not sent, and tells the operator.
fn refuse(state: &ServerState, parts: &Parts, protocol: Protocol, fault: &Fault) -> Response {
    let why = fault.to_string();
    state.tell_once(tenant(state, &parts.headers), NoticeKind::Refused { why });
    fault.response(protocol)
}

/// A body whose request cannot be told, as it came.
struct Unread {
    bytes: Bytes,
    why: BodyError,
}

/// Shorter bodies are read where they came in: to have another thread do it takes as long as that.
const INLINE_BYTES_MAX: usize = 64 << 10;

/// The request in a body, with what its client left unsaid because the provider has it.
async fn read(
    state: &Arc<ServerState>,
    route: &Route<'_>,
    headers: &HeaderMap,
    bytes: Vec<u8>,
) -> Result<Request, Unread> {
    let is_long = bytes.len() > INLINE_BYTES_MAX;
    let owner = RequestOwner::of(&state.key, headers);
    let work = {
        let (state, tenant) = (state.clone(), owner.tenant);
        let (protocol, model) = (route.protocol, route.model.map(str::to_owned));
        async move || read_body(&state, protocol, tenant, model.as_deref(), bytes).await
    };
    let read = if is_long {
        blocking::run(work).await.expect("no bytes make a reader panic, here or on a thread of their own")
    } else {
        work().await
    };
    read.map(|read| Request::new(state, route, headers, owner, read))
}

/// What a body of a tenant says; its path may name the model where it does not.
async fn read_body(
    state: &ServerState,
    protocol: Protocol,
    tenant: TenantId,
    model: Option<&str>,
    bytes: Vec<u8>,
) -> Result<ReadBody, Unread> {
    let text = BodyText::new(bytes).map_err(|bytes| Unread { bytes, why: BodyError::NotText })?;
    let read = async {
        let recall = |list: &str| state.lists.recall(&state.key, tenant, protocol, list.as_bytes());
        let body = RequestBody::read(protocol, text.clone(), recall)?.or_model(model);
        let body = match protocol {
            Protocol::Anthropic | Protocol::OpenaiChat => body,
            Protocol::OpenaiResponses => responses::complete(state, tenant, body).await?,
        };
        ReadBody::new(state, protocol, body)
    };
    read.await.map_err(|why| Unread { bytes: text.bytes(), why })
}

/// So much room is made for a body on the word of its headers.
const ROOM_BYTES_MAX: usize = 8 << 20;

/// All bytes of a body that says how long it is, or does not.
async fn collect(body: Body, length: Option<usize>) -> Result<Vec<u8>, Fault> {
    // What has to grow is copied, and takes up to twice its room.
    let mut bytes = Vec::with_capacity(length.unwrap_or_default().min(ROOM_BYTES_MAX));
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Fault::BrokenOff)?;
        if bytes.len() + piece.len() > BODY_BYTES_MAX {
            return Err(Fault::TooLarge { bytes_max: BODY_BYTES_MAX });
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// A question how long a request is: answered for what would be sent of it.
async fn count_by(state: &Arc<ServerState>, route: &Route<'_>, parts: &Parts, body: Body) -> Response {
    if headers::why_not_ours(&parts.headers).is_some() {
        return pass_by(state, route, parts, body).await;
    }
    let bytes = match collect(body, headers::length(&parts.headers)).await {
        Ok(bytes) => bytes,
        Err(fault) => return fault.response(route.protocol),
    };
    let request = match read(state, route, &parts.headers, bytes).await {
        Ok(request) => request,
        Err(Unread { bytes, .. }) => return pass_by(state, route, parts, bytes.into()).await,
    };
    if let Err(fault) = credentials::check(&parts.headers, &request.upstream) {
        return refuse(state, parts, route.protocol, &fault);
    }
    let path = Path { path: &route.path, query: parts.uri.query(), headers: &parts.headers, beta: None };
    let counted = token_count::count(state, &path, Arc::new(request)).await;
    counted.unwrap_or_else(|fault| fault.response(route.protocol))
}

/// Whose requests have these headers.
fn tenant(state: &ServerState, headers: &HeaderMap) -> TenantId {
    RequestOwner::of(&state.key, headers).tenant
}

/// Sends a request that was made to fit; once more, where the provider refuses it for something that can be mended.
async fn answer(
    state: &Arc<ServerState>,
    call: &ForwardedCall,
    request: &Arc<Request>,
    mut wait: LongWait,
) -> Result<Response, Fault> {
    let protocol = call.protocol;
    let first = wait.watch(prepare(state, request)).await;
    let (refused, remedy) = match send(state, call, request, &first).await? {
        FirstLook::Reply(reply) => return Ok(reply.relay(protocol, first.from)),
        FirstLook::Refused(refused, remedy) => (refused, remedy),
    };
    let Some(second) = wait.watch(mend(state, request, remedy, &first)).await else {
        return Ok(refused.relay(protocol, first.from));
    };
    // A second refusal is the client's to see, as the provider wrote it.
    let reply = match send(state, call, request, &second).await? {
        FirstLook::Reply(reply) | FirstLook::Refused(reply, _) => reply,
    };
    Ok(reply.relay(protocol, second.from))
}

/// How a conversation's request goes on, apart from its body: it may outlast the handler, where its stream is opened early.
struct ForwardedCall {
    protocol: Protocol,
    path: String,
    query: Option<String>,
    headers: HeaderMap,
}

impl ForwardedCall {
    fn new(route: &Route<'_>, parts: &Parts) -> Self {
        let query = parts.uri.query().map(str::to_owned);
        Self { protocol: route.protocol, path: route.path.to_string(), query, headers: parts.headers.clone() }
    }
}

async fn send(
    state: &Arc<ServerState>,
    call: &ForwardedCall,
    request: &Request,
    prepared: &PreparedRequest,
) -> Result<FirstLook, Fault> {
    let ForwardedCall { protocol, path, query, headers } = call;
    let path = Path { path, query: query.as_deref(), headers, beta: prepared.beta };
    let upstream = &request.upstream;
    let sending = state.outward.send(upstream, &path, prepared.body.clone());
    // Sent first: the task that writes to the provider's connection is woken before the thread that stores what was said.
    let (sent, storing) = join(sending, async { Storing::begin(state, prepared.session) }).await;
    storing.end(state).await;
    state.note_reach(upstream, sent.as_ref().err());
    let opened = match sent {
        Ok(response) => Ok(open(*protocol, response, &prepared.from.known).await),
        Err(fault) => Err(fault),
    };
    opened.inspect_err(|_| prepared.from.fail())
}

fn unread(error: &axum::Error) -> Fault {
    let is_too_large = crate::fault::told(error).contains("length limit exceeded");
    if is_too_large { Fault::TooLarge { bytes_max: BODY_BYTES_MAX } } else { Fault::BrokenOff }
}

/// What is no conversation of ours: it goes through untouched, where the table of routes has it.
async fn dispatch(State(state): State<Arc<ServerState>>, request: Incoming) -> Response {
    let (parts, body) = request.into_parts();
    let route = match admit(&state, &parts) {
        Ok(route) => route,
        Err((protocol, fault)) => return refuse(&state, &parts, protocol, &fault),
    };
    match route.treatment {
        Treatment::Converse => converse_by(&state, &route, &parts, body).await,
        Treatment::Count => count_by(&state, &route, &parts, body).await,
        Treatment::Pass => pass_by(&state, &route, &parts, body).await,
    }
}

async fn pass_by(state: &ServerState, route: &Route<'_>, parts: &Parts, body: Body) -> Response {
    let upstreams = &state.settings.upstreams;
    let is_posted = parts.method == Method::POST;
    let length = headers::length(&parts.headers);
    let is_held = length.map_or(is_posted && upstreams.has_model_routes(), |bytes| bytes <= HELD_BYTES_MAX);
    let body = if is_held {
        match to_bytes(body, BODY_BYTES_MAX).await {
            Ok(bytes) => PassedBody::Whole(bytes),
            Err(error) => return unread(&error).response(route.protocol),
        }
    } else {
        PassedBody::Stream(body)
    };
    let model = match &body {
        PassedBody::Whole(bytes) if is_posted => named_model(bytes),
        PassedBody::Whole(_) | PassedBody::Stream(_) => None,
    };
    let upstream = route.upstream_for(upstreams, model.as_deref().or(route.model).unwrap_or_default());
    if let Err(fault) = credentials::check(&parts.headers, upstream) {
        return refuse(state, parts, route.protocol, &fault);
    }
    state.counter.passed_through();
    let passed = state.outward.pass(upstream, &route.path, parts, body).await;
    state.note_reach(upstream, passed.as_ref().err());
    passed.unwrap_or_else(|fault| fault.response(route.protocol))
}

/// The model that a body names, where it is one that can be read.
fn named_model(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        model: Option<String>,
    }
    serde_json::from_slice::<Named>(body).ok()?.model
}
