//! Summary requests: recognised, and answered from what they hold.

use crate::client::{CHAT, Client, MESSAGES, anthropic, chat, text_of};
use epitome_upstream::Script;
use serde_json::json;

const STORY: &str = "Please fix the parser of headers\n\
    You must never touch the lock file\n\
    I decided on a table because it is quicker\n\
    I added src/header.rs with the new parser\n\
    Next I need to run the tests\n\n\
    Write a summary of this.";

#[tokio::test]
async fn a_summary_is_made_of_the_lines_of_its_request() {
    let got = Client::usual().await.post(MESSAGES, &anthropic(STORY)).await.body;
    let expected = "## Goal\n- Please fix the parser of headers\n\n\
        ## Constraints & Preferences\n- You must never touch the lock file\n\n\
        ## Progress\n- I added src/header.rs with the new parser\n\n\
        ## Key Decisions\n- I decided on a table because it is quicker\n\n\
        ## Next Steps\n- Next I need to run the tests\n\n\
        ## Critical Context\n- (none)";
    assert_eq!((text_of(&got), &got["stop_reason"]), (expected.into(), &json!("end_turn")));
}

#[tokio::test]
async fn a_summary_keeps_to_its_limit() {
    let client = Client::usual().await;
    let mut body = anthropic(&format!(
        "{}\nWrite a summary.",
        "I fixed another one of the many errors in src/a.rs\n".repeat(40)
    ));
    body["max_tokens"] = json!(120);
    let got = client.post(MESSAGES, &body).await.body;
    let output = got["usage"]["output_tokens"].as_u64().expect("a count");
    assert!(output <= 120 && got["stop_reason"] == "end_turn", "{got}");
}

#[tokio::test]
async fn a_marker_replaces_the_usual_rule() {
    let script = Script { summary_markers: vec!["CONTEXT CHECKPOINT".into()], ..Script::default() };
    let client = Client::of(script).await;
    client.post(CHAT, &chat("Write a summary")).await;
    let mut body = chat("Go on. CONTEXT CHECKPOINT");
    body["tools"] = json!([{"type": "function", "function": {"name": "read", "parameters": {}}}]);
    let got = client.post(CHAT, &body).await.body;
    assert!(text_of(&got).starts_with("## Goal"), "{got}");
    assert_eq!(client.get("/scripted/report").await.body["by_kind"], json!({"chat": 1, "summary": 1}));
}

#[tokio::test]
async fn a_summary_already_in_the_context_asks_for_none() {
    let client = Client::usual().await;
    let mut body = anthropic("");
    body["messages"][0]["content"] = json!([
        {"type": "text", "text": "Summary of what went before: all is well"},
        {"type": "text", "text": "Go on"},
    ]);
    client.post(MESSAGES, &body).await;
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}});
    body["messages"] = json!([
        {"role": "user", "content": "Summary of what went before: all is well"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "fine"}]},
    ]);
    client.post(MESSAGES, &body).await;
    assert_eq!(client.get("/scripted/report").await.body["by_kind"], json!({"chat": 2}));
}
