//! How long a request is, as its provider counts it: a client that asks is told what would be sent, and in a header what it
//! sent itself. A compaction that is not made yet is not counted.

use crate::fault::Fault;
use crate::headers;
use crate::outward::{Path, fault_of};
use crate::request::Request;
use crate::response_headers::ORIGINAL;
use crate::server_state::ServerState;
use crate::settings::Upstream;
use crate::walk::foresee;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::TryStreamExt as _;
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
    let pieces: Result<Vec<Bytes>, _> = reply.into_body().try_collect().await;
    let body = pieces.map_err(|error| fault_of(upstream, &error))?.concat();
    Ok(CountReply { status, headers, body: body.into() })
}

impl CountReply {
    fn tokens(&self) -> Option<u64> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body["input_tokens"].as_u64().filter(|_| self.status.is_success())
    }
}
