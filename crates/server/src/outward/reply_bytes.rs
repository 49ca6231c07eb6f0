//! The bytes of a provider's reply as they come, and what ends them before their time.

use bytes::Bytes;
use futures_util::stream::Stream;
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// Why no reply came, or no more of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplyError {
    #[error("requests cannot be sent to its address")]
    Address(#[from] axum::http::uri::InvalidUri),
    #[error(transparent)]
    Client(#[from] legacy::Error),
    #[error("the reply broke off")]
    BrokenOff(#[from] hyper::Error),
    #[error("nothing came for {} seconds", .0.as_secs_f64())]
    Silent(Duration),
}

/// The bytes of a reply. Where nothing comes for too long they end with an error.
pub(super) struct ReplyBytes {
    body: Incoming,
    silence_max: Duration,
    /// When a wait that has begun is over.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl ReplyBytes {
    pub(super) fn new(body: Incoming, silence_max: Duration) -> Self {
        Self { body, silence_max, deadline: None }
    }
}

impl Stream for ReplyBytes {
    type Item = Result<Bytes, ReplyError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { body, silence_max, deadline } = &mut *self;
        loop {
            let Poll::Ready(next) = Pin::new(&mut *body).poll_frame(context) else {
                let waiting = deadline.get_or_insert_with(|| Box::pin(sleep(*silence_max)));
                ready!(waiting.as_mut().poll(context));
                *deadline = None;
                return Poll::Ready(Some(Err(ReplyError::Silent(*silence_max))));
            };
            *deadline = None;
            match next.map(|frame| frame.map(|frame| frame.into_data())) {
                Some(Ok(Ok(bytes))) => return Poll::Ready(Some(Ok(bytes))),
                // Nobody whom we pass a reply to reads its trailers.
                Some(Ok(Err(_))) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                None => return Poll::Ready(None),
            }
        }
    }
}
