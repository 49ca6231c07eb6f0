//! OpenAI Responses: items we know, calls with their outputs, reasoning with what it led to.
//!
//! The body is taken as stateless: everything an item needs must be in `input` itself.

#[cfg(test)]
mod tests;

use super::openai_chat::is_image_url;
use super::{Findings, Violation, is_blank, list_of, text_of, type_of};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Items that call for another, with that other, and the fields that hold the id they share.
pub(crate) const PAIRED_ITEMS: [(&str, &str, &str, &str); 8] = [
    ("function_call", "function_call_output", "call_id", "call_id"),
    ("custom_tool_call", "custom_tool_call_output", "call_id", "call_id"),
    ("computer_call", "computer_call_output", "call_id", "call_id"),
    ("local_shell_call", "local_shell_call_output", "call_id", "call_id"),
    ("shell_call", "shell_call_output", "call_id", "call_id"),
    ("apply_patch_call", "apply_patch_call_output", "call_id", "call_id"),
    ("tool_search_call", "tool_search_output", "call_id", "call_id"),
    ("mcp_approval_request", "mcp_approval_response", "id", "approval_request_id"),
];

/// Items of the model's side that stand alone: their result, if any, is inside them.
pub(crate) const LONE_ITEMS: [&str; 7] = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "compaction",
];

/// What the Responses API would refuse in `body`.
pub(super) fn openai_responses(body: &Value) -> Vec<Violation> {
    let mut found = Findings::default();
    match body.get("input") {
        Some(Value::String(text)) => found.demand(!is_blank(text), "input", "input is not empty"),
        Some(Value::Array(items)) if !items.is_empty() => check_items(items, &mut found),
        Some(_) | None => found.add("input", "input is a text or a list of at least one item"),
    }
    for (at, tool) in list_of(body, "tools").iter().enumerate() {
        let is_named =
            type_of(tool) != "function" || text_of(tool, "name").is_some_and(|name| !name.is_empty());
        let is_whole = !type_of(tool).is_empty() && is_named;
        found.demand(is_whole, &format!("tools[{at}]"), "a tool has a type, and a function a name");
    }
    found.0
}

/// Whether an item is one the API takes by itself. A kind that we do not know may be newer than we are.
pub(super) fn is_sound(item: &Value) -> bool {
    let mut found = Findings::default();
    check_item(item, "", &mut found);
    let kind = type_of(item);
    let is_new = !kind.is_empty() && !matches!(kind, "message" | "reasoning") && !is_known(kind);
    is_new || found.0.is_empty()
}

fn check_items(items: &[Value], found: &mut Findings) {
    let mut ids = HashSet::new();
    for (at, item) in items.iter().enumerate() {
        let path = format!("input[{at}]");
        check_item(item, &path, found);
        let is_new = is_reference(item) || text_of(item, "id").is_none_or(|id| ids.insert(id));
        found.demand(is_new, &path, "an item's id is unique in the request");
        if type_of(item) == "reasoning" {
            let is_followed = items.get(at + 1).is_some_and(is_models);
            found.demand(is_followed, &path, "a reasoning item is followed by the item it led to");
        }
    }
    check_pairs(items, found);
}

/// A reference needs no type: an id alone is one.
fn is_reference(item: &Value) -> bool {
    let is_bare = type_of(item).is_empty() && item.get("role").is_none() && text_of(item, "id").is_some();
    type_of(item) == "item_reference" || is_bare
}

/// Whether the model produces items of this kind.
fn is_models(item: &Value) -> bool {
    let kind = type_of(item);
    let is_call = PAIRED_ITEMS.iter().any(|(call, ..)| *call == kind);
    is_call
        || LONE_ITEMS.contains(&kind)
        || kind == "reasoning"
        || is_reference(item)
        || text_of(item, "role") == Some("assistant")
}

fn check_item(item: &Value, path: &str, found: &mut Findings) {
    match type_of(item) {
        _ if is_reference(item) => {}
        "message" => check_message(item, path, found),
        "" if item.get("role").is_some() => check_message(item, path, found),
        "function_call" => {
            let arguments = text_of(item, "arguments");
            let is_json = arguments.is_some_and(|text| serde_json::from_str::<Value>(text).is_ok());
            found.demand(is_json, path, "arguments are a string of JSON");
            check_name(item, path, found);
        }
        "custom_tool_call" => {
            found.demand(text_of(item, "input").is_some(), path, "a custom call's input is text");
            check_name(item, path, found);
        }
        "function_call_output" | "custom_tool_call_output" => check_output(item, path, found),
        "reasoning" => {
            found.demand(item["summary"].is_array(), path, "a reasoning item has a summary list");
        }
        kind if is_known(kind) => {}
        _ => found.add(path, "an item is of a known type"),
    }
}

fn is_known(kind: &str) -> bool {
    let is_paired = PAIRED_ITEMS.iter().any(|(call, output, ..)| *call == kind || *output == kind);
    is_paired || LONE_ITEMS.contains(&kind)
}

fn check_name(item: &Value, path: &str, found: &mut Findings) {
    let is_named = text_of(item, "name").is_some_and(|name| !name.is_empty());
    found.demand(is_named, path, "a call names its tool");
}

fn check_message(item: &Value, path: &str, found: &mut Findings) {
    let role = text_of(item, "role").unwrap_or_default();
    let is_role = matches!(role, "user" | "assistant" | "system" | "developer");
    found.demand(is_role, path, "a role is user, assistant, system or developer");
    let path = format!("{path}.content");
    match item.get("content") {
        Some(Value::String(text)) => found.demand(!is_blank(text), &path, "content is not empty"),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            for (at, part) in parts.iter().enumerate() {
                check_part(part, role, &format!("{path}[{at}]"), found);
            }
        }
        Some(_) | None => found.add(path, "content is not empty"),
    }
}

fn check_part(part: &Value, role: &str, path: &str, found: &mut Findings) {
    match (type_of(part), role) {
        ("output_text", "assistant") | ("input_text", "user" | "system" | "developer") => {
            let says_something = text_of(part, "text").is_some_and(|text| !is_blank(text));
            found.demand(says_something, path, "a text part is not empty");
        }
        ("refusal", "assistant") | ("input_file" | "input_audio", "user") => {}
        ("input_image", "user") => check_image(part, path, found),
        _ => found.add(path, "input parts are the user's side's, output parts the assistant's"),
    }
}

fn check_image(part: &Value, path: &str, found: &mut Findings) {
    let is_there = part.get("file_id").is_some() || text_of(part, "image_url").is_some_and(is_image_url);
    found.demand(is_there, path, "an image URL is http(s) or base64 data");
}

fn check_output(item: &Value, path: &str, found: &mut Findings) {
    match item.get("output") {
        Some(Value::String(_)) => {}
        Some(Value::Array(parts)) => {
            for (at, part) in parts.iter().enumerate() {
                check_part(part, "user", &format!("{path}.output[{at}]"), found);
            }
        }
        Some(_) | None => found.add(path, "an output is text or a list of parts"),
    }
}

/// Every call has one output of its kind after it, every output its call, and call ids are unique.
fn check_pairs(items: &[Value], found: &mut Findings) {
    let mut open: HashMap<&str, (usize, &str)> = HashMap::new();
    let mut used = HashSet::new();
    for (at, item) in items.iter().enumerate() {
        let path = format!("input[{at}]");
        for (call, output, made, answered) in PAIRED_ITEMS {
            if type_of(item) == call {
                // The provider searches its tools by itself, and both items have no id then.
                if text_of(item, "execution") == Some("server") {
                    continue;
                }
                let id = text_of(item, made).unwrap_or_default();
                found.demand(!id.is_empty(), &path, "a call has an id");
                found.demand(used.insert(id), &path, "a call's id is unique in the request");
                open.insert(id, (at, output));
            } else if type_of(item) == output {
                if text_of(item, "execution") == Some("server") {
                    continue;
                }
                let id = text_of(item, answered).unwrap_or_default();
                let is_asked = open.remove(id).is_some_and(|(_, expected)| expected == output);
                found.demand(is_asked, &path, "an output has its call before it");
            }
        }
    }
    let mut left: Vec<usize> = open.into_values().map(|(at, _)| at).collect();
    left.sort_unstable();
    for at in left {
        found.add(format!("input[{at}]"), "a call has its output after it");
    }
}
