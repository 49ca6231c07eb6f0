//! Whether a piece in a protocol's own JSON can be written as it is. A transcript may be cut off, redacted or older than
//! its protocol, and one piece that a provider refuses costs the whole request.

use super::picture::Picture;
use super::{anthropic, sealed};
use crate::Protocol;
use crate::validate::{self, LONE_ITEMS, PAIRED_ITEMS};
use epitome_core::{Block, Image, ResultPart, Role};
use serde_json::Value;

/// Whether a request of `to` takes this piece of a message, read as `blocks`, wherever it stands.
pub(in super::super) fn is_taken(to: Protocol, role: Role, blocks: &[Block], piece: &Value) -> bool {
    let is_users = role != Role::Assistant;
    validate::is_sound(to, piece, is_users)
        && !has_cache_mark(piece)
        && blocks.iter().all(|block| is_readable(to, is_users, block, piece))
}

/// Cache marks are the sender's to place, and only four fit in a request.
fn has_cache_mark(piece: &Value) -> bool {
    let is_marked = |value: &Value| value.get("cache_control").is_some_and(|mark| !mark.is_null());
    let parts = piece.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    is_marked(piece) || parts.iter().any(is_marked)
}

fn is_readable(to: Protocol, is_users: bool, block: &Block, piece: &Value) -> bool {
    match block {
        Block::Text { .. } => true,
        Block::Call(_) => !is_users,
        Block::Thinking { text, signature, redacted } => match to {
            Protocol::Anthropic => anthropic::thinking(text, signature.as_deref(), *redacted).is_some(),
            Protocol::OpenaiChat => true,
            Protocol::OpenaiResponses => piece["encrypted_content"].as_str().is_some_and(sealed::is_intact),
        },
        Block::Image(image) => is_users && is_picture(image),
        Block::Result(result) => {
            is_users
                && result.parts.iter().all(|part| match part {
                    ResultPart::Text { .. } => true,
                    ResultPart::Image(image) => is_picture(image),
                    ResultPart::Opaque(opaque) => is_alone(to, &opaque.kind),
                })
        }
        Block::Opaque(opaque) => is_alone(to, &opaque.kind),
    }
}

/// Whether a picture is one that providers read, of the type it is said to be.
fn is_picture(image: &Image) -> bool {
    match Picture::of(image) {
        Some(Picture::Data { media_type, .. }) => image.is_url || media_type == &*image.media_type,
        Some(Picture::Url(_)) => true,
        None => false,
    }
}

/// Whether a block or item of this kind can stand without another: those that cannot are the encoders' to pair.
fn is_alone(to: Protocol, kind: &str) -> bool {
    match to {
        Protocol::Anthropic => {
            !matches!(kind, "server_tool_use" | "mcp_tool_use" | "compaction" | "image" | "document")
                && !kind.ends_with("_tool_result")
        }
        Protocol::OpenaiChat => true,
        Protocol::OpenaiResponses => {
            let is_paired = PAIRED_ITEMS.iter().any(|(call, output, ..)| *call == kind || *output == kind);
            !is_paired && !LONE_ITEMS.contains(&kind)
        }
    }
}
