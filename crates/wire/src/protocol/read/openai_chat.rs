//! OpenAI Chat Completions: `{messages, tools, model, …}`, the messages alone, or a list of such.
//!
//! The messages here are also what SWE-agent and mini-swe-agent keep, so making one is open to them.

use super::bodies::BodyLayout;
use super::{author_of, block_of, parts_of};
use crate::detect::DetectSample;
use crate::document::{ConversationDraft, ConversationView, Dialect, ObjectView, Side, View};
use crate::held::HeldPiece;
use crate::protocol::ElementError;
use crate::{FixedParts, Format, Protocol};
use epitome_core::{Author, Block, Call, CallId, Message, Opaque, Role, ToolResult};
use serde_json::json;
use std::sync::Arc;

/// Request bodies, message arrays, or lists of them in OpenAI's chat form.
pub(crate) struct OpenaiChat;

const LAYOUT: BodyLayout =
    BodyLayout { fields: &["messages", "traj"], is_element: |object| object.has("role") };

impl Dialect for OpenaiChat {
    const FORMAT: Format = Format::Body(Protocol::OpenaiChat);

    fn is_document(sample: &DetectSample<'_>) -> bool {
        sample.protocol() == Some(Protocol::OpenaiChat)
    }

    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        let bodies = LAYOUT.bodies(roots)?;
        let foreign =
            bodies.iter().flat_map(|body| &body.elements).any(|&element| has_foreign_block(element));
        if foreign { Err(FOREIGN.into()) } else { Ok(bodies) }
    }

    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>) {
        draft.fixed = fixed(&body.around);
        let first = lift_system(&body.elements, &mut draft.fixed);
        draft.put_body(body, LAYOUT.fields, first);
        for (index, &element) in body.elements.iter().enumerate().skip(first) {
            draft.turn_to(index);
            let Some(id) = draft.say(&[element], Side::Said) else { continue };
            if is_reply(element) {
                draft.reply(id, None, None);
            }
        }
    }

    fn message(runs: &[View<'_>], _: Side) -> Result<Message, String> {
        chat_message(&runs.first().and_then(|run| run.object()).ok_or("it is no object")?)
    }
}

/// Why a message is none of this protocol's.
const FOREIGN: &str = "a message holds a `tool_use` or `tool_result` block, which is Anthropic's";

/// The messages of single elements, each with the place of its element.
pub(crate) fn decode(elements: &[View<'_>]) -> Result<Vec<(usize, Message)>, ElementError> {
    let decode_one = |(at, element): (usize, &View<'_>)| {
        let message = if has_foreign_block(*element) {
            Err(FOREIGN.into())
        } else {
            OpenaiChat::message(&[*element], Side::Said)
        };
        message.map(|message| (at, message)).map_err(|why| ElementError { element: at, why })
    };
    elements.iter().enumerate().map(decode_one).collect()
}

/// Whether a message holds calls or results the way Anthropic writes them.
pub(super) fn has_foreign_block(element: View<'_>) -> bool {
    let blocks = element.at(&["content"]).and_then(View::list).unwrap_or_default();
    let mut kinds = blocks.into_iter().filter_map(|block| block.at(&["type"])?.text());
    kinds.any(|kind| matches!(&*kind, "tool_use" | "tool_result"))
}

/// Whether the model wrote this message.
pub(crate) fn is_reply(element: View<'_>) -> bool {
    element.at(&["role"]).and_then(View::text).as_deref() == Some("assistant")
}

/// Moves the instructions a conversation opens with to `fixed`; says how many messages that were.
pub(crate) fn lift_system(elements: &[View<'_>], fixed: &mut FixedParts) -> usize {
    let opening = elements.iter().map_while(|element| {
        let message = element.object()?;
        let is_instruction = matches!(message.text("role").as_deref(), Some("system" | "developer"));
        is_instruction.then(|| parts_of(message.get("content")))
    });
    let opening: Vec<_> = opening.collect();
    let texts = opening.iter().flatten().filter_map(|part| part.as_text().map(Into::into));
    fixed.system.extend(texts);
    opening.len()
}

/// A message in chat form.
pub(crate) fn chat_message(message: &ObjectView<'_>) -> Result<Message, String> {
    let said: Vec<Block> = parts_of(message.get("content")).into_iter().map(block_of).collect();
    let (role, author, blocks) = match message.text("role").as_deref() {
        Some("system" | "developer") => (Role::System, Author::Harness, said),
        Some("user") => (Role::User, author_of(&said), said),
        Some("assistant") => (Role::Assistant, Author::Model, reply_blocks(message, said)),
        Some("tool" | "function") => (Role::Tool, Author::Tool, results(message)),
        Some(other) => return Err(format!("nobody has the role `{other}`")),
        None => return Err("it has no `role`".into()),
    };
    Ok(Message { role, author, blocks })
}

/// A message in chat form as a tool's file holds it, without `asides`, which are the tool's own, and without fields
/// that say nothing: a few servers take no field they do not know, be it null.
pub(crate) fn pieces(runs: &[Vec<u8>], asides: &[&str]) -> Result<Vec<HeldPiece>, String> {
    let run = runs.first().ok_or("it stands nowhere")?;
    let text = std::str::from_utf8(run).map_err(|error| error.to_string())?;
    let message = View::parse(text).ok().and_then(View::object).ok_or("it is no object")?;
    let blocks = chat_message(&message)?.blocks;
    let says_nothing = |key: &str, json: &str| key != "content" && matches!(json, "null" | "[]");
    let fields = message.rest(asides).into_iter().filter(|(key, json)| !says_nothing(key, json));
    let fields: Vec<String> = fields.map(|(key, json)| field(&key, &json)).collect();
    // Of several results in one message each is written by itself.
    let is_literal = message.list("tool_call_ids").len() < 2;
    let json = format!("{{{}}}", fields.join(","));
    Ok(vec![HeldPiece { json, blocks, is_literal, around: Vec::new() }])
}

/// A field as it came; SWE-agent lists the one call that a message answers.
fn field(key: &str, json: &str) -> String {
    let ids = View::parse(json).ok().filter(|_| key == "tool_call_ids").and_then(View::list);
    match ids.as_deref() {
        Some([id]) => format!("\"tool_call_id\":{}", id.json()),
        Some(_) | None => format!("{}:{json}", json!(key)),
    }
}

/// What a reply consists of, its words given.
pub(crate) fn reply_blocks(message: &ObjectView<'_>, said: Vec<Block>) -> Vec<Block> {
    let refusal = message.text("refusal").filter(|text| !text.is_empty()).map(Block::text);
    let called = message.list("tool_calls").into_iter().map(call);
    let legacy = message.get("function_call").and_then(legacy_call);
    thinking(message).into_iter().chain(said).chain(refusal).chain(called).chain(legacy).collect()
}

/// Reasoning as vendors add it. Where only their structured form came, that is carried unread.
pub(crate) fn thinking(message: &ObjectView<'_>) -> Option<Block> {
    let readable = ["reasoning_content", "reasoning"].into_iter().find_map(|key| message.text(key));
    if let Some(text) = readable.filter(|text| !text.is_empty()) {
        return Some(Block::Thinking { text: text.into(), signature: None, redacted: false });
    }
    let details = message.get("reasoning_details").filter(|details| details.json() != "[]")?;
    Some(Block::Opaque(Opaque { kind: "reasoning_details".into(), json: details.json().into() }))
}

/// One entry of `tool_calls`.
pub(crate) fn call(view: View<'_>) -> Block {
    let call = view.object().unwrap_or_default();
    let (inner, freeform) = match call.get("custom") {
        Some(custom) => (custom, true),
        None => (call.get("function").unwrap_or(view), false),
    };
    let inner = inner.object().unwrap_or_default();
    let input = inner.get(if freeform { "input" } else { "arguments" });
    Block::Call(Call {
        id: CallId(call.shared("id")),
        name: inner.shared("name"),
        // A JSON string holds the arguments' own text; a few servers send the object itself.
        input: input.map_or("".into(), |input| input.text().unwrap_or(input.json().into())).into(),
        freeform,
    })
}

/// A call from before calls had ids: its function's name stands in for one.
pub(crate) fn legacy_call(view: View<'_>) -> Option<Block> {
    let call = view.object()?;
    let name = call.shared("name");
    let input = call.shared("arguments");
    Some(Block::Call(Call { id: CallId(name.clone()), name, input, freeform: false }))
}

/// A tool's answer. SWE-agent names its calls in a list, all of them answered by the one content.
pub(crate) fn results(message: &ObjectView<'_>) -> Vec<Block> {
    let mut ids: Vec<Arc<str>> =
        message.list("tool_call_ids").into_iter().filter_map(|id| id.text().map(Into::into)).collect();
    if ids.is_empty() {
        ids.push(message.text("tool_call_id").or_else(|| message.text("name")).unwrap_or_default().into());
    }
    let mut parts = parts_of(message.get("content"));
    let results = ids.into_iter().map(|id| {
        let parts = std::mem::take(&mut parts);
        Block::Result(ToolResult { call: CallId(id), parts, is_error: false })
    });
    results.collect()
}

pub(crate) fn fixed(around: &ObjectView<'_>) -> FixedParts {
    FixedParts {
        system: Vec::new(),
        tools: around.list("tools").into_iter().map(|tool| tool.json().into()).collect(),
        model: around.text("model").map(Into::into),
        max_tokens: around.number("max_completion_tokens").or_else(|| around.number("max_tokens")),
        // `max_completion_tokens` stays among the rest, for the body to go out with the name it came with.
        rest: around.rest(&["messages", "traj", "tools", "model", "max_tokens"]),
        window: None,
    }
}
