//! A provider's reply: looked at before the client sees any of it, then passed on byte for byte while a
//! copy is read.

use crate::headers;
use crate::outward::{ProviderReply, ReplyError};
use crate::resend::Resend;
use crate::response_headers::DoneHeaders;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use epitome_core::Tokens;
use epitome_wire::overflow::{ErrorPlace, OverflowClass, OverflowFigures, RequestFacts, classify};
use epitome_wire::protocol::{ModelReply, StopReason, reply};
use epitome_wire::sse::Assembler;
use epitome_wire::{Protocol, sse};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout, timeout_at};

/// A reply of which the client has seen nothing yet.
pub(crate) struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    /// What of it was read already.
    held: HeldBytes,
    rest: BoxStream<'static, Result<Bytes, ReplyError>>,
}

/// Pieces of a reply, and how many bytes they are.
#[derive(Default)]
struct HeldBytes {
    pieces: Vec<Bytes>,
    bytes: usize,
}

/// Where a request came from.
#[derive(Clone, Default)]
pub(crate) struct Sender {
    /// Who is told of its reply; nobody where it is no session's.
    pub(crate) listener: Option<Arc<dyn ReplyListener>>,
    /// What we know of its size.
    pub(crate) known: RequestFacts,
    /// Whether all of its history would fit its window, by our count.
    pub(crate) fits_whole: bool,
    /// Whether its policy has a request changed after a refusal.
    pub(crate) may_recover: bool,
    /// What its reply's headers say was done to it.
    pub(crate) done: DoneHeaders,
}

/// Someone who is told what a reply came to.
pub(crate) trait ReplyListener: Send + Sync {
    /// The reply is over, whole or not; what is to be done before its client sees the end.
    fn ended(&self, reply: &ModelReply, known: &RequestFacts) -> Option<BoxFuture<'static, ()>>;

    /// There is none: the provider refused the request, or did not answer.
    fn failed(&self);
}

impl Sender {
    /// Tells whoever listens that there is no reply.
    pub(crate) fn fail(&self) {
        self.listener.iter().for_each(|listener| listener.failed());
    }
}

/// What a first look at a reply says.
pub(crate) enum FirstLook {
    /// It can be passed on.
    Reply(Reply),
    /// It is a refusal, and something can be done about it.
    Refused(Reply, Resend),
}

/// Errors are short; a longer one is passed on and not looked at.
const ERROR_BYTES_MAX: usize = 1 << 20;

/// As providers count; some mean a little more.
const MEGABYTE: u64 = 1_000_000;

/// The words of an error come with its status. On a busy machine that takes a while, and an error that is not looked at is not mended;
/// one that takes longer is passed on as it comes.
const ERROR_TIME_MAX: Duration = Duration::from_secs(5);

/// A provider that refuses inside a stream does so right behind its opening; however many pings come, the client
/// does not wait for longer.
const OPENING_TIME_MAX: Duration = Duration::from_secs(1);

/// Looks at a reply: at all of an error, and at how a stream opens. What we know of the
/// request helps to tell what an error without words means.
pub(crate) async fn open(protocol: Protocol, response: ProviderReply, known: &RequestFacts) -> FirstLook {
    let (status, headers) = (response.status(), headers::passed_on(response.headers()));
    let mut reply = Reply { status, headers, held: HeldBytes::default(), rest: response.into_body() };
    let error = if !status.is_success() {
        let body = reply.hold_error().await;
        body.map(|body| (ErrorPlace::Status(status.as_u16()), body))
    } else if headers::is_stream(&reply.headers) {
        let Opening { error, ended } = reply.hold_opening(protocol).await;
        if let Some(full) = ended.and_then(|ended| window_of_nothing(protocol, &ended)) {
            return FirstLook::Refused(reply, Resend::Compact(full));
        }
        error.map(|error| (ErrorPlace::InStream, error))
    } else {
        if let Some(full) = reply.hold_reply(protocol).await {
            return FirstLook::Refused(reply, Resend::Compact(full));
        }
        None
    };
    let Some((seen, body)) = error else { return FirstLook::Reply(reply) };
    let verdict = classify(seen, &body, known);
    if verdict.needs_compaction(known) {
        return FirstLook::Refused(reply, Resend::Compact(verdict.numbers));
    }
    let remedy = match verdict.class {
        OverflowClass::OutputReserve => Resend::AskForLess(verdict.numbers),
        OverflowClass::Media => Resend::Shed(verdict.numbers.megabytes_max.map(|most| most * MEGABYTE)),
        // The limit that it names is the whole body's.
        OverflowClass::PayloadBytes => Resend::Shed(None),
        OverflowClass::ThinkingBinding => Resend::LeaveThinkingOut,
        OverflowClass::Undecryptable => Resend::LeaveSealedOut,
        OverflowClass::Pairing => Resend::SendAsItCame,
        OverflowClass::TokenOverflow
        | OverflowClass::SizeRate
        | OverflowClass::Throttle
        | OverflowClass::SoftStop
        | OverflowClass::SilentTruncation
        | OverflowClass::Suspect
        | OverflowClass::Other => return FirstLook::Reply(reply),
    };
    FirstLook::Refused(reply, remedy)
}

/// How a stream opens.
#[derive(Default)]
struct Opening {
    /// The error that came in the place of a reply.
    error: Option<Vec<u8>>,
    /// The reply, where that was over before the model said anything.
    ended: Option<ModelReply>,
}

/// The window, where it was full before the model could say a word: OpenAI's protocols have no other way to say so than that
/// the reply reached the limit on its output. Reasoning that nobody sees is output too.
fn window_of_nothing(protocol: Protocol, reply: &ModelReply) -> Option<OverflowFigures> {
    let is_full = protocol != Protocol::Anthropic
        && reply.stop == Some(StopReason::Length)
        && reply.message.blocks.is_empty();
    let usage = reply.usage.filter(|taken| is_full && taken.usage.output == 0)?.usage;
    Some(OverflowFigures { window: Some(Tokens(usage.prompt)), ..OverflowFigures::default() })
}

impl Reply {
    /// Reads a reply that comes in one piece, of a protocol that may say in it that the window is full; that window.
    async fn hold_reply(&mut self, protocol: Protocol) -> Option<OverflowFigures> {
        match protocol {
            Protocol::Anthropic => return None,
            Protocol::OpenaiChat | Protocol::OpenaiResponses => {}
        }
        match self.hold_all().await {
            Ok(body) => window_of_nothing(protocol, &reply(protocol, &body?)),
            Err(error) => {
                self.break_off(error);
                None
            }
        }
    }

    /// Reads the body of an error; none where it is too long to be looked at, or does not come whole in time. What came is passed on.
    async fn hold_error(&mut self) -> Option<Vec<u8>> {
        match timeout(ERROR_TIME_MAX, self.hold_all()).await {
            Ok(Ok(body)) => body,
            Ok(Err(error)) => {
                self.break_off(error);
                None
            }
            Err(_) => None,
        }
    }

    /// Has the client see where a reply broke off.
    fn break_off(&mut self, error: ReplyError) {
        // What came before it is on its way to the client first: a connection that fails at once is closed with nothing said.
        let broken = async move {
            tokio::task::yield_now().await;
            Err(error)
        };
        self.rest = stream::once(broken).boxed();
    }

    /// Reads a whole body; none where it is too long to be an error.
    async fn hold_all(&mut self) -> Result<Option<Vec<u8>>, ReplyError> {
        while let Some(chunk) = self.rest.next().await {
            self.held.push(chunk?);
            if self.held.bytes > ERROR_BYTES_MAX {
                return Ok(None);
            }
        }
        Ok(Some(self.held.pieces.concat()))
    }

    /// Reads a stream until the model has begun to say something.
    async fn hold_opening(&mut self, protocol: Protocol) -> Opening {
        let mut assembler = Assembler::new(protocol);
        let mut deadline = None;
        while let Some(chunk) = self.next_before(deadline).await {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => {
                    self.break_off(error);
                    return Opening::default();
                }
            };
            assembler.push(&chunk);
            self.held.push(chunk);
            deadline = deadline.or_else(|| Some(Instant::now() + OPENING_TIME_MAX));
            let is_told = assembler.has_output() || assembler.is_done() || assembler.error().is_some();
            if is_told || self.held.bytes > ERROR_BYTES_MAX {
                break;
            }
        }
        let error = assembler.error().map(|error| error.as_bytes().to_vec());
        let is_over = assembler.is_done() && !assembler.has_output() && error.is_none();
        Opening { error, ended: is_over.then(|| assembler.finish()) }
    }

    /// The next bytes; none at the end, or where they take longer than we may keep the client waiting.
    async fn next_before(&mut self, deadline: Option<Instant>) -> Option<Result<Bytes, ReplyError>> {
        match deadline {
            Some(deadline) => timeout_at(deadline, self.rest.next()).await.ok().flatten(),
            None => self.rest.next().await,
        }
    }

    /// Passes it on. What it took is added where its request came from.
    pub(crate) fn relay(self, protocol: Protocol, from: Sender) -> Response {
        if !self.status.is_success() {
            from.fail();
        }
        let Sender { listener, known, fits_whole: _, may_recover: _, done } = from;
        let listener = listener.filter(|_| self.status.is_success()).map(|told| {
            let heard = if headers::is_stream(&self.headers) {
                HeardReply::Events(Box::new(Assembler::new(protocol)))
            } else {
                HeardReply::Body { protocol, body: Vec::new(), length: headers::length(&self.headers) }
            };
            Listener { heard, told, known }
        });
        let held = stream::iter(self.held.pieces.into_iter().map(Ok));
        let body = Body::from_stream(Tee { bytes: held.chain(self.rest).boxed(), listener, ending: None });
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (self.status, self.headers);
        done.write(response.headers_mut());
        response
    }
}

impl HeldBytes {
    fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        self.pieces.push(piece);
    }
}

/// Bytes on their way to the client, and whoever listens.
struct Tee {
    bytes: BoxStream<'static, Result<Bytes, ReplyError>>,
    listener: Option<Listener>,
    /// What is done before the client sees the end, and that end.
    ending: Option<(BoxFuture<'static, ()>, ReplyChunk)>,
}

/// Bytes of a reply, or its end.
type ReplyChunk = Option<Result<Bytes, ReplyError>>;

struct Listener {
    heard: HeardReply,
    told: Arc<dyn ReplyListener>,
    known: RequestFacts,
}

/// What was heard of a reply so far.
enum HeardReply {
    Events(Box<Assembler>),
    Body {
        protocol: Protocol,
        body: Vec<u8>,
        /// How long it will be, where its headers say so.
        length: Option<usize>,
    },
}

impl Stream for Tee {
    type Item = Result<Bytes, ReplyError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some((work, _)) = &mut self.ending {
            ready!(work.poll_unpin(cx));
            return Poll::Ready(self.ending.take().and_then(|(_, end)| end));
        }
        let next = self.bytes.poll_next_unpin(cx);
        if let Poll::Ready(Some(Ok(chunk))) = &next
            && let Some(listener) = &mut self.listener
        {
            listener.hear(chunk);
        }
        let is_over = matches!(next, Poll::Ready(None | Some(Err(_))));
        // Counted before the client can see the end, so that whoever asks then is told.
        let is_done = is_over || self.listener.as_ref().is_some_and(Listener::is_done);
        match next {
            Poll::Ready(end) if is_done => match self.finish() {
                Some(work) => {
                    self.ending = Some((work, end));
                    self.poll_next(cx)
                }
                None => Poll::Ready(end),
            },
            next => next,
        }
    }
}

impl Tee {
    /// Tells whoever listens; what is to be done before the client sees the end.
    fn finish(&mut self) -> Option<BoxFuture<'static, ()>> {
        let Listener { heard, told, known } = self.listener.take()?;
        let answer = match heard {
            HeardReply::Events(assembler) => assembler.finish(),
            HeardReply::Body { protocol, body, .. } => reply(protocol, &body),
        };
        told.ended(&answer, &known)
    }
}

impl Drop for Tee {
    /// A client that hung up has still been served what came.
    fn drop(&mut self) {
        // Where the whole server ends there is nobody left to do it.
        if let Some((work, runtime)) = self.finish().zip(Handle::try_current().ok()) {
            runtime.spawn(work);
        }
    }
}

impl Listener {
    fn hear(&mut self, chunk: &[u8]) {
        match &mut self.heard {
            HeardReply::Events(assembler) => assembler.push(chunk),
            HeardReply::Body { body, .. } => {
                let room = sse::REPLY_BYTES_MAX - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
        }
    }

    /// Whether all came. A body that says how long it is has no end behind its last byte to wait for.
    fn is_done(&self) -> bool {
        match &self.heard {
            HeardReply::Events(assembler) => assembler.is_done(),
            HeardReply::Body { body, length, .. } => *length == Some(body.len()),
        }
    }
}

#[cfg(test)]
mod tests;
