//! Each protocol, whole and streamed: the events add up to the whole.

use crate::client::{CHAT, Client, MESSAGES, RESPONSES, StreamEvent, anthropic, chat, responses, text_of};
use serde_json::{Value, json};

fn schema() -> Value {
    json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
}

fn with_tool(mut body: Value) -> Value {
    body["tools"] = match body.get("max_tokens") {
        Some(_) => json!([{"name": "read", "input_schema": schema()}]),
        None if body.get("input").is_some() => {
            json!([{"type": "function", "name": "read", "parameters": schema()}])
        }
        None => json!([{"type": "function", "function": {"name": "read", "parameters": schema()}}]),
    };
    body
}

/// The same question asked of two upstreams that have heard nothing before.
async fn both(path: &str, body: &Value) -> (Value, Vec<StreamEvent>) {
    let whole = Client::usual().await.post(path, body).await;
    assert_eq!(whole.status, 200, "{}", whole.body);
    (whole.body, Client::usual().await.stream(path, body).await)
}

/// The names of events, each once in a row.
fn names(events: &[StreamEvent]) -> Vec<&str> {
    let mut names: Vec<&str> = events.iter().filter_map(|(name, _)| name.as_deref()).collect();
    names.dedup();
    names
}

#[tokio::test]
async fn anthropic_events_add_up_to_the_message() {
    let mut body = with_tool(anthropic("Read the file"));
    body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    let (whole, events) = both(MESSAGES, &body).await;
    assert_eq!(assembled_message(&events), whole);
    assert_eq!(whole["stop_reason"], "tool_use");
    let kinds: Vec<&Value> =
        whole["content"].as_array().expect("blocks").iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds[..3], ["thinking", "text", "tool_use"]);
    let expected =
        ["message_start", "ping", "content_block_start", "content_block_delta", "content_block_stop"];
    assert_eq!(names(&events)[..5], expected);
    let last = names(&events).split_off(names(&events).len() - 2);
    assert_eq!(last, ["message_delta", "message_stop"]);
    assert!(events.iter().filter(|(name, _)| name.as_deref() == Some("content_block_delta")).count() > 6);
}

/// What a client makes of the events.
fn assembled_message(events: &[StreamEvent]) -> Value {
    let mut message = Value::Null;
    for (_, data) in events {
        match data["type"].as_str().expect("a type") {
            "message_start" => message = data["message"].clone(),
            "content_block_start" => {
                message["content"].as_array_mut().expect("a list").push(data["content_block"].clone());
            }
            "content_block_delta" => {
                let index = data["index"].as_u64().expect("an index") as usize;
                fill(&mut message["content"][index], &data["delta"]);
            }
            "content_block_stop" => {
                let index = data["index"].as_u64().expect("an index") as usize;
                let block = &mut message["content"][index];
                if let Some(json) = block["input"].as_str() {
                    block["input"] = serde_json::from_str(json).expect("whole arguments");
                }
            }
            "message_delta" => {
                message["stop_reason"] = data["delta"]["stop_reason"].clone();
                message["usage"] = data["usage"].clone();
            }
            "ping" | "message_stop" => {}
            other => panic!("an unknown event: {other}"),
        }
    }
    message
}

fn fill(block: &mut Value, delta: &Value) {
    let (field, piece) = match delta["type"].as_str().expect("a type") {
        "text_delta" => ("text", "text"),
        "thinking_delta" => ("thinking", "thinking"),
        "signature_delta" => ("signature", "signature"),
        "input_json_delta" => ("input", "partial_json"),
        other => panic!("an unknown delta: {other}"),
    };
    let so_far = block[field].as_str().unwrap_or_default();
    block[field] = json!(format!("{so_far}{}", delta[piece].as_str().expect("a piece")));
}

#[tokio::test]
async fn chat_chunks_add_up_to_the_completion() {
    let mut body = with_tool(chat("Read the file"));
    body["stream_options"] = json!({"include_usage": true});
    let (whole, mut events) = both(CHAT, &body).await;
    assert_eq!(events.pop(), Some((None, json!("[DONE]"))));
    let usage = events.pop().expect("a chunk with usage").1;
    assert_eq!((&usage["choices"], &usage["usage"]), (&json!([]), &whole["usage"]));
    assert!(events.iter().all(|(name, chunk)| name.is_none() && chunk["usage"].is_null()));
    let (message, finish) = assembled_choice(&events);
    let choice = &whole["choices"][0];
    assert_eq!(
        (&message["content"], &message["tool_calls"]),
        (&choice["message"]["content"], &choice["message"]["tool_calls"])
    );
    assert_eq!((finish, &choice["finish_reason"]), (json!("tool_calls"), &json!("tool_calls")));
}

fn assembled_choice(events: &[StreamEvent]) -> (Value, Value) {
    let mut message = json!({"content": "", "tool_calls": []});
    let mut finish = Value::Null;
    for (_, chunk) in events {
        let choice = &chunk["choices"][0];
        let content = choice["delta"]["content"].as_str().unwrap_or_default();
        message["content"] = json!(format!("{}{content}", message["content"].as_str().expect("text")));
        for delta in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let calls = message["tool_calls"].as_array_mut().expect("a list");
            match delta.get("id") {
                Some(id) => {
                    calls.push(json!({"id": id, "type": delta["type"], "function": delta["function"]}));
                }
                None => {
                    let index = delta["index"].as_u64().expect("an index") as usize;
                    let arguments = &mut calls[index]["function"]["arguments"];
                    let piece = delta["function"]["arguments"].as_str().expect("a piece");
                    *arguments = json!(format!("{}{piece}", arguments.as_str().expect("text")));
                }
            }
        }
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
    }
    (message, finish)
}

#[tokio::test]
async fn without_being_asked_for_usage_is_not_streamed() {
    let events = Client::usual().await.stream(CHAT, &chat("Hello")).await;
    assert!(events.iter().all(|(_, chunk)| chunk.get("usage").is_none()));
}

#[tokio::test]
async fn responses_events_add_up_to_the_response() {
    let mut body = with_tool(responses("Read the file"));
    body["reasoning"] = json!({"effort": "low"});
    let (whole, events) = both(RESPONSES, &body).await;
    let last = events.last().expect("events");
    assert_eq!((last.0.as_deref(), &last.1["response"]), (Some("response.completed"), &whole));
    let kinds: Vec<&Value> =
        whole["output"].as_array().expect("items").iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds[..3], ["reasoning", "message", "function_call"]);
    let numbers: Vec<u64> = events.iter().filter_map(|(_, data)| data["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    assert!(events.iter().all(|(name, data)| name.as_deref() == data["type"].as_str()));
    let deltas = |kind: &str| -> String {
        let of_kind = events.iter().filter(|(name, _)| name.as_deref() == Some(kind));
        of_kind.filter_map(|(_, data)| data["delta"].as_str()).collect()
    };
    assert_eq!(deltas("response.output_text.delta"), text_of(&whole));
    let calls =
        whole["output"].as_array().expect("items").iter().filter_map(|item| item["arguments"].as_str());
    assert_eq!(deltas("response.function_call_arguments.delta"), calls.collect::<String>());
}

#[tokio::test]
async fn the_same_request_gets_the_same_bytes_from_the_same_script() {
    let body = with_tool(anthropic("Read the file"));
    let answers = [
        Client::usual().await.post(MESSAGES, &body).await,
        Client::usual().await.post(MESSAGES, &body).await,
    ];
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn the_agent_calls_for_as_many_rounds_as_told_and_then_answers() {
    let client = Client::usual().await;
    let mut body = with_tool(anthropic("Read the file"));
    let mut stops = Vec::new();
    for _ in 0..4 {
        let reply = client.post(MESSAGES, &body).await.body;
        stops.push(reply["stop_reason"].as_str().expect("a reason").to_owned());
        let blocks = reply["content"].as_array().expect("blocks");
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        let result =
            |call: &Value| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "fine"});
        let results: Vec<Value> = calls.map(result).collect();
        let messages = body["messages"].as_array_mut().expect("messages");
        messages.push(json!({"role": "assistant", "content": reply["content"]}));
        messages.push(json!({"role": "user", "content": results}));
    }
    assert_eq!(stops, ["tool_use", "tool_use", "tool_use", "end_turn"]);
    assert_eq!(client.upstream.report().refused, 0);
}

#[tokio::test]
async fn prefixes_models_and_counts_are_served() {
    let client = Client::usual().await;
    let counted = client.post("/anthropic/v1/messages/count_tokens", &anthropic("Hello")).await;
    let answered = client.post("/anthropic/v1/messages", &anthropic("Hello")).await;
    assert_eq!(counted.body, json!({"input_tokens": answered.body["usage"]["input_tokens"]}));
    let counted = client.post("/v1/responses/input_tokens", &responses("Hello")).await.body;
    let answered = client.post("/openai/v1/responses", &responses("Hello")).await.body;
    assert_eq!(
        counted,
        json!({"object": "response.input_tokens", "input_tokens": answered["usage"]["input_tokens"]})
    );
    let model = client.get("/openai/v1/models/gpt-5").await.body;
    assert_eq!(
        model,
        json!({"id": "gpt-5", "object": "model", "created": 1_767_225_600, "owned_by": "scripted"})
    );
    let listed = client.get("/anthropic/v1/models").await.body;
    assert_eq!((&listed["has_more"], &listed["data"][0]["type"]), (&json!(false), &json!("model")));
}

#[tokio::test]
async fn a_stored_response_goes_before_what_is_new() {
    let client = Client::usual().await;
    let first = client.post(RESPONSES, &responses("Hello")).await.body;
    let mut next = responses("And then?");
    next["previous_response_id"] = first["id"].clone();
    let second = client.post(RESPONSES, &next).await.body;
    let grown = second["usage"]["input_tokens"].as_u64() > first["usage"]["input_tokens"].as_u64();
    assert_eq!((grown, &second["previous_response_id"]), (true, &first["id"]));
    next["previous_response_id"] = json!("resp_unknown");
    let refused = client.post(RESPONSES, &next).await;
    assert_eq!(
        (refused.status, &refused.body["error"]["code"]),
        (400, &json!("previous_response_not_found"))
    );
}

#[tokio::test]
async fn an_item_may_be_named_and_is_refused_without_the_reasoning_that_led_to_it() {
    let client = Client::usual().await;
    let mut first = responses("Hello");
    first["reasoning"] = json!({"effort": "low"});
    let output = client.post(RESPONSES, &first).await.body["output"].take();
    let [reasoning, message] = [&output[0], &output[1]];
    assert_eq!([&reasoning["type"], &message["type"]], ["reasoning", "message"]);
    let asked = async |items: Value| {
        let mut body = responses("And then?");
        let items = items.as_array().expect("items").clone();
        body["input"].as_array_mut().expect("items").splice(0..0, items);
        let answer = client.post(RESPONSES, &body).await;
        (answer.status, answer.body["error"]["message"].as_str().unwrap_or_default().to_owned())
    };
    let named = |item: &Value| json!({"type": "item_reference", "id": item["id"]});
    let fine = (200, String::new());
    assert_eq!(asked(json!([reasoning, message])).await, fine);
    assert_eq!(asked(json!([named(reasoning), named(message)])).await, fine);
    let lone = "Item 'msg_scripted000001_1' of type 'message' was provided without its required 'reasoning' item: 'rs_scripted000001_0'.";
    assert_eq!(asked(json!([message])).await, (400, lone.to_owned()));
    let unknown = json!([{"type": "item_reference", "id": "msg_9"}]);
    assert_eq!(asked(unknown).await, (400, "Item with id 'msg_9' not found.".to_owned()));
}

#[tokio::test]
async fn openai_compacts_by_itself_when_asked() {
    let client = Client::usual().await;
    let answer = client.post("/v1/responses/compact", &responses("Fix the parser, please")).await.body;
    let output = answer["output"].as_array().expect("items");
    assert_eq!(answer["object"], "response.compaction");
    let kept = json!({
        "id": "msg_scripted000001_0", "type": "message", "status": "completed", "role": "user",
        "content": [{"type": "input_text", "text": "Fix the parser, please"}],
    });
    assert_eq!(output[0], kept);
    assert_eq!((output.len(), &output[1]["type"]), (2, &json!("compaction")));
    let mut next = responses("Go on");
    next["input"].as_array_mut().expect("items").splice(0..0, output.clone());
    assert_eq!(client.post(RESPONSES, &next).await.status, 200);
}
