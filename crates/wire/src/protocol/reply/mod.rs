//! What providers answer: a reply's message, why it stopped and what it took, on one basis.
//!
//! Streams are put together in [`sse`](crate::sse) and then read here. What an error means is left to
//! [`overflow`](crate::overflow).

mod anthropic;
mod openai_chat;
mod openai_responses;
mod stop;
#[cfg(test)]
mod tests;

pub use stop::StopReason;

use super::Protocol;
use crate::ReportedUsage;
use crate::document::{ObjectView, View};
use epitome_core::{Author, Block, Message, Role, Stop};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// What came back for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelReply {
    /// The provider's id of it.
    pub id: Option<Arc<str>>,
    /// The model that says it answered.
    pub model: Option<Arc<str>>,
    /// What it said: no blocks where nothing came.
    pub message: Message,
    /// The items of its output as they came, those of OpenAI Responses alone: a client may name them and not send them.
    pub items: Vec<Arc<str>>,
    /// Why it stopped; none where the reply broke off before it said so.
    pub stop: Option<StopReason>,
    /// What it took, where that was reported.
    pub usage: Option<ReplyUsage>,
    /// The error in its place or in its midst, as the provider wrote it: what
    /// [`classify`](crate::overflow::classify) is to look at.
    pub error: Option<Arc<str>>,
    /// Whether all of it came, and no error.
    pub is_whole: bool,
    /// What a body is that is no reply of the protocol it was read in.
    pub stranger: Option<StrangeReply>,
}

/// A body that is no reply of the protocol it was read in: whoever read it has another provider than they think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrangeReply {
    /// What it was read as.
    pub read_as: Protocol,
    /// Whose reply it looks like, if anybody's.
    pub looks_like: Option<Protocol>,
}

impl StrangeReply {
    fn of(body: &ObjectView<'_>, read_as: Protocol) -> Option<Self> {
        let is_of = |protocol: &Protocol| match protocol {
            Protocol::Anthropic => body.has("content") || body.has("stop_reason"),
            Protocol::OpenaiChat => body.has("choices"),
            Protocol::OpenaiResponses => body.has("output") || body.has("status"),
        };
        (!is_of(&read_as)).then(|| Self { read_as, looks_like: Protocol::ALL.into_iter().find(is_of) })
    }
}

impl std::fmt::Display for StrangeReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { read_as, looks_like } = self;
        write!(f, "this is no reply of the protocol {read_as}")?;
        looks_like.map_or(Ok(()), |other| write!(f, "; it looks like one of {other}"))
    }
}

/// What a reply took, as the provider reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReplyUsage {
    /// The call itself.
    pub usage: ReportedUsage,
    /// The part of the output that was reasoning, where the provider tells it apart.
    pub reasoning: u64,
    /// What the provider's own compaction inside the call took on top of it; charged as well.
    pub compaction: ReportedUsage,
}

impl ReplyUsage {
    /// All that is charged: the call and the provider's own compaction in it.
    pub fn charged(&self) -> ReportedUsage {
        add(self.usage, self.compaction)
    }
}

fn add(a: ReportedUsage, b: ReportedUsage) -> ReportedUsage {
    ReportedUsage {
        prompt: a.prompt.saturating_add(b.prompt),
        output: a.output.saturating_add(b.output),
        cache_read: a.cache_read.saturating_add(b.cache_read),
        cache_write: a.cache_write.saturating_add(b.cache_write),
    }
}

/// Reads a reply that came in one piece, whatever its status was.
///
/// ```
/// use epitome_wire::Protocol;
/// use epitome_wire::protocol::{StopReason, reply};
///
/// let body = br#"{"content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn"}"#;
/// let answer = reply(Protocol::Anthropic, body);
/// assert_eq!((answer.message.said().as_str(), answer.stop), ("hello", Some(StopReason::End)));
/// ```
pub fn reply(protocol: Protocol, body: &[u8]) -> ModelReply {
    // To see that all of it is text takes a fraction of looking for what is not.
    let text = std::str::from_utf8(body).map_or_else(|_| String::from_utf8_lossy(body), Cow::Borrowed);
    let Some(root) = View::parse(text.trim()).ok().and_then(View::object) else {
        return ModelReply { error: Some(text.as_ref().into()), ..ModelReply::nothing() };
    };
    let is_error = root.has("error") || root.text("type").as_deref() == Some("error");
    if is_error && !root.has("output") {
        return ModelReply { error: Some(text.as_ref().into()), ..ModelReply::nothing() };
    }
    let answer = match protocol {
        Protocol::Anthropic => anthropic::answer(&root).in_one_piece(),
        Protocol::OpenaiChat => openai_chat::answer(&root).in_one_piece(),
        // Its `status` says whether all of it came.
        Protocol::OpenaiResponses => openai_responses::answer(&root),
    };
    ModelReply { stranger: StrangeReply::of(&root, protocol), ..answer }
}

impl ModelReply {
    /// An answer in which nothing came.
    fn nothing() -> Self {
        Self {
            id: None,
            model: None,
            message: said(Vec::new()),
            stop: None,
            usage: None,
            error: None,
            is_whole: false,
            items: Vec::new(),
            stranger: None,
        }
    }

    /// The same as a body whose JSON is complete: some servers do not say why they stopped, and still said all of it.
    fn in_one_piece(self) -> Self {
        let is_whole = self.is_whole || !self.message.blocks.is_empty();
        Self { is_whole, ..self }
    }

    /// Whether it calls a tool of the client.
    pub fn has_calls(&self) -> bool {
        self.message.calls().next().is_some()
    }

    /// Why it ended, as whoever asked for a summary must know: a call is none, whatever its provider calls that.
    pub fn summary_stop(&self) -> Stop {
        if self.has_calls() {
            return Stop::Call;
        }
        match self.stop {
            Some(StopReason::Length) => Stop::Length,
            Some(StopReason::Call) => Stop::Call,
            Some(StopReason::Refusal) => Stop::Refusal,
            Some(StopReason::Window) => Stop::Window,
            Some(StopReason::End | StopReason::Pause | StopReason::Compaction | StopReason::Other(_))
            | None => Stop::End,
        }
    }
}

fn said(blocks: Vec<Block>) -> Message {
    Message { role: Role::Assistant, author: Author::Model, blocks }
}
