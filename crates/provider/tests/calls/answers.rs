//! Answers: each protocol's, in streams, and what is made of odd ones.

use crate::script::{Act, Server, stream, whole};
use crate::{Seen, ask, ask_anthropic, provider, request, says};
use epitome_core::{CallCost, Dollars, Failure, Opaque, Purpose, Stop, SummaryInput, SummaryReply, Tokens};
use epitome_engine::Model;
use epitome_provider::LastRequest;

fn reply(text: &str, stop: Stop) -> Result<SummaryReply, Failure> {
    Ok(SummaryReply { text: text.into(), stop, native: None })
}

#[tokio::test(start_paused = true)]
async fn an_anthropic_stream_is_answered_and_paid_for() {
    let Seen { called, received, .. } = ask_anthropic(vec![says("we talked a lot", "end_turn")]).await;
    assert_eq!(called.result, reply("we talked a lot", Stop::End));
    let spent = CallCost {
        calls: 1,
        input: Tokens(1_700),
        cache_read: Tokens(500),
        cache_write: Tokens(200),
        output: Tokens(100),
        reasoning: Tokens(0),
        // 1,000 fresh at $5, 500 read at $0.50, 200 written at $6.25 and 100 out at $25, a million each.
        dollars: Dollars(Some((1_000.0 * 5.0 + 500.0 * 0.5 + 200.0 * 6.25 + 100.0 * 25.0) / 1e6)),
    };
    assert_eq!(called.spent, spent);
    let head = &received[0].head;
    assert!(head.starts_with("post /v1/messages http/1.1"), "{head}");
    assert!(
        head.contains("x-api-key: sk-test-secret-0001") && head.contains("anthropic-version: 2023-06-01"),
        "{head}"
    );
    assert!(received[0].body.contains(r#""max_tokens":2000"#), "{}", received[0].body);
}

#[tokio::test(start_paused = true)]
async fn a_chat_stream_is_answered_with_its_reasoning_counted() {
    let events = [
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"we talked"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":4}}}"#,
        "[DONE]",
    ];
    let seen = ask("openai-chat", "", Purpose::History, vec![Act::Send(stream(&events))]).await;
    assert_eq!(seen.called.result, reply("we talked", Stop::End));
    let spent = &seen.called.spent;
    assert_eq!(
        (spent.input, spent.cache_read, spent.output, spent.reasoning),
        (Tokens(50), Tokens(40), Tokens(9), Tokens(4))
    );
    let head = &seen.received[0].head;
    assert!(
        head.starts_with("post /chat/completions") && head.contains("authorization: bearer sk-test"),
        "{head}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_responses_stream_is_answered() {
    let item =
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"we talked"}]}"#;
    let done = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
    let last = r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":7,"output_tokens":2}}}"#;
    let seen = ask("openai-responses", "", Purpose::History, vec![Act::Send(stream(&[&done, last]))]).await;
    assert_eq!(seen.called.result, reply("we talked", Stop::End));
    assert!(seen.received[0].head.starts_with("post /responses http/1.1"), "{}", seen.received[0].head);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_is_understood_all_the_same() {
    let body = r#"{"choices":[{"message":{"content":"we talked"},"finish_reason":"stop"}]}"#;
    let seen = ask("openai-chat", "", Purpose::History, vec![Act::Send(whole(200, "", body))]).await;
    assert_eq!(seen.called.result, reply("we talked", Stop::End));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_the_connection_open_is_not_waited_for() {
    let events = [r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#, "[DONE]"];
    let seen = ask("openai-chat", "", Purpose::History, vec![Act::Hang(stream(&events))]).await;
    assert_eq!((seen.called.result, seen.took.as_secs()), (reply("ok", Stop::End), 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_cut_at_its_limit_a_tool_call_and_an_error_text_come_back_as_they_are() {
    let capped = ask_anthropic(vec![says("half a", "max_tokens")]).await.called.result;
    let text = ask_anthropic(vec![says("usage limit reached", "end_turn")]).await.called.result;
    let call =
        r#"{"content":[{"type":"tool_use","id":"t1","name":"read","input":{}}],"stop_reason":"tool_use"}"#;
    let called = ask_anthropic(vec![Act::Send(whole(200, "", call))]).await.called.result;
    assert_eq!(
        [capped, text, called],
        [reply("half a", Stop::Length), reply("usage limit reached", Stop::End), reply("", Stop::Call)]
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_but_reasoning_comes_back_as_an_empty_reply() {
    let body = r#"{"choices":[{"message":{"content":null,"reasoning_content":"hm"},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":2000}}"#;
    let seen = ask("openai-chat", "", Purpose::History, vec![Act::Send(whole(200, "", body))]).await;
    assert_eq!(seen.called.result, reply("", Stop::Length));
}

#[tokio::test(start_paused = true)]
async fn the_output_limit_is_that_of_the_model_and_of_the_room_left() {
    let small = ask("anthropic", "output_max = 900", Purpose::History, vec![says("ok", "end_turn")]).await;
    let narrow = ask("anthropic", "window = 600", Purpose::History, vec![says("ok", "end_turn")]).await;
    let thinking =
        ask("anthropic", "reasoning = \"low\"", Purpose::History, vec![says("ok", "end_turn")]).await;
    let cap = |seen: &Seen| -> u64 {
        let body: serde_json::Value = serde_json::from_str(&seen.received[0].body).expect("it is JSON");
        body["max_tokens"].as_u64().expect("it has a limit")
    };
    assert_eq!((cap(&small), cap(&thinking)), (900, 3_024));
    assert!((400..600).contains(&cap(&narrow)), "{}", cap(&narrow));
}

#[tokio::test(start_paused = true)]
async fn anthropics_own_compaction_brings_its_item_and_what_can_be_read_of_it() {
    let item = r#"{"type":"compaction","content":"we talked","signature":"c2ln"}"#;
    let body = format!(r#"{{"content":[{item}],"stop_reason":"compaction"}}"#);
    let seen = ask("anthropic", "", Purpose::Native, vec![Act::Send(whole(200, "", &body))]).await;
    let native = Some(Opaque { kind: "compaction".into(), json: item.into() });
    assert_eq!(seen.called.result, Ok(SummaryReply { text: "we talked".into(), stop: Stop::End, native }));
    assert!(
        seen.received[0].head.contains("anthropic-beta: compact-2026-09-04"),
        "{}",
        seen.received[0].head
    );
    assert!(
        seen.received[0].body.ends_with(r#""compaction":{"type":"summarize"}}"#),
        "{}",
        seen.received[0].body
    );
}

#[tokio::test(start_paused = true)]
async fn openais_own_compaction_brings_a_sealed_item() {
    let item = r#"{"type":"compaction","id":"c1","encrypted_content":"gAAAA"}"#;
    let user = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"we talked"}]}"#;
    let body = format!(
        r#"{{"object":"response.compaction","output":[{user},{item}],"usage":{{"input_tokens":9,"output_tokens":3}}}}"#
    );
    let seen = ask("openai-responses", "", Purpose::Native, vec![Act::Send(whole(200, "", &body))]).await;
    let native = Some(Opaque { kind: "compaction".into(), json: item.into() });
    assert_eq!(seen.called.result, Ok(SummaryReply { text: String::new(), stop: Stop::End, native }));
    assert!(
        seen.received[0].head.starts_with("post /responses/compact http/1.1"),
        "{}",
        seen.received[0].head
    );
}

#[tokio::test(start_paused = true)]
async fn a_warm_prefix_is_sent_byte_for_byte_with_the_instruction_behind_it() {
    let server = Server::start(vec![says("ok", "end_turn")]).await;
    let provider = provider(&server.url, "anthropic", "");
    let last = r#"{"model":"claude-opus-4-5", "max_tokens":9000,"stream":true,"messages":[{"role":"assistant","content":"hi"}]}"#;
    provider.remember(LastRequest { body: last.into(), beta: Some("context-1".into()) });
    let body = SummaryInput::Prefix { messages: Vec::new(), instruction: "sum up".into() };
    let called = provider.summarize(epitome_core::SummaryRequest { body, ..request(Purpose::History) }).await;
    assert_eq!(called.result, reply("ok", Stop::End));
    let (before, behind) = last.split_at(last.len() - 2);
    let added = r#",{"role":"user","content":[{"type":"text","text":"sum up"}]}"#;
    assert_eq!(server.received()[0].body, format!("{before}{added}{behind}"));
    assert!(server.received()[0].head.contains("anthropic-beta: context-1"), "{}", server.received()[0].head);
}
