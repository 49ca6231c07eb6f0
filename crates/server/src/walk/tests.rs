//! Memory that clients fill: by a large last message that changes from request to request, and by many talks at once.

use super::prepare;
use crate::body::Body;
use crate::books::{BookLimits, Books};
use crate::notice::OperatorNotice;
use crate::outward::Outward;
use crate::request::{ReadBody, Request, RequestOwner};
use crate::routes;
use crate::rules::SessionRule;
use crate::server_state::ServerState;
use crate::settings::{SILENCE_TIME_MAX, ServerSettings, Upstreams};
use bytes::Bytes;
use epitome_core::{Policy, Tokens};
use epitome_engine::FrozenClock;
use epitome_tokens::Catalog;
use epitome_wire::Protocol;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Everything a request is served from, with these limits; what is told goes to `tell`.
pub(crate) fn state(
    limits: BookLimits,
    tell: impl Fn(&OperatorNotice) + Send + Sync + 'static,
) -> Arc<ServerState> {
    state_with_window(limits, None, tell)
}

fn state_with_window(
    limits: BookLimits,
    window: Option<Tokens>,
    tell: impl Fn(&OperatorNotice) + Send + Sync + 'static,
) -> Arc<ServerState> {
    let settings = ServerSettings {
        upstreams: Upstreams::default(),
        rules: Arc::new(SessionRule::alone(Policy::default())),
        window,
        catalog: Arc::new(Catalog::built_in().clone()),
        clock: Arc::new(FrozenClock),
        tell: Arc::new(tell),
        store: None,
        api_token: None,
        is_observing: false,
        silence_max: SILENCE_TIME_MAX,
    };
    let state = ServerState::new(
        settings,
        ([127, 0, 0, 1], 7117).into(),
        Outward::new(SILENCE_TIME_MAX).expect("a client can be made"),
    );
    Arc::new(ServerState { books: Books::within(limits), ..state })
}

/// Prepares a request: the body that came, and the one to send.
async fn prepared(state: &Arc<ServerState>, messages: &[Value]) -> (Bytes, Bytes) {
    let body = json!({"model": "claude-haiku-4-5", "max_tokens": 100, "messages": messages}).to_string();
    let parts = axum::http::Request::post("/v1/messages").body(()).expect("a request").into_parts().0;
    let route = routes::find(&state.settings.upstreams, &parts).expect("a route");
    let read = Body::alone(Protocol::Anthropic, &body).expect("a body");
    let read = ReadBody::new(state, Protocol::Anthropic, read).expect("something is said");
    let request =
        Request::new(state, &route, &parts.headers, RequestOwner::of(&state.key, &parts.headers), read);
    let prepared = prepare(state, &Arc::new(request)).await;
    (body.into(), prepared.body)
}

/// Prepares a request that is to go out as it came.
pub(crate) async fn send(state: &Arc<ServerState>, messages: &[Value]) {
    let (came, sent) = prepared(state, messages).await;
    assert_eq!(sent, came);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_worked_on_keeps_its_book_however_many_begin_beside_it() {
    // There is room for one, and none for its bytes.
    let limits = BookLimits { sessions_max: 1, side_sessions_max: 1, bytes_max: 1 };
    let told = Arc::<Mutex<Vec<String>>>::default();
    let heard = told.clone();
    let tell = move |notice: &OperatorNotice| heard.lock().expect("nobody failed").push(notice.to_string());
    let state = state_with_window(limits, Some(Tokens(4_000)), tell);
    let talk = |number: usize| {
        let said = format!("talk {number}: {}", "a line of it ".repeat(50));
        let turn = [json!({"role": "user", "content": said}), json!({"role": "assistant", "content": said})];
        let asked = json!({"role": "user", "content": "and now?"});
        std::iter::repeat_n(turn, 40).flatten().chain([asked]).collect::<Vec<Value>>()
    };
    let walks = (0..16).map(|number| {
        let (state, messages) = (state.clone(), talk(number));
        tokio::spawn(async move { prepared(&state, &messages).await })
    });
    for walk in walks.collect::<Vec<_>>() {
        let (came, sent) = walk.await.expect("it is prepared");
        assert!(sent.len() < came.len() / 2, "{} of {} bytes", sent.len(), came.len());
    }
    let told = told.lock().expect("nobody failed");
    assert!(told.iter().all(|line| line.contains(": compacted from ")), "{told:?}");
    assert!(state.books.each(|_, _| ()).len() <= 16);
}

#[tokio::test]
async fn a_large_last_message_that_changes_is_held_to_the_limit() {
    let limits = BookLimits { sessions_max: 8, side_sessions_max: 8, bytes_max: 50_000 };
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
    let limits = BookLimits { sessions_max: 8, side_sessions_max: 8, bytes_max: 50_000 };
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

#[tokio::test]
async fn talks_that_are_taken_up_again_because_there_was_no_room_have_no_other_beginning_for_that() {
    let limits = BookLimits { sessions_max: 1, side_sessions_max: 1, bytes_max: 1 << 20 };
    let state = state(limits, |notice| panic!("{notice}"));
    let turn = |talk: &str| {
        [json!({"role": "user", "content": talk}), json!({"role": "assistant", "content": "so it is"})]
    };
    for turns in 1..=8 {
        for talk in ["one", "two"] {
            let messages = std::iter::repeat_n(turn(talk), turns + 1).flatten().take(2 * turns + 1);
            send(&state, &messages.collect::<Vec<Value>>()).await;
        }
    }
    assert_eq!(state.books.each(|id, _| id.to_string()), ["s0016"], "each request has begun anew");
}
