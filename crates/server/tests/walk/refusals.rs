//! Refusals that are no overflow and can be mended: each is met once, before the client has seen a byte, and what was found out is kept
//! to. A second refusal is the client's.

use crate::stage::{Stage, answer, history, serve_as, serve_stored, sessions_at};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use epitome_core::policy::Settings;
use epitome_core::{KeptBodies, Policy, Tokens};
use epitome_engine::store::MemoryStore;
use epitome_server::{ServerStore, SessionRule};
use epitome_upstream::{Binding, Script};
use reqwest::Client;
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Small enough to be filled in the middle of a turn.
const SMALL: u64 = 8_000;
const LARGE: u64 = 64_000;
/// As many as failed in part with bound thinking.
const TURNS: usize = 12;

/// Plays an agent that thinks, with tools whose results fill the window; every request must be taken.
async fn think(stage: &Stage, thinking: &Value) -> usize {
    think_at(&stage.url, &mut Vec::new(), thinking, 0..TURNS).await
}

/// The same for some of its turns, at a server that may be another for the next.
async fn think_at(url: &str, messages: &mut Vec<Value>, thinking: &Value, turns: Range<usize>) -> usize {
    let tool = json!({"name": "read", "input_schema": {"type": "object"}});
    let mut requests = 0;
    for turn in turns {
        messages.push(json!({"role": "user", "content": format!("task {turn} of the parser")}));
        loop {
            let body = json!({
                "model": "claude-opus-5-5", "max_tokens": 2_000, "thinking": thinking, "tools": [tool], "messages": messages,
            });
            let post = Client::new().post(format!("{url}/v1/messages")).header("x-api-key", "a key");
            let (status, reply) = answer(post.body(body.to_string())).await;
            let reply: Value = serde_json::from_slice(&reply).expect("JSON");
            requests += 1;
            assert_eq!(status, StatusCode::OK, "turn {turn}: {reply}");
            messages.push(json!({"role": "assistant", "content": reply["content"]}));
            let blocks = reply["content"].as_array().expect("blocks");
            let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
            let results: Vec<Value> = calls
                .map(|call| {
                    let found = format!("line {turn} of the parser: ").repeat(120);
                    json!({"type": "tool_result", "tool_use_id": call["id"], "content": found})
                })
                .collect();
            if results.is_empty() {
                break;
            }
            messages.push(json!({"role": "user", "content": results}));
        }
    }
    requests
}

#[tokio::test]
async fn twelve_turns_of_twelve_with_thinking_that_is_bound_to_its_prefix() {
    for mode in ["adaptive", "enabled"] {
        let script = Script { tool_rounds: 4, binding: Binding::Conversation, ..Script::default() };
        let stage = Stage::new(script, SMALL).await;
        let mut thinking = json!({"type": mode});
        if mode == "enabled" {
            thinking["budget_tokens"] = json!(1_024);
        }
        let requests = think(&stage, &thinking).await;
        let session = &stage.sessions().await[0];
        let compactions = session["compactions"].as_array().map_or(0, Vec::len);
        assert!(compactions > 2, "{compactions} compactions");
        let report = stage.upstream.report();
        let refused: Vec<usize> =
            (0..).zip(&report.recorded).filter(|(_, one)| one.status != 200).map(|(at, _)| at).collect();
        assert_eq!((refused.len(), &session["recoveries"]), (1, &json!(1)), "{mode}: it is found out once");
        assert_eq!(report.recorded.len(), requests + 1);
        for (at, one) in report.recorded.iter().enumerate() {
            let is_told = at > refused[0] && mode == "enabled";
            assert_eq!(one.body.contains("drop_block"), is_told, "{mode}: request {at}");
        }
        let after = &report.recorded[refused[0] + 1].body;
        assert_eq!(
            after.contains("\"signature\""),
            mode == "enabled",
            "it is left out, or its provider told to"
        );
    }
}

#[tokio::test]
async fn what_was_refused_stays_out_when_the_server_is_restarted() {
    for mode in ["adaptive", "enabled"] {
        let script = Script { tool_rounds: 4, binding: Binding::Conversation, ..Script::default() };
        let stage = Stage::new(script, SMALL).await;
        let store =
            ServerStore { store: Arc::new(MemoryStore::default()), key: [7; 32], keep: KeptBodies::All };
        let mut thinking = json!({"type": mode});
        if mode == "enabled" {
            thinking["budget_tokens"] = json!(1_024);
        }
        let mut messages = Vec::new();
        for turns in [0..6, 6..8, 8..10, 10..TURNS] {
            let (url, running) = serve_stored(&stage.upstream.base_url, SMALL, store.clone()).await;
            think_at(&url, &mut messages, &thinking, turns).await;
            assert_eq!(sessions_at(&url).await.len(), 1);
            running.stop().await;
        }
        let refused = stage.upstream.report().recorded.iter().filter(|one| one.status != 200).count();
        assert_eq!(refused, 1, "{mode}: it is found out once, by the first of four servers");
    }
}

/// What a provider refuses, with the error it gives: by the headers and the body of a request.
type Refusal = fn(&HeaderMap, &Value) -> Option<(StatusCode, String)>;

/// What a provider was asked: headers and body.
type Asked = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// A provider with a rule of its own, behind a server.
struct Provider {
    url: String,
    asked: Asked,
    _running: oneshot::Sender<()>,
}

impl Provider {
    async fn start(window: u64, refuse: Refusal) -> Self {
        Self::start_as(SessionRule::alone(Policy::default()), window, refuse).await
    }

    async fn start_as(rule: SessionRule, window: u64, refuse: Refusal) -> Self {
        let asked = Asked::default();
        let take = move |State(asked): State<Asked>, headers: HeaderMap, body: String| async move {
            let body: Value = serde_json::from_str(&body).expect("JSON");
            let refused = refuse(&headers, &body);
            asked.lock().expect("nobody failed").push((headers, body));
            match refused {
                Some((status, error)) => (status, error).into_response(),
                None => {
                    let said = json!([{"type": "text", "text": "so"}]);
                    let usage = json!({"input_tokens": 100, "output_tokens": 5});
                    json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": said, "stop_reason": "end_turn", "usage": usage})
                        .to_string()
                        .into_response()
                }
            }
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let app = Router::new().fallback(take).with_state(asked.clone());
        let app = app.layer(axum::extract::DefaultBodyLimit::disable());
        tokio::spawn(async { axum::serve(listener, app).await });
        let (url, running) = serve_as(&base, rule, Some(Tokens(window))).await;
        Self { url, asked, _running: running }
    }

    /// The status a request ends with, and how often the provider was asked for it.
    async fn send(&self, body: &Value) -> (u16, usize) {
        let before = self.asked().len();
        let request = Client::new().post(format!("{}/v1/messages", self.url)).header("anthropic-beta", "a");
        let (status, _) = answer(request.body(body.to_string())).await;
        (status.as_u16(), self.asked().len() - before)
    }

    fn asked(&self) -> Vec<(HeaderMap, Value)> {
        self.asked.lock().expect("nobody failed").clone()
    }
}

fn invalid(message: &str) -> String {
    json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string()
}

fn talk(messages: &[Value]) -> Value {
    json!({"model": "claude-sonnet-4-5", "max_tokens": 32_000, "messages": messages})
}

#[tokio::test]
async fn an_answer_too_long_beside_its_prompt_is_asked_for_shorter() {
    let refuse: Refusal = |_, body| {
        let why = "input length and `max_tokens` exceed context limit: 9000 + 32000 > 40000, decrease input length or `max_tokens` and try again";
        (body["max_tokens"].as_u64() > Some(31_000)).then(|| (StatusCode::BAD_REQUEST, invalid(why)))
    };
    let provider = Provider::start(LARGE, refuse).await;
    let sent = talk(&history(3, "x"));
    assert_eq!(provider.send(&sent).await, (200, 2));
    let mut expected = sent.clone();
    expected["max_tokens"] = json!(30_936);
    let bodies: Vec<Value> = provider.asked().into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, [sent, expected], "nothing else is changed");
}

#[tokio::test]
async fn large_results_give_way_where_a_body_has_too_many_bytes_and_no_picture() {
    let refuse: Refusal = |_, body| {
        let is_large = body.to_string().len() > 60_000;
        is_large
            .then(|| (StatusCode::PAYLOAD_TOO_LARGE, "<html>413 Request Entity Too Large</html>".to_owned()))
    };
    let provider = Provider::start(200_000, refuse).await;
    let mut messages = history(12, "a line of the parser, as it was read,");
    let long = "a line that was printed; ".repeat(2_000);
    messages[2]["content"][0]["content"] = json!(long);
    messages[6]["content"][0]["content"] = json!(long);
    assert_eq!(provider.send(&talk(&messages)).await, (200, 2));
    let (_, sent) = provider.asked().pop().expect("it arrived");
    let mut expected = messages.clone();
    for at in [2, 6] {
        let shown = sent["messages"][at]["content"][0]["content"].as_str().unwrap_or_default();
        assert!(shown.starts_with("[tool result m000") && shown.len() < 200, "{shown}");
        expected[at]["content"][0]["content"] = json!(shown);
    }
    assert_eq!(sent["messages"], json!(expected));
    messages
        .extend([json!({"role": "assistant", "content": "so"}), json!({"role": "user", "content": "go on"})]);
    assert_eq!(provider.send(&talk(&messages)).await, (200, 1), "never refused for them again");
}

#[tokio::test]
async fn what_the_provider_can_no_longer_read_is_left_out_and_stays_out() {
    let refuse: Refusal = |_, body| {
        let why = "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
        body.to_string().contains("encrypted_content").then(|| (StatusCode::BAD_REQUEST, invalid(why)))
    };
    let provider = Provider::start(LARGE, refuse).await;
    let search = json!([
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://x", "encrypted_content": "c2Vh"}]},
        {"type": "text", "text": "it is there"},
    ]);
    let mut messages = vec![
        json!({"role": "user", "content": "look it up"}),
        json!({"role": "assistant", "content": search}),
        json!({"role": "user", "content": "and now?"}),
    ];
    assert_eq!(provider.send(&talk(&messages)).await, (200, 2));
    let (_, sent) = provider.asked().pop().expect("it arrived");
    let left = json!([
        {"type": "text", "text": "[server_tool_use]"},
        {"type": "text", "text": "[web_search_tool_result]"},
        {"type": "text", "text": "it is there"},
    ]);
    assert_eq!(sent["messages"], json!([messages[0], {"role": "assistant", "content": left}, messages[2]]));
    messages
        .extend([json!({"role": "assistant", "content": "so"}), json!({"role": "user", "content": "go on"})]);
    assert_eq!(provider.send(&talk(&messages)).await, (200, 1), "it is left out at once");
}

#[tokio::test]
async fn pairs_that_are_refused_after_we_wrote_them_go_as_the_client_sent_them() {
    let refuse: Refusal = |_, body| {
        let why =
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.";
        let is_ours = body.to_string().contains("<epitome-summary");
        is_ours.then(|| (StatusCode::BAD_REQUEST, invalid(why)))
    };
    let provider = Provider::start(SMALL, refuse).await;
    // Beyond the threshold, and still within the window.
    let mut turns = 2;
    let mut last = (0, 0);
    while turns < 60 && last.1 < 2 {
        turns += 1;
        last = provider
            .send(&json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": history(turns, "x")}))
            .await;
    }
    assert_eq!(last, (200, 2), "after {turns} turns");
    let (_, sent) = provider.asked().pop().expect("it arrived");
    assert_eq!(sent["messages"], json!(history(turns, "x")));
    let own: Refusal = |_, _| {
        Some((
            StatusCode::BAD_REQUEST,
            invalid(
                "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
            ),
        ))
    };
    let provider = Provider::start(LARGE, own).await;
    assert_eq!(
        provider.send(&talk(&history(2, "x"))).await,
        (400, 1),
        "what the client wrote is the client's"
    );
}

#[tokio::test]
async fn where_every_reply_must_begin_with_thinking_its_provider_is_told_to_drop_what_is_bound_elsewhere() {
    let refuse: Refusal = |headers, body| {
        let is_told = body["thinking"]["block_binding"]["prefix_mismatch_behavior"] == "drop_block";
        let features = headers["anthropic-beta"].to_str().unwrap_or_default();
        let why = "messages.1.content.0: Invalid `signature` in `thinking` block: the block is bound to a different conversation";
        let is_taken = is_told && features == "a,thinking-binding-controls-2026-08-01";
        (!is_taken).then(|| (StatusCode::BAD_REQUEST, invalid(why)))
    };
    let provider = Provider::start(LARGE, refuse).await;
    let thought =
        json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "so"}]);
    let mut body = talk(&[
        json!({"role": "user", "content": "a"}),
        json!({"role": "assistant", "content": thought}),
        json!({"role": "user", "content": "b"}),
    ]);
    body["thinking"] = json!({"type": "enabled", "budget_tokens": 1_024});
    assert_eq!(provider.send(&body).await, (200, 2));
    let (_, sent) = provider.asked().pop().expect("it arrived");
    assert_eq!(sent["messages"], body["messages"], "its thinking stays where it is");
    assert_eq!(provider.send(&body).await, (200, 1), "from then on it is told at once");
}

#[tokio::test]
async fn a_policy_that_recovers_from_nothing_has_every_refusal_go_back() {
    let mut settings = Settings::default();
    settings.guard.recoveries_max = 0;
    let policy = Policy::try_from(settings).expect("a policy");
    let refuse: Refusal = |_, body| {
        let why = if body["max_tokens"].as_u64() == Some(32_000) {
            "input length and `max_tokens` exceed context limit: 9000 + 32000 > 40000, decrease input length or `max_tokens` and try again"
        } else {
            "messages.1.content.0: Invalid `signature` in `thinking` block: the block is bound to a different conversation"
        };
        Some((StatusCode::BAD_REQUEST, invalid(why)))
    };
    let provider = Provider::start_as(SessionRule::alone(policy), LARGE, refuse).await;
    let thought =
        json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "so"}]);
    let mut body = talk(&[
        json!({"role": "user", "content": "a"}),
        json!({"role": "assistant", "content": thought}),
        json!({"role": "user", "content": "b"}),
    ]);
    assert_eq!(provider.send(&body).await, (400, 1));
    body["max_tokens"] = json!(100);
    assert_eq!(provider.send(&body).await, (400, 1));
}

#[tokio::test]
async fn there_is_one_recovery_in_all() {
    let refuse: Refusal = |_, body| {
        let is_whole = body.to_string().contains("\"signature\"");
        let why = if is_whole {
            "messages.1.content.0: Invalid `signature` in `thinking` block: the block is bound to a different conversation"
        } else {
            "prompt is too long: 210000 tokens > 200000 maximum"
        };
        Some((StatusCode::BAD_REQUEST, invalid(why)))
    };
    let provider = Provider::start(LARGE, refuse).await;
    let thought =
        json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "so"}]);
    let messages = [
        json!({"role": "user", "content": "a"}),
        json!({"role": "assistant", "content": thought}),
        json!({"role": "user", "content": "b"}),
    ];
    assert_eq!(provider.send(&talk(&messages)).await, (400, 2));
}
