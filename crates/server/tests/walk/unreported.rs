//! Providers that do not say what a call took: streams of Chat Completions whose client does not ask for it.

use crate::stage::{Stage, answer};
use epitome_upstream::Script;
use serde_json::{Value, json};

const LARGE: u64 = 64_000;

fn chat(messages: &[Value], options: &Value) -> String {
    let mut body = json!({"model": "gpt-4o", "stream": true, "messages": messages});
    if !options.is_null() {
        body["stream_options"] = options.clone();
    }
    body.to_string()
}

/// A few turns of a talk, streamed; the session they come to.
async fn talk(stage: &Stage, options: Value) -> Value {
    let mut messages = Vec::new();
    for turn in 0..4 {
        messages
            .push(json!({"role": "user", "content": format!("turn {turn}: {}", "as it was ".repeat(200))}));
        let request = chat(&messages, &options);
        let (_, reply) = answer(stage.post("/v1/chat/completions", request.clone())).await;
        assert_eq!(
            stage.arrived().last().map(|(_, body)| body.clone()),
            Some(request),
            "nothing is asked for it"
        );
        let said: String = String::from_utf8_lossy(&reply)
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
            .filter_map(|event| event["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
            .collect();
        messages.push(json!({"role": "assistant", "content": said}));
    }
    stage.sessions().await.remove(0)
}

#[tokio::test]
async fn a_stream_without_usage_is_counted_by_us_and_said_to_be() {
    let script = || Script { tool_rounds: 0, ..Script::default() };
    let (silent, telling) = (Stage::new(script(), LARGE).await, Stage::new(script(), LARGE).await);
    let counted = talk(&silent, Value::Null).await;
    let told = talk(&telling, json!({"include_usage": true})).await;
    assert_eq!([&counted["replies"], &counted["unreported"]], [4, 4]);
    assert_eq!([&told["replies"], &told["unreported"]], [4, 0]);
    for sum in ["prompt_tokens", "output_tokens"] {
        let (ours, theirs) = (counted[sum].as_f64().expect("a sum"), told[sum].as_f64().expect("a sum"));
        assert!((0.85..1.15).contains(&(ours / theirs)), "{sum}: {ours} for {theirs}");
    }
    let stats = silent.json("/api/v1/stats").await;
    assert_eq!([&stats["requests"], &stats["unreported"]], [4, 4]);
    let stats = telling.json("/api/v1/stats").await;
    assert_eq!([&stats["requests"], &stats["unreported"]], [4, 0]);
}
