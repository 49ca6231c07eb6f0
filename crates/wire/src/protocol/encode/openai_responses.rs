//! OpenAI Responses: a flat list of items. Custom calls stay custom, system notes become developer
//! messages, and reasoning travels with what it led to.

mod carried;
pub(super) mod item;

use super::arrange::{Arrangement, NamedResult, Pair, ReplyPiece, ReplyTurn, UserPiece, remnant};
use super::ids::{Ids, Naming};
use super::piece::{self, PlainPiece};
use super::{BETWEEN_TEXTS, EMPTY_RESULT, NO_RESULT, RequestParts, input, raw, spoken_system};
use crate::validate::is_blank;
use carried::Carrier;
use epitome_core::{Call, ToolResult};
use item::{Item, ItemPart, Output};
use serde::Serialize;
use serde_json::value::RawValue;

/// OpenAI's limits.
pub(super) const NAMING: Naming = Naming { id_bytes_max: 64, is_plain: false, name_bytes_max: 64 };

#[derive(Serialize)]
pub(super) struct ResponsesRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [Box<RawValue>],
    input: &'a [Box<RawValue>],
}

pub(super) fn frame<'a>(
    parts: &RequestParts<'a>,
    tools: &'a [Box<RawValue>],
    input: &'a [Box<RawValue>],
) -> ResponsesRequest<'a> {
    let system: Vec<&str> = spoken_system(parts).collect();
    let instructions = (!system.is_empty()).then(|| system.join(BETWEEN_TEXTS));
    ResponsesRequest { model: parts.model, max_output_tokens: parts.max_tokens, instructions, tools, input }
}

pub(super) fn messages(arranged: &Arrangement<'_>) -> Vec<Box<RawValue>> {
    let mut carrier = Carrier::new(NAMING);
    let mut all = asked(Vec::new(), &arranged.opening, &mut carrier);
    for step in &arranged.steps {
        let outputs = replied(step, &mut carrier, &mut all);
        all.extend(asked(outputs, &step.after, &mut carrier));
    }
    all.iter().map(raw).collect()
}

/// The outputs, then what the user's side said, each speaker's pieces together.
fn asked<'a>(outputs: Vec<Item<'a>>, said: &[UserPiece<'a>], carrier: &mut Carrier) -> Vec<Item<'a>> {
    let mut items = outputs;
    let pieces = piece::said(said);
    for piece in &pieces {
        match piece {
            PlainPiece::Text(text) => item::say(&mut items, "user", ItemPart::input(text.to_string())),
            PlainPiece::Note(note) => item::say(&mut items, "developer", ItemPart::input((*note).to_owned())),
            PlainPiece::Picture(picture) => item::say(&mut items, "user", ItemPart::image(picture.url())),
            PlainPiece::Opaque(opaque) => items.extend(carrier.compaction(opaque)),
        }
    }
    if items.is_empty() {
        item::say(&mut items, "user", ItemPart::input(piece::absent(&pieces)));
    }
    items
}

/// Appends the items of a reply, and gives the outputs that belong right behind it.
fn replied<'a>(step: &ReplyTurn<'a>, carrier: &mut Carrier, all: &mut Vec<Item<'a>>) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    let mut outputs = Vec::new();
    for spoken in &step.reply {
        match spoken {
            ReplyPiece::Text(text) if !is_blank(text) => {
                item::say(&mut items, "assistant", ItemPart::output((*text).to_owned()));
            }
            ReplyPiece::Call(Pair { call, result }) => {
                let answer = (carrier.ids.give(&call.id.0), *result);
                items.push(call_item(call, &answer.0, &carrier.ids));
                outputs.push(output_item(call, answer));
            }
            ReplyPiece::Opaque(opaque) => carrier.pass(opaque, &step.after, &mut items, &mut outputs),
            ReplyPiece::Text(_) | ReplyPiece::Thinking { .. } => {}
        }
    }
    carried::drop_idle_reasoning(&mut items);
    if items.is_empty() {
        item::say(&mut items, "assistant", ItemPart::output(remnant(&step.reply)));
    }
    all.append(&mut items);
    outputs
}

fn call_item<'a>(call: &'a Call, id: &str, ids: &Ids) -> Item<'a> {
    let (call_id, name) = (id.to_owned(), ids.name(&call.name));
    match call.freeform {
        true => Item::custom_call(call_id, name, &call.input),
        false => Item::function_call(call_id, name, input::string(call)),
    }
}

fn output_item<'a>(call: &Call, (id, result): NamedResult<'_>) -> Item<'a> {
    let output = result.map_or_else(|| Output::Text(NO_RESULT.into()), output_of);
    if call.freeform { Item::custom_output(id, output) } else { Item::function_output(id, output) }
}

/// One string where it is all text, else a list of parts.
fn output_of(result: &ToolResult) -> Output {
    let mut parts = Vec::new();
    for piece in piece::answered(result) {
        match piece {
            PlainPiece::Text(text) => parts.push(ItemPart::input(text.into_owned())),
            PlainPiece::Picture(picture) => parts.push(ItemPart::image(picture.url())),
            PlainPiece::Note(_) | PlainPiece::Opaque(_) => {}
        }
    }
    if parts.is_empty() {
        return Output::Text(EMPTY_RESULT.into());
    }
    Output::of(parts)
}
