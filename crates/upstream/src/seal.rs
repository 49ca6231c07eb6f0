//! Seals on reasoning: made here, and checked when the reasoning comes back.

use crate::complaint::Complaint;
use crate::parsed_request::ParsedRequest;
use blake3::Hash;
use epitome_core::{Block, Role};
use epitome_wire::Protocol;
use serde_json::Value;

/// What a seal on reasoning covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// The reasoning alone.
    #[default]
    Text,
    /// The reasoning and everything before it: tools, system and messages.
    Conversation,
}

/// Marks the seals made here; others are let pass as they are.
const MARK: &str = "5c21b7ed";
/// A seal is its mark and the hash of what it seals, in hexadecimal digits.
const SEAL_CHARS: usize = MARK.len() + 2 * blake3::OUT_LEN;

impl Binding {
    /// The seal of a reasoning text that follows a prompt of this digest.
    pub(crate) fn seal(self, text: &str, before: &Hash) -> String {
        let mut hasher = blake3::Hasher::new();
        match self {
            Self::Text => {}
            Self::Conversation => drop(hasher.update(before.as_bytes())),
        }
        format!("{MARK}{}", hasher.update(text.as_bytes()).finalize().to_hex())
    }

    /// Refuses reasoning that comes back other than it was sealed.
    pub(crate) fn check(self, asked: &ParsedRequest) -> Result<(), Complaint> {
        if asked.protocol() != Protocol::Anthropic || drops_unbound(&asked.envelope.body) {
            return Ok(());
        }
        let replies =
            asked.messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant);
        for (nth, (at, message)) in replies.enumerate() {
            let before = asked.prompt.digest_before(at);
            if let Some(block) = message.blocks.iter().position(|block| self.is_broken(block, &before)) {
                return Err(self.complaint(place(&asked.envelope.body, nth), block));
            }
        }
        Ok(())
    }

    fn is_broken(self, block: &Block, before: &Hash) -> bool {
        match block {
            Block::Thinking { text, signature: Some(seal), redacted: false } => {
                let is_ours = seal.starts_with(MARK) && seal.len() == SEAL_CHARS;
                is_ours && **seal != *self.seal(text, before)
            }
            Block::Thinking { .. }
            | Block::Text { .. }
            | Block::Call(_)
            | Block::Result(_)
            | Block::Image(_)
            | Block::Opaque(_) => false,
        }
    }

    fn complaint(self, at: usize, block: usize) -> Complaint {
        let why = match self {
            Self::Text => "",
            Self::Conversation => ": the block is bound to a different conversation",
        };
        Complaint::invalid(format!(
            "messages.{at}.content.{block}: Invalid `signature` in `thinking` block{why}"
        ))
    }
}

/// Whether the client would rather have such blocks dropped than refused.
fn drops_unbound(body: &Value) -> bool {
    body["thinking"]["block_binding"]["prefix_mismatch_behavior"] == "drop_block"
}

/// Where the nth reply stands among the body's messages.
fn place(body: &Value, nth: usize) -> usize {
    let messages = body["messages"].as_array().into_iter().flatten().enumerate();
    let mut replies = messages.filter(|(_, message)| message["role"] == "assistant");
    replies.nth(nth).map_or(0, |(at, _)| at)
}
