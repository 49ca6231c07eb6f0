//! Memory that a client fills whose large last message changes from request to request.

use super::prepare;
use crate::body::Body;
use crate::books::{BookLimits, Books};
use crate::notice::OperatorNotice;
use crate::outward::Outward;
use crate::request::Request;
use crate::rules::SessionRule;
use crate::server_state::ServerState;
use crate::settings::{ServerSettings, Upstreams};
use axum::http::HeaderMap;
use epitome_core::Policy;
use epitome_engine::FrozenClock;
use epitome_tokens::Catalog;
use epitome_wire::Protocol;
use serde_json::{Value, json};
use std::sync::Arc;

/// Everything a request is served from, with these limits; what is told goes to `tell`.
pub(crate) fn state(
    limits: BookLimits,
    tell: impl Fn(&OperatorNotice) + Send + Sync + 'static,
) -> Arc<ServerState> {
    let settings = ServerSettings {
        upstreams: Upstreams::default(),
        rules: Arc::new(SessionRule::alone(Policy::default())),
        window: None,
        catalog: Arc::new(Catalog::built_in().clone()),
        clock: Arc::new(FrozenClock),
        tell: Arc::new(tell),
        store: None,
    };
    let state = ServerState::new(
        settings,
        ([127, 0, 0, 1], 7117).into(),
        Outward::new().expect("a client can be made"),
    );
    Arc::new(ServerState { books: Books::within(limits), ..state })
}

/// Prepares a request that is to go out as it came.
pub(crate) async fn send(state: &Arc<ServerState>, messages: &[Value]) {
    let body = json!({"model": "claude-haiku-4-5", "max_tokens": 100, "messages": messages}).to_string();
    let read = Body::read(Protocol::Anthropic, body.clone().into()).expect("a body");
    let request = Request::new(&state.key, Protocol::Anthropic, &HeaderMap::new(), read);
    let prepared = prepare(state, &Arc::new(request.expect("a request"))).await;
    assert_eq!(prepared.body, body);
}

#[tokio::test]
async fn a_large_last_message_that_changes_is_held_to_the_limit() {
    let limits = BookLimits { sessions_max: 8, bytes_max: 50_000 };
    let state = state(limits, |notice| panic!("{notice}"));
    let opening = json!({"role": "user", "content": "look at this page"});
    let answer = json!({"role": "assistant", "content": "which?"});
    let mut held = Vec::new();
    for number in 0..12 {
        let page = format!("page {number}: {}", "x ".repeat(5_000));
        send(&state, &[opening.clone(), answer.clone(), json!({"role": "user", "content": page})]).await;
        held.push(state.books.bytes());
    }
    assert!(held[0] > 10_000 && held[3] > 40_000, "each of them counts: {held:?}");
    assert!(held.iter().all(|bytes| *bytes <= limits.bytes_max), "{held:?}");
    assert_eq!(state.books.each(|_, _| ()).len(), 1);
}

#[tokio::test]
async fn what_comes_again_counts_once_and_others_go_for_what_is_new() {
    let limits = BookLimits { sessions_max: 8, bytes_max: 50_000 };
    let state = state(limits, |notice| panic!("{notice}"));
    let page =
        |number: usize| vec![json!({"role": "user", "content": format!("{number} {}", "x ".repeat(10_000))})];
    for number in [0, 0, 1, 0, 1, 2] {
        send(&state, &page(number)).await;
    }
    assert_eq!(
        state.books.each(|id, _| id.to_string()),
        ["s0002", "s0003"],
        "the first was not used for longest"
    );
    assert!((40_000..=50_000).contains(&state.books.bytes()), "{}", state.books.bytes());
}
