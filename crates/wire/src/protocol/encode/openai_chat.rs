//! OpenAI Chat Completions, in the order the strictest chat templates take: one system message first,
//! user and assistant in turn, tool messages right behind their calls.

use super::arrange::{
    Arrangement, CarriedBlock, MessageResult, NamedResult, Pair, ReplyPiece, ReplyTurn, UserPiece,
};
use super::ids::{Ids, Naming};
use super::piece::{self, PlainPiece, SaidPiece, note_text};
use super::rest::Rest;
use super::sealed::SealedBlock;
use super::words::{SubstituteList, is_reasoning};
use super::{
    BETWEEN_TEXTS, EMPTY_REPLY, EMPTY_RESULT, NO_RESULT, NO_USER_MESSAGE, RequestParts, input, raw,
    spoken_system,
};
use crate::protocol::held::ShownPiece;
use crate::validate::is_blank;
use serde::Serialize;
use serde_json::value::RawValue;

/// OpenAI's limits.
pub(super) const NAMING: Naming = Naming { id_bytes_max: 40, is_plain: false, name_bytes_max: 64 };

#[derive(Serialize)]
pub(super) struct ChatRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [Box<RawValue>],
    messages: &'a [Box<RawValue>],
}

pub(super) fn frame<'a>(
    parts: &RequestParts<'a>,
    rest: &Rest<'a>,
    tools: &'a [Box<RawValue>],
    messages: &'a [Box<RawValue>],
) -> ChatRequest<'a> {
    // The newer name of the same limit: reasoning models take only it, and nobody takes both.
    let is_limited = rest.has("max_completion_tokens");
    ChatRequest { model: parts.model, max_tokens: parts.max_tokens.filter(|_| !is_limited), tools, messages }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum ChatMessage {
    System {
        content: String,
    },
    User {
        content: MessageContent,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum MessageContent {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum ContentPart {
    Own(ChatPart),
    Raw(Box<RawValue>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatPart {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

impl ContentPart {
    fn text(text: String) -> Self {
        Self::Own(ChatPart::Text { text })
    }
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct ToolCall {
    id: String,
    function: ChatFunction,
}

#[derive(Serialize)]
struct ChatFunction {
    name: String,
    arguments: String,
}

pub(super) fn messages(
    parts: &RequestParts<'_>,
    arranged: &Arrangement<'_>,
    list: &mut SubstituteList,
) -> Vec<Box<RawValue>> {
    let mut ids = Ids::new(NAMING);
    let (system, opening) = split_system(parts, &arranged.opening);
    let mut all: Vec<Box<RawValue>> = system.iter().map(raw).collect();
    all.extend(asked(&[], opening, list));
    for step in &arranged.steps {
        let (reply, calls) = replied(step, &mut ids, list);
        all.push(reply);
        all.extend(asked(&calls, &step.after, list));
    }
    all
}

/// The system message, with the notes that open the conversation, and what comes after them.
fn split_system<'s, 'a>(
    parts: &RequestParts<'_>,
    opening: &'s [UserPiece<'a>],
) -> (Option<ChatMessage>, &'s [UserPiece<'a>]) {
    let notes = opening.iter().map_while(|said| match said {
        UserPiece::Note(note) => Some(*note),
        UserPiece::Text(_)
        | UserPiece::Image { .. }
        | UserPiece::Opaque(_)
        | UserPiece::Orphan(_)
        | UserPiece::Foreign(_)
        | UserPiece::Held { .. } => None,
    });
    let notes: Vec<&str> = notes.collect();
    let spoken = notes.iter().copied().filter(|note| !is_blank(note));
    let texts: Vec<&str> = spoken_system(parts).chain(spoken).collect();
    let system = (!texts.is_empty()).then(|| ChatMessage::System { content: texts.join(BETWEEN_TEXTS) });
    (system, &opening[notes.len()..])
}

/// The tool messages, then one user message where there is something to say or nothing else is said.
fn asked(calls: &[NamedResult<'_>], said: &[UserPiece<'_>], list: &mut SubstituteList) -> Vec<Box<RawValue>> {
    let mut parts = Vec::new();
    let mut all: Vec<Box<RawValue>> =
        calls.iter().map(|(id, answer)| tool_message(id, *answer, &mut parts, list)).collect();
    let said = piece::said(said);
    // User and assistant speak in turn, so a message that is not alone becomes one with its neighbours.
    if let ([alone], true) = (&said[..], parts.is_empty())
        && let Some(raw) = alone.kept()
    {
        all.push(raw);
        return all;
    }
    parts.extend(said.into_iter().flat_map(SaidPiece::plain).map(|piece| part_of(&piece, list)));
    if parts.is_empty() && all.is_empty() {
        parts.push(ContentPart::text(NO_USER_MESSAGE.to_owned()));
    }
    if !parts.is_empty() {
        all.push(raw(&ChatMessage::User { content: content(parts) }));
    }
    all
}

/// A piece as a part of a user message; in words where it is one that may not stand there.
fn part_of(piece: &PlainPiece<'_>, list: &mut SubstituteList) -> ContentPart {
    match piece {
        PlainPiece::Text(text) => ContentPart::text(text.to_string()),
        PlainPiece::Note(note) => ContentPart::text(note_text(note)),
        PlainPiece::Picture(picture) => {
            ContentPart::Own(ChatPart::ImageUrl { image_url: ImageUrl { url: picture.url() } })
        }
        PlainPiece::Unreadable(id) => ContentPart::text(list.say_unreadable(*id)),
        PlainPiece::Opaque(CarriedBlock { id, opaque }) => {
            let is_part = |sealed: &SealedBlock| matches!(sealed.kind(), "input_audio" | "file");
            match SealedBlock::of(opaque).filter(is_part) {
                Some(sealed) => ContentPart::Raw(sealed.raw),
                None => ContentPart::text(list.say(*id, opaque)),
            }
        }
    }
}

/// One string where it is all text: templates that take no lists take strings.
fn content(parts: Vec<ContentPart>) -> MessageContent {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            ContentPart::Own(ChatPart::Text { text }) => Some(text.as_str()),
            ContentPart::Own(ChatPart::ImageUrl { .. }) | ContentPart::Raw(_) => None,
        })
        .collect();
    match texts {
        Some(texts) => MessageContent::Text(texts.join(BETWEEN_TEXTS)),
        None => MessageContent::Parts(parts),
    }
}

/// A tool message. It can hold text only, so its pictures go to the user message behind it.
fn tool_message(
    id: &str,
    answer: Option<MessageResult<'_>>,
    pictures: &mut Vec<ContentPart>,
    list: &mut SubstituteList,
) -> Box<RawValue> {
    let held = answer.filter(|answer| *answer.result.call.0 == *id).and_then(|answer| answer.held);
    if let Some(raw) = held.and_then(ShownPiece::keep) {
        return raw;
    }
    let mut texts: Vec<String> = Vec::new();
    for piece in answer.map(piece::answered).unwrap_or_default() {
        match &piece {
            PlainPiece::Text(text) => texts.push(text.to_string()),
            PlainPiece::Picture(_) => {
                texts.push("[image; it follows in the next user message]".into());
                pictures.push(ContentPart::text(format!("[image from the result of call {id}]")));
                pictures.push(part_of(&piece, list));
            }
            PlainPiece::Unreadable(id) => texts.push(list.say_unreadable(*id)),
            PlainPiece::Opaque(CarriedBlock { id, opaque }) => texts.push(list.say(*id, opaque)),
            PlainPiece::Note(_) => {}
        }
    }
    let empty = if answer.is_some() { EMPTY_RESULT } else { NO_RESULT };
    let content = if texts.is_empty() { empty.to_owned() } else { texts.join("\n") };
    raw(&ChatMessage::Tool { tool_call_id: id.to_owned(), content })
}

/// A reply as it stands in the transcript, where none of its calls has to have another id.
fn replied_as_held<'a>(step: &ReplyTurn<'a>, ids: &mut Ids) -> Option<(Box<RawValue>, Vec<NamedResult<'a>>)> {
    let piece = step.held.get(&0).filter(|piece| piece.blocks.len() == step.reply.len())?;
    let calls: Vec<&Pair<'a>> = step.reply.iter().filter_map(ReplyPiece::as_call).collect();
    let is_same =
        |pair: &&Pair<'a>| ids.is_free(&pair.call.id.0) && *ids.name(&pair.call.name) == *pair.call.name;
    if !calls.iter().all(is_same) {
        return None;
    }
    let answers = calls.iter().map(|pair| (ids.give(&pair.call.id.0), pair.result)).collect();
    Some((piece.keep()?, answers))
}

fn replied<'a>(
    step: &ReplyTurn<'a>,
    ids: &mut Ids,
    list: &mut SubstituteList,
) -> (Box<RawValue>, Vec<NamedResult<'a>>) {
    if let Some(kept) = replied_as_held(step, ids) {
        return kept;
    }
    let (mut texts, mut tool_calls, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for spoken in &step.reply {
        match spoken {
            ReplyPiece::Text(text) if !is_blank(text) => texts.push((*text).to_owned()),
            ReplyPiece::Call(Pair { call, result }) => {
                let id = ids.give(&call.id.0);
                let function = ChatFunction { name: ids.name(&call.name), arguments: input::string(call) };
                tool_calls.push(ToolCall { id: id.clone(), function });
                answers.push((id, *result));
            }
            // Reasoning has no place in a reply, and words for it there would be taken for the model's own.
            ReplyPiece::Thinking { .. } => list.leave_out(step.id, "thinking"),
            ReplyPiece::Opaque(opaque) if is_reasoning(&opaque.kind) => list.leave_out(step.id, &opaque.kind),
            ReplyPiece::Opaque(opaque) => texts.push(list.say(step.id, opaque)),
            ReplyPiece::Text(_) => {}
        }
    }
    let content = match (texts.is_empty(), tool_calls.is_empty()) {
        (false, _) => Some(texts.join(BETWEEN_TEXTS)),
        (true, false) => None,
        (true, true) => Some(EMPTY_REPLY.to_owned()),
    };
    (raw(&ChatMessage::Assistant { content, tool_calls }), answers)
}
