//! The blocks of one message: which may stand where, and what each must hold.

use super::super::{
    Findings, IMAGE_TYPES, is_base64, is_blank, is_plain_id, is_web_url, list_of, text_of, type_of,
};
use super::instructions;
use serde_json::Value;

pub(super) fn is_thinking(kind: &str) -> bool {
    matches!(kind, "thinking" | "redacted_thinking")
}

/// Whether a block is what a server tool answered, inside the reply itself.
pub(super) fn is_server_result(kind: &str) -> bool {
    kind.ends_with("_tool_result") && kind != "mcp_tool_result"
}

const ASKED_KINDS: &str = "a user message holds text, images, documents and tool results";
const REPLIED_KINDS: &str = "an assistant message holds text, thinking, calls and server results";
const PART_KINDS: &str = "a tool_result holds text, images and documents";

/// Whether a block is one the API takes on this side. A kind that we do not know may be newer than we are.
pub(super) fn is_sound(block: &Value, is_user: bool) -> bool {
    let mut found = Findings::default();
    if is_user {
        check_asked(block, "", &mut found)
    } else {
        check_replied(block, "", &mut found)
    }
    let is_new = !is_known(type_of(block));
    found.0.iter().all(|broken| broken.rule == PART_KINDS || is_new)
}

fn is_known(kind: &str) -> bool {
    const KINDS: [&str; 13] = [
        "",
        "text",
        "image",
        "tool_result",
        "document",
        "search_result",
        "container_upload",
        "tool_reference",
        "tool_use",
        "server_tool_use",
        "mcp_tool_use",
        "mcp_tool_result",
        "compaction",
    ];
    KINDS.contains(&kind) || is_thinking(kind) || is_server_result(kind)
}

pub(super) fn check_message(at: usize, message: &Value, found: &mut Findings) {
    let path = format!("messages[{at}].content");
    match message.get("content") {
        Some(Value::String(text)) => found.demand(!is_blank(text), &path, "content is not empty"),
        Some(Value::Array(blocks)) if !blocks.is_empty() => {
            let role = text_of(message, "role");
            let is_user = role == Some("user");
            for (place, block) in blocks.iter().enumerate() {
                let path = format!("{path}[{place}]");
                match role {
                    Some("user") => check_asked(block, &path, found),
                    Some("system") => instructions::check_block(block, &path, found),
                    Some(_) | None => check_replied(block, &path, found),
                }
            }
            let ends_well = blocks.last().is_some_and(|last| !is_thinking(type_of(last)));
            found.demand(ends_well || is_user, &last_path(&path, blocks), "a reply does not end in thinking");
        }
        Some(Value::Array(_)) if instructions::is_setting(message) => {}
        Some(Value::Array(_)) => found.add(path, "content is not empty"),
        Some(_) | None => found.add(path, "content is a string or a list of blocks"),
    }
}

fn last_path(path: &str, blocks: &[Value]) -> String {
    format!("{path}[{}]", blocks.len() - 1)
}

fn check_asked(block: &Value, path: &str, found: &mut Findings) {
    match type_of(block) {
        "text" => check_text(block, path, found),
        "image" => check_image(block, path, found),
        "tool_result" => check_result(block, path, found),
        "document" | "search_result" | "container_upload" => {}
        _ => found.add(path, ASKED_KINDS),
    }
}

fn check_replied(block: &Value, path: &str, found: &mut Findings) {
    match type_of(block) {
        "text" => check_text(block, path, found),
        "thinking" => {
            let is_signed = text_of(block, "signature").is_some_and(|seal| !seal.is_empty());
            let is_whole = is_signed && text_of(block, "thinking").is_some();
            found.demand(is_whole, path, "a thinking block keeps its text and its signature");
        }
        "redacted_thinking" => {
            let is_whole = text_of(block, "data").is_some_and(|data| !data.is_empty());
            found.demand(is_whole, path, "a redacted_thinking block keeps its data");
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => check_call(block, path, found),
        "mcp_tool_result" | "compaction" | "container_upload" => {}
        kind if is_server_result(kind) => {}
        _ => found.add(path, REPLIED_KINDS),
    }
}

fn check_text(block: &Value, path: &str, found: &mut Findings) {
    let says_something = text_of(block, "text").is_some_and(|text| !is_blank(text));
    found.demand(says_something, path, "a text block is not empty");
}

fn check_call(block: &Value, path: &str, found: &mut Findings) {
    let id = text_of(block, "id").unwrap_or_default();
    found.demand(is_plain_id(id), path, "a call's id is letters, digits, _ and -");
    let is_named = text_of(block, "name").is_some_and(|name| !name.is_empty());
    found.demand(is_named, path, "a call names its tool");
    found.demand(block["input"].is_object(), path, "a call's input is an object");
}

fn check_result(block: &Value, path: &str, found: &mut Findings) {
    match block.get("content") {
        None => found.demand(block["is_error"] != true, path, "an error result says something"),
        Some(Value::String(text)) => {
            found.demand(
                !is_blank(text) || block["is_error"] != true,
                path,
                "an error result says something",
            );
        }
        Some(Value::Array(parts)) => {
            for (place, part) in parts.iter().enumerate() {
                check_part(part, block["is_error"] == true, &format!("{path}.content[{place}]"), found);
            }
        }
        Some(_) => found.add(path, "a tool_result's content is a string or a list of blocks"),
    }
}

fn check_part(part: &Value, is_error: bool, path: &str, found: &mut Findings) {
    let kind = type_of(part);
    found.demand(!is_error || kind == "text", path, "an error result holds text only");
    match kind {
        "text" => check_text(part, path, found),
        "image" => check_image(part, path, found),
        "document" | "search_result" | "tool_reference" => {}
        _ => found.add(path, PART_KINDS),
    }
}

fn check_image(block: &Value, path: &str, found: &mut Findings) {
    let source = &block["source"];
    match type_of(source) {
        "base64" => {
            let media_type = text_of(source, "media_type").unwrap_or_default();
            found.demand(IMAGE_TYPES.contains(&media_type), path, "an image is png, jpeg, gif or webp");
            found.demand(
                is_base64(text_of(source, "data").unwrap_or_default()),
                path,
                "image data is base64",
            );
        }
        "url" => found.demand(
            is_web_url(text_of(source, "url").unwrap_or_default()),
            path,
            "an image URL is http(s)",
        ),
        "file" => {}
        _ => found.add(path, "an image's source is base64, url or file"),
    }
}

/// The blocks of a message; none where its content is a string.
pub(super) fn of(message: &Value) -> &[Value] {
    list_of(message, "content")
}
