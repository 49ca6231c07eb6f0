//! `epitome recall`: the original behind a pointer.

use super::print_json;
use crate::cli::RecallArgs;
use crate::opened::Opened;
use crate::output::Page;
use anyhow::{Result, bail};
use epitome_core::{Archive, Block, Message, Part};

/// Prints the message a pointer names, as it was first said.
pub fn run(args: &RecallArgs) -> Result<()> {
    let opened = Opened::new(&args.file, &args.read)?;
    let number = opened.conversation(args.conversation)?;
    let conversation = &opened.transcript.conversations[number];
    if conversation.log.item(args.id).is_none() {
        let last = conversation.log.leaf().map(|leaf| leaf.to_string()).unwrap_or_default();
        bail!("{} names no message of {}; pointers there run up to {last}", args.id, args.file.display());
    }
    let message = conversation.originals.message(args.id)?;
    if args.read.json {
        return print_json(
            &serde_json::json!({ "id": args.id, "conversation": number, "message": &*message }),
        );
    }
    let mut page = Page::default();
    write!(page, "{}", readable(&message));
    page.print()
}

/// A message as a person reads it.
fn readable(message: &Message) -> String {
    let mut text = String::new();
    for block in &message.blocks {
        let piece = match block {
            Block::Text { text } => text.to_string(),
            Block::Thinking { text, .. } => format!("[thinking] {text}"),
            Block::Call(call) => format!("[call {} {}] {}", call.name, call.id, call.input),
            Block::Result(result) => result.parts.iter().map(part).collect::<Vec<_>>().join("\n"),
            Block::Image(image) => {
                format!("[image {}, {} bytes of base64]", image.media_type, image.data.len())
            }
            Block::Opaque(opaque) => opaque.json.to_string(),
        };
        text.push_str(&piece);
        if !piece.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

fn part(part: &Part) -> String {
    match part {
        Part::Text { text } => text.to_string(),
        Part::Image(image) => format!("[image {}, {} bytes of base64]", image.media_type, image.data.len()),
        Part::Opaque(opaque) => opaque.json.to_string(),
    }
}
