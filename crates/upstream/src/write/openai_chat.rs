//! OpenAI Chat Completions.

use super::{CREATED, Draft, Frames, data, deltas};
use crate::reply::{ReplyBlock, Stop};
use serde_json::{Value, json};

/// The whole completion.
pub(super) fn body(draft: &Draft<'_>) -> Value {
    let choice = json!({
        "index": 0,
        "message": message(draft),
        "logprobs": null,
        "finish_reason": finish_reason(draft.reply.stop),
    });
    json!({
        "id": id(draft),
        "object": "chat.completion",
        "created": CREATED,
        "model": draft.asked.envelope.model,
        "choices": [choice],
        "usage": usage(draft),
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
    })
}

fn id(draft: &Draft<'_>) -> String {
    format!("chatcmpl-scripted{:06}", draft.number)
}

fn message(draft: &Draft<'_>) -> Value {
    let calls: Vec<Value> = draft.reply.parts.iter().filter_map(call).collect();
    let text = joined(draft, ReplyBlock::as_text);
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null, "annotations": []});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let thoughts = joined(draft, ReplyBlock::as_thought);
    if !thoughts.is_empty() {
        message["reasoning_content"] = json!(thoughts);
    }
    message
}

fn joined(draft: &Draft<'_>, of: fn(&ReplyBlock) -> Option<&str>) -> String {
    draft.reply.parts.iter().filter_map(of).collect::<Vec<_>>().join("\n\n")
}

fn call(said: &ReplyBlock) -> Option<Value> {
    match said {
        ReplyBlock::Call { id, name, input } => {
            Some(json!({"id": id, "type": "function", "function": {"name": name, "arguments": input}}))
        }
        ReplyBlock::Thinking { .. } | ReplyBlock::Text(_) => None,
    }
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "stop",
        Stop::Calls => "tool_calls",
        Stop::Length => "length",
        Stop::Window => "model_context_window_exceeded",
        Stop::ModelLength => "model_length",
    }
}

fn usage(draft: &Draft<'_>) -> Value {
    let told = draft.usage;
    json!({
        "prompt_tokens": told.prompt,
        "completion_tokens": told.output,
        "total_tokens": told.prompt + told.output,
        "prompt_tokens_details": {"cached_tokens": told.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": told.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}

/// The completion as chunks. Usage comes in a chunk of its own, to those who asked for it.
pub(super) fn frames(draft: &Draft<'_>) -> Frames {
    let wants_usage = draft.asked.envelope.body["stream_options"]["include_usage"] == true;
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": id(draft),
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": draft.asked.envelope.model,
            "service_tier": "default",
            "system_fingerprint": "fp_scripted",
            "choices": choices,
        });
        if wants_usage {
            chunk["usage"] = usage;
        }
        data(&chunk)
    };
    let choice = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        json!([choice])
    };
    let said = |delta| chunk(choice(delta, Value::Null), Value::Null);
    let opening = vec![said(json!({"role": "assistant", "content": "", "refusal": null}))];
    let mut rest: Vec<String> = all_deltas(draft).into_iter().map(said).collect();
    rest.push(chunk(choice(json!({}), json!(finish_reason(draft.reply.stop))), Value::Null));
    if wants_usage {
        rest.push(chunk(json!([]), usage(draft)));
    }
    rest.push("data: [DONE]\n\n".into());
    Frames { opening, rest }
}

fn all_deltas(draft: &Draft<'_>) -> Vec<Value> {
    let thoughts = joined(draft, ReplyBlock::as_thought);
    let text = joined(draft, ReplyBlock::as_text);
    let mut all: Vec<Value> =
        deltas(&thoughts).into_iter().map(|piece| json!({"reasoning_content": piece})).collect();
    all.extend(deltas(&text).into_iter().map(|piece| json!({"content": piece})));
    let calls = draft.reply.parts.iter().filter_map(call);
    all.extend(calls.enumerate().flat_map(|(index, call)| call_deltas(index, &call)));
    all
}

/// A call begins with its name; its arguments follow.
fn call_deltas(index: usize, call: &Value) -> Vec<Value> {
    let function = json!({"name": call["function"]["name"], "arguments": ""});
    let first = json!({"index": index, "id": call["id"], "type": "function", "function": function});
    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
    let more =
        deltas(arguments).into_iter().map(|piece| json!({"index": index, "function": {"arguments": piece}}));
    [first].into_iter().chain(more).map(|call| json!({"tool_calls": [call]})).collect()
}
