//! One request over the wire, and what came of it. Time is tokio's, so that a test can hold it still.

use crate::Limits;
use crate::retry::retry_after;
use bytes::Bytes;
use epitome_wire::Protocol;
use epitome_wire::protocol::{ModelReply, ReplyUsage, reply};
use epitome_wire::sse::{Assembler, REPLY_BYTES_MAX};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{RequestBuilder, Response};
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;

/// What came back.
#[derive(Debug)]
pub(crate) enum ProviderAnswer {
    /// A reply; there may be an error in its midst.
    Reply(ModelReply),
    /// A status that says no.
    Refusal {
        /// It.
        status: u16,
        /// What came with it.
        body: String,
        /// How long the provider asks us to wait.
        retry_after: Option<Duration>,
    },
}

/// Why nothing came back, or not all of it.
#[derive(Debug)]
pub(crate) struct AttemptFailure {
    pub(crate) why: FailureCause,
    /// What the part that came says it took.
    pub(crate) usage: Option<ReplyUsage>,
}

/// What went wrong on the way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FailureCause {
    /// No connection could be made.
    NoConnection(String),
    /// The connection broke.
    Broken(String),
    /// Nothing came for too long.
    Silence,
}

/// An error text is short; what is longer is a page, and its beginning says enough.
const REFUSAL_BYTES_MAX: usize = 1024 * 1024;

/// Sends a request and takes in its answer. Dropping the future closes the connection.
pub(crate) async fn attempt(
    request: RequestBuilder,
    protocol: Protocol,
    limits: &Limits,
) -> Result<ProviderAnswer, AttemptFailure> {
    let response = match timeout(limits.first_byte, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) if error.is_connect() => {
            return Err(lost(FailureCause::NoConnection(told(error)), None));
        }
        Ok(Err(error)) => return Err(lost(FailureCause::Broken(told(error)), None)),
        Err(_) => return Err(lost(FailureCause::Silence, None)),
    };
    if response.status().is_success() {
        return take_in(response, protocol, limits).await.map(ProviderAnswer::Reply);
    }
    let (status, retry_after) = (response.status().as_u16(), retry_after(response.headers()));
    Ok(ProviderAnswer::Refusal { status, retry_after, body: refusal(response, limits).await })
}

async fn take_in(
    mut response: Response,
    protocol: Protocol,
    limits: &Limits,
) -> Result<ModelReply, AttemptFailure> {
    let mut incoming = IncomingReply::new(protocol, is_stream(response.headers()));
    let mut patience = limits.first_byte;
    loop {
        match timeout(patience, response.chunk()).await {
            Ok(Ok(Some(bytes))) => incoming.push(&bytes),
            Ok(Ok(None)) => return Ok(incoming.finish()),
            Ok(Err(error)) => return Err(lost(FailureCause::Broken(told(error)), incoming.finish().usage)),
            Err(_) => return Err(lost(FailureCause::Silence, incoming.finish().usage)),
        }
        if incoming.is_done() {
            return Ok(incoming.finish());
        }
        patience = limits.between_bytes;
    }
}

/// An answer that is coming in.
enum IncomingReply {
    Stream(Box<Assembler>),
    Whole(Protocol, Vec<u8>),
}

impl IncomingReply {
    fn new(protocol: Protocol, is_stream: bool) -> Self {
        if is_stream {
            Self::Stream(Box::new(Assembler::new(protocol)))
        } else {
            Self::Whole(protocol, Vec::new())
        }
    }

    fn push(&mut self, bytes: &Bytes) {
        match self {
            Self::Stream(assembler) => assembler.push(bytes),
            Self::Whole(_, body) => {
                let room = REPLY_BYTES_MAX - body.len();
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
    }

    /// Whether all came, or an error in its place; some servers keep the connection open behind it.
    fn is_done(&self) -> bool {
        match self {
            Self::Stream(assembler) => assembler.is_done() || assembler.error().is_some(),
            Self::Whole(..) => false,
        }
    }

    fn finish(self) -> ModelReply {
        match self {
            Self::Stream(assembler) => assembler.finish(),
            Self::Whole(protocol, body) => reply(protocol, &body),
        }
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("event-stream"))
}

async fn refusal(mut response: Response, limits: &Limits) -> String {
    let mut body = Vec::new();
    while let Ok(Ok(Some(bytes))) = timeout(limits.between_bytes, response.chunk()).await {
        body.extend_from_slice(&bytes);
        if body.len() > REFUSAL_BYTES_MAX {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

fn lost(why: FailureCause, usage: Option<ReplyUsage>) -> AttemptFailure {
    AttemptFailure { why, usage }
}

/// A transport's error with its causes, without the address: it may hold a secret.
fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = std::iter::successors(Some(&error as &dyn Error), |&error| error.source());
    causes.take(5).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
