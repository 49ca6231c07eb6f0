//! What is learned of providers' endpoints: shown, kept apart by what a request asks for, kept over restarts, and forgotten on request.

use crate::stage::{Stage, answer, body, history, serve_stored};
use epitome_core::KeptBodies;
use epitome_engine::store::MemoryStore;
use epitome_server::ServerStore;
use epitome_upstream::{Binding, Keep, Script, Upstream};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;

const SMALL: u64 = 8_000;
const LARGE: u64 = 64_000;

fn small() -> Script {
    Script { window_tokens: Some(SMALL), tool_rounds: 0, ..Script::default() }
}

async fn endpoints(url: &str) -> Vec<Value> {
    let (_, body) = answer(Client::new().get(format!("{url}/api/v1/endpoints"))).await;
    serde_json::from_slice(&body).expect("a list")
}

#[tokio::test]
async fn a_window_that_was_told_is_listed_and_forgotten_on_request() {
    let stage = Stage::new(small(), LARGE).await;
    assert_eq!(endpoints(&stage.url).await, Vec::<Value>::new());
    answer(stage.post("/v1/messages", body(&history(60, "x"), false))).await;
    let [known] = &endpoints(&stage.url).await[..] else { panic!("one endpoint was asked") };
    assert_eq!(
        (&known["base_url"], &known["model"], &known["window"]["tokens"], &known["binds_thinking"]),
        (&json!(stage.upstream.base_url), &json!("claude-sonnet-4-5"), &json!(SMALL), &json!(false))
    );
    let forget = |query: &str| stage.request(Method::DELETE, &format!("/api/v1/endpoints{query}"));
    let forgotten = async |query: &str| {
        let (status, reply) = answer(forget(query)).await;
        (status, serde_json::from_slice::<Value>(&reply).expect("JSON"))
    };
    assert_eq!(forgotten("?model=another").await, (StatusCode::OK, json!({"forgotten": 0})));
    assert_eq!(forgotten("?model=claude-sonnet-4-5").await, (StatusCode::OK, json!({"forgotten": 1})));
    assert_eq!(endpoints(&stage.url).await, Vec::<Value>::new());
    let (status, told) = forgotten("?colour=red").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(told["error"].as_str().is_some_and(|told| told.contains("write ?model=NAME")), "{told}");
    answer(stage.post("/v1/messages", body(&history(61, "y"), false))).await;
    assert_eq!(stage.upstream.report().overflows, 2, "it is learned anew");
}

#[tokio::test]
async fn what_is_learned_with_a_large_window_says_nothing_of_requests_without_it() {
    let stage = Stage::new(small(), LARGE).await;
    let beta = |words: &str| {
        let request = stage.post("/v1/messages", body(&history(60, words), false));
        request.header("anthropic-beta", "other-1, context-1m-2025-08-07")
    };
    answer(beta("x")).await;
    let told: Vec<Value> = endpoints(&stage.url).await;
    // How the provider counts is the same with it and without.
    let told = told.iter().filter(|one| !one["window"].is_null());
    let told: Vec<_> = told.map(|one| (&one["beta"], &one["window"]["tokens"])).collect();
    assert_eq!(told, [(&json!("context-1m-2025-08-07"), &json!(SMALL))]);
    answer(stage.post("/v1/messages", body(&history(60, "y"), false))).await;
    assert_eq!(stage.upstream.report().overflows, 2, "without the feature nothing is known yet");
    answer(beta("z")).await;
    assert_eq!(stage.upstream.report().overflows, 2, "with it something is");
    assert_eq!(endpoints(&stage.url).await.len(), 2);
}

#[tokio::test]
async fn what_was_learned_outlives_the_server_and_another_can_have_it_forgotten() {
    let upstream = Upstream::start(Script { keep: Keep::Bodies, ..small() }).await.expect("a free port");
    let store = Arc::new(MemoryStore::default());
    let kept = || ServerStore { store: store.clone(), key: [7; 32], keep: KeptBodies::default() };
    let (url, running) = serve_stored(&upstream.base_url, LARGE, kept()).await;
    let request = Client::new().post(format!("{url}/v1/messages")).body(body(&history(60, "x"), false));
    answer(request).await;
    running.stop().await;
    let (url, running) = serve_stored(&upstream.base_url, LARGE, kept()).await;
    let known = endpoints(&url).await;
    assert_eq!((known.len(), &known[0]["window"]["tokens"]), (1, &json!(SMALL)));
    let (other, also_running) = serve_stored(&upstream.base_url, LARGE, kept()).await;
    answer(Client::new().delete(format!("{other}/api/v1/endpoints"))).await;
    // A server looks every few seconds, and when it ends: what it held must not come back with it.
    running.stop().await;
    also_running.stop().await;
    let (url, running) = serve_stored(&upstream.base_url, LARGE, kept()).await;
    assert_eq!(endpoints(&url).await, Vec::<Value>::new());
    running.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_binds_thinking_is_refused_by_once_and_not_once_for_each_session() {
    let script = Script { tool_rounds: 4, binding: Binding::Conversation, ..Script::default() };
    let stage = Stage::new(script, SMALL).await;
    for talk in ["the parser", "the printer"] {
        let tool = json!({"name": "read", "input_schema": {"type": "object"}});
        let mut messages = Vec::new();
        for turn in 0..8 {
            messages.push(json!({"role": "user", "content": format!("task {turn} of {talk}")}));
            loop {
                let body = json!({
                    "model": "claude-opus-5-5", "max_tokens": 2_000, "thinking": {"type": "adaptive"}, "tools": [tool], "messages": messages,
                });
                let (status, reply) = answer(stage.post("/v1/messages", body.to_string())).await;
                let reply: Value = serde_json::from_slice(&reply).expect("JSON");
                assert_eq!(status, StatusCode::OK, "{reply}");
                messages.push(json!({"role": "assistant", "content": reply["content"]}));
                let calls = reply["content"].as_array().expect("blocks").iter();
                let results: Vec<Value> = calls
                    .filter(|block| block["type"] == "tool_use")
                    .map(|call| {
                        let found = format!("line {turn} of {talk}: ").repeat(120);
                        json!({"type": "tool_result", "tool_use_id": call["id"], "content": found})
                    })
                    .collect();
                if results.is_empty() {
                    break;
                }
                messages.push(json!({"role": "user", "content": results}));
            }
        }
    }
    let sessions = stage.sessions().await;
    let recoveries: Vec<&Value> = sessions.iter().map(|session| &session["recoveries"]).collect();
    assert_eq!(recoveries, [1, 0]);
    let known = endpoints(&stage.url).await;
    assert_eq!(known[0]["binds_thinking"], json!(true), "{known:?}");
}
