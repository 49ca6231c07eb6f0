//! Fields of a body that its reader has no use for: in another protocol they are left out, and that is listed.

use super::Protocol;
use super::encode::{EncodeError, Substitute};
use crate::document::View;
use crate::{Conversation, FixedParts};
use epitome_core::{EntryId, MessageView};
use std::collections::HashSet;
use std::sync::Arc;

/// Adds what `shown`, read from bodies of `from`, had beside what its messages say, and what the body had beside
/// them.
pub(super) fn list(
    from: Protocol,
    conversation: &Conversation,
    fixed: &FixedParts,
    shown: &[MessageView],
    substitutes: &mut Vec<Substitute>,
) -> Result<(), EncodeError> {
    let around = fixed.rest.iter().filter(|(_, value)| !is_empty(value)).map(|(key, _)| key.to_string());
    let mut found: Vec<(Option<EntryId>, String)> = around.map(|key| (None, key)).collect();
    for id in shown.iter().filter_map(|view| view.id) {
        for &span in conversation.originals.spans(id).unwrap_or_default() {
            let bytes = conversation.originals.source().slice(span).map_err(EncodeError::Read)?;
            let text = String::from_utf8_lossy(&bytes);
            if let Ok(element) = View::parse(&text) {
                fields_of(from, element, &mut |key| found.push((Some(id), key.to_owned())));
            }
        }
    }
    list_once(found, substitutes);
    Ok(())
}

/// Lists each field of a message once.
pub(super) fn list_once(found: Vec<(Option<EntryId>, String)>, substitutes: &mut Vec<Substitute>) {
    let mut met = HashSet::new();
    for (message, key) in found {
        if met.insert((message, key.clone())) {
            substitutes.push(Substitute { message, kind: format!("field {key}"), words: None });
        }
    }
}

/// The fields of a message that are no part of what it says, and that nobody reads.
pub(crate) fn unread_around(from: Protocol, message: View<'_>) -> Vec<Arc<str>> {
    let mut found = Vec::new();
    unread(message, element_fields(from, message), &mut |key| found.push(key.into()));
    found
}

/// Tells of every field that nobody reads of a piece that stands by itself in a request's list, or in Anthropic's
/// messages.
pub(super) fn fields_of_piece(from: Protocol, piece: View<'_>, tell: &mut impl FnMut(&str)) {
    match from {
        Protocol::Anthropic => fields_of_block(from, piece, tell),
        Protocol::OpenaiChat | Protocol::OpenaiResponses => fields_of(from, piece, tell),
    }
}

/// Tells of every field of an element that nobody reads.
fn fields_of(from: Protocol, element: View<'_>, tell: &mut impl FnMut(&str)) {
    unread(element, element_fields(from, element), tell);
    for piece in pieces(element, "content") {
        fields_of_block(from, piece, tell);
    }
    for call in pieces(element, "tool_calls") {
        unread(call, &["id", "type", "function", "custom", "index"], tell);
        for inner in ["function", "custom"].into_iter().filter_map(|key| call.at(&[key])) {
            unread(inner, &["name", "arguments", "input"], tell);
        }
    }
    for image in pieces(element, "content").into_iter().filter_map(|piece| piece.at(&["image_url"])) {
        unread(image, &["url"], tell);
    }
}

fn fields_of_block(from: Protocol, block: View<'_>, tell: &mut impl FnMut(&str)) {
    let Some(known) = piece_fields(from, block) else { return };
    unread(block, known, tell);
    for part in pieces(block, "content") {
        unread(part, piece_fields(from, part).unwrap_or_default(), tell);
    }
}

/// What is read of an element; what a reply says about itself is no part of what it says.
fn element_fields(from: Protocol, element: View<'_>) -> &'static [&'static str] {
    match from {
        Protocol::Anthropic => &ANTHROPIC_FIELDS,
        Protocol::OpenaiChat => {
            let is_readable =
                ["reasoning_content", "reasoning"].iter().any(|key| element.at(&[key]).is_some());
            match is_readable {
                true => &CHAT_FIELDS[..CHAT_FIELDS.len() - 1],
                false => &CHAT_FIELDS,
            }
        }
        Protocol::OpenaiResponses => match element.at(&["type"]).and_then(View::text).as_deref() {
            Some("message" | "function_call" | "custom_tool_call") | None => {
                &["type", "role", "content", "id", "status", "call_id", "name", "arguments", "input"]
            }
            Some(kind) if kind.ends_with("_output") => {
                &["type", "call_id", "output", "tools", "id", "status"]
            }
            Some("mcp_approval_request" | "mcp_approval_response") => {
                &["type", "id", "name", "arguments", "approval_request_id", "approve", "reason"]
            }
            Some(_) if element.at(&["call_id"]).is_some() => {
                &["type", "call_id", "action", "operation", "arguments", "id", "status"]
            }
            // Carried whole.
            Some(_) => &[],
        },
    }
}

const ANTHROPIC_FIELDS: [&str; 12] = [
    "role",
    "content",
    "type",
    "id",
    "model",
    "usage",
    "stop_reason",
    "stop_sequence",
    "stop_details",
    "container",
    "context_management",
    "diagnostics",
];

/// Details of reasoning are read where nothing readable stands beside them.
const CHAT_FIELDS: [&str; 10] = [
    "role",
    "content",
    "tool_calls",
    "function_call",
    "tool_call_id",
    "tool_call_ids",
    "refusal",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
];

/// What is read of a piece of content; none where it is carried whole.
fn piece_fields(from: Protocol, piece: View<'_>) -> Option<&'static [&'static str]> {
    let kind = piece.at(&["type"]).and_then(View::text).unwrap_or_default();
    Some(match (from, &*kind) {
        (Protocol::Anthropic, "text") => &["type", "text"],
        (Protocol::Anthropic, "image") if piece.at(&["source", "file_id"]).is_none() => &["type", "source"],
        (Protocol::Anthropic, "tool_use") => &["type", "id", "name", "input"],
        (Protocol::Anthropic, "tool_result") => &["type", "tool_use_id", "content", "is_error"],
        (Protocol::Anthropic, "thinking") => &["type", "thinking", "signature"],
        (Protocol::Anthropic, "redacted_thinking") => &["type", "data"],
        (
            Protocol::OpenaiChat | Protocol::OpenaiResponses,
            "text" | "input_text" | "output_text" | "refusal",
        ) => &["type", "text", "refusal"],
        (
            Protocol::OpenaiChat | Protocol::OpenaiResponses,
            "image_url" | "input_image" | "computer_screenshot",
        ) if piece.at(&["image_url"]).is_some() => &["type", "image_url"],
        (Protocol::Anthropic | Protocol::OpenaiChat | Protocol::OpenaiResponses, _) => return None,
    })
}

fn pieces<'v>(view: View<'v>, key: &str) -> Vec<View<'v>> {
    view.at(&[key]).and_then(View::list).unwrap_or_default()
}

fn unread(view: View<'_>, known: &[&str], tell: &mut impl FnMut(&str)) {
    let fields = view.object().filter(|_| !known.is_empty()).map(|object| object.rest(known));
    fields.into_iter().flatten().filter(|(_, value)| !is_empty(value)).for_each(|(key, _)| tell(&key));
}

/// Whether a value says nothing.
fn is_empty(json: &str) -> bool {
    matches!(json, "null" | "[]" | "{}" | "\"\"")
}
