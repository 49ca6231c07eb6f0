//! Anthropic Messages: one user message for each run of the user's side, results first; server tools
//! and signed thinking inside the replies.

pub(super) mod block;
mod server;

use super::arrange::{
    Arrangement, CarriedBlock, MessageResult, NamedResult, Pair, ReplyPiece, ReplyTurn, UserPiece,
};
use super::ids::{Ids, Naming};
use super::piece::{self, PlainPiece, note_text};
use super::sealed::SealedBlock;
use super::words::{SubstituteList, is_reasoning};
use super::{EMPTY_REPLY, EMPTY_RESULT, NO_RESULT, NO_USER_MESSAGE, RequestParts, input, raw, spoken_system};
use crate::protocol::held::ShownPiece;
use crate::validate::{is_base64, is_blank};
use block::{AnthropicBlock, AnthropicContent, image};
use serde::Serialize;
use serde_json::value::RawValue;

/// Ids within 64 characters also pass Bedrock, which serves the same models.
pub(super) const NAMING: Naming = Naming { id_bytes_max: 64, is_plain: true, name_bytes_max: 128 };

#[derive(Serialize)]
pub(super) struct MessagesRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [Box<RawValue>],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<AnthropicBlock<'a>>,
    messages: &'a [Box<RawValue>],
}

pub(super) fn frame<'a>(
    parts: &RequestParts<'a>,
    tools: &'a [Box<RawValue>],
    messages: &'a [Box<RawValue>],
) -> MessagesRequest<'a> {
    let system = spoken_system(parts).map(AnthropicBlock::text).collect();
    MessagesRequest { model: parts.model, max_tokens: parts.max_tokens, tools, system, messages }
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: &'static str,
    content: AnthropicContent<'a>,
}

pub(super) fn messages(arranged: &Arrangement<'_>, list: &mut SubstituteList) -> Vec<Box<RawValue>> {
    let mut ids = Ids::new(NAMING);
    let mut all = vec![raw(&asked(&[], &arranged.opening, list))];
    for step in &arranged.steps {
        let (content, calls) = replied(step, &mut ids, list);
        all.push(raw(&AnthropicMessage { role: "assistant", content: AnthropicContent::of(content) }));
        all.push(raw(&asked(&calls, &step.after, list)));
    }
    all
}

fn asked<'a>(
    calls: &[NamedResult<'a>],
    said: &[UserPiece<'a>],
    list: &mut SubstituteList,
) -> AnthropicMessage<'a> {
    let mut pictures = Vec::new();
    let mut content: Vec<AnthropicBlock<'a>> =
        calls.iter().map(|(id, answer)| result_block(id, *answer, &mut pictures, list)).collect();
    content.append(&mut pictures);
    for said in piece::said(said) {
        match said.kept() {
            Some(raw) => content.push(AnthropicBlock::raw(raw)),
            None => {
                content.extend(said.plain().iter().map(|piece| said_block(piece, server::is_asked, list)))
            }
        }
    }
    if content.is_empty() {
        content.push(AnthropicBlock::text(NO_USER_MESSAGE));
    }
    AnthropicMessage { role: "user", content: AnthropicContent::of(content) }
}

/// A piece as a block; in words where it is one that may not stand here.
fn said_block<'a>(
    piece: &PlainPiece<'a>,
    may_stand: fn(&SealedBlock) -> bool,
    list: &mut SubstituteList,
) -> AnthropicBlock<'a> {
    match piece {
        PlainPiece::Text(text) => AnthropicBlock::text(text.clone()),
        PlainPiece::Note(note) => AnthropicBlock::text(note_text(note)),
        PlainPiece::Picture(picture) => image(*picture),
        PlainPiece::Unreadable(id) => AnthropicBlock::text(list.say_unreadable(*id)),
        PlainPiece::Opaque(CarriedBlock { id, opaque }) => match SealedBlock::of(opaque).filter(may_stand) {
            Some(sealed) => AnthropicBlock::raw(sealed.raw),
            None => AnthropicBlock::text(list.say(*id, opaque)),
        },
    }
}

/// A result. An error may hold text only, so its pictures go behind the results.
fn result_block<'a>(
    id: &str,
    answer: Option<MessageResult<'a>>,
    pictures: &mut Vec<AnthropicBlock<'a>>,
    list: &mut SubstituteList,
) -> AnthropicBlock<'a> {
    let Some(answer) = answer else {
        return AnthropicBlock::result(id, vec![AnthropicBlock::text(NO_RESULT)], true);
    };
    if let Some(raw) = answer.held.filter(|_| *answer.result.call.0 == *id).and_then(ShownPiece::keep) {
        return AnthropicBlock::raw(raw);
    }
    let is_error = answer.result.is_error;
    let mut content = Vec::new();
    for piece in piece::answered(answer) {
        match &piece {
            PlainPiece::Picture(picture) if is_error => pictures.push(image(*picture)),
            PlainPiece::Opaque(CarriedBlock { id, opaque }) if is_error => {
                content.push(AnthropicBlock::text(list.say(*id, opaque)));
            }
            PlainPiece::Text(_)
            | PlainPiece::Note(_)
            | PlainPiece::Picture(_)
            | PlainPiece::Unreadable(_)
            | PlainPiece::Opaque(_) => content.push(said_block(&piece, server::is_answered, list)),
        }
    }
    if content.is_empty() {
        content.push(AnthropicBlock::text(EMPTY_RESULT));
    }
    AnthropicBlock::result(id, content, is_error)
}

/// The blocks of a reply, and its calls in order.
fn replied<'a>(
    step: &ReplyTurn<'a>,
    ids: &mut Ids,
    list: &mut SubstituteList,
) -> (Vec<AnthropicBlock<'a>>, Vec<NamedResult<'a>>) {
    let mut served = server::kept(&step.reply, ids);
    let mut content: Vec<AnthropicBlock<'a>> = Vec::new();
    let mut calls = Vec::new();
    for (at, spoken) in step.reply.iter().enumerate() {
        let held = step.held.get(&at).copied();
        match spoken {
            ReplyPiece::Text(text) => content.extend(match held.and_then(ShownPiece::keep) {
                Some(raw) => Some(AnthropicBlock::raw(raw)),
                None => (!is_blank(text)).then(|| AnthropicBlock::text(*text)),
            }),
            ReplyPiece::Thinking { text, signature, redacted } => {
                let kept = held.and_then(ShownPiece::keep).map(AnthropicBlock::RawThinking);
                match kept.or_else(|| thinking(text, *signature, *redacted)) {
                    Some(block) => content.push(block),
                    None => list.leave_out(step.id, "thinking"),
                }
            }
            ReplyPiece::Call(Pair { call, result }) => {
                let (id, name) = (ids.give(&call.id.0), ids.name(&call.name));
                let is_same = *call.id.0 == *id && *call.name == *name;
                content.push(match held.filter(|_| is_same).and_then(ShownPiece::keep) {
                    Some(raw) => AnthropicBlock::raw(raw),
                    None => AnthropicBlock::call(&id, name, input::object(call)),
                });
                calls.push((id, *result));
            }
            ReplyPiece::Opaque(opaque) if is_reasoning(&opaque.kind) => list.leave_out(step.id, &opaque.kind),
            ReplyPiece::Opaque(opaque) => {
                let kept = served.remove(&at).or_else(|| held.and_then(ShownPiece::keep));
                content.push(match kept {
                    Some(raw) => AnthropicBlock::raw(raw),
                    None => AnthropicBlock::text(list.say(step.id, opaque)),
                });
            }
        }
    }
    if content.iter().all(AnthropicBlock::is_thinking) {
        content.push(AnthropicBlock::text(EMPTY_REPLY));
    }
    // A reply may not end in thinking: what it led to was cut off.
    while content.pop_if(|last| last.is_thinking()).is_some() {
        list.leave_out(step.id, "thinking");
    }
    (content, calls)
}

/// Thinking that Anthropic signed, whole; any other is refused.
pub(super) fn thinking<'a>(
    text: &'a str,
    signature: Option<&'a str>,
    redacted: bool,
) -> Option<AnthropicBlock<'a>> {
    // Other providers' encrypted reasoning is base64 as well, and always begins with its version.
    let seal = signature.filter(|seal| is_base64(seal) && !seal.starts_with("gAAAA"))?;
    Some(if redacted { AnthropicBlock::redacted(seal) } else { AnthropicBlock::thinking(text, seal) })
}
