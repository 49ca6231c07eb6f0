//! Writing a context as a provider's request body.
//!
//! Whatever the messages are, the body passes the strict validator of its protocol. And each rule that
//! makes it so looks no further than one reply and what the user's side said right after it: when a
//! conversation grows, the messages already written stay as they are, byte for byte, and the
//! provider's prompt cache with them.

mod anthropic;
mod arrange;
mod ids;
pub(super) mod input;
mod openai_chat;
mod openai_responses;
mod picture;
mod piece;
mod rest;
mod sealed;
mod single;
mod taken;
#[cfg(test)]
mod tests;
mod tools;
mod words;

pub(super) use taken::is_taken;

pub use single::message;
pub use tools::tool_name;
pub use words::Substitute;

use super::held::ShownPieces;
use super::{Protocol, WrittenBody};
use epitome_core::{Author, Block, Message, MessageView, Role};
use rest::Rest;
use serde::Serialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use words::SubstituteList;

/// What a request holds beside its messages. A field without a value is left out of the body.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestParts<'a> {
    /// The system prompt; its pieces where it has several.
    pub system: &'a [Arc<str>],
    /// Tool definitions in any protocol's shape: JSON text.
    pub tools: &'a [Arc<str>],
    /// The model asked.
    pub model: Option<&'a str>,
    /// The most it may write.
    pub max_tokens: Option<u64>,
}

/// A context that cannot be written as a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A tool definition that is no JSON object.
    #[error("tool definition {index} is not a JSON object ({source}); correct it or leave it out")]
    Tool {
        /// Its place among the tools, from 0.
        index: usize,
        /// What the parser met.
        #[source]
        source: serde_json::Error,
    },
    /// A field to be passed through whose value is no JSON.
    #[error("the value of the field `{key}` is not JSON; correct it or leave it out")]
    Field {
        /// Its name.
        key: Arc<str>,
        /// What the parser met.
        #[source]
        source: serde_json::Error,
    },
    /// The source of a body could not be read again.
    #[error("cannot read the transcript again to write it")]
    Read(#[source] std::io::Error),
}

/// Stands where the user's side must speak and nothing is recorded.
const NO_USER_MESSAGE: &str = "[no user message was recorded here]";
/// Stands for a reply that was cut off before it said anything.
const EMPTY_REPLY: &str = "[this reply is empty]";
/// Answers a call whose result never came.
const NO_RESULT: &str = "[no result was recorded for this call]";
/// Stands for the output of a tool that printed nothing.
const EMPTY_RESULT: &str = "[the result is empty]";
/// Between texts that a protocol wants in one string.
const BETWEEN_TEXTS: &str = "\n\n";

/// The context as a request body of the protocol `to`.
///
/// ```
/// use epitome_core::{Author, Message, Role, MessageView};
/// use epitome_wire::{Protocol, encode};
///
/// let hello = Message::text(Role::User, Author::Person, "hello");
/// let shown = [MessageView { id: None, message: hello.into() }];
/// let body = encode::body(Protocol::OpenaiChat, &encode::RequestParts::default(), &shown)?;
/// assert_eq!(body, br#"{"messages":[{"role":"user","content":"hello"}]}"#);
/// # Ok::<(), encode::EncodeError>(())
/// ```
pub fn body(to: Protocol, parts: &RequestParts<'_>, shown: &[MessageView]) -> Result<Vec<u8>, EncodeError> {
    body_with_rest(to, parts, &[], shown)
}

/// The same with `rest` at its end: fields that a body of the same protocol came with and we do not
/// read, as [`FixedParts::rest`](crate::FixedParts::rest) holds them. Another protocol's have no place in it.
pub fn body_with_rest(
    to: Protocol,
    parts: &RequestParts<'_>,
    rest: &[(Arc<str>, Arc<str>)],
    shown: &[MessageView],
) -> Result<Vec<u8>, EncodeError> {
    let context = WrittenContext { shown, held: &ShownPieces::default(), end: BodyEnd::Asked };
    written(to, parts, rest, &context).map(|written| written.bytes)
}

/// The same for a turn that the provider has paused: the reply at the end goes back as it came, for it to be gone on
/// with.
pub fn paused_body_with_rest(
    to: Protocol,
    parts: &RequestParts<'_>,
    rest: &[(Arc<str>, Arc<str>)],
    shown: &[MessageView],
) -> Result<Vec<u8>, EncodeError> {
    let context = WrittenContext { shown, held: &ShownPieces::default(), end: BodyEnd::AsGiven };
    written(to, parts, rest, &context).map(|written| written.bytes)
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// With the user's side, which a transcript may not have recorded.
    Asked,
    /// As the messages do: a reply at the end is the beginning of the one to come.
    AsGiven,
}

/// The messages of a body.
#[derive(Clone, Copy)]
pub(super) struct WrittenContext<'a> {
    pub(super) shown: &'a [MessageView],
    /// What of them a transcript holds in the body's protocol.
    pub(super) held: &'a ShownPieces,
    pub(super) end: BodyEnd,
}

/// The same, with what the protocol has no place for.
pub(super) fn written(
    to: Protocol,
    parts: &RequestParts<'_>,
    rest: &[(Arc<str>, Arc<str>)],
    context: &WrittenContext<'_>,
) -> Result<WrittenBody, EncodeError> {
    let WrittenContext { shown, end, .. } = *context;
    let mut list = SubstituteList::default();
    for tool in tools::foreign(to, parts.tools)? {
        list.leave_out(None, &format!("tool {tool}"));
    }
    let mut messages = listed_messages(to, parts, context, &mut list);
    if end == BodyEnd::AsGiven && ends_in_reply(shown) {
        // What stands behind it is what was put there for it to be answered.
        messages.pop();
    }
    let bytes = framed(to, parts, rest, &messages)?;
    Ok(WrittenBody { bytes, substitutes: list.into_list() })
}

/// Whether nothing is to be said behind the last reply. A call wants its result and a picture its place, and a reply
/// that is begun may not end in white space.
fn ends_in_reply(shown: &[MessageView]) -> bool {
    let is_begun = |block: &Block| match block {
        Block::Text { text } => text.trim_end() == &**text,
        Block::Thinking { .. } | Block::Opaque(_) => true,
        Block::Call(_) | Block::Result(_) | Block::Image(_) => false,
    };
    shown
        .last()
        .is_some_and(|last| last.message.role == Role::Assistant && last.message.blocks.iter().all(is_begun))
}

/// A body around these elements.
pub(super) fn framed(
    to: Protocol,
    parts: &RequestParts<'_>,
    rest: &[(Arc<str>, Arc<str>)],
    messages: &[Box<RawValue>],
) -> Result<Vec<u8>, EncodeError> {
    let (tools, rest) = (tools::convert(to, parts.tools)?, Rest::of(rest)?);
    let body = match to {
        Protocol::Anthropic => rest.behind(&anthropic::frame(parts, &tools, messages)),
        Protocol::OpenaiChat => rest.behind(&openai_chat::frame(parts, &rest, &tools, messages)),
        Protocol::OpenaiResponses => rest.behind(&openai_responses::frame(parts, &tools, messages)),
    };
    Ok(Box::<str>::from(body).into_string().into_bytes())
}

/// The elements of the body's list of messages (or items), each as its own JSON.
///
/// The elements for a context that ended before a reply begin the elements for every longer one.
pub fn messages(to: Protocol, parts: &RequestParts<'_>, shown: &[MessageView]) -> Vec<Box<RawValue>> {
    let context = WrittenContext { shown, held: &ShownPieces::default(), end: BodyEnd::Asked };
    listed_messages(to, parts, &context, &mut SubstituteList::default())
}

fn listed_messages(
    to: Protocol,
    parts: &RequestParts<'_>,
    context: &WrittenContext<'_>,
    list: &mut SubstituteList,
) -> Vec<Box<RawValue>> {
    let nobody = [MessageView {
        id: None,
        message: Message::text(Role::User, Author::Harness, NO_USER_MESSAGE).into(),
    }];
    let shown = if context.shown.is_empty() { &nobody } else { context.shown };
    let arranged = arrange::arrange(shown, context.held);
    match to {
        Protocol::Anthropic => anthropic::messages(&arranged, list),
        Protocol::OpenaiChat => openai_chat::messages(parts, &arranged, list),
        Protocol::OpenaiResponses => openai_responses::messages(&arranged, list),
    }
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("our own shapes hold only strings, numbers, lists and JSON")
}

/// The pieces of the system prompt that say something.
fn spoken_system<'a>(parts: &RequestParts<'a>) -> impl Iterator<Item = &'a str> {
    parts.system.iter().map(AsRef::as_ref).filter(|text| !crate::validate::is_blank(text))
}
