//! Which path means what. Handlers decode, make one call, and encode.

use crate::fault::Fault;
use crate::outward::Path;
use crate::reply::{FirstLook, Reply, open};
use crate::server_state::ServerState;
use crate::storing::Storing;
use crate::walk::{PreparedRequest, Request, prepare, recover, shed_pictures};
use crate::{api, guard, headers, metrics};
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router, middleware};
use epitome_engine::store::TenantId;
use epitome_wire::Protocol;
use serde_json::json;
use std::sync::Arc;

/// Twice what the most generous provider takes.
const BODY_BYTES_MAX: usize = 64 << 20;

type Incoming = axum::extract::Request;

/// All paths of the server.
pub(crate) fn router(state: Arc<ServerState>) -> Router {
    // Anthropic has nothing to get there: it is somebody who tries the address in a browser.
    let anthropic = post(|state, request| converse(state, Protocol::Anthropic, request)).get(not_posted);
    let chat = post(|state, request| converse(state, Protocol::OpenaiChat, request));
    Router::new()
        .route("/", get(greet))
        .route("/healthz", get(health))
        .route("/readyz", get(ready))
        .route("/metrics", get(show_metrics))
        .merge(api::router())
        .route("/api/v1", any(unknown))
        .route("/api/v1/{*rest}", any(unknown))
        .route("/anthropic/v1/messages", anthropic.clone().fallback(pass))
        .route("/v1/messages", anthropic.fallback(pass))
        .route("/openai/v1/chat/completions", chat.clone().fallback(pass))
        .route("/v1/chat/completions", chat.fallback(pass))
        .fallback(pass)
        .layer(middleware::from_fn(guard::check))
        .with_state(state)
}

/// What whoever opens the address in a browser has found.
async fn greet() -> &'static str {
    concat!(
        "epitome ",
        env!("CARGO_PKG_VERSION"),
        ": agents point their base URL here.\n/api/v1/stats     what it has saved\n/api/v1/sessions  the conversations\n/metrics          for Prometheus\n"
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
async fn converse(State(state): State<Arc<ServerState>>, protocol: Protocol, request: Incoming) -> Response {
    let (parts, body) = request.into_parts();
    // What one of us asks for a summary is made to fit by whoever asks: compacted here too, it would never end.
    if headers::is_summary_call(&parts.headers) {
        return pass_on(&state, &parts, body).await;
    }
    if let Some(why) = headers::why_not_ours(&parts.headers) {
        state.tell_passed_on(tenant(&state, &parts.headers), why.to_owned());
        return pass_on(&state, &parts, body).await;
    }
    let bytes = match to_bytes(body, BODY_BYTES_MAX).await {
        Ok(bytes) => bytes,
        Err(error) => return unread(&error).response(protocol),
    };
    match Request::read(&state.key, protocol, &parts.headers, bytes.clone()) {
        Err(error) => {
            state.tell_passed_on(tenant(&state, &parts.headers), error.to_string());
            pass_on(&state, &parts, bytes.into()).await
        }
        Ok(request) => match answer(&state, &parts, protocol, Arc::new(request)).await {
            Ok(response) => response,
            Err(fault) => fault.response(protocol),
        },
    }
}

/// Whose requests have these headers.
fn tenant(state: &ServerState, headers: &HeaderMap) -> TenantId {
    let credentials = headers::credentials(headers);
    state.key.tenant(credentials.iter().map(|(_, value)| value.as_bytes()))
}

/// Sends a request that was made to fit; once more, where the provider finds it too long or too large all the same.
async fn answer(
    state: &Arc<ServerState>,
    parts: &Parts,
    protocol: Protocol,
    request: Arc<Request>,
) -> Result<Response, Fault> {
    let first = prepare(state, &request).await;
    let from = first.from.clone();
    let (refused, second) = match send(state, parts, protocol, first).await? {
        FirstLook::Reply(reply) => return Ok(reply.relay(protocol, from)),
        FirstLook::TooLong(refused, numbers) => (refused, recover(state, &request, numbers).await),
        FirstLook::TooLarge(refused, bytes_max) => (refused, shed_pictures(state, &request, bytes_max).await),
    };
    match second {
        None => Ok(refused.relay(protocol, from)),
        Some(second) => {
            let from = second.from.clone();
            Ok(reply_of(send(state, parts, protocol, second).await?).relay(protocol, from))
        }
    }
}

/// A second refusal is the client's to see, as the provider wrote it.
fn reply_of(opened: FirstLook) -> Reply {
    match opened {
        FirstLook::Reply(reply) | FirstLook::TooLong(reply, _) | FirstLook::TooLarge(reply, _) => reply,
    }
}

async fn send(
    state: &Arc<ServerState>,
    parts: &Parts,
    protocol: Protocol,
    prepared: PreparedRequest,
) -> Result<FirstLook, Fault> {
    let (_, path) = split(parts.uri.path());
    let path = Path { path, query: parts.uri.query(), headers: &parts.headers };
    let upstream = state.settings.upstreams.of(protocol);
    let storing = Storing::begin(state, prepared.session);
    let sent = state.outward.send(upstream, &path, prepared.body).await;
    storing.end(state).await;
    state.note_reach(upstream, sent.as_ref().err());
    let opened = match sent {
        Ok(response) => open(protocol, response, &prepared.from.known).await,
        Err(fault) => Err(fault),
    };
    opened.inspect_err(|_| prepared.from.fail())
}

fn unread(error: &axum::Error) -> Fault {
    let is_too_large = crate::fault::told(error).contains("length limit exceeded");
    if is_too_large { Fault::TooLarge { bytes_max: BODY_BYTES_MAX } } else { Fault::BrokenOff }
}

/// Everything that is no conversation of ours goes through untouched.
async fn pass(State(state): State<Arc<ServerState>>, request: Incoming) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(why) = why_passed(&parts.method, parts.uri.path()) {
        state.tell_passed_on(tenant(&state, &parts.headers), why);
    }
    pass_on(&state, &parts, body).await
}

/// What the operator should know of a request that passes through: it is a conversation that is not compacted, or its
/// base URL is not what its agent needs.
fn why_passed(method: &Method, path: &str) -> Option<String> {
    let (_, rest) = split(path);
    if method != Method::POST {
        return None;
    }
    if matches!(rest, "/v1/responses" | "/v1/responses/compact") {
        return Some(
            "requests of OpenAI Responses are not compacted yet; have the agent compact by itself".to_owned(),
        );
    }
    let known = ["/messages", "/chat/completions", "/responses"];
    let bare = rest.strip_prefix("/v1/v1").or_else(|| (!rest.starts_with("/v1/")).then_some(rest))?;
    let fault = if rest.starts_with("/v1/v1") { "has /v1 twice" } else { "lacks /v1" };
    known.contains(&bare).then(|| format!("POST {path}: the base URL that the agent was given {fault}"))
}

async fn pass_on(state: &ServerState, parts: &Parts, body: Body) -> Response {
    let (named, path) = split(parts.uri.path());
    let protocol = named.unwrap_or_else(|| guess(path, &parts.headers));
    let upstream = state.settings.upstreams.of(protocol);
    let url = upstream.join(path, parts.uri.query());
    state.counter.passed_through();
    let passed = state.outward.pass(upstream, url, parts, body).await;
    state.note_reach(upstream, passed.as_ref().err());
    passed.unwrap_or_else(|fault| fault.response(protocol))
}

/// The provider a path names, and the path there.
fn split(path: &str) -> (Option<Protocol>, &str) {
    for (name, protocol) in [("/anthropic", Protocol::Anthropic), ("/openai", Protocol::OpenaiChat)] {
        if let Some(rest) = path.strip_prefix(name).filter(|rest| rest.starts_with('/')) {
            return (Some(protocol), rest);
        }
    }
    (None, path)
}

/// Whose path it is where it does not say: Anthropic's own paths, and requests with Anthropic's own headers.
fn guess(path: &str, headers: &HeaderMap) -> Protocol {
    let is_anthropic = path.starts_with("/v1/messages")
        || path.starts_with("/v1/complete")
        || headers.contains_key("anthropic-version")
        || headers.contains_key("x-api-key");
    if is_anthropic { Protocol::Anthropic } else { Protocol::OpenaiChat }
}

#[cfg(test)]
mod tests {
    use super::{guess, split, why_passed};
    use axum::http::{HeaderMap, HeaderValue, Method};
    use epitome_wire::Protocol;

    #[test]
    fn a_path_may_name_its_provider() {
        assert_eq!(split("/anthropic/v1/models"), (Some(Protocol::Anthropic), "/v1/models"));
        assert_eq!(split("/openai/v1/responses"), (Some(Protocol::OpenaiChat), "/v1/responses"));
        assert_eq!(
            [split("/v1/models"), split("/openaix/v1")],
            [(None, "/v1/models"), (None, "/openaix/v1")]
        );
    }

    #[test]
    fn a_base_url_that_cannot_be_right_is_told() {
        let told = |path| why_passed(&Method::POST, path);
        let lacks = "POST /chat/completions: the base URL that the agent was given lacks /v1".to_owned();
        let twice = "POST /v1/v1/messages: the base URL that the agent was given has /v1 twice".to_owned();
        assert_eq!([told("/chat/completions"), told("/v1/v1/messages")], [Some(lacks), Some(twice)]);
        assert!(told("/openai/v1/responses").is_some_and(|why| why.contains("not compacted yet")));
        let harmless = ["/v1/messages/count_tokens", "/v1/embeddings", "/v1/models", "/"];
        assert_eq!(harmless.map(told), [None, None, None, None]);
        assert_eq!(why_passed(&Method::GET, "/v1/responses"), None);
    }

    #[test]
    fn a_path_that_both_have_goes_by_its_headers() {
        let anthropic = HeaderMap::from_iter([(
            axum::http::HeaderName::from_static("anthropic-version"),
            HeaderValue::from_static("2023-06-01"),
        )]);
        assert_eq!(guess("/v1/models", &anthropic), Protocol::Anthropic);
        assert_eq!(guess("/v1/models", &HeaderMap::new()), Protocol::OpenaiChat);
    }
}
