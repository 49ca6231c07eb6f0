//! OpenAI Chat Completions, in the order the strictest chat templates take: one system message first,
//! user and assistant in turn, tool messages right behind their calls.

use super::arrange::{Arrangement, NamedResult, Pair, ReplyPiece, UserPiece, remnant};
use super::ids::{Ids, Naming};
use super::piece::{self, PlainPiece, note_text};
use super::rest::Rest;
use super::{BETWEEN_TEXTS, EMPTY_RESULT, NO_RESULT, RequestParts, input, raw, spoken_system};
use crate::validate::is_blank;
use epitome_core::ToolResult;
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
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
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

pub(super) fn messages(parts: &RequestParts<'_>, arranged: &Arrangement<'_>) -> Vec<Box<RawValue>> {
    let mut ids = Ids::new(NAMING);
    let (system, opening) = split_system(parts, &arranged.opening);
    let mut all: Vec<ChatMessage> = system.into_iter().collect();
    all.extend(asked(&[], opening));
    for step in &arranged.steps {
        let (reply, calls) = replied(&step.reply, &mut ids);
        all.push(reply);
        all.extend(asked(&calls, &step.after));
    }
    all.iter().map(raw).collect()
}

/// The system message, with the notes that open the conversation, and what comes after them.
fn split_system<'s, 'a>(
    parts: &RequestParts<'_>,
    opening: &'s [UserPiece<'a>],
) -> (Option<ChatMessage>, &'s [UserPiece<'a>]) {
    let notes = opening.iter().map_while(|said| match said {
        UserPiece::Note(note) => Some(*note),
        UserPiece::Text(_)
        | UserPiece::Image(_)
        | UserPiece::Opaque(_)
        | UserPiece::Orphan(_)
        | UserPiece::Foreign(_) => None,
    });
    let notes: Vec<&str> = notes.collect();
    let spoken = notes.iter().copied().filter(|note| !is_blank(note));
    let texts: Vec<&str> = spoken_system(parts).chain(spoken).collect();
    let system = (!texts.is_empty()).then(|| ChatMessage::System { content: texts.join(BETWEEN_TEXTS) });
    (system, &opening[notes.len()..])
}

/// The tool messages, then one user message where there is something to say or nothing else is said.
fn asked(calls: &[NamedResult<'_>], said: &[UserPiece<'_>]) -> Vec<ChatMessage> {
    let mut parts = Vec::new();
    let mut all: Vec<ChatMessage> =
        calls.iter().map(|(id, result)| tool_message(id, *result, &mut parts)).collect();
    let pieces = piece::said(said);
    parts.extend(pieces.iter().filter_map(part_of));
    if parts.is_empty() && all.is_empty() {
        parts.push(ContentPart::Text { text: piece::absent(&pieces) });
    }
    if !parts.is_empty() {
        all.push(ChatMessage::User { content: content(parts) });
    }
    all
}

fn part_of(piece: &PlainPiece<'_>) -> Option<ContentPart> {
    match piece {
        PlainPiece::Text(text) => Some(ContentPart::Text { text: text.to_string() }),
        PlainPiece::Note(note) => Some(ContentPart::Text { text: note_text(note) }),
        PlainPiece::Picture(picture) => {
            Some(ContentPart::ImageUrl { image_url: ImageUrl { url: picture.url() } })
        }
        PlainPiece::Opaque(_) => None,
    }
}

/// One string where it is all text: templates that take no lists take strings.
fn content(parts: Vec<ContentPart>) -> MessageContent {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            ContentPart::Text { text } => Some(text.as_str()),
            ContentPart::ImageUrl { .. } => None,
        })
        .collect();
    match texts {
        Some(texts) => MessageContent::Text(texts.join(BETWEEN_TEXTS)),
        None => MessageContent::Parts(parts),
    }
}

/// A tool message. It can hold text only, so its pictures go to the user message behind it.
fn tool_message(id: &str, result: Option<&ToolResult>, pictures: &mut Vec<ContentPart>) -> ChatMessage {
    let pieces = result.map(piece::answered).unwrap_or_default();
    let mut texts: Vec<String> = Vec::new();
    for piece in &pieces {
        match piece {
            PlainPiece::Text(text) => texts.push(text.to_string()),
            PlainPiece::Picture(_) => {
                texts.push("[image; it follows in the next user message]".into());
                pictures.push(ContentPart::Text { text: format!("[image from the result of call {id}]") });
                pictures.extend(part_of(piece));
            }
            PlainPiece::Note(_) | PlainPiece::Opaque(_) => {}
        }
    }
    let empty = if result.is_some() { EMPTY_RESULT } else { NO_RESULT };
    let content = if texts.is_empty() { empty.to_owned() } else { texts.join("\n") };
    ChatMessage::Tool { tool_call_id: id.to_owned(), content }
}

fn replied<'a>(reply: &[ReplyPiece<'a>], ids: &mut Ids) -> (ChatMessage, Vec<NamedResult<'a>>) {
    let (mut texts, mut tool_calls, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for spoken in reply {
        match spoken {
            ReplyPiece::Text(text) if !is_blank(text) => texts.push(*text),
            ReplyPiece::Call(Pair { call, result }) => {
                let id = ids.give(&call.id.0);
                let function = ChatFunction { name: ids.name(&call.name), arguments: input::string(call) };
                tool_calls.push(ToolCall { id: id.clone(), function });
                answers.push((id, *result));
            }
            ReplyPiece::Text(_) | ReplyPiece::Thinking { .. } | ReplyPiece::Opaque(_) => {}
        }
    }
    let content = match (texts.is_empty(), tool_calls.is_empty()) {
        (false, _) => Some(texts.join(BETWEEN_TEXTS)),
        (true, false) => None,
        (true, true) => Some(remnant(reply)),
    };
    (ChatMessage::Assistant { content, tool_calls }, answers)
}
