//! Attachments: text the harness put before the model beside what was said.

use super::message::is_harness_text;
use epitome_core::{Author, Block, Image, Message, Role};
use serde_json::Value;

/// Attachments for the screen or the permission check; the model does not see them.
const UNSEEN: [&str; 2] = ["command_permissions", "hook_system_message"];

/// The message an attachment is; none where the model does not see it.
pub(super) fn message_of(json: &str) -> Option<Message> {
    let attached: Value = serde_json::from_str(json).ok()?;
    let kind = attached["type"].as_str().unwrap_or_default();
    if UNSEEN.contains(&kind) {
        return None;
    }
    let blocks = if kind == "queued_command" {
        prompt_blocks(&attached["prompt"])
    } else {
        blocks_of(kind, &attached, json)
    };
    let author = if kind == "queued_command" && is_typed(&attached, &blocks) {
        Author::Person
    } else {
        Author::Harness
    };
    Some(Message { role: Role::User, author, blocks })
}

/// Whether a queued prompt was typed by a person while the model was at work.
fn is_typed(attached: &Value, blocks: &[Block]) -> bool {
    let is_theirs = attached["origin"]["kind"].as_str().is_none_or(|kind| kind == "human");
    let is_prompt = attached["commandMode"].as_str().is_none_or(|mode| mode == "prompt");
    let is_plain = |block: &Block| !matches!(block, Block::Text { text } if is_harness_text(text));
    is_theirs && is_prompt && blocks.iter().all(is_plain)
}

fn prompt_blocks(prompt: &Value) -> Vec<Block> {
    match prompt {
        Value::String(text) => vec![Block::text(text.as_str())],
        Value::Array(parts) => parts.iter().filter_map(prompt_block).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn prompt_block(part: &Value) -> Option<Block> {
    let source = &part["source"];
    part["text"].as_str().map(Block::text).or_else(|| image_block(&source["media_type"], &source["data"]))
}

fn image_block(media_type: &Value, data: &Value) -> Option<Block> {
    let media_type = media_type.as_str().unwrap_or_default().into();
    Some(Block::Image(Image { media_type, data: data.as_str()?.into(), is_url: false }))
}

fn blocks_of(kind: &str, attached: &Value, json: &str) -> Vec<Block> {
    let named = ["filename", "path", "hookName"].iter().find_map(|field| attached[field].as_str());
    let head = named.map_or_else(|| format!("[{kind}]"), |name| format!("[{kind} {name}]"));
    let file = &attached["content"]["file"];
    if let Some(image) = image_block(&file["type"], &file["base64"]) {
        return vec![Block::text(head), image];
    }
    vec![Block::text(format!("{head}\n{}", text_of(attached).unwrap_or_else(|| json.to_owned())))]
}

/// The readable part, in whichever field its kind has it.
fn text_of(attached: &Value) -> Option<String> {
    let content = &attached["content"];
    [
        content,
        &content["content"],
        &content["file"]["content"],
        &attached["snippet"],
        &attached["addedBlocks"],
    ]
    .into_iter()
    .find_map(joined)
}

/// A string, or a list of strings as lines.
fn joined(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) if !lines.is_empty() => {
            lines.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|lines| lines.join("\n"))
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
