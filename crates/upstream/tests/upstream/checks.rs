//! What is refused at the door, and in which words.

use crate::client::{CHAT, Client, MESSAGES, RESPONSES, anthropic, chat, responses};
use epitome_upstream::{Binding, Keep, Kind, Script, Strictness};
use serde_json::{Value, json};

async fn refused(path: &str, body: &Value) -> (u16, String) {
    let got = Client::usual().await.post(path, body).await;
    (got.status, got.body["error"]["message"].as_str().unwrap_or_default().to_owned())
}

fn said(body: &mut Value, list: &str, more: Value) {
    let more = more.as_array().expect("a list").clone();
    body[list].as_array_mut().expect("a list").extend(more);
}

#[tokio::test]
async fn a_call_without_its_result_is_refused_by_each_provider() {
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}});
    let mut body = anthropic("Hello");
    said(
        &mut body,
        "messages",
        json!([
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": "Well?"},
        ]),
    );
    let told = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: \
        toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.";
    assert_eq!(refused(MESSAGES, &body).await, (400, told.into()));

    let mut body = chat("Hello");
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}});
    said(
        &mut body,
        "messages",
        json!([
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "user", "content": "Well?"},
        ]),
    );
    let told = "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
        'tool_call_id'. The following tool_call_ids did not have response messages: call_1";
    assert_eq!(refused(CHAT, &body).await, (400, told.into()));

    let mut body = responses("Hello");
    let call = json!({"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"});
    said(&mut body, "input", json!([call, {"role": "user", "content": "Well?"}]));
    assert_eq!(
        refused(RESPONSES, &body).await,
        (400, "No tool output found for function call call_1.".into())
    );
}

#[tokio::test]
async fn a_result_without_its_call_is_refused_by_each_provider() {
    let mut body = anthropic("Hello");
    body["messages"] = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_9", "content": "fine"},
    ]}]);
    let told = "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9. Each \
        `tool_result` block must have a corresponding `tool_use` block in the previous message.";
    assert_eq!(refused(MESSAGES, &body).await, (400, told.into()));

    let mut body = chat("Hello");
    said(&mut body, "messages", json!([{"role": "tool", "tool_call_id": "call_9", "content": "fine"}]));
    let told = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
        'tool_calls'.";
    assert_eq!(refused(CHAT, &body).await, (400, told.into()));

    let mut body = responses("Hello");
    said(
        &mut body,
        "input",
        json!([{"type": "function_call_output", "call_id": "call_9", "output": "fine"}]),
    );
    let told = "No tool call found for function call output with call_id call_9.";
    assert_eq!(refused(RESPONSES, &body).await, (400, told.into()));
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let mut body = anthropic("Hello");
    body.as_object_mut().expect("an object").remove("max_tokens");
    assert_eq!(refused(MESSAGES, &body).await, (400, "max_tokens: Field required".into()));
    assert_eq!(refused(CHAT, &json!({})).await, (400, "you must provide a model parameter".into()));
    assert_eq!(refused(CHAT, &json!([])).await, (400, "The request body is not a JSON object".into()));
}

#[tokio::test]
async fn the_report_tells_which_rules_were_broken() {
    let client = Client::usual().await;
    client.post(MESSAGES, &anthropic("Hello")).await;
    client.post(MESSAGES, &anthropic("Write a summary")).await;
    client.post(MESSAGES, &anthropic("")).await;
    let report = client.get("/scripted/report").await.body;
    assert_eq!((&report["requests"], &report["refused"]), (&json!(3), &json!(1)));
    assert_eq!(report["by_kind"], json!({"chat": 2, "summary": 1}));
    let breach = json!({"request": 3, "path": "messages[0].content", "rule": "content is not empty"});
    assert_eq!(report["violations"], json!([breach]));
    assert_eq!(report["recorded"], Value::Null);
}

#[tokio::test]
async fn requests_are_recorded_byte_for_byte_when_asked() {
    let client = Client::of(Script { keep: Keep::Bodies, ..Script::default() }).await;
    let body = anthropic("Hello");
    client.post(MESSAGES, &body).await;
    let recorded = client.upstream.report().recorded;
    let kept: Vec<_> = recorded
        .iter()
        .map(|kept| (kept.request, kept.kind, &*kept.path, &*kept.body, kept.status))
        .collect();
    assert_eq!(kept, [(1, Kind::Chat, MESSAGES, &*body.to_string(), 200)]);
}

#[tokio::test]
async fn a_lenient_upstream_holds_the_providers_own_rules_alone() {
    let script = Script { strictness: Strictness::Lenient, ..Script::default() };
    let client = Client::of(script).await;
    let mut body = chat("Hello");
    said(&mut body, "messages", json!([{"role": "user", "content": "Are you there?"}]));
    assert_eq!(client.post(CHAT, &body).await.status, 200);
    assert_eq!(Client::usual().await.post(CHAT, &body).await.status, 400);
    said(&mut body, "messages", json!([{"role": "system", "content": "Answer in one line."}]));
    assert_eq!(
        client.post(CHAT, &body).await.status,
        200,
        "instructions behind what is asked, as aider has them"
    );
}

#[tokio::test]
async fn thinking_comes_back_as_it_was_or_is_refused() {
    let client = Client::usual().await;
    let mut body = anthropic("Hello");
    body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    let mut content = client.post(MESSAGES, &body).await.body["content"].clone();
    said(
        &mut body,
        "messages",
        json!([{"role": "assistant", "content": content}, {"role": "user", "content": "Go on"}]),
    );
    assert_eq!(client.post(MESSAGES, &body).await.status, 200);
    content[0]["thinking"] = json!("something else");
    body["messages"][1]["content"] = content;
    let got = client.post(MESSAGES, &body).await;
    let told = "messages.1.content.0: Invalid `signature` in `thinking` block";
    assert_eq!((got.status, &got.body["error"]["message"]), (400, &json!(told)));
}

#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let got = Client::usual().await.get("/v2/tea").await;
    assert_eq!((got.status, &got.body["error"]["type"]), (404, &json!("invalid_request_error")));
}

#[tokio::test]
async fn thinking_can_be_bound_to_all_that_went_before_it() {
    let client = Client::of(Script { binding: Binding::Conversation, ..Script::default() }).await;
    let mut body = anthropic("Hello");
    body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    let content = client.post(MESSAGES, &body).await.body["content"].clone();
    said(
        &mut body,
        "messages",
        json!([{"role": "assistant", "content": content}, {"role": "user", "content": "Go on"}]),
    );
    assert_eq!(client.post(MESSAGES, &body).await.status, 200);
    body["messages"][0]["content"] = json!("A summary");
    let got = client.post(MESSAGES, &body).await;
    let told = "messages.1.content.0: Invalid `signature` in `thinking` block: the block is bound to a \
        different conversation";
    assert_eq!((got.status, &got.body["error"]["message"]), (400, &json!(told)));
    body["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
    assert_eq!(client.post(MESSAGES, &body).await.status, 200);
}
