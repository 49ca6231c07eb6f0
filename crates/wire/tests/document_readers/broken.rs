//! Files that are no transcript, or not the one they are said to be: the error says what and where.

use crate::read_as;
use epitome_core::{Archive, EntryId};
use epitome_wire::{Format, Protocol, ReadError};
use proptest::prelude::{Strategy, any, proptest};
use proptest::{collection::vec, option, sample::select, test_runner::Config};
use serde_json::{Value, json};

fn refusal(from: Option<Format>, bytes: &[u8]) -> String {
    match read_as(from, bytes) {
        Ok(transcript) => format!("read as {}", transcript.format),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_bad_file_is_refused_with_its_reason() {
    let html = b"<!DOCTYPE html><html></html>";
    let cut = br#"{"info":{"id":"ses_1"},"messages":[{"info":{"role":"us"#;
    let bad: [&[u8]; 9] =
        [b"", b" \n\t ", b"\x89PNG\r\n\x1a\n\0\0", b"caf\xe9 au lait", b"42\n", html, cut, b"{}", b"[1, 2]"];
    insta::assert_snapshot!(bad.map(|bytes| refusal(None, bytes)).join("\n"), @r#"
    the file is empty; there is no conversation to read
    the file is empty; there is no conversation to read
    no known format fits: byte 0 is not UTF-8, so this is binary, or text in another encoding; check that it is the right file and whole, or name its format
    no known format fits: byte 3 is not UTF-8, so this is binary, or text in another encoding; check that it is the right file and whole, or name its format
    no known format fits: it is a lone number (it begins "42\n"); check that it is the right file and whole, or name its format
    no known format fits: it begins like HTML or XML (it begins "<!DOCTYPE html><html></html>"); check that it is the right file and whole, or name its format
    no known format fits: its JSON ends too soon: EOF while parsing a string at line 1 column 54; check that it is the right file and whole, or name its format
    no known format fits: it is JSON, but its fields are those of no transcript (it begins "{}"); check that it is the right file and whole, or name its format
    no known format fits: it is a JSON array, but not of messages or events (it begins "[1, 2]"); check that it is the right file and whole, or name its format
    "#);
}

#[test]
fn a_hundred_megabytes_of_junk_are_refused_at_once() {
    let mut text = vec![b'x'; 100 << 20];
    assert!(refusal(None, &text).starts_with("no known format fits: it is not JSON"));
    text[0] = b'[';
    assert!(refusal(None, &text).starts_with("no known format fits: its JSON breaks"));
    text.fill(b'[');
    assert!(refusal(None, &text).starts_with("no known format fits"));
    text[..6].copy_from_slice(b"{\"a\":\"");
    assert!(refusal(None, &text).starts_with("no known format fits"));
}

/// One well-formed file of each format that is a document.
fn samples() -> Vec<(Format, Value)> {
    let said = json!({"role": "user", "content": "hi"});
    let called = json!([said, {"role": "assistant", "tool_calls": [{"id": "a"}]}]);
    let used =
        json!([said, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f"}]}]);
    vec![
        (Format::Opencode, json!({"info": {}, "messages": [{"info": {"role": "user"}, "parts": []}]})),
        (Format::GeminiCli, json!({"sessionId": "s", "projectHash": "h", "messages": [{"type": "user"}]})),
        (Format::SweAgent, json!({"history": [said]})),
        (Format::MiniSweAgent, json!({"trajectory_format": "mini-swe-agent-1", "messages": [said]})),
        (Format::Openhands, json!({"history": [{"source": "user", "action": "message", "args": {}}]})),
        (Format::Langgraph, json!({"values": {"messages": [{"type": "human", "content": "hi"}]}})),
        (Format::Body(Protocol::Anthropic), used),
        (Format::Body(Protocol::OpenaiChat), called),
        (
            Format::Body(Protocol::OpenaiResponses),
            json!({"model": "m", "input": [{"type": "function_call", "call_id": "c"}]}),
        ),
    ]
}

/// mini-swe-agent's messages are a chat, and one without calls could be anybody's.
fn is_also(of: Format, named: Format) -> bool {
    of == Format::MiniSweAgent && matches!(named, Format::Body(Protocol::OpenaiChat | Protocol::Anthropic))
}

#[test]
fn a_file_of_another_format_is_refused_by_the_reader_named() {
    for (of, json) in samples() {
        let bytes = json.to_string().into_bytes();
        for (named, _) in samples() {
            let is_right = match read_as(Some(named), &bytes) {
                Ok(_) => named == of || is_also(of, named),
                Err(ReadError::NotThis { format, .. }) => format == named && named != of,
                Err(_) => false,
            };
            assert!(is_right, "{of} read as {named}");
        }
        assert_eq!(refusal(None, &bytes), format!("read as {of}"));
    }
}

/// Values the formats tell things by.
const WORDS: [&str; 19] = [
    "user",
    "assistant",
    "tool",
    "system",
    "human",
    "ai",
    "gemini",
    "text",
    "tool_use",
    "tool_result",
    "function_call",
    "function_call_output",
    "reasoning",
    "message",
    "run",
    "agent",
    "condensation",
    "true",
    "",
];

/// Keys they look for.
const KEYS: [&str; 35] = [
    "role",
    "type",
    "content",
    "text",
    "messages",
    "history",
    "values",
    "info",
    "parts",
    "input",
    "output",
    "tool_calls",
    "toolCalls",
    "id",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "function",
    "arguments",
    "args",
    "state",
    "status",
    "result",
    "action",
    "observation",
    "source",
    "sessionId",
    "projectHash",
    "summary",
    "trajectory_format",
    "tool_call_metadata",
    "model_response",
    "extras",
    "forgotten_event_ids",
    "traj",
];

/// Any JSON at all, made of the words the formats use, so that it gets far into the readers.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = proptest::strategy::Union::new([
        select(WORDS.to_vec()).prop_map(Value::from).boxed(),
        option::of(any::<bool>()).prop_map(|flag| flag.map_or(Value::Null, Value::from)).boxed(),
        any::<i64>().prop_map(Value::from).boxed(),
        any::<String>().prop_map(Value::from).boxed(),
    ]);
    leaf.prop_recursive(6, 96, 8, |inner| {
        let field = (select(KEYS.to_vec()), inner.clone());
        let object = vec(field, 0..8).prop_map(|fields| {
            Value::from_iter(fields.into_iter().map(|(key, value)| (key.to_owned(), value)))
        });
        proptest::strategy::Union::new([object.boxed(), vec(inner, 0..6).prop_map(Value::from).boxed()])
    })
}

fn survive(bytes: &[u8]) {
    let named = samples().into_iter().map(|(format, _)| Some(format));
    for from in named.chain([None]) {
        let Ok(transcript) = read_as(from, bytes) else { continue };
        for conversation in &transcript.conversations {
            for id in (0..conversation.log.len() as u32).map(EntryId) {
                let is_message = conversation.log.item(id).is_some();
                assert_eq!(conversation.originals.message(id).is_ok(), is_message);
            }
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 500, ..Config::default() })]

    #[test]
    fn no_json_makes_a_reader_panic(json in any_json()) {
        survive(json.to_string().as_bytes());
    }

    /// The shape of each format with anything at all in the place of its messages.
    #[test]
    fn no_message_makes_a_reader_panic(elements in vec(any_json(), 0..6)) {
        let list = Value::from(elements);
        for json in [
            list.clone(), json!({"messages": list}), json!({"input": list, "model": "m"}), json!({"history": list}),
            json!({"values": {"messages": list}}), json!({"info": {}, "messages": list}),
            json!({"sessionId": "s", "projectHash": "h", "messages": list}),
            json!({"trajectory_format": "mini-swe-agent-1", "messages": list}),
        ] {
            survive(json.to_string().as_bytes());
        }
    }

    #[test]
    fn no_bytes_make_detection_panic(bytes in vec(any::<u8>(), 0..400), cut in 0usize..400) {
        survive(&bytes);
        for (_, json) in samples() {
            let text = json.to_string();
            survive(&text.as_bytes()[..cut.min(text.len())]);
        }
    }
}

#[test]
fn a_file_with_endless_problems_tells_some_and_counts_the_rest() {
    let orphan = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
    let body = json!({"messages": vec![orphan; 5000]}).to_string();
    let problems =
        read_as(Some(Format::Body(Protocol::OpenaiChat)), body.as_bytes()).expect("it is a body").problems;
    assert!(problems.len() <= 1001, "{} problems are told", problems.len());
    assert!(problems.last().is_some_and(|last| last.what.ends_with("more problems, not listed")));
}
