//! Answers that go wrong as told.

use crate::client::{
    CHAT, Client, Got, MESSAGES, RESPONSES, anthropic, chat, events, questions, streamed, text_of,
};
use epitome_upstream::Script;
use serde_json::{Value, json};

#[tokio::test]
async fn statuses_have_each_providers_shape() {
    let client = Client::usual().await;
    let got = client.ordered(MESSAGES, &anthropic("Hello"), "529").await;
    let body = json!({
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": "req_scripted000001",
    });
    assert_eq!(got, Got { status: 529, retry_after: None, body });
    let got = client.ordered(CHAT, &chat("Hello"), "500").await;
    let error =
        json!({"message": "Internal server error", "type": "server_error", "param": null, "code": null});
    let body = json!({"error": error});
    assert_eq!(got, Got { status: 500, retry_after: None, body });
    let got = client.ordered(MESSAGES, &anthropic("Hello"), "429=7").await;
    assert_eq!(
        (got.status, got.retry_after, &got.body["error"]["type"]),
        (429, Some("7".into()), &json!("rate_limit_error"))
    );
    let got = client.ordered(CHAT, &chat("Hello"), "429").await;
    assert_eq!(
        (got.status, got.retry_after, &got.body["error"]["code"]),
        (429, Some("1".into()), &json!("rate_limit_exceeded"))
    );
    assert_eq!(client.upstream.report().faults, 4);
}

#[tokio::test]
async fn a_models_name_may_carry_an_order() {
    let client = Client::usual().await;
    let mut body = anthropic("Hello");
    body["model"] = json!("claude-sonnet-4-5!500");
    assert_eq!(client.post(MESSAGES, &body).await.status, 500);
    body["model"] = json!("claude-sonnet-4-5!empty");
    let got = client.post(MESSAGES, &body).await;
    assert_eq!((&got.body["model"], &got.body["content"]), (&json!("claude-sonnet-4-5"), &json!([])));
}

#[tokio::test]
async fn a_plan_counts_each_kind_by_itself() {
    let plan = "summary:1=500,2=empty;chat:2=529".parse().expect("a plan");
    let client = Client::of(Script { plan, ..Script::default() }).await;
    let mut statuses = Vec::new();
    for text in ["Hello", "Write a summary", "Hello", "Write a summary", "Write a summary"] {
        let got = client.post(MESSAGES, &anthropic(text)).await;
        statuses.push((got.status, text_of(&got.body).is_empty()));
    }
    assert_eq!(statuses, [(200, false), (500, true), (529, true), (200, true), (200, false)]);
    assert_eq!(client.tell("/scripted/plan", "chat:1=503").await, 204);
    assert_eq!(client.post(CHAT, &chat("Hello")).await.status, 503);
    assert_eq!(client.tell("/scripted/plan", "chat:first=503").await, 400);
}

#[tokio::test]
async fn an_unknown_order_is_refused() {
    let got = Client::usual().await.ordered(MESSAGES, &anthropic("Hello"), "explode").await;
    assert_eq!((got.status, &got.body["error"]["type"]), (400, &json!("invalid_request_error")));
}

/// What tells a spoiled reply from a good one: its words, its stop, and the kinds of its parts.
fn shape(path: &str, body: &Value) -> (String, String, Vec<String>) {
    let kinds = |list: &Value| -> Vec<String> {
        let kinds = list.as_array().into_iter().flatten().filter_map(|part| part["type"].as_str());
        kinds.map(str::to_owned).collect()
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match path {
        MESSAGES => (text_of(body), text(&body["stop_reason"]), kinds(&body["content"])),
        CHAT => {
            let choice = &body["choices"][0];
            let calls = kinds(&choice["message"]["tool_calls"]);
            (text_of(body), text(&choice["finish_reason"]), calls)
        }
        _ => (text_of(body), text(&body["status"]), kinds(&body["output"])),
    }
}

async fn shapes(order: &str) -> Vec<(String, String, Vec<String>)> {
    let client = Client::usual().await;
    let mut shapes = Vec::new();
    for (path, body) in questions("Hello") {
        let got = client.ordered(path, &body, order).await;
        assert_eq!(got.status, 200);
        shapes.push(shape(path, &got.body));
    }
    shapes
}

fn said(text: &str, stop: &str, kinds: &[&str]) -> (String, String, Vec<String>) {
    (text.into(), stop.into(), kinds.iter().map(|&kind| kind.into()).collect())
}

#[tokio::test]
async fn an_empty_reply_says_nothing() {
    assert_eq!(
        shapes("empty").await,
        [said("", "end_turn", &[]), said("", "stop", &[]), said("", "completed", &[])]
    );
}

#[tokio::test]
async fn reasoning_alone_is_no_reply() {
    let expected =
        [said("", "end_turn", &["thinking"]), said("", "stop", &[]), said("", "completed", &["reasoning"])];
    assert_eq!(shapes("reasoning-only").await, expected);
}

#[tokio::test]
async fn a_call_comes_though_no_tool_was_offered() {
    let expected = [
        said("", "tool_use", &["tool_use"]),
        said("", "tool_calls", &["function"]),
        said("", "completed", &["function_call"]),
    ];
    assert_eq!(shapes("tool-call").await, expected);
}

#[tokio::test]
async fn a_truncated_reply_takes_all_it_may() {
    let client = Client::usual().await;
    let mut body = anthropic("Hello");
    body["max_tokens"] = json!(50);
    let got = client.ordered(MESSAGES, &body, "truncate").await.body;
    assert_eq!(got["stop_reason"], "max_tokens");
    let output = got["usage"]["output_tokens"].as_u64().expect("a count");
    assert!((40..=50).contains(&output), "{output}");
    let got = client.ordered(RESPONSES, &questions("Hello")[2].1, "truncate").await.body;
    assert_eq!(
        (&got["status"], &got["incomplete_details"]),
        (&json!("incomplete"), &json!({"reason": "max_output_tokens"}))
    );
}

#[tokio::test]
async fn errors_and_nonsense_come_as_if_they_were_replies() {
    let client = Client::usual().await;
    let error = text_of(&client.ordered(MESSAGES, &anthropic("Hello"), "error-text").await.body);
    let nonsense = text_of(&client.ordered(MESSAGES, &anthropic("Hello"), "nonsense").await.body);
    assert!(error.starts_with("API Error: 429 "), "{error}");
    assert_eq!(nonsense.split(' ').count(), 40);
}

#[tokio::test]
async fn a_cut_stream_breaks_half_way() {
    let client = Client::usual().await;
    for (path, body) in questions("Hello") {
        let whole = client.stream(path, &body).await.len();
        let mut answer = client.send(path, &streamed(&body), Some("cut")).await.expect("the beginning");
        let mut text = String::new();
        let end = loop {
            match answer.chunk().await {
                Ok(Some(bytes)) => text.push_str(std::str::from_utf8(&bytes).expect("text")),
                Ok(None) => break "well",
                Err(_) => break "broken",
            }
        };
        assert_eq!((end, events(&text).len()), ("broken", whole / 2), "{path}");
    }
}

#[tokio::test]
async fn a_whole_answer_can_be_cut_too() {
    let answer =
        Client::usual().await.send(MESSAGES, &anthropic("Hello"), Some("cut")).await.expect("a status");
    assert_eq!((answer.status().as_u16(), answer.text().await.is_err()), (200, true));
}

#[tokio::test]
async fn an_error_comes_in_the_middle_of_a_stream() {
    let client = Client::usual().await;
    let mut ends = Vec::new();
    for (path, body) in questions("Hello") {
        let answer = client.send(path, &streamed(&body), Some("stream-error")).await.expect("an answer");
        let (name, data) = events(&answer.text().await.expect("a stream")).pop().expect("events");
        ends.push((name, data.get("error").or(data["response"].get("error")).cloned()));
    }
    let overloaded = "The server is overloaded or not ready yet.";
    let expected = [
        (Some("error".into()), Some(json!({"type": "overloaded_error", "message": "Overloaded"}))),
        (None, Some(json!({"message": overloaded, "type": "server_error", "param": null, "code": null}))),
        (Some("response.failed".into()), Some(json!({"code": "server_error", "message": overloaded}))),
    ];
    assert_eq!(ends, expected);
}

#[tokio::test]
async fn a_timeout_is_silence_until_the_upstream_stops() {
    let client = Client::usual().await;
    let asking = tokio::spawn(client.sending(MESSAGES, &anthropic("Hello"), Some("timeout")));
    // Each look is a round trip; a request that has not arrived after so many never will.
    for _ in 0..1000 {
        if client.get("/scripted/report").await.body["faults"] == 1 {
            break;
        }
    }
    assert_eq!((client.upstream.report().faults, asking.is_finished()), (1, false));
    client.upstream.stop().await;
    assert_eq!(asking.await.expect("no panic").expect("an end").status().as_u16(), 504);
}

#[tokio::test]
async fn a_slow_answer_comes_whole() {
    let client = Client::of(Script { reply_tokens: 5, ..Script::default() }).await;
    let answer =
        client.send(MESSAGES, &streamed(&anthropic("Hello")), Some("slow=2")).await.expect("an answer");
    let slow = events(&answer.text().await.expect("a stream")).len();
    assert_eq!(slow, client.stream(MESSAGES, &anthropic("Hello")).await.len());
}
