//! A provider's messages as the files of tools hold them: each piece in the protocol's own JSON, with what it is
//! read as. Which of them a request can take as they are is `protocol::held`'s to say.

use crate::Protocol;
use epitome_core::Block;
use std::sync::Arc;

/// Whose messages the lines of a format hold, and how they are found there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldMessages {
    pub(crate) protocol: Protocol,
    /// The pieces of the message that stands in some runs of bytes; none where it is the tool's own.
    pub(crate) pieces: PiecesFn,
}

/// Finds the pieces of a message in the bytes of its spans, `part` telling apart several made from the same.
pub(crate) type PiecesFn = fn(runs: &[Vec<u8>], part: u32) -> Result<Vec<HeldPiece>, String>;

/// A piece of a message that a request has by itself: a block of Anthropic's (or a text for all of them), a message of
/// Chat Completions, an item of Responses.
#[derive(Clone, Debug)]
pub(crate) struct HeldPiece {
    pub(crate) json: String,
    /// What it is read as.
    pub(crate) blocks: Vec<Block>,
    /// Whether that is what it says; a result that nobody asked for is read as a text.
    pub(crate) is_literal: bool,
    /// Fields around it that are no part of a request and say something that nobody reads.
    pub(crate) around: Vec<Arc<str>>,
}
