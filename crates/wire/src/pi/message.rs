//! From an entry to the message pi shows the model.

use super::record::{AnyMessage, PiBlock, PiRecord};
use crate::jsonl::{JsonText, RawList, TextOrBlocks, decoded};
use crate::unpaired::unpaired;
use epitome_core::{Author, Block, Call, CallId, Image, Message, Opaque, ResultPart, Role, ToolResult};
use serde_json::value::RawValue;
use std::sync::Arc;

/// What pi puts before and after a compaction's summary.
const SUMMARY_FRAME: [&str; 2] = [
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
];
/// What pi puts before and after the summary of a branch it came back from.
const BRANCH_FRAME: [&str; 2] = [
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
];

/// How the bytes of a message are to be read again; kept as the part of its place.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MessageReading {
    /// A result whose call is not in the session, as text.
    pub is_unpaired: bool,
    /// The message itself, out of the tail that a compaction wrote out, and no entry around it.
    pub is_bare: bool,
}

impl MessageReading {
    pub(super) fn part(self) -> u32 {
        u32::from(self.is_unpaired) | u32::from(self.is_bare) << 1
    }

    pub(super) fn of_part(part: u32) -> Self {
        Self { is_unpaired: part & 1 == 1, is_bare: part & 2 == 2 }
    }

    /// Where the content is.
    fn content(self) -> &'static [&'static str] {
        if self.is_bare { &["content"] } else { &["message", "content"] }
    }
}

/// A compaction's summary as pi shows it to the model.
///
/// ```
/// let shown = epitome_wire::pi::shown_summary("We fixed the parser.");
/// assert!(shown.ends_with("<summary>\nWe fixed the parser.\n</summary>"));
/// ```
pub fn shown_summary(summary: &str) -> String {
    SUMMARY_FRAME.join(summary)
}

/// The summary to write so that pi shows `shown`, where `shown` is framed as pi frames it.
pub(super) fn bare_summary(shown: &str) -> &str {
    let inner = shown.strip_prefix(SUMMARY_FRAME[0]).and_then(|rest| rest.strip_suffix(SUMMARY_FRAME[1]));
    inner.unwrap_or(shown)
}

/// Makes the message of a line again; a second run is the edit that changed what it says.
pub(crate) fn decode(runs: &[Vec<u8>], part: u32) -> Result<Message, String> {
    let run = runs.first().ok_or("the message stands nowhere")?;
    let (text, reading) = (decoded(run), MessageReading::of_part(part));
    let message = if reading.is_bare {
        let body: AnyMessage<'_> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        body_message(&body, &text, reading)
    } else {
        let record: PiRecord<'_> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        message_of(&record, &text, reading)
    };
    let message = message.ok_or("the line holds no message any more")?;
    match runs.get(1) {
        Some(edit) => edited(message, &decoded(edit)),
        None => Ok(message),
    }
}

/// The message with the content that an edit gave it.
fn edited(mut message: Message, edit: &str) -> Result<Message, String> {
    let record: PiRecord<'_> = serde_json::from_str(edit).map_err(|error| error.to_string())?;
    let replacement = record.replacement.as_ref().ok_or("the edit holds no content any more")?;
    let blocks = blocks_of(&replacement.content, &RawList::at(edit, &["replacement", "content"]));
    match message.blocks.first_mut() {
        Some(Block::Result(result)) => result.parts = blocks.into_iter().map(part_of).collect(),
        Some(_) | None => message.blocks = blocks,
    }
    Ok(message)
}

/// The message of one entry; none where the model does not see it.
pub(super) fn message_of(record: &PiRecord<'_>, line: &str, reading: MessageReading) -> Option<Message> {
    match &*record.kind {
        "message" => body_message(record.message.as_ref()?, line, reading),
        "custom_message" => {
            let blocks = blocks_of(&record.content, &RawList::at(line, &["content"]));
            Some(Message { role: Role::User, author: Author::Harness, blocks })
        }
        "branch_summary" => {
            let text = BRANCH_FRAME.join(record.summary.as_deref().filter(|text| !text.is_empty())?);
            Some(Message::text(Role::User, Author::Harness, text))
        }
        _ => None,
    }
}

/// The message of a body, which stands in `line` where `reading` says.
pub(super) fn body_message(body: &AnyMessage<'_>, line: &str, reading: MessageReading) -> Option<Message> {
    let (role, author) = match body.role() {
        "user" => (Role::User, Author::Person),
        "assistant" => (Role::Assistant, Author::Model),
        "system" => (Role::System, Author::Harness),
        "toolResult" => return Some(result_message(body, line, reading)),
        "bashExecution" if *body.exclude_from_context == Some(true) => return None,
        "bashExecution" => return Some(Message::text(Role::User, Author::Harness, ran(body))),
        "custom" | "hookMessage" => (Role::User, Author::Harness),
        _ => return None,
    };
    Some(Message { role, author, blocks: blocks_of(&body.content, &RawList::at(line, reading.content())) })
}

/// A command the person ran, the way pi tells the model of it.
fn ran(body: &AnyMessage<'_>) -> String {
    let mut text = format!("Ran `{}`\n", body.command.as_deref().unwrap_or_default());
    match body.output.as_deref().filter(|output| !output.is_empty()) {
        Some(output) => text += &format!("```\n{output}\n```"),
        None => text += "(no output)",
    }
    match *body.exit_code {
        _ if *body.cancelled == Some(true) => text += "\n\n(command cancelled)",
        Some(code) if code != 0 => text += &format!("\n\nCommand exited with code {code}"),
        Some(_) | None => {}
    }
    if let (Some(true), Some(path)) = (*body.truncated, &*body.full_output_path) {
        text += &format!("\n\n[Output truncated. Full output: {}]", &**path);
    }
    text
}

fn result_message(body: &AnyMessage<'_>, line: &str, reading: MessageReading) -> Message {
    let result = ToolResult {
        call: CallId(owned(&body.tool_call_id)),
        parts: blocks_of(&body.content, &RawList::at(line, reading.content()))
            .into_iter()
            .map(part_of)
            .collect(),
        is_error: *body.is_error == Some(true),
    };
    if reading.is_unpaired {
        let text = unpaired(&result.call, &result.text());
        return Message::text(Role::User, Author::Harness, text);
    }
    Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
}

fn part_of(block: Block) -> ResultPart {
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => ResultPart::Text { text },
        Block::Image(image) => ResultPart::Image(image),
        Block::Opaque(opaque) => ResultPart::Opaque(opaque),
        Block::Call(call) => ResultPart::Text { text: call.input },
        Block::Result(result) => ResultPart::Text { text: result.text().into() },
    }
}

/// The blocks of a content; `raws` is the same as it stands in the line.
fn blocks_of(content: &TextOrBlocks<'_, PiBlock<'_>>, raws: &RawList<'_>) -> Vec<Block> {
    match content {
        TextOrBlocks::Nothing => Vec::new(),
        TextOrBlocks::Text(said) => vec![Block::text(&**said)],
        TextOrBlocks::Blocks(lines) => {
            lines.iter().enumerate().map(|(at, line)| block_of(line, || raws.element(at))).collect()
        }
        TextOrBlocks::Other => vec![opaque("", raws.whole())],
    }
}

fn block_of<'a>(line: &PiBlock<'_>, raw: impl FnOnce() -> &'a str) -> Block {
    let kind = line.kind.as_deref().unwrap_or_default();
    match (kind, &*line.text, &*line.data) {
        ("text", Some(text), _) => Block::text(&**text),
        ("thinking", ..) => Block::Thinking {
            text: owned(&line.thinking),
            signature: line.thinking_signature.as_ref().map(Arc::from),
            redacted: *line.redacted == Some(true),
        },
        ("toolCall", ..) => Block::Call(Call {
            id: CallId(owned(&line.id)),
            name: owned(&line.name),
            input: line.arguments.map_or("{}", RawValue::get).into(),
            freeform: false,
        }),
        ("image", _, Some(data)) => {
            Block::Image(Image { media_type: owned(&line.mime_type), data: data.into(), is_url: false })
        }
        _ => opaque(kind, raw()),
    }
}

fn opaque(kind: &str, json: &str) -> Block {
    Block::Opaque(Opaque { kind: kind.into(), json: json.into() })
}

fn owned(text: &Option<JsonText<'_>>) -> Arc<str> {
    text.as_deref().unwrap_or_default().into()
}
