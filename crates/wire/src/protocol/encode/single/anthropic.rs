//! A message as one element of Anthropic Messages.

use super::super::anthropic::block::{AnthropicBlock as Shape, image};
use super::super::piece::{foreign_text, note_text};
use super::super::{EMPTY_RESULT, input};
use super::{Sides, as_it_came, as_shown, raw, spoken, stand_in};
use epitome_core::{Block, Message, ResultPart, Role, ToolResult};
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
struct Element<'a> {
    role: &'static str,
    content: Vec<Shape<'a>>,
}

pub(super) fn elements(message: &Message) -> Vec<Box<RawValue>> {
    let sides = Sides::of(message);
    let mut answers = answers(&sides.results);
    let mut said: Vec<Shape<'_>> = sides.said.iter().filter_map(|block| shape(message.role, block)).collect();
    if said.is_empty() && !sides.is_silent() {
        said.push(Shape::text(stand_in(message.role)));
    }
    if message.role == Role::Assistant {
        let reply = raw(&Element { role: "assistant", content: said });
        let after = (!answers.is_empty()).then(|| raw(&Element { role: "user", content: answers }));
        return [Some(reply), after].into_iter().flatten().collect();
    }
    answers.append(&mut said);
    vec![raw(&Element { role: "user", content: answers })]
}

fn shape(role: Role, block: &Block) -> Option<Shape<'_>> {
    match block {
        Block::Text { text } if role == Role::System => spoken(text).map(|text| Shape::text(note_text(text))),
        Block::Text { text } => spoken(text).map(Shape::text),
        Block::Thinking { text, signature: Some(seal), redacted: false } => Some(Shape::thinking(text, seal)),
        Block::Thinking { signature: Some(seal), redacted: true, .. } => Some(Shape::redacted(seal)),
        Block::Call(call) if role == Role::Assistant => {
            Some(Shape::call(&call.id.0, call.name.to_string(), input::object(call)))
        }
        Block::Call(call) => Some(Shape::text(foreign_text(call))),
        Block::Image(picture) => Some(image(as_shown(picture))),
        Block::Opaque(opaque) => as_it_came(opaque).map(Shape::raw),
        Block::Thinking { signature: None, .. } | Block::Result(_) => None,
    }
}

/// The results, and behind them the pictures of those that failed: an error may hold text only.
fn answers<'a>(results: &[&'a ToolResult]) -> Vec<Shape<'a>> {
    let mut pictures = Vec::new();
    let mut all: Vec<Shape<'a>> = results.iter().map(|result| answer(result, &mut pictures)).collect();
    all.append(&mut pictures);
    all
}

fn answer<'a>(result: &'a ToolResult, pictures: &mut Vec<Shape<'a>>) -> Shape<'a> {
    let mut content = Vec::new();
    for part in &result.parts {
        match part {
            ResultPart::Text { text } => content.extend(spoken(text).map(Shape::text)),
            ResultPart::Image(picture) if result.is_error => pictures.push(image(as_shown(picture))),
            ResultPart::Image(picture) => content.push(image(as_shown(picture))),
            ResultPart::Opaque(_) if result.is_error => {}
            ResultPart::Opaque(opaque) => content.extend(as_it_came(opaque).map(Shape::raw)),
        }
    }
    if content.is_empty() {
        content.push(Shape::text(EMPTY_RESULT));
    }
    Shape::result(&result.call.0, content, result.is_error)
}
