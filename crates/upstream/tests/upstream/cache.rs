//! The prompt cache: what a request shares with an earlier one is read, not charged.

use crate::client::{CHAT, Client, MESSAGES, anthropic, chat};
use serde_json::{Value, json};

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

fn grow(body: &mut Value, said: &str) {
    let more =
        [json!({"role": "assistant", "content": said}), json!({"role": "user", "content": "Go on, please"})];
    body["messages"].as_array_mut().expect("messages").extend(more);
}

#[tokio::test]
async fn a_grown_conversation_reads_what_it_grew_from() {
    let client = Client::usual().await;
    let mut body = chat("A question of some length, to be asked again and again");
    let first = client.post(CHAT, &body).await.body["usage"].clone();
    grow(&mut body, "An answer");
    let second = client.post(CHAT, &body).await.body["usage"].clone();
    let cached = |usage: &Value| number(&usage["prompt_tokens_details"]["cached_tokens"]);
    // All of the first prompt but what opened the reply to it.
    assert_eq!((cached(&first), cached(&second)), (0, number(&first["prompt_tokens"]) - 3));
}

#[tokio::test]
async fn anthropic_counts_read_written_and_fresh_apart() {
    let client = Client::usual().await;
    let mut body = anthropic("A question of some length, to be asked again and again");
    body["system"] =
        json!([{"type": "text", "text": "You are terse", "cache_control": {"type": "ephemeral"}}]);
    let parts = |usage: &Value| {
        let fields = ["cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens"];
        fields.map(|field| number(&usage[field]))
    };
    let first = parts(&client.post(MESSAGES, &body).await.body["usage"]);
    // A mark that moves to the last message changes nothing of the prefix.
    grow(&mut body, "An answer");
    body["system"] = json!([{"type": "text", "text": "You are terse"}]);
    body["messages"][2]["content"] = json!([
        {"type": "text", "text": "Go on, please", "cache_control": {"type": "ephemeral"}},
    ]);
    let second = parts(&client.post(MESSAGES, &body).await.body["usage"]);
    assert_eq!((first[0], first[1] > 0, first[2] > 0), (0, true, true));
    // Behind its mark the first request wrote nothing.
    assert_eq!((second[0], second[1] > 0, second[2]), (first[1], true, 0));
    let report = client.upstream.report();
    assert_eq!(report.usage.prompt, [first, second].concat().iter().sum::<u64>());
}

#[tokio::test]
async fn a_changed_beginning_is_read_anew() {
    let client = Client::usual().await;
    let mut body = anthropic("A question of some length, to be asked again and again");
    body["cache_control"] = json!({"type": "ephemeral"});
    client.post(MESSAGES, &body).await;
    body["messages"][0]["content"] = json!("Another question of some length");
    assert_eq!(client.post(MESSAGES, &body).await.body["usage"]["cache_read_input_tokens"], 0);
}

#[tokio::test]
async fn anthropic_neither_reads_nor_writes_where_nothing_is_marked() {
    let client = Client::usual().await;
    let mut body = anthropic("A question of some length, to be asked again and again");
    let parts = |usage: &Value| {
        ["cache_read_input_tokens", "cache_creation_input_tokens"].map(|field| number(&usage[field]))
    };
    let mut told = Vec::new();
    for is_marked in [true, false, true] {
        body["cache_control"] = if is_marked { json!({"type": "ephemeral"}) } else { Value::Null };
        told.push(parts(&client.post(MESSAGES, &body).await.body["usage"]));
    }
    let written = told[0][1];
    // What opens the reply is written anew each time.
    assert_eq!((written > 3, &told[..]), (true, &[[0, written], [0, 0], [written - 3, 3]][..]));
}
