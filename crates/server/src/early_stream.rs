//! Opening a client's stream before there is a reply to put in it: where the client waits for us, because a compaction is made
//! for it, its stream is opened after a moment and kept alive with the pings of its protocol. What comes of the request follows in
//! it: the provider's events, or its refusal as an error event, since the status has been sent. While a client waits for its
//! provider alone nothing is opened: the provider's own status and headers are worth more than pings.

use crate::fault::shaped;
use crate::headers;
use axum::body::{Body, BodyDataStream, to_bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use epitome_wire::Protocol;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// A wait as long as this is one that a client notices; a shorter one leaves it the provider's own status and headers.
const OPEN_AFTER: Duration = Duration::from_secs(2);
/// Nobody gives a stream up that speaks so often: the strictest look for a word every ten seconds.
const PING_EVERY: Duration = Duration::from_secs(5);
/// Errors are short; of a longer one its status is told.
const ERROR_BYTES_MAX: usize = 1 << 20;

/// Has a client's stream opened where it waits for us for too long; nothing where it asked for no stream.
pub(crate) struct LongWait(Option<oneshot::Sender<()>>);

impl LongWait {
    /// Does some work of ours that the client waits for.
    pub(crate) async fn watch<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if let Ok(done) = timeout(OPEN_AFTER, &mut work).await {
            return done;
        }
        if let Some(open) = self.0.take() {
            // Where nobody listens, the client is gone.
            let _is_heard = open.send(());
        }
        work.await
    }
}

/// Answers a request: with what comes of `answer`, or with a stream that is opened before that.
pub(crate) async fn respond(
    protocol: Protocol,
    is_streamed: bool,
    answer: impl FnOnce(LongWait) -> BoxFuture<'static, Response>,
) -> Response {
    let (open, opened) = oneshot::channel();
    match select(answer(LongWait(is_streamed.then_some(open))), opened).await {
        Either::Left((response, _)) => response,
        Either::Right((Ok(()), work)) => opened_stream(protocol, work),
        // Nobody can open it any more.
        Either::Right((Err(_), work)) => work.await,
    }
}

/// How far an opened stream has got.
enum EarlyStream {
    /// It says hello, so that the client sees it at once.
    Opened(BoxFuture<'static, Response>),
    /// There is no reply yet.
    Waiting(BoxFuture<'static, Response>),
    /// The reply's own events follow.
    Relaying(BodyDataStream),
    /// All was said.
    Over,
}

fn opened_stream(protocol: Protocol, work: BoxFuture<'static, Response>) -> Response {
    let pieces =
        stream::unfold(EarlyStream::Opened(work), move |stream| async move { stream.next(protocol).await });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

type Piece = Result<Bytes, axum::Error>;

impl EarlyStream {
    /// The next bytes for the client, and what follows them.
    async fn next(self, protocol: Protocol) -> Option<(Piece, Self)> {
        let mut relayed = match self {
            Self::Opened(work) => return Some((Ok(ping(protocol)), Self::Waiting(work))),
            Self::Waiting(mut work) => match timeout(PING_EVERY, &mut work).await {
                Err(_) => return Some((Ok(ping(protocol)), Self::Waiting(work))),
                Ok(reply) if is_stream(&reply) => reply.into_body().into_data_stream(),
                Ok(reply) => return Some((Ok(refusal(protocol, reply).await), Self::Over)),
            },
            Self::Relaying(body) => body,
            Self::Over => return None,
        };
        relayed.next().await.map(|piece| (piece, Self::Relaying(relayed)))
    }
}

fn is_stream(reply: &Response) -> bool {
    reply.status().is_success() && headers::is_stream(reply.headers())
}

/// What keeps a stream alive: Anthropic has an event for it, the others take what the format of streams has.
fn ping(protocol: Protocol) -> Bytes {
    Bytes::from_static(match protocol {
        Protocol::Anthropic => b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
        Protocol::OpenaiChat | Protocol::OpenaiResponses => b": waiting\n\n",
    })
}

/// A reply that is no stream, as events.
async fn refusal(protocol: Protocol, reply: Response) -> Bytes {
    let status = reply.status();
    let body = to_bytes(reply.into_body(), ERROR_BYTES_MAX).await.unwrap_or_default();
    let told = serde_json::from_slice(&body).ok().filter(|told: &Value| told["error"].is_object());
    let told = told.filter(|_| !status.is_success()).unwrap_or_else(|| {
        let why = if status.is_success() {
            "epitome: the provider answered a request for a stream with none; send it without `stream`"
                .to_owned()
        } else {
            format!("HTTP {}: {}", status.as_u16(), String::from_utf8_lossy(&body))
        };
        shaped(protocol, "api_error", &why)
    });
    events(protocol, status, told).into()
}

/// An error as its protocol says it in the middle of a stream.
fn events(protocol: Protocol, status: StatusCode, told: Value) -> String {
    match protocol {
        Protocol::Anthropic => format!("event: error\ndata: {told}\n\n"),
        Protocol::OpenaiChat => format!("data: {told}\n\n"),
        Protocol::OpenaiResponses => {
            let error = &told["error"];
            let event = json!({"type": "error", "sequence_number": 0, "error": error});
            let short = json!({"code": code_of(status, error), "message": error["message"]});
            let response = json!({
                "id": "resp_refused", "object": "response", "status": "failed", "error": short, "output": [], "usage": null,
            });
            let failed = json!({"type": "response.failed", "sequence_number": 1, "response": response});
            format!("event: error\ndata: {event}\n\nevent: response.failed\ndata: {failed}\n\n")
        }
    }
}

/// The code by which clients of Responses tell failures apart.
fn code_of(status: StatusCode, error: &Value) -> Value {
    match &error["code"] {
        code @ Value::String(_) => code.clone(),
        _ if status == StatusCode::TOO_MANY_REQUESTS => json!("rate_limit_exceeded"),
        _ if status.is_server_error() => json!("server_error"),
        _ => json!("invalid_prompt"),
    }
}

#[cfg(test)]
mod tests {
    use super::{events, refusal};
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::response::Response;
    use epitome_wire::Protocol;
    use epitome_wire::overflow::{ErrorPlace, OverflowClass, RequestFacts, classify};
    use epitome_wire::sse::Assembler;
    use serde_json::json;

    #[test]
    fn an_error_in_a_stream_is_one_to_whoever_reads_the_protocol() {
        let too_long = json!({"type": "error", "error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "prompt is too long: 9 tokens > 8 maximum"}});
        for protocol in [Protocol::Anthropic, Protocol::OpenaiChat, Protocol::OpenaiResponses] {
            let mut reader = Assembler::new(protocol);
            reader.push(super::ping(protocol).as_ref());
            reader.push(events(protocol, StatusCode::BAD_REQUEST, too_long.clone()).as_bytes());
            let error = reader.error().expect("an error").to_owned();
            let verdict = classify(ErrorPlace::InStream, error.as_bytes(), &RequestFacts::default());
            assert_eq!(verdict.class, OverflowClass::TokenOverflow, "{protocol:?}: {error}");
        }
    }

    #[tokio::test]
    async fn what_is_no_error_of_the_provider_is_told_with_its_status() {
        let mut page = Response::new(Body::from("<h1>\nbad gateway</h1>"));
        *page.status_mut() = StatusCode::BAD_GATEWAY;
        let told = refusal(Protocol::OpenaiChat, page).await;
        let error = json!({"message": "HTTP 502: <h1>\nbad gateway</h1>", "type": "api_error", "param": null, "code": null});
        assert_eq!(told, format!("data: {}\n\n", json!({"error": error})));
    }
}
