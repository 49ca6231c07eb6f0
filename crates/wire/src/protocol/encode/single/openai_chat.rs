//! A message as elements of OpenAI Chat Completions: itself, and one for each result it brings.

use super::super::piece::foreign_text;
use super::super::{BETWEEN_TEXTS, EMPTY_RESULT};
use super::{Sides, as_it_came, as_shown, raw, spoken, stand_in};
use epitome_core::{Block, Call, Image, Message, ResultPart, Role, ToolResult};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

/// A reply. What vendors add of its reasoning has no other place, and some want it back.
#[derive(Default, Serialize)]
struct Assistant {
    role: &'static str,
    content: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Box<RawValue>>,
}

/// A piece of content.
enum TextOrPart {
    Text(String),
    /// A picture, or something carried, as a part of its own.
    Part(Box<RawValue>),
}

/// How reasoning in a vendor's own structure is called, by its field and by readers.
const DETAILS: &str = "reasoning_details";

pub(super) fn elements(message: &Message) -> Vec<Box<RawValue>> {
    let sides = Sides::of(message);
    let mut pictures = Vec::new();
    let answers: Vec<Box<RawValue>> =
        sides.results.iter().map(|result| answer(result, &mut pictures)).collect();
    let said = match message.role {
        Role::Assistant => Some(reply(&sides.said)),
        Role::System => Some(speech("system", &sides.said, Vec::new())),
        Role::User | Role::Tool if sides.is_silent() && pictures.is_empty() => None,
        Role::User | Role::Tool => Some(speech("user", &sides.said, pictures)),
    };
    match message.role {
        Role::Assistant => said.into_iter().chain(answers).collect(),
        Role::System | Role::User | Role::Tool => answers.into_iter().chain(said).collect(),
    }
}

/// What the user's side says, pictures of results before the rest.
fn speech(role: &str, said: &[&Block], mut content: Vec<TextOrPart>) -> Box<RawValue> {
    content.extend(said.iter().filter_map(|block| content_of(block)));
    let content = joined(content, BETWEEN_TEXTS).unwrap_or_else(|| raw(&stand_in(Role::User)));
    raw(&ReplyMessage { role, tool_call_id: None, content })
}

#[derive(Serialize)]
struct ReplyMessage<'a> {
    role: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: Box<RawValue>,
}

fn reply(said: &[&Block]) -> Box<RawValue> {
    let mut reply = Assistant { role: "assistant", ..Assistant::default() };
    let mut content = Vec::new();
    for block in said {
        match block {
            Block::Thinking { text, .. } => {
                reply.reasoning_content = spoken(text).map(str::to_owned).or(reply.reasoning_content);
            }
            Block::Opaque(opaque) if &*opaque.kind == DETAILS => {
                reply.reasoning_details = RawValue::from_string(opaque.json.to_string()).ok();
            }
            Block::Call(call) => reply.tool_calls.push(tool_call(call)),
            Block::Text { .. } | Block::Image(_) | Block::Opaque(_) | Block::Result(_) => {
                content.extend(content_of(block));
            }
        }
    }
    reply.content = joined(content, BETWEEN_TEXTS);
    if reply.content.is_none() && reply.tool_calls.is_empty() {
        reply.content = Some(raw(&stand_in(Role::Assistant)));
    }
    raw(&reply)
}

fn tool_call(call: &Call) -> Box<RawValue> {
    let (id, name, input) = (&*call.id.0, &*call.name, &*call.input);
    match call.freeform {
        true => raw(&json!({"type": "custom", "id": id, "custom": {"name": name, "input": input}})),
        false => raw(&json!({"type": "function", "id": id, "function": {"name": name, "arguments": input}})),
    }
}

/// A tool message. Pictures have no place in it and go to the user's message behind it.
fn answer(result: &ToolResult, pictures: &mut Vec<TextOrPart>) -> Box<RawValue> {
    let mut content = Vec::new();
    for part in &result.parts {
        match part {
            ResultPart::Text { text } => {
                content.extend(spoken(text).map(|text| TextOrPart::Text(text.to_owned())))
            }
            ResultPart::Image(image) => {
                content.push(TextOrPart::Text("[image; it follows in the next user message]".into()));
                pictures.push(TextOrPart::Text(format!("[image from the result of call {}]", result.call)));
                pictures.push(picture(image));
            }
            ResultPart::Opaque(opaque) => content.extend(as_it_came(opaque).map(TextOrPart::Part)),
        }
    }
    let content = joined(content, "\n").unwrap_or_else(|| raw(&EMPTY_RESULT));
    raw(&ReplyMessage { role: "tool", tool_call_id: Some(&result.call.0), content })
}

fn content_of(block: &Block) -> Option<TextOrPart> {
    match block {
        Block::Text { text } => spoken(text).map(|text| TextOrPart::Text(text.to_owned())),
        Block::Image(image) => Some(picture(image)),
        Block::Opaque(opaque) => as_it_came(opaque).map(TextOrPart::Part),
        Block::Call(call) => Some(TextOrPart::Text(foreign_text(call))),
        Block::Thinking { .. } | Block::Result(_) => None,
    }
}

fn picture(image: &Image) -> TextOrPart {
    TextOrPart::Part(raw(&json!({"type": "image_url", "image_url": {"url": as_shown(image).url()}})))
}

/// One string where it is all text: templates that take no lists take strings. None for nothing.
fn joined(content: Vec<TextOrPart>, between: &str) -> Option<Box<RawValue>> {
    if content.is_empty() {
        return None;
    }
    let text = |content: &TextOrPart| match content {
        TextOrPart::Text(text) => Some(text.clone()),
        TextOrPart::Part(_) => None,
    };
    if let Some(texts) = content.iter().map(text).collect::<Option<Vec<String>>>() {
        return Some(raw(&texts.join(between)));
    }
    let part = |content: TextOrPart| match content {
        TextOrPart::Text(text) => raw(&json!({"type": "text", "text": text})),
        TextOrPart::Part(part) => part,
    };
    Some(raw(&content.into_iter().map(part).collect::<Vec<_>>()))
}
