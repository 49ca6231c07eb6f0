//! How long a request is, as its provider counts it: a client that asks is told what would be sent, and in a header what it
//! sent itself. A compaction that is not made yet is not counted.

use crate::fault::{Fault, told};
use crate::headers;
use crate::outward::Path;
use crate::request::Request;
use crate::response_headers::ORIGINAL;
use crate::server_state::ServerState;
use crate::settings::Upstream;
use crate::walk::foresee;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;

/// What a provider answered to the question.
struct CountReply {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// Asks the provider how long a request is.
pub(crate) async fn count(
    state: &Arc<ServerState>,
    path: &Path<'_>,
    request: Arc<Request>,
) -> Result<Response, Fault> {
    let original = request.body.bytes().clone();
    let (reply, whole) = match foresee(state, &request).await {
        None => {
            let reply = ask(state, &request.upstream, path, original).await?;
            let tokens = reply.tokens();
            (reply, tokens)
        }
        Some(sent) => {
            let reply = ask(state, &request.upstream, path, sent).await?;
            // Not worth failing for: what counts is told.
            let whole = ask(state, &request.upstream, path, original).await.ok();
            (reply, whole.and_then(|whole| whole.tokens()))
        }
    };
    let mut response = Response::new(Body::from(reply.body));
    (*response.status_mut(), *response.headers_mut()) = (reply.status, reply.headers);
    response.headers_mut().extend(whole.map(|tokens| (ORIGINAL, HeaderValue::from(tokens))));
    Ok(response)
}

/// A count is a number, and a refusal a few sentences; whoever sends more is no provider.
const COUNT_BYTES_MAX: usize = 1 << 20;

async fn ask(
    state: &ServerState,
    upstream: &Upstream,
    path: &Path<'_>,
    body: Bytes,
) -> Result<CountReply, Fault> {
    let sent = state.outward.send(upstream, path, body).await;
    state.note_reach(upstream, sent.as_ref().err());
    let reply = sent?;
    let (status, headers) = (reply.status(), headers::passed_on(reply.headers()));
    let body = to_bytes(Body::from_stream(reply.into_body()), COUNT_BYTES_MAX).await;
    let unread = |error| Fault::Unanswered { upstream: upstream.to_string(), why: told(&error) };
    Ok(CountReply { status, headers, body: body.map_err(unread)? })
}

impl CountReply {
    fn tokens(&self) -> Option<u64> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body["input_tokens"].as_u64().filter(|_| self.status.is_success())
    }
}
