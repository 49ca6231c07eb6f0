//! OpenAI Responses, and the provider's own compaction of its items.

use super::{CREATED, Draft, Frames, deltas, event};
use crate::Binding;
use crate::chain::items_of;
use crate::complaint::Complaint;
use crate::reply::{ReplyBlock, Stop};
use serde_json::{Value, json};

/// The whole response.
pub(super) fn body(draft: &Draft<'_>) -> Value {
    response(draft, status(draft.reply.stop), &output(draft), &usage(draft))
}

/// The id of the response to a request.
pub(crate) fn response_id(number: u64) -> String {
    format!("resp_scripted{number:06}")
}

fn status(stop: Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Calls => "completed",
        Stop::Length | Stop::Window | Stop::ModelLength => "incomplete",
    }
}

fn response(draft: &Draft<'_>, status: &str, output: &[Value], usage: &Value) -> Value {
    let asked = &draft.asked.envelope.body;
    let incomplete = (status == "incomplete").then(|| json!({"reason": "max_output_tokens"}));
    let given = |field: &str, usual: Value| {
        asked.get(field).filter(|value| !value.is_null()).cloned().unwrap_or(usual)
    };
    json!({
        "id": response_id(draft.number),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": incomplete,
        "instructions": asked["instructions"],
        "max_output_tokens": asked["max_output_tokens"],
        "model": draft.asked.envelope.model,
        "output": output,
        "parallel_tool_calls": given("parallel_tool_calls", json!(true)),
        "previous_response_id": asked["previous_response_id"],
        "reasoning": given("reasoning", json!({"effort": null, "summary": null})),
        "service_tier": "default",
        "store": given("store", json!(true)),
        "temperature": given("temperature", json!(1.0)),
        "text": given("text", json!({"format": {"type": "text"}})),
        "tool_choice": given("tool_choice", json!("auto")),
        "tools": given("tools", json!([])),
        "top_p": given("top_p", json!(1.0)),
        "truncation": given("truncation", json!("disabled")),
        "usage": usage,
        "user": null,
        "metadata": given("metadata", json!({})),
    })
}

fn usage(draft: &Draft<'_>) -> Value {
    let told = draft.usage;
    json!({
        "input_tokens": told.prompt,
        "input_tokens_details": {"cached_tokens": told.cache_read},
        "output_tokens": told.output,
        "output_tokens_details": {"reasoning_tokens": told.reasoning},
        "total_tokens": told.prompt + told.output,
    })
}

/// The items of the reply, as they end up.
pub(crate) fn output(draft: &Draft<'_>) -> Vec<Value> {
    let parts = draft.reply.parts.iter().enumerate();
    parts.map(|(index, said)| item(draft, index, said)).collect()
}

fn item(draft: &Draft<'_>, index: usize, said: &ReplyBlock) -> Value {
    let id = |start: &str| format!("{start}_scripted{:06}_{index}", draft.number);
    match said {
        ReplyBlock::Thinking { text, seal } => json!({
            "id": id("rs"),
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": text}],
            "encrypted_content": seal,
        }),
        ReplyBlock::Text(text) => json!({
            "id": id("msg"),
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [text_part(text)],
        }),
        ReplyBlock::Call { id: call_id, name, input } => json!({
            "id": id("fc"),
            "type": "function_call",
            "status": "completed",
            "call_id": call_id,
            "name": name,
            "arguments": input,
        }),
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// The response as events, numbered in order; the whole of it, with its usage, in the last.
pub(super) fn frames(draft: &Draft<'_>) -> Frames {
    let begun = response(draft, "in_progress", &[], &Value::Null);
    let mut numbered = Numbered::default();
    numbered.push("response.created", json!({"response": begun}));
    numbered.push("response.in_progress", json!({"response": begun}));
    let opening = std::mem::take(&mut numbered.frames);
    for (index, (said, item)) in draft.reply.parts.iter().zip(output(draft)).enumerate() {
        item_frames(index, said, &item, &mut numbered);
    }
    let status = status(draft.reply.stop);
    numbered.push(&format!("response.{status}"), json!({"response": body(draft)}));
    Frames { opening, rest: numbered.frames }
}

/// Events, each with its number in the stream.
#[derive(Default)]
struct Numbered {
    frames: Vec<String>,
    next: usize,
}

impl Numbered {
    fn push(&mut self, kind: &str, fields: Value) {
        let mut value = json!({"type": kind, "sequence_number": self.next});
        if let (Some(value), Value::Object(fields)) = (value.as_object_mut(), fields) {
            value.extend(fields);
        }
        self.next += 1;
        self.frames.push(event(kind, &value));
    }
}

/// An item is added empty, filled, and told once more whole.
fn item_frames(index: usize, said: &ReplyBlock, item: &Value, out: &mut Numbered) {
    out.push("response.output_item.added", json!({"output_index": index, "item": emptied(said, item)}));
    match said {
        ReplyBlock::Thinking { text, .. } => thought_frames(index, text, &item["id"], out),
        ReplyBlock::Text(text) => text_frames(index, text, &item["id"], out),
        ReplyBlock::Call { name, input, .. } => {
            for piece in deltas(input) {
                let fields = json!({"item_id": item["id"], "output_index": index, "delta": piece});
                out.push("response.function_call_arguments.delta", fields);
            }
            let fields =
                json!({"item_id": item["id"], "output_index": index, "name": name, "arguments": input});
            out.push("response.function_call_arguments.done", fields);
        }
    }
    out.push("response.output_item.done", json!({"output_index": index, "item": item}));
}

/// An item before anything is in it.
fn emptied(said: &ReplyBlock, item: &Value) -> Value {
    let mut item = item.clone();
    match said {
        ReplyBlock::Thinking { .. } => item["summary"] = json!([]),
        ReplyBlock::Text(_) => {
            item["content"] = json!([]);
            item["status"] = json!("in_progress");
        }
        ReplyBlock::Call { .. } => {
            item["arguments"] = json!("");
            item["status"] = json!("in_progress");
        }
    }
    item
}

fn text_frames(index: usize, text: &str, id: &Value, out: &mut Numbered) {
    let at = json!({"item_id": id, "output_index": index, "content_index": 0});
    out.push("response.content_part.added", with(&at, json!({"part": text_part("")})));
    for piece in deltas(text) {
        out.push("response.output_text.delta", with(&at, json!({"delta": piece, "logprobs": []})));
    }
    out.push("response.output_text.done", with(&at, json!({"text": text, "logprobs": []})));
    out.push("response.content_part.done", with(&at, json!({"part": text_part(text)})));
}

fn thought_frames(index: usize, text: &str, id: &Value, out: &mut Numbered) {
    let at = json!({"item_id": id, "output_index": index, "summary_index": 0});
    let part = |text: &str| json!({"part": {"type": "summary_text", "text": text}});
    out.push("response.reasoning_summary_part.added", with(&at, part("")));
    for piece in deltas(text) {
        out.push("response.reasoning_summary_text.delta", with(&at, json!({"delta": piece})));
    }
    out.push("response.reasoning_summary_text.done", with(&at, json!({"text": text})));
    out.push("response.reasoning_summary_part.done", with(&at, part(text)));
}

/// The fields of both.
fn with(one: &Value, other: Value) -> Value {
    let mut both = one.clone();
    if let (Some(both), Value::Object(other)) = (both.as_object_mut(), other) {
        both.extend(other);
    }
    both
}

/// The event of a response that failed after `sent` events.
pub(super) fn failed(draft: &Draft<'_>, complaint: &Complaint, sent: usize) -> String {
    let mut response = response(draft, "failed", &[], &Value::Null);
    let code = complaint.code.unwrap_or("server_error");
    response["error"] = json!({"code": code, "message": complaint.message});
    let mut numbered = Numbered { frames: Vec::new(), next: sent };
    numbered.push("response.failed", json!({"response": response}));
    numbered.frames.concat()
}

/// The answer of the provider's own compaction: the user's messages, and one sealed item for the rest.
pub(crate) fn compaction(draft: &Draft<'_>) -> Value {
    let items = items_of(&draft.asked.envelope.body["input"]);
    let users = items.into_iter().filter(|item| item["role"] == "user");
    let mut output: Vec<Value> =
        users.enumerate().map(|(index, item)| user_item(draft, index, &item)).collect();
    let seal = Binding::Conversation.seal("", &draft.asked.prompt.digest());
    let id = format!("cmp_scripted{:06}", draft.number);
    output.push(json!({"id": id, "type": "compaction", "encrypted_content": seal}));
    json!({
        "id": response_id(draft.number),
        "object": "response.compaction",
        "created_at": CREATED,
        "output": output,
        "usage": usage(draft),
    })
}

/// A user's message as the provider gives it back.
fn user_item(draft: &Draft<'_>, index: usize, item: &Value) -> Value {
    let content = match &item["content"] {
        Value::String(text) => json!([{"type": "input_text", "text": text}]),
        parts => parts.clone(),
    };
    json!({
        "id": format!("msg_scripted{:06}_{index}", draft.number),
        "type": "message",
        "status": "completed",
        "role": "user",
        "content": content,
    })
}
