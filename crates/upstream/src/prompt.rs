//! How long a prompt is, part by part, in the order providers cache it: tools, system, messages.
//!
//! Counted with the model's own counter and with nothing of the engine that is tested against it.

use epitome_core::{Image, Measure, Message, Tokens};
use epitome_tokens::{Counter, ImageDetail, dimensions_base64};
use epitome_wire::FixedParts;
use serde_json::Value;
use std::sync::Arc;

/// The model's counter, as messages are weighed with it.
struct Scale<'a>(&'a Counter);

impl Measure for Scale<'_> {
    fn text(&self, text: &str) -> Tokens {
        Tokens(self.0.count_text(text))
    }

    fn image(&self, image: &Image) -> Tokens {
        let size = if image.is_url { None } else { dimensions_base64(&image.data) };
        let measured = size.map(|size| self.0.count_image(size, ImageDetail::High));
        Tokens(measured.unwrap_or_else(|| self.0.count_unmeasured_image()))
    }

    fn framing(&self) -> Tokens {
        Tokens(self.0.message_overhead())
    }

    fn call_framing(&self) -> Tokens {
        Tokens(self.0.framing().call_tokens)
    }

    fn result_framing(&self) -> Tokens {
        Tokens(self.0.framing().result_tokens)
    }
}

/// One part of a prompt: a tool, a piece of the system prompt, or a message.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// What makes it the same part again; cache marks are left out, since they move.
    pub(crate) text: String,
    /// Its length.
    pub(crate) tokens: u64,
}

/// A prompt, weighed.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) parts: Vec<Part>,
    /// How many of the parts stand before the history.
    pub(crate) fixed: usize,
    /// The whole, with what opens the reply.
    pub(crate) tokens: u64,
}

impl Prompt {
    /// Weighs a request's parts.
    pub(crate) fn weigh(counter: &Counter, fixed: &FixedParts, messages: &[Arc<Message>]) -> Self {
        let mut parts = tools(counter, &fixed.tools);
        parts.extend(fixed.system.iter().map(|piece| {
            let tokens = counter.count_text(piece) + counter.message_overhead();
            Part { text: piece.to_string(), tokens }
        }));
        let before_history = parts.len();
        parts.extend(messages.iter().map(|message| Part {
            text: serde_json::to_string(message).expect("a message is strings, lists and flags"),
            tokens: Scale(counter).sizes(message).total().0,
        }));
        let tokens = parts.iter().map(|part| part.tokens).sum::<u64>() + counter.framing().reply_tokens;
        Self { parts, fixed: before_history, tokens }
    }

    /// The length of what stands before the history.
    pub(crate) fn fixed_tokens(&self) -> u64 {
        self.parts[..self.fixed].iter().map(|part| part.tokens).sum()
    }

    /// What tells this prompt from others.
    pub(crate) fn digest(&self) -> blake3::Hash {
        digest(&self.parts)
    }

    /// The same of what stands before a message.
    pub(crate) fn digest_before(&self, message: usize) -> blake3::Hash {
        digest(&self.parts[..self.fixed + message])
    }
}

fn digest(parts: &[Part]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.text.len() as u64).to_le_bytes()).update(part.text.as_bytes());
    }
    hasher.finalize()
}

/// The tools, the first with what having any costs.
fn tools(counter: &Counter, tools: &[Arc<str>]) -> Vec<Part> {
    let mut parts: Vec<Part> =
        tools.iter().map(|tool| Part { text: unmarked(tool), tokens: counter.count_json(tool) }).collect();
    if let Some(first) = parts.first_mut() {
        first.tokens += counter.tool_overhead(tools.len());
    }
    parts
}

/// A tool's definition without its cache mark.
fn unmarked(tool: &str) -> String {
    let mut parsed: Value = serde_json::from_str(tool).unwrap_or_default();
    if let Some(fields) = parsed.as_object_mut() {
        fields.shift_remove("cache_control");
    }
    parsed.to_string()
}
