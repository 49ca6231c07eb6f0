//! What each protocol makes of small conversations, element by element.

use super::{EncodeError, RequestParts, body, messages};
use crate::Format;
use crate::Protocol::{self, Anthropic, OpenaiChat, OpenaiResponses};
use epitome_core::{
    Author, Block, Call, Image, Measure, Message, MessageView, Opaque, ResultPart, Role, Tokens, ToolResult,
};
use insta::assert_snapshot;

/// The elements for these messages, a line each.
fn written(to: Protocol, conversation: &[Message]) -> String {
    let elements = messages(to, &RequestParts::default(), &shown(conversation));
    elements.iter().map(|element| format!("{element}\n")).collect()
}

fn shown(conversation: &[Message]) -> Vec<MessageView> {
    conversation.iter().map(|message| MessageView { id: None, message: message.clone().into() }).collect()
}

fn message(role: Role, blocks: &[Block]) -> Message {
    Message { role, author: Author::Harness, blocks: blocks.to_vec() }
}

fn user(text: &str) -> Message {
    message(Role::User, &[Block::text(text)])
}

fn reply(blocks: &[Block]) -> Message {
    message(Role::Assistant, blocks)
}

fn tool(blocks: &[Block]) -> Message {
    message(Role::Tool, blocks)
}

fn call(id: &str, input: &str) -> Block {
    Block::Call(Call { id: id.into(), name: "run".into(), input: input.into(), freeform: false })
}

fn patch(id: &str) -> Block {
    Block::Call(Call { id: id.into(), name: "patch".into(), input: "*** End".into(), freeform: true })
}

fn result(id: &str, text: &str) -> Block {
    Block::Result(ToolResult {
        call: id.into(),
        parts: vec![ResultPart::Text { text: text.into() }],
        is_error: false,
    })
}

fn picture() -> Image {
    Image { media_type: "image/png".into(), data: "iVBORw0K".into(), is_url: false }
}

fn opaque(kind: &str, json: &str) -> Block {
    Block::Opaque(Opaque { kind: kind.into(), json: json.into() })
}

fn thinking(text: &str, signature: Option<&str>, redacted: bool) -> Block {
    Block::Thinking { text: text.into(), signature: signature.map(Into::into), redacted }
}

#[test]
fn what_the_users_side_says_between_replies_is_one_message_results_first() {
    let conversation = [
        user("go"),
        reply(&[Block::text("ok"), call("a", r#"{"n": 1.0}"#), call("b", "{}")]),
        user("wait"),
        tool(&[result("b", "two")]),
        message(Role::System, &[Block::text("be quick")]),
        tool(&[result("a", "one")]),
    ];
    assert_snapshot!(written(Anthropic, &conversation), @r#"
    {"role":"user","content":[{"type":"text","text":"go"}]}
    {"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"a","name":"run","input":{"n": 1.0}},{"type":"tool_use","id":"b","name":"run","input":{}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"two"}]},{"type":"text","text":"wait"},{"type":"text","text":"[system note] be quick"}]}
    "#);
    assert_snapshot!(written(OpenaiChat, &conversation), @r#"
    {"role":"user","content":"go"}
    {"role":"assistant","content":"ok","tool_calls":[{"type":"function","id":"a","function":{"name":"run","arguments":"{\"n\": 1.0}"}},{"type":"function","id":"b","function":{"name":"run","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"a","content":"one"}
    {"role":"tool","tool_call_id":"b","content":"two"}
    {"role":"user","content":"wait\n\n[system note] be quick"}
    "#);
    assert_snapshot!(written(OpenaiResponses, &conversation), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}
    {"type":"function_call","call_id":"a","name":"run","arguments":"{\"n\": 1.0}"}
    {"type":"function_call","call_id":"b","name":"run","arguments":"{}"}
    {"type":"function_call_output","call_id":"a","output":"one"}
    {"type":"function_call_output","call_id":"b","output":"two"}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"wait"}]}
    {"type":"message","role":"developer","content":[{"type":"input_text","text":"be quick"}]}
    "#);
}

#[test]
fn somebody_speaks_before_between_and_after_replies() {
    let conversation = [reply(&[Block::text("one")]), reply(&[Block::text("two")])];
    assert_snapshot!(written(Anthropic, &conversation), @r#"
    {"role":"user","content":[{"type":"text","text":"[no user message was recorded here]"}]}
    {"role":"assistant","content":[{"type":"text","text":"one"}]}
    {"role":"user","content":[{"type":"text","text":"[no user message was recorded here]"}]}
    {"role":"assistant","content":[{"type":"text","text":"two"}]}
    {"role":"user","content":[{"type":"text","text":"[no user message was recorded here]"}]}
    "#);
    assert_snapshot!(written(OpenaiChat, &conversation), @r#"
    {"role":"user","content":"[no user message was recorded here]"}
    {"role":"assistant","content":"one"}
    {"role":"user","content":"[no user message was recorded here]"}
    {"role":"assistant","content":"two"}
    {"role":"user","content":"[no user message was recorded here]"}
    "#);
    assert_snapshot!(written(OpenaiResponses, &conversation), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"[no user message was recorded here]"}]}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"one"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"[no user message was recorded here]"}]}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"[no user message was recorded here]"}]}
    "#);
}

#[test]
fn a_call_without_a_result_gets_one_and_a_late_result_becomes_text() {
    let conversation =
        [user("go"), reply(&[call("a", "{}")]), reply(&[Block::text("hm")]), tool(&[result("a", "late")])];
    assert_snapshot!(written(Anthropic, &conversation), @r#"
    {"role":"user","content":[{"type":"text","text":"go"}]}
    {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"run","input":{}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"[no result was recorded for this call]"}],"is_error":true}]}
    {"role":"assistant","content":[{"type":"text","text":"hm"}]}
    {"role":"user","content":[{"type":"text","text":"[result of call a, apart from it]\nlate"}]}
    "#);
    assert_snapshot!(written(OpenaiChat, &conversation), @r#"
    {"role":"user","content":"go"}
    {"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"a","function":{"name":"run","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"a","content":"[no result was recorded for this call]"}
    {"role":"assistant","content":"hm"}
    {"role":"user","content":"[result of call a, apart from it]\nlate"}
    "#);
}

#[test]
fn a_repeated_id_is_renamed_on_both_sides() {
    let pair = [reply(&[call("a", "{}")]), tool(&[result("a", "ok")])];
    let conversation = [&[user("go")], &pair[..], &pair[..]].concat();
    assert_snapshot!(written(OpenaiChat, &conversation), @r#"
    {"role":"user","content":"go"}
    {"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"a","function":{"name":"run","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"a","content":"ok"}
    {"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"a_2","function":{"name":"run","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"a_2","content":"ok"}
    "#);
}

#[test]
fn empty_texts_go_and_empty_messages_are_marked() {
    let empty = ToolResult { call: "a".into(), parts: Vec::new(), is_error: true };
    let conversation = [
        user(" "),
        reply(&[Block::text("")]),
        user(""),
        reply(&[call("a", "{}"), Block::text("\n")]),
        tool(&[Block::Result(empty)]),
    ];
    assert_snapshot!(written(Anthropic, &conversation), @r#"
    {"role":"user","content":[{"type":"text","text":"[no user message was recorded here]"}]}
    {"role":"assistant","content":[{"type":"text","text":"[this reply is empty]"}]}
    {"role":"user","content":[{"type":"text","text":"[no user message was recorded here]"}]}
    {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"run","input":{}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"[the result is empty]"}],"is_error":true}]}
    "#);
    assert_snapshot!(written(OpenaiChat, &conversation), @r#"
    {"role":"user","content":"[no user message was recorded here]"}
    {"role":"assistant","content":"[this reply is empty]"}
    {"role":"user","content":"[no user message was recorded here]"}
    {"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"a","function":{"name":"run","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"a","content":"[the result is empty]"}
    "#);
}

#[test]
fn thinking_is_kept_whole_where_anthropic_signed_it_and_it_stands_first() {
    let conversation = [
        user("go"),
        reply(&[
            thinking("unsigned", None, false),
            thinking("", Some("c2lnbmVk"), false),
            thinking("", Some("ZGF0YQ=="), true),
            Block::text("so"),
            thinking("later", Some("c2lnbmVk"), false),
        ]),
        reply(&[thinking("another's", Some("gAAAAABo"), false)]),
    ];
    assert_snapshot!(written(Anthropic, &conversation), @r#"
    {"role":"user","content":[{"type":"text","text":"go"}]}
    {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2lnbmVk"},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"so"}]}
    {"role":"user","content":[{"type":"text","text":"[no user message was recorded here]"}]}
    {"role":"assistant","content":[{"type":"text","text":"[this reply is empty]"}]}
    {"role":"user","content":[{"type":"text","text":"[no user message was recorded here]"}]}
    "#);
    assert_snapshot!(written(OpenaiResponses, &conversation), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"so"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"[no user message was recorded here]"}]}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"[this reply is empty]"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"[no user message was recorded here]"}]}
    "#);
}

#[test]
fn server_tools_stay_in_pairs_where_their_provider_reads_them() {
    let used = r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": "x"}}"#;
    let found = r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#;
    let lone = r#"{"type":"server_tool_use","id":"srvtoolu_2","name":"web_search","input":{}}"#;
    let conversation = [
        user("go"),
        reply(&[
            opaque("server_tool_use", used),
            opaque("web_search_tool_result", found),
            opaque("server_tool_use", lone),
        ]),
    ];
    assert_snapshot!(written(Anthropic, &conversation), @r#"
    {"role":"user","content":[{"type":"text","text":"go"}]}
    {"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": "x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"text","text":"[server_tool_use web_search]"}]}
    {"role":"user","content":[{"type":"text","text":"[no user message was recorded here]"}]}
    "#);
    assert_snapshot!(written(OpenaiChat, &conversation), @r#"
    {"role":"user","content":"go"}
    {"role":"assistant","content":"[server_tool_use web_search]\n\n[web_search_tool_result]\n\n[server_tool_use web_search]"}
    {"role":"user","content":"[no user message was recorded here]"}
    "#);
}

#[test]
fn reasoning_travels_with_what_it_led_to() {
    let led = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAABo-_8="}"#;
    let idle = r#"{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gAAAAABo"}"#;
    let conversation =
        [user("go"), reply(&[opaque("reasoning", led), Block::text("so"), opaque("reasoning", idle)])];
    assert_snapshot!(written(OpenaiResponses, &conversation), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}
    {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAABo-_8="}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"so"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"[no user message was recorded here]"}]}
    "#);
}

#[test]
fn free_text_for_a_tool_stays_free_where_the_protocol_knows_it() {
    let conversation = [user("go"), reply(&[patch("p|1")]), tool(&[result("p|1", "done")])];
    assert_snapshot!(written(Anthropic, &conversation), @r#"
    {"role":"user","content":[{"type":"text","text":"go"}]}
    {"role":"assistant","content":[{"type":"tool_use","id":"p_1","name":"patch","input":{"input":"*** End"}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"p_1","content":[{"type":"text","text":"done"}]}]}
    "#);
    assert_snapshot!(written(OpenaiChat, &conversation), @r#"
    {"role":"user","content":"go"}
    {"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"p|1","function":{"name":"patch","arguments":"{\"input\":\"*** End\"}"}}]}
    {"role":"tool","tool_call_id":"p|1","content":"done"}
    "#);
    assert_snapshot!(written(OpenaiResponses, &conversation), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}
    {"type":"custom_tool_call","call_id":"p|1","name":"patch","input":"*** End"}
    {"type":"custom_tool_call_output","call_id":"p|1","output":"done"}
    "#);
}

#[test]
fn pictures_in_results_go_where_the_protocol_takes_them() {
    let parts = vec![ResultPart::Text { text: "seen".into() }, ResultPart::Image(picture())];
    let seen = ToolResult { call: "a".into(), parts, is_error: true };
    let conversation = [user("go"), reply(&[call("a", "{}")]), tool(&[Block::Result(seen)])];
    assert_snapshot!(written(Anthropic, &conversation), @r#"
    {"role":"user","content":[{"type":"text","text":"go"}]}
    {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"run","input":{}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"seen"}],"is_error":true},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0K"}}]}
    "#);
    assert_snapshot!(written(OpenaiChat, &conversation), @r#"
    {"role":"user","content":"go"}
    {"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"a","function":{"name":"run","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"a","content":"seen\n[image; it follows in the next user message]"}
    {"role":"user","content":[{"type":"text","text":"[image from the result of call a]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0K"}}]}
    "#);
    assert_snapshot!(written(OpenaiResponses, &conversation), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}
    {"type":"function_call","call_id":"a","name":"run","arguments":"{}"}
    {"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"seen"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0K"}]}
    "#);
}

#[test]
fn a_picture_nobody_can_read_leaves_a_marker() {
    let damaged = Image { data: "iVBREDACTED=".into(), ..picture() };
    let conversation = [message(Role::User, &[Block::Image(damaged)])];
    assert_snapshot!(written(OpenaiChat, &conversation), @r#"{"role":"user","content":"[image not readable]"}"#);
}

#[test]
fn a_system_message_stays_one_only_where_it_is_first() {
    let note = message(Role::System, &[Block::text("be brief")]);
    let conversation = [note.clone(), user("go"), reply(&[Block::text("ok")]), note];
    assert_snapshot!(written(OpenaiChat, &conversation), @r#"
    {"role":"system","content":"be brief"}
    {"role":"user","content":"go"}
    {"role":"assistant","content":"ok"}
    {"role":"user","content":"[system note] be brief"}
    "#);
    assert_snapshot!(written(OpenaiResponses, &conversation), @r#"
    {"type":"message","role":"developer","content":[{"type":"input_text","text":"be brief"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}
    {"type":"message","role":"developer","content":[{"type":"input_text","text":"be brief"}]}
    "#);
}

#[test]
fn a_body_holds_what_is_known_and_nothing_else() {
    let (system, tools) =
        (["be".into(), "brief".into()], [r#"{"name":"run","inputSchema":{"type":"object"}}"#.into()]);
    let parts = RequestParts { system: &system, tools: &tools, model: Some("m"), max_tokens: Some(8) };
    let write = |to| String::from_utf8(body(to, &parts, &shown(&[user("go")])).expect("it holds a message"));
    let bodies = [Anthropic, OpenaiChat, OpenaiResponses].map(|to| write(to).expect("JSON is text"));
    assert_snapshot!(bodies.join("\n"), @r#"
    {"model":"m","max_tokens":8,"tools":[{"name":"run","input_schema":{"type":"object"}}],"system":[{"type":"text","text":"be"},{"type":"text","text":"brief"}],"messages":[{"role":"user","content":[{"type":"text","text":"go"}]}]}
    {"model":"m","max_tokens":8,"tools":[{"type":"function","function":{"name":"run","parameters":{"type":"object"}}}],"messages":[{"role":"system","content":"be\n\nbrief"},{"role":"user","content":"go"}]}
    {"model":"m","max_output_tokens":8,"instructions":"be\n\nbrief","tools":[{"type":"function","name":"run","parameters":{"type":"object"}}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}]}
    "#);
}

#[test]
fn a_request_before_anything_was_said_says_so() {
    let sent = body(OpenaiChat, &RequestParts::default(), &[]).expect("a protocol can be written");
    assert_eq!(sent, br#"{"messages":[{"role":"user","content":"[no user message was recorded here]"}]}"#);
}

struct Letters;

impl Measure for Letters {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len() as u64)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(1)
    }
    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }
}

/// A body read and written again in the same protocol.
fn resent(protocol: Protocol, body: &str) -> String {
    let source = std::sync::Arc::new(body.as_bytes().to_vec());
    let transcript = crate::read(source, Some(Format::Body(protocol)), &Letters).expect("it is a body");
    let fixed = &transcript.conversations[0].fixed;
    let parts = RequestParts {
        system: &fixed.system,
        tools: &fixed.tools,
        model: fixed.model.as_deref(),
        max_tokens: fixed.max_tokens,
    };
    let sent = super::body_with_rest(protocol, &parts, &fixed.rest, &shown(&[user("go")]));
    String::from_utf8(sent.expect("the fields are JSON")).expect("JSON is text")
}

#[test]
fn fields_we_do_not_read_go_out_as_they_came() {
    let anthropic = r#"{"temperature": 1.0, "model":"m","max_tokens":8,"messages":[{"role":"user","content":"go"}],"thinking":{"type": "enabled"},"stop_sequences":null}"#;
    assert_snapshot!(resent(Anthropic, anthropic), @r#"{"model":"m","max_tokens":8,"messages":[{"role":"user","content":[{"type":"text","text":"go"}]}],"temperature":1.0,"thinking":{"type": "enabled"},"stop_sequences":null}"#);
    let chat = r#"{"messages":[{"role":"user","content":"go"}],"seed":7e0,"stream":true,"max_tokens":8}"#;
    assert_snapshot!(resent(OpenaiChat, chat), @r#"{"max_tokens":8,"messages":[{"role":"user","content":"go"}],"seed":7e0,"stream":true}"#);
    let responses = r#"{"store":false,"input":"go","reasoning":{"effort":"low"},"max_output_tokens":8}"#;
    assert_snapshot!(resent(OpenaiResponses, responses), @r#"{"max_output_tokens":8,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}],"store":false,"reasoning":{"effort":"low"}}"#);
}

#[test]
fn what_a_stored_response_says_of_itself_is_not_asked_for() {
    let stored = r#"{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}]}"#;
    assert_snapshot!(resent(OpenaiResponses, stored), @r#"{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}]}"#);
}

#[test]
fn an_output_limit_keeps_the_name_it_came_with() {
    let chat = r#"{"messages":[{"role":"user","content":"go"}],"max_completion_tokens":8}"#;
    assert_snapshot!(resent(OpenaiChat, chat), @r#"{"messages":[{"role":"user","content":"go"}],"max_completion_tokens":8}"#);
}

#[test]
fn a_field_that_is_no_json_is_refused_by_name() {
    let rest = [("seed".into(), "{".into())];
    let refused = super::body_with_rest(OpenaiChat, &RequestParts::default(), &rest, &shown(&[user("go")]));
    assert!(matches!(refused, Err(EncodeError::Field { key, .. }) if &*key == "seed"));
}
