//! Instructions in the middle of a list: where they may stand, and what they hold.

use super::super::{Findings, list_of, text_of, type_of};
use serde_json::Value;

pub(super) const PLACE: &str = "instructions stand right behind a user message and before a reply";

/// Whether the instructions at a place stand where the API takes them: never first, right behind a user's message or a reply
/// that ends in a server tool's call, and last or in front of a reply.
pub(super) fn are_placed(messages: &[Value], at: usize) -> bool {
    let said = |message: &&Value| !is_setting(message);
    let Some(before) = at.checked_sub(1).and_then(|last| messages[..=last].iter().rev().find(said)) else {
        return false;
    };
    let is_behind = match text_of(before, "role") {
        Some("user") => true,
        Some("assistant") => ends_in_server_call(before),
        Some(_) | None => false,
    };
    let next = messages[at + 1..].iter().find(said);
    is_behind && next.is_none_or(|next| text_of(next, "role") == Some("assistant"))
}

/// Whether a message says nothing and changes how the model is to answer from there on: it may stand anywhere.
pub(super) fn is_setting(message: &Value) -> bool {
    let is_silent = message.get("content").and_then(Value::as_array).is_some_and(Vec::is_empty);
    text_of(message, "role") == Some("system") && is_silent && message["output_config"].is_object()
}

/// Whether a reply waits for a tool of the provider's own.
pub(super) fn ends_in_server_call(message: &Value) -> bool {
    list_of(message, "content").last().is_some_and(|last| type_of(last) == "server_tool_use")
}

/// Instructions are words.
pub(super) fn check_block(block: &Value, path: &str, found: &mut Findings) {
    found.demand(type_of(block) == "text", path, "instructions hold text");
}
