//! A message as items of OpenAI Responses: what was said, and an item for each call and each result.

use super::super::EMPTY_RESULT;
use super::super::openai_responses::item::{Item, ItemPart as Shape};
use super::super::piece::foreign_text;
use super::{Sides, as_it_came, as_shown, raw, spoken, stand_in};
use epitome_core::{Block, Call, Message, Opaque, ResultPart, Role, ToolResult};
use serde::Serialize;
use serde_json::value::RawValue;

pub(super) fn elements(message: &Message) -> Vec<Box<RawValue>> {
    let sides = Sides::of(message);
    let answers = sides.results.iter().map(|result| answer(result));
    match message.role {
        Role::Assistant => said(message.role, &sides).into_iter().chain(answers).collect(),
        Role::System | Role::User | Role::Tool => answers.chain(said(message.role, &sides)).collect(),
    }
}

/// A message item, its parts each in JSON.
#[derive(Serialize)]
#[serde(tag = "type", rename = "message")]
struct Speech {
    role: &'static str,
    content: Vec<Box<RawValue>>,
}

/// What a message says: an item for what stands together, and one for whatever is an item itself.
fn said(role: Role, sides: &Sides<'_>) -> Vec<Box<RawValue>> {
    let (mut items, mut parts) = (Vec::new(), Vec::new());
    for block in &sides.said {
        match piece_of(role, block) {
            Some(BlockOutput::Part(part)) => parts.push(part),
            Some(BlockOutput::Item(item)) => {
                items.extend(speech(role, &mut parts));
                items.push(item);
            }
            None => {}
        }
    }
    items.extend(speech(role, &mut parts));
    if items.is_empty() && !sides.is_silent() {
        let mut parts = vec![text(role, stand_in(role))];
        items.extend(speech(role, &mut parts));
    }
    items
}

fn speech(role: Role, parts: &mut Vec<Box<RawValue>>) -> Option<Box<RawValue>> {
    let content = std::mem::take(parts);
    let role = match role {
        Role::Assistant => "assistant",
        Role::System => "developer",
        Role::User | Role::Tool => "user",
    };
    (!content.is_empty()).then(|| raw(&Speech { role, content }))
}

/// What a block is written as.
enum BlockOutput {
    /// A part of a message item.
    Part(Box<RawValue>),
    /// An item of its own.
    Item(Box<RawValue>),
}

fn piece_of(role: Role, block: &Block) -> Option<BlockOutput> {
    match block {
        Block::Text { text: said } => spoken(said).map(|said| BlockOutput::Part(text(role, said))),
        Block::Image(image) => Some(BlockOutput::Part(raw(&Shape::image(as_shown(image).url())))),
        Block::Call(call) if role == Role::Assistant => Some(BlockOutput::Item(raw(&call_item(call)))),
        Block::Call(call) => Some(BlockOutput::Part(text(role, &foreign_text(call)))),
        Block::Opaque(opaque) if is_part(opaque) => as_it_came(opaque).map(BlockOutput::Part),
        Block::Opaque(opaque) => as_it_came(opaque).map(BlockOutput::Item),
        Block::Thinking { .. } | Block::Result(_) => None,
    }
}

/// Whether something carried is a part of a message: those are named by their direction.
fn is_part(opaque: &Opaque) -> bool {
    opaque.kind.starts_with("input_") || opaque.kind.starts_with("output_")
}

fn text(role: Role, said: &str) -> Box<RawValue> {
    match role {
        Role::Assistant => raw(&Shape::output(said.to_owned())),
        Role::System | Role::User | Role::Tool => raw(&Shape::input(said.to_owned())),
    }
}

fn call_item(call: &Call) -> Item<'_> {
    let (id, name) = (call.id.0.to_string(), call.name.to_string());
    match call.freeform {
        true => Item::custom_call(id, name, &call.input),
        false => Item::function_call(id, name, call.input.to_string()),
    }
}

/// A result, as that of a function.
#[derive(Serialize)]
#[serde(tag = "type", rename = "function_call_output")]
struct ResultItem<'a> {
    call_id: &'a str,
    output: Box<RawValue>,
}

fn answer(result: &ToolResult) -> Box<RawValue> {
    let parts = result.parts.iter().filter_map(|part| match part {
        ResultPart::Text { text: said } => spoken(said).map(|said| text(Role::Tool, said)),
        ResultPart::Image(image) => Some(raw(&Shape::image(as_shown(image).url()))),
        ResultPart::Opaque(opaque) => as_it_came(opaque),
    });
    let parts: Vec<Box<RawValue>> = parts.collect();
    let is_text = result.parts.iter().all(|part| part.as_text().is_some());
    let output = match (parts.is_empty(), is_text) {
        (true, _) => raw(&EMPTY_RESULT),
        (false, true) => raw(&result.text()),
        (false, false) => raw(&parts),
    };
    raw(&ResultItem { call_id: &result.call.0, output })
}
