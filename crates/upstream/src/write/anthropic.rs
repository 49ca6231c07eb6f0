//! Anthropic Messages.

use super::{Draft, Frames, deltas, event};
use crate::reply::{ReplyBlock, Stop};
use crate::seal::Binding;
use serde_json::{Value, json};

/// The whole message.
pub(super) fn body(draft: &Draft<'_>) -> Value {
    let content: Vec<Value> = match compaction(draft) {
        Some((text, seal)) => vec![json!({"type": "compaction", "content": text, "signature": seal})],
        None => draft.reply.parts.iter().map(block).collect(),
    };
    message(draft, &json!(content), &json!(stop_reason(draft)), draft.usage.output)
}

fn message(draft: &Draft<'_>, content: &Value, stop_reason: &Value, output: u64) -> Value {
    json!({
        "id": format!("msg_scripted{:06}", draft.number),
        "type": "message",
        "role": "assistant",
        "model": draft.asked.envelope.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage(draft, output),
    })
}

fn usage(draft: &Draft<'_>, output: u64) -> Value {
    let told = draft.usage;
    json!({
        "input_tokens": told.prompt - told.cache_read - told.cache_write,
        "cache_creation_input_tokens": told.cache_write,
        "cache_read_input_tokens": told.cache_read,
        "cache_creation": {"ephemeral_5m_input_tokens": told.cache_write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    })
}

/// The text and seal of a compaction on demand, where one was asked for.
fn compaction(draft: &Draft<'_>) -> Option<(String, String)> {
    if !draft.asked.wants_compaction() {
        return None;
    }
    let text: Vec<&str> = draft.reply.parts.iter().filter_map(ReplyBlock::as_text).collect();
    let seal = Binding::Conversation.seal(&text.concat(), &draft.asked.prompt.digest());
    Some((text.concat(), seal))
}

fn stop_reason(draft: &Draft<'_>) -> &'static str {
    match draft.reply.stop {
        Stop::End if draft.asked.wants_compaction() => "compaction",
        Stop::End => "end_turn",
        Stop::Calls => "tool_use",
        Stop::Length => "max_tokens",
        Stop::Window | Stop::ModelLength => "model_context_window_exceeded",
    }
}

fn block(said: &ReplyBlock) -> Value {
    match said {
        ReplyBlock::Thinking { text, seal } => {
            json!({"type": "thinking", "thinking": text, "signature": seal})
        }
        ReplyBlock::Text(text) => json!({"type": "text", "text": text}),
        ReplyBlock::Call { id, name, input } => {
            let input: Value = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    }
}

/// The message as events: each block opened, filled and closed; the usage in the first and the last.
pub(super) fn frames(draft: &Draft<'_>) -> Frames {
    let start = message(draft, &json!([]), &Value::Null, 1);
    let opening = vec![
        event("message_start", &json!({"type": "message_start", "message": start})),
        event("ping", &json!({"type": "ping"})),
    ];
    let mut rest: Vec<String> = match compaction(draft) {
        Some((text, seal)) => compaction_frames(&text, &seal),
        None => {
            let blocks = draft.reply.parts.iter().enumerate();
            blocks.flat_map(|(index, said)| block_frames(index, said)).collect()
        }
    };
    rest.push(event(
        "message_delta",
        &json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason(draft), "stop_sequence": null},
            "usage": usage(draft, draft.usage.output),
        }),
    ));
    rest.push(event("message_stop", &json!({"type": "message_stop"})));
    Frames { opening, rest }
}

/// A compaction comes in one piece.
fn compaction_frames(text: &str, seal: &str) -> Vec<String> {
    let opened = json!({"type": "compaction", "content": null});
    let delta = json!({"type": "compaction_delta", "content": text, "signature": seal});
    vec![
        event(
            "content_block_start",
            &json!({"type": "content_block_start", "index": 0, "content_block": opened}),
        ),
        event("content_block_delta", &json!({"type": "content_block_delta", "index": 0, "delta": delta})),
        event("content_block_stop", &json!({"type": "content_block_stop", "index": 0})),
    ]
}

fn block_frames(index: usize, said: &ReplyBlock) -> Vec<String> {
    let start = |block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |delta: Value| {
        event("content_block_delta", &json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let (opened, filled): (Value, Vec<String>) = match said {
        ReplyBlock::Thinking { text, seal } => {
            let thoughts =
                deltas(text).into_iter().map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            let sealed = json!({"type": "signature_delta", "signature": seal});
            let block = json!({"type": "thinking", "thinking": "", "signature": ""});
            (block, thoughts.chain([sealed]).map(delta).collect())
        }
        ReplyBlock::Text(text) => {
            let words = deltas(text).into_iter().map(|piece| json!({"type": "text_delta", "text": piece}));
            (json!({"type": "text", "text": ""}), words.map(delta).collect())
        }
        ReplyBlock::Call { id, name, input } => {
            let pieces = [""].into_iter().chain(deltas(input));
            let pieces = pieces.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), pieces.map(delta).collect())
        }
    };
    let stop = event("content_block_stop", &json!({"type": "content_block_stop", "index": index}));
    [vec![event("content_block_start", &start(opened))], filled, vec![stop]].concat()
}
