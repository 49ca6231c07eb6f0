//! OpenAI Responses: a flat list of items. Custom calls stay custom, system notes become developer
//! messages, and reasoning travels with what it led to.

mod carried;
pub(super) mod item;

use super::arrange::{Arrangement, MessageResult, NamedResult, Pair, ReplyPiece, ReplyTurn, UserPiece};
use super::ids::{Ids, Naming};
use super::piece::{self, PlainPiece};
use super::words::SubstituteList;
use super::{
    BETWEEN_TEXTS, EMPTY_REPLY, EMPTY_RESULT, NO_RESULT, NO_USER_MESSAGE, RequestParts, input, raw,
    spoken_system,
};
use crate::protocol::held::ShownPiece;
use crate::validate::{PAIRED_ITEMS, is_blank};
use carried::Carrier;
use epitome_core::Call;
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

pub(super) fn messages(arranged: &Arrangement<'_>, list: &mut SubstituteList) -> Vec<Box<RawValue>> {
    let mut carrier = Carrier::new(NAMING, list);
    let mut all = asked(Vec::new(), &arranged.opening, &mut carrier);
    for step in &arranged.steps {
        let outputs = replied(step, &mut carrier, &mut all);
        all.extend(asked(outputs, &step.after, &mut carrier));
    }
    all.iter().map(raw).collect()
}

/// The outputs, then what the user's side said, each speaker's pieces together.
fn asked<'a>(outputs: Vec<Item<'a>>, said: &[UserPiece<'a>], carrier: &mut Carrier<'_>) -> Vec<Item<'a>> {
    let mut items = outputs;
    for said in piece::said(said) {
        match carrier.keep_said(&said) {
            Some(item) => items.push(item),
            None => said.plain().iter().for_each(|piece| ask(piece, &mut items, carrier)),
        }
    }
    if items.is_empty() {
        item::say(&mut items, "user", ItemPart::input(NO_USER_MESSAGE.to_owned()));
    }
    items
}

fn ask(piece: &PlainPiece<'_>, items: &mut Vec<Item<'_>>, carrier: &mut Carrier<'_>) {
    match piece {
        PlainPiece::Text(text) => item::say(items, "user", ItemPart::input(text.to_string())),
        PlainPiece::Note(note) => item::say(items, "developer", ItemPart::input((*note).to_owned())),
        PlainPiece::Picture(picture) => item::say(items, "user", ItemPart::image(picture.url())),
        PlainPiece::Unreadable(id) => {
            item::say(items, "user", ItemPart::input(carrier.list.say_unreadable(*id)));
        }
        PlainPiece::Opaque(carried) => match carrier.compaction(carried.opaque) {
            Some(item) => items.push(item),
            None => item::say(items, "user", carrier.part(*carried)),
        },
    }
}

/// Appends the items of a reply, and gives the outputs that belong right behind it.
fn replied<'a>(step: &ReplyTurn<'a>, carrier: &mut Carrier<'_>, all: &mut Vec<Item<'a>>) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    let mut outputs = Vec::new();
    let mut kept_to = 0;
    for (at, spoken) in step.reply.iter().enumerate() {
        let held = step.held.get(&at).copied();
        if at < kept_to {
            continue;
        }
        if let Some(piece) = held.filter(|_| !matches!(spoken, ReplyPiece::Call(_)))
            && let Some(item) = carrier.keep(piece)
        {
            items.push(item);
            kept_to = piece.blocks.end;
            continue;
        }
        match spoken {
            ReplyPiece::Text(text) if !is_blank(text) => {
                item::say(&mut items, "assistant", ItemPart::output((*text).to_owned()));
            }
            ReplyPiece::Call(Pair { call, result }) => {
                let answer = (carrier.ids.give(&call.id.0), *result);
                let (call, output) = exchange(call, held, answer, carrier);
                items.push(call);
                outputs.push(output);
            }
            ReplyPiece::Opaque(opaque) => carrier.pass(opaque, step, &mut items, &mut outputs),
            ReplyPiece::Thinking { .. } => carrier.list.leave_out(step.id, "thinking"),
            ReplyPiece::Text(_) => {}
        }
    }
    carrier.drop_idle_reasoning(step.id, &mut items);
    if items.is_empty() {
        item::say(&mut items, "assistant", ItemPart::output(EMPTY_REPLY.to_owned()));
    }
    all.append(&mut items);
    outputs
}

/// A call and its output, each as it came where that can be written.
fn exchange<'a>(
    call: &'a Call,
    held: Option<&ShownPiece>,
    answer: NamedResult<'_>,
    carrier: &mut Carrier<'_>,
) -> (Item<'a>, Item<'a>) {
    let is_same = *call.id.0 == *answer.0 && *call.name == *carrier.ids.name(&call.name);
    let held_output = answer.1.and_then(|result| result.held).filter(|_| is_same);
    let own = if call.freeform { "custom_tool_call" } else { "function_call" };
    let is_paired = |call: &str| {
        let output = held_output.map(ShownPiece::kind);
        PAIRED_ITEMS.iter().any(|(made, answered, ..)| *made == call && output == Some(answered))
    };
    let held = held.filter(|piece| is_same && (piece.kind() == own || is_paired(piece.kind())));
    let kept = held.and_then(|piece| Some((piece.kind(), carrier.keep(piece)?)));
    let (kind, item) = match kept {
        Some((kind, item)) => (kind, item),
        None => (own, call_item(call, &answer.0, &carrier.ids)),
    };
    let output = held_output.filter(|_| is_paired(kind)).and_then(|piece| carrier.keep(piece));
    (item, output.unwrap_or_else(|| output_item(call, answer, carrier)))
}

fn call_item<'a>(call: &'a Call, id: &str, ids: &Ids) -> Item<'a> {
    let (call_id, name) = (id.to_owned(), ids.name(&call.name));
    match call.freeform {
        true => Item::custom_call(call_id, name, &call.input),
        false => Item::function_call(call_id, name, input::string(call)),
    }
}

fn output_item<'a>(call: &Call, (id, answer): NamedResult<'_>, carrier: &mut Carrier<'_>) -> Item<'a> {
    let output = answer.map_or_else(|| Output::Text(NO_RESULT.into()), |answer| output_of(answer, carrier));
    if call.freeform { Item::custom_output(id, output) } else { Item::function_output(id, output) }
}

/// One string where it is all text, else a list of parts.
fn output_of(answer: MessageResult<'_>, carrier: &mut Carrier<'_>) -> Output {
    let mut parts = Vec::new();
    for piece in piece::answered(answer) {
        match piece {
            PlainPiece::Text(text) => parts.push(ItemPart::input(text.into_owned())),
            PlainPiece::Picture(picture) => parts.push(ItemPart::image(picture.url())),
            PlainPiece::Unreadable(id) => parts.push(ItemPart::input(carrier.list.say_unreadable(id))),
            PlainPiece::Opaque(carried) => parts.push(carrier.part(carried)),
            PlainPiece::Note(_) => {}
        }
    }
    if parts.is_empty() {
        return Output::Text(EMPTY_RESULT.into());
    }
    Output::of(parts)
}
