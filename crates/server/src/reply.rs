//! A provider's reply: looked at before the client sees any of it, then passed on byte for byte while a
//! copy is read.

use crate::fault::{Fault, told};
use crate::headers;
use crate::tally::Tally;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use epitome_wire::overflow::{Class, Known, Numbers, Seen, classify};
use epitome_wire::protocol::reply;
use epitome_wire::sse::Assembler;
use epitome_wire::{Protocol, sse};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// A reply of which the client has seen nothing yet.
pub(crate) struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    /// What of it was read already.
    held: Vec<Bytes>,
    rest: BoxStream<'static, Result<Bytes, reqwest::Error>>,
}

/// Where a request came from.
#[derive(Clone, Default)]
pub(crate) struct Sender {
    /// Where its reply is to be counted; none where it is nobody's.
    pub(crate) tally: Option<Arc<Mutex<Tally>>>,
    /// What we know of its size.
    pub(crate) known: Known,
}

/// What a first look at a reply says.
pub(crate) enum Opened {
    /// It can be passed on.
    Reply(Reply),
    /// The request was too long; this is how the provider says so.
    TooLong(Reply, Numbers),
}

/// Errors are short; a longer one is passed on and not looked at.
const ERROR_BYTES_MAX: usize = 1 << 20;

/// A provider that refuses inside a stream does so right behind its opening; pings must not wait for longer.
const OPENING_TIME_MAX: Duration = Duration::from_secs(1);

/// Looks at a reply: at all of an error, and at how a stream opens. What we know of the
/// request helps to tell what an error without words means.
pub(crate) async fn open(
    protocol: Protocol,
    response: reqwest::Response,
    known: &Known,
) -> Result<Opened, Fault> {
    let upstream = response.url().origin().ascii_serialization();
    let (status, headers) = (response.status(), headers::passed_on(response.headers()));
    let mut reply = Reply { status, headers, held: Vec::new(), rest: response.bytes_stream().boxed() };
    let failed = |error: reqwest::Error| Fault::Unreachable { upstream, why: told(&error.without_url()) };
    let error = if !status.is_success() {
        let body = reply.hold_all().await.map_err(failed)?;
        body.map(|body| (Seen::Status(status.as_u16()), body))
    } else if headers::is_stream(&reply.headers) {
        let error = reply.hold_opening(protocol).await.map_err(failed)?;
        error.map(|error| (Seen::InStream, error))
    } else {
        None
    };
    let overflow = error.and_then(|(seen, body)| overflow(seen, &body, known));
    Ok(match overflow {
        Some(numbers) => Opened::TooLong(reply, numbers),
        None => Opened::Reply(reply),
    })
}

/// The numbers of an error that a shorter request would not meet.
fn overflow(seen: Seen, body: &[u8], known: &Known) -> Option<Numbers> {
    let verdict = classify(seen, body, known);
    // A client that asked for too long an answer is answered by a shorter prompt: its limit stays its own.
    let is_too_long = verdict.class == Class::OutputReserve || verdict.needs_compaction(known);
    is_too_long.then_some(verdict.numbers)
}

impl Reply {
    /// Reads a whole body; none where it is too long to be an error.
    async fn hold_all(&mut self) -> Result<Option<Vec<u8>>, reqwest::Error> {
        while let Some(chunk) = self.rest.next().await {
            self.held.push(chunk?);
            if self.held.iter().map(Bytes::len).sum::<usize>() > ERROR_BYTES_MAX {
                return Ok(None);
            }
        }
        Ok(Some(self.held.concat()))
    }

    /// Reads a stream until the model has begun to say something; the error that came before, where one did.
    async fn hold_opening(&mut self, protocol: Protocol) -> Result<Option<Vec<u8>>, reqwest::Error> {
        let mut assembler = Assembler::new(protocol);
        let mut patience = None;
        while let Some(chunk) = self.next_within(patience).await {
            let chunk = chunk?;
            assembler.push(&chunk);
            self.held.push(chunk);
            patience = Some(OPENING_TIME_MAX);
            let is_told = assembler.has_output() || assembler.is_done() || assembler.error().is_some();
            if is_told || self.held.iter().map(Bytes::len).sum::<usize>() > ERROR_BYTES_MAX {
                break;
            }
        }
        Ok(assembler.error().map(|error| error.as_bytes().to_vec()))
    }

    /// The next bytes; none at the end, or where they take longer than we may keep the client waiting.
    async fn next_within(&mut self, patience: Option<Duration>) -> Option<Result<Bytes, reqwest::Error>> {
        match patience {
            Some(time) => tokio::time::timeout(time, self.rest.next()).await.ok().flatten(),
            None => self.rest.next().await,
        }
    }

    /// Passes it on. What it took is added where its request came from.
    pub(crate) fn relay(self, protocol: Protocol, from: Sender) -> Response {
        let Sender { tally, known } = from;
        let listener = tally.filter(|_| self.status.is_success()).map(|tally| {
            let heard = if headers::is_stream(&self.headers) {
                Heard::Events(Box::new(Assembler::new(protocol)))
            } else {
                Heard::Body(protocol, Vec::new())
            };
            Listener { heard, tally, known }
        });
        let held = stream::iter(self.held.into_iter().map(Ok));
        let body = Body::from_stream(Tee { bytes: held.chain(self.rest).boxed(), listener });
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (self.status, self.headers);
        response
    }
}

/// Bytes on their way to the client, and whoever listens.
struct Tee {
    bytes: BoxStream<'static, Result<Bytes, reqwest::Error>>,
    listener: Option<Listener>,
}

struct Listener {
    heard: Heard,
    tally: Arc<Mutex<Tally>>,
    known: Known,
}

/// What was heard of a reply so far.
enum Heard {
    Events(Box<Assembler>),
    Body(Protocol, Vec<u8>),
}

impl Stream for Tee {
    type Item = Result<Bytes, reqwest::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.bytes.poll_next_unpin(cx);
        if let Poll::Ready(Some(Ok(chunk))) = &next
            && let Some(listener) = &mut self.listener
        {
            listener.hear(chunk);
        }
        let is_over = matches!(next, Poll::Ready(None | Some(Err(_))));
        // Counted before the client can see the end, so that whoever asks then is told.
        if is_over || self.listener.as_ref().is_some_and(Listener::is_done) {
            self.finish();
        }
        next
    }
}

impl Tee {
    fn finish(&mut self) {
        if let Some(Listener { heard, tally, known }) = self.listener.take() {
            let answer = match heard {
                Heard::Events(assembler) => assembler.finish(),
                Heard::Body(protocol, body) => reply(protocol, &body),
            };
            tally.lock().unwrap_or_else(PoisonError::into_inner).add(&answer, &known);
        }
    }
}

impl Drop for Tee {
    /// A client that hung up has still been served what came.
    fn drop(&mut self) {
        self.finish();
    }
}

impl Listener {
    fn hear(&mut self, chunk: &[u8]) {
        match &mut self.heard {
            Heard::Events(assembler) => assembler.push(chunk),
            Heard::Body(_, body) if body.len() + chunk.len() <= sse::REPLY_BYTES_MAX => {
                body.extend_from_slice(chunk)
            }
            Heard::Body(..) => {}
        }
    }

    fn is_done(&self) -> bool {
        match &self.heard {
            Heard::Events(assembler) => assembler.is_done(),
            Heard::Body(_, body) => {
                body.last() == Some(&b'}')
                    && serde_json::from_slice::<&serde_json::value::RawValue>(body).is_ok()
            }
        }
    }
}
