//! A message in a line of words, for snapshots: who said it, and its blocks.

use epitome_core::{Author, Block, Message, ResultPart, Role};

pub(crate) fn line(message: &Message) -> String {
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
        Block::Thinking { text, signature, redacted } => {
            format!(
                "thinks {text:?} {}{}",
                signature.as_deref().unwrap_or("-"),
                if *redacted { " redacted" } else { "" }
            )
        }
        Block::Call(call) => {
            format!(
                "calls {}={} {}{}",
                call.id,
                call.name,
                call.input,
                if call.freeform { " freeform" } else { "" }
            )
        }
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
