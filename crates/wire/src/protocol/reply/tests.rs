//! Replies in one piece and in a stream: the same answer from both.

use super::{ModelReply, ReplyUsage, StopReason, reply};
use crate::sse::Assembler;
use crate::{Protocol, ReportedUsage};
use epitome_core::{Block, Call, CallId, Opaque, Stop};

/// A stream of events, pushed in pieces of `size` bytes.
fn streamed(protocol: Protocol, events: &[&str], size: usize) -> ModelReply {
    let text: String = events.iter().map(|data| format!("event: x\ndata: {data}\n\n")).collect();
    let mut assembler = Assembler::new(protocol);
    text.as_bytes().chunks(size).for_each(|piece| assembler.push(piece));
    assembler.finish()
}

/// Both ways must agree, however the stream is split.
fn both(protocol: Protocol, body: &str, events: &[&str]) -> ModelReply {
    let answer = reply(protocol, body.as_bytes());
    for size in [1, 7, 64, 1 << 20] {
        assert_eq!(streamed(protocol, events, size), answer, "in pieces of {size} bytes");
    }
    answer
}

fn call(id: &str, name: &str, input: &str) -> Block {
    let (id, name, input) = (CallId(id.into()), name.into(), input.into());
    Block::Call(Call { id, name, input, freeform: false })
}

#[test]
fn an_anthropic_stream_becomes_the_message_it_streams() {
    let body = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[
        {"type":"thinking","thinking":"hm, so","signature":"c2ln"},
        {"type":"text","text":"I read it."},
        {"type":"tool_use","id":"toolu_1","name":"read","input":{"path": "a.rs", "from": 1.50}}],
        "stop_reason":"tool_use","stop_sequence":null,
        "usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":5,"output_tokens":42}}"#;
    let events = [
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":5,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm, "}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"so"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I read"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" it."}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a.rs\","}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":" \"from\": 1.50}"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let answer = both(Protocol::Anthropic, body, &events);
    let thinking = Block::Thinking { text: "hm, so".into(), signature: Some("c2ln".into()), redacted: false };
    let blocks =
        [thinking, Block::text("I read it."), call("toolu_1", "read", r#"{"path": "a.rs", "from": 1.50}"#)];
    assert_eq!(answer.message.blocks, blocks);
    let usage = ReportedUsage { prompt: 115, output: 42, cache_read: 100, cache_write: 5 };
    assert_eq!(answer.usage, Some(ReplyUsage { usage, ..ReplyUsage::default() }));
    assert_eq!(
        (answer.stop, answer.is_whole, answer.id.as_deref()),
        (Some(StopReason::Call), true, Some("msg_1"))
    );
}

#[test]
fn an_anthropic_compaction_is_carried_as_it_came_and_its_pass_is_charged() {
    let body = r#"{"content":[{"type":"compaction","content":"what happened","signature":"c2ln"}],"stop_reason":"compaction",
        "usage":{"input_tokens":20,"output_tokens":3,"iterations":[{"type":"compaction","input_tokens":900,"output_tokens":70},{"type":"message","input_tokens":20,"output_tokens":3}]}}"#;
    let events = [
        r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":20,"output_tokens":0}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"what happened","signature":"c2ln"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"compaction"},"usage":{"output_tokens":3,"iterations":[{"type":"compaction","input_tokens":900,"output_tokens":70},{"type":"message","input_tokens":20,"output_tokens":3}]}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let answer = both(Protocol::Anthropic, body, &events);
    let json = r#"{"type":"compaction","content":"what happened","signature":"c2ln"}"#;
    let block = Block::Opaque(Opaque { kind: "compaction".into(), json: json.into() });
    assert_eq!((answer.message.blocks, answer.stop), (vec![block], Some(StopReason::Compaction)));
    let charged = answer.usage.map(|taken| taken.charged());
    assert_eq!(charged, Some(ReportedUsage { prompt: 920, output: 73, ..ReportedUsage::default() }));
}

#[test]
fn a_chat_stream_becomes_the_completion_it_streams() {
    let body = r#"{"id":"c1","model":"gpt-x","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"so","reasoning_content":"hm",
        "tool_calls":[{"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"path\": 1}"}},{"id":"call_2","type":"function","function":{"name":"ls","arguments":"{}"}}]}}],
        "usage":{"prompt_tokens":50,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":4}}}"#;
    let events = [
        r#"{"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"usage":null}"#,
        r#"{"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"reasoning_content":"h"}},{"index":1,"delta":{"content":"another choice"}}]}"#,
        r#"{"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"reasoning_content":"m"}}]}"#,
        r#"{"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"content":"s"}}]}"#,
        r#"{"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"content":"o"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"","function":{"arguments":"{\"path\""}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"read","arguments":": 1}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"ls","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":4}}}"#,
        "[DONE]",
    ];
    let answer = both(Protocol::OpenaiChat, body, &events);
    let thinking = Block::Thinking { text: "hm".into(), signature: None, redacted: false };
    let (read, list) = (call("call_1", "read", r#"{"path": 1}"#), call("call_2", "ls", "{}"));
    assert_eq!(answer.message.blocks, [thinking, Block::text("so"), read, list]);
    let usage = ReportedUsage { prompt: 50, output: 9, cache_read: 40, cache_write: 0 };
    assert_eq!(answer.usage, Some(ReplyUsage { usage, reasoning: 4, ..ReplyUsage::default() }));
    assert_eq!((answer.stop, answer.is_whole), (Some(StopReason::Call), true));
}

#[test]
fn a_responses_stream_becomes_the_response_it_streams() {
    let message = r#"{"id":"m1","type":"message","role":"assistant","content":[{"type":"output_text","text":"done so far"}]}"#;
    let called =
        r#"{"id":"f1","type":"function_call","call_id":"call_1","name":"read","arguments":"{\"a\": 1}"}"#;
    let sealed = r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAAA"}"#;
    let usage = r#"{"input_tokens":60,"input_tokens_details":{"cached_tokens":8},"output_tokens":11,"output_tokens_details":{"reasoning_tokens":6}}"#;
    let body = format!(
        r#"{{"id":"r1","object":"response","model":"gpt-x","status":"completed","error":null,"output":[{sealed},{message},{called}],"usage":{usage}}}"#
    );
    let events = [
        r#"{"type":"response.created","response":{"id":"r1","object":"response","model":"gpt-x","status":"in_progress","error":null,"output":[]}}"#.to_owned(),
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{sealed}}}"#),
        r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"m1","type":"message","role":"assistant","content":[]}}"#.to_owned(),
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"done"}"#.to_owned(),
        format!(r#"{{"type":"response.output_item.done","output_index":1,"item":{message}}}"#),
        format!(r#"{{"type":"response.output_item.done","output_index":2,"item":{called}}}"#),
        format!(r#"{{"type":"response.completed","response":{{"id":"r1","object":"response","model":"gpt-x","status":"completed","error":null,"output":[],"usage":{usage}}}}}"#),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let answer = both(Protocol::OpenaiResponses, &body, &events);
    let reasoning = Block::Opaque(Opaque { kind: "reasoning".into(), json: sealed.into() });
    let blocks = [reasoning, Block::text("done so far"), call("call_1", "read", r#"{"a": 1}"#)];
    assert_eq!(answer.message.blocks, blocks);
    let usage = ReportedUsage { prompt: 60, output: 11, cache_read: 8, cache_write: 0 };
    assert_eq!(answer.usage, Some(ReplyUsage { usage, reasoning: 6, ..ReplyUsage::default() }));
    assert_eq!((answer.stop, answer.is_whole), (Some(StopReason::Call), true));
}

#[test]
fn a_stream_that_breaks_off_gives_what_came_and_is_not_whole() {
    let anthropic = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}"#,
    ];
    let chat = [r#"{"choices":[{"delta":{"content":"half"}}]}"#];
    let responses = [
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"half"}"#,
    ];
    let answers = [
        streamed(Protocol::Anthropic, &anthropic, 9),
        streamed(Protocol::OpenaiChat, &chat, 9),
        streamed(Protocol::OpenaiResponses, &responses, 9),
    ];
    for answer in answers {
        assert_eq!((answer.message.blocks, answer.stop), (vec![Block::text("half")], None));
        assert!(!answer.is_whole && answer.error.is_none());
    }
}

#[test]
fn a_body_in_one_piece_is_whole_where_it_does_not_say_why_it_stopped() {
    let chat = br#"{"choices":[{"message":{"role":"assistant","content":"all of it"}}]}"#;
    let anthropic = br#"{"content":[{"type":"text","text":"all of it"}]}"#;
    let queued = br#"{"object":"response","status":"queued","output":[]}"#;
    let is_whole = [
        reply(Protocol::OpenaiChat, chat).is_whole,
        reply(Protocol::Anthropic, anthropic).is_whole,
        reply(Protocol::OpenaiResponses, queued).is_whole,
        reply(Protocol::OpenaiChat, b"{}").is_whole,
    ];
    assert_eq!(is_whole, [true, true, false, false]);
}

#[test]
fn a_screen_gets_the_words_as_they_come_and_no_thinking_or_calls() {
    let shown = |protocol: Protocol, events: &[&str]| {
        let mut assembler = Assembler::new(protocol);
        let mut shown = Vec::new();
        for data in events {
            assembler.push(format!("data: {data}\n\n").as_bytes());
            shown.push(assembler.newest_text().to_owned());
        }
        shown
    };
    let anthropic = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"so"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{"}}"#,
    ];
    assert_eq!(shown(Protocol::Anthropic, &anthropic), ["", "", "so", ""]);
    let chat = [
        r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"content":"so"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"ls","arguments":"{}"}}]}}]}"#,
    ];
    assert_eq!(shown(Protocol::OpenaiChat, &chat), ["", "so", ""]);
    let responses = [
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"so"}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{"}"#,
    ];
    assert_eq!(shown(Protocol::OpenaiResponses, &responses), ["so", ""]);
}

#[test]
fn an_error_in_a_stream_is_kept_as_it_came_without_the_request_it_repeats() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let failed = r#"{"type":"response.failed","response":{"instructions":"prompt is too long","status":"failed","error":{"code":"context_length_exceeded","message":"too long"}}}"#;
    let chunk = r#"{"error":{"code":400,"message":"too long"},"choices":[]}"#;
    let errors = [
        streamed(Protocol::Anthropic, &[overloaded], 5).error,
        streamed(Protocol::OpenaiChat, &[chunk], 5).error,
        streamed(Protocol::OpenaiResponses, &[failed], 5).error,
    ];
    let alone = r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#;
    assert_eq!(
        errors.map(|error| error.as_deref().map(str::to_owned)),
        [overloaded, chunk, alone].map(|it| Some(it.to_owned()))
    );
    let page = reply(Protocol::Anthropic, b"<html>bad gateway</html>");
    assert_eq!((page.error.as_deref(), page.is_whole), (Some("<html>bad gateway</html>"), false));
}

/// Some servers say `stop` of a reply that calls a tool.
#[test]
fn a_reply_that_calls_a_tool_is_no_summary_whatever_its_provider_says() {
    let reply_that = |content: &str, stop: &str| {
        let body = format!(
            r#"{{"type":"message","role":"assistant","content":[{content}],"stop_reason":"{stop}"}}"#
        );
        reply(Protocol::Anthropic, body.as_bytes()).summary_stop()
    };
    let text = r#"{"type":"text","text":"so far"}"#;
    let call = r#"{"type":"tool_use","id":"t","name":"read","input":{}}"#;
    assert_eq!([reply_that(call, "end_turn"), reply_that(call, "max_tokens")], [Stop::Call; 2]);
    let stops = [
        "end_turn",
        "max_tokens",
        "tool_use",
        "refusal",
        "model_context_window_exceeded",
        "pause_turn",
        "other",
    ];
    let expected = [Stop::End, Stop::Length, Stop::Call, Stop::Refusal, Stop::Window, Stop::End, Stop::End];
    assert_eq!(stops.map(|stop| reply_that(text, stop)), expected);
}
