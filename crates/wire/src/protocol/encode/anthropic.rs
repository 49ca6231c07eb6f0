//! Anthropic Messages: one user message for each run of the user's side, results first; server tools
//! and signed thinking inside the replies.

pub(super) mod block;
mod server;

use super::arrange::{Arrangement, NamedResult, Pair, ReplyPiece, UserPiece, remnant};
use super::ids::{Ids, Naming};
use super::piece::{self, PlainPiece, note_text};
use super::sealed::SealedBlock;
use super::{EMPTY_RESULT, NO_RESULT, RequestParts, input, raw, spoken_system};
use crate::validate::{is_base64, is_blank};
use block::{AnthropicBlock, image};
use epitome_core::ToolResult;
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
    content: Vec<AnthropicBlock<'a>>,
}

pub(super) fn messages(arranged: &Arrangement<'_>) -> Vec<Box<RawValue>> {
    let mut ids = Ids::new(NAMING);
    let mut all = vec![raw(&asked(&[], &arranged.opening))];
    for step in &arranged.steps {
        let (content, calls) = replied(&step.reply, &mut ids);
        all.push(raw(&AnthropicMessage { role: "assistant", content }));
        all.push(raw(&asked(&calls, &step.after)));
    }
    all
}

fn asked<'a>(calls: &[NamedResult<'a>], said: &[UserPiece<'a>]) -> AnthropicMessage<'a> {
    let mut pictures = Vec::new();
    let mut content: Vec<AnthropicBlock<'a>> =
        calls.iter().map(|(id, result)| result_block(id, *result, &mut pictures)).collect();
    content.append(&mut pictures);
    let pieces = piece::said(said);
    content.extend(pieces.iter().filter_map(said_block));
    if content.is_empty() {
        content.push(AnthropicBlock::text(piece::absent(&pieces)));
    }
    AnthropicMessage { role: "user", content }
}

fn said_block<'a>(piece: &PlainPiece<'a>) -> Option<AnthropicBlock<'a>> {
    match piece {
        PlainPiece::Text(text) => Some(AnthropicBlock::text(text.clone())),
        PlainPiece::Note(note) => Some(AnthropicBlock::text(note_text(note))),
        PlainPiece::Picture(picture) => Some(image(*picture)),
        PlainPiece::Opaque(opaque) => {
            SealedBlock::of(opaque).filter(server::is_document).map(|it| AnthropicBlock::raw(it.raw))
        }
    }
}

/// A result. An error may hold text only, so its pictures go behind the results.
fn result_block<'a>(
    id: &str,
    result: Option<&'a ToolResult>,
    pictures: &mut Vec<AnthropicBlock<'a>>,
) -> AnthropicBlock<'a> {
    let Some(result) = result else {
        return AnthropicBlock::result(id, vec![AnthropicBlock::text(NO_RESULT)], true);
    };
    let mut content = Vec::new();
    for piece in piece::answered(result) {
        match &piece {
            PlainPiece::Picture(picture) if result.is_error => pictures.push(image(*picture)),
            PlainPiece::Opaque(_) if result.is_error => {}
            PlainPiece::Text(_) | PlainPiece::Note(_) | PlainPiece::Picture(_) | PlainPiece::Opaque(_) => {
                content.extend(said_block(&piece));
            }
        }
    }
    if content.is_empty() {
        content.push(AnthropicBlock::text(EMPTY_RESULT));
    }
    AnthropicBlock::result(id, content, result.is_error)
}

/// The blocks of a reply, and its calls in order.
fn replied<'a>(reply: &[ReplyPiece<'a>], ids: &mut Ids) -> (Vec<AnthropicBlock<'a>>, Vec<NamedResult<'a>>) {
    let mut served = server::kept(reply, ids);
    let mut content: Vec<AnthropicBlock<'a>> = Vec::new();
    let mut calls = Vec::new();
    for (at, spoken) in reply.iter().enumerate() {
        match spoken {
            ReplyPiece::Text(text) => content.extend((!is_blank(text)).then(|| AnthropicBlock::text(*text))),
            ReplyPiece::Thinking { text, signature, redacted } => {
                let stands_first = content.iter().all(AnthropicBlock::is_thinking);
                content.extend(thinking(text, *signature, *redacted).filter(|_| stands_first));
            }
            ReplyPiece::Call(Pair { call, result }) => {
                let id = ids.give(&call.id.0);
                content.push(AnthropicBlock::call(&id, ids.name(&call.name), input::object(call)));
                calls.push((id, *result));
            }
            ReplyPiece::Opaque(_) => content.extend(served.remove(&at).map(AnthropicBlock::raw)),
        }
    }
    if content.is_empty() || content.iter().all(AnthropicBlock::is_thinking) {
        content.push(AnthropicBlock::text(remnant(reply)));
    }
    (content, calls)
}

/// Thinking that Anthropic signed, whole; any other is refused.
fn thinking<'a>(text: &'a str, signature: Option<&'a str>, redacted: bool) -> Option<AnthropicBlock<'a>> {
    // Other providers' encrypted reasoning is base64 as well, and always begins with its version.
    let seal = signature.filter(|seal| is_base64(seal) && !seal.starts_with("gAAAA"))?;
    Some(if redacted { AnthropicBlock::redacted(seal) } else { AnthropicBlock::thinking(text, seal) })
}
