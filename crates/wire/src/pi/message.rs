//! From an entry to the message pi shows the model.

use super::record::{AnyMessage, BlockLine, Record};
use crate::jsonl::{JsonText, TextOrBlocks, decoded, raw_content};
use crate::unpaired::unpaired;
use epitome_core::{Author, Block, Call, CallId, Image, Message, Opaque, ResultPart, Role, ToolResult};
use serde::Deserialize;
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

/// How a message of an entry is to be read again; kept as the part of its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageReading {
    /// As it is.
    Plain = 0,
    /// A result whose call is not in the session, as text.
    Unpaired = 1,
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

/// Makes the message of a line again.
pub(crate) fn decode(runs: &[Vec<u8>], part: u32) -> Result<Message, String> {
    let run = runs.first().ok_or("the message stands nowhere")?;
    let text = decoded(run);
    let record: Record<'_> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let reading = if part == MessageReading::Unpaired as u32 {
        MessageReading::Unpaired
    } else {
        MessageReading::Plain
    };
    message_of(&record, &text, reading).ok_or_else(|| "the line holds no message any more".into())
}

/// The message of one entry; none where the model does not see it.
pub(super) fn message_of(record: &Record<'_>, line: &str, reading: MessageReading) -> Option<Message> {
    match &*record.kind {
        "message" => body_message(record.message.as_ref()?, line, reading),
        "custom_message" => {
            let blocks = blocks_of(&record.content, || raw_content(line));
            Some(Message { role: Role::User, author: Author::Harness, blocks })
        }
        "branch_summary" => {
            let text = BRANCH_FRAME.join(record.summary.as_deref().filter(|text| !text.is_empty())?);
            Some(Message::text(Role::User, Author::Harness, text))
        }
        _ => None,
    }
}

fn body_message(body: &AnyMessage<'_>, line: &str, reading: MessageReading) -> Option<Message> {
    let (role, author) = match &*body.role {
        "user" => (Role::User, Author::Person),
        "assistant" => (Role::Assistant, Author::Model),
        "system" => (Role::System, Author::Harness),
        "toolResult" => return Some(result_message(body, line, reading)),
        "bashExecution" if body.exclude_from_context == Some(true) => return None,
        "bashExecution" => return Some(Message::text(Role::User, Author::Harness, ran(body))),
        "custom" | "hookMessage" => (Role::User, Author::Harness),
        _ => return None,
    };
    Some(Message { role, author, blocks: blocks_of(&body.content, || raw_blocks(line)) })
}

/// A command the person ran, the way pi tells the model of it.
fn ran(body: &AnyMessage<'_>) -> String {
    let mut text = format!("Ran `{}`\n", body.command.as_deref().unwrap_or_default());
    match body.output.as_deref().filter(|output| !output.is_empty()) {
        Some(output) => text += &format!("```\n{output}\n```"),
        None => text += "(no output)",
    }
    match body.exit_code {
        _ if body.cancelled == Some(true) => text += "\n\n(command cancelled)",
        Some(code) if code != 0 => text += &format!("\n\nCommand exited with code {code}"),
        Some(_) | None => {}
    }
    if let (Some(true), Some(path)) = (body.truncated, &body.full_output_path) {
        text += &format!("\n\n[Output truncated. Full output: {}]", &**path);
    }
    text
}

fn result_message(body: &AnyMessage<'_>, line: &str, reading: MessageReading) -> Message {
    let result = ToolResult {
        call: CallId(owned(&body.tool_call_id)),
        parts: blocks_of(&body.content, || raw_blocks(line)).into_iter().map(part_of).collect(),
        is_error: body.is_error == Some(true),
    };
    match reading {
        MessageReading::Plain => {
            Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
        }
        MessageReading::Unpaired => {
            let text = unpaired(&result.call, &result.text());
            Message::text(Role::User, Author::Harness, text)
        }
    }
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

fn blocks_of<'a>(
    content: &TextOrBlocks<'_, BlockLine<'_>>,
    raw: impl Fn() -> Vec<&'a RawValue>,
) -> Vec<Block> {
    match content {
        TextOrBlocks::Nothing => Vec::new(),
        TextOrBlocks::Text(said) => vec![Block::text(&**said)],
        TextOrBlocks::Blocks(lines) => {
            lines.iter().enumerate().map(|(at, line)| block_of(line, || raw().get(at).copied())).collect()
        }
    }
}

fn block_of<'a>(line: &BlockLine<'_>, raw: impl FnOnce() -> Option<&'a RawValue>) -> Block {
    match line.kind.as_deref().unwrap_or_default() {
        "text" => Block::text(owned(&line.text)),
        "thinking" => Block::Thinking {
            text: owned(&line.thinking),
            signature: line.thinking_signature.as_ref().map(Arc::from),
            redacted: line.redacted == Some(true),
        },
        "toolCall" => Block::Call(Call {
            id: CallId(owned(&line.id)),
            name: owned(&line.name),
            input: line.arguments.map_or("{}", RawValue::get).into(),
            freeform: false,
        }),
        "image" => {
            Block::Image(Image { media_type: owned(&line.mime_type), data: owned(&line.data), is_url: false })
        }
        other => {
            let json = raw().map_or("null", RawValue::get).into();
            Block::Opaque(Opaque { kind: other.into(), json })
        }
    }
}

fn raw_blocks(line: &str) -> Vec<&RawValue> {
    #[derive(Deserialize)]
    struct MessageField<'a> {
        #[serde(borrow)]
        message: &'a RawValue,
    }
    serde_json::from_str::<MessageField<'_>>(line)
        .map_or_else(|_| Vec::new(), |held| raw_content(held.message.get()))
}

fn owned(text: &Option<JsonText<'_>>) -> Arc<str> {
    text.as_deref().unwrap_or_default().into()
}
