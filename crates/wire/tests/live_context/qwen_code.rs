//! qwen-code's session files: a tree of records that say Gemini's parts.

use crate::{logged, shown, transcript};
use epitome_wire::{Format, ReportedUsage};

/// A record below another, with the fields of its kind.
fn record(uuid: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    let fixed = r#""sessionId":"s","timestamp":"2026-05-01T10:00:00Z","cwd":"/p","version":"0.15.10""#;
    format!("{{\"uuid\":\"{uuid}\",\"parentUuid\":{parent},{fixed},{rest}}}\n")
}

fn user(uuid: &str, parent: &str, text: &str) -> String {
    let rest = format!(r#""type":"user","message":{{"role":"user","parts":[{{"text":"{text}"}}]}}"#);
    record(uuid, parent, &rest)
}

fn exchange() -> String {
    let call = r#""type":"assistant","model":"qwen3-coder","contextWindowSize":262144,"usageMetadata":{"promptTokenCount":90,"candidatesTokenCount":7,"thoughtsTokenCount":3,"cachedContentTokenCount":50},"message":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"looking"},{"functionCall":{"id":"c1","name":"read_file","args":{"path":"a"}}}]}"#;
    let result = r#""type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"fn a"}}},{"text":"and a picture:"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]},"toolCallResult":{"status":"success"}"#;
    let telemetry = r#""type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{}}"#;
    [
        user("u1", "", "read a"),
        record("t1", "u1", telemetry),
        record("a1", "t1", call),
        record("r1", "a1", result),
        record("a2", "r1", r#""type":"assistant","message":{"role":"model","parts":[{"text":"done"}]}"#),
    ]
    .concat()
}

#[test]
fn records_are_told_from_claude_codes_and_say_geminis_parts() {
    insta::assert_snapshot!(shown(Format::QwenCode, &exchange()), @r#"
    person: read a
    model: thinks "hm" - | looking | calls c1=read_file {"path":"a"}
    tool: c1 -> fn a
    harness: and a picture: | image image/png AA==
    model: done
    "#);
    let read = transcript(Format::QwenCode, &exchange());
    let conversation = &read.conversations[0];
    let usage = Some(ReportedUsage { prompt: 90, output: 10, cache_read: 50, cache_write: 0 });
    let model = conversation.fixed.model.as_deref();
    assert_eq!(
        (conversation.replies[0].usage, conversation.fixed.window, model),
        (usage, Some(262_144), Some("qwen3-coder"))
    );
    assert_eq!(conversation.names[0].as_deref(), Some("u1"));
}

#[test]
fn the_live_branch_is_the_last_records() {
    let text = exchange()
        + &user("u2", "a2", "wrong")
        + &record("w1", "a2", r#""type":"system","subtype":"rewind","systemPayload":{"truncatedCount":1}"#)
        + &user("u3", "w1", "right")
        + &record(
            "n1",
            "u3",
            r#""type":"user","subtype":"notification","message":{"role":"user","parts":[{"text":"agent done"}]}"#,
        )
        + &user("u4", "gone", "and then")
        + &record("k1", "u4", r#""type":"hologram""#);
    let shown = shown(Format::QwenCode, &text);
    let newest: Vec<&str> = shown.lines().skip(4).collect();
    assert_eq!(
        newest,
        [
            "model: done",
            "person: right",
            "harness: agent done",
            "person: and then",
            "! record 10 hangs off gone, which is not before it; taken to follow the record before",
            "! 11 `hologram` is no known kind of record; 1 of them passed over, this the first",
        ]
    );
    assert!(logged(Format::QwenCode, &text).contains(&"person: wrong".to_owned()));
}

#[test]
fn a_compression_holds_the_new_history_in_full() {
    let payload = r#"{"info":{"originalTokenCount":9000,"newTokenCount":300},"compressedHistory":[{"role":"user","parts":[{"text":"setup"}]},{"role":"user","parts":[{"text":"<state_snapshot>so far</state_snapshot>"}]},{"role":"model","parts":[{"text":"Got it."},{"functionCall":{"id":"c1","name":"read_file","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c1","response":{"output":"fn a"}}}]}]}"#;
    let rest = format!(r#""type":"system","subtype":"chat_compression","systemPayload":{payload}"#);
    let text = exchange() + &record("k1", "a2", &rest) + &user("u2", "k1", "go on");
    insta::assert_snapshot!(shown(Format::QwenCode, &text), @"
    person: setup
    harness: <state_snapshot>so far</state_snapshot>
    model: Got it. | calls c1=read_file {}
    tool: c1 -> fn a
    person: go on
    ");
    assert_eq!(
        transcript(Format::QwenCode, &text).conversations[0].replies.len(),
        2,
        "kept replies are no new ones"
    );
}

#[test]
fn a_subagents_records_are_a_conversation_of_their_own() {
    let side = |uuid, parent, text| {
        user(uuid, parent, text)
            .replace("\"sessionId\"", "\"isSidechain\":true,\"agentId\":\"x\",\"sessionId\"")
    };
    let text = user("u1", "", "ask them") + &side("b1", "", "the task") + &user("u2", "u1", "well?");
    insta::assert_snapshot!(shown(Format::QwenCode, &text), @"
    conversation 0
    person: ask them
    person: well?
    conversation 1
    person: the task
    ");
}
