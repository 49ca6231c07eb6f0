//! What a request says beside its messages is planned with: betas, the answer it asks for, marks for the cache, and what its provider is
//! asked to do to the context by itself.

use crate::stage::{Stage, answer, body, history};
use epitome_upstream::{Script, Strictness};
use reqwest::StatusCode;
use serde_json::{Value, json};

const SMALL: u64 = 8_000;
/// What the provider takes of a model without a beta.
const TAKEN: u64 = 4_500;
const LONG: &str = "context-1m-2025-08-07";
const MARK: &str = "\"cache_control\"";

fn quiet() -> Script {
    Script { tool_rounds: 0, strictness: Strictness::Lenient, ..Script::default() }
}

#[tokio::test]
async fn what_is_learned_of_a_window_is_not_learned_of_the_longer_one_of_a_beta() {
    let stage = Stage::with_windows_of_the_catalog(Script { window_tokens: Some(TAKEN), ..quiet() }).await;
    let window = async || stage.sessions().await.pop().expect("it is listed")["window"].as_u64();
    let long = |words| stage.post("/v1/messages", body(&history(40, words), false));
    assert_eq!(answer(long("one")).await.0, StatusCode::OK);
    assert_eq!(window().await, Some(TAKEN), "it was refused once");
    let small = || stage.post("/v1/messages", body(&history(1, "two"), false));
    answer(small().header("anthropic-beta", format!("a-beta,{LONG}"))).await;
    assert_eq!(window().await, Some(1_000_000), "with the beta it is another model");
    answer(small()).await;
    assert_eq!(window().await, Some(TAKEN));
    let stats = stage.json("/api/v1/stats").await;
    let models: Vec<&Value> =
        stats["models"].as_array().expect("a list").iter().map(|one| &one["model"]).collect();
    assert_eq!(models, ["claude-sonnet-4-5"], "to whoever counts it is the same");
}

#[tokio::test]
async fn the_answer_that_is_asked_for_is_left_its_room() {
    let mut lasted = Vec::new();
    for max_tokens in [500, 1_900] {
        let stage = Stage::new(quiet(), SMALL).await;
        for turns in 10..60 {
            let mut body: Value = serde_json::from_str(&body(&history(turns, "one"), false)).expect("JSON");
            body["max_tokens"] = json!(max_tokens);
            answer(stage.post("/v1/messages", body.to_string())).await;
            let session = stage.sessions().await.remove(0);
            assert_eq!(session["reserve"], max_tokens);
            if session["compactions"][0].is_object() {
                lasted.push(turns);
                break;
            }
        }
    }
    assert!(
        lasted.len() == 2 && lasted[0] > lasted[1],
        "{lasted:?}: a longer answer leaves less to the history"
    );
}

#[tokio::test]
async fn a_provider_that_is_asked_to_make_room_is_let_and_what_it_refuses_is_compacted() {
    for edit in ["compact_20260112", "clear_tool_uses_20250919"] {
        let stage = Stage::new(Script { window_tokens: Some(SMALL), ..quiet() }, SMALL).await;
        let ask = |turns: usize| {
            let mut body: Value = serde_json::from_str(&body(&history(turns, "one"), false)).expect("JSON");
            body["context_management"] = json!({"edits": [{"type": edit}]});
            body.to_string()
        };
        let mut largest = 0;
        for turns in 10..60 {
            let (status, _) = answer(stage.post("/v1/messages", ask(turns))).await;
            assert_eq!(status, StatusCode::OK);
            let session = stage.sessions().await.remove(0);
            if let Some(record) = session["compactions"].get(0) {
                assert_eq!(record["trigger"], "overflow", "{edit}");
                break;
            }
            largest = session["tokens"].as_u64().expect("a number");
            let is_as_it_came = stage.arrived().pop().is_some_and(|(_, body)| body == ask(turns));
            assert!(is_as_it_came, "{edit}");
        }
        let overflows = stage.upstream.report().overflows;
        assert!(
            largest > SMALL * 82 / 100 && overflows == 1,
            "{edit}: {largest} was due before, {overflows}"
        );
    }
    let stage = Stage::new(quiet(), SMALL).await;
    let mut body: Value = serde_json::from_str(&body(&history(60, "one"), false)).expect("JSON");
    body["context_management"] = json!({"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]});
    answer(stage.post("/v1/messages", body.to_string())).await;
    let trigger = stage.sessions().await[0]["compactions"][0]["trigger"].clone();
    assert!(trigger == "threshold" || trigger == "overflow", "{trigger}: it makes no room by itself");
}

#[tokio::test]
async fn a_summary_of_the_providers_own_is_kept_and_counted_from() {
    let stage = Stage::new(quiet(), SMALL).await;
    let call = json!({"type": "tool_use", "id": "late", "name": "read", "input": {}});
    let sealed = json!({"type": "compaction", "content": "all that was said, in short", "signature": "c2ln"});
    let mut head = history(60, "one");
    head.push(json!({"role": "assistant", "content": [sealed, call]}));
    head.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "late", "content": "found"}]}));
    head.push(json!({"role": "assistant", "content": "so it is"}));
    let short = [head.clone(), vec![json!({"role": "user", "content": "go on"})]].concat();
    let short = body(&short, false);
    let (status, reply) = answer(stage.post("/v1/messages", short.clone())).await;
    assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&reply));
    assert_eq!(stage.arrived()[0].1, short, "what stands before it is nobody's to count");
    let session = stage.sessions().await.remove(0);
    assert!(session["tokens"].as_u64() < Some(1_000), "{}", session["tokens"]);
    // Ids of calls are unique in a request.
    let grown = body(&[head.clone(), history(60, "two")].concat(), false);
    let (before, behind) = grown.split_once("about two").expect("it goes on");
    let grown = format!("{before}about two{}", behind.replace("toolu_", "toolv_"));
    assert_eq!(answer(stage.post("/v1/messages", grown)).await.0, StatusCode::OK);
    let sent: Value = serde_json::from_str(&stage.arrived()[1].1).expect("JSON");
    let sent = sent["messages"].as_array().expect("messages").clone();
    let sealed = head.len() - 3;
    assert_eq!(sent[..=sealed], head[..=sealed], "it stays, with what belongs to it");
    // What was first asked since, and the summary, are said with the results, so that user and assistant speak in turn.
    let results = &sent[sealed + 1]["content"];
    assert_eq!(results[0], head[sealed + 1]["content"][0]);
    assert_eq!(results[1]["text"], "task 0 about two");
    assert!(results[2]["text"].as_str().is_some_and(|text| text.contains("<epitome-summary")), "{results}");
    assert!(sent.len() < head.len() + 60, "{}", sent.len());
}

/// A history whose newest `marks` texts are marked, in a request whose system prompt bears `system` marks.
fn marked(messages: &[Value], marks: usize, system: usize) -> String {
    let mut messages = messages.to_vec();
    for message in messages.iter_mut().rev().filter(|message| message["content"].is_string()) {
        message["content"] = json!([{"type": "text", "text": message["content"]}]);
    }
    let texts = messages.iter_mut().rev().filter(|message| message["content"][0]["type"] == "text");
    for message in texts.take(marks) {
        message["content"][0]["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});
    }
    let piece =
        json!({"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral", "ttl": "1h"}});
    let mut request: Value = serde_json::from_str(&body(&messages, false)).expect("JSON");
    request["system"] = json!(vec![piece; system]);
    request.to_string()
}

/// The mark on our summary in a body, and how many marks there are in all of it.
fn marks(body: &str) -> (Value, usize) {
    let parsed: Value = serde_json::from_str(body).expect("JSON");
    let blocks = parsed["messages"].as_array().expect("messages").iter();
    let mut blocks = blocks.filter_map(|message| message["content"].as_array()).flatten();
    let summary =
        blocks.find(|block| block["text"].as_str().is_some_and(|text| text.contains("<epitome-summary")));
    (summary.expect("a summary")["cache_control"].clone(), body.matches(MARK).count())
}

#[tokio::test]
async fn a_summary_is_marked_for_the_cache_where_the_client_has_a_mark_left() {
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    // Marks of the client's in messages and in the system prompt, that on the summary, and all of them.
    let cases = [
        (1, 1, hour.clone(), 3),
        (2, 1, hour.clone(), 4),
        (2, 2, Value::Null, 4),
        (0, 0, Value::Null, 0),
        (0, 1, json!({"type": "ephemeral"}), 2),
    ];
    for (messages, system, on_summary, all) in cases {
        let stage = Stage::new(quiet(), SMALL).await;
        let request = marked(&history(60, "one"), messages, system);
        assert_eq!(answer(stage.post("/v1/messages", request)).await.0, StatusCode::OK);
        let sent = stage.arrived().pop().expect("it arrived").1;
        assert_eq!(marks(&sent), (on_summary, all), "{messages} and {system}");
    }
}

#[tokio::test]
async fn marks_that_fell_into_what_was_summed_up_are_free_again() {
    let stage = Stage::new(quiet(), SMALL).await;
    let mut request: Value = serde_json::from_str(&marked(&history(60, "one"), 1, 1)).expect("JSON");
    for at in [4, 8] {
        request["messages"][at]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    }
    assert_eq!(request.to_string().matches(MARK).count(), 4);
    assert_eq!(answer(stage.post("/v1/messages", request.to_string())).await.0, StatusCode::OK);
    let sent = stage.arrived().pop().expect("it arrived").1;
    assert_eq!(marks(&sent), (json!({"type": "ephemeral", "ttl": "1h"}), 3));
}
