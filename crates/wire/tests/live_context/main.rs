//! What the model sees of sessions whose own tool compacted, cleared, rewound or reverted them. Small files after the
//! shapes the tools write; each is detected, and every message is found again at its bytes.

mod copilot_cli;
mod gemini_cli;
mod opencode;
mod qwen_code;

use epitome_core::{
    Archive, Author, Block, Context, EntryId, Image, Measure, MeasuredItem, Message, ResultPart, Role, Tokens,
};
use epitome_wire::{Conversation, Format, Transcript, read};
use std::sync::Arc;

/// Four bytes to the token: all a test of readers needs.
struct Quarter;

impl Measure for Quarter {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len() as u64 / 4)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(1000)
    }
    fn framing(&self) -> Tokens {
        Tokens(4)
    }
}

/// The one place that calls the reader: the format is found, and is the one expected.
fn transcript(of: Format, text: &str) -> Transcript {
    let transcript = read(Arc::new(text.as_bytes().to_vec()), None, &Quarter).expect("the sample is read");
    assert_eq!(transcript.format, of);
    transcript.conversations.iter().for_each(check_originals);
    transcript
}

fn check_originals(conversation: &Conversation) {
    for id in (0..conversation.log.len() as u32).map(EntryId) {
        if let Some(item) = conversation.log.item(id) {
            let message = conversation.originals.message(id).expect("its place was remembered");
            let noted = MeasuredItem { item: item.clone(), sizes: conversation.sizes.of(id) };
            assert_eq!(Quarter.weigh(&message), noted, "{id} is not what was read");
        }
    }
}

/// The context of each conversation, a line for each message, and the problems.
fn shown(of: Format, text: &str) -> String {
    let transcript = transcript(of, text);
    let mut lines = Vec::new();
    for (number, conversation) in transcript.conversations.iter().enumerate() {
        lines.extend((transcript.conversations.len() > 1).then(|| format!("conversation {number}")));
        lines.extend(context(conversation).iter().map(|message| line(message)));
    }
    let problems = transcript.problems.into_iter();
    lines.extend(problems.map(|told| match told.line {
        Some(number) => format!("! {number} {}", told.what),
        None => format!("! {}", told.what),
    }));
    lines.join("\n")
}

fn context(conversation: &Conversation) -> Vec<Arc<Message>> {
    let reader = conversation.reader(&Quarter);
    let context = Context::of(conversation.leaf, reader).expect("originals can be read");
    let shown = context.shown(reader).expect("originals can be read");
    shown.into_iter().map(|view| view.message).collect()
}

/// Everything in the log that is a message, whether it is in view or not.
fn logged(of: Format, text: &str) -> Vec<String> {
    let transcript = transcript(of, text);
    let conversation = &transcript.conversations[0];
    let ids =
        (0..conversation.log.len() as u32).map(EntryId).filter(|id| conversation.log.item(*id).is_some());
    ids.map(|id| line(&conversation.originals.message(id).expect("its place was remembered"))).collect()
}

fn line(message: &Message) -> String {
    let side = match (message.role, message.author) {
        (Role::User, Author::Person) => "person",
        (Role::User, _) => "harness",
        (Role::Assistant, _) => "model",
        (Role::Tool, _) => "tool",
        (Role::System, _) => "system",
    };
    let blocks: Vec<String> = message.blocks.iter().map(block).collect();
    format!("{side}: {}", blocks.join(" | "))
}

fn block(block: &Block) -> String {
    match block {
        Block::Text { text } => text.to_string(),
        Block::Thinking { text, .. } => format!("thinks {text}"),
        Block::Call(call) => format!("calls {}={} {}", call.id, call.name, call.input),
        Block::Result(result) => {
            let parts: Vec<String> = result.parts.iter().map(part).collect();
            format!(
                "{} -> {}{}",
                result.call,
                parts.join(" + "),
                if result.is_error { " (error)" } else { "" }
            )
        }
        Block::Image(image) => format!("image {} {}", image.media_type, image.data),
        Block::Opaque(opaque) => format!("opaque {} {}", opaque.kind, opaque.json),
    }
}

fn part(part: &ResultPart) -> String {
    match part {
        ResultPart::Text { text } => text.to_string(),
        ResultPart::Image(image) => format!("image {} {}", image.media_type, image.data),
        ResultPart::Opaque(opaque) => format!("opaque {} {}", opaque.kind, opaque.json),
    }
}
