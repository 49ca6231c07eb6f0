//! Replay of real transcripts.

use crate::client::{CHAT, Client, MESSAGES, RESPONSES, questions, text_of};
use epitome_upstream::{Recording, Script};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name)
}

async fn replaying(name: &str) -> (Client, usize) {
    let recording = Recording::open(&corpus(name)).expect("a transcript");
    let count = recording.len();
    let script = Script { replay: Some(Arc::new(recording)), ..Script::default() };
    (Client::of(script).await, count)
}

/// A client that answers every call with `fine`, for as many steps as there are replies, then one more.
async fn walk(client: &Client, path: &str, mut body: Value, steps: usize) -> Vec<Value> {
    let mut replies = Vec::new();
    for _ in 0..=steps {
        let got = client.post(path, &body).await;
        assert_eq!(got.status, 200, "{}", got.body);
        let list = if path == RESPONSES { "input" } else { "messages" };
        body[list].as_array_mut().expect("a list").extend(after(path, &got.body));
        replies.push(got.body);
    }
    replies
}

/// What a client puts behind a reply: the reply itself, and what its tools say.
fn after(path: &str, reply: &Value) -> Vec<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match path {
        MESSAGES => {
            let calls = list(&reply["content"]).into_iter().filter(|block| block["type"] == "tool_use");
            let result =
                |call: Value| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "fine"});
            let mut results: Vec<Value> = calls.map(result).collect();
            if results.is_empty() {
                results.push(json!({"type": "text", "text": "Go on"}));
            }
            vec![
                json!({"role": "assistant", "content": reply["content"]}),
                json!({"role": "user", "content": results}),
            ]
        }
        CHAT => {
            let message = &reply["choices"][0]["message"];
            let calls = list(&message["tool_calls"]).into_iter();
            let result = |call: Value| json!({"role": "tool", "tool_call_id": call["id"], "content": "fine"});
            let mut all = vec![message.clone()];
            all.extend(calls.map(result));
            if all.len() == 1 {
                all.push(json!({"role": "user", "content": "Go on"}));
            }
            all
        }
        _ => {
            let items = list(&reply["output"]);
            let calls = items.iter().filter(|item| item["type"] == "function_call");
            let result = |call: &Value| {
                let id = &call["call_id"];
                json!({"type": "function_call_output", "call_id": id, "output": "fine"})
            };
            let mut results: Vec<Value> = calls.map(result).collect();
            if results.is_empty() {
                results.push(json!({"role": "user", "content": "Go on"}));
            }
            [items, results].concat()
        }
    }
}

const OVER: &str = "[the recording ends here]";
const SUBAGENT: &str = "claude-code/spotter-fa812b/subagents/agent-aa84377.jsonl.zst";

/// The first request on each protocol.
fn starts() -> [(&'static str, Value); 3] {
    let mut all = questions("Begin");
    all[0].1["max_tokens"] = json!(8000);
    all
}

#[tokio::test]
async fn a_recording_is_replayed_to_its_end_on_each_protocol() {
    for (path, start) in starts() {
        let (client, count) = replaying(SUBAGENT).await;
        assert_eq!(count, 9);
        let replies = walk(&client, path, start, count).await;
        let texts: Vec<String> = replies.iter().map(text_of).collect();
        assert_eq!(texts.iter().position(|text| text == OVER), Some(count), "{path}");
        assert_eq!(client.upstream.report().refused, 0, "{path}");
    }
}

#[tokio::test]
async fn a_compacted_conversation_goes_on_where_it_was() {
    let (client, _) = replaying(SUBAGENT).await;
    let [(_, start), ..] = starts();
    let replies = walk(&client, MESSAGES, start.clone(), 6).await;
    // All but the newest exchange gave way to a summary.
    let mut compacted = start;
    compacted["messages"][0]["content"] = json!("A summary of everything so far");
    let list = compacted["messages"].as_array_mut().expect("messages");
    list.extend(after(MESSAGES, &replies[3]));
    let got = client.post(MESSAGES, &compacted).await.body;
    assert_eq!(got["content"], replies[4]["content"]);
}

#[tokio::test]
async fn where_nothing_is_left_in_view_the_next_reply_follows_the_last() {
    let (client, _) = replaying(SUBAGENT).await;
    let [(_, start), ..] = starts();
    let mut compacted = start.clone();
    compacted["messages"][0]["content"] = json!("All so far in brief, and go on");
    let replies = walk(&client, MESSAGES, start.clone(), 4).await;
    let (client, _) = replaying(SUBAGENT).await;
    let mut contents = Vec::new();
    for body in [&start, &compacted, &compacted, &start] {
        contents.push(client.post(MESSAGES, body).await.body["content"].clone());
    }
    let expected = [0, 1, 2, 0].map(|at| replies[at]["content"].clone());
    assert_eq!(contents, expected);
}

/// Recordings with ids that come twice or that a provider refuses, and thinking without a seal.
const ODD: [&str; 4] = [
    "langgraph/deer-flow-fe3f79-research.json.zst",
    "openai-chat/tau-bench-gpt-4o-airline.json.zst",
    "pi/pi-dev-962b10-v3.jsonl.zst",
    "openhands/ponyc-line1.json.zst",
];
/// Enough to meet what is odd in each.
const STEPS_MAX: usize = 40;

#[tokio::test]
async fn what_is_replayed_is_valid_when_it_comes_back() {
    for name in ODD {
        for (path, start) in starts() {
            let (client, count) = replaying(name).await;
            walk(&client, path, start, count.min(STEPS_MAX)).await;
            assert_eq!(client.upstream.report().violations, [], "{name} {path}");
        }
    }
}
