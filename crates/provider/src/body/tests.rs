//! Bodies as they leave, byte for byte.

use super::{Frame, Outgoing, RequestPath, outgoing};
use crate::LastRequest;
use crate::options::{Effort, Options};
use epitome_core::{
    Author, Block, Call, CallId, Failure, Message, Purpose, Role, SummaryInput, SummaryRequest, Tokens,
};
use epitome_wire::Protocol;
use std::sync::Arc;

fn request(purpose: Purpose, body: SummaryInput) -> SummaryRequest {
    SummaryRequest { purpose, system: "be brief".into(), body, output_max: Tokens(500), attempt: 0 }
}

fn frame(protocol: Protocol) -> Frame<'static> {
    let options = Options::new(Some(Effort::Low), "http://127.0.0.1");
    Frame { protocol, model: "m", cap_tokens: 1_500, options, last: None }
}

fn written(request: &SummaryRequest, frame: &Frame<'_>) -> (RequestPath, String) {
    let Outgoing { place, body, .. } = outgoing(request, frame).expect("it can be written");
    let json = serde_json::from_slice(&body).expect("a body is JSON");
    let violations = epitome_wire::validate::body(frame.protocol, &json);
    assert!(frame.last.is_some() || violations.is_empty(), "{violations:?}");
    (place, String::from_utf8(body).expect("a body is text"))
}

#[test]
fn each_protocol_says_the_same_in_its_own_words() {
    let asked = request(Purpose::History, SummaryInput::Text("tell".into()));
    let bodies = [Protocol::Anthropic, Protocol::OpenaiChat, Protocol::OpenaiResponses]
        .map(|protocol| written(&asked, &frame(protocol)).1);
    assert_eq!(
        bodies,
        [
            r#"{"model":"m","max_tokens":1500,"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":[{"type":"text","text":"tell"}]}],"stream":true,"thinking":{"type":"enabled","budget_tokens":1024}}"#,
            r#"{"model":"m","max_tokens":1500,"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"tell"}],"stream":true,"stream_options":{"include_usage":true},"reasoning_effort":"low"}"#,
            r#"{"model":"m","max_output_tokens":1500,"instructions":"be brief","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"tell"}]}],"stream":true,"store":false,"reasoning":{"effort":"low"}}"#,
        ]
    );
}

#[test]
fn a_warm_prefix_is_gone_on_with_and_without_one_the_messages_are_written() {
    let said = Arc::new(Message::text(Role::User, Author::Person, "hello"));
    let asked = request(
        Purpose::History,
        SummaryInput::Prefix { messages: vec![said], instruction: "sum up".into() },
    );
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hello"}],"max_tokens":9}"#;
    let last = LastRequest { body: body.into(), beta: Some("context-1".into()) };
    let warm = written(&asked, &Frame { last: Some(&last), ..frame(Protocol::OpenaiChat) });
    let whole = r#"{"model":"m","messages":[{"role":"user","content":"hello\n\nsum up"}],"max_tokens":1500}"#;
    assert_eq!(warm, (RequestPath::Replies, whole.to_owned()));
    let cold = written(&asked, &frame(Protocol::OpenaiChat)).1;
    assert!(
        cold.contains(r#""content":"hello"#) && cold.contains("sum up") && cold.contains("be brief"),
        "{cold}"
    );
}

#[test]
fn tools_called_in_a_history_are_defined_for_anthropic_and_may_not_be_used() {
    let call = Call { id: CallId("c1".into()), name: "read".into(), input: "{}".into(), freeform: false };
    let called = Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] };
    let body = SummaryInput::Messages { messages: vec![Arc::new(called)], instruction: "sum up".into() };
    let written = written(&request(Purpose::History, body), &frame(Protocol::Anthropic)).1;
    assert!(
        written.contains(r#""tools":[{"name":"read","input_schema":{"type":"object","properties":{}}}]"#),
        "{written}"
    );
    assert!(written.contains(r#""tool_choice":{"type":"none"}"#), "{written}");
}

#[test]
fn the_providers_own_compaction_is_asked_for_where_there_is_one() {
    let said = Arc::new(Message::text(Role::User, Author::Person, "hello"));
    let asked = request(
        Purpose::Native,
        SummaryInput::Messages { messages: vec![said], instruction: "keep paths".into() },
    );
    let anthropic = outgoing(&asked, &frame(Protocol::Anthropic)).expect("it can be written");
    let body = r#"{"model":"m","max_tokens":1500,"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],"stream":true,"compaction":{"type":"summarize","instructions":"keep paths"}}"#;
    assert_eq!(
        (anthropic.beta.as_deref(), String::from_utf8_lossy(&anthropic.body).as_ref()),
        (Some("compact-2026-09-04"), body)
    );
    let openai = written(&asked, &frame(Protocol::OpenaiResponses));
    let body = r#"{"model":"m","instructions":"be brief","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}]}"#;
    assert_eq!(openai, (RequestPath::Compactions, body.to_owned()));
    assert!(matches!(outgoing(&asked, &frame(Protocol::OpenaiChat)), Err(Failure::Unavailable(_))));
}
