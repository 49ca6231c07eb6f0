//! OpenAI Chat Completions: roles and their order, tool messages beside their calls, content by role.
//!
//! The order is that of the strictest chat templates: one system message at most, and first; user and
//! assistant in turn, with tool messages between. A reply at the end is the beginning of the one to come.

#[cfg(test)]
mod tests;

use super::{Findings, Violation, inline_data, is_base64, is_blank, is_web_url, list_of, text_of, type_of};
use serde_json::Value;
use std::collections::HashSet;

/// What Chat Completions, or a strict compatible server, would refuse in `body`.
pub(super) fn openai_chat(body: &Value) -> Vec<Violation> {
    let mut found = Findings::default();
    for (at, tool) in list_of(body, "tools").iter().enumerate() {
        check_tool(tool, &format!("tools[{at}]"), &mut found);
    }
    match body.get("messages").and_then(Value::as_array) {
        Some(messages) if !messages.is_empty() => check_messages(messages, &mut found),
        Some(_) | None => found.add("messages", "messages is a list of at least one message"),
    }
    found.0
}

/// Whether a message is one the API takes by itself.
pub(super) fn is_sound(message: &Value) -> bool {
    let mut found = Findings::default();
    match role_of(message) {
        "user" => check_content(message, "", &mut found),
        "assistant" => check_reply(message, "", &mut HashSet::new(), &mut found),
        "tool" => check_result(message, "", &mut found),
        _ => return false,
    }
    found.0.is_empty()
}

fn check_tool(tool: &Value, path: &str, found: &mut Findings) {
    let is_whole = match type_of(tool) {
        "function" => text_of(&tool["function"], "name").is_some_and(|name| !name.is_empty()),
        "custom" => text_of(&tool["custom"], "name").is_some_and(|name| !name.is_empty()),
        _ => false,
    };
    found.demand(is_whole, path, "a tool is a function or custom tool with a name");
}

fn check_messages(messages: &[Value], found: &mut Findings) {
    let mut used = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let path = format!("messages[{at}]");
        match role_of(message) {
            "system" | "developer" => {
                found.demand(at == 0, &path, "a system message stands first");
                check_content(message, &path, found);
            }
            "user" => check_content(message, &path, found),
            "assistant" => check_reply(message, &path, &mut used, found),
            "tool" => check_result(message, &path, found),
            // From before calls had ids: the name of the function is what answers are told by.
            "function" => {
                check_result(message, &path, found);
                let is_named = text_of(message, "name").is_some_and(|name| !name.is_empty());
                found.demand(is_named, &path, "a function message names its function");
            }
            _ => found.add(&path, "a role is system, developer, user, assistant, tool or function"),
        }
    }
    check_order(messages, found);
    check_pairs(messages, found);
}

fn role_of(message: &Value) -> &str {
    text_of(message, "role").unwrap_or_default()
}

/// User and assistant in turn, the user first, tool messages and system aside.
fn check_order(messages: &[Value], found: &mut Findings) {
    let mut before = "";
    for (at, message) in messages.iter().enumerate() {
        let role = role_of(message);
        let path = format!("messages[{at}]");
        match (before, role) {
            ("", "assistant") => found.add(path, "the first message after the system's is the user's"),
            ("user", "user") | ("assistant", "assistant") => found.add(path, "user and assistant alternate"),
            _ => {}
        }
        if matches!(role, "user" | "assistant" | "tool" | "function") {
            before = role;
        }
    }
    // Wherever it stands: aider has its instructions behind the user's words, and providers answer those.
    let is_answerable = messages.iter().any(|message| !matches!(role_of(message), "system" | "developer"));
    let path = format!("messages[{}]", messages.len() - 1);
    found.demand(is_answerable, &path, "there is something to answer, or a reply that is begun");
}

/// Each call is answered by one tool message right behind its reply, and nothing else is.
fn check_pairs(messages: &[Value], found: &mut Findings) {
    let mut open: HashSet<&str> = HashSet::new();
    let mut opened = 0;
    for (at, message) in messages.iter().enumerate() {
        if role_of(message) == "tool" {
            let is_asked = text_of(message, "tool_call_id").is_some_and(|id| open.remove(id));
            found.demand(
                is_asked,
                &format!("messages[{at}]"),
                "a tool message answers a call right before it",
            );
            continue;
        }
        check_answered(&open, opened, found);
        open = list_of(message, "tool_calls").iter().filter_map(|call| text_of(call, "id")).collect();
        opened = at;
    }
    check_answered(&open, opened, found);
}

fn check_answered(open: &HashSet<&str>, at: usize, found: &mut Findings) {
    let path = format!("messages[{at}].tool_calls");
    found.demand(open.is_empty(), &path, "each call is answered by a tool message right behind it");
}

fn check_reply<'v>(message: &'v Value, path: &str, used: &mut HashSet<&'v str>, found: &mut Findings) {
    let calls = list_of(message, "tool_calls");
    if message.get("tool_calls").is_some() {
        found.demand(!calls.is_empty(), path, "tool_calls is not empty");
    }
    let says_otherwise = ["refusal", "audio", "function_call"].iter().any(|key| !message[*key].is_null());
    let is_silent = matches!(message.get("content"), None | Some(Value::Null));
    if !is_silent || calls.is_empty() && !says_otherwise {
        check_content(message, path, found);
    }
    for (at, call) in calls.iter().enumerate() {
        check_call(call, &format!("{path}.tool_calls[{at}]"), used, found);
    }
}

fn check_call<'v>(call: &'v Value, path: &str, used: &mut HashSet<&'v str>, found: &mut Findings) {
    let id = text_of(call, "id").unwrap_or_default();
    found.demand(!id.is_empty() && id.len() <= ID_BYTES_MAX, path, "a call's id has 1 to 40 characters");
    found.demand(used.insert(id), path, "a call's id is unique in the request");
    if type_of(call) == "custom" {
        let custom = &call["custom"];
        let is_whole =
            text_of(custom, "name").is_some_and(|name| !name.is_empty()) && custom["input"].is_string();
        return found.demand(is_whole, path, "a custom call names its tool and gives it text");
    }
    found.demand(type_of(call) == "function", path, "a call is of type function or custom");
    let function = &call["function"];
    let is_named = text_of(function, "name").is_some_and(|name| !name.is_empty());
    found.demand(is_named, path, "a call names its function");
    let is_json =
        text_of(function, "arguments").is_some_and(|text| serde_json::from_str::<Value>(text).is_ok());
    found.demand(is_json, path, "arguments are a string of JSON");
}

/// The length OpenAI takes for a call's id.
const ID_BYTES_MAX: usize = 40;

fn check_result(message: &Value, path: &str, found: &mut Findings) {
    let is_text = match message.get("content") {
        Some(Value::String(_)) => true,
        Some(Value::Array(parts)) => parts.iter().all(|part| type_of(part) == "text"),
        Some(_) | None => false,
    };
    found.demand(is_text, path, "a tool message's content is text");
}

fn check_content(message: &Value, path: &str, found: &mut Findings) {
    let path = format!("{path}.content");
    match message.get("content") {
        Some(Value::String(text)) => found.demand(!is_blank(text), &path, "content is not empty"),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            for (at, part) in parts.iter().enumerate() {
                check_part(part, role_of(message), &format!("{path}[{at}]"), found);
            }
        }
        Some(Value::Array(_)) => found.add(path, "content is not empty"),
        Some(_) | None => found.add(path, "content may be null only beside tool_calls"),
    }
}

fn check_part(part: &Value, role: &str, path: &str, found: &mut Findings) {
    match type_of(part) {
        "text" => {
            let says_something = text_of(part, "text").is_some_and(|text| !is_blank(text));
            found.demand(says_something, path, "a text part is not empty");
        }
        "image_url" => {
            found.demand(role == "user", path, "images stand in user messages only");
            let url = text_of(&part["image_url"], "url").unwrap_or_default();
            found.demand(is_image_url(url), path, "an image URL is http(s) or base64 data");
        }
        "refusal" => found.demand(role == "assistant", path, "a refusal is the assistant's"),
        "input_audio" | "file" => found.demand(role == "user", path, "files stand in user messages only"),
        _ => found.add(path, "a part is text, image_url, input_audio, file or refusal"),
    }
}

/// Whether `url` leads to a picture, or holds one.
pub(super) fn is_image_url(url: &str) -> bool {
    let holds_image = |(kind, data): (&str, &str)| kind.starts_with("image/") && is_base64(data);
    is_web_url(url) || inline_data(url).is_some_and(holds_image)
}
