//! Markers: what stands for what was cut, without the address of its original. Nobody who reads a context can follow an address that
//! nothing in it explains; that something was cut, and how much, is worth saying all the same.

use crate::{Block, Call, EntryId, Message, ResultPart, ToolResult};
use std::sync::Arc;

/// What is said where there was nothing but an address.
const BARE: &str = "left out";

/// A message of this id as a [`Form`](crate::Form) shows it, with markers in the place of pointers to its original.
#[must_use]
pub fn without_address(message: &Arc<Message>, id: EntryId) -> Arc<Message> {
    let address = format!("recall {id}");
    let blocks = message.blocks.iter().map(|block| marked_block(block, &address)).collect();
    Arc::new(Message { blocks, ..Message::clone(message) })
}

fn marked_block(block: &Block, address: &str) -> Block {
    match block {
        Block::Text { text } => Block::Text { text: marked(text, address) },
        Block::Call(call) => Block::Call(Call { input: marked(&call.input, address), ..call.clone() }),
        Block::Result(result) => {
            let parts = result.parts.iter().map(|part| match part {
                ResultPart::Text { text } => ResultPart::Text { text: marked(text, address) },
                ResultPart::Image(_) | ResultPart::Opaque(_) => part.clone(),
            });
            Block::Result(ToolResult { parts: parts.collect(), ..result.clone() })
        }
        Block::Thinking { .. } | Block::Image(_) | Block::Opaque(_) => block.clone(),
    }
}

/// A text with markers. An address stands behind what else its pointer says, in brackets of its own, or alone.
fn marked(text: &Arc<str>, address: &str) -> Arc<str> {
    if !text.contains(address) {
        return text.clone();
    }
    let text = text.replace(&format!("; {address}"), "").replace(&format!("] [{address}]"), "]");
    text.replace(address, BARE).into()
}
