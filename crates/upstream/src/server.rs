//! HTTP: requests in, answers out. Nothing is decided here.

use crate::answer::{Answer, Content, Ending};
use crate::complaint::{Complaint, request_id};
use crate::endpoint::Endpoint;
use crate::provider::{Incoming, Provider};
use crate::report::credential_hash;
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use epitome_wire::Protocol;
use futures_util::stream;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The provider, and word of when to stop.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) provider: Arc<Provider>,
    pub(crate) stop: watch::Receiver<bool>,
}

/// The header that tells how to answer.
const ORDER_HEADER: &str = "x-scripted";
/// Headers that are kept with a recorded request.
const KEPT_HEADERS: [&str; 7] = [
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "openai-beta",
    "user-agent",
    "x-claude-code-session-id",
    "x-scripted",
];
/// Headers that hold credentials, of which only a hash is kept.
const CREDENTIALS: [&str; 3] = ["authorization", "x-api-key", "api-key"];
/// What is read of a body at all; above a provider's limit it is refused, above this it is not even read.
const READ_BYTES_MAX: usize = 256 << 20;
/// How long a request without an answer is held: longer than clients wait.
const SILENCE: Duration = Duration::from_secs(900);

/// Every path, with and without the provider's name in front.
pub(crate) fn router(desk: Desk) -> Router {
    let mut router = Router::new()
        .route("/scripted/report", get(report))
        .route("/scripted/plan", post(plan))
        .fallback(unknown);
    for prefix in ["", "/anthropic", "/openai"] {
        for (endpoint, path) in Endpoint::ALL {
            let handler = move |State(desk): State<Desk>, uri: Uri, headers: HeaderMap, body: Bytes| {
                answer(desk, incoming(endpoint, &uri, &headers, body))
            };
            router = router.route(&format!("{prefix}{path}"), post(handler));
        }
        router = router
            .route(&format!("{prefix}/v1/models"), get(models))
            .route(&format!("{prefix}/v1/models/{{id}}"), get(model));
    }
    router.layer(DefaultBodyLimit::max(READ_BYTES_MAX)).with_state(desk)
}

fn incoming(endpoint: Endpoint, uri: &Uri, headers: &HeaderMap, body: Bytes) -> Incoming {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let kept = KEPT_HEADERS.into_iter().filter_map(|name| Some((name.to_owned(), text(name)?)));
    let hashed =
        CREDENTIALS.into_iter().filter_map(|name| Some((name.to_owned(), credential_hash(&text(name)?))));
    Incoming {
        endpoint,
        path: uri.path().to_owned(),
        headers: kept.chain(hashed).collect::<BTreeMap<_, _>>(),
        told: text(ORDER_HEADER),
        body,
    }
}

async fn answer(desk: Desk, incoming: Incoming) -> Response {
    let provider = desk.provider.clone();
    // Counting a long prompt takes tens of milliseconds, in which others want to be served.
    let decided = tokio::task::spawn_blocking(move || provider.answer(&incoming)).await;
    match decided {
        Ok(answer) => send(answer, desk).await,
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn report(State(desk): State<Desk>) -> Response {
    let report = desk.provider.state().report.clone();
    axum::Json(report).into_response()
}

async fn plan(State(desk): State<Desk>, text: String) -> Response {
    match text.parse() {
        Ok(plan) => {
            desk.provider.state().plan = plan;
            StatusCode::NO_CONTENT.into_response()
        }
        Err(why) => (StatusCode::BAD_REQUEST, why).into_response(),
    }
}

async fn models(State(desk): State<Desk>, uri: Uri, headers: HeaderMap) -> Response {
    let answer = desk.provider.models(spoken(&uri, &headers), None);
    send(answer, desk).await
}

async fn model(State(desk): State<Desk>, Path(id): Path<String>, uri: Uri, headers: HeaderMap) -> Response {
    let answer = desk.provider.models(spoken(&uri, &headers), Some(&id));
    send(answer, desk).await
}

async fn unknown(State(desk): State<Desk>, request: Request) -> Response {
    let complaint = Complaint::of_status(404);
    let protocol = spoken(request.uri(), request.headers());
    send(Answer::complaint(&complaint, protocol, 0), desk).await
}

/// Which provider a request without a protocol of its own is meant for.
fn spoken(uri: &Uri, headers: &HeaderMap) -> Protocol {
    let is_anthropic = uri.path().starts_with("/anthropic") || headers.contains_key("anthropic-version");
    if is_anthropic { Protocol::Anthropic } else { Protocol::OpenaiChat }
}

async fn send(answer: Answer, mut desk: Desk) -> Response {
    let silence = match answer.ending {
        Ending::Never => SILENCE,
        Ending::Whole | Ending::Cut => answer.pause,
    };
    desk.wait(silence).await;
    let (kind, frames) = match answer.content {
        Content::Json(value) => ("application/json", vec![value.to_string()]),
        Content::Html(page) => ("text/html", vec![page.to_owned()]),
        Content::Nothing => ("text/plain", Vec::new()),
        Content::Events(frames) => ("text/event-stream; charset=utf-8", frames),
    };
    let body = match (answer.ending, frames.as_slice()) {
        (Ending::Whole | Ending::Never, [] | [_]) => Body::from(frames.concat()),
        (Ending::Whole | Ending::Never, _) => {
            streamed(frames.into_iter().map(Step::Send).collect(), answer.pause, desk)
        }
        (Ending::Cut, _) => streamed(cut(&frames), answer.pause, desk),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    set_headers(response.headers_mut(), kind, answer.number, answer.retry_after);
    response
}

fn set_headers(headers: &mut HeaderMap, kind: &'static str, number: u64, retry_after: Option<u64>) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // An id is plain ASCII, which every header takes.
    if let Ok(id) = HeaderValue::from_str(&request_id(number)) {
        headers.insert("request-id", id.clone());
        headers.insert("x-request-id", id);
    }
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// One thing a body does.
enum Step {
    Send(String),
    /// The connection breaks.
    Break,
}

/// The first half of a body, of its events where it has several, and a break.
fn cut(frames: &[String]) -> Vec<Step> {
    let half = match frames {
        [whole] => vec![whole[..whole.floor_char_boundary(whole.len() / 2)].to_owned()],
        frames => frames[..frames.len() / 2].to_vec(),
    };
    half.into_iter().map(Step::Send).chain([Step::Break]).collect()
}

/// A body that takes its steps one after the other, with a pause between them.
fn streamed(steps: Vec<Step>, pause: Duration, desk: Desk) -> Body {
    let state = (steps.into_iter(), desk);
    Body::from_stream(stream::unfold(state, move |(mut steps, mut desk)| async move {
        let sent = match steps.next()? {
            Step::Send(frame) => Ok(Bytes::from(frame)),
            Step::Break => {
                // What was sent so far goes out before the connection breaks.
                tokio::task::yield_now().await;
                Err(io::Error::other("cut by order"))
            }
        };
        desk.wait(pause).await;
        Some((sent, (steps, desk)))
    }))
}

impl Desk {
    /// Waits, unless the server stops first.
    async fn wait(&mut self, pause: Duration) {
        if pause.is_zero() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = self.stop.wait_for(|is_stopped| *is_stopped) => {}
        }
    }
}
