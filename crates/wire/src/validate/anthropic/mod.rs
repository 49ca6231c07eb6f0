//! Anthropic Messages: the frame of a body, roles and their order, tools and thinking.
//!
//! Blocks, pairs, cache marks and instructions have files of their own.

mod blocks;
mod cache;
mod instructions;
mod pairs;
#[cfg(test)]
mod tests;

use super::{Findings, Violation, is_blank, list_of, text_of, type_of};
use serde_json::Value;

/// What the Messages API would refuse in `body`, and where it leaves the form we keep to.
pub(super) fn anthropic(body: &Value) -> Vec<Violation> {
    let mut found = Findings::default();
    check_system(body, &mut found);
    check_tools(body, &mut found);
    match body.get("messages").and_then(Value::as_array) {
        Some(messages) if !messages.is_empty() => check_messages(messages, &mut found),
        Some(_) | None => found.add("messages", "messages is a list of at least one message"),
    }
    check_thinking(body, &mut found);
    cache::check(body, &mut found);
    found.0
}

/// Whether a block, or a text that is all of a message, is one the API takes on this side.
pub(super) fn is_sound(piece: &Value, is_user: bool) -> bool {
    match piece {
        Value::String(text) => !is_blank(text),
        block => blocks::is_sound(block, is_user),
    }
}

fn check_system(body: &Value, found: &mut Findings) {
    match body.get("system") {
        None | Some(Value::String(_)) => {}
        Some(Value::Array(blocks)) => {
            for (at, block) in blocks.iter().enumerate() {
                let is_text =
                    type_of(block) == "text" && !is_blank(text_of(block, "text").unwrap_or_default());
                found.demand(is_text, &format!("system[{at}]"), "system holds non-empty text blocks");
            }
        }
        Some(_) => found.add("system", "system is a string or a list of text blocks"),
    }
}

fn check_tools(body: &Value, found: &mut Findings) {
    let tools = list_of(body, "tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| text_of(tool, "name")).collect();
    for (at, tool) in tools.iter().enumerate() {
        let path = format!("tools[{at}]");
        let name = text_of(tool, "name").unwrap_or_default();
        let is_own = matches!(type_of(tool), "" | "custom");
        found.demand(!name.is_empty(), &path, "a tool has a name");
        found.demand(!is_own || tool["input_schema"].is_object(), &path, "a tool has an input_schema");
        let is_first = names.iter().position(|&other| other == name).is_none_or(|first| first == at);
        found.demand(is_first || name.is_empty(), &path, "tool names are unique");
    }
    let Some(choice) = body.get("tool_choice") else { return };
    let is_known = match type_of(choice) {
        "auto" | "any" | "none" => true,
        "tool" => text_of(choice, "name").is_some_and(|name| names.contains(&name)),
        _ => false,
    };
    found.demand(is_known, "tool_choice", "tool_choice is auto, any, none, or a tool that is defined");
    found.demand(!tools.is_empty(), "tool_choice", "tool_choice comes with tools");
}

fn check_messages(messages: &[Value], found: &mut Findings) {
    let role = |at: usize| messages.get(at).and_then(|message| text_of(message, "role"));
    let mut before = "";
    for (at, message) in messages.iter().enumerate() {
        let path = format!("messages[{at}]");
        match (role(at), before) {
            (Some("user"), "" | "assistant") | (Some("assistant"), "user") => {}
            (Some("assistant"), "") => found.add(path, "the first message is the user's"),
            // A reply that waited for a server tool goes on behind the instructions.
            (Some("assistant"), _) if role(at - 1) == Some("system") => {}
            (Some("user" | "assistant"), _) => found.add(path, "user and assistant alternate"),
            (Some("system"), _) if instructions::is_setting(message) => {}
            (Some("system"), _) => {
                let is_placed = instructions::are_placed(messages, at);
                found.demand(is_placed, &path, instructions::PLACE);
            }
            (Some(_) | None, _) => found.add(path, "a message's role is user, assistant or system"),
        }
        before = role(at).filter(|role| matches!(*role, "user" | "assistant")).unwrap_or(before);
        blocks::check_message(at, message, found);
    }
    check_prefill(messages, found);
    pairs::check(messages, found);
}

/// A reply at the end is the beginning of the one to come.
fn check_prefill(messages: &[Value], found: &mut Findings) {
    let Some(last) = messages.last().filter(|last| text_of(last, "role") == Some("assistant")) else {
        return;
    };
    let content = &last["content"];
    let text = content.as_str().or_else(|| text_of(list_of(last, "content").last()?, "text"));
    let path = format!("messages[{}]", messages.len() - 1);
    let is_trimmed = text.is_none_or(|text| text.trim_end() == text);
    found.demand(is_trimmed, &path, "a reply that is begun does not end in white space");
}

/// Rules that hold only while thinking is on.
fn check_thinking(body: &Value, found: &mut Findings) {
    let mode = body.get("thinking").map(type_of).unwrap_or_default();
    if !matches!(mode, "enabled" | "adaptive") {
        return;
    }
    let choice = body.get("tool_choice").map_or("auto", type_of);
    found.demand(
        matches!(choice, "auto" | "none"),
        "tool_choice",
        "with thinking on, tool_choice is auto or none",
    );
    let messages = list_of(body, "messages");
    let is_begun = messages.last().is_some_and(|last| text_of(last, "role") == Some("assistant"));
    found.demand(!is_begun, "messages", "with thinking on, no reply is begun for the model");
    let last = messages.iter().rposition(|message| text_of(message, "role") == Some("assistant"));
    if let Some(at) = last.filter(|_| mode == "enabled") {
        let blocks = list_of(&messages[at], "content");
        let calls = blocks.iter().any(|block| type_of(block) == "tool_use");
        let thinks = blocks.first().is_some_and(|first| blocks::is_thinking(type_of(first)));
        let path = format!("messages[{at}].content[0]");
        found.demand(
            !calls || thinks,
            &path,
            "with thinking on, the reply with the last calls starts with it",
        );
    }
}
