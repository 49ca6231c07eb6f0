//! Replies that keep their reader waiting.

use super::{HeldBytes, Reply};
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use epitome_wire::Protocol;
use futures_util::stream::{self, StreamExt};
use std::time::Duration;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn an_error_that_stalls_is_passed_on_with_what_came_of_it() {
    let rest = stream::iter([Ok(Bytes::from_static(b"{"))]).chain(stream::pending()).boxed();
    let status = StatusCode::BAD_REQUEST;
    let mut reply = Reply { status, headers: HeaderMap::new(), held: HeldBytes::default(), rest };
    let begun = Instant::now();
    let looked_at = reply.hold_error().await;
    assert_eq!((looked_at, reply.held.pieces.len(), begun.elapsed().as_secs()), (None, 1, 5));
}

#[tokio::test(start_paused = true)]
async fn pings_without_end_do_not_keep_the_client_waiting() {
    let pings = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        Some((Ok(Bytes::from_static(b": ping\n\n")), ()))
    });
    let rest = pings.take(100).boxed();
    let mut reply =
        Reply { status: StatusCode::OK, headers: HeaderMap::new(), held: HeldBytes::default(), rest };
    let begun = Instant::now();
    let opening = reply.hold_opening(Protocol::OpenaiChat).await;
    let waited = begun.elapsed();
    assert_eq!((opening.error, reply.held.pieces.len(), waited.as_millis()), (None, 3, 1_400));
}
