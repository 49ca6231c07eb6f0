//! One message written by itself, for a list whose other elements are somebody else's bytes: what
//! [`decode`](crate::decode) read, written back.
//!
//! Whole requests are written by the modules beside this one, which repair what a provider would refuse:
//! they pair calls with results, give ids, and leave out what is foreign. Here nothing is repaired but what
//! no element may be, empty: the message goes back to those it came from, who know its ids and its blocks.

mod anthropic;
mod openai_chat;
mod openai_responses;

use super::picture::Picture;
use super::raw;
use crate::Protocol;
use crate::validate::is_blank;
use epitome_core::{Block, Image, Message, Opaque, Role, ToolResult};
use serde_json::Value;
use serde_json::value::RawValue;

/// The elements of a request's list that say this message and nothing else, its call ids and tool names as
/// they are.
///
/// Most messages are one element. OpenAI has one for each result, and in Responses one for each call, too. What
/// the protocol has no place for is left out: unsigned thinking in Anthropic's and any readable thinking in
/// Responses; whether a tool failed, in OpenAI's. Responses calls the result of a custom tool by another name
/// than that of a function; a message does not say which it is, and a function's is written.
///
/// ```
/// use epitome_core::{Author, Message, Role};
/// use epitome_wire::{Protocol, decode, encode};
///
/// let hello = Message::text(Role::User, Author::Person, "hello");
/// let written = encode::message(Protocol::OpenaiChat, &hello);
/// assert_eq!(written[0].get(), r#"{"role":"user","content":"hello"}"#);
/// assert_eq!(decode(Protocol::OpenaiChat, &[written[0].get()])?, [(0, hello)]);
/// # Ok::<(), epitome_wire::ElementError>(())
/// ```
pub fn message(to: Protocol, message: &Message) -> Vec<Box<RawValue>> {
    match to {
        Protocol::Anthropic => anthropic::elements(message),
        Protocol::OpenaiChat => openai_chat::elements(message),
        Protocol::OpenaiResponses => openai_responses::elements(message),
    }
}

/// A message taken apart: what its own side says, and the results it brings, which providers want apart.
struct Sides<'a> {
    said: Vec<&'a Block>,
    results: Vec<&'a ToolResult>,
}

impl<'a> Sides<'a> {
    fn of(message: &'a Message) -> Self {
        let is_said = |block: &&Block| !matches!(block, Block::Result(_));
        Self { said: message.blocks.iter().filter(is_said).collect(), results: message.results().collect() }
    }

    /// Whether the message is nothing but results.
    fn is_silent(&self) -> bool {
        self.said.is_empty() && !self.results.is_empty()
    }
}

/// A text, where it says something: an empty one is refused everywhere.
fn spoken(text: &str) -> Option<&str> {
    (!is_blank(text)).then_some(text)
}

/// What stands for a message of which nothing can be written.
fn stand_in(role: Role) -> &'static str {
    match role {
        Role::Assistant => super::EMPTY_REPLY,
        Role::System | Role::User => super::NO_USER_MESSAGE,
        Role::Tool => super::EMPTY_RESULT,
    }
}

/// A block in a provider's own form, byte for byte; none where it is not what it says it is.
fn as_it_came(opaque: &Opaque) -> Option<Box<RawValue>> {
    let value: Value = serde_json::from_str(&opaque.json).ok()?;
    let is_itself = value.get("type").and_then(Value::as_str) == Some(&opaque.kind);
    RawValue::from_string(opaque.json.to_string()).ok().filter(|_| is_itself)
}

/// A picture with the type it is said to have: whoever is to see it has seen it so before.
fn as_shown(image: &Image) -> Picture<'_> {
    match image.is_url {
        true => Picture::Url(&image.data),
        false => Picture::Data { media_type: &image.media_type, data: &image.data },
    }
}
