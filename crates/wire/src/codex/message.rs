//! From the items of a message to the message, and who wrote it.

use super::item::{AgentLetter, ContentPiece, Item, RolloutLine};
use crate::held::HeldPiece;
use crate::jsonl::{JsonText, RawList, TextOrBlocks, decoded};
use crate::protocol::read::{block_of, image_at};
use crate::unpaired::{UNPAIRED, unpaired};
use epitome_core::{Author, Block, Call, CallId, Message, Opaque, ResultPart, Role, ToolResult};
use serde_json::json;
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
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// Part of a reply.
    Reply,
    /// The answer to a call.
    Output,
    /// The answer to a call that is carried as it is, and so is this.
    CarriedOutput,
    /// A message of the user's or the developer's side.
    Said,
    /// Something the harness gave the model that we carry: a summary only the provider can read, more tools.
    Carried,
    /// Nothing the model sees.
    Unseen,
    /// Nothing we know. What is no message and no output, the model put out.
    Unknown,
}

/// Sorts an item.
pub(super) fn kind_of(item: &Item<'_>) -> ItemKind {
    match item.kind.as_deref().unwrap_or_default() {
        "message" if item.role.as_deref() == Some("assistant") => ItemKind::Reply,
        "message" | AGENT_MESSAGE => ItemKind::Said,
        "reasoning"
        | "function_call"
        | "custom_tool_call"
        | "tool_search_call"
        | "local_shell_call"
        | "web_search_call"
        | "image_generation_call" => ItemKind::Reply,
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" => ItemKind::Output,
        "compaction" | "compaction_summary" | "context_compaction" | "additional_tools" => ItemKind::Carried,
        "ghost_snapshot" | "compaction_trigger" => ItemKind::Unseen,
        kind if kind.ends_with("_call_output") => ItemKind::CarriedOutput,
        _ => ItemKind::Unknown,
    }
}

/// The type of an item that another agent of the session wrote.
const AGENT_MESSAGE: &str = "agent_message";

/// Whether another agent of the session wrote it.
pub(super) fn is_letter(item: &Item<'_>) -> bool {
    item.kind.as_deref() == Some(AGENT_MESSAGE)
}

/// Makes the message of these runs again.
pub(crate) fn decode(runs: &[Vec<u8>], part: u32) -> Result<Message, String> {
    let mut whole: Option<Message> = None;
    for run in runs {
        let text = decoded(run);
        let json = if part & BARE == 0 { item_on(&text)? } else { Cow::Borrowed(&*text) };
        let item: Item<'_> = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        let more = message_of(&item, &json, part & NO_CALL != 0);
        match &mut whole {
            Some(message) => message.blocks.extend(more.blocks),
            None => whole = Some(more),
        }
    }
    whole.ok_or_else(|| "the message stands nowhere".into())
}

/// The items of a message as they stand in their lines. A letter is none: Codex makes an item of it.
pub(crate) fn pieces(runs: &[Vec<u8>], part: u32) -> Result<Vec<HeldPiece>, String> {
    let mut all = Vec::with_capacity(runs.len());
    for run in runs {
        let text = decoded(run);
        let Cow::Borrowed(json) = (if part & BARE == 0 { item_on(&text)? } else { Cow::Borrowed(&*text) })
        else {
            return Ok(Vec::new());
        };
        let item: Item<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let is_literal = part & NO_CALL == 0;
        let blocks = message_of(&item, json, !is_literal).blocks;
        all.push(HeldPiece { json: json.to_owned(), blocks, is_literal, around: Vec::new() });
    }
    Ok(all)
}

/// The item on a line of the rollout, as it stands there, or as Codex makes it of a letter.
pub(super) fn item_on(line: &str) -> Result<Cow<'_, str>, String> {
    let line: RolloutLine<'_> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match &*line.kind {
        LETTER => letter_item(line.payload.get()).map(Cow::Owned).map_err(|error| error.to_string()),
        _ => Ok(Cow::Borrowed(line.payload.get())),
    }
}

/// The type of a line that holds what one agent wrote to another.
pub(super) const LETTER: &str = "inter_agent_communication";

/// The item by which Codex gives the model a letter.
pub(super) fn letter_item(payload: &str) -> serde_json::Result<String> {
    let letter: AgentLetter<'_> = serde_json::from_str(payload)?;
    let (author, recipient) = (read(&letter.author), read(&letter.recipient));
    let content = match &*letter.encrypted_content {
        None => json!([{ "type": "input_text", "text": read(&letter.content) }]),
        Some(sealed) => {
            let kind = if *letter.trigger_turn == Some(true) { "NEW_TASK" } else { "MESSAGE" };
            let head = format!("Message Type: {kind}\nTask name: {recipient}\nSender: {author}\nPayload:\n");
            json!([
                { "type": "input_text", "text": head },
                { "type": "encrypted_content", "encrypted_content": &**sealed },
            ])
        }
    };
    serde_json::to_string(
        &json!({ "type": AGENT_MESSAGE, "author": author, "recipient": recipient, "content": content }),
    )
}

/// The message of one item; `json` is its text.
pub(super) fn message_of(item: &Item<'_>, json: &str, no_call: bool) -> Message {
    let blocks = match kind_of(item) {
        ItemKind::Output => return output_message(item, json, no_call),
        ItemKind::CarriedOutput if no_call => {
            let text = unpaired(read(&item.call_id), json);
            return Message::text(Role::User, Author::Harness, text);
        }
        ItemKind::CarriedOutput => {
            return Message { role: Role::Tool, author: Author::Tool, blocks: vec![opaque(item, json)] };
        }
        ItemKind::Said => return said(item, json),
        ItemKind::Carried | ItemKind::Unseen => {
            return Message { role: Role::User, author: Author::Harness, blocks: vec![opaque(item, json)] };
        }
        ItemKind::Reply => reply_blocks(item, json),
        ItemKind::Unknown => vec![opaque(item, json)],
    };
    Message { role: Role::Assistant, author: Author::Model, blocks }
}

fn reply_blocks(item: &Item<'_>, json: &str) -> Vec<Block> {
    match item.kind.as_deref() {
        Some("message") => blocks_of(&item.content, &RawList::at(json, CONTENT)),
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
        "function_call" => Block::Call(call(item, &owned(&item.name), inside(item.arguments), false)),
        "tool_search_call" => Block::Call(call(item, "tool_search", inside(item.arguments), false)),
        "local_shell_call" => {
            Block::Call(call(item, "local_shell", item.action.map_or("{}", RawValue::get).into(), false))
        }
        "custom_tool_call" => {
            let input = item.input.map_or_else(|| "".into(), |_| inside(item.input));
            Block::Call(call(item, &owned(&item.name), input, true))
        }
        _ => opaque(item, json),
    }
}

fn call(item: &Item<'_>, name: &str, input: Arc<str>, freeform: bool) -> Call {
    Call { id: CallId(owned(&item.call_id)), name: name.into(), input, freeform }
}

/// What a call is given: what is inside where it came as a string, else the JSON.
fn inside(given: Option<&RawValue>) -> Arc<str> {
    let raw = given.map_or("{}", RawValue::get);
    serde_json::from_str::<Cow<'_, str>>(raw).map_or_else(|_| raw.into(), Into::into)
}

fn output_message(item: &Item<'_>, json: &str, no_call: bool) -> Message {
    let result =
        ToolResult { call: CallId(owned(&item.call_id)), parts: output_parts(item, json), is_error: false };
    if no_call {
        let text = unpaired(&result.call, &result.text());
        return Message::text(Role::User, Author::Harness, text);
    }
    Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
}

fn output_parts(item: &Item<'_>, json: &str) -> Vec<ResultPart> {
    match item.tools {
        Some(found) => vec![ResultPart::Text { text: found.get().into() }],
        None => parts_of(&item.output, &RawList::at(json, &["output"])),
    }
}

/// Where an item has its pieces.
const CONTENT: &[&str] = &["content"];

fn said(item: &Item<'_>, json: &str) -> Message {
    let blocks = blocks_of(&item.content, &RawList::at(json, CONTENT));
    let (role, author) = match item.role.as_deref() {
        Some("developer" | "system") => (Role::System, Author::Harness),
        _ if is_letter(item) || joined_text(&blocks).is_some_and(is_harness_text) => {
            (Role::User, Author::Harness)
        }
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

fn blocks_of(content: &TextOrBlocks<'_, ContentPiece<'_>>, raws: &RawList<'_>) -> Vec<Block> {
    parts_of(content, raws).into_iter().map(block_of).collect()
}

/// The pieces of a content; `raws` is the same as it stands in the item.
fn parts_of(content: &TextOrBlocks<'_, ContentPiece<'_>>, raws: &RawList<'_>) -> Vec<ResultPart> {
    match content {
        TextOrBlocks::Nothing => Vec::new(),
        TextOrBlocks::Text(text) => vec![ResultPart::Text { text: text.into() }],
        TextOrBlocks::Blocks(pieces) => {
            pieces.iter().enumerate().map(|(at, piece)| part_of(piece, || raws.element(at))).collect()
        }
        TextOrBlocks::Other => {
            vec![ResultPart::Opaque(Opaque { kind: "".into(), json: raws.whole().into() })]
        }
    }
}

/// A piece: a text, a picture, or something we carry (a file, a refusal, what is encrypted).
fn part_of<'a>(piece: &ContentPiece<'_>, raw: impl FnOnce() -> &'a str) -> ResultPart {
    let kind = piece.kind.as_deref().unwrap_or_default();
    match (kind, &*piece.text, &*piece.image_url) {
        ("input_text" | "output_text" | "text" | "", Some(text), _) => ResultPart::Text { text: text.into() },
        ("input_image" | "", _, Some(url)) => ResultPart::Image(image_at(url)),
        _ => ResultPart::Opaque(Opaque { kind: kind.into(), json: raw().into() }),
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
    read(text).into()
}

fn read<'t>(text: &'t Option<JsonText<'_>>) -> &'t str {
    text.as_deref().unwrap_or_default()
}
