//! From the items of a message to the message, and who wrote it.

use super::item::{ContentPiece, Item, RolloutLine};
use crate::jsonl::{JsonText, TextOrBlocks, decoded};
use crate::protocol::read::image_at;
use crate::unpaired::{UNPAIRED, unpaired};
use epitome_core::{Author, Block, Call, CallId, Message, Opaque, ResultPart, Role, ToolResult};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// How a text begins that stands on the user's side and is not a person's.
const HARNESS_BEGINNINGS: [&str; 11] = [
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<user_instructions>",
    "<environment_context>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<user_shell_command>",
    "<skill>",
    UNPAIRED,
];

/// Set in a place's part where the span is an item itself, from a compaction's new history.
pub(super) const BARE: u32 = 1;
/// Set in a place's part where the message is a result without its call.
pub(super) const NO_CALL: u32 = 2;

/// What an item is to the conversation.
pub(super) enum ItemKind {
    /// Part of a reply.
    Reply,
    /// The answer to a call.
    Output,
    /// A message of the user's or the developer's side.
    Said,
    /// An unreadable summary the provider made.
    Sealed,
    /// Nothing the model sees.
    Unseen,
    /// Nothing we know.
    Unknown,
}

/// Sorts an item.
pub(super) fn kind_of(item: &Item<'_>) -> ItemKind {
    match item.kind.as_deref().unwrap_or_default() {
        "message" if item.role.as_deref() == Some("assistant") => ItemKind::Reply,
        "message" => ItemKind::Said,
        "reasoning"
        | "function_call"
        | "custom_tool_call"
        | "tool_search_call"
        | "local_shell_call"
        | "web_search_call"
        | "image_generation_call" => ItemKind::Reply,
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" => ItemKind::Output,
        "compaction" | "compaction_summary" | "context_compaction" => ItemKind::Sealed,
        "ghost_snapshot" => ItemKind::Unseen,
        _ => ItemKind::Unknown,
    }
}

/// Makes the message of these runs again.
pub(crate) fn decode(runs: &[Vec<u8>], part: u32) -> Result<Message, String> {
    let mut whole: Option<Message> = None;
    for run in runs {
        let text = decoded(run);
        let json = if part & BARE == 0 { payload_of(&text)? } else { &text };
        let item: Item<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let more = message_of(&item, json, part & NO_CALL != 0);
        match &mut whole {
            Some(message) => message.blocks.extend(more.blocks),
            None => whole = Some(more),
        }
    }
    whole.ok_or_else(|| "the message stands nowhere".into())
}

/// The item on a line of the rollout, as it stands there.
pub(super) fn payload_of(line: &str) -> Result<&str, String> {
    let line: RolloutLine<'_> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    Ok(line.payload.get())
}

/// The message of one item; `json` is its text.
pub(super) fn message_of(item: &Item<'_>, json: &str, no_call: bool) -> Message {
    match kind_of(item) {
        ItemKind::Reply => {
            Message { role: Role::Assistant, author: Author::Model, blocks: reply_blocks(item, json) }
        }
        ItemKind::Output => output_message(item, no_call),
        ItemKind::Said => said(item),
        ItemKind::Sealed | ItemKind::Unseen | ItemKind::Unknown => {
            Message { role: Role::User, author: Author::Harness, blocks: vec![opaque(item, json)] }
        }
    }
}

fn reply_blocks(item: &Item<'_>, json: &str) -> Vec<Block> {
    match item.kind.as_deref() {
        Some("message") => blocks_of(&item.content),
        Some(_) | None => vec![reply_block(item, json)],
    }
}

fn reply_block(item: &Item<'_>, json: &str) -> Block {
    match item.kind.as_deref().unwrap_or_default() {
        "reasoning" => Block::Thinking {
            text: [joined(&item.summary), joined(&item.content)].concat().into(),
            signature: item.encrypted_content.as_ref().map(Arc::from),
            redacted: false,
        },
        "function_call" => Block::Call(call(item, &owned(&item.name), arguments(item), false)),
        "tool_search_call" => Block::Call(call(item, "tool_search", arguments(item), false)),
        "local_shell_call" => {
            Block::Call(call(item, "local_shell", item.action.map_or("{}", RawValue::get).into(), false))
        }
        "custom_tool_call" => Block::Call(call(item, &owned(&item.name), owned(&item.input), true)),
        _ => opaque(item, json),
    }
}

fn call(item: &Item<'_>, name: &str, input: Arc<str>, freeform: bool) -> Call {
    Call { id: CallId(owned(&item.call_id)), name: name.into(), input, freeform }
}

/// Arguments as JSON: what is inside where they came as a string.
fn arguments(item: &Item<'_>) -> Arc<str> {
    let raw = item.arguments.map_or("{}", RawValue::get);
    serde_json::from_str::<Cow<'_, str>>(raw).map_or_else(|_| raw.into(), Into::into)
}

fn output_message(item: &Item<'_>, no_call: bool) -> Message {
    let result =
        ToolResult { call: CallId(owned(&item.call_id)), parts: output_parts(item), is_error: false };
    if no_call {
        let text = unpaired(&result.call, &result.text());
        return Message::text(Role::User, Author::Harness, text);
    }
    Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
}

fn output_parts(item: &Item<'_>) -> Vec<ResultPart> {
    if let Some(found) = item.tools {
        return vec![ResultPart::Text { text: found.get().into() }];
    }
    match &item.output {
        TextOrBlocks::Nothing => Vec::new(),
        TextOrBlocks::Text(text) => vec![ResultPart::Text { text: text.into() }],
        TextOrBlocks::Blocks(pieces) => pieces.iter().map(part_of).collect(),
    }
}

fn part_of(piece: &ContentPiece<'_>) -> ResultPart {
    match &piece.image_url {
        Some(url) => ResultPart::Image(image_at(url)),
        None => ResultPart::Text { text: owned(&piece.text) },
    }
}

fn said(item: &Item<'_>) -> Message {
    let blocks = blocks_of(&item.content);
    let (role, author) = match item.role.as_deref() {
        Some("developer" | "system") => (Role::System, Author::Harness),
        _ if joined_text(&blocks).is_some_and(is_harness_text) => (Role::User, Author::Harness),
        _ => (Role::User, Author::Person),
    };
    Message { role, author, blocks }
}

fn joined_text(blocks: &[Block]) -> Option<&str> {
    blocks.iter().find_map(|block| match block {
        Block::Text { text } => Some(text.as_ref()),
        Block::Thinking { .. } | Block::Call(_) | Block::Result(_) | Block::Image(_) | Block::Opaque(_) => {
            None
        }
    })
}

fn is_harness_text(text: &str) -> bool {
    HARNESS_BEGINNINGS.iter().any(|beginning| text.trim_start().starts_with(beginning))
}

fn blocks_of(content: &TextOrBlocks<'_, ContentPiece<'_>>) -> Vec<Block> {
    match content {
        TextOrBlocks::Nothing => Vec::new(),
        TextOrBlocks::Text(text) => vec![Block::text(&**text)],
        TextOrBlocks::Blocks(pieces) => pieces.iter().map(block_of).collect(),
    }
}

fn block_of(piece: &ContentPiece<'_>) -> Block {
    match &piece.image_url {
        Some(url) => Block::Image(image_at(url)),
        None => Block::text(owned(&piece.text)),
    }
}

fn joined(content: &TextOrBlocks<'_, ContentPiece<'_>>) -> String {
    let texts: Vec<&str> = content.blocks().iter().filter_map(|piece| piece.text.as_deref()).collect();
    texts.join("\n")
}

fn opaque(item: &Item<'_>, json: &str) -> Block {
    Block::Opaque(Opaque { kind: owned(&item.kind), json: json.into() })
}

fn owned(text: &Option<JsonText<'_>>) -> Arc<str> {
    text.as_deref().unwrap_or_default().into()
}
